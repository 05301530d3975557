//! Figures as the crate weir-figure draws them here, to compare with what it draws in a page.

use serde_json::{Value, json};
use std::{fs, io, path::Path};
use weir_figure::{Figure, Width, draw};

/// Writes for each figure its description, and its files of one column.
pub fn write(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, json) in
        [("series", series()), ("bars", bars()), ("scatter", scatter()), ("network", network())]
    {
        let figure: Figure = serde_json::from_value(json.clone())?;
        let drawing = draw(&figure, Width::OneColumn);
        fs::write(dir.join(name).with_extension("json"), json.to_string())?;
        fs::write(dir.join(name).with_extension("svg"), drawing.svg())?;
        fs::write(dir.join(name).with_extension("pdf"), drawing.pdf())?;
        fs::write(dir.join(name).with_extension("csv"), figure.csv())?;
    }
    Ok(())
}

fn series() -> Value {
    let x: Vec<f64> = (0..60).map(f64::from).collect();
    let y: Vec<Option<f64>> =
        (0..60).map(|k| (k != 7).then(|| 1e6 * (1.0 + f64::from(k % 7) / 3.0))).collect();
    let counts: Vec<f64> = (0..60).map(|k| f64::from(k * k % 11)).collect();
    json!({
        "source": "a sample, seed 1", "across": 2,
        "panels": [
            { "x": { "label": "time", "unit": "s", "range": [10.0, 50.0] }, "y": { "label": "goodput", "unit": "bit/s", "range": [0.0, null] },
              "layers": [{ "name": "EF", "style": 0, "shape": { "kind": "line", "x": x, "y": y } }],
              "marks": [{ "from": 20.0, "to": 30.0, "text": "window" }, { "from": 40.0, "text": "R1–R2 fails" }] },
            { "x": { "label": "time", "unit": "s" }, "y": { "label": "lost", "unit": "packets", "scale": "log" },
              "layers": [{ "name": "EF", "style": 9, "shape": { "kind": "steps", "x": x, "y": counts } }] },
        ],
        "legend": [{ "name": "EF", "style": 0, "sign": "line" }],
    })
}

fn bars() -> Value {
    let bar = |k: u32| {
        let mean = 9.5e6 / f64::from(k + 1);
        let seeds: Vec<Value> = (0..3)
            .map(|seed| json!({ "x": k, "y": mean * (1.0 + 0.02 * f64::from(seed)), "seed": seed }))
            .collect();
        json!({ "name": format!("scheme {k}"), "style": k, "shape": { "kind": "bars", "x": [k], "y": [mean],
                "low": [mean * 0.95], "high": [mean * 1.05], "slot": 0, "slots": 1, "seeds": seeds } })
    };
    json!({ "panels": [{
        "x": { "scale": "categories", "categories": ["one", "two", "three"] }, "y": { "label": "goodput", "unit": "bit/s" },
        "layers": (0..3).map(bar).collect::<Vec<_>>(),
    }] })
}

fn scatter() -> Value {
    let point = |k: u32| {
        let (x, y) = (20.0 + 31.7 * f64::from(k), 9.3e6 - 1.1e6 * f64::from(k));
        [
            json!({ "name": format!("s{k}"), "style": k, "shape": { "kind": "ellipse", "x": x, "y": y, "covariance": [9.0, 4e10, 3e5] } }),
            json!({ "name": format!("s{k}"), "style": k, "shape": { "kind": "points", "x": [x], "y": [y], "named": true } }),
        ]
    };
    json!({ "panels": [{
        "x": { "label": "delay", "unit": "ms" }, "y": { "label": "goodput", "unit": "bit/s" },
        "layers": (0..4).flat_map(point).collect::<Vec<_>>(),
    }] })
}

fn network() -> Value {
    let node = |name: &str, x: f64, role: &str| json!({ "name": name, "x": x, "y": 0.5, "role": role });
    json!({ "panels": [{
        "x": {}, "y": {},
        "layers": [{ "name": "utilisation", "shape": { "kind": "network",
            "nodes": [node("C", 0.0, "consumer"), node("R", 0.5, "router"), node("P", 1.0, "producer")],
            "links": [{ "from": 0, "to": 1, "value": 0.2 }, { "from": 1, "to": 0, "value": null }, { "from": 1, "to": 2, "value": 0.97 }] } }],
        "colours": { "label": "utilisation", "unit": "%", "range": [0.0, 1.0] },
    }] })
}
