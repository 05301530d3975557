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
pub struct Figure {
    pub mean: f64,
    pub half: f64,
    seeds: u32,
}

impl Figure {
    /// `None` where nothing was measured.
    pub fn parse(cell: &str, seeds: u32) -> Option<Figure> {
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
pub struct Page {
    prose: String,
    seeds: u32,
    figures: BTreeMap<[String; 4], Figure>,
}

impl Page {
    pub fn read() -> Page {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
        let (prose, tables) = text.split_once("\n## The tables\n").expect("the page has tables");
        let (_, seeds) = tables.split_once("seeds 1 to ").expect("the tables say their seeds");
        let seeds = seeds.split('.').next().and_then(|seeds| seeds.parse().ok()).expect("a number");
        let prose = prose.split_whitespace().collect::<Vec<_>>().join(" ");
        Page { prose, seeds, figures: figures(tables, seeds) }
    }

    fn schemes(&self) -> BTreeSet<&str> {
        self.figures
            .keys()
            .map(|[_, _, scheme, _]| scheme.as_str())
            .filter(|s| !["optimum", "unshared"].contains(s))
            .collect()
    }

    fn others(&self, but: &[&str]) -> BTreeSet<&str> {
        self.schemes().into_iter().filter(|scheme| !but.contains(scheme)).collect()
    }

    fn experiments(&self) -> BTreeSet<&str> {
        self.figures.keys().map(|[experiment, ..]| experiment.as_str()).collect()
    }

    /// A figure of a window.
    pub fn at(&self, experiment: &str, window: &str, scheme: &str, column: &str) -> Figure {
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

    /// Parts of the optimum's goodput in some diamonds, while nobody is greedy.
    fn parts_of_optimum(&self, diamonds: &[&str], scheme: &str) -> Vec<f64> {
        let windows = diamonds.iter().flat_map(|diamond| NOBODY_GREEDY.iter().map(move |w| (diamond, w)));
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

pub fn least(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
}

pub fn most(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The largest loss of those in Abilene, in whole Data.
fn in_abilene(page: &Page, scheme: &str) -> [String; 2] {
    ABILENE.map(|experiment| format!("{:.0}", page.lost(experiment, scheme)))
}

#[test]
fn who_loses_data_is_as_the_page_says() {
    let page = Page::read();
    let [single, multi] = in_abilene(&page, "qsccp");
    page.says(&format!("QSCCP loses Data only in Abilene: {single} and {multi} of 120 000."));
    let [single, multi] = in_abilene(&page, "mircc");
    let cache = page.at(CACHE, "10 s to 20 s", "mircc", "lost");
    page.says(&format!(
        "MIRCC loses {single} and {multi} there, and {:.0} ± {:.0} in",
        cache.mean, cache.half
    ));
    for experiment in ["qsccp/dumbbell", CACHE, ABILENE[0], ABILENE[1], GEANT] {
        let again = most(&page.means(experiment, "mircc", "sent again"));
        assert!(again >= 10_000.0, "MIRCC sends tens of thousands again in {experiment}: {again}");
    }
    let others = page.others(&["qsccp", "mircc", "ndn-qsf"]);
    let on_geant: Vec<f64> = others.iter().map(|scheme| page.lost(GEANT, scheme)).collect();
    assert!(
        on_geant.contains(&page.lost(GEANT, "tcp-newreno")) && on_geant.contains(&page.lost(GEANT, "bbr"))
    );
    page.says(&format!(
        "All others lose Data on GEANT, from {:.0} (NewReno) to {} (BBR).",
        least(&on_geant),
        thousands(most(&on_geant))
    ));
}

#[test]
fn who_loses_nothing_is_as_the_page_says() {
    let page = Page::read();
    let mild = [&FRIENDLINESS[..], &FAIRNESS].concat();
    let all_but = |some: &[&str]| -> BTreeSet<&str> {
        page.experiments().into_iter().filter(|experiment| !some.contains(experiment)).collect()
    };
    for scheme in page.schemes() {
        let lossless = |experiment: &&str| page.lost(experiment, scheme) == 0.0;
        let lossless: BTreeSet<&str> = page.experiments().into_iter().filter(lossless).collect();
        let said = match scheme {
            "qsccp" => all_but(&ABILENE),
            "mircc" => all_but(&[CACHE, ABILENE[0], ABILENE[1]]),
            "ndn-qsf" => {
                mild.iter().copied().filter(|e| *e != FRIENDLINESS[0]).chain([GEANT, CACHE]).collect()
            }
            "pcon" | "hbhcm" | "e2e-aqm" => mild.iter().copied().collect(),
            "dpccp" => FAIRNESS.into(),
            "fixed" => FAIRNESS.into_iter().chain([CACHE]).collect(),
            _ => BTreeSet::new(),
        };
        assert_eq!(lossless, said, "{PAGE}: where {scheme} loses nothing");
    }
    assert!(page.lost(FRIENDLINESS[0], "ndn-qsf") < 1.5, "NDN-QSF loses about 1 in friendliness");
    for experiment in all_but(&[&mild[..], &[GEANT, CACHE]].concat()) {
        assert!(page.lost(experiment, "ndn-qsf") >= 100.0, "NDN-QSF loses hundreds or more in {experiment}");
    }
}

/// Those that keep to one path.
const ONE_PATH: [&str; 6] = ["e2e-aqm", "tcp-newreno", "reno", "bic", "cubic", "bbr"];

#[test]
fn who_fills_several_paths_is_as_the_page_says() {
    let page = Page::read();
    let range = |parts: &[f64]| format!("{:.0} % to {:.0} %", 100.0 * least(parts), 100.0 * most(parts));
    let parts = |scheme: &str| page.parts_of_optimum(&DIAMONDS, scheme);
    assert_eq!(range(&parts("qsccp")), "99 % to 99 %");
    let of = |scheme: &str| range(&parts(scheme));
    page.says(&format!(
        "| 99 % | {} | {} | {} | {} | {} | {} |",
        of("ndn-qsf"),
        of("dpccp"),
        of("mircc"),
        of("pcon"),
        of("hbhcm"),
        of("omcc-rf")
    ));
    let [wide, narrow] = DIAMONDS.map(|diamond| {
        let parts = ONE_PATH.iter().flat_map(|scheme| page.parts_of_optimum(&[diamond], scheme));
        range(&parts.collect::<Vec<_>>())
    });
    page.says(&format!(
        "Schemes that use one path have {wide} if it has 6 Mb/s of 14, and {narrow} if it has 3.5 Mb/s."
    ));
}

#[test]
fn who_restrains_the_greedy_flow_and_who_knows_classes_is_as_the_page_says() {
    let page = Page::read();
    // 2 : 2 : 1 has 0.926, equal parts have 1, all for one of three 0.333.
    for diamond in DIAMONDS {
        let jain = |scheme: &str| page.at(diamond, ONE_GREEDY, scheme, "Jain").mean;
        assert!((jain("qsccp") - 0.926).abs() < 0.01, "QSCCP gives the greedy flow half in {diamond}");
        // 1.6 : 1 : 1 has 0.946, 1.3 : 1 : 1 has 0.985.
        assert!(
            (0.94..0.99).contains(&jain("ndn-qsf")),
            "NDN-QSF gives it 1.6 and 1.3 times as much: {diamond}"
        );
        for scheme in page.others(&["qsccp", "ndn-qsf"]) {
            assert!(jain(scheme) < 0.66, "{scheme} restrains it in {diamond}");
        }
        for scheme in ONE_PATH {
            assert!(jain(scheme) < 0.35, "{scheme} leaves the others something in {diamond}");
        }
    }
    for experiment in ["qsccp/dumbbell", "qsccp/tree"] {
        assert!(page.means(experiment, "qsccp", "Jain").iter().all(|jain| *jain == 1.0), "{experiment}");
        for scheme in page.others(&["qsccp"]) {
            let jain = most(&page.means(experiment, scheme, "Jain"));
            assert!(jain < 0.99, "{scheme} knows classes in {experiment}: {jain}");
        }
    }
}

/// Seconds until downloads are done, with an interval.
fn seconds(figure: Figure) -> String {
    format!("{:.1} ± {:.1} s", figure.mean, figure.half)
}

#[test]
fn who_is_done_first_in_abilene_is_as_the_page_says() {
    let page = Page::read();
    let mean = |scheme: &str| page.at(ABILENE[0], "0 s to 60 s", scheme, "done, mean").mean;
    let first = ["qsccp", "ndn-qsf", "hbhcm", "bic"];
    let means = first.map(mean);
    page.says(&format!(
        "NDN-QSF, QSCCP, HbHCM and BIC have means of {:.1} s to {:.1} s.",
        least(&means),
        most(&means)
    ));
    assert!(
        first[1..].iter().all(|scheme| page.lost(ABILENE[0], scheme) > 500.0),
        "QSCCP loses almost nothing for it"
    );
    assert!(page.others(&first).into_iter().all(|scheme| mean(scheme) > most(&means)), "others take longer");

    let last = |scheme: &str| page.at(ABILENE[1], "0 s to 60 s", scheme, "last");
    page.says(&format!(
        "Its last download ends after {}, that of QSCCP after {}. NDN-QSF loses {} Data, QSCCP {:.0}.",
        seconds(last("ndn-qsf")),
        seconds(last("qsccp")),
        thousands(page.lost(ABILENE[1], "ndn-qsf")),
        page.lost(ABILENE[1], "qsccp")
    ));
    let others = page.others(&["qsccp", "ndn-qsf"]);
    assert!(others.into_iter().all(|scheme| last(scheme).mean > last("qsccp").mean), "others end later");
}

#[test]
fn who_is_done_first_on_geant_is_as_the_page_says() {
    let page = Page::read();
    let done = |scheme: &str, column: &str| page.done(GEANT, scheme, column);
    let [ndn_qsf, qsccp] =
        ["ndn-qsf", "qsccp"].map(|scheme| done(scheme, "done, mean").expect("all flows end"));
    page.says(&format!(
        "NDN-QSF has by far the shortest mean: {}; QSCCP has {:.2} ± {:.2} s. Both lose no Data.",
        seconds(ndn_qsf),
        qsccp.mean,
        qsccp.half
    ));
    let [first, second] = ["ndn-qsf", "qsccp"].map(|scheme| done(scheme, "last").expect("all flows end"));
    page.says(&format!(
        "QSCCP's last download is the earliest: after {}; that of NDN-QSF ends after {}.",
        seconds(second),
        seconds(first)
    ));
    let mean = |scheme: &str| done(scheme, "done, mean").map_or(f64::INFINITY, |figure| figure.mean);
    let mut sooner: Vec<&str> =
        page.others(&[]).into_iter().filter(|scheme| mean(scheme) < qsccp.mean).collect();
    sooner.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    assert_eq!(
        sooner,
        ["ndn-qsf", "mircc", "pcon", "tcp-newreno", "hbhcm", "omcc-rf"],
        "{PAGE}: who has a shorter mean on GEANT"
    );
    for scheme in &sooner[1..] {
        let last = done(scheme, "last").expect("it ends in some seeds").mean;
        assert!(last > second.mean, "{scheme} has later last downloads");
    }
}

fn thousands(number: f64) -> String {
    let number = number.round();
    format!("{} {:03}", (number / 1000.0).floor(), number % 1000.0)
}

#[test]
fn in_how_many_seeds_all_flows_end_is_as_the_page_says() {
    let page = Page::read();
    let ended = |scheme: &str| page.done(GEANT, scheme, "last").map_or(0, |figure| figure.seeds);
    let who = |seeds: u32| -> Vec<&str> {
        page.schemes().into_iter().filter(|scheme| ended(scheme) == seeds).collect()
    };
    assert_eq!(page.seeds, 10, "{PAGE}: of how many seeds the page speaks");
    assert_eq!(who(10), ["hbhcm", "mircc", "ndn-qsf", "qsccp", "tcp-newreno"]);
    assert_eq!(who(8), ["omcc-rf"]);
    assert_eq!(who(4), ["dpccp"]);
    assert_eq!(who(3), ["fixed", "pcon"]);
    assert_eq!(who(2), ["bic"]);
    assert_eq!(who(1), ["reno"]);
    assert_eq!(who(0), ["bbr", "cubic", "e2e-aqm"]);
    page.says(
        "On GEANT all flows end in every seed under QSCCP, MIRCC, HbHCM, NDN-QSF and NewReno; in eight of ten under OMCC-RF, \
         four under DPCCP, three under PCON and `fixed`, two under BIC, and one under Reno. Under end-to-end AQM, CUBIC and \
         BBR they end in none.",
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
    page.says(&format!("| QSCCP | {}; {over_5_mbps:.2} at 5 Mb/s |", range(&elsewhere, 2)));
    page.says(&format!("| NDN-QSF | {} |", range(&ratios("ndn-qsf"), 2)));
    let rows = [
        ("PCON", "pcon"),
        ("DPCCP", "dpccp"),
        ("NewReno", "tcp-newreno"),
        ("HbHCM", "hbhcm"),
        ("BIC", "bic"),
    ];
    for (name, scheme) in rows {
        page.says(&format!("| {name} | {} |", range(&ratios(scheme), 1)));
    }
    assert!(most(&ratios("reno")) <= 0.5);
    let omcc_rf = |rate: &str| page.at(FRIENDLINESS[0], RATIO, "omcc-rf", rate).mean;
    assert!((omcc_rf("30 Mb/s") - 0.5).abs() < 0.05 && (omcc_rf("5 Mb/s") - 2.0).abs() < 0.2);
    page.says(&format!("up to {:.0} over short paths |", most(&ratios("omcc-rf"))));
    page.says(&format!("| end-to-end AQM | {:.0} and more,", least(&ratios("e2e-aqm"))));

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
    page.says(&format!("| BBR | {} over 5 and 10 ms,", range(&over_short("bbr"), 1)));
    page.says(&format!("{:.0} and more elsewhere |", least(&over_long("bbr")).floor()));
    let mircc = over_short("mircc");
    assert_eq!(format!("{:.1} {:.1}", mircc[0], mircc[1]), "1.6 1.6");
    let long = over_long("mircc");
    page.says(&format!(
        "| MIRCC | 1.6 over 5 and 10 ms, {:.0} to {:.0} elsewhere |",
        least(&long),
        most(&long).floor()
    ));
}

#[test]
fn who_is_fair_to_itself_is_as_the_page_says() {
    let page = Page::read();
    let unfair = ["15 Mb/s", "30 Mb/s"].map(|rate| page.at(FAIRNESS[0], JAIN, "pcon", rate).mean);
    let indices = page.schemes().into_iter().flat_map(|scheme| page.all_means(&FAIRNESS, scheme, JAIN));
    let others: Vec<f64> = indices.filter(|jain| !unfair.contains(jain)).collect();
    page.says(&format!("All schemes have a Jain's index of {:.3} or more.", least(&others)));
    page.says(&format!(
        "The exception is PCON at 15 and 30 Mb/s, with {:.2} to {:.2}.",
        least(&unfair),
        most(&unfair)
    ));
    assert!(others.len() > 50);
}
