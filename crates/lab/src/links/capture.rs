//! Writes delivered frames of links to a file for Wireshark and similar tools.
//!
//! A separate thread writes the file, so the thread that carries frames never waits for a disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use weir_net::pcapng;

/// A capture: a file, and its directions, each with the name of its interface in the file.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The file, in the format pcapng.
    pub path: PathBuf,
    /// The index of each direction, and a name such as `a -> b`.
    pub directions: Vec<(usize, String)>,
}

/// Size at which a buffer is written, bytes.
const FULL: usize = 256 << 10;
/// Maximum size of a buffer while the writing thread is behind, bytes.
const MOST: usize = 16 << 20;
const BUFFERS: usize = 2;

/// An open capture.
pub(super) struct Tap {
    buffer: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
    /// Number of frames for which there was no room.
    lost: u64,
}

impl Tap {
    pub(super) fn create(capture: &Capture) -> io::Result<Tap> {
        let mut file = File::create(&capture.path)?;
        let (full, to_write) = sync_channel::<Vec<u8>>(BUFFERS);
        let (written, empty) = sync_channel(BUFFERS);
        let thread = thread::Builder::new().name("capture".to_owned()).spawn(move || {
            for mut buffer in to_write {
                file.write_all(&buffer)?;
                buffer.clear();
                // At the end the receiver is gone, and the buffer is not needed.
                let _ = written.send(buffer);
            }
            Ok(())
        })?;
        let mut buffer = Vec::with_capacity(2 * FULL);
        pcapng::section(&mut buffer, "weir lab");
        capture.directions.iter().for_each(|(_, name)| pcapng::interface(&mut buffer, name));
        let spare = Vec::with_capacity(2 * FULL);
        let mut tap = Tap { buffer, full, empty, thread, lost: 0 };
        // The buffer already contains the head of the file.
        tap.hand_over(spare);
        Ok(tap)
    }

    fn hand_over(&mut self, next: Vec<u8>) {
        let full = std::mem::replace(&mut self.buffer, next);
        // There is room for all buffers. A failed thread is reported at the end.
        let _ = self.full.try_send(full);
    }

    /// Records a delivered frame of an interface.
    pub(super) fn frame(&mut self, interface: u32, unix_ns: u64, frame: &[u8]) {
        if self.buffer.len() >= FULL {
            if let Ok(next) = self.empty.try_recv() {
                self.hand_over(next);
            } else if self.buffer.len() >= MOST {
                self.lost += 1;
                return;
            }
        }
        pcapng::ethernet(&mut self.buffer, interface, unix_ns, 2, frame);
    }

    /// Writes the rest. Returns the number of missing frames.
    pub(super) fn close(self) -> io::Result<u64> {
        let Tap { buffer, full, empty, thread, lost } = self;
        let _ = full.send(buffer);
        drop((full, empty));
        thread.join().map_err(|_| io::Error::other("the thread that writes a capture has panicked"))??;
        Ok(lost)
    }
}
