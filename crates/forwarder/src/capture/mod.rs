//! Frames written to a file in the pcapng format (IETF draft-ietf-opsawg-pcapng), for Wireshark and similar tools.
//!
//! Each face is an interface of the file with the link type Ethernet. Each frame is inside an Ethernet frame with NDN's EtherType
//! 0x8624, whatever its real transport was: every tool opens this form, and NDN's dissector for Wireshark accepts it without
//! settings. The addresses are invented and locally administered: `02:00:00:00:00:00` is the forwarder, and `02:01` with the
//! number of the face is its peer.
//!
//! ```text
//!   file:   Section Header, Interface Description, Packet, Packet, Interface Description, Packet, ...
//!   packet: interface, time in ns since 1970, Ethernet header, frame, direction
//! ```

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use crate::output::Output;
use weir_management::status::FaceNumber;
use weir_net::pcapng;

/// The direction of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    Received = 1,
    /// Sent.
    Sent = 2,
}

/// Counters of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounters {
    /// Frames written.
    pub frames: u64,
    /// Frames that were not written: the file failed, or the capture does not know their face.
    pub lost: u64,
    /// Files begun.
    pub files: u64,
    /// Errors of the operating system.
    pub errors: u64,
}

/// A capture to a file.
///
/// When a file reaches its limit, it becomes `PATH.1`, replacing the previous one, and a new file begins
/// with all faces. If a file cannot be written, it ends after its last whole block, and later frames are
/// counted as lost.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    limit: u64,
    software: String,
    output: Output,
    /// Faces by ascending number.
    faces: Vec<Face>,
    interfaces: u32,
    counters: CaptureCounters,
}

#[derive(Debug)]
struct Face {
    number: FaceNumber,
    name: String,
    interface: u32,
}

/// The Ethernet address that stands for the forwarder.
const FORWARDER: [u8; 6] = [2, 0, 0, 0, 0, 0];

impl Capture {
    /// Begins a capture. `software` is the name of the writing program in the file. An existing file becomes `PATH.1`.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub fn create(path: &Path, limit: u64, software: &str) -> io::Result<Capture> {
        let mut capture = Capture {
            path: path.to_owned(),
            limit,
            software: software.to_owned(),
            output: Output::create(path)?,
            faces: Vec::new(),
            interfaces: 0,
            counters: CaptureCounters::default(),
        };
        capture.begin();
        Ok(capture)
    }

    /// Adds a face. Its frames can follow.
    pub fn add_face(&mut self, number: FaceNumber, remote: &str) {
        let name = format!("{number} {remote}");
        let at = self.faces.partition_point(|face| face.number < number);
        if self.faces.get(at).is_some_and(|face| face.number == number) {
            return;
        }
        self.faces.insert(at, Face { number, name, interface: 0 });
        self.describe(at);
    }

    /// Removes a face.
    pub fn remove_face(&mut self, number: FaceNumber) {
        self.faces.retain(|face| face.number != number);
    }

    /// Records a frame of a face; the time is in ns since 1970.
    pub fn frame(&mut self, unix_ns: u64, face: FaceNumber, direction: Direction, frame: &[u8]) {
        let Ok(at) = self.faces.binary_search_by_key(&face, |face| face.number) else {
            self.counters.lost += 1;
            return;
        };
        if self.output.len() >= self.limit {
            self.rotate();
        }
        let interface = self.faces[at].interface;
        let taken = self.output.append(|out| {
            let [.., a, b, c, d] = face.to_be_bytes();
            let peer = [2, 1, a, b, c, d];
            let (to, from) = match direction {
                Direction::Received => (FORWARDER, peer),
                Direction::Sent => (peer, FORWARDER),
            };
            pcapng::frame(out, interface, unix_ns, [to, from], direction as u32, frame);
        });
        *(if taken { &mut self.counters.frames } else { &mut self.counters.lost }) += 1;
    }

    /// Writes the buffered frames. Call it from time to time, and at the end.
    pub fn flush(&mut self) {
        self.output.flush();
    }

    /// Its counters.
    pub fn counters(&self) -> CaptureCounters {
        CaptureCounters { errors: self.counters.errors + self.output.errors(), ..self.counters }
    }

    fn begin(&mut self) {
        self.counters.files += 1;
        self.interfaces = 0;
        let software = &self.software;
        self.output.append(|out| pcapng::section(out, software));
        (0..self.faces.len()).for_each(|at| self.describe(at));
    }

    fn describe(&mut self, at: usize) {
        let face = &mut self.faces[at];
        face.interface = self.interfaces;
        self.interfaces += 1;
        let name = &face.name;
        self.output.append(|out| pcapng::interface(out, name));
    }

    fn rotate(&mut self) {
        self.output.flush();
        // A failed file stays as it is, because a new one would fail too.
        if !self.output.is_open() {
            return;
        }
        // The file is this forwarder's own. It is closed so that it can be renamed.
        self.output.close();
        match Output::create(&self.path) {
            Ok(output) => {
                self.counters.errors += self.output.errors();
                self.output = output;
                self.begin();
            }
            Err(error) => self.output.fail(&error),
        }
    }
}
