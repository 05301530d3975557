//! Notes of partial files, valid and damaged. The harness is that of the fuzz target `get_note`, whose corpus is
//! replayed here.
#[path = "../../../../fuzz/src/resume.rs"]
mod harness;

use std::fs;
use std::path::Path;

#[test]
fn a_part_is_gone_on_with_if_its_note_is_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/get_note");
    let mut gone_on_with = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if harness::note(&fs::read(&path).unwrap()) {
            gone_on_with.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    gone_on_with.sort_unstable();
    assert_eq!(gone_on_with, ["all-segments", "longer", "old", "other-form-of-the-name", "whole"]);
}
