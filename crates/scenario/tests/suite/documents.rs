//! The scenarios in the repository are the built-in ones.

use std::fs;
use std::path::PathBuf;

use weir_scenario::builtins;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
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
