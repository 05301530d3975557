//! Prefix registrations at a forwarder, with renewal.
//!
//! ```text
//!             refused or not answered: after 1 s, 2 s, 4 s .. 30 s
//!                 +-----------+
//!                 v           |
//!   add ----> requested ------+---- done ----> due in 5 minutes
//!                 ^                                  |
//!                 +----------------------------------+
//! ```

use weir_core::units::{Span, Time};
use weir_management::client::{ClientError, Commands};
use weir_management::{ControlParameters, Module};
use weir_packet::Name;

use crate::pending::{PendingId, PendingInterests};

/// Maximum time for the forwarder to answer a command.
pub(super) const TIMEOUT: Span = Span::from_secs(4);
/// Time until a failed registration is repeated. It doubles each time, up to the maximum.
const AGAIN: Span = Span::from_secs(1);
const AGAIN_AT_MOST: Span = Span::from_secs(30);
/// Interval of renewal, as in NDNts. It restores routes that somebody has removed.
const REFRESH_EVERY: Span = Span::from_secs(300);

/// State of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The forwarder has been asked.
    Requested(PendingId),
    /// It will be asked at this time.
    Due(Time),
}

/// A prefix and the state of its registration.
#[derive(Debug)]
struct Registration {
    prefix: Name,
    state: State,
    /// Time until the request is repeated if it fails.
    again: Span,
    /// Whether the prefix was registered before on the same connection.
    is_refresh: bool,
}

/// All prefixes of an application.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    all: Vec<Registration>,
    commands: Commands,
}

/// Identifies a registration.
pub(super) struct RegistrationIndex(usize);

impl Registrations {
    /// Adds a prefix to register.
    ///
    /// # Errors
    /// Returns an error if the prefix is too long for a command.
    pub(super) fn add(
        &mut self,
        now: Time,
        prefix: &Name,
        pending: &mut PendingInterests,
    ) -> Result<(), ClientError> {
        self.remove(prefix, pending);
        let id = command(&mut self.commands, now, prefix, pending)?;
        let (prefix, state) = (prefix.clone(), State::Requested(id));
        self.all.push(Registration { prefix, state, again: AGAIN, is_refresh: false });
        Ok(())
    }

    /// Removes a prefix.
    pub(super) fn remove(&mut self, prefix: &Name, pending: &mut PendingInterests) {
        for own in self.all.extract_if(.., |own| own.prefix == *prefix) {
            if let State::Requested(id) = own.state {
                pending.cancel(id);
            }
        }
    }

    /// Registers all prefixes again, because a new forwarder does not know them.
    pub(super) fn restart(&mut self, now: Time, pending: &mut PendingInterests) {
        for own in &mut self.all {
            if let State::Requested(id) = own.state {
                pending.cancel(id);
            }
            (own.state, own.again, own.is_refresh) = (State::Due(now), AGAIN, false);
        }
    }

    /// The time of the next request.
    pub(super) fn next_deadline(&self) -> Time {
        let due = self.all.iter().filter_map(|own| match own.state {
            State::Due(at) => Some(at),
            State::Requested(_) => None,
        });
        due.min().unwrap_or(Time::NEVER)
    }

    /// Sends the due requests. Commands are created only now, because a forwarder may require their times in order.
    pub(super) fn run_due(&mut self, now: Time, pending: &mut PendingInterests) {
        for own in &mut self.all {
            if matches!(own.state, State::Due(at) if at <= now) {
                // The same command was created before, so it fits.
                let id = command(&mut self.commands, now, &own.prefix, pending);
                own.state = id.map_or(State::Due(Time::NEVER), State::Requested);
            }
        }
    }

    /// Returns the registration to which this command belongs.
    pub(super) fn commanded_by(&self, id: PendingId) -> Option<RegistrationIndex> {
        self.all.iter().position(|own| own.state == State::Requested(id)).map(RegistrationIndex)
    }

    /// Handles the forwarder's answer. Returns the prefix if the answer must be reported.
    pub(super) fn settle(&mut self, now: Time, of: RegistrationIndex, is_done: bool) -> Option<Name> {
        let own = self.all.get_mut(of.0)?;
        let is_told = !(is_done && own.is_refresh);
        if is_done {
            (own.state, own.again, own.is_refresh) = (State::Due(now + REFRESH_EVERY), AGAIN, true);
        } else {
            own.state = State::Due(now + own.again);
            (own.again, own.is_refresh) = ((own.again * 2).min(AGAIN_AT_MOST), false);
        }
        is_told.then(|| own.prefix.clone())
    }
}

/// Creates and sends the command to register a prefix.
fn command(
    commands: &mut Commands,
    now: Time,
    prefix: &Name,
    pending: &mut PendingInterests,
) -> Result<PendingId, ClientError> {
    let parameters = ControlParameters { name: Some(prefix.clone()), ..ControlParameters::default() };
    let (_, wire) = commands.encode(Module::Rib, "register", &parameters, TIMEOUT)?;
    pending.express_signed(now, wire).ok_or(ClientError::TooLong)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::pending::Due;
    use weir_core::name::{HashedName, NameHasher};
    use weir_core::packet::{Kind, Packet};
    use weir_core::random::Random;
    use weir_packet::{Data, Interest, NameRef, SignatureInfo, SignatureType};

    /// A forwarder's reaction to a command.
    #[derive(Clone, Copy, PartialEq)]
    enum Does {
        Registers,
        Refuses,
        Nothing,
    }

    /// A forwarder, and time that passes when nothing is due.
    struct Bench {
        now: Time,
        pending: PendingInterests,
        registrations: Registrations,
        random: Random,
        /// Arrival times and prefixes of commands.
        came: Vec<(Time, Name)>,
        /// Reports: time, prefix, and whether it is registered.
        told: Vec<(Time, Name, bool)>,
    }

    fn name(uri: &str) -> Name {
        uri.parse().unwrap()
    }

    fn seconds(at: Time) -> u64 {
        assert_eq!(at.as_nanos() % 1_000_000_000, 0, "whole seconds: {at}");
        at.as_nanos() / 1_000_000_000
    }

    impl Bench {
        fn of(prefixes: &[&str]) -> Bench {
            let (pending, registrations) = (PendingInterests::default(), Registrations::default());
            let random = Random::named(1, "test");
            let mut bench =
                Bench { now: Time::ZERO, pending, registrations, random, came: Vec::new(), told: Vec::new() };
            for prefix in prefixes {
                bench.registrations.add(bench.now, &name(prefix), &mut bench.pending).unwrap();
            }
            bench
        }

        /// Lets `span` seconds pass while the forwarder reacts like this.
        fn pass(&mut self, span: u64, does: Does) -> &mut Bench {
            let until = self.now + Span::from_secs(span);
            loop {
                self.run_due(does);
                let next = self.pending.next_deadline().min(self.registrations.next_deadline());
                assert!(next > self.now, "what is due was done");
                if next > until {
                    self.now = until;
                    return self;
                }
                self.now = next;
            }
        }

        fn run_due(&mut self, does: Does) {
            self.registrations.run_due(self.now, &mut self.pending);
            let mut wire = Vec::new();
            while let Some(due) = self.pending.run_due(self.now, &mut self.random, &mut wire) {
                match due {
                    Due::Send(_) => {
                        let command = Interest::decode(&wire).unwrap().name.to_name();
                        wire.clear();
                        let parameters = command.view().component(4).unwrap().value.to_vec();
                        let of = ControlParameters::decode(&parameters).unwrap().name.unwrap();
                        self.came.push((self.now, of));
                        if does != Does::Nothing {
                            let reply = self.pending.answered_by(&data(command.view())).unwrap();
                            self.settle(reply, does == Does::Registers);
                        }
                    }
                    Due::Ended(id, _) => self.settle(id, false),
                }
            }
        }

        fn settle(&mut self, id: PendingId, is_done: bool) {
            let of = self.registrations.commanded_by(id).unwrap();
            if let Some(prefix) = self.registrations.settle(self.now, of, is_done) {
                self.told.push((self.now, prefix, is_done));
            }
        }

        /// Arrival times of commands, s.
        fn times(&self) -> Vec<u64> {
            self.came.iter().map(|(at, _)| seconds(*at)).collect()
        }

        /// Times of reports, s, and whether the prefix is registered.
        fn told(&self) -> Vec<(u64, bool)> {
            self.told.iter().map(|(at, _, is_done)| (seconds(*at), *is_done)).collect()
        }
    }

    fn data(name: NameRef<'_>) -> Packet {
        let wire = Data::new(name, b"", SignatureInfo::new(SignatureType::Null)).to_vec();
        let mut packet = Packet::default();
        packet.kind = Kind::Data;
        packet.name = HashedName::parse(&NameHasher::new(1), name.value()).unwrap();
        packet.wire = wire.into();
        packet
    }

    #[test]
    fn prefixes_are_registered_again_every_five_minutes_and_nothing_is_told_of_it() {
        let mut bench = Bench::of(&["/a", "/b"]);
        bench.pass(1000, Does::Registers);
        assert_eq!(bench.times(), [0, 0, 300, 300, 600, 600, 900, 900]);
        assert_eq!(bench.told(), [(0, true), (0, true)]);
        let of_a = bench.came.iter().filter(|(_, prefix)| *prefix == name("/a"));
        assert_eq!(of_a.count(), 4, "each its own");
    }

    #[test]
    fn who_refuses_is_asked_again_after_twice_as_long_up_to_half_a_minute() {
        let mut bench = Bench::of(&["/a"]);
        bench.pass(100, Does::Refuses);
        assert_eq!(bench.times(), [0, 1, 3, 7, 15, 31, 61, 91]);
        assert!(bench.told.iter().all(|(.., is_done)| !is_done) && bench.told.len() == 8);
        // The first success is reported. After a later failure the request is soon repeated.
        bench.told.clear();
        bench.pass(30, Does::Registers).pass(300, Does::Refuses);
        assert_eq!(bench.times()[8..], [121, 421, 422, 424, 428]);
        assert_eq!(bench.told(), [(121, true), (421, false), (422, false), (424, false), (428, false)]);
    }

    #[test]
    fn who_does_not_answer_is_asked_again_when_time_is_over() {
        let mut bench = Bench::of(&["/a"]);
        bench.pass(30, Does::Nothing);
        assert_eq!(bench.times(), [0, 5, 11, 19]);
        assert_eq!(bench.told(), [(4, false), (9, false), (15, false), (23, false)]);
    }

    #[test]
    fn a_new_connection_begins_anew_and_what_is_removed_is_not_asked_for() {
        let mut bench = Bench::of(&["/a", "/b"]);
        bench.pass(20, Does::Refuses);
        bench.registrations.remove(&name("/b"), &mut bench.pending);
        bench.came.clear();
        bench.registrations.restart(bench.now, &mut bench.pending);
        bench.pass(2, Does::Nothing);
        // The answer to the previous command does not arrive any more.
        bench.registrations.restart(bench.now, &mut bench.pending);
        bench.pass(5, Does::Refuses);
        assert_eq!(bench.times(), [20, 22, 23, 25]);
        assert!(bench.came.iter().all(|(_, prefix)| *prefix == name("/a")));
        bench.registrations.remove(&name("/a"), &mut bench.pending);
        assert_eq!(bench.registrations.next_deadline(), Time::NEVER);
        assert_eq!(bench.pending.next_deadline(), Time::NEVER);
    }
}
