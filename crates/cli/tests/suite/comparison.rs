//! What the page of the comparison says of its tables follows from them: each sentence with a figure is made here from the
//! tables, and must stand on the page. Where new tables move one: look at what holds now, and mend the page, and this test
//! if something else is to be said.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

const PAGE: &str = "docs/schemes/comparison.md";

const DIAMONDS: [&str; 2] = ["qsccp/diamond-bandwidth", "qsccp/diamond-latency"];
const ABILENE: [&str; 2] = ["qsccp/abilene-single", "qsccp/abilene-multipath"];
const FRIENDLINESS: [&str; 2] = ["qsccp/friendliness", "qsccp/friendliness-delay"];
const FAIRNESS: [&str; 2] = ["qsccp/fairness", "qsccp/fairness-delay"];
const GEANT: &str = "qsccp/geant";
const CACHE: &str = "qsccp/cache";

/// The windows of the diamonds before a flow turns greedy, and the one after.
const NOBODY_GREEDY: [&str; 3] = ["10 s to 80 s", "90 s to 160 s", "170 s to 240 s"];
const ONE_GREEDY: &str = "250 s to 320 s";

const RATIO: &str = "Goodput as a multiple of cubic's beside it";
const JAIN: &str = "Jain's index";
const LOST: &str = "Data lost";

/// A cell: a mean in Mb/s, ms, s or as it is, half of its interval, and in how many seeds there was one.
#[derive(Clone, Copy, Debug)]
struct Figure {
    mean: f64,
    half: f64,
    seeds: u32,
}

impl Figure {
    /// `None` where nothing was measured.
    fn parse(cell: &str, seeds: u32) -> Option<Figure> {
        let cell = cell.replace('\u{202f}', "");
        let (figure, of) = cell.split_once(" (").unwrap_or((&cell, ""));
        let measured_in = of.split(' ').next().unwrap_or_default().parse().unwrap_or(seeds);
        let mut words = figure.split(' ').filter(|word| *word != "±");
        let mean: f64 = words.next()?.parse().ok()?;
        let mut words = words.peekable();
        let half = words.peek().and_then(|word| word.parse().ok());
        let scale = if figure.ends_with("kb/s") { 1e-3 } else { 1.0 };
        Some(Figure { mean: mean * scale, half: half.unwrap_or(0.0) * scale, seeds: measured_in })
    }
}

/// The page: its prose with single blanks, and the figures of its tables by experiment, window or title of the table,
/// scheme, and column.
struct Page {
    prose: String,
    seeds: u32,
    figures: BTreeMap<[String; 4], Figure>,
}

impl Page {
    fn read() -> Page {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
        let (prose, tables) = text.split_once("\n## The tables\n").expect("the page has tables");
        let (_, seeds) = tables.split_once("seeds 1 to ").expect("the tables say their seeds");
        let seeds = seeds.split('.').next().and_then(|seeds| seeds.parse().ok()).expect("a number");
        let prose = prose.split_whitespace().collect::<Vec<_>>().join(" ");
        Page { prose, seeds, figures: figures(tables, seeds) }
    }

    fn schemes(&self) -> BTreeSet<&str> {
        self.figures.keys().map(|[_, _, scheme, _]| scheme.as_str()).filter(|s| *s != "optimum").collect()
    }

    fn others(&self, but: &[&str]) -> BTreeSet<&str> {
        self.schemes().into_iter().filter(|scheme| !but.contains(scheme)).collect()
    }

    fn experiments(&self) -> BTreeSet<&str> {
        self.figures.keys().map(|[experiment, ..]| experiment.as_str()).collect()
    }

    /// A figure of a window.
    fn at(&self, experiment: &str, window: &str, scheme: &str, column: &str) -> Figure {
        let key = [experiment, window, scheme, column].map(str::to_owned);
        *self.figures.get(&key).unwrap_or_else(|| panic!("{PAGE} has no {key:?}"))
    }

    /// The figure of the whole run of a download; of those who end in no seed there is none.
    fn done(&self, experiment: &str, scheme: &str, column: &str) -> Option<Figure> {
        let key = [experiment, "0 s to 60 s", scheme, column].map(str::to_owned);
        self.figures.get(&key).copied()
    }

    /// Those means of a scheme that a column of an experiment has, or that a table over an axis has.
    fn means(&self, experiment: &str, scheme: &str, of: &str) -> Vec<f64> {
        let is_of = |[e, title, s, column]: &[String; 4]| {
            e == experiment && s == scheme && (column == of || title == of)
        };
        self.figures.iter().filter(|(key, _)| is_of(key)).map(|(_, figure)| figure.mean).collect()
    }

    fn all_means(&self, experiments: &[&str], scheme: &str, of: &str) -> Vec<f64> {
        experiments.iter().flat_map(|experiment| self.means(experiment, scheme, of)).collect()
    }

    fn lost(&self, experiment: &str, scheme: &str) -> f64 {
        let lost = [self.means(experiment, scheme, "lost"), self.means(experiment, scheme, LOST)].concat();
        assert!(!lost.is_empty(), "{PAGE}: losses of {scheme} in {experiment} are found");
        lost.into_iter().fold(0.0, f64::max)
    }

    /// Parts of the optimum's goodput in the diamonds, while nobody is greedy.
    fn parts_of_optimum(&self, scheme: &str) -> Vec<f64> {
        let windows = DIAMONDS.iter().flat_map(|diamond| NOBODY_GREEDY.iter().map(move |w| (diamond, w)));
        let goodput = |(diamond, window): (&&str, &&str), of| self.at(diamond, window, of, "goodput").mean;
        windows.map(|window| goodput(window, scheme) / goodput(window, "optimum")).collect()
    }

    fn says(&self, sentence: &str) {
        assert!(self.prose.contains(sentence), "{PAGE} does not say: {sentence}");
    }
}

fn cells(row: &str) -> Vec<String> {
    row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// A window's row begins with the window, which the rows below leave out; that of an axis with the scheme.
fn figures(tables: &str, seeds: u32) -> BTreeMap<[String; 4], Figure> {
    let mut figures = BTreeMap::new();
    let (mut experiment, mut window, mut columns) = (String::new(), String::new(), Vec::new());
    for line in tables.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            experiment = name.to_owned();
        } else if experiment.is_empty() {
            // The matrix, whose figures those below are.
        } else if let Some((title, _)) = line.strip_suffix(':').and_then(|line| line.split_once(" over ")) {
            window = title.to_owned();
        } else if line.starts_with("| window |") || line.starts_with("| scheme |") {
            columns = cells(line);
        } else if line.starts_with("| ") {
            let row = cells(line);
            let first = usize::from(columns[0] == "window");
            if first == 1 && !row[0].is_empty() {
                window.clone_from(&row[0]);
            }
            for (column, cell) in columns.iter().zip(&row).skip(first + 1) {
                let key = [experiment.clone(), window.clone(), row[first].clone(), column.clone()];
                figures.extend(Figure::parse(cell, seeds).map(|figure| (key, figure)));
            }
        }
    }
    figures
}

fn least(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn who_loses_data_is_as_the_page_says() {
    let page = Page::read();
    let [single, multi] = ABILENE.map(|experiment| page.lost(experiment, "qsccp"));
    page.says(&format!(
        "QSCCP loses none outside Abilene, where it loses {single:.0} and {multi:.0} of 120 000."
    ));
    let [single, multi] = ABILENE.map(|experiment| page.lost(experiment, "mircc"));
    let cache = page.at(CACHE, "10 s to 20 s", "mircc", "lost");
    page.says(&format!(
        "MIRCC loses {single:.0} and {multi:.0} there, and {:.0} ± {:.0} in",
        cache.mean, cache.half
    ));
    for experiment in page.experiments() {
        let in_abilene = ABILENE.contains(&experiment);
        assert!(in_abilene || page.lost(experiment, "qsccp") == 0.0, "QSCCP loses none in {experiment}");
        let loses = in_abilene || experiment == CACHE;
        assert!(loses || page.lost(experiment, "mircc") == 0.0, "MIRCC loses none in {experiment}");
    }
    for experiment in ["qsccp/dumbbell", CACHE, ABILENE[0], ABILENE[1], GEANT] {
        let again = most(&page.means(experiment, "mircc", "sent again"));
        assert!(again >= 10_000.0, "MIRCC sends tens of thousands again in {experiment}: {again}");
    }
    who_loses_nothing(&page);
}

/// Of those who lose thousands on GEANT, and the experiments in which they lose none.
fn who_loses_nothing(page: &Page) {
    let others = page.others(&["qsccp", "mircc"]);
    let lossless = |scheme: &str| -> BTreeSet<&str> {
        page.experiments().into_iter().filter(|experiment| page.lost(experiment, scheme) == 0.0).collect()
    };
    for scheme in others {
        assert!(page.lost(GEANT, scheme) >= 1000.0, "{scheme} loses thousands on GEANT");
        let said = match scheme {
            "pcon" => [&FRIENDLINESS[..], &FAIRNESS].concat(),
            "omcc-rf" => [&["qsccp/tree", CACHE, "qsccp/multiaccess"][..], &FAIRNESS].concat(),
            "fixed" => [&[CACHE][..], &FAIRNESS].concat(),
            _ => Vec::new(),
        };
        assert_eq!(lossless(scheme), said.into_iter().collect(), "{PAGE}: where {scheme} loses nothing");
    }
}

#[test]
fn who_fills_several_paths_is_as_the_page_says() {
    let page = Page::read();
    let percent = |scheme: &str| {
        let parts = page.parts_of_optimum(scheme);
        [least(&parts), most(&parts)].map(|part| (100.0 * part).round())
    };
    let ([least_qsccp, qsccp], mircc, pcon, omcc) =
        (percent("qsccp"), percent("mircc"), percent("pcon"), percent("omcc-rf"));
    assert!(least_qsccp == qsccp && mircc[1] == mircc[0] + 1.0, "{mircc:?}");
    page.says(&format!(
        "QSCCP has {qsccp} % of the optimum's goodput, MIRCC {} % or {} %, PCON {} % to {} %, OMCC-RF {} % to {} %, \
         less than PCON in each window",
        mircc[0], mircc[1], pcon[0], pcon[1], omcc[0], omcc[1]
    ));
    let parts = page.parts_of_optimum("omcc-rf").into_iter().zip(page.parts_of_optimum("pcon"));
    assert!(parts.into_iter().all(|(omcc, pcon)| omcc < pcon), "OMCC-RF has less than PCON in each window");
    for law in ["reno", "bic", "cubic", "bbr", "fixed"] {
        assert!(most(&page.parts_of_optimum(law)) <= 0.4, "{law} has two fifths at most");
    }
}

#[test]
fn who_restrains_the_greedy_flow_and_who_knows_classes_is_as_the_page_says() {
    let page = Page::read();
    // 2 : 2 : 1 has 0.926, all for one of three 0.333.
    for diamond in DIAMONDS {
        let jain = |scheme: &str| page.at(diamond, ONE_GREEDY, scheme, "Jain").mean;
        assert!(jain("qsccp") > 0.92, "QSCCP restrains it in {diamond}");
        for scheme in page.others(&["qsccp"]) {
            assert!(jain(scheme) < 0.6, "{scheme} restrains it in {diamond}");
        }
        for law in ["reno", "bic", "cubic", "bbr"] {
            assert!(jain(law) < 0.35, "{law} leaves the others something in {diamond}");
        }
    }
    for experiment in ["qsccp/dumbbell", "qsccp/tree"] {
        assert!(page.means(experiment, "qsccp", "Jain").iter().all(|jain| *jain == 1.0), "{experiment}");
        for scheme in page.others(&["qsccp"]) {
            assert!(
                most(&page.means(experiment, scheme, "Jain")) < 0.98,
                "{scheme} knows classes in {experiment}"
            );
        }
    }
}

#[test]
fn who_is_done_first_is_as_the_page_says() {
    let page = Page::read();
    let done = |experiment: &str, scheme: &str, column: &str| {
        page.done(experiment, scheme, column).map_or(f64::INFINITY, |figure| figure.mean)
    };
    let others = page.others(&["qsccp"]);
    for experiment in [ABILENE[0], ABILENE[1], GEANT] {
        let qsccp = done(experiment, "qsccp", "last");
        assert!(
            others.iter().all(|s| qsccp < done(experiment, s, "last")),
            "QSCCP is done first in {experiment}"
        );
    }
    let by_one_path = done(ABILENE[0], "qsccp", "done, mean");
    assert!(
        others.iter().all(|s| by_one_path < done(ABILENE[0], s, "done, mean")),
        "on the mean by one path"
    );

    let [bic, qsccp] = ["bic", "qsccp"].map(|s| page.at(ABILENE[1], "0 s to 60 s", s, "done, mean"));
    assert!((bic.mean - qsccp.mean).abs() < bic.half, "BIC takes as long");
    page.says(&format!(
        "10.1 ± 0.2 s beside 10.0 ± 0.1 s, loses {} Data for it, and has its last download after {:.0} s, QSCCP after {:.0} s",
        thousands((page.lost(ABILENE[1], "bic") / 100.0).round() * 100.0),
        done(ABILENE[1], "bic", "last"),
        done(ABILENE[1], "qsccp", "last")
    ));
    let rounded = [bic, qsccp].map(|figure| format!("{:.1} ± {:.1} s", figure.mean, figure.half));
    assert_eq!(rounded, ["10.1 ± 0.2 s", "10.0 ± 0.1 s"]);

    let on_geant = done(GEANT, "qsccp", "done, mean");
    let sooner = others.iter().copied().filter(|s| done(GEANT, s, "done, mean") < on_geant);
    assert_eq!(
        sooner.collect::<Vec<_>>(),
        ["mircc", "omcc-rf", "pcon"],
        "{PAGE}: who has a shorter mean on GEANT"
    );
}

fn thousands(number: f64) -> String {
    format!("{} {:03}", (number / 1000.0).floor(), number % 1000.0)
}

#[test]
fn in_how_many_seeds_all_flows_end_is_as_the_page_says() {
    let page = Page::read();
    let ended = |scheme: &str| page.done(GEANT, scheme, "last").map_or(0, |figure| figure.seeds);
    let counts: BTreeMap<&str, u32> =
        page.schemes().into_iter().map(|scheme| (scheme, ended(scheme))).collect();
    let all = page.seeds;
    let said = [
        ("qsccp", all),
        ("mircc", all),
        ("omcc-rf", 8),
        ("fixed", 3),
        ("pcon", 3),
        ("bic", 2),
        ("reno", 1),
        ("cubic", 0),
        ("bbr", 0),
    ];
    assert_eq!(counts, BTreeMap::from(said), "{PAGE}: in how many seeds all flows end on GEANT");
    page.says(
        "All flows end in every seed under QSCCP and MIRCC alone; in eight of ten under OMCC-RF, three under `fixed` and \
         PCON, two under BIC, one under Reno, and in none under CUBIC and BBR.",
    );
}

#[test]
fn who_is_friendly_is_as_the_page_says() {
    let page = Page::read();
    let ratios = |scheme: &str| page.all_means(&FRIENDLINESS, scheme, RATIO);
    let range = |figures: &[f64], decimals: usize| {
        format!("{:.decimals$} to {:.decimals$}", least(figures), most(figures))
    };
    let over_5_mbps = page.at(FRIENDLINESS[0], RATIO, "qsccp", "5 Mb/s").mean;
    let elsewhere: Vec<f64> = ratios("qsccp").into_iter().filter(|ratio| *ratio != over_5_mbps).collect();
    page.says(&format!(
        "QSCCP has {} times what CUBIC has beside it, {over_5_mbps:.2} times over 5 Mb/s. PCON has {} times as much, BIC {}; \
         Reno half at most.",
        range(&elsewhere, 2),
        range(&ratios("pcon"), 1),
        range(&ratios("bic"), 1)
    ));
    assert!(most(&ratios("reno")) <= 0.5);

    let is_short = |column: &str| ["5 ms", "10 ms"].contains(&column);
    let over_short = |scheme: &str| {
        ["5 ms", "10 ms"].map(|delay| page.at(FRIENDLINESS[1], RATIO, scheme, delay).mean).to_vec()
    };
    let over_long = |scheme: &str| -> Vec<f64> {
        let is_of = |[experiment, title, s, column]: &[String; 4]| {
            FRIENDLINESS.contains(&experiment.as_str()) && title == RATIO && s == scheme && !is_short(column)
        };
        page.figures.iter().filter(|(key, _)| is_of(key)).map(|(_, figure)| figure.mean).collect()
    };
    // What CUBIC has of both together.
    let left = |ratio: f64| 1.0 / (1.0 + ratio);
    assert!(left(least(&over_long("bbr"))) <= 0.1, "BBR leaves a tenth and less");
    let bbr = over_short("bbr");
    assert!(left(most(&bbr)) > 0.4 && left(least(&bbr)) < 0.55, "BBR leaves half or a little less: {bbr:?}");
    let mircc = over_short("mircc");
    assert_eq!(format!("{:.1} {:.1}", mircc[0], mircc[1]), "1.6 1.6");
    let long = over_long("mircc");
    page.says(&format!(
        "it has 1.6 times as much over 5 and 10 ms, {:.0} to {:.0} times elsewhere.",
        least(&long),
        most(&long).floor()
    ));
}

#[test]
fn who_is_fair_to_itself_is_as_the_page_says() {
    let page = Page::read();
    let unfair = ["15 Mb/s", "30 Mb/s"].map(|rate| page.at(FAIRNESS[0], JAIN, "pcon", rate).mean);
    page.says(&format!(
        "All, but PCON over 15 and 30 Mb/s, where Jain's index is {:.2} to {:.2}; all others have 0.994 and more.",
        least(&unfair),
        most(&unfair)
    ));
    let indices = page.schemes().into_iter().flat_map(|scheme| page.all_means(&FAIRNESS, scheme, JAIN));
    let others: Vec<f64> = indices.filter(|jain| !unfair.contains(jain)).collect();
    assert!(others.len() > 50 && least(&others) >= 0.994, "{}", least(&others));
}
