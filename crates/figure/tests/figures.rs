//! Small figures of each kind: their drawings are as they were, whatever the numbers.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use weir_figure::{
    Axis, ColourScale, Dot, Entry, Figure, Layer, Link, Mark, Markers, Node, Panel, Scale, Shape, Sign,
    Width, draw,
};

fn axis(label: &str, unit: &str) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), ..Axis::default() }
}

fn layer(name: &str, style: u32, shape: Shape) -> Layer {
    Layer { name: name.to_owned(), style, shape }
}

fn legend(count: u32, sign: Sign) -> Vec<Entry> {
    (0..count).map(|k| Entry { name: format!("scheme-{k}"), style: k, sign }).collect()
}

fn of(panels: Vec<Panel>, legend: Vec<Entry>) -> Figure {
    Figure {
        title: "A figure".to_owned(),
        source: "examples/minimal, seeds 1 to 3".to_owned(),
        across: 1,
        panels,
        legend,
    }
}

fn series(count: u32) -> Figure {
    let x: Vec<f64> = (0..60).map(f64::from).collect();
    let line = |style: u32, big: f64| {
        let y = x.iter().map(|x| big * f64::from(style + 1) * (1.0 - 1.0 / (1.0 + x))).collect();
        layer(&format!("scheme-{style}"), style, Shape::Line { x: x.clone(), y, markers: Markers::Few })
    };
    let panel = |y: Axis, big| Panel {
        x: axis("time", "s"),
        y,
        layers: (0..count).map(|k| line(k, big)).collect(),
        marks: vec![
            Mark { from: 20.0, to: Some(40.0), text: "window".to_owned(), ..Mark::default() },
            Mark { from: 45.0, text: "link down".to_owned(), ..Mark::default() },
        ],
        ..Panel::default()
    };
    of(
        vec![panel(axis("goodput", "bit/s"), 1e6), panel(axis("delay", "ms"), 3.0)],
        legend(count, Sign::MarkedLine),
    )
}

fn bars() -> Figure {
    let bars = |k: u32| {
        let y = vec![2.0 + f64::from(k), 1.0];
        let seeds = (0..3).map(|seed| Dot { x: 0.0, y: y[0] + seed as f64 - 1.0, seed }).collect();
        let (low, high) = (y.iter().map(|y| y - 0.5).collect(), y.iter().map(|y| y + 0.5).collect());
        let shape = Shape::Bars { x: vec![0.0, 1.0], y, low, high, slot: k as usize, slots: 3, seeds };
        layer(&format!("scheme-{k}"), k, shape)
    };
    let x = Axis {
        scale: Scale::Categories,
        categories: vec!["EF".to_owned(), "a class with a long name".to_owned()],
        ..Axis::default()
    };
    let panel =
        Panel { x, y: axis("goodput", "bit/s"), layers: (0..3).map(bars).collect(), ..Panel::default() };
    of(vec![panel], legend(3, Sign::Box))
}

fn scatter() -> Figure {
    let point = |k: u32| {
        let (x, y) = (10.0 * f64::from(k + 1), 1e6 * f64::from(k % 3 + 1));
        let shape = Shape::Points { x: vec![x], y: vec![y], low: Vec::new(), high: Vec::new(), named: true };
        let around = Shape::Ellipse { x, y, covariance: vec![4.0, 1e10, 1e5] };
        [layer(&format!("scheme-{k}"), k, around), layer(&format!("scheme-{k}"), k, shape)]
    };
    let x = Axis { scale: Scale::Log, ..axis("delay", "ms") };
    let layers = (0..4).flat_map(point).collect();
    of(vec![Panel { x, y: axis("goodput", "bit/s"), layers, ..Panel::default() }], Vec::new())
}

fn steps_and_bands() -> Figure {
    let x = vec![1.0, 2.0, 4.0, 8.0];
    let shape = Shape::Steps { x: x.clone(), y: vec![0.1, 0.5, f64::NAN, 1.0] };
    let band = Shape::Band { x, low: vec![0.1, 0.2, 0.3, 0.8], high: vec![0.2, 0.6, f64::NAN, 1.0] };
    let axes = (axis("delay", "ms"), Axis { range: (Some(0.0), Some(1.0)), ..axis("CDF", "1") });
    let layers = vec![layer("all", 1, band), layer("all", 1, shape)];
    of(vec![Panel { x: axes.0, y: axes.1, layers, ..Panel::default() }], legend(2, Sign::Line))
}

fn network() -> Figure {
    let node = |name: &str, role: &str, x, y| Node { name: name.to_owned(), role: role.to_owned(), x, y };
    let nodes = vec![
        node("C1", "consumer", 0.0, 0.2),
        node("R1", "router", 0.5, 0.5),
        node("P1", "producer", 1.0, 0.9),
    ];
    let link = |from, to, value| Link { from, to, value };
    let links = vec![link(0, 1, 0.1), link(1, 0, 0.5), link(1, 2, 1.0), link(2, 1, f64::NAN)];
    let colours =
        Some(ColourScale { label: "use".to_owned(), unit: "1".to_owned(), range: (Some(0.0), Some(1.0)) });
    let layers = vec![layer("", 0, Shape::Network { nodes, links })];
    of(vec![Panel { layers, colours, ..Panel::default() }], Vec::new())
}

fn all() -> [(&'static str, Figure); 5] {
    [
        ("series", series(3)),
        ("bars", bars()),
        ("scatter", scatter()),
        ("steps", steps_and_bands()),
        ("network", network()),
    ]
}

/// With `WEIR_BLESS=1` the drawings are written anew.
#[test]
fn drawings_are_as_they_were() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drawings");
    for (name, figure) in all() {
        let (path, svg) =
            (dir.join(format!("{name}.svg")), draw(&figure, Width::OneColumn).svg_without_font());
        if std::env::var_os("WEIR_BLESS").is_some() {
            fs::create_dir_all(&dir).unwrap();
            fs::write(&path, &svg).unwrap();
        }
        assert!(fs::read_to_string(&path).is_ok_and(|before| before == svg), "{} differs", path.display());
    }
}

#[test]
fn a_figure_reads_back_from_its_json() {
    for (name, figure) in all() {
        let json = serde_json::to_string(&figure).unwrap();
        let read: Figure = serde_json::from_str(&json).unwrap();
        // NaN is not equal to itself.
        assert_eq!(format!("{read:?}"), format!("{figure:?}"), "{name}");
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }
}

#[test]
fn a_table_has_a_row_for_each_point() {
    let mut figure = bars();
    figure.panels[0].title = "with, a comma".to_owned();
    let csv = figure.csv();
    assert_eq!(
        csv.lines().next(),
        Some("panel,title,layer,kind,x_label,x_unit,x,category,y_label,y_unit,y,low,high,seed")
    );
    assert_eq!(csv.lines().count(), 1 + 3 * (2 + 3));
    let row = |at: usize| csv.lines().nth(at).unwrap();
    assert_eq!(row(1), "1,\"with, a comma\",scheme-0,bars,,,0,EF,goodput,bit/s,2,1.5,2.5,");
    assert_eq!(row(3), "1,\"with, a comma\",scheme-0,seed,,,0,EF,goodput,bit/s,1,,,0");
    assert!(network().csv().contains("1,,,link,,,,C1->R1,use,1,0.1,,,\n"));
    assert!(steps_and_bands().csv().contains("1,,all,steps,delay,ms,4,,CDF,1,,,,\n"));
}

#[test]
fn a_line_without_markers_is_only_a_line() {
    let markers = |markers: Markers| {
        let mut figure = series(1);
        figure.legend.clear();
        for panel in &mut figure.panels {
            let Shape::Line { markers: own, .. } = &mut panel.layers[0].shape else { panic!("no line") };
            *own = markers;
        }
        draw(&figure, Width::OneColumn).svg_without_font().matches("<path").count()
    };
    let [few, all, none] = [Markers::Few, Markers::All, Markers::None].map(markers);
    assert_eq!(all, none + 2 * 60);
    assert_eq!(few, none + 2 * 5);
}

#[test]
fn svg_and_pdf_have_the_texts_and_their_font() {
    let drawing = draw(&series(3), Width::TwoColumns);
    let svg = drawing.svg();
    assert!(roxmltree::Document::parse(&svg).is_ok());
    assert!(svg.contains("goodput (Mb/s)") && svg.contains("@font-face"));
    let pdf = drawing.pdf();
    // Texts that are shown are in streams; their letters are in the map to Unicode.
    let streams = inflated(&pdf);
    let shown = streams.matches(" Tj").count();
    assert_eq!(shown, svg.matches("<text").count());
    assert!(streams.contains("begincmap") || pdf.windows(9).any(|part| part == b"begincmap"));
    assert!(pdf.windows(9).any(|part| part == b"FontFile2"));
    let png = drawing.png(300.0).unwrap();
    // The width in the head of the file.
    assert_eq!(png[16..20], 2148_u32.to_be_bytes());
    assert!(drawing.png(0.0).is_none() && drawing.png(f64::NAN).is_none() && drawing.png(1e9).is_none());
}

/// The text of all compressed streams of a PDF.
fn inflated(pdf: &[u8]) -> String {
    let all = String::from_utf8_lossy(pdf);
    let mut text = String::new();
    let mut at = 0;
    while let Some(begin) = pdf[at..].windows(7).position(|part| part == b"stream\n") {
        at += begin + 7;
        let stream = miniz_oxide::inflate::decompress_to_vec_zlib(&pdf[at..]).unwrap_or_default();
        text += &String::from_utf8_lossy(&stream);
        let end = pdf[at..].windows(9).position(|part| part == b"endstream").unwrap();
        at += end + 9;
    }
    assert!(all.starts_with("%PDF") && all.trim_end().ends_with("%%EOF"));
    text
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        proptest::num::f64::ANY,
        -10.0..10.0,
        Just(0.0),
        Just(1e300),
        Just(f64::MAX),
        Just(f64::MIN),
        Just(f64::NAN),
    ]
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(number(), 0..6)
}

fn shape() -> impl Strategy<Value = Shape> {
    let lists = || (numbers(), numbers(), numbers(), numbers());
    prop_oneof![
        (lists(), prop::sample::select(vec![Markers::Few, Markers::All, Markers::None]))
            .prop_map(|((x, y, ..), markers)| Shape::Line { x, y, markers }),
        lists().prop_map(|(x, y, ..)| Shape::Steps { x, y }),
        lists().prop_map(|(x, low, high, _)| Shape::Band { x, low, high }),
        lists().prop_map(|(x, y, low, high)| Shape::Points { x, y, low, high, named: true }),
        (lists(), 0_usize..9, any::<usize>()).prop_map(|((x, y, low, high), slot, slots)| {
            let seeds = x.iter().zip(&y).map(|(x, y)| Dot { x: *x, y: *y, seed: 1 }).collect();
            Shape::Bars { x, y, low, high, slot, slots, seeds }
        }),
        (number(), number(), numbers()).prop_map(|(x, y, covariance)| Shape::Ellipse { x, y, covariance }),
        (numbers(), 0_usize..9).prop_map(|(x, from)| {
            let node = |x: &f64| Node { name: "<&\u{1}>".to_owned(), x: *x, y: *x, role: String::new() };
            let links = x.iter().map(|value| Link { from, to: 0, value: *value }).collect();
            Shape::Network { nodes: x.iter().map(node).collect(), links }
        }),
    ]
}

fn any_axis() -> impl Strategy<Value = Axis> {
    let scale = prop_oneof![Just(Scale::Linear), Just(Scale::Log), Just(Scale::Categories)];
    let end = || proptest::option::of(number());
    (scale, end(), end(), 0_usize..20).prop_map(|(scale, from, to, names)| Axis {
        scale,
        range: (from, to),
        categories: vec!["a & b".to_owned(); names],
        ..axis("x", "bit/s")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn whatever_the_numbers_there_is_a_drawing(
        panels in proptest::collection::vec((any_axis(), any_axis(), proptest::collection::vec(shape(), 0..3), numbers()), 0..4),
        across in 0_usize..5,
    ) {
        let panel = |(x, y, shapes, marks): (Axis, Axis, Vec<Shape>, Vec<f64>)| Panel {
            x,
            y,
            layers: shapes.into_iter().map(|shape| layer("]]>", 9, shape)).collect(),
            marks: marks.iter().map(|at| Mark { from: *at, to: marks.first().copied(), text: "at".to_owned(), horizontal: *at > 0.0 }).collect(),
            colours: Some(ColourScale::default()),
            ..Panel::default()
        };
        let figure = Figure { panels: panels.into_iter().map(panel).collect(), across, ..of(Vec::new(), legend(40, Sign::Box)) };
        let drawing = draw(&figure, Width::OneColumn);
        let svg = drawing.svg_without_font();
        prop_assert!(roxmltree::Document::parse(&svg).is_ok(), "{svg}");
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        prop_assert!(drawing.pdf().starts_with(b"%PDF"));
        prop_assert!(figure.csv().lines().all(|line| line.split(',').count() == 14));
    }
}

/// The drawings, to be looked at.
#[test]
#[ignore = "writes pictures"]
fn pictures() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(dir).unwrap();
    for (name, figure) in all().into_iter().chain([("series15", series(15))]) {
        for (width, of) in [(Width::OneColumn, "1"), (Width::TwoColumns, "2")] {
            let drawing = draw(&figure, width);
            fs::write(dir.join(format!("{name}-{of}.png")), drawing.png(150.0).unwrap()).unwrap();
            fs::write(dir.join(format!("{name}-{of}.svg")), drawing.svg()).unwrap();
            fs::write(dir.join(format!("{name}-{of}.pdf")), drawing.pdf()).unwrap();
        }
    }
}
