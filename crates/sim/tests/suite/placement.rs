//! Caches on a path of three: where copies are stored, the counts, and the hops of Data.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{parse, run_checking_wire};
use weir_experiment::Setup;
use weir_measure::RunDocument;

/// C fetches the same 200 Data three times in sequence, over R1, R2 and R3 from P.
fn fetched(keys: &str, more: &str) -> RunDocument {
    fetched_with(keys, more, &[])
}

fn fetched_with(keys: &str, more: &str, set: &[&str]) -> RunDocument {
    let flow = |name: &str, start: u64| {
        format!(
            "[[flow]]\nname = \"{name}\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/f\"\nstart = \"{start} s\"\namount = 200\n"
        )
    };
    let text = format!(
        "title = \"placement\"\nsource = \"assumed: a test\"\nduration = \"12 s\"\n[scheme]\ndefault = \"reno\"\n\
         [[node]]\nname = [\"C\", \"P\"]\n[[node]]\nname = \"R{{1..3}}\"\ncache = 1000\n{keys}\
         [[link]]\nbetween = [\"C-R1\", \"R1-R2\", \"R2-R3\", \"R3-P\"]\nrate = \"10 Mb/s\"\ndelay = \"1 ms\"\nqueue = 1000\n\
         {}{}{}{more}",
        flow("first", 0),
        flow("second", 4),
        flow("third", 8),
    );
    run_checking_wire(&parse("placement", &text, set), &Setup::default()).document
}

/// Insertions at R1, R2 and R3.
fn insertions(document: &RunDocument) -> [u64; 3] {
    ["R1", "R2", "R3"]
        .map(|name| document.nodes.iter().find(|node| node.node == name).unwrap().cache_insertions)
}

/// The mean hops of each flow's Data.
fn hops(document: &RunDocument) -> Vec<f64> {
    document.flows.iter().map(|flow| flow.hops.as_ref().unwrap().mean.unwrap()).collect()
}

#[test]
fn each_placement_leaves_its_copies() {
    let placed = |placement: &str| {
        let document = fetched(&format!("cache_placement = \"{placement}\"\n"), "");
        (insertions(&document), hops(&document))
    };
    assert_eq!(placed("everywhere"), ([200, 200, 200], vec![4.0, 1.0, 1.0]));
    assert_eq!(placed("edge"), ([200, 0, 0], vec![4.0, 1.0, 1.0]));
    // One node nearer each time.
    assert_eq!(placed("leave-copy-down"), ([200, 200, 200], vec![4.0, 3.0, 2.0]));
    assert_eq!(placed("probability 0"), ([0, 0, 0], vec![4.0, 4.0, 4.0]));
    assert_eq!(placed("probability 1"), ([200, 200, 200], vec![4.0, 1.0, 1.0]));
}

/// 4000 Data of /g are stored with the probabilities of ProbCache, computed by hand: 3/10 (1/3)^3 at R3, 2/10
/// (2/3)^3 at R2, 1/10 at R1. Data of /f are stored too: they are requested again where they were not stored.
#[test]
fn probabilities_are_those_of_the_placement() {
    let of = |placement: &str| {
        let long =
            "[[flow]]\nname = \"long\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/g\"\namount = 4000\n";
        insertions(&fetched(&format!("cache_placement = \"{placement}\"\n"), long))
    };
    let near = |counted: u64, low: u64, high: u64| assert!((low..high).contains(&counted), "{counted}");
    of("probability 0.3").into_iter().for_each(|counted| near(counted, 1130, 1480));
    let [r1, r2, r3] = of("probcache");
    near(r1, 390, 560);
    near(r2, 200, 330);
    near(r3, 30, 85);
}

#[test]
fn every_interest_that_is_looked_up_is_a_hit_or_a_miss() {
    let document = fetched("", "[[window]]\nname = \"again\"\nfrom = \"4 s\"\nto = \"12 s\"\n");
    let row =
        |nodes: &[weir_measure::NodeRow], name: &str| nodes.iter().find(|n| n.node == name).unwrap().clone();
    let r1 = row(&document.nodes, "R1");
    assert_eq!((r1.cache_hits, r1.cache_misses, r1.cache_evictions), (400, 200, 0));
    assert_eq!(r1.cache_hit_ratio, Some(400.0 / 600.0));
    assert!(r1.pit_max > 1 && r1.pit_mean.unwrap() > 0.0 && r1.drops.is_empty());
    let r2 = row(&document.nodes, "R2");
    assert_eq!((r2.cache_hits, r2.cache_misses, r2.cache_hit_ratio), (0, 200, Some(0.0)));
    assert_eq!(row(&document.nodes, "C").cache_hit_ratio, None);
    let again = row(&document.windows[0].nodes, "R1");
    assert_eq!((again.cache_hits, again.cache_misses, again.cache_hit_ratio), (400, 0, Some(1.0)));
    let class = document.classes[0].figures.hops.clone().unwrap();
    assert_eq!((class.counts, class.mean), (vec![0, 400, 0, 0, 200], Some(2.0)));
}

#[test]
fn a_cache_on_the_consumers_own_node_answers_over_no_link() {
    let own = "[[node]]\nname = \"D\"\ncache = 1000\ncache_placement = \"edge\"\n\
        [[link]]\nends = [\"D\", \"R3\"]\nrate = \"10 Mb/s\"\ndelay = \"1 ms\"\n";
    let flow = |name: &str, start: u64| {
        format!(
            "[[flow]]\nname = \"{name}\"\nconsumer = \"D\"\nproducer = \"P\"\nprefix = \"/d\"\nstart = \"{start} s\"\namount = 100\n"
        )
    };
    let document = fetched("", &format!("{own}{}{}", flow("own", 0), flow("again", 4)));
    assert_eq!(hops(&document)[3..], [2.0, 0.0]);
    // Its node counts, so R3 is the second store from this consumer, and it still stores everything.
    assert_eq!(insertions(&document)[2], 300);
}

#[test]
fn under_every_policy_a_small_store_evicts_and_the_seed_matters_to_random_alone() {
    for policy in ["lru", "fifo", "lfu", "random", "slru", "s3-fifo"] {
        // 20 kB are about 17 Data; R3 has none.
        let keys = format!("cache_policy = \"{policy}\"\n");
        let document =
            fetched_with(&keys, "", &["node.R1.cache=20 kB", "node.R2.cache=20 kB", "node.R3.cache=0"]);
        let r1 = &document.nodes[2];
        // A near Data may come before an earlier one: then some Interests are sent again.
        assert!(
            r1.node == "R1" && (600..620).contains(&(r1.cache_hits + r1.cache_misses)),
            "{policy}: {r1:?}"
        );
        assert!((150..600).contains(&r1.cache_evictions), "{policy}: {r1:?}");
        assert_eq!(document.seed_matters, policy == "random", "{policy}");
    }
}
