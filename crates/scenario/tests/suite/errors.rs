//! Every mistake is reported with its position and with a correction.
use weir_scenario::{Override, Scenario, builtin};

fn dumbbell() -> &'static str {
    builtin("qsccp/dumbbell").unwrap()
}

/// Returns the errors of the dumbbell with a piece of its text replaced.
fn said(old: &str, new: &str) -> String {
    assert!(dumbbell().contains(old), "the file has no {old}");
    let text = dumbbell().replacen(old, new, 1);
    Scenario::parse("dumbbell", "dumbbell.toml", &text, &[]).unwrap_err().to_string()
}

fn set(overrides: &[&str]) -> Result<Scenario, String> {
    let overrides: Result<Vec<_>, _> = overrides.iter().map(|o| Override::parse(o)).collect();
    overrides
        .and_then(|o| Scenario::parse("dumbbell", "dumbbell.toml", dumbbell(), &o))
        .map_err(|e| e.to_string())
}

/// Returns the errors of a small scenario with these lines at its end.
fn small(end: &str) -> String {
    let text = format!(
        "title = \"t\"\nduration = \"10 s\"\nscheme.default = \"fixed\"\n[[node]]\nname = [\"A\", \"B\", \"C\"]\n{end}"
    );
    match Scenario::parse("small", "small.toml", &text, &[]) {
        Ok(_) => "fine".to_owned(),
        Err(e) => e.to_string(),
    }
}

const LINK: &str = "[[link]]\nends = [\"A\", \"B\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n";
const FLOW: &str = "[[flow]]\nname = \"f\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/a\"\n";

fn line_of(text: &str) -> usize {
    dumbbell().lines().position(|l| l == text).unwrap() + 1
}

#[test]
fn an_unknown_key_names_the_one_that_was_meant_and_those_there_are() {
    let line = line_of("rate = \"10 Mb/s\"");
    let margin = " ".repeat(line.to_string().len());
    assert_eq!(
        said("rate = \"10 Mb/s\"", "ratee = \"10 Mb/s\""),
        format!(
            "dumbbell.toml:{line}: link.R2-R3: unknown key `ratee`; did you mean `rate`?\n{margin} |\n\
             {line} | ratee = \"10 Mb/s\"\n{margin} | ^^^^^\n  \
             = keys here: ends, between, name, rate, delay, delay_jitter, queue, loss, cost, loss_burst, jitter, \
             reorder, rate_trace, duplex, source"
        )
    );
}

#[test]
fn a_wrong_unit_says_what_would_be_right() {
    let line = line_of("rate = \"10 Mb/s\"");
    let margin = " ".repeat(line.to_string().len());
    assert_eq!(
        said("rate = \"10 Mb/s\"", "rate = \"10 Mbps\""),
        format!(
            "dumbbell.toml:{line}: link.R2-R3.rate: `10 Mbps` is not a rate with its unit, such as \"10 Mb/s\" \
             (b/s, kb/s, Mb/s, Gb/s, Tb/s)\n{margin} |\n{line} | rate = \"10 Mbps\"\n{margin} |        ^^^^^^^^^"
        )
    );
}

#[test]
fn a_quantity_without_quotes_says_that_it_has_a_unit() {
    let said = said("rate = \"10 Mb/s\"", "rate = 10");
    assert!(said.contains("10 is not a rate such as \"10 Mb/s\""), "{said}");
    assert!(said.contains("write the number and its unit in quotes"), "{said}");
    let said = set(&["link.R2-R3.rate=20"]).unwrap_err();
    assert!(said.contains("write the unit behind the number") && !said.contains("quotes"), "{said}");
}

#[test]
fn a_link_to_a_node_that_does_not_exist_names_the_nodes_that_do() {
    let line = line_of("ends = [\"R2\", \"R3\"]");
    let margin = " ".repeat(line.to_string().len());
    assert_eq!(
        said("ends = [\"R2\", \"R3\"]", "ends = [\"R2\", \"R9\"]"),
        format!(
            "dumbbell.toml:{line}: link.R2-R9.ends: there is no node `R9`\n{margin} |\n\
             {line} | ends = [\"R2\", \"R9\"]\n{margin} |        ^^^^^^^^^^^^\n  \
             = nodes: C1, C2, C3, C4, R1, R2, R3, R4, P1, P2, P3, P4"
        )
    );
}

#[test]
fn an_unreachable_producer_names_the_flow_and_the_nodes() {
    let without = dumbbell().replacen(
        "[[link]]\nends = [\"R2\", \"R3\"]\nrate = \"10 Mb/s\"\nsource = \"paper: section V-B\"\n",
        "",
        1,
    );
    let said = Scenario::parse("d", "d.toml", &without, &[]).unwrap_err();
    assert_eq!(said.key(), "flow.EF");
    assert_eq!(said.message(), "C1 cannot reach P1 for /A0: no links join them");
    assert_eq!(said.help(), "nodes that C1 reaches: C2, C3, C4, R1, R2; add a [[link]]");
    assert_eq!(without.lines().nth(said.line() as usize - 1), Some("producer = \"P1\""));
}

#[test]
fn an_override_is_named_as_it_was_given() {
    assert_eq!(
        set(&["link.R2-R3.rate=10 Mbps"]).unwrap_err(),
        "--set link.R2-R3.rate=10 Mbps: `10 Mbps` is not a rate with its unit, such as \"10 Mb/s\" \
         (b/s, kb/s, Mb/s, Gb/s, Tb/s)"
    );
    assert_eq!(
        set(&["link.*.loss=2"]).unwrap_err(),
        "--set link.*.loss=2: link.C1-R1.loss: 2 is not a number from 0 to 1"
    );
}

/// Quotes are necessary in files, so users also write them here.
#[test]
fn a_part_of_a_path_may_stand_in_quotes() {
    for (path, key) in [
        ("flow_weights./ef", "flow_weights./ef"),
        ("flow_weights.\"/ef\"", "flow_weights./ef"),
        ("flow_weights.\"/a.b\"", "flow_weights./a.b"),
    ] {
        let scenario = set(&[&format!("scheme.sluice.{path}=2")]).unwrap();
        let given: Vec<_> = scenario.scheme_params("sluice").iter().map(|given| given.key.as_str()).collect();
        assert_eq!(given, [key]);
    }
}

#[test]
fn an_override_of_nothing_lists_what_could_be_set() {
    assert_eq!(
        set(&["link.R2-R9.rate=10Mb/s"]).unwrap_err(),
        "--set link.R2-R9.rate=10Mb/s: there is no link `R2-R9`; did you mean `R2-R3`?\n  \
         = links here: C1-R1, C2-R1, C3-R1, C4-R1, R1-R2, R3-R4, R2-R3, R4-P1, R4-P2, R4-P3, R4-P4; \
         settable in each: rate, delay, delay_jitter, queue, loss, cost, loss_burst, jitter, reorder, \
         rate_trace, duplex"
    );
    assert_eq!(
        set(&["flow.EF.cuont=20"]).unwrap_err(),
        "--set flow.EF.cuont=20: unknown key `cuont`; did you mean `count`?\n  \
         = settable here: consumer, producer, prefix, count, class, start, start_spread, start_jitter, stop, amount, arrivals, objects, \
         popularity, activity, source_rate, source_jitter, unresponsive, payload, signature, lifetime, early_loss, freshness, \
         command, scheme"
    );
    assert_eq!(
        set(&["lnk.R2-R3.rate=1Mb/s"]).unwrap_err(),
        "--set lnk.R2-R3.rate=1Mb/s: `lnk` does not exist or cannot be set; did you mean `link`?\n  \
         = settable: duration, sample, scheme.default, scheme.NAME.KEY, node.NAME.KEY, link.A-B.KEY, flow.NAME.KEY, \
         defaults.link.KEY, routing.KEY, window.NAME.KEY"
    );
    assert_eq!(
        set(&["link.R2-R3.ends=x"]).unwrap_err(),
        "--set link.R2-R3.ends=x: `ends` cannot be set\n  = settable here: rate, delay, delay_jitter, queue, loss, cost, loss_burst, jitter, reorder, \
         rate_trace, duplex"
    );
    for bad in [
        "",
        "=",
        "duration",
        "duration.x=1",
        "link=1",
        "link.R2-R3=1",
        "scheme=qsccp",
        "scheme.qsccp=1",
        "a..b=1",
        ".=1",
        "expectation.0.tolerance=1",
        "route.0.hops=1",
        "axis.x=1",
        "generate.nodes=3",
        "defaults.x.y=1",
        "scheme.qsccp.gamma.x=1",
        "routing=1",
        "defaults.link.ends=1",
    ] {
        assert!(set(&[bad]).is_err(), "{bad}");
    }
}

#[test]
fn what_is_no_toml_is_shown_where_it_stops_being_it() {
    let said = small("[[link]]\nrate = 10 Mb/s\n");
    assert!(said.starts_with("small.toml:7: this is not TOML: "), "{said}");
    assert!(said.contains("7 | rate = 10 Mb/s"), "{said}");
    assert!(said.contains("texts and quantities need quotes"), "{said}");
}

#[test]
fn what_is_missing_is_named() {
    let parse = |text: &str| Scenario::parse("x", "x.toml", text, &[]).unwrap_err().to_string();
    let said = parse("");
    let first = "x.toml:1: the key `duration` is missing\n  \
         = The length of the run. It is a time with its unit, such as \"10 ms\".\n\n";
    assert!(said.starts_with(first) && said.ends_with("\n\n4 errors"), "{said}");
    assert!(parse("duration = \"1 s\"\ntitle = \"t\"").contains("the table `[scheme]` is missing"));
    assert!(
        parse("duration = \"1 s\"\ntitle = \"t\"\nscheme.default = \"fixed\"").contains("there are no nodes")
    );
    assert!(parse("scheme = \"qsccp\"").contains("write [scheme] and below it default = \"NAME\""));
    assert!(parse("[link]\nrate = \"1 Mb/s\"").contains("write [[link]] above each of them"));
    assert!(parse("nodes = 3").contains("unknown key `nodes`; did you mean `node`?"));
    let said = small("[[link]]\nends = [\"A\", \"B\"]\nrate = \"1 Mb/s\"\n");
    assert!(said.starts_with("small.toml:6: link.A-B: the key `delay` is missing"), "{said}");
}

#[test]
fn links_and_nodes_that_cannot_be_are_refused() {
    for (text, part) in [
        (format!("{LINK}{LINK}"), "there is already a link between A and B"),
        (format!("{LINK}cost = 0\n"), "0 is not a number from 0.001 to 1000000000, or two"),
        (format!("{LINK}cost = [1, 2, 3]\n"), "a list of 3 is not a number"),
        (format!("{LINK}name = \"x:y\"\n"), "`x:y` is not a link's name"),
        (
            format!("{LINK}name = \"x\"\n{LINK}name = \"x\"\n"),
            "there is already a link between A and B called `x`",
        ),
        (
            format!(
                "{LINK}name = \"x\"\n{LINK}name = \"y\"\n[[event]]\nat = \"1 s\"\nlink = \"A-B\"\nup = false\n"
            ),
            "there are several links between A and B\n",
        ),
        (LINK.replace("\"B\"", "\"A\""), "the link joins A to itself"),
        (LINK.replace("\"1 Mb/s\"", "\"0 b/s\""), "the rate must be above 0 b/s"),
        (LINK.replace("\"1 Mb/s\"", "[\"1 Mb/s\"]"), "a list of 1 is not a rate"),
        (format!("{LINK}queue = 0\n"), "a queue of 0 packets would drop every packet"),
        (format!("{LINK}queue = \"many\"\n"), "`many` is not a bound"),
        (format!("{LINK}loss = 1.5\n"), "1.5 is not a number from 0 to 1"),
        ("[[node]]\nname = \"A\"\n".into(), "there are two nodes `A`"),
        ("[[node]]\nname = \"A>B\"\n".into(), "`A>B` is not a node's name"),
        ("[[node]]\nname = \"D{3..1}\"\n".into(), "is reversed"),
        ("[[node]]\nname = \"D\"\ncache_policy = \"mru\"\n".into(), "`mru` is not one of \"lru\", \"fifo\""),
        ("[[node]]\nname = \"D\"\ncache_placement = \"lcd\"\n".into(), "`lcd` is not a placement"),
        (
            "[[node]]\nname = \"D\"\nforwarder = \"ndfd\"\n".into(),
            "`ndfd` is not one of \"weir\", \"ndnd\", \"nfd\"",
        ),
        ("[[node]]\nname = \"D\"\ncommand = [\"a\", \"b\"]\n".into(), "is not a text"),
        (
            "[[node]]\nname = \"D\"\ncache_placement = \"probability 2\"\n".into(),
            "`probability 2` is not a placement",
        ),
        ("[[node]]\nname = \"D{1..3}\"\nposition = [[0, 0]]\n".into(), "1 positions for 3 nodes"),
        (
            "[[link]]\nends = [\"{A,B}\", \"{A,B,C}\"]\nrate = \"1 b/s\"\ndelay = \"1 s\"\n".into(),
            "step together",
        ),
        ("[[link]]\nbetween = [\"A:B\"]\nrate = \"1 b/s\"\ndelay = \"1 s\"\n".into(), "is not two nodes"),
        (
            LINK.replace("ends", "between").replace("[\"A\", \"B\"]", "\"A-B\"\nends = [\"A\", \"B\"]"),
            "either",
        ),
    ] {
        let said = small(&text);
        assert!(said.contains(part), "{text}\n{said}");
    }
}

#[test]
fn flows_that_cannot_be_are_refused() {
    let with = |line: &str| format!("{LINK}{FLOW}{line}\n");
    for (text, part) in [
        (with("class = \"AF9\""), "`AF9` is not a service class: CS7, CS6, EF, AF4, AF3, AF2, AF1 or BE"),
        (with("payload = \"9 kB\""), "9 kB is not 1 B to 8192 B"),
        (with("start = \"10 s\""), "starts at 10 s, but the run ends at 10 s"),
        (with("start = \"5 s\"\nstop = \"5 s\""), "stops at 5 s, but starts at 5 s"),
        (with("unresponsive = true"), "an elastic flow has no rate, so it cannot be unresponsive"),
        (with("source_rate = \"fast\""), "`fast` is not a rate such as \"100 kb/s\", or \"elastic\""),
        (with("lifetime = \"0 s\""), "flow.f.lifetime: `0 s` is not a time from 1 ms"),
        (with("lifetime = \"1 us\""), "`1 us` is not a time from 1 ms, such as \"10 ms\""),
        (with("amount = 0"), "0 is not a whole number from 1"),
        (
            with("start = [\"0 s\", \"1 s\"]\nstop = [\"2 s\", \"3 s\", \"4 s\"]"),
            "2 values, but `stop` has 3",
        ),
        (with("start = []"), "an empty list"),
        (with("count = 2\nstart = [\"0 s\", \"1 s\", \"2 s\"]"), "3 values, but `count` is 2"),
        (with("").replace("/a", "/a{}"), "`/a{}` has `{}`, which needs `count`"),
        (with("").replace("/a", "a"), "it begins with `/`"),
        (with("").replace("/a", "/"), "it has at least one component"),
        (with("").replace("/a", "/a//b"), "a component is empty"),
        (with("").replace("/a", "/a b"), "its letters are"),
        (
            with("").replace("producer = \"B\"", "producer = \"A\""),
            "A is the consumer of /a and its producer",
        ),
        (with("").replace("producer = \"B\"", "producer = []"), "a flow has at least one producer"),
        (with("").replace("producer = \"B\"", "producer = \"C\""), "A cannot reach C for /a"),
        (with("").replace("name = \"f\"", "name = \"f=g\""), "`f=g` is not a name"),
        (format!("{LINK}{FLOW}{FLOW}"), "there are two flow groups `f`"),
        (
            format!("{LINK}{FLOW}{}payload = \"1 kB\"\n", FLOW.replace("\"f\"", "\"g\"")),
            "flow g and flow f fetch the same /a, but with another payload",
        ),
    ] {
        let said = small(&text);
        assert!(said.contains(part), "{text}\n{said}");
    }
    assert_eq!(small(&with("")), "fine");
}

#[test]
fn routes_that_lead_nowhere_are_refused() {
    let given = |hops: &str| {
        format!(
            "{LINK}{}{FLOW}[routing]\npolicy = \"given\"\n[[route]]\nprefix = \"/a\"\nhops = [{hops}]\n",
            LINK.replace("\"A\"", "\"C\"")
        )
    };
    for (hops, part) in [
        ("\"A->C\"", "there is no link between A and C"),
        ("\"C->B\"", "the consumer A has no route for /a"),
        ("\"A-B\"", "`A-B` is not a node and its next hops"),
        ("\"A->D\"", "there is no node `D`"),
        ("\"A->B\", \"A->B\"", "A already has next hops for /a"),
    ] {
        let said = small(&given(hops));
        assert!(said.contains(part), "{hops}\n{said}");
    }
    assert_eq!(small(&given("\"A->B\"")), "fine");
    let to_c = |hops: &str| given(hops).replace("producer = \"B\"", "producer = \"C\"");
    let said = small(&to_c("\"A->B\""));
    assert!(
        said.contains("the routes for /a lead from A to B, which has no route for it and is not a producer"),
        "{said}"
    );
    let said = small(&to_c("\"A->B\", \"B->A\""));
    assert!(said.contains("A cannot reach C for /a: the routes form a loop"), "{said}");
    let said = small(&given("\"A->B\"").replace("prefix = \"/a\"\nhops", "prefix = \"/b\"\nhops"));
    assert!(said.contains("no [[route]] covers /a"), "{said}");
}

#[test]
fn a_single_next_hop_is_one_of_those_of_its_node() {
    let links = format!("{LINK}{}{}", LINK.replace("\"A\"", "\"C\""), LINK.replace("\"B\"", "\"C\""));
    let given = |single: &str| {
        format!(
            "{links}{FLOW}[routing]\npolicy = \"given\"\n[[route]]\nprefix = \"/a\"\n\
             hops = [\"A->C|B\", \"C->B\"]\nsingle = [{single}]\n"
        )
    };
    for (single, part) in [
        ("\"A->D\"", "there is no node `D`"),
        ("\"C->A\"", "A is not a next hop of C in `hops`"),
        ("\"A->B|C\"", "A has more than one single next hop"),
        ("\"A->B\", \"A->C\"", "A has its single next hop already"),
    ] {
        let said = small(&given(single));
        assert!(said.contains(part), "{single}\n{said}");
    }
    assert_eq!(small(&given("\"A->B\"")), "fine");
}

#[test]
fn events_windows_axes_and_expectations_that_cannot_be_are_refused() {
    let moves = |to: &str| {
        format!("[routing]\nconverge = \"1 s\"\n[[event]]\nat = \"1 s\"\nflow = \"f\"\nproducer = \"{to}\"\n")
    };
    for (text, part) in [
        ("[[event]]\nat = \"1 s\"\n", "the event does not name a flow, link or node"),
        ("[[event]]\nat = \"1 s\"\nflow = \"f\"\nlink = \"A-B\"\n", "it has flow and link"),
        ("[[event]]\nat = \"1 s\"\nlink = \"A-B\"\n", "the event changes nothing"),
        ("[[event]]\nat = \"1 s\"\nnode = \"A\"\n", "keys for a node: up, cache_ratio"),
        (
            "[[event]]\nat = \"1 s\"\nnode = \"A\"\nloss = 0.1\n",
            "`loss` is a key of events of a link, not of a node",
        ),
        (
            "[[event]]\nat = \"1 s\"\nflow = \"f\"\nup = false\n",
            "`up` is a key of events of a link or node, not of a flow",
        ),
        (
            "[[event]]\nat = \"1 s\"\nflow = \"f\"\nproducer = \"C\"\n",
            "no route would lead to the new producer\n",
        ),
        (
            "[routing]\npolicy = \"given\"\nconverge = \"1 s\"\n",
            "routing.converge: given routes do not change",
        ),
        ("[routing]\nconverge = 1\n", "routing.converge: 1 is not a time with its unit"),
        ("[routing]\nk = 0\n", "0 is not a whole number from 1 to 16"),
        ("[routing]\npolicy = \"k-shortst\"\n", "did you mean \"k-shortest\"?"),
        (&moves("A"), "A is the consumer of /a and its producer"),
        (
            &(moves("C") + "[[route]]\nprefix = \"/\"\nhops = [\"A->B\"]\n"),
            "the routes that [[route]] gives for / stay",
        ),
        (&moves("X"), "there is no node `X`"),
        (&moves("{A,B}"), "2 producers for 1 flows"),
        ("[[event]]\nat = \"1 s\"\nlink = \"A-B:x\"\nup = false\n", "no link between A and B is called `x`"),
        ("[[event]]\nat = \"1 s\"\nlink = \"A-C\"\nup = false\n", "there is no link between A and C"),
        ("[[event]]\nat = \"1 s\"\nlink = \"A->B\"\nrate = [\"1 b/s\", \"2 b/s\"]\n", "is one direction"),
        (
            "[[event]]\nat = \"1 s\"\nflow = \"g\"\nsource_rate = \"1 Mb/s\"\n",
            "there is no flow group `g`; did you mean `f`?",
        ),
        (
            "[[event]]\nat = \"1 s\"\nflow = \"f\"\nrate = \"1 Mb/s\"\n",
            "`rate` is a key of events of a link, not of a flow",
        ),
        ("[[event]]\nat = \"11 s\"\nlink = \"A-B\"\nup = false\n", "the run ends at 10 s"),
        ("[[window]]\nfrom = \"2 s\"\nto = \"1 s\"\n", "the window ends at 1 s, but begins at 2 s"),
        ("[[window]]\nfrom = \"2 s\"\nto = \"11 s\"\n", "the run ends at 10 s"),
        (
            "[[axis]]\nname = \"x\"\nset = \"node.A.cach\"\nvalues = [1]\n",
            "`node.A.cach` does not exist or cannot be set",
        ),
        ("[[axis]]\nname = \"x\"\nset = \"node.A.cache\"\nvalues = []\n", "is not a list of values"),
        ("[[expectation]]\nsource = \"s\"\nmetric = \"goodput\"\n", "the expectation has no value"),
        ("[[expectation]]\nsource = \"s\"\nmetric = \"godput\"\nabout = 1\n", "did you mean \"goodput\"?"),
        ("[[expectation]]\nmetric = \"goodput\"\nabout = 1\n", "the key `source` is missing"),
        ("[[expectation]]\nsource = \"s\"\nmetric = \"goodput\"\nabout = \"1 ms\"\n", "`1 ms` is not a rate"),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nabout = \"1 ms\"\n",
            "`1 ms` is not a number, which lost is",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"goodput\"\nabout = 1\nclass = \"EF\"\n",
            "there is no flow of class EF",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"utilisation\"\nabout = 1\n",
            "utilisation is measured on a link",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"utilisation\"\nlink = \"A-B\"\nabout = 1\n",
            "write \"A->B\" or \"B->A\"",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"goodput\"\nlink = \"A->B\"\nabout = 1\n",
            "goodput is not measured on links",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"completion\"\nabout = 1\n",
            "flow f never completes: it has no `amount`",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"unfinished\"\nabout = 0\n",
            "flow f never completes: it has no `amount`",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nabout = 1\nwindow = \"w\"\n",
            "there is no window `w`",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nabout = 1\nwhen = { x = 1 }\n",
            "there is no axis `x`",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nabout = 1\nmore_than = \"pcon\"\n",
            "give exactly one of: about, at_most, at_least, more_than, less_than",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nless_than = \"fixed\"\n",
            "less_than: fixed is compared with itself",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nless_than = [\"pcon\", \"pcon\"]\n",
            "pcon is named twice",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nless_than = []\n",
            "the comparison names no scheme",
        ),
        ("[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nless_than = 5\n", "is not a text"),
        (
            "[[expectation]]\nsource = \"s\"\nscheme = \"*\"\nmetric = \"lost\"\nmore_than = \"pcon\"\n",
            "expectation.0.scheme: `more_than` compares one scheme with others",
        ),
        (
            "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nmore_than = \"pcon\"\ntolerance = 0.1\n",
            "expectation.0.tolerance: a comparison with other schemes has no tolerance",
        ),
    ] {
        let said = small(&format!("{LINK}{FLOW}{text}"));
        assert!(said.contains(part), "{text}\n{said}");
    }
}

#[test]
fn parameters_are_values_not_lists() {
    let said = small("[scheme.qsccp]\nweights = [1, 2]\n");
    assert!(said.contains("scheme.qsccp.weights: a list is not a parameter"), "{said}");
}

#[test]
fn a_source_of_what_is_not_there_is_refused() {
    let said = small(&format!("{LINK}source = {{ raet = \"paper\" }}\n"));
    assert!(said.contains("this table has no key `raet` that could have a source"), "{said}");
}

#[test]
fn generated_networks_that_cannot_be_are_refused() {
    let generate = |lines: &str| {
        let text = format!(
            "title = \"t\"\nduration = \"1 s\"\nscheme.default = \"fixed\"\n[generate]\nrate = \"1 Mb/s\"\n\
             delay = \"1 ms\"\n{lines}\n"
        );
        match Scenario::parse("g", "g.toml", &text, &[]) {
            Ok(_) => "fine".to_owned(),
            Err(e) => e.to_string(),
        }
    };
    for (lines, part) in [
        ("kind = \"random\"", "the key `nodes` is missing"),
        ("kind = \"rnadom\"\nnodes = 5", "did you mean \"random\"?"),
        ("kind = \"random\"\nnodes = 1", "1 is not a whole number from 2 to 20000"),
        ("kind = \"ring\"\nnodes = 2", "a ring has at least 3 nodes"),
        ("kind = \"dumbbell\"\nnodes = 5", "an even number of nodes"),
        ("kind = \"line\"\nnodes = 5\nbottleneck = \"1 Mb/s\"", "only a dumbbell has a bottleneck"),
        (
            "kind = \"line\"\nnodes = 5\n[generate.flows]\ncount = 5\nclasses = [\"XX\"]",
            "is not a service class",
        ),
        ("kind = \"line\"\nnodes = 5\n[generate.flows]\ncount = 5\nprefix = \"/a\"", "unknown key `prefix`"),
    ] {
        let said = generate(lines);
        assert!(said.contains(part), "{lines}\n{said}");
    }
    assert!(generate("kind = \"line\"\nnodes = 5\n").contains("fine"));
}

fn minimal(overrides: &[&str]) -> Result<Scenario, String> {
    let overrides: Result<Vec<_>, _> = overrides.iter().map(|o| Override::parse(o)).collect();
    let text = builtin("examples/minimal").unwrap();
    overrides.and_then(|o| Scenario::parse("minimal", "minimal.toml", text, &o)).map_err(|e| e.to_string())
}

#[test]
fn a_sample_that_would_not_fit_names_the_smallest_that_does() {
    for (sample, steps) in [("1ns", "5000000000 steps"), ("1us", "5000000 steps"), ("10us", "500000 steps")] {
        let said = set(&[
            "duration=5s",
            "window.steady.from=1s",
            "window.steady.to=5s",
            &format!("sample={sample}"),
        ]);
        let said = said.unwrap_err();
        assert!(said.starts_with(&format!("--set sample={sample}: 5 s in steps of ")), "{said}");
        assert!(said.contains(steps) && said.contains("of 62 flows and directions of links"), "{said}");
        assert!(said.contains("the smallest possible sample is 20 us"), "{said}");
    }
    let fits = ["duration=5s", "window.steady.from=1s", "window.steady.to=5s", "sample=20us"];
    assert_eq!(set(&fits).unwrap().sample.to_string(), "20 us");
    // A run that an override makes too long for the sample of the file.
    let text = dumbbell().replacen("[scheme]", "sample = \"1 ms\"\n[scheme]", 1);
    let longer = [Override::parse("duration=100min").unwrap()];
    let said = Scenario::parse("d", "d.toml", &text, &longer).unwrap_err().to_string();
    assert!(said.starts_with("--set duration=100min: sample: 6000 s in steps of 1 ms"), "{said}");
}

#[test]
fn the_sample_that_none_gives_fits_however_large_the_network() {
    let text = "title = \"t\"\nduration = \"300 s\"\nscheme.default = \"fixed\"\n[generate]\nkind = \"line\"\n\
                nodes = 15001\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n";
    // With 30 000 directions of links there are at most 666 steps.
    assert_eq!(Scenario::parse("g", "g.toml", text, &[]).unwrap().sample.to_string(), "500 ms");
}

#[test]
fn what_an_override_makes_wrong_is_said_of_the_override() {
    let said = set(&["window.steady.from=200s"]).unwrap_err();
    assert!(
        said.starts_with(
            "--set window.steady.from=200s: window.steady.to: the window ends at 120 s, but begins at 200 s\n  = see dumbbell.toml:"
        ),
        "{said}"
    );
    let said = set(&["link.R2-R3.loss=0.1", "routing.policy=given"]).unwrap_err();
    assert!(said.starts_with("--set routing.policy=given: flow.EF: no [[route]] covers /A0"), "{said}");
    let said = set(&["duration=200s", "window.steady.from=150s", "window.steady.to=140s"]).unwrap_err();
    assert!(said.starts_with("--set window.steady.to=140s: "), "{said}");
    let said = minimal(&["flow.*.start=4s", "flow.*.stop=3s"]).unwrap_err();
    assert!(said.starts_with("--set flow.*.stop=3s: "), "{said}");
    // A mistake in the file is reported as one of the file.
    let text = dumbbell().replacen("rate = \"10 Mb/s\"", "ratee = \"10 Mb/s\"", 1);
    let over = [Override::parse("link.C1-R1.loss=0.1").unwrap()];
    let said = Scenario::parse("d", "d.toml", &text, &over).unwrap_err().to_string();
    assert!(said.starts_with("d.toml:"), "{said}");
}

#[test]
fn too_many_links_are_found_before_they_are_made() {
    let text = "title = \"t\"\nduration = \"1 s\"\nscheme.default = \"fixed\"\n[generate]\nkind = \"random\"\n\
                nodes = 20000\ndegree = 100\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n";
    let said = Scenario::parse("g", "g.toml", text, &[]).unwrap_err();
    assert_eq!((said.key(), said.line()), ("generate.degree", 7));
    assert_eq!(said.message(), "20000 nodes with 100 links each are 1000000 links, more than 100000");
    assert_eq!(said.help(), "degree: at most 10");
    let over = [Override::parse("generate.degree=50").unwrap()];
    let text = text.replace("degree = 100\n", "");
    let said = Scenario::parse("g", "g.toml", &text, &over).unwrap_err().to_string();
    assert!(said.starts_with("--set generate.degree=50: 20000 nodes"), "{said}");
}

#[test]
fn what_a_short_run_leaves_out_is_a_line_and_not_one_for_each() {
    let notes = set(&["duration=30s"]).unwrap().notes;
    let of: Vec<&String> = notes.iter().filter(|n| n.contains("expectations left out")).collect();
    assert_eq!(of.len(), 1, "{notes:#?}");
    assert!(of[0].starts_with("15 expectations left out ("), "{}", of[0]);
    assert!(of[0].ends_with("; and 12 more): the run ends at 30 s"), "{}", of[0]);
    assert!(notes.len() <= 3, "{notes:#?}");
}

#[test]
fn an_expectation_about_a_link_stands_without_flows() {
    let with = minimal(&[]).unwrap();
    let of_links = |s: &Scenario| s.expectations.iter().filter(|e| e.metric.needs_link()).count();
    assert!(of_links(&with) > 0);
    let without = minimal(&["flow.video.count=0"]).unwrap();
    assert_eq!(of_links(&without), of_links(&with), "{:?}", without.notes);
}

#[test]
fn a_point_that_an_axis_does_not_have_is_noted() {
    let text = format!(
        "{}\n[[axis]]\nname = \"loss\"\nset = \"link.R2-R3.loss\"\nvalues = [0.0, 0.1]\n",
        dumbbell()
    );
    let notes = |value: &str| {
        let over = [Override::parse(&format!("axis.loss={value}")).unwrap()];
        Scenario::parse("d", "d.toml", &text, &over).unwrap().notes
    };
    assert!(notes("0.1").is_empty());
    assert_eq!(
        notes("0.2"),
        ["the axis loss has a value that is not listed (0.0, 0.1): no expectation applies to this point"]
    );
}

const MEDIUM: &str =
    "[[medium]]\nname = \"wifi\"\nstandard = \"802.11a\"\nstations = [\"A\", \"B\"]\nrate = \"24 Mb/s\"\n";

#[test]
fn a_medium_that_cannot_be_is_refused() {
    for (old, new, part) in [
        ("802.11a", "802.11b", "`802.11b` is not one of \"802.11a\""),
        ("standard = \"802.11a\"\n", "", "the key `standard` is missing"),
        ("24 Mb/s", "10 Mb/s", "medium.wifi.rate: 10 Mb/s is not a rate of 802.11a"),
        (
            "24 Mb/s",
            "10 Mb/s",
            "= rates: 6 Mb/s, 9 Mb/s, 12 Mb/s, 18 Mb/s, 24 Mb/s, 36 Mb/s, 48 Mb/s, 54 Mb/s",
        ),
        ("rate = \"24 Mb/s\"", "rate = [\"24 Mb/s\", \"6 Mb/s\"]", "a list is not a rate with its unit"),
        ("\"B\"]", "\"D\"]", "there is no node `D`"),
        ("[\"A\", \"B\"]", "\"A\"", "a medium has at least two stations"),
        ("\"B\"]", "\"{A,B}\"]", "A is among the stations twice"),
        ("rate", "access_point = \"C\"\nrate", "C is not one of the stations\n"),
        ("rate", "access_point = \"C\"\nrate", "= stations: A, B"),
        ("rate", "delay = \"1 ms\"\nrate", "unknown key `delay`"),
        ("rate", "loss = 1.5\nrate", "1.5 is not a number from 0 to 1"),
        ("rate", "queue = 0\nrate", "a queue of 0 packets would drop every packet"),
    ] {
        assert!(MEDIUM.contains(old));
        let said = small(&MEDIUM.replacen(old, new, 1));
        assert!(said.contains(part), "{new}\n{said}");
    }
    let said = small(&format!("{MEDIUM}{MEDIUM}"));
    assert!(said.contains("there are two media `wifi`"), "{said}");
    let said = small(&format!("{LINK}{MEDIUM}"));
    assert!(said.contains("medium.wifi.stations: there is already a link between A and B"), "{said}");
    assert_eq!(small(&format!("{MEDIUM}{FLOW}")), "fine");
}

#[test]
fn what_cannot_happen_to_a_medium_is_refused() {
    let event = |what: &str| format!("{MEDIUM}{FLOW}[[event]]\nat = \"1 s\"\nlink = \"A-B\"\n{what}\n");
    for (what, part) in [
        ("delay = \"1 ms\"", "A-B is on a medium, which has no delay"),
        ("rate = \"10 Mb/s\"", "10 Mb/s is not a rate of 802.11a"),
        ("rate = [\"6 Mb/s\", \"7 Mb/s\"]", "7 Mb/s is not a rate of 802.11a"),
    ] {
        let said = small(&event(what));
        assert!(said.contains(part), "{what}\n{said}");
    }
    for what in ["rate = [\"6 Mb/s\", \"54 Mb/s\"]", "loss = 0.1", "up = false"] {
        assert_eq!(small(&event(what)), "fine");
    }
}

#[test]
fn what_is_set_of_a_pair_of_stations_names_their_medium() {
    let text = format!(
        "title = \"t\"\nduration = \"10 s\"\nscheme.default = \"fixed\"\n[[node]]\nname = [\"A\", \"B\"]\n{MEDIUM}{FLOW}"
    );
    let set = |text_of: &str| {
        let over = [Override::parse(text_of).unwrap()];
        Scenario::parse("m", "m.toml", &text, &over).map_err(|error| error.to_string())
    };
    let scenario = set("medium.wifi.rate=54Mb/s").unwrap();
    assert_eq!(scenario.links[0].rate[1].to_string(), "54 Mb/s");
    let said = set("medium.wifi.rate=55Mb/s").unwrap_err();
    assert!(said.starts_with("--set medium.wifi.rate=55Mb/s: 55 Mb/s is not a rate of 802.11a"), "{said}");
    let said = set("link.B-A.loss=0.1").unwrap_err();
    assert!(said.contains("B-A are stations of the medium `wifi`, not a separate link"), "{said}");
    assert!(said.contains("= set medium.wifi.KEY, with a KEY of: rate, queue, loss"), "{said}");
    let said = set("medium.wlan.loss=0.1").unwrap_err();
    assert!(said.contains("there is no medium `wlan`") && said.contains("media here: wifi"), "{said}");
}

#[test]
fn all_errors_of_a_file_are_shown_in_its_order_and_none_that_follows_from_another() {
    let text = format!(
        "titel = \"t\"\nduration = \"10 s\"\nscheme.default = \"fixed\"\n[[node]]\nname = [\"A\", \"B\"]\n\
         {LINK}loss = 2\nqueue = 0\n\
         {FLOW}class = \"AF9\"\nlifetime = \"0 s\"\n\
         [[flow]]\nname = \"g\"\nconsumer = \"A\"\nproducer = \"X\"\nprefix = \"b\"\nstart = \"20\"\n\
         [[window]]\nname = \"w\"\nfrom = \"1 s\"\nto = \"20 s\"\n\
         [[event]]\nat = \"1 s\"\nlink = \"A-C\"\nup = false\n\
         [[event]]\nat = \"1 s\"\nflow = \"g\"\nsource_rate = \"1 Mb/s\"\n\
         [[expectation]]\nsource = \"s\"\nmetric = \"goodput\"\nflow = \"g\"\nabout = \"1 m\"\n"
    );
    let error = Scenario::parse("x", "x.toml", &text, &[]).unwrap_err();
    let keys: Vec<&str> = error.errors().map(|error| error.key()).collect();
    let wanted = [
        "",
        "link.A-B.loss",
        "link.A-B.queue",
        "flow.f.class",
        "flow.f.lifetime",
        "flow.g.producer",
        "flow.g.prefix",
        "flow.g.start",
        "window.w.to",
        "event.0.link",
        "expectation.0.about",
    ];
    assert_eq!(keys, wanted, "{error}");
    let lines: Vec<u32> = error.errors().map(|error| error.line()).collect();
    assert!(lines.is_sorted() && lines.iter().all(|line| *line > 0), "{lines:?}");
    assert!(error.to_string().ends_with("\n\n11 errors"), "{error}");
    // Text that is not TOML: each wrong line is reported.
    let said = Scenario::parse("x", "x.toml", "title = t\nduration = 10 s\n", &[]).unwrap_err();
    assert_eq!(said.errors().map(|error| error.line()).collect::<Vec<_>>(), [1, 2], "{said}");
    // An override is blamed only for its own errors.
    let overrides = [Override::parse("flow.f.start=11 s").unwrap()];
    let text = format!(
        "title = \"t\"\nduration = \"10 s\"\nscheme.default = \"fixed\"\n[[node]]\nname = [\"A\", \"B\"]\n{LINK}loss = 2\n{FLOW}"
    );
    let error = Scenario::parse("x", "x.toml", &text, &overrides).unwrap_err();
    let files: Vec<&str> = error.errors().map(|error| error.file()).collect();
    assert_eq!(files, ["--set flow.f.start=11 s", "x.toml"], "{error}");
}

#[test]
fn a_prefix_leaves_room_for_a_segment_and_a_queue_for_a_packet() {
    let prefix =
        |count: usize| format!("{LINK}{}", FLOW.replace("\"/a\"", &format!("\"{}\"", "/a".repeat(count))));
    assert_eq!(small(&prefix(63)), "fine");
    let said = small(&prefix(64));
    assert!(said.starts_with("small.toml:14: flow.f.prefix: the prefix has 64 components"), "{said}");
    let long = small(&format!("{LINK}{}", FLOW.replace("/a", &format!("/{}", "a".repeat(500)))));
    assert!(long.contains("a packet has no room"), "{long}");
    let queue = |bytes: &str| small(&format!("{LINK}queue = \"{bytes}\"\n{FLOW}"));
    assert!(queue("1 B").contains("link.A-B.queue: a queue of 1 B has no room for one packet of flow f"));
    assert!(queue("1 kB").contains("no room for one packet") && queue("1200 B") == "fine");
    // A link without flows needs no room.
    let idle = LINK.replace("\"A\"", "\"C\"");
    assert_eq!(small(&format!("{LINK}{idle}queue = \"1 B\"\n{FLOW}")), "fine");
}

#[test]
fn what_is_valid_but_hardly_meant_is_noted_with_its_line() {
    let notes = |end: &str| {
        let text = format!(
            "title = \"t\"\nduration = \"10 s\"\nscheme.default = \"fixed\"\n[[node]]\nname = [\"A\", \"B\", \"C\"]\n{end}"
        );
        Scenario::parse("small", "small.toml", &text, &[]).unwrap().notes
    };
    let isolated = "small.toml:5: node.C: warning: no link joins this node to another";
    assert_eq!(notes(&format!("{LINK}{FLOW}")), [isolated]);
    let near = LINK.replace("\"A\"", "\"C\"");
    assert_eq!(notes(&format!("{LINK}{near}{FLOW}")), [""; 0]);
    let far = LINK.replace("1 ms", "100 ms");
    let said = notes(&format!("{far}{near}{FLOW}lifetime = \"200 ms\"\n"));
    assert!(
        said[0].starts_with("small.toml:19: flow.f.lifetime: warning: the lifetime of Interests, 200 ms"),
        "{said:?}"
    );
    let other = FLOW.replace("\"f\"", "\"g\"").replace("\"B\"", "\"C\"");
    let said = notes(&format!("{LINK}{near}{FLOW}{other}"));
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("flow.g.producer: warning: /a is also the prefix of flow f, with other producers (C here, B there)"), "{said:?}");
}

#[test]
fn names_may_have_dashes_blanks_and_commas() {
    let text = "title = \"t\"\nduration = \"10 s\"\nscheme.default = \"fixed\"\n\
        [[node]]\nname = [\"New York\", \"R-1\", \"Oslo, N\"]\n\
        [[link]]\nbetween = [\"New York-R-1\", \"'R-1'-'Oslo, N'\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\n\
        [[flow]]\nname = \"to the west, fast\"\nconsumer = \"New York\"\nproducer = \"Oslo, N\"\nprefix = \"/a\"\n\
        [routing]\npolicy = \"given\"\n[[route]]\nprefix = \"/a\"\nhops = [\"New York->'R-1'\", \"R-1->Oslo, N\"]\n\
        [[event]]\nat = \"1 s\"\nlink = \"R-1-Oslo, N\"\nrate = \"2 Mb/s\"\n";
    let parse = |set: &[&str]| {
        let overrides: Vec<_> = set.iter().map(|set| Override::parse(set).unwrap()).collect();
        Scenario::parse("x", "x.toml", text, &overrides).map_err(|error| error.to_string())
    };
    assert_eq!(parse(&[]).unwrap().links.len(), 2);
    let set = [
        "link.New York-R-1.rate=[\"3 Mb/s\", \"4 Mb/s\"]",
        "link.'Oslo, N'-'R-1'.rate=[\"5 Mb/s\", \"6 Mb/s\"]",
    ];
    let rates: Vec<_> = parse(&set)
        .unwrap()
        .links
        .iter()
        .map(|link| link.rate.map(|rate| rate.as_bps() / 1_000_000))
        .collect();
    assert_eq!(rates, [[3, 4], [6, 5]]);
    assert!(parse(&["flow.to the west, fast.start=1 s"]).is_ok());
}

#[test]
fn random_traffic_that_cannot_be_is_refused() {
    let wrong = |keys: &str, part: &str| {
        let message = small(&format!("{LINK}{FLOW}{keys}\n"));
        assert!(message.contains(part), "{keys}: {message}");
    };
    wrong("arrivals = \"often\"", "not a process of arrivals");
    wrong("arrivals = \"often\"", "poisson 5/s");
    wrong("arrivals = \"poisson 5\"\namount = 1", "not a rate of requests");
    wrong("arrivals = \"poisson 5/s\"", "the requests have no amount");
    wrong("amount = \"pareto 5 shape 1\"", "has no mean");
    wrong("amount = \"normal 5\"", "exponential 50");
    wrong("objects = 5", "applies only with `arrivals`");
    wrong("arrivals = \"every 1 s\"\namount = 1\npopularity = \"zipf 1\"", "applies only with `objects`");
    wrong("arrivals = \"every 1 s\"\namount = 1\nobjects = 9\npopularity = \"zeta 1\"", "zipf 0.8");
    wrong("activity = \"now and then\"", "on exponential 1 s off");
    wrong("activity = \"on lognormal 1 s sigma 10 off 1 s\"", "half of the times");
    let ranked = |n: usize| {
        format!(
            "[[flow]]\nname = \"g{n}\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/g{n}\"\narrivals = \"every 1 s\"\n\
             amount = 1\nobjects = 9000000\npopularity = \"zipf 0.{n}\"\n"
        )
    };
    assert_eq!(small(&format!("{LINK}{}{}{}", ranked(1), ranked(2), ranked(1).replace("g1", "h"))), "fine");
    let said = small(&format!("{LINK}{}{}{}", ranked(1), ranked(2), ranked(3)));
    assert!(said.contains("objects of different popularities"), "{said}");
    wrong("source_jitter = 0.5", "an elastic flow has no rate");
    wrong("arrivals = \"file a\"\namount = 1", "names no other files");
    wrong(
        "arrivals = \"poisson 5/s\"\namount = \"exponential 5\"\nobjects = 9\npopularity = \"zipf 0.8\"",
        "fine",
    );
}

/// Returns the errors of a link with these keys, in a scenario with these files.
fn of_link(keys: &str, event: &str) -> String {
    struct Beside;
    impl weir_scenario::Files for Beside {
        fn read(&self, path: &str) -> Result<std::sync::Arc<str>, String> {
            match path {
                "good.trace" => Ok("1\n2\n".into()),
                "bad.trace" => Ok("1\n2\nx\n".into()),
                _ => Err(format!("cannot read {path}: no such file")),
            }
        }
    }
    let text = format!(
        "title = \"t\"\nduration = \"10 s\"\nscheme.default = \"fixed\"\n[[node]]\nname = [\"A\", \"B\", \"C\"]\n\
         [[link]]\nends = [\"A\", \"B\"]\ndelay = \"1 ms\"\n{keys}\n{FLOW}{event}"
    );
    match Scenario::parse_with_files("small", "small.toml", &text, &[], &Beside, |_| None) {
        Ok(_) => "fine".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn losses_in_bursts_jitter_traces_and_duplex_are_checked() {
    let rate = |keys: &str| format!("rate = \"1 Mb/s\"\n{keys}");
    let event = |keys: &str| format!("[[event]]\nat = \"1 s\"\nlink = \"A-B\"\n{keys}\n");
    for (keys, event, expected) in [
        (rate("loss = 0.01\nloss_burst = 5"), String::new(), "fine"),
        (rate("loss_burst = 0.5"), String::new(), "0.5 is not a number from 1 to"),
        (rate("loss = 0.9\nloss_burst = 2"), String::new(), "9.0 packets in a row and more, not 2"),
        (rate("loss_burst = 2"), event("loss = 0.9"), "9.0 packets in a row and more, not 2"),
        (rate(""), event("loss = 0.5\nloss_burst = 5"), "fine"),
        (rate("jitter = \"2 ms\"\nreorder = true"), event("jitter = \"3 ms\""), "fine"),
        (rate("jitter = 2"), String::new(), "link.A-B.jitter: 2 is not a time"),
        (rate("reorder = 1"), String::new(), "link.A-B.reorder"),
        (rate(""), event("jitter = \"3 ms\""), "A-B has no jitter that could change"),
        (rate("duplex = \"half\""), String::new(), "fine"),
        (rate("duplex = \"both\""), String::new(), "`both` is not one of"),
        (rate("duplex = \"half\"\nrate_trace = \"good.trace\""), String::new(), "is full duplex"),
        ("rate_trace = \"good.trace\"".to_owned(), event("rate = \"1 Mb/s\""), "fine"),
        ("rate_trace = [\"good.trace\", \"good.trace\"]".to_owned(), String::new(), "fine"),
        (rate("rate_trace = \"good.trace\""), String::new(), "fine"),
        ("rate_trace = []".to_owned(), String::new(), "one trace for both directions"),
        (
            "rate_trace = \"none.trace\"".to_owned(),
            String::new(),
            "link.A-B.rate_trace: cannot read none.trace",
        ),
        (
            "rate_trace = \"bad.trace\"".to_owned(),
            String::new(),
            "bad.trace, line 3: a line must be one whole number",
        ),
        (String::new(), String::new(), "the key `rate` is missing"),
    ] {
        let said = of_link(&keys, &event);
        assert!(said.contains(expected), "{keys}\n{event}\n{said}");
    }
    let said = small(&format!("{LINK}rate_trace = \"x\"\n{FLOW}"));
    assert!(said.contains("names no other files"), "{said}");
    let medium =
        "[[medium]]\nname = \"W\"\nstandard = \"802.11a\"\nstations = [\"A\", \"B\"]\nrate = \"24 Mb/s\"\n";
    let said = small(&format!("{medium}{FLOW}{}", event("loss_burst = 3")));
    assert!(said.contains("A-B is on a medium, which has no `loss_burst`"), "{said}");
    let said = small(&format!("{medium}jitter = \"1 ms\"\n{FLOW}"));
    assert!(said.contains("unknown key `jitter`"), "{said}");
}

#[test]
fn what_changes_in_both_directions_is_not_changed_in_one() {
    for change in ["loss = 0.1", "up = false"] {
        let event = format!("[[event]]\nat = \"1 s\"\nlink = \"A->B\"\n{change}\n");
        let said = small(&format!("{LINK}{FLOW}{event}"));
        assert!(said.contains("changes in both directions") && said.contains("\"A-B\""), "{said}");
    }
}
