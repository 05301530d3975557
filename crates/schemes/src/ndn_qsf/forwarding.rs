//! The node: Interests wait in the queue of their prefix until the limiter of an upstream takes them (Fig. 5, section 5.2).
//! Each Data reports the length of this queue to its downstream (section 4.1).
//!
//! ```text
//!   Interest --> content store, PIT --> queue of the prefix --> limiter of upstream 1 --> link
//!                                             |        \------> limiter of upstream 2 --> link
//!   Data <-- QueueSize = length, or 0 where the queue played no part <-- estimates of the upstream <-- Data
//! ```
//!
//! The other queue of section 4.1 holds Data for the downstream and belongs to the face. If it is longer, the face writes its
//! length instead (`data_queue.rs`).

use smallvec::SmallVec;
use weir_core::deadline::Deadlines;
use weir_core::ids::{FaceId, PitId, PrefixId};
use weir_core::seam::best_route::{is_suppressed, least_severe};
use weir_core::seam::{
    Answer, DataEvent, DataOutEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy,
    StrategyDeadline,
};
use weir_core::tables::fib::NextHop;
use weir_core::tables::pairs::Pairs;
use weir_core::tables::pit::PitEntry;
use weir_core::units::{Span, Time};
use weir_packet::NackReason;

use super::prefix::Prefix;
use super::signals::QUEUE_SIZE;
use super::waiting::{Places, Waiting};
use super::{Aggregated, NodeSettings};

/// The strategy of a node.
#[derive(Debug)]
pub(super) struct Forwarding {
    settings: NodeSettings,
    /// The prefixes, by number.
    prefixes: Vec<Option<Box<Prefix>>>,
    /// The pairs of a face and a prefix that has it as an upstream.
    of_faces: Pairs,
    waiting: Waiting,
    /// The deadline of each prefix.
    deadlines: Deadlines,
}

impl Forwarding {
    pub(super) fn new(settings: NodeSettings) -> Forwarding {
        let (prefixes, waiting) = (Vec::new(), Waiting::default());
        Forwarding { settings, prefixes, of_faces: Pairs::default(), waiting, deadlines: Deadlines::new(0) }
    }

    /// Makes room for the state of a prefix.
    #[inline]
    fn ensure(&mut self, prefix: PrefixId) {
        let place = prefix.0 as usize;
        while self.prefixes.len() <= place {
            self.prefixes.push(None);
            self.deadlines.push();
        }
        self.prefixes[place].get_or_insert_default();
    }

    fn known(&mut self, prefix: u32) -> Option<&mut Prefix> {
        self.prefixes.get_mut(prefix as usize)?.as_deref_mut()
    }

    /// Returns the slots of next hops among the upstreams of a prefix.
    #[inline]
    fn places_of(&mut self, prefix: u32, next_hops: &[NextHop], now: Time) -> Places {
        let Some(known) = self.prefixes.get_mut(prefix as usize).and_then(Option::as_deref_mut) else {
            return Places::default();
        };
        let places = known.places_of(next_hops, now, &self.settings);
        if known.take_has_new() {
            next_hops.iter().for_each(|hop| self.of_faces.add(hop.face.0, prefix));
        }
        places
    }

    #[inline]
    fn set_deadline(&mut self, prefix: u32) {
        let at = self.prefixes[prefix as usize].as_ref().map_or(Time::NEVER, |known| known.deadline());
        if self.deadlines.get(prefix) != at {
            self.deadlines.set(prefix, at);
        }
    }

    /// Forwards an Interest that may take these upstreams, or puts it into the queue.
    fn admit(&mut self, entry: &mut PitEntry, pit: PitId, places: Places, now: Time) -> Decision {
        let prefix = entry.prefix.0;
        let Some(known) = self.prefixes.get_mut(prefix as usize).and_then(Option::as_deref_mut) else {
            return Decision::Nack(NackReason::NoRoute);
        };
        known.offer(places, now, &self.settings);
        let decision = match known.take_free(places, now) {
            Some(face) => Decision::Forward(face),
            None if known.list.len() >= self.settings.queue => Decision::Nack(NackReason::Congestion),
            None => {
                self.waiting.push(&mut known.list, entry, pit, prefix, places);
                known.count(places, 1);
                Decision::Hold
            }
        };
        self.set_deadline(prefix);
        decision
    }

    /// Removes the Interest of an entry that ends from the queue.
    #[inline]
    fn leave(&mut self, entry: &PitEntry) {
        let Some((node, prefix)) = self.waiting.find(entry) else { return };
        if let Some(known) = self.prefixes.get_mut(prefix as usize).and_then(Option::as_deref_mut) {
            let places = self.waiting.remove(&mut known.list, node);
            known.count(places, -1);
            self.set_deadline(prefix);
        }
    }

    /// Changes the upstreams that may take a waiting Interest.
    fn change_places(&mut self, entry: &PitEntry, change: impl Fn(Places, &Prefix) -> Places) {
        let Some((node, prefix)) = self.waiting.find(entry) else { return };
        if let Some(known) = self.prefixes.get_mut(prefix as usize).and_then(Option::as_deref_mut) {
            let before = self.waiting.places(node);
            let after = change(before, known);
            self.waiting.set_places(node, after);
            known.count(before, -1);
            known.count(after, 1);
            self.set_deadline(prefix);
        }
    }
}

impl Strategy for Forwarding {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        let prefix = ev.entry.prefix;
        self.ensure(prefix);
        let places = self.places_of(prefix.0, ev.next_hops, ev.now);
        let known = self.prefixes[prefix.0 as usize].get_or_insert_default();
        let places = places.without(known.waiting_places(ev.entry));
        if let Some((_, of)) = self.waiting.find(ev.entry) {
            // The Interest keeps its turn, but the routes may have changed.
            if of == prefix.0 && !places.is_empty() {
                self.change_places(ev.entry, |_, _| places);
            }
            return Decision::Suppress;
        }
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        if places.is_empty() {
            return Decision::Nack(NackReason::NoRoute);
        }
        // A lost Interest takes another upstream, if there is one.
        let asked = known.known_places(ev.entry.out_records.iter().map(|record| record.face));
        self.admit(ev.entry, ev.pit, places.without(asked), ev.now)
    }

    /// A downstream that also waits for the Data is not an upstream.
    fn on_aggregated(&mut self, ev: &mut InterestEvent<'_>) {
        let entry = &*ev.entry;
        self.change_places(entry, |places, known| places.without(known.waiting_places(entry)));
    }

    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        self.leave(ev.entry);
        let queue = ev.data.header().signals.value(&QUEUE_SIZE);
        let (now, settings) = (ev.now, self.settings);
        let prefix = ev.flow.prefix.0;
        if let Some(known) = self.known(prefix)
            && known.on_data(ev.face, ev.local, queue, ev.rtt, now, &settings)
        {
            self.set_deadline(prefix);
        }
    }

    /// Section 4.1: the queue of Interests counts for an Interest that was in it. In one reading of the paper
    /// it also counts for an aggregated Interest.
    fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
        let counts = match ev.answer {
            Answer::Forwarded => true,
            Answer::Aggregated => self.settings.aggregated == Aggregated::Larger,
            Answer::Cached(_) => false,
        };
        let size = match self.known(ev.flow.prefix.0) {
            Some(known) if counts => known.list.len(),
            _ => 0,
        };
        ev.data.header_mut().signals.set(&QUEUE_SIZE, u64::from(size));
    }

    /// Queues the Interest again, for the upstreams that have not been tried.
    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        let refused = Decision::Nack(least_severe(ev));
        if ev.entry.is_pending(ev.now) {
            return refused;
        }
        let places = self.places_of(ev.entry.prefix.0, ev.next_hops, ev.now);
        let places = match self.known(ev.entry.prefix.0) {
            Some(known) => places.without(known.waiting_places(ev.entry)),
            None => Places::default(),
        };
        match places.is_empty() {
            true => refused,
            false => self.admit(ev.entry, ev.pit, places, ev.now),
        }
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        self.leave(ev.entry);
    }

    fn on_face(&mut self, face: FaceId, up: bool, now: Time) {
        let prefixes: SmallVec<[u32; 4]> = self.of_faces.of(face.0).collect();
        for prefix in prefixes {
            let settings = self.settings;
            if let Some(known) = self.known(prefix) {
                known.on_face(face, up, now, &settings);
                self.set_deadline(prefix);
            }
        }
    }

    /// Queued Interests stay with the node until their lifetime is over.
    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        if let Some(mut known) = self.prefixes.get_mut(prefix.0 as usize).and_then(Option::take) {
            known.faces().for_each(|face| self.of_faces.remove(face.0, prefix.0));
            self.waiting.clear(&mut known.list);
            self.deadlines.set(prefix.0, Time::NEVER);
        }
    }

    fn next_deadline(&self) -> Time {
        self.deadlines.next()
    }

    fn on_deadline(&mut self, ev: &mut StrategyDeadline<'_>) {
        while let Some((at, prefix)) = self.deadlines.next_id() {
            if at > ev.now {
                break;
            }
            if let Some(known) = self.prefixes[prefix as usize].as_deref_mut() {
                known.end_round(ev.now, &self.settings, ev.random);
                known.release(ev.now, &mut self.waiting, ev.releases);
                let next = known.deadline().max(ev.now + Span::from_nanos(1));
                self.deadlines.set(prefix, next);
            } else {
                self.deadlines.set(prefix, Time::NEVER);
            }
        }
    }
}

#[cfg(test)]
mod tests;
