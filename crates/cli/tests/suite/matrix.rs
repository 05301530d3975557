//! What the page of the whole matrix says in words follows from its tables, and from those of the comparison, which are of
//! the same runs. Where new tables move a sentence: look at what holds now, and mend the page, and this test.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::comparison::{Figure, Page, least, most};

const PAGE: &str = "docs/schemes/matrix.md";

const SHARE: &str = "Share of the optimum";
const JAIN: &str = "Jain's index";
const DELAY: &str = "Delay over propagation";
const LOST: &str = "Data lost";
const SETTLE: &str = "Time to settle";

/// Experiments of flows that end: their optimum assumes that consumers share copies.
const DOWNLOADS: [&str; 3] = ["qsccp/abilene-single", "qsccp/abilene-multipath", "qsccp/geant"];
const SEVERAL_PATHS: [&str; 7] = [
    "qsccp/tree",
    "qsccp/diamond-bandwidth",
    "qsccp/diamond-latency",
    "dpccp/tree-bandwidth",
    "dpccp/tree-latency",
    "dpccp/diamond-bandwidth",
    "dpccp/diamond-latency",
];

/// The page: its prose with single blanks, the lines on how often a scheme is best, and the figures by table, experiment
/// and scheme.
struct Matrix {
    prose: String,
    best: Vec<String>,
    figures: BTreeMap<[String; 3], f64>,
}

impl Matrix {
    fn read() -> Matrix {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
        let (prose, tables) = text.split_once("\n## The tables\n").expect("the page has tables");
        let prose = prose.split_whitespace().collect::<Vec<_>>().join(" ");
        let best = tables.lines().filter(|line| line.contains(" the best, or as good: ")).map(str::to_owned);
        Matrix { prose, best: best.collect(), figures: figures(tables) }
    }

    fn at(&self, table: &str, experiment: &str, scheme: &str) -> f64 {
        let key = [table, experiment, scheme].map(str::to_owned);
        *self.figures.get(&key).unwrap_or_else(|| panic!("{PAGE} has no {key:?}"))
    }

    fn row(&self, table: &str, scheme: &str) -> impl Iterator<Item = (&str, f64)> {
        let is_of = move |[t, _, s]: &[String; 3]| t == table && s == scheme;
        self.figures.iter().filter(move |(key, _)| is_of(key)).map(|(key, figure)| (&*key[1], *figure))
    }

    /// In how many experiments a scheme is the best or as good, and in how many there is a figure.
    fn wins(&self, table: &str, scheme: &str) -> (u32, u32) {
        let line = self
            .best
            .iter()
            .find(|line| line.starts_with(&format!("- {table}: ")))
            .expect("the line is there");
        let after = |mark: &str| {
            line.split_once(mark).map(|(_, rest)| rest.split([' ', ',', ';', '.']).next().unwrap())
        };
        let of = after(": of ").expect("of how many").parse().expect("a number");
        let wins = after(&format!(" {scheme} ")).and_then(|wins| wins.parse().ok()).unwrap_or(0);
        (wins, of)
    }

    fn says(&self, sentence: &str) {
        assert!(self.prose.contains(sentence), "{PAGE} does not say: {sentence}");
    }
}

fn figures(tables: &str) -> BTreeMap<[String; 3], f64> {
    let mut figures = BTreeMap::new();
    let (mut table, mut schemes) = (String::new(), Vec::new());
    for line in tables.lines() {
        if let Some(title) = line.strip_prefix("**").and_then(|line| line.strip_suffix("**:")) {
            table = title.to_owned();
        } else if line.starts_with("| ") {
            let cells: Vec<String> =
                line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            if cells[0] == "scenario" {
                schemes = cells;
                continue;
            }
            for (scheme, cell) in schemes.iter().zip(&cells).skip(1) {
                let key = [table.clone(), cells[0].clone(), scheme.clone()];
                figures.extend(Figure::parse(cell, 3).map(|figure| (key, figure.mean)));
            }
        }
    }
    figures
}

#[test]
fn how_often_a_scheme_is_best_is_as_the_page_says() {
    let matrix = Matrix::read();
    assert!(matrix.figures.len() > 2000, "the tables are found");
    let (share, of) = matrix.wins(SHARE, "qsccp");
    matrix.says(&format!("QSCCP is the best in {share} of {of} experiments."));
    let (delay, _) = matrix.wins(DELAY, "qsccp");
    matrix.says(&format!("QSCCP has the shortest delay in {delay} experiments, NDN-QSF in none:"));
    assert_eq!(matrix.wins(DELAY, "ndn-qsf").0, 0);
    let [qsccp, mircc, bic, cubic] =
        ["qsccp", "mircc", "bic", "cubic"].map(|scheme| matrix.wins(LOST, scheme).0);
    assert_eq!(qsccp, mircc);
    matrix.says(&format!(
        "QSCCP and MIRCC lose the fewest Data in {qsccp} experiments, CUBIC in {cubic}, BIC in {bic}."
    ));
    let (settle, of) = matrix.wins(SETTLE, "qsccp");
    matrix.says(&format!("QSCCP settles first in {settle} of {of} experiments."));
    let (jain, of) = matrix.wins(JAIN, "qsccp");
    matrix.says(&format!("QSCCP and NDN-QSF have the best Jain's index in {jain} of {of} experiments."));
    assert_eq!(matrix.wins(JAIN, "ndn-qsf").0, jain);
}

#[test]
fn shares_of_the_optimum_are_as_the_page_says() {
    let matrix = Matrix::read();
    let [cache, abilene] = ["dpccp/fixed-cache", "dpccp/abilene"];
    let share = |experiment: &str, scheme: &str| matrix.at(SHARE, experiment, scheme);
    matrix.says(&format!(
        "in `{cache}` ({:.0} %), and in `{abilene}` ({:.0} %, the best of all).",
        share(cache, "qsccp"),
        share(abilene, "qsccp")
    ));
    let steady =
        |experiment: &str| !DOWNLOADS.contains(&experiment) && ![cache, abilene].contains(&experiment);
    let steady: Vec<f64> = matrix
        .row(SHARE, "qsccp")
        .filter(|(experiment, _)| steady(experiment))
        .map(|(_, share)| share)
        .collect();
    assert!(steady.len() > 30 && least(&steady) >= 95.0, "{steady:?}");
    let in_abilene = matrix.figures.iter().filter(|(key, _)| key[0] == SHARE && key[1] == abilene);
    assert!(in_abilene.map(|(_, share)| *share).all(|one| one <= share(abilene, "qsccp")), "the best of all");

    let range = |schemes: &[&str]| {
        let shares =
            schemes.iter().flat_map(|scheme| SEVERAL_PATHS.map(|experiment| share(experiment, scheme)));
        let shares: Vec<f64> = shares.collect();
        format!("{:.0} % to {:.0} %", least(&shares), most(&shares))
    };
    matrix.says(&format!(
        "QSCCP, NDN-QSF and DPCCP have {} in the diamonds and trees of the papers. MIRCC has {} there. Reno, BIC and CUBIC \
         use one path, and have {}.",
        range(&["qsccp", "ndn-qsf", "dpccp"]),
        range(&["mircc"]),
        range(&["reno", "bic", "cubic"])
    ));
    matrix.says(&format!(
        "QSCCP has {:.0} %, BBR {:.0} % and DPCCP {:.0} %.",
        share(cache, "qsccp"),
        share(cache, "bbr"),
        share(cache, "dpccp")
    ));
}

#[test]
fn delay_and_losses_of_qsccp_are_as_the_page_says() {
    let matrix = Matrix::read();
    let delay = |experiment| matrix.at(DELAY, experiment, "qsccp");
    let lost = matrix.at(LOST, "hbhcm/overlay", "qsccp");
    matrix.says(&format!("The means are {lost:.0} % and {:.0} times.", delay("hbhcm/overlay")));
    // At the other point nothing is lost, and the delay is about that of the propagation.
    let at_one = [2.0 * lost, 2.0 * delay("hbhcm/overlay") - 1.0];
    assert!(
        (at_one[0] - 50.0).abs() < 2.0 && (at_one[1] - 27.0).abs() < 1.0,
        "half, and 27 times: {at_one:?}"
    );
    matrix.says(&format!(
        "QSCCP's mean delay is {:.1} and {:.1} times the propagation delay of the shortest path.",
        delay("qsccp/diamond-bandwidth"),
        delay("qsccp/diamond-latency")
    ));
    matrix.says(&format!(
        "the mean delay of both flows is {:.1} to {:.1} times the propagation delay.",
        delay("qsccp/friendliness"),
        delay("qsccp/friendliness-delay")
    ));
}

/// The matrix has shares; seconds are those of the comparison.
#[test]
fn downloads_on_geant_take_what_the_page_says() {
    let (matrix, comparison) = (Matrix::read(), Page::read());
    let done = |scheme: &str, column: &str| comparison.at("qsccp/geant", "0 s to 60 s", scheme, column);
    let [(mean, last), (mean_qsccp, last_qsccp)] =
        ["ndn-qsf", "qsccp"].map(|scheme| (done(scheme, "done, mean"), done(scheme, "last")));
    matrix.says(&format!(
        "On GEANT its downloads take {:.1} ± {:.1} s on average, those of QSCCP {:.2} ± {:.2} s. Both lose no Data.",
        mean.mean, mean.half, mean_qsccp.mean, mean_qsccp.half
    ));
    matrix.says(&format!(
        "The last download of QSCCP ends earlier, after {:.1} ± {:.1} s; that of NDN-QSF ends after {:.1} ± {:.1} s",
        last_qsccp.mean, last_qsccp.half, last.mean, last.half
    ));
    assert_eq!(matrix.at(LOST, "qsccp/geant", "ndn-qsf"), 0.0);
}
