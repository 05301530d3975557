//! Writes the tables of a study that never was, `sample_study DIR`, for tests that read them with other software. The
//! folder `documents` has the document of each run, under its key, with what the tables are made of.

#[path = "sample_report/dumbbell.rs"]
#[allow(dead_code, reason = "another example uses all of it")]
mod dumbbell;

use std::path::Path;
use weir_measure::RunDocument;
use weir_results::{Axis, StudyRun, StudyTables, WriteError, write_json};

const RATES: [&str; 3] = ["5 Mb/s", "10 Mb/s", "20 Mb/s"];
const ACTIVE: [&str; 2] = ["true", "false"];
const SCHEMES: [&str; 3] = ["one", "two", "three"];
const SEEDS: u64 = 4;
const FLOWS: usize = 12;
const STEPS: usize = 250;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: sample_study DIR")?;
    let documents = Path::new(&dir).join("documents");
    std::fs::create_dir_all(&documents)?;
    let axes = vec![Axis::new("link.R2-R3.rate", &RATES), Axis::new("axis.active", &ACTIVE)];
    let tables = StudyTables::new("a study, of \"samples\"", axes)?;
    let runs = runs().map(|run| {
        if let Ok(document) = &run.outcome {
            write_json(document, documents.join(format!("{}.json", run.key)))?;
        }
        Ok::<_, WriteError>(run)
    });
    tables.write(&dir, runs)?;
    Ok(())
}

fn runs() -> impl Iterator<Item = StudyRun<RunDocument>> {
    let points = RATES.iter().flat_map(|rate| ACTIVE.map(|active| (*rate, active)));
    let all = points.flat_map(|point| SCHEMES.iter().map(move |scheme| (point, *scheme)));
    let all = all.filter(|((_, active), scheme)| has_axis(scheme) || *active == ACTIVE[0]);
    all.flat_map(|(point, scheme)| (1..=SEEDS).map(move |seed| run(point, scheme, seed))).enumerate().map(
        |(i, run)| StudyRun {
            // Looks like a digest.
            key: format!("{:016x}", (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            commit: Some(["06295cb", "d0bb168"][i % 2].to_owned()),
            ..run
        },
    )
}

fn run((rate, active): (&str, &str), scheme: &str, seed: u64) -> StudyRun<RunDocument> {
    let document = document(rate, scheme, seed);
    let fails = (rate, active, scheme, seed) == (RATES[2], ACTIVE[1], SCHEMES[1], SEEDS);
    StudyRun {
        key: String::new(),
        scenario: document.scenario.clone(),
        scheme: scheme.to_owned(),
        variant: None,
        point: vec![Some(rate.to_owned()), has_axis(scheme).then(|| active.to_owned())],
        seed,
        command: document.command.clone(),
        commit: None,
        cpu_s: Some(seed as f64 / 4.0),
        outcome: if fails { Err("a \"node\", R1,\nhas no route".to_owned()) } else { Ok(document) },
    }
}

/// Whether a scheme has the axis `active`.
fn has_axis(scheme: &str) -> bool {
    scheme != SCHEMES[2]
}

/// The sample with goodputs that depend on the point, the scheme and the seed.
fn document(rate: &str, scheme: &str, seed: u64) -> RunDocument {
    let mut document = dumbbell::dumbbell(FLOWS, STEPS).document;
    let megabits = rate.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(1.0);
    let factor = megabits / 10.0 * (scheme.len() as f64) + seed as f64 / 100.0;
    for window in &mut document.windows {
        for class in &mut window.classes {
            class.figures.goodput_bps *= factor;
        }
        for flow in &mut window.flows {
            flow.goodput_bps *= factor;
        }
    }
    document.scheme = scheme.to_owned();
    document.seed = seed;
    document.seed_matters = scheme != SCHEMES[0];
    document.version = "0.1.0 (06295cb)".to_owned();
    document.command = format!("weir run qsccp/dumbbell --scheme {scheme} --set 'link.R2-R3.rate={rate}'");
    // Nothing came back to the first flow.
    document.flows[0].delay_ms = Default::default();
    document
}
