use weir_figure::{Markers, Scale, Shape, Sign};

use super::*;
use crate::sample;

fn run(scheme: &str, seed: u64) -> PlottedRun {
    let mut report = sample::dumbbell(4, 30);
    report.document.scheme = scheme.to_owned();
    report.document.seed = seed;
    report.document.changes = vec![weir_measure::ChangeRow { at_s: 1.0, what: "link down".to_owned() }];
    report.document.flows[0].goodput_bps *= 1.0 + 0.01 * seed as f64;
    PlottedRun {
        document: report.document,
        series: report.series,
        topology: report.topology,
        point: Vec::new(),
    }
}

fn plotted(schemes: &[&str], seeds: u64) -> Plotted {
    let runs = schemes.iter().flat_map(|scheme| (1..=seeds).map(|seed| run(scheme, seed))).collect();
    Plotted { runs, axes: Vec::new() }
}

const STYLES: [&str; 3] = ["one", "two", "three"];

#[test]
fn bars_of_random_traffic_are_the_slowdown_of_its_requests() {
    let mut plotted = plotted(&["one", "two"], 3);
    for run in &mut plotted.runs {
        run.document.flows.iter_mut().for_each(|flow| flow.group = "web".to_owned());
        let slowdown =
            weir_measure::SlowdownFigures { mean: Some(run.document.seed as f64), ..Default::default() };
        run.document.requests = vec![weir_measure::RequestRow {
            group: "web".to_owned(),
            size: "all".to_owned(),
            came: 2,
            completed: 2,
            slowdown,
            ..Default::default()
        }];
    }
    let figure = of(&plotted, Some(What::Bars)).unwrap();
    assert_eq!(figure.panels[0].y.label, "mean slowdown of requests");
    let Shape::Bars { y, .. } = &figure.panels[0].layers[0].shape else { panic!("no bars") };
    assert_eq!(y, &[2.0]);
}

#[test]
fn the_name_of_a_scheme_chooses_its_variants() {
    let mut plotted = plotted(&["one", "two"], 1);
    plotted.runs[0].document.variant = Some("article".to_owned());
    let request = |only: &str| PlotRequest { only: vec![only.to_owned()], ..PlotRequest::default() };
    let names = |only: &str| {
        let figure =
            figure(&plotted, &PlotRequest { what: Some(What::Bars), ..request(only) }, &STYLES).unwrap();
        figure.panels[0].layers.iter().map(|layer| layer.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("one"), ["one (article)"]);
    assert_eq!(names("one (article)"), ["one (article)"]);
}

#[test]
fn a_scheme_without_series_has_bars_if_nothing_else_is_said() {
    let mut plotted = plotted(&["one"], 3);
    plotted.runs.iter_mut().for_each(|run| run.series = Series::default());
    let figure = of(&plotted, None).unwrap();
    assert!(matches!(figure.panels[0].layers[0].shape, Shape::Bars { .. }));
}

fn of(plotted: &Plotted, what: Option<What>) -> Result<Figure, PlotError> {
    figure(plotted, &PlotRequest { what, window: Some(WindowChoice::Run), ..PlotRequest::default() }, &STYLES)
}

#[test]
fn the_kind_follows_from_the_results_and_a_scheme_has_the_style_of_its_place() {
    let series = of(&plotted(&["two"], 1), None).unwrap();
    assert!(matches!(series.panels[0].layers[0].shape, Shape::Line { .. }));
    assert_eq!(series.panels[0].marks.iter().filter(|mark| mark.text == "link down").count(), 1);
    let bars = of(&plotted(&["three", "two"], 3), None).unwrap();
    let Shape::Bars { seeds, .. } = &bars.panels[0].layers[0].shape else { panic!("no bars") };
    assert_eq!(seeds.len() % 3, 0);
    let styles: Vec<u32> = bars.panels[0].layers.iter().map(|layer| layer.style).collect();
    assert_eq!(styles, [2, 1]);
    let scatter = of(&plotted(&["three", "two"], 3), Some(What::Scatter)).unwrap();
    let points = scatter.panels[0].layers.iter().filter(|layer| matches!(layer.shape, Shape::Points { .. }));
    assert_eq!(points.map(|layer| layer.style).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn a_sweep_is_a_line_over_its_axis_with_the_interval() {
    let mut plotted = plotted(&["one"], 6);
    plotted.axes = vec!["link.R1-R2.rate".to_owned()];
    for (k, run) in plotted.runs.iter_mut().enumerate() {
        run.point = vec![["20 Mb/s", "10 Mb/s"][k % 2].to_owned()];
    }
    let figure = of(&plotted, None).unwrap();
    let [band, line] = &figure.panels[0].layers[..] else { panic!("no band and line") };
    assert!(matches!(band.shape, Shape::Band { .. }));
    let Shape::Line { x, .. } = &line.shape else { panic!("no line") };
    assert_eq!((x.as_slice(), figure.panels[0].x.unit.as_str()), (&[10e6, 20e6][..], "bit/s"));
    for what in [What::Bars, What::Scatter, What::Completion, What::Cdf, What::Ccdf] {
        let error = of(&plotted, Some(what)).unwrap_err();
        assert!(error.0.contains("`axis`"), "{error}");
    }
}

#[test]
fn every_kind_is_drawn_or_says_why_not() {
    let plotted = plotted(&["one", "two"], 3);
    for what in What::ALL {
        match of(&plotted, Some(what)) {
            Ok(figure) => {
                let svg = weir_figure::draw(&figure, weir_figure::Width::OneColumn).svg_without_font();
                assert!(svg.len() > 1000, "{}", what.name());
            }
            Err(error) => {
                assert!(error.0.starts_with(&format!("no figure `{}`: ", what.name())), "{error}");
                assert!(matches!(what, What::Axis | What::Completion | What::Worlds), "{error}");
            }
        }
    }
    let fairness = of(&plotted, Some(What::Fairness)).unwrap();
    assert_eq!(fairness.panels[0].y.label, "unweighted Jain's index");
    let ccdf = of(&plotted, Some(What::Ccdf)).unwrap();
    assert_eq!(ccdf.panels[0].y.scale, Scale::Log);
}

#[test]
fn a_complement_reaches_the_last_value_and_drops_there() {
    let ccdf = of(&plotted(&["one"], 1), Some(What::Ccdf)).unwrap();
    let Shape::Steps { x, y } = &ccdf.panels[0].layers[0].shape else { panic!("no steps") };
    assert_eq!((x.len(), y.first(), y.last()), (y.len(), Some(&1.0), Some(&0.0)));
    assert!(y.iter().rev().skip(1).all(|part| *part > 0.0), "{y:?}");
}

#[test]
fn worlds_are_a_line_and_points_of_runs_that_belong_together() {
    let mut plotted = plotted(&["one", "one"], 1);
    plotted.runs[1].document.lab = Some(weir_measure::LabRow { scale: 1.0, ..Default::default() });
    let worlds = of(&plotted, Some(What::Worlds)).unwrap();
    let layers = &worlds.panels[0].layers;
    assert!(matches!(layers[0].shape, Shape::Line { markers: Markers::None, .. }));
    assert!(matches!(layers[1].shape, Shape::Points { .. }));
    assert_eq!([worlds.legend[0].sign, worlds.legend[1].sign], [Sign::Line, Sign::Marker]);
    let refused = |change: fn(&mut RunDocument), why: &str| {
        let mut plotted = plotted.clone();
        change(&mut plotted.runs[1].document);
        let error = of(&plotted, Some(What::Worlds)).unwrap_err().0;
        assert!(error.ends_with(why), "{error}");
    };
    refused(|lab| lab.lab = None, "that of `weir compare --lab`");
    refused(|lab| lab.scheme = "two".to_owned(), "schemes are one in the simulator and two in the lab");
    refused(|lab| lab.set.push("a=1".to_owned()), "settings are none in the simulator and a=1 in the lab");
    refused(|lab| lab.simulated_s = 7.0, "s in the simulator and 7 s in the lab");
    refused(
        |lab| lab.lab.iter_mut().for_each(|lab| lab.scale = 0.1),
        "factors of rates are 1 in the simulator and 0.1 in the lab",
    );
    plotted.runs.push(run("two", 1));
    let error = of(&plotted, Some(What::Worlds)).unwrap_err().0;
    assert!(error.contains("several schemes"), "{error}");
}

#[test]
fn a_distribution_that_windows_do_not_have_is_of_the_whole_run() {
    let mut plotted = plotted(&["one"], 1);
    let document = &mut plotted.runs[0].document;
    let completion =
        weir_measure::DistributionRow { what: "completion".to_owned(), ..document.distributions[0].clone() };
    document.distributions.push(completion);
    let request = |metric: &str, window| PlotRequest {
        what: Some(What::Cdf),
        metrics: vec![metric.to_owned()],
        window,
        ..PlotRequest::default()
    };
    let whole = figure(&plotted, &request("completion", None), &STYLES).unwrap();
    assert!(whole.source.ends_with("seed 1, the whole run"), "{}", whole.source);
    let first = Some(WindowChoice::Number(1));
    let error = figure(&plotted, &request("completion", first), &STYLES).unwrap_err().0;
    assert!(error.ends_with("completion is of the whole run only: choose the window `run`"), "{error}");
    let error = figure(&plotted, &request("speed", None), &STYLES).unwrap_err().0;
    assert!(error.contains("completion, delay"), "{error}");
}

#[test]
fn figures_over_time_say_the_steps_and_the_seed_that_they_show() {
    let plotted = plotted(&["one", "two"], 3);
    let mut longer = plotted.clone();
    longer.runs.iter_mut().for_each(|run| run.series.samples = 301);
    for what in [What::Series, What::Fairness] {
        for (plotted, step) in [(&plotted, "0.1"), (&longer, "0.3")] {
            let source = of(plotted, Some(what)).unwrap().source;
            let end = format!(", only seed 1 of the seeds 1 to 3, steps of {step} s");
            assert!(source.ends_with(&end), "{source}");
        }
    }
}

#[test]
fn wrong_names_are_told_with_the_right_ones() {
    let plotted = plotted(&["one"], 1);
    let error = |request: PlotRequest| figure(&plotted, &request, &STYLES).unwrap_err().0;
    let metric = error(PlotRequest { metrics: vec!["speed".to_owned()], ..PlotRequest::default() });
    assert!(metric.contains("`speed`") && metric.contains("goodput, delay"), "{metric}");
    let metric = error(PlotRequest { metrics: vec!["godput".to_owned()], ..PlotRequest::default() });
    assert!(metric.ends_with("`godput` over time; did you mean `goodput`?"), "{metric}");
    let kind = "topolgy".parse::<What>().unwrap_err().0;
    assert!(kind.ends_with("`topolgy`; did you mean `topology`?"), "{kind}");
    let only = error(PlotRequest { only: vec!["nobody".to_owned()], ..PlotRequest::default() });
    assert!(only.contains("`nobody`") && only.contains("one"), "{only}");
    let window = error(PlotRequest {
        window: Some(WindowChoice::Number(9)),
        what: Some(What::Bars),
        ..PlotRequest::default()
    });
    assert!(window.contains("window 9"), "{window}");
    assert!("3:1".parse::<WindowChoice>().is_err() && "0".parse::<WindowChoice>().is_err());
    assert_eq!("500:600".parse(), Ok(WindowChoice::Between(500.0, 600.0)));
}

#[test]
fn the_axes_of_a_study_are_between_its_schemes_and_its_seeds() {
    let text = "key,study,scenario,scheme,variant,a.rate,a.rate.bps,b,seed,error\nk1,s,x,one,,5 Mb/s,5000000,7,1,\nk2,s,x,one,,5 Mb/s,5000000,7,2,failed\n";
    let (axes, runs) = runs_of_table(text).unwrap();
    assert_eq!(axes, ["a.rate", "b"]);
    assert_eq!(runs, [("k1".to_owned(), vec!["5 Mb/s".to_owned(), "7".to_owned()])]);
    assert!(runs_of_table("a,b\n").is_err());
}
