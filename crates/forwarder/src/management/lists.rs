//! Long lists are made in parts, and packets are forwarded between the parts: a list of a million routes takes a fifth of a
//! second.
//!
//! ```text
//!   asked for, and short -> answered
//!   asked for, and long  -> its first part -> packets -> the next part ... -> answered
//! ```
//!
//! An entry that exists all the time is in the list exactly once. An entry that is added or removed meanwhile may be in it or
//! not.

use weir_core::units::{Span, Time};
use weir_packet::Name;

use super::rib::Rib;
use super::segments::{List, Pieces};
use crate::control::{Control, Owner};

/// Size of a part, bytes. A part may exceed it by one entry.
const PART_BYTES: usize = 1 << 16;
/// Largest number of entries examined for a part: about a millisecond of work.
const PART_ENTRIES: usize = 2048;
/// Pause between two parts, for packets.
const PAUSE: Span = Span::from_millis(1);
/// Largest number of names that wait for the same list. Interests with the same name count once.
const MOST_WAITING: usize = 64;

/// The last examined entry.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    /// By prefix: the value of the Name element.
    Prefix(Vec<u8>),
    /// By number.
    Number(u32),
}

/// Appends the part of a list after a mark. Returns the mark of its end, if there may be more.
pub(super) type Part = fn(&Rib, &dyn Control, Time, Option<&Mark>, &mut Vec<u8>) -> Option<Mark>;

/// Appends entries until a part is full. Returns the last one, if there may be more.
pub(super) fn fill<T: Copy>(
    entries: impl Iterator<Item = T>,
    out: &mut Vec<u8>,
    encode: impl Fn(T, &mut Vec<u8>),
) -> Option<T> {
    let mut looked_at = 0;
    for entry in entries {
        encode(entry, out);
        looked_at += 1;
        if looked_at == PART_ENTRIES || out.len() >= PART_BYTES {
            return Some(entry);
        }
    }
    None
}

/// An Interest that waits for a list.
#[derive(Debug)]
pub(super) struct Asked {
    /// The name of the Interest.
    pub(super) name: Name,
    /// Its arrival, ms since 1970.
    pub(super) wall_ms: u64,
    pub(super) owner: Owner,
}

/// A list that is being made.
#[derive(Debug)]
struct Unfinished {
    list: List,
    part: Part,
    mark: Option<Mark>,
    pieces: Pieces,
    /// Interests that get this list.
    waiting: Vec<Asked>,
    /// Interests that get the next list. They arrived after this list had begun, so it may miss their latest changes.
    later: Vec<Asked>,
}

impl Unfinished {
    /// Makes the next part. Returns whether it was the last.
    fn go_on(&mut self, now: Time, rib: &Rib, control: &dyn Control) -> bool {
        let mut bytes = Vec::new();
        self.mark = (self.part)(rib, control, now, self.mark.as_ref(), &mut bytes);
        self.pieces.push(bytes);
        self.mark.is_none()
    }
}

/// A complete list, and the Interests that it answers.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) list: List,
    pub(super) pieces: Pieces,
    pub(super) waiting: Vec<Asked>,
}

/// Error: too many Interests wait for the list.
#[derive(Debug)]
pub(super) struct TooMany;

/// The lists that are being made, each once.
#[derive(Debug)]
pub(super) struct Lists {
    unfinished: Vec<Unfinished>,
    /// The time of the next part.
    resume: Time,
}

impl Lists {
    pub(super) const fn new() -> Lists {
        Lists { unfinished: Vec::new(), resume: Time::NEVER }
    }

    /// Whether a list is being made.
    pub(super) fn has(&self, list: List) -> bool {
        self.unfinished.iter().any(|other| other.list == list)
    }

    /// Waits for a list that is being made. `is_patient`: the list may miss changes that were made since it began.
    ///
    /// # Errors
    /// Returns [`TooMany`] if too many Interests wait.
    pub(super) fn wait(&mut self, list: List, asked: Asked, is_patient: bool) -> Result<(), TooMany> {
        let Some(unfinished) = self.unfinished.iter_mut().find(|other| other.list == list) else {
            return Ok(());
        };
        let waiting = if is_patient { &mut unfinished.waiting } else { &mut unfinished.later };
        if waiting.iter().any(|other| other.name == asked.name) {
            return Ok(());
        }
        if waiting.len() >= MOST_WAITING {
            return Err(TooMany);
        }
        waiting.push(asked);
        Ok(())
    }

    /// Begins a list. Returns it if it is short; the rest of a long one is made in parts.
    pub(super) fn begin(
        &mut self,
        now: Time,
        (list, part): (List, Part),
        asked: Asked,
        rib: &Rib,
        control: &dyn Control,
    ) -> Option<Finished> {
        let (mark, pieces) = (None, Pieces::default());
        let mut begun = Unfinished { list, part, mark, pieces, waiting: vec![asked], later: Vec::new() };
        if begun.go_on(now, rib, control) {
            return Some(Finished { list, pieces: begun.pieces, waiting: begun.waiting });
        }
        self.unfinished.push(begun);
        // The next part follows as soon as packets have had their turn.
        self.resume = self.resume.min(now);
        None
    }

    /// Makes the next part of one list. Returns the list if it is complete.
    pub(super) fn go_on(&mut self, now: Time, rib: &Rib, control: &dyn Control) -> Option<Finished> {
        if now < self.resume || self.unfinished.is_empty() {
            return None;
        }
        // Lists take turns.
        let mut first = self.unfinished.remove(0);
        let is_whole = first.go_on(now, rib, control);
        let finished = is_whole.then(|| Finished {
            list: first.list,
            pieces: core::mem::take(&mut first.pieces),
            waiting: core::mem::replace(&mut first.waiting, core::mem::take(&mut first.later)),
        });
        if !is_whole || !first.waiting.is_empty() {
            self.unfinished.push(first);
        }
        self.resume = if self.unfinished.is_empty() { Time::NEVER } else { now + PAUSE };
        finished
    }

    /// The time of the next part; [`Time::NEVER`] if there is none.
    pub(super) const fn next_deadline(&self) -> Time {
        self.resume
    }
}
