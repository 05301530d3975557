//! Lists that may be long are made in parts, with packets in between: a million routes take a fifth of a second.
//!
//! ```text
//!   asked for, and short -> answered
//!   asked for, and long  -> its first part -> packets -> the next part ... -> answered
//! ```
//!
//! What is there all the time is in the list once. What comes or goes meanwhile may be in it or not.

use weir_core::units::{Span, Time};
use weir_packet::Name;

use super::rib::Rib;
use super::segments::{List, Pieces};
use crate::control::{Control, Owner};

/// Bytes of a part, and one entry more at most.
const PART_BYTES: usize = 1 << 16;
/// Entries of a part that are looked at, at most: a millisecond or so.
const PART_ENTRIES: usize = 2048;
/// The time from one part to the next, for packets.
const PAUSE: Span = Span::from_millis(1);
/// Names under which somebody waits for the same list at most. Whoever asks by the same name is one.
const MOST_WAITING: usize = 64;

/// The last entry that was looked at.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    /// By its prefix: the value of the Name element.
    Prefix(Vec<u8>),
    /// By its number.
    Number(u32),
}

/// Appends the next part of a list, which begins behind a mark; its end, if there may be more.
pub(super) type Part = fn(&Rib, &dyn Control, Time, Option<&Mark>, &mut Vec<u8>) -> Option<Mark>;

/// Appends entries until a part is full; the last one, if there may be more.
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

/// Somebody who waits for a list.
#[derive(Debug)]
pub(super) struct Asked {
    /// The name of the Interest.
    pub(super) name: Name,
    /// The time since 1970 when it came, ms.
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
    /// Who gets it.
    waiting: Vec<Asked>,
    /// Who gets the next one, since they asked after this one had begun: what they have just changed may be missing.
    later: Vec<Asked>,
}

impl Unfinished {
    /// Makes the next part. Whether it was the last.
    fn go_on(&mut self, now: Time, rib: &Rib, control: &dyn Control) -> bool {
        let mut bytes = Vec::new();
        self.mark = (self.part)(rib, control, now, self.mark.as_ref(), &mut bytes);
        self.pieces.push(bytes);
        self.mark.is_none()
    }
}

/// A list that is whole, and who gets it.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) list: List,
    pub(super) pieces: Pieces,
    pub(super) waiting: Vec<Asked>,
}

/// A list is not made for somebody, since too many wait for it.
#[derive(Debug)]
pub(super) struct TooMany;

/// The lists that are being made, each once.
#[derive(Debug)]
pub(super) struct Lists {
    unfinished: Vec<Unfinished>,
    /// When the next part is made.
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

    /// Waits for a list that is being made. `is_patient`: it need not have what was changed since it was begun.
    ///
    /// # Errors
    /// [`TooMany`] wait.
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

    /// Makes a list: gives it if it is short, and else the rest is made by and by.
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
        // As soon as packets had their turn.
        self.resume = self.resume.min(now);
        None
    }

    /// Makes the next part of one of them; gives it if it is whole.
    pub(super) fn go_on(&mut self, now: Time, rib: &Rib, control: &dyn Control) -> Option<Finished> {
        if now < self.resume || self.unfinished.is_empty() {
            return None;
        }
        // They take turns.
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

    /// When the next part is made; [`Time::NEVER`] if there is none.
    pub(super) const fn next_deadline(&self) -> Time {
        self.resume
    }
}
