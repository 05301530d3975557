//! The reference and the schema in `docs/reference` are those of the code. To write them anew:
//! `WEIR_WRITE_REFERENCE=1 cargo test -p weir-scenario --test suite documents`.

use std::fs;
use std::path::PathBuf;

use weir_scenario::{builtins, reference};

const BEGIN: &str = "<!-- generated from the code: begin -->\n";
const END: &str = "<!-- generated from the code: end -->\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compare(file: &str, make: impl Fn(&str) -> String) {
    let path = root().join("docs/reference").join(file);
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let wanted = make(&committed);
    if std::env::var_os("WEIR_WRITE_REFERENCE").is_some() {
        fs::write(&path, wanted).expect("the file is written");
        return;
    }
    assert!(committed == wanted, "{file} is not that of the code; see the head of this test");
}

#[test]
fn the_reference_has_the_keys_of_the_code() {
    compare("scenario.md", |committed| {
        let (before, rest) = committed.split_once(BEGIN).expect("the generated part has its beginning");
        let (_, after) = rest.split_once(END).expect("the generated part has its end");
        format!("{before}{BEGIN}\n{}\n{END}{after}", reference::markdown())
    });
}

#[test]
fn the_schema_is_that_of_the_code() {
    compare("scenario.schema.json", |_| reference::schema());
}

#[test]
fn every_scenario_file_is_built_in() {
    let mut files = Vec::new();
    for folder in fs::read_dir(root().join("scenarios")).unwrap() {
        let folder = folder.unwrap();
        if !folder.file_type().unwrap().is_dir() {
            continue;
        }
        for file in fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|e| e == "toml") {
                let name = file.file_stem().unwrap().to_string_lossy().into_owned();
                files.push(format!("{}/{name}", folder.file_name().to_string_lossy()));
            }
        }
    }
    let mut names: Vec<String> = builtins().into_iter().map(|b| b.0.to_owned()).collect();
    names.sort_unstable();
    files.sort_unstable();
    assert_eq!(files, names);
}
