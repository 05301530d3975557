//! Writes the files of a synthetic run, for working on the report without a simulator:
//! `sample_report DIR [FLOWS [SAMPLES [TITLE]]]`, by default 40 flows and 1200 samples.

mod dumbbell;

use weir_results as results;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("usage: sample_report DIR [FLOWS [SAMPLES [TITLE]]]")?;
    let flows = arguments.next().map_or(Ok(40), |text| text.parse())?;
    let samples = arguments.next().map_or(Ok(1200), |text| text.parse())?;
    let mut report = dumbbell::dumbbell(flows, samples);
    if let Some(title) = arguments.next() {
        report.title = title;
    }
    results::write_all(&report, &dir)?;
    print!("{}", results::summary(&report.document, results::terminal_width()));
    Ok(())
}
