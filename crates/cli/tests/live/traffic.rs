//! `weir traffic`: the applications of a scenario on running forwarders.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{self, folder, keys, printed, refused, text, weir};
use crate::running::{Folder, Running, SECOND, now, pause};
use serde_json::Value;

/// Three nodes: two consume what the third produces, one of them as fast as possible, the other at a rate.
const SCENARIO: &str = r#"
title = "Two consumers and a producer"
source = "assumed: a test"
duration = "2 s"
[scheme]
default = "fixed"
[[node]]
name = ["alice", "bob", "carol", "dave"]
[defaults.link]
rate = "100 Mb/s"
delay = "1 ms"
queue = "100 packets"
source = "assumed: a test"
[[link]]
ends = ["alice", "dave"]
[[link]]
ends = ["bob", "dave"]
[[link]]
ends = ["dave", "carol"]
[defaults.flow]
payload = "1000 B"
source = "assumed: a test"
[[flow]]
name = "file"
consumer = "alice"
producer = "carol"
prefix = "/traffic/file"
class = "EF"
start = "100 ms"
amount = 300
[[flow]]
name = "stream"
consumer = "alice"
producer = "carol"
prefix = "/traffic/stream/{}"
count = 2
class = "AF1"
source_rate = "400 kb/s"
[[flow]]
name = "same"
consumer = "bob"
producer = "carol"
prefix = "/traffic/file"
count = 2
start = "1 s"
stop = "1500 ms"
source_rate = "80 kb/s"
[[window]]
name = "late"
from = "1 s"
to = "2 s"
source = "assumed: a test"
[[expectation]]
source = "theory: its segments, and no others"
metric = "completion"
flow = "file"
window = "late"
at_most = 1.9
[[expectation]]
source = "theory: two streams"
metric = "goodput"
flow = "stream"
window = "late"
about = "700 kb/s"
tolerance = 0.2
[[expectation]]
source = "assumed: a test"
metric = "utilisation"
link = "carol->dave"
window = "late"
at_most = 0.9
"#;

/// C and P run the scheme, but M between them does not.
const OVERLAY: &str = r#"
title = "A bottleneck that knows nothing"
source = "assumed: a test"
duration = "6 s"
[scheme]
default = "hbhcm"
[[node]]
name = ["C", "P"]
[[node]]
name = "M"
active = false
[defaults.link]
rate = "100 Mb/s"
delay = "100 us"
queue = "1000 packets"
source = "assumed: a test"
[[link]]
ends = ["C", "M"]
rate = "4 Mb/s"
[[link]]
ends = ["M", "P"]
[routing]
policy = "shortest-path"
[[flow]]
name = "over"
consumer = "C"
producer = "P"
prefix = "/over"
payload = "1000 B"
source = "assumed: a test"
[[window]]
name = "late"
from = "2 s"
to = "6 s"
source = "assumed: a test"
"#;

/// Two paths with different rates from S to R.
const TWO_WAYS: &str = r#"
title = "Two ways"
source = "assumed: a test"
duration = "8 s"
[scheme]
default = "dpccp"
[scheme.dpccp]
first_interests = 10
source = "assumed: a test"
[[node]]
name = ["R", "U", "V", "S"]
[defaults.link]
rate = "100 Mb/s"
delay = "100 us"
queue = "200 packets"
source = "assumed: a test"
[[link]]
ends = ["R", "U"]
rate = "6 Mb/s"
[[link]]
ends = ["R", "V"]
rate = "3 Mb/s"
[[link]]
ends = ["U", "S"]
[[link]]
ends = ["V", "S"]
[routing]
policy = "multipath"
[[flow]]
name = "both"
consumer = "R"
producer = "S"
prefix = "/both"
payload = "1000 B"
source = "assumed: a test"
[[window]]
name = "late"
from = "4 s"
to = "8 s"
source = "assumed: a test"
"#;

fn scenario(test: &str, change: impl Fn(String) -> String) -> String {
    let path = folder(test).join("traffic.toml");
    fs::write(&path, change(SCENARIO.to_owned())).unwrap();
    path.to_str().unwrap().to_owned()
}

fn socket(forwarder: &Running) -> String {
    format!("unix://{}", forwarder.unix.display())
}

fn traffic(arguments: &[&str]) -> Output {
    weir(&[&["traffic"], arguments].concat())
}

/// The document of a successful call, and its standard error.
fn done(arguments: &[&str]) -> (Value, String) {
    let output = traffic(&[arguments, &["--json"]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

fn flow<'a>(rows: &'a Value, consumer: &str, prefix: &str) -> &'a Value {
    let mut rows = rows["flows"].as_array().unwrap().iter();
    rows.find(|row| row["consumer"] == consumer && row["prefix"] == prefix).unwrap()
}

fn goodput(row: &Value) -> f64 {
    row["goodput_bps"].as_f64().unwrap()
}

/// Collects the keys of documents and of all rows in them, by path. A list has those of its first row.
fn shape(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(_) => {
            for key in keys(value) {
                found.push(format!("{path}.{key}"));
                shape(&format!("{path}.{key}"), &value[key], found);
            }
        }
        Value::Array(rows) => rows.iter().take(1).for_each(|row| shape(path, row, found)),
        _ => {}
    }
}

#[test]
fn the_flows_of_a_scenario_run_on_a_forwarder_and_give_the_results_of_the_simulator() {
    let folder = Folder::new("traffic");
    let forwarder = Running::start(&folder, "");
    let file = scenario("traffic-results", |text| text);
    let (document, said) = done(&[&file, "--socket", &socket(&forwarder), "--window", "0:1"]);

    let whole = flow(&document, "alice", "/traffic/file");
    assert!((goodput(whole) - 1_200_000.0).abs() < 1.0, "300 segments of 1000 B in 2 s: {whole}");
    assert!(whole["completion_s"].as_f64().unwrap() < 1.9, "{whole}");
    assert!(whole["delay_ms"]["p99"].as_f64().is_some() && whole["class"] == "EF", "{whole}");
    let [late, early] = &document["windows"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!((&late["from_s"], &early["to_s"]), (&Value::from(1.0), &Value::from(1.0)));
    // 400 kb/s of Data of about 1.06 kB with 1000 B of content.
    for (window, count) in [(late, 2.0), (early, 2.0)] {
        let stream =
            window["groups"].as_array().unwrap().iter().find(|row| row["group"] == "stream").unwrap();
        assert!((goodput(stream) / (count * 377_000.0) - 1.0).abs() < 0.15, "{stream}");
    }
    // Two consumers of one prefix at one node, from 1 s to 1.5 s: half of 80 kb/s each.
    let bobs: Vec<_> =
        late["flows"].as_array().unwrap().iter().filter(|row| row["consumer"] == "bob").collect();
    assert_eq!(bobs.len(), 2);
    for bob in bobs {
        assert!((20_000.0..50_000.0).contains(&goodput(bob)), "{bob}");
    }
    assert!(flow(early, "bob", "/traffic/file")["delay_ms"]["mean"].is_null());

    let what: Vec<_> = document["expectations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["unit"], &row["holds"]))
        .collect();
    assert_eq!(what, [(&Value::from("s"), &Value::from(true)), (&Value::from("bit/s"), &Value::from(true))]);
    assert!(said.contains("Not checked here: utilisation"), "{said}");
    assert!(said.contains("ready: 3 prefixes produced, 5 flows consumed at alice, bob, carol"), "{said}");

    let simulated = printed(&weir(&["run", &file, "--window", "0:1", "--json"]));
    let simulated: Value = serde_json::from_str(&simulated).unwrap();
    let [mut real, mut of_run] = [Vec::new(), Vec::new()];
    shape("", &document, &mut real);
    shape("", &simulated, &mut of_run);
    let unknown = [".links.", ".nodes.", ".hops", ".optimum.", ".slowdowns"];
    of_run.retain(|key| unknown.iter().all(|part| !key.contains(part)));
    assert_eq!(real, of_run);
    assert!(document["links"].as_array().unwrap().is_empty() && late["links"].as_array().unwrap().is_empty());
}

#[test]
fn what_happens_to_flows_happens_at_its_time_and_what_happens_to_links_is_listed() {
    let folder = Folder::new("traffic-events");
    let forwarder = Running::start(&folder, "");
    let file = scenario("traffic-events", |text| {
        text + "[[event]]\nname = \"greed\"\nat = \"1 s\"\nflow = \"stream\"\nsource_rate = \"1600 kb/s\"\n\
            unresponsive = true\nsource = \"assumed: a test\"\n\
            [[event]]\nname = \"cut\"\nat = \"1 s\"\nlink = \"bob-dave\"\nrate = \"1 Mb/s\"\n\
            source = \"assumed: a test\"\n\
            [[node]]\nname = \"cache\"\ncache_ratio = 0.5\nsource = \"assumed: a test\"\n"
    });
    let (document, said) = done(&[
        &file,
        "--socket",
        &socket(&forwarder),
        "--window",
        "0:1",
        "--node",
        "alice",
        "--node",
        "carol",
    ]);
    let [late, early] = &document["windows"].as_array().unwrap()[..] else { panic!("{document}") };
    let [before, after] = [early, late].map(|window| goodput(flow(window, "alice", "/traffic/stream/0")));
    assert!((3.0..5.0).contains(&(after / before)), "{before} {after}");
    assert!(document["flows"].as_array().unwrap().iter().all(|row| row["consumer"] == "alice"), "{document}");
    assert!(
        said.contains("event cut does not happen here: at 1 s the rate of link bob-dave changes"),
        "{said}"
    );
    assert!(!said.contains("event greed"), "{said}");
    assert!(said.contains("the simulated cache of cache does not exist here"), "{said}");
}

#[test]
fn nodes_may_be_at_forwarders_of_their_own() {
    let folders = ["traffic-near", "traffic-far"].map(Folder::new);
    let far = Running::start(&folders[1], "");
    let near = Running::start(
        &folders[0],
        &format!(
            "[[face]]\nname = \"far\"\nremote = \"udp4://{}\"\nrate = \"20 Mb/s\"\n\
             [[route]]\nprefix = \"/traffic\"\nface = \"far\"\n",
            far.udp
        ),
    );
    let file = scenario("traffic-apart", |text| text);
    let sockets = [format!("carol={}", socket(&far)), socket(&near)];
    let out = common::folder("traffic-apart-out");
    let output =
        traffic(&[&file, "--socket", &sockets[0], "--socket", &sockets[1], "--out", out.to_str().unwrap()]);
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(printed.contains("2 s on running forwarders, applications of alice, bob, carol"), "{printed}");
    let document: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(document["flows"][0]["completion_s"].as_f64().map(|s| s < 1.9), Some(true), "{document}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("Two consumers and a producer"));
    assert!(fs::metadata(out.join("flows.parquet")).unwrap().len() > 1_000);
}

/// A flow over an overlay on real sockets, and simulated. The bottleneck is a forwarder that runs no scheme; the others
/// measure across it.
fn over_a_forwarder_that_knows_nothing(scheme: &str) -> [Value; 2] {
    let names = ["C", "M", "P"];
    let folders = names.map(|name| Folder::new(&format!("traffic-{scheme}-{name}")));
    let ports = free_ports();
    let at = |port: u16| format!("udp4://127.0.0.1:{port}");
    let face = |name: &str, port, keys: &str| {
        format!("[[face]]\nname = \"{name}\"\nremote = \"{}\"\n{keys}\n", at(port))
    };
    let route = |face: &str| format!("[[route]]\nprefix = \"/over\"\nface = \"{face}\"\n");
    let runs_it = format!("[scheme]\nname = \"{scheme}\"\n");
    let files = [
        runs_it.clone() + &face("M", ports[1], "") + &route("M"),
        "[tables]\ncontent_store_packets = 0\n".to_owned()
            + &face("C", ports[0], "rate = \"4 Mb/s\"\nqueue = 1000")
            + &face("P", ports[2], "")
            + &route("P"),
        runs_it + &face("M", ports[1], ""),
    ];
    let forwarders = [0, 1, 2].map(|n| {
        let own = |text: String| text.replace("127.0.0.1:0", &format!("127.0.0.1:{}", ports[n]));
        Running::start_with(&folders[n], &files[n], own)
    });

    let path = common::folder(&format!("traffic-{scheme}-over")).join("overlay.toml");
    fs::write(&path, OVERLAY.replace("hbhcm", scheme)).unwrap();
    let file = path.to_str().unwrap();
    let sockets = [0, 2].map(|n| format!("{}={}", names[n], socket(&forwarders[n])));
    let (real, _) = done(&[file, "--socket", &sockets[0], "--socket", &sockets[1]]);
    let simulated: Value = serde_json::from_str(&printed(&weir(&["run", file, "--json"]))).unwrap();
    [&real, &simulated].map(|document| flow(&document["windows"][0], "C", "/over").clone())
}

/// The only delay is the queue. So at the end every Data is marked, and the window is 32.
#[test]
fn hbhcm_measures_across_a_forwarder_that_knows_nothing_of_it_as_in_the_simulator() {
    unless_disturbed(|| {
        let [real, simulated] = over_a_forwarder_that_knows_nothing("hbhcm");
        // 32 Data of about 1060 bytes at 4 Mb/s take 68 ms.
        assert!((mean_delay(&simulated) - 68.0).abs() < 7.0, "{simulated}");
        is_as_simulated(&real, &simulated, 0.25)
    });
}

/// No forwarder that runs Sluice has a rate in its file: Sluice finds the link's rate from the hop delay.
#[test]
fn sluice_finds_the_rate_of_a_forwarder_that_says_none_as_in_the_simulator() {
    unless_disturbed(|| {
        let [real, simulated] = over_a_forwarder_that_knows_nothing("sluice");
        keeps_a_short_queue(&real, &simulated)
    });
}

fn mean_delay(row: &Value) -> f64 {
    row["delay_ms"]["mean"].as_f64().unwrap()
}

/// Checks that the goodput is that of the simulator within a tenth, and the mean delay within this fraction.
fn is_as_simulated(real: &Value, simulated: &Value, delay: f64) -> Result<(), String> {
    let is_near = |ratio: f64, fraction: f64| (ratio - 1.0).abs() < fraction;
    let is_same = is_near(goodput(real) / goodput(simulated), 0.1)
        && is_near(mean_delay(real) / mean_delay(simulated), delay);
    if is_same { Ok(()) } else { Err(format!("{real} {simulated}")) }
}

/// Checks that the goodput is as in the simulator, and that the delay is not that of a full queue but the simulator's,
/// plus what a busy machine adds.
fn keeps_a_short_queue(real: &Value, simulated: &Value) -> Result<(), String> {
    let is_same = (goodput(real) / goodput(simulated) - 1.0).abs() < 0.1;
    let is_short = mean_delay(simulated) < 20.0 && mean_delay(real) < mean_delay(simulated) + 30.0;
    if is_same && is_short { Ok(()) } else { Err(format!("{real}\n{simulated}")) }
}

/// DPCCP on real sockets, over two paths between R and S. The consumer learns both from their labels, fills both, and
/// keeps its packets waiting, as in the simulator.
#[test]
fn dpccp_fills_two_ways_as_in_the_simulator() {
    unless_disturbed(over_two_ways);
}

fn over_two_ways() -> Result<(), String> {
    let names = ["R", "U", "V", "S"];
    let folders = names.map(|name| Folder::new(&format!("traffic-dpccp-{name}")));
    let ([r, u, v], [s, _, _]) = (free_ports(), free_ports());
    let face = |name: &str, port: u16, keys: &str| {
        format!("[[face]]\nname = \"{name}\"\nremote = \"udp4://127.0.0.1:{port}\"\n{keys}\n")
    };
    let route = |face: &str| format!("[[route]]\nprefix = \"/both\"\nface = \"{face}\"\n");
    // There are few first Interests: the queue of a larger burst within half a millisecond would last longer than the
    // test.
    let scheme = "[scheme]\nname = \"dpccp\"\n[scheme.dpccp]\nfirst_interests = 10\n[tables]\ncontent_store_packets = 0\n";
    let bottleneck = |rate: &str| format!("rate = \"{rate}\"\nqueue = 200");
    let files = [
        face("U", u, "") + &face("V", v, "") + &route("U") + &route("V"),
        face("R", r, &bottleneck("6 Mb/s")) + &face("S", s, "") + &route("S"),
        face("R", r, &bottleneck("3 Mb/s")) + &face("S", s, "") + &route("S"),
        face("U", u, "") + &face("V", v, ""),
    ];
    let forwarders: Vec<_> = [r, u, v, s]
        .into_iter()
        .enumerate()
        .map(|(n, port)| {
            let own = |text: String| text.replace("127.0.0.1:0", &format!("127.0.0.1:{port}"));
            Running::start_with(&folders[n], &(scheme.to_owned() + &files[n]), own)
        })
        .collect();

    let path = common::folder("traffic-dpccp").join("two-ways.toml");
    fs::write(&path, TWO_WAYS).unwrap();
    let file = path.to_str().unwrap();
    let sockets = [0, 3].map(|n| format!("{}={}", names[n], socket(&forwarders[n])));
    let (real, _) = done(&[file, "--socket", &sockets[0], "--socket", &sockets[1]]);
    let simulated: Value = serde_json::from_str(&printed(&weir(&["run", file, "--json"]))).unwrap();
    let [real, simulated] = [&real, &simulated].map(|document| flow(&document["windows"][0], "R", "/both"));
    // The content is 1000 of about 1080 bytes, at 9 Mb/s.
    assert!((goodput(simulated) / 8.3e6 - 1.0).abs() < 0.03, "{simulated}");
    // 20 Data at 9 Mb/s take 19 ms, and the transmission of one takes 1.4 ms or 2.9 ms.
    assert!((mean_delay(simulated) - 21.0).abs() < 4.0, "{simulated}");
    is_as_simulated(real, simulated, 0.4)
}

/// NDN-QSF on real sockets: two forwarders with 4 Mb/s between them. The consumer's forwarder learns how much the
/// other's queue bears, and holds the consumer's other Interests.
///
/// While the host takes the processor away, Data gather, and then arrive faster than the link's rate. By equation 2 the
/// estimate of the bandwidth is then too high. So a disturbed run may be repeated.
#[test]
fn ndn_qsf_keeps_its_queues_between_forwarders_as_in_the_simulator() {
    unless_disturbed(compare_with_the_simulator);
}

/// Compares. Repeats at most twice if the host disturbed the run.
fn unless_disturbed(compare: impl Fn() -> Result<(), String> + Sync) {
    for run in 1.. {
        let (compared, disturbed) = while_watched(&compare);
        let Err(difference) = compared else { return };
        assert!(run < 3 && disturbed > DISTURBED, "run {run}, disturbed for {disturbed:?}: {difference}");
    }
}

/// Threshold for a disturbed run: 2 % of its six seconds. Runs with half as much were as in the simulator; stops of 40
/// ms each 200 ms are too much.
const DISTURBED: Duration = Duration::from_millis(120);

/// Returns the result of `work`, and for how long in total the host kept a runnable thread waiting meanwhile.
fn while_watched<T: Send>(work: impl FnOnce() -> T + Send) -> (T, Duration) {
    const NAP: Duration = Duration::from_millis(1);
    thread::scope(|scope| {
        let worker = scope.spawn(work);
        let mut waited = Duration::ZERO;
        while !worker.is_finished() {
            let begin = now();
            pause(NAP);
            let slept = begin.elapsed();
            if slept > 2 * NAP {
                waited += slept - NAP;
            }
        }
        (worker.join().expect("the work is done"), waited)
    })
}

fn compare_with_the_simulator() -> Result<(), String> {
    let names = ["C", "P"];
    let folders = names.map(|name| Folder::new(&format!("traffic-qsf-{name}")));
    let ports = free_ports();
    let scheme = "[scheme]\nname = \"ndn-qsf\"\n[tables]\ncontent_store_packets = 0\n[scheme.ndn-qsf]\nround = \"20 ms\"\n";
    let face = |to: usize, rate: &str| {
        format!(
            "[[face]]\nname = \"{}\"\nremote = \"udp4://127.0.0.1:{}\"\nrate = \"{rate}\"\nqueue = 1000\n",
            names[to], ports[to]
        )
    };
    let files = [
        scheme.to_owned() + &face(1, "100 Mb/s") + "[[route]]\nprefix = \"/over\"\nface = \"P\"\n",
        scheme.to_owned() + &face(0, "4 Mb/s"),
    ];
    let forwarders = [0, 1].map(|n| {
        let own = |text: String| text.replace("127.0.0.1:0", &format!("127.0.0.1:{}", ports[n]));
        Running::start_with(&folders[n], &files[n], own)
    });

    let path = common::folder("traffic-qsf").join("two.toml");
    let text = OVERLAY
        .replace("hbhcm\"", "ndn-qsf\"\n[scheme.ndn-qsf]\nround = \"20 ms\"\nsource = \"assumed: a test\"")
        .replace("[[node]]\nname = \"M\"\nactive = false\n", "")
        .replace(
            "[\"C\", \"M\"]\nrate = \"4 Mb/s\"\n[[link]]\nends = [\"M\", \"P\"]",
            "[\"C\", \"P\"]\nrate = [\"100 Mb/s\", \"4 Mb/s\"]",
        );
    fs::write(&path, text).unwrap();
    let file = path.to_str().unwrap();
    let sockets = [0, 1].map(|n| format!("{}={}", names[n], socket(&forwarders[n])));
    let (real, _) = done(&[file, "--socket", &sockets[0], "--socket", &sockets[1]]);
    let simulated: Value = serde_json::from_str(&printed(&weir(&["run", file, "--json"]))).unwrap();
    let [real, simulated] = [&real, &simulated].map(|document| flow(&document["windows"][0], "C", "/over"));
    assert!(goodput(simulated) > 3.4e6, "{simulated}");
    is_as_simulated(real, simulated, 0.25)
}

/// Three ports on which no process listens.
fn free_ports() -> [u16; 3] {
    let sockets = [(); 3].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    sockets.map(|socket| socket.local_addr().unwrap().port())
}

/// One flow over one link, whose queue holds more than two seconds.
const BOTTLENECK: &str = r#"
title = "A consumer and a producer with a bottleneck between them"
source = "assumed: a test"
duration = "6 s"
[scheme]
default = "e2e-aqm"
[[node]]
name = ["alice", "carol"]
[[link]]
ends = ["alice", "carol"]
rate = "4 Mb/s"
delay = "0.1 ms"
queue = "1000 packets"
source = "assumed: a test"
[[flow]]
name = "file"
consumer = "alice"
producer = "carol"
prefix = "/traffic/file"
payload = "1000 B"
source = "assumed: a test"
[[window]]
name = "late"
from = "2 s"
to = "6 s"
source = "assumed: a test"
"#;

/// Checks that under this scheme and at this rate the goodput is as in the simulator, and the queue as short.
fn keeps_a_queue_as_short_as_in_the_simulator(scheme: &str, rate: &str) {
    unless_disturbed(|| over_a_link_of_this_rate(scheme, rate));
}

fn over_a_link_of_this_rate(scheme: &str, rate: &str) -> Result<(), String> {
    let folders = ["near", "far"].map(|end| Folder::new(&format!("traffic-{scheme}-{end}")));
    let config = format!("[scheme]\nname = \"{scheme}\"\n");
    let near = Running::start(&folders[0], &config);
    let face = format!("[[face]]\nname = \"near\"\nremote = \"udp4://{}\"\nrate = \"{rate}\"\n", near.udp);
    let far = Running::start(&folders[1], &format!("{config}{face}"));
    let uri = format!("udp4://{}", far.udp);
    assert!(weir(&["route", "add", "/traffic", &uri, "--socket", &socket(&near)]).status.success());
    let file = scenario(&format!("traffic-{scheme}"), |_| {
        BOTTLENECK.replace("e2e-aqm", scheme).replace("rate = \"4 Mb/s\"", &format!("rate = \"{rate}\""))
    });
    let sockets = [format!("carol={}", socket(&far)), socket(&near)];
    let (real, _) = done(&[&file, "--socket", &sockets[0], "--socket", &sockets[1]]);
    let simulated: Value = serde_json::from_str(&printed(&weir(&["run", &file, "--json"]))).unwrap();
    let [real, simulated] =
        [real, simulated].map(|document| flow(&document["windows"][0], "alice", "/traffic/file").clone());
    keeps_a_short_queue(&real, &simulated)
}

#[test]
fn a_consumer_that_is_told_of_a_queue_keeps_it_as_short_as_in_the_simulator() {
    keeps_a_queue_as_short_as_in_the_simulator("e2e-aqm", "4 Mb/s");
}

/// The file at the producer's end contains the rate; the file at the consumer's end does not.
#[test]
fn a_forwarder_that_is_told_the_rate_of_a_link_keeps_its_queue_as_short_as_in_the_simulator() {
    keeps_a_queue_as_short_as_in_the_simulator("sluice", "4 Mb/s");
}

/// At 20 Mb/s the target of 5 ms is ten packets, enough for duplicate acknowledgements.
#[test]
fn tcp_over_codel_keeps_a_queue_as_short_as_in_the_simulator() {
    keeps_a_queue_as_short_as_in_the_simulator("tcp-newreno", "20 Mb/s");
}

/// A command that runs until it is stopped.
struct Going(Child, Option<BufReader<std::process::ChildStderr>>);

impl Going {
    /// Starts the command, and waits until it is ready.
    fn start(arguments: &[&str]) -> Going {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.arg("traffic").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready: "), "{line}");
        Going(child, Some(said))
    }

    /// Stops the command as a user does. Returns its standard output and standard error.
    fn stop(mut self) -> (String, String) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let (mut printed, mut said) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        self.1.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.0.wait().unwrap().success(), "{said}");
        (printed, said)
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn who_only_produces_does_so_until_stopped_and_who_is_stopped_early_says_what_was_measured() {
    let folder = Folder::new("traffic-stop");
    let forwarder = Running::start(&folder, "");
    let file = scenario("traffic-stop", |text| text.replace("duration = \"2 s\"", "duration = \"60 s\""));
    let socket = socket(&forwarder);
    let producer = Going::start(&[&file, "--socket", &socket, "--node", "carol"]);
    let consumer = Going::start(&[
        &file, "--socket", &socket, "--node", "alice", "--json", "--window", "500ms:50", "--window", "40:50",
    ]);
    pause(2 * SECOND);
    let (printed, said) = consumer.stop();
    let document: Value = serde_json::from_str(&printed).unwrap();
    let ran = document["simulated_s"].as_f64().unwrap();
    assert!((1.5..30.0).contains(&ran), "{ran}");
    let (_, ended) = said.split_once("Ended at ").unwrap();
    let (at, _) = ended.split_once(" s of 60 s: windows end here").unwrap_or_else(|| panic!("{said}"));
    assert!(at.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 3), "{said}");
    let windows = document["windows"].as_array().unwrap();
    assert_eq!(
        windows.last().unwrap()["to_s"],
        document["simulated_s"],
        "the window that had begun ends with it"
    );
    assert!(windows.iter().all(|window| window["from_s"] != 40.0), "the one that had not is left out");
    assert!(flow(&document, "alice", "/traffic/file")["completion_s"].is_number());
    let (printed, _) = producer.stop();
    assert_eq!(printed, "");
}

#[test]
fn what_cannot_be_is_refused_with_what_would_be_right() {
    let folder = Folder::new("traffic-errors");
    let file = scenario("traffic-errors", |text| text);
    let nobody = format!("unix://{}", folder.path("nobody.sock").display());
    let refuse = |more: &[&str], words: &[&str]| {
        refused(&[&["traffic", &file, "--socket", &nobody], more].concat(), words);
    };
    refuse(&[], &["no forwarder can be reached at unix://", "--socket or NDN_CLIENT_TRANSPORT"]);
    refuse(&["--node", "alise"], &["no node alise; did you mean `alice`?", "alice, bob, carol"]);
    refuse(&["--node", "dave"], &["no flow begins or ends at dave", "alice, bob, carol"]);
    refuse(&["--node", "bob", "--node", "bob"], &["--node bob is given twice"]);
    refuse(&["--socket", &nobody], &["two forwarders for all nodes", "--socket NODE=URI"]);
    let twice = format!("bob={nobody}");
    refuse(&["--socket", &twice, "--socket", &twice], &["two forwarders for node bob"]);
    refuse(
        &["--node", "alice", "--socket", &twice],
        &["no application of bob runs here", "nodes with applications here: alice"],
    );
    refuse(&["--socket", "bob=udp://host"], &["wanted unix:///path"]);
    refuse(&["--window", "1:9"], &["the window 1 s to 9 s is not within the run"]);
    refuse(&["--scheme", "tcp"], &["there is no scheme `tcp`", "`weir list` prints the schemes"]);

    let forwarder = Running::start(&folder, "[management]\nenabled = false\n");
    let right = socket(&forwarder);
    refused(
        &["traffic", &file, "--socket", &right],
        &["of node carol is not registered at unix://", "[management] in the forwarder's file"],
    );
}
