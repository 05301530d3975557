//! Writes the files of a synthetic run, for working on the report without a simulator:
//! `sample_report DIR [FLOWS [SAMPLES [TITLE [NODES]]]]`, by default 40 flows and 1200 samples over a
//! dumbbell; with NODES over a random network of so many. Beside it `compare.html`,
//! `reproduce.html` and `sweep.html`, over variations of the run, in `matrix` these as several scenarios, and in `air` a run with a shared
//! medium, and in `figures` drawn figures. `live.html` is the page of the run as if it were still on.

mod crowd;
mod dumbbell;
mod figures;
mod summary;
mod sweep;

use weir_results as results;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("usage: sample_report DIR [FLOWS [SAMPLES [TITLE [NODES]]]]")?;
    let flows = arguments.next().map_or(Ok(40), |text| text.parse())?;
    let samples = arguments.next().map_or(Ok(1200), |text| text.parse())?;
    let title = arguments.next();
    let mut report = match arguments.next() {
        Some(nodes) => crowd::crowd(nodes.parse()?, flows, samples),
        None => dumbbell::dumbbell(flows, samples),
    };
    if let Some(title) = title {
        report.title = title;
    }
    results::write_all(&report, &dir)?;
    let progress = results::RunProgress {
        now_s: report.document.simulated_s,
        until_s: report.document.simulated_s,
        is_over: false,
        report: None,
    };
    std::fs::write(std::path::Path::new(&dir).join("live.html"), results::live_html(&report, &progress))?;
    let air = std::path::Path::new(&dir).join("air");
    results::write_all(&dumbbell::on_air(dumbbell::dumbbell(4, 50)), air)?;
    let mut compared = results::ComparisonDocument::of(&report.title, &summary::runs(&report));
    for scheme in &mut compared.schemes {
        scheme.report = Some("report.html".to_owned());
    }
    let reports: Vec<_> = compared
        .schemes
        .iter()
        .map(|scheme| {
            let mut report = report.clone();
            report.document.scheme.clone_from(&scheme.scheme);
            report
        })
        .collect();
    results::write_comparison(&compared, &reports, &dir)?;
    results::write_reproduction(&summary::reproduction(&report), &dir)?;
    results::write_sweep(&sweep::sweep(&report), &dir)?;
    results::write_comparisons(&summary::comparison(&report), std::path::Path::new(&dir).join("matrix"))?;
    figures::write(&std::path::Path::new(&dir).join("figures"))?;
    print!("{}", results::summary(&report.document, results::terminal_width()));
    Ok(())
}
