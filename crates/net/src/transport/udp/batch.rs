//! The frames that a face sends next, and the runs of them that one system call can send.
//!
//! The bytes of a large packet stay where they are: a batch has only the head of its frame, and holds the packet's memory until
//! the frame is sent.

use bytes::Bytes;

use crate::transport::spare;

/// Frames for which a batch keeps room, though it is empty: as many as the kernel takes at once.
const MOST_FRAMES: usize = 64;

/// The most bytes of one run: what a datagram may hold.
const LONGEST_RUN: usize = 65_000;

/// Frames of one face that are to be sent together.
#[derive(Debug)]
pub struct Batch {
    /// The frames' own bytes, one behind the other.
    bytes: Vec<u8>,
    frames: Vec<Frame>,
    /// How many bytes of packets it holds.
    shared: usize,
    path_mtu: usize,
    /// Whether the way takes frames that are sent together, as far as is known.
    takes_runs: bool,
}

/// A frame of a batch: so many bytes of its own, and behind them bytes of a packet.
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
    /// For a path that takes everything whole.
    fn default() -> Batch {
        Batch::new(usize::MAX)
    }
}

impl Batch {
    /// For a path with this MTU ([`path_mtu`](super::path_mtu)): IP splits longer frames, and no others.
    pub fn new(path_mtu: usize) -> Batch {
        Batch { bytes: Vec::new(), frames: Vec::new(), shared: 0, path_mtu, takes_runs: true }
    }

    /// The largest frame that IP does not split.
    pub fn path_mtu(&self) -> usize {
        self.path_mtu
    }

    /// The path has another MTU: it may be another path.
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

    /// Appends what `write` writes as one frame.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        self.push_shared(write, Bytes::new())
    }

    /// Appends what `write` writes, with bytes that others have too behind it, as one frame.
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

    /// Memory that its frames take, bytes; that of packets counts. Without frames it is 0: the room that is kept for the next
    /// ones does not count, so that a face has its one frame whatever others keep.
    pub fn memory(&self) -> usize {
        if self.frames.is_empty() {
            return 0;
        }
        self.bytes.capacity() + self.frames.capacity() * size_of::<Frame>() + self.shared
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there are none.
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

    /// Forgets the frames.
    pub fn clear(&mut self) {
        spare::give(std::mem::take(&mut self.bytes));
        self.frames.clear();
        self.frames.shrink_to(MOST_FRAMES);
        self.shared = 0;
    }
}

/// Some frames of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames<'a> {
    own: &'a [u8],
    frames: &'a [Frame],
}

impl<'a> Frames<'a> {
    /// Takes the first ones out.
    pub(super) fn take(&mut self, frames: usize) -> Frames<'a> {
        let (first, rest) = self.frames.split_at(frames);
        let (own, rest_own) = self.own.split_at(first.iter().map(|frame| frame.own).sum());
        *self = Frames { own: rest_own, frames: rest };
        Frames { own, frames: first }
    }

    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.frames.iter().map(Frame::len)
    }

    /// Whether bytes of one are those of a packet.
    pub(super) fn has_shared(&self) -> bool {
        self.frames.iter().any(|frame| !frame.shared.is_empty())
    }

    /// Their own bytes.
    pub(super) fn own(&self) -> &'a [u8] {
        self.own
    }

    /// All their bytes, in pieces.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.own;
        let parts = self.frames.iter().flat_map(move |frame| {
            let (own, after) = rest.split_at(frame.own);
            rest = after;
            [own, &frame.shared[..]]
        });
        parts.filter(|part| !part.is_empty())
    }

    /// Puts all their bytes one behind the other.
    pub(super) fn join(&self, out: &mut Vec<u8>) {
        out.clear();
        self.parts().for_each(|part| out.extend_from_slice(part));
    }
}

/// Frames that one system call can send: of the same length, but the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) frames: usize,
    pub(super) bytes: usize,
    pub(super) segment: usize,
}

impl Run {
    /// Of at most `most` frames. What is longer than `whole` goes alone: IP splits it.
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
