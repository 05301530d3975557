//! Harness for the note beside a partial file, which records what of the part is certain.

use std::fs;
use std::path::{Path, PathBuf};

use weir_app::get::PartialFile;
use weir_packet::{Name, SignatureType};

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads bytes as the note and, after a line `---`, the part. The part is resumed or discarded with a reason. Segments
/// written then are there when it is opened again. Returns whether it was resumed.
pub fn note(bytes: &[u8]) -> bool {
    let split = bytes.windows(5).position(|window| window == b"\n---\n");
    let (note, part) = split.map_or((bytes, &b"content"[..]), |at| (&bytes[..at], &bytes[at + 5..]));
    let folder = Folder(std::env::temp_dir().join(format!("weir-resume-{}", std::process::id())));
    fs::create_dir_all(&folder.0).expect("the folder is made");
    let path = folder.0.join("file");
    fs::write(folder.0.join("file.part"), part).expect("the part is written");
    fs::write(folder.0.join("file.part.json"), note).expect("the note is written");

    let asked: Name = "/a".parse().expect("a name");
    let Ok((mut file, discarded)) = PartialFile::open(&path, &asked, "") else {
        // The note is not text.
        return false;
    };
    let before = file.object();
    assert!(discarded.is_none() || before.is_none(), "nothing is left of what is discarded");
    let object =
        before.as_ref().map_or_else(|| "/a/v=1".parse().expect("a name"), |(object, _)| object.clone());
    file.begin(&object);
    for content in [&b"one"[..], b"two"] {
        file.write(content, SignatureType::DigestSha256).expect("it is written");
    }
    file.save().expect("it is noted");
    let segments = file.object().map(|(_, newest)| newest);
    assert_eq!(segments, Some(before.as_ref().map_or(1, |(_, newest)| newest + 2)));
    drop(file);
    assert_eq!(opened(&path, &asked).object().map(|(_, newest)| newest), segments);
    before.is_some()
}

fn opened(path: &Path, asked: &Name) -> PartialFile {
    let (file, discarded) = PartialFile::open(path, asked, "").expect("it is opened again");
    assert_eq!(discarded, None, "what was noted is certain");
    file
}
