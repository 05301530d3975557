//! A cache near the consumer has part of the content, and the producer is far away: caches x distance.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{goodput, in_parallel, measuring, parse, run};
use weir_experiment::Setup;
use weir_schemes::registry::SCHEMES;

/// The consumer's links, with the cache at 2 ms round-trip time. The producer is `delay` behind it.
fn network(scheme: &str, hits: f64, delay: &str, rest: &str) -> String {
    format!(
        "title = \"near cache\"\nsource = \"assumed: a test\"\nduration = \"20 s\"\n[scheme]\ndefault = \"{scheme}\"\n\
         [[node]]\nname = [\"C\", \"P\"]\n[[node]]\nname = \"R\"\ncache_ratio = {hits}\n\
         [[link]]\nends = [\"C\", \"R\"]\nrate = \"10 Mb/s\"\ndelay = \"1 ms\"\nqueue = 100\n\
         [[link]]\nends = [\"R\", \"P\"]\nrate = \"10 Mb/s\"\ndelay = \"{delay}\"\nqueue = 300\n\
         [[flow]]\nname = \"f\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/f\"\n{rest}"
    )
}

/// Goodput of the last half, Mb/s.
fn rate(scheme: &str, hits: f64, delay: &str, early_loss: bool) -> f64 {
    let text = network(scheme, hits, delay, &format!("early_loss = {early_loss}\n"));
    let setup = Setup { with_series: false, ..measuring(&[(10, 20)]) };
    goodput(&run(&parse("near cache", &text, &[]), &setup).document.windows[0], "/f") / 1e6
}

/// Before round-trip times were attributed to responders, BBR had 0.11 of 8.8 Mb/s here, and most window laws
/// a tenth.
#[test]
fn a_near_cache_that_answers_a_part_takes_less_than_half_of_no_schemes_rate() {
    let all: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
    in_parallel(&all, |scheme| {
        let without = rate(scheme, 0.0, "150 ms", true);
        for (hits, early_loss) in [(0.02, true), (0.5, true), (0.5, false)] {
            let with = rate(scheme, hits, "150 ms", early_loss);
            assert!(with > 0.5 * without, "{scheme}, {hits}: {with} of {without}");
        }
    });
}

#[test]
fn the_laws_that_filled_the_path_fill_it_behind_a_near_cache_too() {
    in_parallel(&["bbr", "cubic", "bic"], |scheme| {
        for (hits, delay) in
            [(0.01, "5 ms"), (0.1, "40 ms"), (0.5, "150 ms"), (0.9, "150 ms"), (1.0, "40 ms")]
        {
            let with = rate(scheme, hits, delay, true);
            assert!(with > 8.4, "{scheme}, {delay}, {hits}: {with} of 9.34");
        }
    });
}

/// The first quarter of a file comes from the cache; the rest is 300 ms away. The whole file takes 17.5 s at
/// the link's rate.
#[test]
fn where_the_cache_ends_a_window_grows_to_that_of_the_longer_path() {
    let warm = "amount = 20000\nstart = \"15 s\"\n[[node]]\nname = \"D\"\n[[link]]\nends = [\"D\", \"R\"]\nrate = \"10 Mb/s\"\n\
        delay = \"1 ms\"\nqueue = 100\n[[flow]]\nname = \"warm\"\nconsumer = \"D\"\nproducer = \"P\"\nprefix = \"/f\"\n\
        amount = 5000\nscheme = \"fixed\"\n[scheme.fixed]\nwindow = 300\n";
    let limits = [("bbr", 21.0), ("cubic", 20.0), ("reno", 28.0), ("bic", 20.0), ("tcp-newreno", 36.0)];
    in_parallel(&limits, |&(scheme, most)| {
        let text = network(scheme, 0.0, "150 ms", warm)
            .replace("cache_ratio = 0", "cache = \"unlimited\"")
            .replace("duration = \"20 s\"", "duration = \"60 s\"");
        let report =
            run(&parse("half cached", &text, &[]), &Setup { with_series: false, ..Setup::default() });
        let flow = report.document.flows.iter().find(|flow| flow.group == "f").unwrap();
        let took = flow.completion_s.unwrap();
        assert!(took < most, "{scheme}: {took} s");
    });
}

/// The square-root law (Mathis et al.): a mean window of 1.22/√p packets, at any round-trip time.
#[test]
fn reno_has_the_window_of_its_law_on_a_short_path() {
    let text = "title = \"response\"\nsource = \"assumed: a test\"\nduration = \"120 s\"\n[scheme]\ndefault = \"reno\"\n\
        [[node]]\nname = [\"C\", \"P\"]\n[[link]]\nends = [\"C\", \"P\"]\nrate = \"10 Gb/s\"\ndelay = \"5 ms\"\n\
        queue = \"unlimited\"\nloss = 0.005\n[[flow]]\nname = \"f\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/f\"\n";
    let setup = Setup { with_series: false, ..measuring(&[(20, 120)]) };
    let report = run(&parse("response", text, &[]), &setup);
    let packets = goodput(&report.document.windows[0], "/f") / 8192.0 * 0.01;
    let law = (1.5f64 / 0.01).sqrt();
    assert!((packets / law - 1.0).abs() < 0.2, "{packets} packets, by the law {law}");
}

/// The link to the producer's access point fails at 20 s, and another comes up at 21 s. Both routes stay.
#[test]
fn what_a_next_hop_has_refused_is_asked_for_again_at_the_other() {
    let text = "title = \"hand-over\"\nsource = \"assumed: a test\"\nduration = \"40 s\"\n[scheme]\ndefault = \"reno\"\n\
        [[node]]\nname = [\"C\", \"R\", \"AP1\", \"AP2\", \"P\"]\n[defaults.link]\nrate = \"20 Mb/s\"\ndelay = \"5 ms\"\n\
        [[link]]\nbetween = [\"C-R\", \"R-AP1\"]\n[[link]]\nends = [\"R\", \"AP2\"]\ndelay = \"6 ms\"\n\
        [[link]]\nbetween = [\"AP1-P\", \"AP2-P\"]\nrate = \"10 Mb/s\"\ndelay = \"2 ms\"\n\
        [[flow]]\nname = \"f\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/f\"\n[routing]\npolicy = \"multipath\"\n\
        [[event]]\nat = \"0 s\"\nlink = \"AP2-P\"\nup = false\n[[event]]\nat = \"20 s\"\nlink = \"AP1-P\"\nup = false\n\
        [[event]]\nat = \"21 s\"\nlink = \"AP2-P\"\nup = true\n";
    // A fixed window is not enough for the longer path.
    let all = SCHEMES.iter().map(|scheme| scheme.name).filter(|name| *name != "fixed").collect::<Vec<_>>();
    in_parallel(&all, |scheme| {
        let text = text.replace("\"reno\"", &format!("\"{scheme}\""));
        let setup = Setup { with_series: false, ..measuring(&[(10, 20), (28, 40)]) };
        let report = run(&parse("hand-over", &text, &[]), &setup);
        let [before, after] = [0, 1].map(|window| goodput(&report.document.windows[window], "/f"));
        assert!(after > 0.85 * before, "{scheme}: {before}, then {after}");
    });
}
