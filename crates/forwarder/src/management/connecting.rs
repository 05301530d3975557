//! Commands that wait for the connections of their faces.
//!
//! ```text
//!   faces/create, face down -> waits -> connected: 200     failed, or too late: 504
//! ```
//!
//! A connection over TCP or WebSocket takes a while. The command is answered when the outcome is known, and before its Interest
//! ends. A permanent face exists without a connection, so its command is answered at once.

use weir_core::units::{Span, Time};
use weir_packet::{Interest, Name, NameRef};

use weir_management::status::{FaceNumber, FacePersistency, FaceStatus};

/// Longest wait of a command, ms. NFD waits as long for a connection.
const LONGEST_WAIT_MS: u64 = 8000;

/// A command that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Its name, which is also the name of the answer.
    pub(super) command: Name,
    /// The face that is connecting.
    pub(super) face: FaceNumber,
    /// Whether the command created the face. If not, the face was connecting already.
    pub(super) is_creator: bool,
    /// Its remaining time.
    pub(super) wait: Span,
    until: Time,
}

/// The commands that wait.
#[derive(Debug, Default)]
pub(super) struct Connecting {
    waiting: Vec<Waiting>,
}

/// Largest number of waiting commands.
const MOST: usize = 1024;

impl Connecting {
    /// Whether a face is connecting or about to be closed.
    pub(super) fn is_connecting(face: &FaceStatus) -> bool {
        !face.up && face.persistency == FacePersistency::Persistent
    }

    /// Whether another command may wait.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < MOST
    }

    /// Whether this command waits already, because its Interest arrived again.
    pub(super) fn has(&self, command: NameRef<'_>) -> bool {
        self.waiting.iter().any(|waiting| waiting.command.view() == command)
    }

    /// Adds a waiting command.
    pub(super) fn wait(&mut self, now: Time, command: &Interest<'_>, face: FaceNumber, is_creator: bool) {
        // The answer has time to travel before the Interest ends.
        let lifetime_ms = command.lifetime_ms();
        let wait = Span::from_millis((lifetime_ms - lifetime_ms / 8).min(LONGEST_WAIT_MS));
        let command = command.name.to_name();
        self.waiting.push(Waiting { command, face, is_creator, wait, until: now + wait });
    }

    /// Removes the commands that wait for a face.
    pub(super) fn take_of(&mut self, face: FaceNumber) -> Vec<Waiting> {
        self.waiting.extract_if(.., |waiting| waiting.face == face).collect()
    }

    /// Removes the commands whose time is over.
    pub(super) fn take_due(&mut self, now: Time) -> Vec<Waiting> {
        self.waiting.extract_if(.., |waiting| waiting.until <= now).collect()
    }

    /// Deadline of the first command; [`Time::NEVER`] if none waits.
    pub(super) fn next_deadline(&self) -> Time {
        self.waiting.iter().map(|waiting| waiting.until).min().unwrap_or(Time::NEVER)
    }
}
