//! The errors of files, with their lines.

use weir_import::{Delay, Format, Options};

use crate::imported;

fn said(name: &str, text: &str) -> String {
    imported(name, text, &Options::new("fixed")).unwrap_err().to_string()
}

#[test]
fn an_error_has_the_file_the_line_and_what_would_be_right() {
    for (name, text, wanted) in [
        ("x.graphml", "<graphml>\n<graph>\n</graphml>", "x.graphml:3: this is not XML: "),
        ("x.graphml", "<svg/>", "x.graphml:1: this is `svg`, not `graphml`"),
        (
            "x.graphml",
            "<graphml><graph>\n<node id='a'/>\n<edge source='a' target='b'/></graph></graphml>",
            "x.graphml:3: there is no node `b`",
        ),
        ("x.gml", "graph [\n node [ id 0\n", "x.gml:3: this is not GML: a `[` without its `]`"),
        ("x.gml", "graph [\n node [ label \"a\n b\" ] ]", "x.gml:2: a node without `id`"),
        ("x.gml", "graph [ node [ id 0 ]\nedge [ source 0 ] ]", "x.gml:2: an edge without `target`"),
        ("t.txt", "router\na NA 0 0\nlink\na b 1Mbps 1 1ms 1\n", "t.txt:4: there is no router `b`"),
        (
            "t.txt",
            "router\na NA 0 0\nb NA 0 0\nlink\na b fast\n",
            "t.txt:5: `fast` is not a bandwidth such as 10Mbps",
        ),
        ("m.conf", "[nodes]\na: _\nb: _\n[links]\na-b\n", "m.conf:5: a link is `a:b delay=10ms bw=100`"),
        (
            "m.conf",
            "[nodes]\na: _\nb: _\n[links]\na:b loss=200\n",
            "m.conf:5: `200` is not a loss in per cent",
        ),
        ("1.cch", "1 @A -> =a r0\nx\n", "1.cch:2: `x` is not the number of a router"),
        ("weights.intra", "a b\n", "weights.intra:1: a line has two places and a number"),
        ("e.txt", "a b\nc\n", "e.txt:2: a line has two nodes"),
        ("e.txt", "a b -1\n", "e.txt:1: `-1` is not a cost"),
        ("e.txt", "a a\n", "e.txt: there is no link between two nodes"),
        ("e.txt", "", "e.txt: there is no link between two nodes"),
    ] {
        let said = said(name, text);
        assert!(said.starts_with(wanted), "{text}\n{said}");
    }
}

#[test]
fn wrong_options_say_what_would_be_right() {
    let flow = |a: &str, b: &str| {
        let options = Options { flows: vec![(a.into(), b.into())], ..Options::new("fixed") };
        imported("e.txt", "a b\nc d\n", &options).unwrap_err().to_string()
    };
    assert_eq!(flow("a", "x"), "e.txt: --flow: there is no node `x`; nodes: a, b, c, d, …");
    assert_eq!(flow("a", "c"), "e.txt: --flow a->c: no links join them");
    assert!(flow("a", "a").contains("must be different"));
    assert!("gexf".parse::<Format>().unwrap_err().contains("formats: graphml, gml"));
    assert!("km/0".parse::<Delay>().unwrap_err().contains("km/200"));
    assert!("soon".parse::<Delay>().unwrap_err().contains("10 ms"));
}
