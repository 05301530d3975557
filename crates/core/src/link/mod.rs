//! The sending end of a rate-limited link, as a state machine: a [`Queue`] and a transmitter.
//!
//! ```text
//!            enqueue                dequeue            transmit
//!   packet ----------> [ Queue ] ------------> busy ------------> on the link until `until`
//!                          ^   free at `until`  |
//!                          +--------------------+
//! ```
//!
//! The transmitter knows only when it is free again, so an idle link has no timer: a packet that
//! finds it free is on the link at once. Where a medium is shared (802.11) nobody knows that
//! beforehand: the world says so when the packet has left.

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
    /// On a shared medium: the packet that is leaving, since when, and its length.
    leaving: Option<(Time, Bytes)>,
    /// When the queue may have something for the free transmitter.
    serve_at: Time,
    /// The queue's periodic work is not done before: so that time passes, whatever it answers.
    rests_until: Time,
    random: Random,
}

/// The queue of a link. Most are drop-tail queues: these look at no packet that arrives or leaves and have no periodic work, so a
/// link knows them and asks nothing of them in vain.
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

    /// The queue as any other.
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

    /// Tells a scheme's queue how long the link is busy with a packet.
    #[inline]
    fn on_sent(&mut self, now: Time, wire_len: Bytes, took: Span) {
        if let Discipline::Scheme(queue) = self {
            queue.on_sent(&SentEvent { now, wire_len, took });
        }
    }
}

/// How long a packet keeps the transmitter.
#[derive(Clone, Debug)]
enum Pace {
    /// As long as it takes at this rate; `None`: no time.
    Rate(Option<Rate>),
    /// Until [`Link::release`].
    Shared,
    /// Until a trace of rates has delivered it.
    Trace(Box<Opportunities>),
}

/// A packet that begins to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet.
    pub packet: PacketId,
    /// When its last bit is on the link; [`Time::NEVER`] where the world will say.
    pub until: Time,
    /// The packet's waiting time at this node.
    pub waited: Span,
    /// The number that the queue gave it.
    pub note: Option<u32>,
}

impl Link {
    /// A free link; `rate` `None` means that sending takes no time.
    pub fn new(queue: Box<dyn Queue>, rate: Option<Rate>, random: Random) -> Link {
        let mut link = Link::with_pace(queue, Pace::Rate(rate), random);
        link.start_or_stop(Time::ZERO, rate);
        link
    }

    /// A free link to a medium that it shares with others: after a packet it waits for
    /// [`Link::release`].
    pub fn shared(queue: Box<dyn Queue>, random: Random) -> Link {
        Link::with_pace(queue, Pace::Shared, random)
    }

    /// A free link whose rate changes as a trace says. Its queue is told the mean rate.
    pub fn traced(queue: Box<dyn Queue>, trace: Arc<RateTrace>, random: Random) -> Link {
        Link::with_pace(queue, Pace::Trace(Box::new(Opportunities::new(trace))), random)
    }

    /// A link that takes nothing: what is left of one that was removed.
    pub(crate) fn closed() -> Link {
        let nothing = DropTail::new(QueueLimit::Packets(0));
        Link::with_pace(Box::new(nothing), Pace::Shared, Random::named(0, "closed"))
    }

    fn with_pace(queue: Box<dyn Queue>, pace: Pace, random: Random) -> Link {
        let (busy_until, serve_at, rests_until) = (Time::ZERO, Time::NEVER, Time::ZERO);
        let queue = Discipline::new(queue);
        Link { queue, pace, busy_until, leaving: None, serve_at, rests_until, random }
    }

    /// Changes the rate, from the next packet on. At rate 0 nothing leaves until the rate changes again. On a shared
    /// medium this is the rate that the queue may expect; it does not pace packets. It takes the place of a trace.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if !matches!(self.pace, Pace::Shared) {
            self.pace = Pace::Rate(rate);
            self.start_or_stop(now, rate);
        }
        self.queue.any().on_send_rate(rate, now);
    }

    /// On a shared medium: the packet that left last has left, or is lost. The next one may go.
    pub fn release(&mut self, now: Time) {
        if matches!(self.pace, Pace::Shared) {
            self.busy_until = now;
            if let Some((given, wire_len)) = self.leaving.take() {
                self.queue.on_sent(now, wire_len, now.since(given));
            }
            self.serve_at = if self.queue.backlog().packets > 0 { now } else { Time::NEVER };
        }
    }

    /// The other end sends at another rate from now on.
    pub fn set_receive_rate(&mut self, now: Time, rate: Option<Rate>) {
        self.queue.any().on_receive_rate(rate, now);
        if self.queue.backlog().packets > 0 {
            self.serve_at = now.max(self.busy_until);
        }
    }

    /// On a shared medium: the rate that the face could have ([`Queue::on_fair_rate`]). It comes before the matching
    /// rate.
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

    /// A packet is to leave.
    #[inline]
    pub fn enqueue(&mut self, now: Time, packet: PacketId, pool: &mut PacketPool, dropped: &mut Drops) {
        self.enqueue_since(now, now, packet, pool, dropped);
    }

    /// A packet is to leave that has waited at this node since an earlier time. Whether the queue keeps state of its prefix
    /// from now on.
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

    /// Sends a packet past the queue if it need not wait: the transmitter is free, its rate is known, and the queue is an
    /// empty drop-tail one that would take the packet. When its last bit is on the link; `None` if it has to be enqueued.
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

    /// The next packet to leave at `now`, if the transmitter is free and the queue gives one. Call
    /// it until it answers `None`.
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
                // A queue that asks to be called now again would spin: a nanosecond is progress.
                self.serve_at = time.max(now + Span::from_nanos(1));
                None
            }
            Next::Empty => {
                self.serve_at = Time::NEVER;
                None
            }
        }
    }

    /// A packet arrived by this link from the other end. Whether a packet may leave because of it: then call
    /// [`Link::serve`].
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

    /// The queue's periodic work. It may let packets go earlier than it said, so it is asked again.
    pub fn on_deadline(&mut self, now: Time) {
        if self.periodic_work_at() <= now {
            self.rests_until = now + Span::from_nanos(1);
            self.queue.any().on_deadline(now);
            if self.queue.backlog().packets > 0 {
                self.serve_at = now.max(self.busy_until);
            }
        }
    }

    /// A FIB entry is gone.
    pub fn on_prefix_removed(&mut self, ev: &mut PrefixRemoved<'_>) {
        self.queue.any().on_prefix_removed(ev);
    }

    /// The face is gone: gives up everything that waits.
    pub fn clear(&mut self, now: Time, pool: &mut PacketPool, cleared: &mut Vec<PacketId>) {
        self.queue.any().clear(&mut ClearEvent { now, pool, cleared });
    }

    /// When to call again.
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

    /// Whether its queue looks at what arrives.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        matches!(self.queue, Discipline::Scheme(_))
    }

    /// Has the processor fetch it; reads nothing of it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.queue);
        prefetch(&self.busy_until);
    }

    /// The packets and bytes in the queue.
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
