//! The sending end of a rate-limited link, as a state machine: a [`Queue`] and a transmitter.
//!
//! ```text
//!            enqueue                dequeue            transmit
//!   packet ----------> [ Queue ] ------------> busy ------------> on the link until `until`
//!                          ^   free at `until`  |
//!                          +--------------------+
//! ```
//!
//! The transmitter stores only the time when it is free again, so an idle link has no timer: a packet that
//! finds it free is sent at once. On a shared medium (802.11) this time is not known in advance: the world
//! reports when the packet has left.

mod half_duplex;
pub mod marking;
mod rate_trace;
mod way;

pub use half_duplex::{HalfDuplex, Sending};
pub use rate_trace::{OPPORTUNITY, Opportunities, RateTrace, RateTraceError};
pub use way::{Way, least_burst};

use core::any::Any;
use std::sync::Arc;

use crate::packet::{Packet, PacketId, PacketPool};
use crate::prefetch::prefetch;
use crate::random::Random;
use crate::seam::DropTail;
use crate::seam::{
    Backlog, ClearEvent, Departed, DequeueEvent, Drops, EnqueueEvent, Next, PrefixRemoved, Queue, QueueLimit,
    ReceiveEvent, SentEvent,
};
use crate::units::{Bytes, Rate, Span, Time};

/// The sending end of a link.
pub struct Link {
    queue: Discipline,
    pace: Pace,
    busy_until: Time,
    /// On a shared medium: the packet that is leaving, when it began, and its length.
    leaving: Option<(Time, Bytes)>,
    /// When the queue may have a packet for the free transmitter.
    serve_at: Time,
    /// The queue's periodic work runs no earlier than this, so that time advances whatever deadline the queue
    /// returns.
    rests_until: Time,
    random: Random,
}

/// The queue of a link. Most are drop-tail queues. These need no hook for arriving or leaving packets and
/// have no periodic work, so the link treats them specially and makes no useless calls.
enum Discipline {
    DropTail(DropTail),
    Scheme(Box<dyn Queue>),
}

impl Discipline {
    fn new(queue: Box<dyn Queue>) -> Discipline {
        if !(&*queue as &dyn Any).is::<DropTail>() {
            return Discipline::Scheme(queue);
        }
        let queue: Box<dyn Any> = queue;
        match queue.downcast() {
            Ok(drop_tail) => Discipline::DropTail(*drop_tail),
            Err(_) => unreachable!("its type was looked at"),
        }
    }

    /// The queue as a trait object.
    #[inline]
    fn any(&mut self) -> &mut dyn Queue {
        match self {
            Discipline::DropTail(queue) => queue,
            Discipline::Scheme(queue) => &mut **queue,
        }
    }

    /// The scheme's own queue.
    #[inline]
    fn scheme(&mut self) -> Option<&mut dyn Queue> {
        match self {
            Discipline::DropTail(_) => None,
            Discipline::Scheme(queue) => Some(&mut **queue),
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        match self {
            Discipline::DropTail(queue) => queue.backlog(),
            Discipline::Scheme(queue) => queue.backlog(),
        }
    }

    #[inline]
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        match self {
            Discipline::DropTail(queue) => queue.pop(ev.pool).map_or(Next::Empty, Next::Packet),
            Discipline::Scheme(queue) => queue.dequeue(ev),
        }
    }

    /// Tells a scheme's queue how long a packet keeps the link busy.
    #[inline]
    fn on_sent(&mut self, now: Time, wire_len: Bytes, took: Span) {
        if let Discipline::Scheme(queue) = self {
            queue.on_sent(&SentEvent { now, wire_len, took });
        }
    }
}

/// How long a packet keeps the transmitter busy.
#[derive(Clone, Debug)]
enum Pace {
    /// The time that it takes at this rate; `None`: no time.
    Rate(Option<Rate>),
    /// Until [`Link::release`].
    Shared,
    /// Until a rate trace has delivered the packet.
    Trace(Box<Opportunities>),
}

/// A packet that starts to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet.
    pub packet: PacketId,
    /// When its last bit is on the link; [`Time::NEVER`] if the world will report it.
    pub until: Time,
    /// The packet's waiting time at this node.
    pub waited: Span,
    /// The note that the queue attached to it.
    pub note: Option<u32>,
}

impl Link {
    /// Makes a free link. If `rate` is `None`, sending takes no time.
    pub fn new(queue: Box<dyn Queue>, rate: Option<Rate>, random: Random) -> Link {
        let mut link = Link::with_pace(queue, Pace::Rate(rate), random);
        link.start_or_stop(Time::ZERO, rate);
        link
    }

    /// Makes a free link on a shared medium: after each packet it waits for [`Link::release`].
    pub fn shared(queue: Box<dyn Queue>, random: Random) -> Link {
        Link::with_pace(queue, Pace::Shared, random)
    }

    /// Makes a free link whose rate follows a trace. Its queue gets the mean rate.
    pub fn traced(queue: Box<dyn Queue>, trace: Arc<RateTrace>, random: Random) -> Link {
        Link::with_pace(queue, Pace::Trace(Box::new(Opportunities::new(trace))), random)
    }

    /// A link that sends nothing; it takes the place of a removed link.
    pub(crate) fn closed() -> Link {
        let nothing = DropTail::new(QueueLimit::Packets(0));
        Link::with_pace(Box::new(nothing), Pace::Shared, Random::named(0, "closed"))
    }

    fn with_pace(queue: Box<dyn Queue>, pace: Pace, random: Random) -> Link {
        let (busy_until, serve_at, rests_until) = (Time::ZERO, Time::NEVER, Time::ZERO);
        let queue = Discipline::new(queue);
        Link { queue, pace, busy_until, leaving: None, serve_at, rests_until, random }
    }

    /// Changes the rate, from the next packet on. At rate 0 nothing leaves until the rate changes again. On a
    /// shared medium this is the rate that the queue may expect; it does not pace packets. The rate replaces
    /// a trace.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if !matches!(self.pace, Pace::Shared) {
            self.pace = Pace::Rate(rate);
            self.start_or_stop(now, rate);
        }
        self.queue.any().on_send_rate(rate, now);
    }

    /// On a shared medium: notes that the last packet has left or is lost. The next one may go.
    pub fn release(&mut self, now: Time) {
        if matches!(self.pace, Pace::Shared) {
            self.busy_until = now;
            if let Some((given, wire_len)) = self.leaving.take() {
                self.queue.on_sent(now, wire_len, now.since(given));
            }
            self.serve_at = if self.queue.backlog().packets > 0 { now } else { Time::NEVER };
        }
    }

    /// Notes a new sending rate of the other end.
    pub fn set_receive_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.queue.any().on_receive_rate(rate, now);
        if self.queue.backlog().packets > 0 {
            self.serve_at = now.max(self.busy_until);
        }
    }

    /// On a shared medium: sets the rate that the face could have ([`Queue::on_fair_rate`]). Call it before
    /// the matching rate is set.
    pub fn set_fair_rate(&mut self, now: Time, rate: Rate) {
        self.queue.any().on_fair_rate(rate, now);
    }

    fn start_or_stop(&mut self, now: Time, rate: Option<Rate>) {
        if rate == Some(Rate::ZERO) {
            self.busy_until = Time::NEVER;
            self.serve_at = Time::NEVER;
        } else if self.busy_until == Time::NEVER {
            self.busy_until = now;
            self.serve_at = now;
        }
    }

    /// Enqueues a packet.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: PacketId, pool: &mut PacketPool, dropped: &mut Drops) {
        self.enqueue_since(now, now, packet, pool, dropped);
    }

    /// Enqueues a packet that has waited at this node since `since`. Returns whether the queue keeps state of
    /// its prefix from now on.
    #[inline]
    pub fn enqueue_since(
        &mut self,
        now: Time,
        since: Time,
        packet: PacketId,
        pool: &mut PacketPool,
        dropped: &mut Drops,
    ) -> bool {
        pool[packet].queued_at = since;
        pool[packet].measure();
        self.serve_at = now.max(self.busy_until);
        let mut ev = EnqueueEvent { now, pool, dropped, random: &mut self.random, keeps_prefix: false };
        match &mut self.queue {
            Discipline::DropTail(queue) => queue.enqueue(&mut ev, packet),
            Discipline::Scheme(queue) => queue.enqueue(&mut ev, packet),
        }
        ev.keeps_prefix
    }

    /// Sends a packet past the queue if it need not wait: the transmitter is free, its rate is known, and the
    /// queue is an empty drop-tail queue that would accept the packet. Returns when its last bit is on the
    /// link; `None` if the packet must be enqueued.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: &mut Packet) -> Option<Time> {
        let (Discipline::DropTail(queue), Pace::Rate(rate)) = (&self.queue, &self.pace) else {
            return None;
        };
        if now < self.busy_until {
            return None;
        }
        let len = packet.measure();
        if !queue.lets_through(len) {
            return None;
        }
        packet.queued_at = now;
        self.busy_until = rate.map_or(now, |rate| now + rate.time_for(Bytes::new(len)));
        self.serve_at = Time::NEVER;
        Some(self.busy_until)
    }

    /// Takes the next packet to leave at `now`, if the transmitter is free and the queue gives one. Call it
    /// until it returns `None`.
    #[inline]
    pub fn serve(&mut self, now: Time, pool: &mut PacketPool, dropped: &mut Drops) -> Option<Departure> {
        if now < self.busy_until || now < self.serve_at {
            return None;
        }
        let mut ev = DequeueEvent { now, pool, dropped, random: &mut self.random, note: None };
        match self.queue.dequeue(&mut ev) {
            Next::Packet(packet) => {
                let note = ev.note;
                let len = Bytes::new(pool[packet].measure());
                debug_assert_eq!(len.as_u64(), crate::packet::wire::frame_len(&pool[packet]));
                self.busy_until = match &mut self.pace {
                    Pace::Rate(Some(rate)) => {
                        let took = rate.time_for(len);
                        self.queue.on_sent(now, len, took);
                        now + took
                    }
                    Pace::Rate(None) => now,
                    Pace::Shared => {
                        self.leaving = Some((now, len));
                        Time::NEVER
                    }
                    Pace::Trace(opportunities) => {
                        let until = opportunities.send(now, len);
                        self.queue.on_sent(now, len, until.since(now));
                        until
                    }
                };
                let waiting = self.queue.backlog().packets > 0;
                self.serve_at = if waiting { self.busy_until } else { Time::NEVER };
                let waited = now - pool[packet].queued_at;
                Some(Departure { packet, until: self.busy_until, waited, note })
            }
            Next::At(time) => {
                // A queue that asks to be called again now would spin: advance by one nanosecond.
                self.serve_at = time.max(now + Span::from_nanos(1));
                None
            }
            Next::Empty => {
                self.serve_at = Time::NEVER;
                None
            }
        }
    }

    /// Handles a packet that arrived on this link from the other end. Returns whether a packet may leave
    /// because of it: then call [`Link::serve`].
    #[inline]
    pub fn on_receive(
        &mut self,
        now: Time,
        packet: &mut Packet,
        wire_len: Bytes,
        rtt: Option<Span>,
        departed: Option<Departed>,
    ) -> bool {
        let Some(queue) = self.queue.scheme() else { return false };
        let random = &mut self.random;
        let mut ev = ReceiveEvent { now, packet, wire_len, rtt, departed, random, may_send: false };
        queue.on_receive(&mut ev);
        let may_send = ev.may_send && self.queue.backlog().packets > 0;
        if may_send {
            self.serve_at = now.max(self.busy_until);
        }
        may_send
    }

    /// Runs the queue's periodic work. It may release packets earlier than it announced, so it is asked
    /// again.
    pub fn on_deadline(&mut self, now: Time) {
        if self.periodic_work_at() <= now {
            self.rests_until = now + Span::from_nanos(1);
            self.queue.any().on_deadline(now);
            if self.queue.backlog().packets > 0 {
                self.serve_at = now.max(self.busy_until);
            }
        }
    }

    /// Handles the removal of a FIB entry.
    pub fn on_prefix_removed(&mut self, ev: &mut PrefixRemoved<'_>) {
        self.queue.any().on_prefix_removed(ev);
    }

    /// Handles the removal of the face: drops all waiting packets.
    pub fn clear(&mut self, now: Time, pool: &mut PacketPool, cleared: &mut Vec<PacketId>) {
        self.queue.any().clear(&mut ClearEvent { now, pool, cleared });
    }

    /// When to call [`Link::on_deadline`] and [`Link::serve`] again.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.serve_at.min(self.periodic_work_at())
    }

    #[inline]
    fn periodic_work_at(&self) -> Time {
        match &self.queue {
            Discipline::DropTail(_) => Time::NEVER,
            Discipline::Scheme(queue) => queue.next_deadline().max(self.rests_until),
        }
    }

    /// Returns whether its queue looks at arriving packets.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        matches!(self.queue, Discipline::Scheme(_))
    }

    /// Prefetches the link, without reading it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.queue);
        prefetch(&self.busy_until);
    }

    /// Packets and bytes in the queue.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

impl core::fmt::Debug for Link {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Link")
            .field("pace", &self.pace)
            .field("busy_until", &self.busy_until)
            .field("backlog", &self.backlog())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
