//! No file causes a panic, and an imported file gives a valid scenario.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use weir_import::{File, Format, Options, import};

use crate::{imported, read};

#[path = "../../../../fuzz/src/import.rs"]
mod harness;

#[test]
fn the_corpus_of_topologies_is_imported_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import_topology");
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let refused: Vec<_> = files.filter(|file| !harness::topology(&fs::read(file).unwrap())).collect();
    assert_eq!(refused, [folder.join("broken")]);
}

fn words() -> impl Strategy<Value = String> {
    let words = "graph [ ] node edge id source target label directed 0 1 2 -1 1e308 NaN \"a\" \"b \"\" # | , ; : = { } < > @A -> \
                 <1> router link [nodes] [links] a b a:b bw=1 delay=1ms 10Mbps 1Gbps <graphml> </graphml> <graph> <node id='a'/> \
                 <node id='b'/> <edge source='a' target='b'/> Latitude Longitude LinkSpeedRaw \u{feff} é \u{1}";
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let separators = prop::sample::select(vec![" ", "\n", "\t", ""]);
    prop::collection::vec((prop::sample::select(words), separators), 0..60)
        .prop_map(|words| words.into_iter().map(|(word, separator)| word + separator).collect())
}

proptest! {
    #[test]
    fn any_words_are_a_scenario_or_an_error(text in words(), format in prop::sample::select(Format::ALL.to_vec())) {
        for format in [Some(format.0), None] {
            let options = Options { format, ..Options::new("fixed") };
            match imported("x", &text, &options) {
                Ok(imported) => drop(read(&imported)),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn any_bytes_are_a_scenario_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for (format, _) in Format::ALL {
            let options = Options { format: Some(format), ..Options::new("fixed") };
            if let Ok(imported) = import(&[File { name: "x", bytes: &bytes }], &options) {
                read(&imported);
            }
        }
    }
}

#[test]
fn what_is_deep_or_large_is_refused() {
    let deep = "<graphml>".repeat(100_000);
    assert!(imported("x.graphml", &deep, &Options::new("fixed")).is_err());
    let deep = "graph [ ".repeat(100_000);
    assert!(imported("x.gml", &deep, &Options::new("fixed")).unwrap_err().to_string().contains("too deep"));
    let bomb = "<!DOCTYPE g [<!ENTITY a \"aaaa\">]><graphml>&a;</graphml>";
    assert!(imported("x.graphml", bomb, &Options::new("fixed")).is_err());
    let many: String = (0..20_001).map(|n| format!("{n} x\n")).collect();
    let said = imported("x.txt", &many, &Options::new("fixed")).unwrap_err();
    assert_eq!(
        (said.line(), said.to_string()),
        (Some(20_000), "x.txt:20000: there are more than 20000 nodes".into())
    );
}
