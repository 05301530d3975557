//! The next frames that a face sends, and the runs of them that one system call can send.
//!
//! The bytes of a large packet are not copied: a batch has only the head of its frame, and keeps the packet's memory
//! alive until the frame is sent.

use bytes::Bytes;

use crate::transport::spare;

/// Number of frames for which an empty batch keeps memory: as many as the kernel accepts at once.
const MOST_FRAMES: usize = 64;

/// Maximum length of a run, bytes: what fits into a datagram.
const LONGEST_RUN: usize = 65_000;

/// Frames of one face to send together.
#[derive(Debug)]
pub struct Batch {
    /// The frames' own bytes, concatenated.
    bytes: Vec<u8>,
    frames: Vec<Frame>,
    /// Number of bytes of shared packets.
    shared: usize,
    path_mtu: usize,
    /// Whether the path accepts frames that are sent together, as far as is known.
    takes_runs: bool,
}

/// A frame of a batch: own bytes, followed by the bytes of a packet.
#[derive(Debug)]
struct Frame {
    own: usize,
    shared: Bytes,
}

impl Frame {
    fn len(&self) -> usize {
        self.own + self.shared.len()
    }
}

impl Default for Batch {
    /// A batch for a path that carries every frame unfragmented.
    fn default() -> Batch {
        Batch::new(usize::MAX)
    }
}

impl Batch {
    /// Creates a batch for a path with this MTU in bytes ([`path_mtu`](super::path_mtu)). IP fragments longer frames,
    /// and no others.
    pub fn new(path_mtu: usize) -> Batch {
        Batch { bytes: Vec::new(), frames: Vec::new(), shared: 0, path_mtu, takes_runs: true }
    }

    /// Maximum length of a frame that IP does not fragment, bytes.
    pub fn path_mtu(&self) -> usize {
        self.path_mtu
    }

    /// Sets the MTU of the path, which may be another path now.
    pub fn set_path_mtu(&mut self, mtu: usize) {
        self.takes_runs |= mtu != self.path_mtu;
        self.path_mtu = mtu;
    }

    pub(super) fn takes_runs(&self) -> bool {
        self.takes_runs
    }

    pub(super) fn set_takes_runs(&mut self, takes_runs: bool) {
        self.takes_runs = takes_runs;
    }

    /// Appends one frame, which `write` writes. Returns its length, bytes.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        self.push_shared(write, Bytes::new())
    }

    /// Appends one frame: first the bytes that `write` writes, then the shared bytes. Returns its length, bytes.
    pub fn push_shared(&mut self, write: impl FnOnce(&mut Vec<u8>), shared: Bytes) -> usize {
        if self.bytes.capacity() == 0 {
            self.bytes = spare::take();
        }
        let start = self.bytes.len();
        write(&mut self.bytes);
        let frame = Frame { own: self.bytes.len() - start, shared };
        let len = frame.len();
        if len > 0 {
            self.shared += frame.shared.len();
            self.frames.push(frame);
        }
        len
    }

    /// Memory of the frames, bytes, including that of packets. Without frames it is 0: the memory kept for the next
    /// frames does not count, so a face can always send one frame, whatever other faces keep.
    pub fn memory(&self) -> usize {
        if self.frames.is_empty() {
            return 0;
        }
        self.bytes.capacity() + self.frames.capacity() * size_of::<Frame>() + self.shared
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Copies of the frames, in order.
    pub fn frames(&self) -> impl Iterator<Item = Vec<u8>> {
        let mut rest = self.all();
        self.frames.iter().map(move |_| {
            let mut frame = Vec::new();
            rest.take(1).join(&mut frame);
            frame
        })
    }

    pub(super) fn all(&self) -> Frames<'_> {
        Frames { own: &self.bytes, frames: &self.frames }
    }

    /// Removes all frames.
    pub fn clear(&mut self) {
        spare::give(std::mem::take(&mut self.bytes));
        self.frames.clear();
        self.frames.shrink_to(MOST_FRAMES);
        self.shared = 0;
    }
}

/// A sequence of frames of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames<'a> {
    own: &'a [u8],
    frames: &'a [Frame],
}

impl<'a> Frames<'a> {
    /// Removes and returns the first `frames` frames.
    pub(super) fn take(&mut self, frames: usize) -> Frames<'a> {
        let (first, rest) = self.frames.split_at(frames);
        let (own, rest_own) = self.own.split_at(first.iter().map(|frame| frame.own).sum());
        *self = Frames { own: rest_own, frames: rest };
        Frames { own, frames: first }
    }

    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.frames.iter().map(Frame::len)
    }

    /// Returns whether a frame has bytes of a packet.
    pub(super) fn has_shared(&self) -> bool {
        self.frames.iter().any(|frame| !frame.shared.is_empty())
    }

    /// The frames' own bytes.
    pub(super) fn own(&self) -> &'a [u8] {
        self.own
    }

    /// All bytes of the frames, in pieces.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.own;
        let parts = self.frames.iter().flat_map(move |frame| {
            let (own, after) = rest.split_at(frame.own);
            rest = after;
            [own, &frame.shared[..]]
        });
        parts.filter(|part| !part.is_empty())
    }

    /// Appends all bytes of the frames to `out`.
    pub(super) fn join(&self, out: &mut Vec<u8>) {
        out.clear();
        self.parts().for_each(|part| out.extend_from_slice(part));
    }
}

/// Frames that one system call can send: all of the same length, except that the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) frames: usize,
    pub(super) bytes: usize,
    pub(super) segment: usize,
}

impl Run {
    /// Returns the run at the front, of at most `most` frames. A frame longer than `whole` bytes is a run of its own,
    /// because IP fragments it.
    pub(super) fn at_the_front(
        mut lengths: impl Iterator<Item = usize>,
        most: usize,
        whole: usize,
    ) -> Option<Run> {
        let segment = lengths.next()?;
        let mut run = Run { frames: 1, bytes: segment, segment };
        if segment > whole {
            return Some(run);
        }
        for len in lengths {
            if len > segment || run.frames == most || run.bytes + len > LONGEST_RUN {
                break;
            }
            run = Run { frames: run.frames + 1, bytes: run.bytes + len, segment };
            if len < segment {
                break;
            }
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(mut lengths: &[usize], most: usize) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        while let Some(run) = Run::at_the_front(lengths.iter().copied(), most, 1472) {
            runs.push((run.segment, run.frames));
            lengths = &lengths[run.frames..];
        }
        runs
    }

    #[test]
    fn a_run_is_of_one_length_but_for_a_shorter_last_frame() {
        assert_eq!(runs(&[100, 100, 100, 40, 100, 120], 64), [(100, 4), (100, 1), (120, 1)]);
        assert_eq!(runs(&[100; 5], 2), [(100, 2), (100, 2), (100, 1)]);
        assert_eq!(runs(&[8000, 8000], 64), [(8000, 1), (8000, 1)]);
        assert_eq!(runs(&[1400; 50], 64), [(1400, 46), (1400, 4)]);
    }

    proptest! {
        #[test]
        fn every_frame_is_in_one_run(lengths in prop::collection::vec(1usize..3000, 0..200), most in 1usize..70) {
            let found = runs(&lengths, most);
            prop_assert_eq!(found.iter().map(|(_, frames)| frames).sum::<usize>(), lengths.len());
            prop_assert!(found.iter().all(|(_, frames)| *frames <= most));
        }
    }

    #[test]
    fn frames_are_their_own_bytes_and_those_of_packets_behind_them() {
        let mut batch = Batch::default();
        let packet = Bytes::from_static(b"packet");
        assert_eq!(batch.push(|out| out.extend_from_slice(b"small")), 5);
        assert_eq!(batch.push_shared(|out| out.extend_from_slice(b"head "), packet.slice(1..)), 10);
        assert_eq!(batch.push_shared(|_| (), packet), 6);
        assert_eq!(batch.push(|_| ()), 0, "no frame");
        let frames: Vec<Vec<u8>> = batch.frames().collect();
        assert_eq!(frames, [&b"small"[..], b"head acket", b"packet"]);
        assert!(batch.memory() >= 5 + 10 + 6);
        batch.clear();
        assert_eq!((batch.is_empty(), batch.shared), (true, 0));
    }
}
