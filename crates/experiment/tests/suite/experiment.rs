//! The resolution of a scenario, a scheme and a setup, without any world.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use weir_core::consumer::Source;
use weir_core::units::{Rate, Span, Time};
use weir_experiment::{Accounts, Change, Experiment, ExperimentError, Probe, Setup};
use weir_measure::{FlowAccounts, ProbeValue};
use weir_scenario::{DirectedLink, FlowId, LinkId, Metric, NodeId, Override, Scenario, Select, builtin};
use weir_schemes::Resolved;

/// Returns the smallest built-in scenario, with more text at its end.
fn scenario(more: &str) -> Scenario {
    let text = format!("{}\n{more}", builtin("examples/minimal").unwrap());
    Scenario::parse("test", "test", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

const SECOND_FLOW: &str = "[[flow]]\nname = \"own\"\nconsumer = \"alice\"\nproducer = \"bob\"\nprefix = \"/own\"\n\
    class = \"EF\"\nstart = \"1 s\"\nstop = \"3 s\"\npayload = \"1024 B\"\nscheme = \"cubic\"\nsource = \"assumed\"\n";

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

fn of(flows: &FlowAccounts) -> Accounts<'_> {
    Accounts { flows, links: None, nodes: None }
}

fn refused(setup: &Setup) -> String {
    Experiment::new(scenario(""), setup).unwrap_err().to_string()
}

#[test]
fn a_flow_runs_its_own_scheme_and_else_that_of_the_run() {
    let scenario = scenario(SECOND_FLOW);
    let setup = |scheme: &str| Setup { scheme: Some(scheme.to_owned()), ..Setup::default() };
    let experiment = Experiment::new(scenario.clone(), &setup("qsccp")).unwrap();
    let of = |flow| experiment.scheme_of_flow(FlowId(flow)).entry.name;
    assert_eq!((experiment.scheme().entry.name, of(0), of(1)), ("qsccp", "qsccp", "cubic"));
    assert!(experiment.own_scheme_of_flow(FlowId(0)).is_none());
    let experiment = Experiment::new(scenario, &setup("cubic")).unwrap();
    assert!(experiment.own_scheme_of_flow(FlowId(1)).is_none(), "it is that of the run");
}

#[test]
fn the_parameters_of_the_scenario_are_those_of_its_scheme() {
    let text = builtin("examples/minimal").unwrap();
    let set = [Override::parse("scheme.fixed.window=20").unwrap()];
    let scenario = Scenario::parse("test", "test", text, &set).unwrap();
    let experiment = Experiment::new(scenario, &Setup::default()).unwrap();
    let window = |scheme: &Resolved| scheme.params.value("window").number();
    assert_eq!(window(experiment.scheme()), 20.0);
    assert_ne!(window(experiment.inactive_scheme()), 20.0, "nodes that are not active have the defaults");
}

#[test]
fn the_script_is_in_order_of_time_and_at_one_time_flows_come_first() {
    let scenario = scenario(&format!(
        "{SECOND_FLOW}[[event]]\nat = \"1 s\"\nlink = \"alice-bob\"\nrate = \"5 Mb/s\"\n\
         [[event]]\nat = \"500 ms\"\nflow = \"video\"\nsource_rate = \"1 Mb/s\"\n"
    ));
    let script = Experiment::new(scenario, &Setup::default()).unwrap().script();
    let rate = Rate::from_mbps(5);
    assert_eq!(
        script,
        [
            (at(0), Change::Start(FlowId(0))),
            (
                Time::ZERO + Span::from_millis(500),
                Change::Source(FlowId(0), Source::Limited(Rate::from_mbps(1)))
            ),
            (at(1), Change::Start(FlowId(1))),
            (at(1), Change::Rate(LinkId(0), [rate, rate])),
            (at(3), Change::Stop(FlowId(1))),
        ]
    );
}

#[test]
fn a_consumer_has_the_settings_of_its_flow() {
    let scenario = scenario(SECOND_FLOW);
    let experiment = Experiment::new(scenario, &Setup::default()).unwrap();
    let (flow, consumer) = (&experiment.scenario().flows[1], experiment.consumer(FlowId(1)));
    assert_eq!((consumer.class, consumer.lifetime, consumer.amount), (flow.class, flow.lifetime, None));
    assert!(consumer.expected_size > flow.payload, "{}: with the header of Data", consumer.expected_size);
    assert_eq!(experiment.flow_config(FlowId(1)).expected_size, consumer.expected_size);
    assert_eq!(experiment.flow_info(FlowId(1)).start, at(1));
    assert_eq!(experiment.store(NodeId(0)), None);
}

#[test]
fn further_windows_are_measured_behind_those_of_the_scenario() {
    let scenario = scenario("");
    let window = (Span::from_secs(1), Span::from_secs(2));
    let experiment = Experiment::new(scenario, &Setup { windows: vec![window], ..Setup::default() }).unwrap();
    let observers = experiment.observers().unwrap();
    let extent = experiment.extent(&observers);
    assert_eq!(extent.windows, [(at(2), at(10)), (at(1), at(2))]);
    assert_eq!((extent.until, extent.others), (at(10), vec![(at(2), at(10))]));
}

#[test]
fn applications_check_what_they_see_and_say_what_they_do_not() {
    let scenario = scenario("");
    let experiment = Experiment::new(scenario, &Setup::default()).unwrap();
    let (observers, unseen) = experiment.observers_of_applications(|flow| Some(flow.index()));
    assert_eq!(unseen.len(), 1, "the utilisation of a link: {unseen:?}");
    let accounts = FlowAccounts::new(vec![experiment.flow_info(FlowId(0))], &experiment.extent(&observers));
    assert!(observers.rows(of(&accounts)).is_empty());
}

/// Returns a probe of the first flow and the first link, in the second second.
fn probe(metric: Metric) -> Probe {
    Probe {
        label: format!("{metric:?}"),
        metric,
        window: (Span::from_secs(1), Span::from_secs(2)),
        select: Select {
            flows: vec![FlowId(0)],
            links: vec![DirectedLink { link: LinkId(0), direction: 0 }],
            ..Select::default()
        },
    }
}

#[test]
fn probes_keep_their_places_where_a_world_does_not_see_some() {
    let probes = vec![probe(Metric::Utilisation), probe(Metric::Goodput)];
    let experiment = Experiment::new(scenario(""), &Setup { probes, ..Setup::default() }).unwrap();
    let (observers, unseen) = experiment.observers_of_applications(|flow| Some(flow.index()));
    assert_eq!(unseen[1..], ["Utilisation"], "behind an expectation of the scenario");
    let extent = experiment.extent(&observers);
    assert_eq!(extent.others, [(at(1), at(2))]);
    let mut accounts = FlowAccounts::new(vec![experiment.flow_info(FlowId(0))], &extent);
    assert_eq!(observers.values(of(&accounts)), [ProbeValue::default(); 2], "nothing was measured yet");
    while accounts.next_step() <= at(2) {
        accounts.end_step();
    }
    let nothing_came = ProbeValue { value: Some(0.0), never: false };
    assert_eq!(observers.values(of(&accounts)), [ProbeValue::default(), nothing_came]);
    assert!(observers.rows(of(&accounts)).is_empty(), "probes are not expectations");
}

#[test]
fn a_probe_of_what_is_not_there_is_refused() {
    let goodput = probe(Metric::Goodput);
    let select = |select| Probe { select, ..goodput.clone() };
    let wrong = [
        (select(Select { flows: vec![FlowId(1)], ..Select::default() }), "numbers of flows are below 1,"),
        (
            select(Select {
                links: vec![DirectedLink { link: LinkId(0), direction: 2 }],
                ..Select::default()
            }),
            "selects flows, links or nodes that test does not have",
        ),
        (
            Probe { window: (Span::from_secs(9), Span::from_secs(11)), ..goodput.clone() },
            "is not within the run",
        ),
    ];
    for (probe, why) in wrong {
        let said = refused(&Setup { probes: vec![probe], ..Setup::default() });
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let setup = |scheme: &str| Setup { scheme: Some(scheme.to_owned()), ..Setup::default() };
    let said = refused(&setup("qscp"));
    assert!(
        said.starts_with("there is no scheme `qscp`; did you mean `qsccp`?\n  = `weir list` prints "),
        "{said}"
    );
    for (from, to) in [(2, 2), (9, 11)] {
        let windows = vec![(Span::from_secs(from), Span::from_secs(to))];
        let said = refused(&Setup { windows, ..Setup::default() });
        assert!(
            said.contains("is not within the run: it must begin before it ends, and end by 10 s"),
            "{said}"
        );
    }
    let wrong = scenario("[scheme.cubic]\nbta = 0.5\n");
    let Err(ExperimentError::Scenario(error)) = Experiment::new(wrong, &Setup::default()) else { panic!() };
    assert!(error.to_string().contains("scheme.cubic.bta: unknown parameter"), "{error}");
}

#[test]
fn the_seed_draws_delays_starts_and_the_nodes_of_consumers() {
    let text = "title = \"drawn\"\nsource = \"assumed: a test\"\nduration = \"9 s\"\n[scheme]\ndefault = \"fixed\"\n\
        [[node]]\nname = \"C{1..8}\"\n[[node]]\nname = \"P\"\n\
        [[link]]\nends = [\"C{1..8}\", \"P\"]\nrate = \"10 Mb/s\"\ndelay = \"100 ms\"\ndelay_jitter = 0.02\n\
        [[flow]]\nname = \"f\"\nconsumer = \"C{1..4}\"\ndrawn_from = \"C{1..8}\"\nproducer = \"P\"\nprefix = \"/f\"\n\
        start = \"1 s\"\nstart_jitter = \"50 ms\"\n";
    let scenario = Scenario::parse("test", "test", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let drawn = |seed| {
        let setup = Setup { seed, ..Setup::default() };
        let experiment = Experiment::new(scenario.clone(), &setup).unwrap();
        assert!(experiment.is_drawn());
        let (links, flows) = (&experiment.scenario().links, &experiment.scenario().flows);
        for link in links {
            assert_eq!(link.delay[0], link.delay[1]);
            assert!((98.0..102.0).contains(&link.delay[0].as_millis_f64()), "{}", link.delay[0]);
        }
        for (at, flow) in flows.iter().enumerate() {
            assert!(flow.start >= Span::from_secs(1) && flow.start < Span::from_millis(1050));
            assert!(flow.consumer.index() < 8 && flows[..at].iter().all(|one| one.consumer != flow.consumer));
        }
        let starts: Vec<Span> = flows.iter().map(|flow| flow.start).collect();
        assert!(
            starts.windows(2).all(|pair| pair[0] != pair[1]),
            "each flow has a start of its own: {starts:?}"
        );
        (links[0].delay[0], starts, flows.iter().map(|flow| flow.consumer).collect::<Vec<_>>())
    };
    assert_eq!(drawn(1), drawn(1));
    let (one, two) = (drawn(1), drawn(2));
    assert!(one.0 != two.0 && one.1 != two.1 && one.2 != two.2);
    let plain = Experiment::new(self::scenario(""), &Setup::default()).unwrap();
    assert!(!plain.is_drawn(), "without jitter a seed draws nothing of the scenario");
}

#[test]
fn a_node_is_drawn_as_what_the_flows_make_of_it() {
    let roles = |more: &str| {
        let topology = Experiment::new(scenario(more), &Setup::default()).unwrap().topology();
        topology.nodes.iter().map(|node| node.role.name()).collect::<Vec<_>>()
    };
    let own = roles("");
    let back = SECOND_FLOW.replace("alice", "carol").replace("bob", "alice").replace("carol", "bob");
    assert_eq!((&own[..], &roles(&back)[..]), (&["consumer", "producer"][..], &["peer", "peer"][..]));
    let other = "[[node]]\nname = \"router\"\nsource = \"assumed\"\n";
    assert_eq!(roles(other)[2], "router");
}
