//! The parts that all window schemes share. A consumer has at most W Interests pending. Marked Data, lost Interests
//! or both are congestion signals. A *law* computes W.
//!
//! ```text
//!   Data, unmarked ----------> if not in recovery ---------------------> law.increase
//!   Data, marked   \
//!   timeout, Nack   > if the scheme reacts to it, at most once a window -> law.decrease
//! ```
//!
//! *Conservative window adaptation*: an Interest that was sent before a decrease met the congestion that caused the
//! decrease. So its loss, or a mark on its Data, is not a new signal, and its Data do not let W grow. This is the
//! recovery of RFC 9002, section 7.3.2, for marks and losses; RFC 6582 and RFC 3168, 6.1.2, define it by segment
//! numbers. Transmissions are counted, so the loss of a retransmission is a new signal. PCON's consumers and catchunks
//! go by segments ([`Recovery::Segment`]): after a decrease they ignore signals until a Data comes whose segment is
//! newer than all segments sent before the decrease. A loss is detected an RTO after its transmission, which is later
//! than such a Data. So there one overflow of a queue decreases W more than once.
//!
//! *Units*: by default W counts Data, as in the papers. With `unit` it counts packets of the path of this
//! many bytes: a Data of 8 kB counts as six of them, both for pending Interests and for the growth of W
//! ([`Unit`]). So a flow requests as many bytes as a flow of TCP.
//!
//! *Spread*: if an Interest leaves at once when a Data comes, its Data joins the queue of the bottleneck just
//! after that Data has left it. So a flow of long Data hardly ever meets a full drop-tail queue, while the
//! flows beside it do: a phase effect. With `spread` each Interest is delayed by a random time, up to the
//! time between two Data ([`SPREAD`]).
//!
//! Each law has its own file: `reno.rs`, `bic.rs`, `cubic.rs`, `bbr.rs`; `paced.rs` is CUBIC with a pace. In NDN a
//! consumer detects a loss only by a timeout or a Nack. There are no duplicate acknowledgements, because Data come from
//! several places, over several paths, and out of order.

pub(crate) mod bbr;
#[cfg(test)]
mod beside;
pub(crate) mod bic;
pub(crate) mod cubic;
mod hystart;
mod own;
pub(crate) mod paced;
#[cfg(test)]
pub(crate) mod pipe;
pub(crate) mod reno;

use core::fmt;

use weir_core::responders::Bases;
use weir_core::seam::params::Setting;
use weir_core::seam::{
    DataReceived, FlowConfig, FlowControl, Gauge, LossEvent, Permit, PermitEvent, Scheme, SendEvent,
};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_core::{choice, parameters};
use weir_packet::MAX_PACKET_SIZE;

use crate::late_data::LateData;

pub use own::own_law;

/// The largest window: the largest distance of a consumer's segments from the oldest missing one.
pub const LARGEST_WINDOW: f64 = (1 << 20) as f64;

/// The largest lateness of an Interest that the next one makes up for. A longer one is not caused by a timer.
const CATCH_UP: Span = Span::from_millis(1);

/// The slowest pace. With a pace near zero, a consumer would never learn that it may be faster.
const LONGEST_INTERVAL: Span = Span::from_secs(10);

/// A law that is built from parameters.
pub(crate) trait Configured: WindowLaw + Sized {
    /// The parsed parameters.
    type Settings: Copy + fmt::Debug + Send;

    /// Builds the law at the start of a flow.
    fn new(settings: Self::Settings) -> Self;
}

/// A law: the rule by which a window changes.
///
/// The common parts are not in it: whether the next Interest may leave, and which congestion signals count.
/// The laws of this crate are in the registry of schemes. For another one, use [`own_law`].
pub trait WindowLaw: fmt::Debug + Send + 'static {
    /// Returns W, packets. A Data is one packet, unless the parameter `unit` is set.
    fn window(&self) -> f64;

    /// Returns the rate of Data for pacing Interests; `None`: all Interests that W allows leave at once.
    fn pacing(&self) -> Option<Rate> {
        None
    }

    /// Returns how long the law's own queue may delay an answer. No Interest counts as lost earlier.
    fn longest_wait(&self) -> Span {
        Span::ZERO
    }

    /// An Interest leaves. `late` is by how much later than the law permitted, because the application had
    /// nothing to request. Transmissions are numbered; the Data, or the loss, has the `number` as its tag.
    fn on_send(&mut self, _ev: &SendEvent<'_>, _number: u32, _late: Span) {}

    /// A Data of this many packets came, marked or not. This is called before all other methods for it.
    fn on_data(&mut self, _ev: &mut DataReceived<'_>, _packets: f64) {}

    /// An Interest is lost. This is called before all other methods for it.
    fn on_loss(&mut self, _ev: &LossEvent<'_>) {}

    /// Returns whether a Data signals congestion. This is called only if marks are signals.
    fn is_marked(&mut self, ev: &mut DataReceived<'_>) -> bool {
        ev.data.header().congestion_mark != 0
    }

    /// A Data of this many packets came without a mark, while W was in use and outside recovery.
    fn increase(&mut self, ev: &DataReceived<'_>, packets: f64);

    /// W was not in use since the last Data: the application had less to request.
    fn on_unused(&mut self, _now: Time) {}

    /// Congestion was signalled.
    fn decrease(&mut self, congestion: &Congestion);

    /// Most Data come from more than twice as far as any did at the last decrease: from the producer behind a
    /// cache that had a part of the content, or over a detour. That decrease gives no information about this
    /// path.
    fn on_longer_path(&mut self) {}
}

/// The shortest time between two changes of the path. The queue of a slow start that overshoots, with its
/// retransmissions, looks like a longer path.
const SETTLES: Span = Span::from_secs(10);

/// The path for which a window was decreased.
#[derive(Debug, Default)]
pub(crate) struct KnownPath {
    /// The shortest round trip of the farthest responder then.
    base: Option<Span>,
    /// The time of the last change of the path.
    left_at: Option<Time>,
}

impl KnownPath {
    /// Counts a Data. Returns whether most Data come from more than twice as far. Then this is the new path.
    pub(crate) fn is_left(&mut self, now: Time, bases: Option<Bases>) -> bool {
        let Some(bases) = bases else { return false };
        let known = self.base.get_or_insert(bases.usual.max(bases.farthest.unwrap_or_default()));
        let is_soon = self.left_at.is_some_and(|at| now.since(at) < SETTLES);
        let is_left = bases.usual > *known * 2 && !is_soon;
        if is_left {
            self.left_at = Some(now);
            self.base = Some(bases.usual);
        }
        is_left
    }

    /// Notes a decrease of the window.
    pub(crate) fn renew(&mut self) {
        self.base = None;
    }
}

/// The kind of a congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A Data came with a congestion mark.
    Mark,
    /// An Interest timed out, or came back as a Nack.
    Loss,
}

/// A congestion signal that counts.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// The kind of the signal.
    pub sign: Sign,
    /// The time of the signal.
    pub now: Time,
    /// The number of pending Interests.
    pub pending: u32,
    /// The number of packets of one Data.
    pub packets: f64,
}

parameters! {
    /// The packet in which W is counted.
    ///
    /// RFC 5681 and RFC 9438 count bytes, in units of the largest segment of the path. By RFC 3465, W grows
    /// by the acknowledged bytes, not by the number of acknowledgements. Here a Data is an acknowledgement,
    /// and its producer chooses its length. A Data longer than a packet of the path travels as several
    /// packets, and is lost if any of them is. So W is decreased as often as that of a TCP flow that sends as
    /// many packets. It grows and limits like that of TCP only if it counts these packets. A shorter Data
    /// counts as one packet.
    ///
    /// By RFC 3465, section 2.3, one acknowledgement raises W by at most two packets, so that a flow does not
    /// send more at once than it received at once. A Data raises W only by its own packets, so there is no
    /// such limit.
    ///
    /// For applications, the default is the SMSS of TCP over an MTU of 1500 with time stamps: 1500 less 20
    /// for IP, 20 for TCP and 12 for the time stamps. So a flow counts packets of the same size as a flow of
    /// TCP beside it (RFC 3465, RFC 9438).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) struct Unit {
        /// the packet in which W is counted, and by which it grows: a Data counts as its size divided by
        /// this, and as at least one; 0 B: each Data is one packet, whatever its size
        packet: Option<Bytes> = bytes("unit") default "0 B" applications "1448 B"
            from "paper: a Data is a packet; `weir get` has 1448 B: RFC 3465, section 2, bytes in segments of a path with \
                  an MTU of 1500";
    }
}

impl Unit {
    /// Each Data is one packet, whatever its size.
    pub(crate) const DATA: Unit = Unit { packet: None };

    /// Returns the number of packets of a Data of this size. A Data of unknown size counts as the largest.
    pub(crate) fn packets(self, size: Bytes) -> f64 {
        let Some(packet) = self.packet else { return 1.0 };
        let size = if size == Bytes::ZERO { MAX_PACKET_SIZE as u64 } else { size.as_u64() };
        (size as f64 / packet.as_u64() as f64).max(1.0)
    }
}

/// The congestion signals to which a consumer reacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signs {
    pub(crate) marks: bool,
    pub(crate) losses: bool,
}

impl Signs {
    /// The words of `react_to`.
    pub(crate) const WORDS: &'static [&'static str] = &["marks", "losses", "both"];
}

impl Setting<&str> for Signs {
    fn of(word: &str) -> Signs {
        Signs { marks: word != "losses", losses: word != "marks" }
    }
}

/// Conservative window adaptation: the signals that count at most once a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Guard {
    pub(crate) marks: bool,
    pub(crate) losses: bool,
    pub(crate) by: Recovery,
    /// The time between two decreases beyond one window, windows.
    pub(crate) add_rtt: f64,
}

choice! {
    /// The end of recovery from a decrease.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Recovery {
        /// For each Interest separately: if it was sent after the decrease.
        Sending = "sending",
        /// For all: when a Data came of a segment beyond the newest one at the decrease.
        Segment = "segment",
    }
}

/// The reactions that window schemes share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reaction {
    pub(crate) signs: Signs,
    pub(crate) guard: Guard,
    /// The smallest RTO.
    pub(crate) min_rto: Span,
    /// Whether Data of lost Interests are subtracted from the pending ones a second time.
    pub(crate) late_data_twice: bool,
    /// The packet in which W is counted.
    pub(crate) unit: Unit,
    /// The largest delay of Interests, as a part of the time between two Data.
    pub(crate) spread: f64,
}

parameters! {
    /// The parameters that all laws share.
    ///
    /// For applications, `spread` is on. Hosts are so punctual that a flow of long Data would lose almost
    /// nothing in a full buffer, while flows of TCP beside it would lose everything that does not fit (Floyd
    /// and Jacobson 1992).
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Common {
        unit: Unit = group;
        /// how much later an Interest leaves than W allows: a random part, up to this, of the time between two Data
        spread: f64 = number("spread", 0.0..=1.0) default "0" applications "1"
            from "paper: none of the laws has it; `weir get` has 1: S. Floyd, V. Jacobson, On Traffic Phase Effects in \
                  Packet-Switched Gateways, 1992, section 3, a random time at the source, as long as a packet takes";
        /// the signals of congestion: marked Data, lost Interests, or both
        signs: Signs = choice("react_to") default "both"
            from "assumed: RFC 3168, a mark has the effect of a loss";
        /// conservative window adaptation: the window is decreased at most once a window of Data
        cwa: bool = switch("cwa") default "true" from "paper: RFC 6582, section 3.2; RFC 3168, section 6.1.2";
        /// `cwa`: the signals that belong to the last decrease: `sending`: those of Interests sent before it; `segment`:
        /// all, until a Data comes whose segment is newer than all segments sent before it
        recovery: Recovery = choice("recovery") default "sending"
            from "paper: RFC 9002, section 7.3.2, which is RFC 6582's rule for segments in any order; files: catchunks, \
                  pcon-client: `segment`";
        /// `cwa`: how much longer than one window of Data two decreases are apart, windows
        add_rtt: f64 = number("add_rtt_suppress", 0.0..=10.0) default "0"
            from "paper: RFC 6582 has none; pcon-client has 0.5, which has no effect while its `cwa` is off";
    }
}

impl Common {
    /// Returns a law's reaction with these parameters.
    pub(crate) fn reaction(self) -> Reaction {
        let Common { unit, spread, signs, cwa, recovery, add_rtt } = self;
        let guard = Guard { marks: cwa, losses: cwa, by: recovery, add_rtt };
        Reaction { signs, guard, min_rto: Span::ZERO, late_data_twice: false, unit, spread }
    }
}

/// The behaviour of ndn-tools' pcon-client under every law: defaults of its variants, after those of the law.
pub(crate) const PCON_CLIENT: [(&str, &str); 6] = [
    ("initial_window", "1"),
    ("min_window", "1"),
    ("react_to", "losses"),
    ("cwa", "false"),
    ("recovery", "segment"),
    ("add_rtt_suppress", "0.5"),
];

/// Joins the defaults of a variant of a law with those that the variant has under every law. `ALL` is the
/// number of both.
pub(crate) const fn join<T: Copy, const OWN: usize, const COMMON: usize, const ALL: usize>(
    own: [T; OWN],
    common: [T; COMMON],
) -> [T; ALL] {
    assert!(ALL == OWN + COMMON, "as many as both have");
    let mut all = [common[0]; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < OWN { own[at] } else { common[at - OWN] };
        at += 1;
    }
    all
}

parameters! {
    /// The bounds of a law's W, packets. Each scheme has its own defaults.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub(crate) struct Bounds {
        /// initial W, packets
        pub(crate) initial: f64 = number("initial_window", 1.0..=1000.0) default "" from "";
        /// smallest W, packets
        pub(crate) least: f64 = number("min_window", 1.0..=1000.0) default "" from "";
    }
}

impl Bounds {
    /// Returns the initial W.
    pub(crate) fn first(&self) -> f64 {
        self.initial.max(self.least)
    }

    /// Returns the window within the bounds.
    pub(crate) fn clamp(&self, window: f64) -> f64 {
        window.clamp(self.least, LARGEST_WINDOW)
    }
}

/// A scheme that consists only of a window law at the consumer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowScheme<L: Configured> {
    pub(crate) law: L::Settings,
    pub(crate) reaction: Reaction,
}

impl<L: Configured> Scheme for WindowScheme<L> {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(WindowFlow::<L>::new(self.law, self.reaction))
    }
}

/// The flow control of a window scheme.
#[derive(Debug)]
pub(crate) struct WindowFlow<L> {
    law: L,
    reaction: Reaction,
    late_data: LateData,
    /// The number of transmissions.
    sent: u64,
    /// The number of transmissions before the last guarded decrease.
    sent_before: u64,
    /// Signals of earlier transmissions, or before Data of a later segment, belong to the congestion of the
    /// last decrease.
    recovery_point: Option<u64>,
    /// The newest segment that came.
    highest_data: u64,
    /// The number of packets of the latest Data.
    packets: f64,
    /// The time at which the pace permits the next Interest.
    paced_until: Time,
    /// The time at which `spread` permits the next Interest.
    held_until: Time,
    /// The smoothed round-trip time of the latest Data.
    srtt: Span,
    path: KnownPath,
    /// The time since which the next Interest could have left.
    could_leave: Option<Time>,
}

impl<L: WindowLaw> WindowFlow<L> {
    /// Returns W, packets.
    pub(crate) fn window(&self) -> f64 {
        self.law.window()
    }

    pub(crate) fn new(settings: L::Settings, reaction: Reaction) -> WindowFlow<L>
    where
        L: Configured,
    {
        WindowFlow::of(L::new(settings), reaction)
    }

    /// Returns the flow control with this law.
    fn of(law: L, reaction: Reaction) -> WindowFlow<L> {
        WindowFlow {
            law,
            reaction,
            late_data: LateData::new(reaction.late_data_twice),
            sent: 0,
            sent_before: 0,
            recovery_point: None,
            highest_data: 0,
            packets: reaction.unit.packets(Bytes::ZERO),
            paced_until: Time::ZERO,
            held_until: Time::ZERO,
            srtt: Span::ZERO,
            path: KnownPath::default(),
            could_leave: None,
        }
    }

    /// Returns the number of a transmission from its tag, which has the lowest bits of it.
    fn number(&self, tag: u32) -> u64 {
        self.sent.saturating_sub(u64::from((self.sent as u32).wrapping_sub(tag)))
    }

    /// A congestion signal: W decreases, unless the signal belongs to the congestion of the last decrease.
    fn on_sign(&mut self, congestion: &Congestion, is_guarded: bool, tag: u32, highest_sent: u64) {
        if is_guarded {
            let Guard { by, add_rtt, .. } = self.reaction.guard;
            let (of, next, on_its_way) = match by {
                Recovery::Sending => (self.number(tag), self.sent, u64::from(congestion.pending)),
                Recovery::Segment => {
                    let on_its_way = highest_sent.saturating_sub(self.highest_data);
                    (self.highest_data, highest_sent.saturating_add(1), on_its_way)
                }
            };
            if self.recovery_point.is_some_and(|point| of < point) {
                return;
            }
            let beyond = (add_rtt * on_its_way as f64) as u64;
            self.recovery_point = Some(next.saturating_add(beyond));
            self.sent_before = self.sent;
        }
        self.law.decrease(congestion);
        self.path.renew();
    }

    /// Returns whether the Interest with this tag was sent before the last guarded decrease. In the programs
    /// with recovery by segments, W grows by its Data nevertheless.
    fn is_in_recovery(&self, tag: u32) -> bool {
        self.reaction.guard.by == Recovery::Sending && self.number(tag) < self.sent_before
    }

    /// Returns the packets of `pending` Interests and one more, with `packets` packets each.
    fn with_another(pending: u32, packets: f64) -> f64 {
        (f64::from(pending) + 1.0) * packets
    }

    /// `spread`: delays the next Interest, which may leave from now on, by a random time.
    fn hold(&mut self, ev: &mut PermitEvent<'_>, packets: f64) {
        let between = self.srtt.scale(packets / self.law.window().max(packets));
        self.held_until = ev.now + between.scale(self.reaction.spread * ev.random.unit());
    }

    /// Returns whether half of W is used. An application that uses less does not test the network (RFC 7661).
    fn is_used(&self, pending: u32, packets: f64) -> bool {
        2.0 * Self::with_another(pending, packets) >= self.law.window()
    }
}

impl<L: WindowLaw> FlowControl for WindowFlow<L> {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        let pending = self.late_data.pending(ev.pending);
        let packets = self.reaction.unit.packets(ev.expected_size);
        if pending > 0 && Self::with_another(pending, packets) > self.law.window() {
            self.could_leave = None;
            return Permit::Blocked;
        }
        let is_paced = self.law.pacing().is_some();
        if self.could_leave.is_none() && self.reaction.spread > 0.0 {
            self.hold(ev, packets);
        }
        let from = if is_paced { self.paced_until } else { self.held_until }.max(ev.now);
        self.could_leave = Some(self.could_leave.map_or(from, |earlier| earlier.min(from)));
        if from > ev.now { Permit::At(from) } else { Permit::Now }
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        let late = self.could_leave.take().map_or(Span::ZERO, |from| ev.now.since(from));
        if let Some(rate) = self.law.pacing() {
            let due = self.paced_until.max(ev.now - CATCH_UP);
            self.paced_until = due + rate.time_for(ev.expected_size).min(LONGEST_INTERVAL);
        }
        if ev.pending == 0 {
            self.law.on_unused(ev.now);
        }
        let number = self.sent as u32;
        self.law.on_send(ev, number, late);
        self.sent += 1;
        number
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.late_data.on_data(ev);
        self.highest_data = self.highest_data.max(ev.segment);
        let packets = self.reaction.unit.packets(ev.expected_size);
        self.packets = packets;
        self.srtt = ev.srtt.unwrap_or_default();
        self.law.on_data(ev, packets);
        if self.path.is_left(ev.now, ev.bases) {
            self.law.on_longer_path();
        }
        if self.reaction.signs.marks && self.law.is_marked(ev) {
            let congestion = Congestion { sign: Sign::Mark, now: ev.now, pending: ev.pending, packets };
            self.on_sign(&congestion, self.reaction.guard.marks, ev.tag, ev.highest_sent);
        } else if !self.is_used(ev.pending, packets) {
            self.law.on_unused(ev.now);
        } else if !self.is_in_recovery(ev.tag) {
            self.law.increase(ev, packets);
        }
    }

    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        self.late_data.on_fewer(ev.pending);
        self.law.on_loss(ev);
        if self.reaction.signs.losses {
            let Self { packets, .. } = *self;
            let congestion = Congestion { sign: Sign::Loss, now: ev.now, pending: ev.pending, packets };
            self.on_sign(&congestion, self.reaction.guard.losses, ev.tag, ev.highest_sent);
        }
    }

    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.max(self.reaction.min_rto).max(self.law.longest_wait()).min(lifetime)
    }

    fn longest_wait(&self) -> Span {
        self.law.longest_wait()
    }

    fn gauge(&self) -> Gauge {
        Gauge::Window(self.law.window())
    }
}

#[cfg(test)]
mod tests {
    use super::pipe::{self, Pipe, article, variant};
    use super::reno::Reno;
    use super::*;
    use weir_core::packet::Packet;
    use weir_core::random::Random;
    use weir_core::seam::params::{Params, Value};
    use weir_core::units::Bytes;

    /// A flow control that the test drives by hand: Reno with a window of 64, in congestion avoidance.
    struct Bench {
        flow: WindowFlow<Reno>,
        random: Random,
        highest_sent: u64,
        pending: u32,
    }

    impl Bench {
        fn new(set: &[(&str, Value)]) -> Bench {
            let params = Params::resolve(reno::ENTRY.parameters, set.iter().map(|(k, v)| (*k, v))).unwrap();
            let bounds = Bounds { initial: 128.0, least: 2.0 };
            let mut flow = WindowFlow::<Reno>::new(
                reno::Settings { beta: 0.5, bounds },
                Common::new(&params).reaction(),
            );
            flow.law.decrease(&pipe::LOSS);
            Bench { flow, random: Random::named(1, "bench"), highest_sent: 0, pending: 0 }
        }

        /// Sends these segments. Returns their tags.
        fn send(&mut self, segments: core::ops::Range<u64>) -> Vec<u32> {
            segments.map(|segment| self.send_one(segment)).collect()
        }

        fn send_one(&mut self, segment: u64) -> u32 {
            self.highest_sent = self.highest_sent.max(segment);
            self.pending += 1;
            self.flow.on_send(&mut SendEvent {
                now: Time::ZERO,
                interest: &mut Packet::default(),
                segment,
                retransmission: false,
                is_permitted: true,
                pending: self.pending - 1,
                expected_size: Bytes::new(1100),
                random: &mut self.random,
            })
        }

        fn data(&mut self, segment: u64, tag: u32, mark: u64) -> f64 {
            let mut packet = Packet::default();
            packet.header_mut().congestion_mark = mark;
            self.pending -= 1;
            let (pending, highest_sent) = (self.pending, self.highest_sent);
            let data = pipe::data(&packet, Time::ZERO, Span::ZERO, &mut self.random);
            self.flow.on_data(&mut DataReceived { segment, tag, pending, highest_sent, ..data });
            self.flow.law.window()
        }

        /// Delivers the Data of an Interest that was lost and not retransmitted.
        fn late_data(&mut self) {
            let packet = Packet::default();
            let (pending, highest_sent) = (self.pending, self.highest_sent);
            let data = pipe::data(&packet, Time::ZERO, Span::ZERO, &mut self.random);
            self.flow.on_data(&mut DataReceived { was_pending: false, pending, highest_sent, ..data });
        }

        /// Returns how many Interests may be pending.
        fn room(&mut self) -> u32 {
            let may_leave = |pending: &u32| {
                let (now, random) = (Time::ZERO, &mut self.random);
                let mut ev = PermitEvent { now, pending: *pending, expected_size: Bytes::ZERO, random };
                self.flow.permit(&mut ev) == Permit::Now
            };
            (0..).take_while(may_leave).count() as u32
        }

        /// Decreases W to its minimum.
        fn lose_all(&mut self) {
            (0..10).for_each(|_| self.flow.law.decrease(&pipe::LOSS));
        }

        fn lose(&mut self, segment: u64, tag: u32) -> f64 {
            self.pending -= 1;
            let (pending, highest_sent, random) = (self.pending, self.highest_sent, &mut self.random);
            let now = Time::ZERO;
            self.flow.on_timeout(&mut LossEvent { now, segment, tag, pending, highest_sent, random });
            self.flow.law.window()
        }
    }

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    /// The fault of ndnSIM's consumers: each late Data permanently permits one more pending Interest than W.
    #[test]
    fn late_data_that_are_taken_off_twice_let_more_be_pending_than_the_window_says() {
        for (twice, more) in [(false, 0), (true, 3)] {
            let mut bench = Bench::new(&[]);
            bench.flow.late_data = LateData::new(twice);
            let tags = bench.send(0..64);
            for segment in 0..3 {
                bench.lose(segment, tags[segment as usize]);
            }
            (0..3).for_each(|_| bench.late_data());
            let window = bench.flow.law.window() as u32;
            assert_eq!(bench.room(), window + more, "{twice}");
            for segment in 3..40 {
                bench.data(segment, tags[segment as usize], 0);
            }
            let window = bench.flow.law.window() as u32;
            assert_eq!(bench.room(), window + more, "{twice}, later");
        }
    }

    #[test]
    fn what_was_sent_before_a_decrease_is_no_other_sign() {
        let mut bench = Bench::new(&[]);
        let before = bench.send(0..60);
        assert_eq!(bench.lose(3, before[3]), 32.0);
        assert_eq!(bench.lose(4, before[4]), 32.0, "of the same congestion");
        assert_eq!(bench.data(5, before[5], 1), 32.0, "so is its mark");
        let again = bench.send_one(3);
        let after = bench.send(60..64);
        assert!(bench.data(60, after[0], 0) > 32.0);
        assert!(
            (32.0..33.0).contains(&bench.lose(6, before[6])),
            "lost before that Data came, known after it"
        );
        assert!((16.0..17.0).contains(&bench.lose(3, again)), "lost once more: that is new");
        assert!((16.0..17.0).contains(&bench.data(61, after[1], 1)), "sent before that");
        let newest = bench.send_one(64);
        assert!((8.0..9.0).contains(&bench.data(64, newest, 1)));
    }

    #[test]
    fn data_of_before_a_decrease_do_not_let_the_window_grow() {
        for (recovery, grows) in [("sending", false), ("segment", true)] {
            let mut bench = Bench::new(&[("recovery", text(recovery))]);
            let before = bench.send(0..60);
            bench.lose(0, before[0]);
            assert_eq!(bench.data(1, before[1], 0) > 32.0, grows, "{recovery}");
            let after = bench.send_one(60);
            assert!(bench.data(60, after, 0) > 32.0);
        }
    }

    #[test]
    fn by_segments_recovery_ends_for_all_with_a_data_beyond_the_newest_one_of_then() {
        let mut bench = Bench::new(&[("recovery", text("segment"))]);
        let before = bench.send(0..60);
        assert_eq!(bench.lose(3, before[3]), 32.0);
        assert!((32.0..33.0).contains(&bench.data(59, before[59], 0)), "the newest one of then");
        assert!((32.0..33.0).contains(&bench.lose(4, before[4])));
        let after = bench.send_one(60);
        bench.data(60, after, 0);
        assert!((16.0..17.0).contains(&bench.lose(5, before[5])), "known too late: the programs count it");
    }

    #[test]
    fn two_decreases_may_be_further_apart() {
        for recovery in ["sending", "segment"] {
            let mut bench =
                Bench::new(&[("recovery", text(recovery)), ("add_rtt_suppress", Value::Float(0.5))]);
            let before = bench.send(0..61);
            bench.data(0, before[0], 0);
            // Some 60 Interests are pending. Signals of half as many more belong to the same congestion.
            bench.lose(1, before[1]);
            let after = bench.send(61..100);
            assert!(bench.data(61, after[0], 1) > 31.0, "{recovery}");
            assert!(bench.data(85, after[24], 1) > 31.0, "{recovery}");
            assert!(bench.data(95, after[34], 0) > 31.0, "{recovery}");
            assert!(bench.data(96, after[35], 1) < 17.0, "{recovery}");
        }
    }

    #[test]
    fn without_the_guard_every_sign_counts() {
        let mut bench = Bench::new(&[("cwa", Value::Bool(false))]);
        let before = bench.send(0..60);
        assert_eq!(bench.lose(3, before[3]), 32.0);
        assert_eq!(bench.lose(4, before[4]), 16.0);
        assert_eq!(bench.data(5, before[5], 1), 8.0);
        assert!(bench.data(6, before[6], 0) > 8.0, "and there is no recovery");
    }

    #[test]
    fn it_reacts_to_what_it_is_told_to() {
        for (react_to, after_mark, after_loss) in
            [("marks", true, false), ("losses", false, true), ("both", true, true)]
        {
            let halves = |act: fn(&mut Bench, u32) -> f64| {
                let mut bench = Bench::new(&[("react_to", text(react_to))]);
                let tags = bench.send(0..60);
                act(&mut bench, tags[0]) == 32.0
            };
            assert_eq!(halves(|bench, tag| bench.data(0, tag, 1)), after_mark, "{react_to}");
            assert_eq!(halves(|bench, tag| bench.lose(0, tag)), after_loss, "{react_to}");
        }
    }

    /// RFC 7661: a window grows only while it is used.
    #[test]
    fn a_window_of_which_less_than_half_is_used_does_not_grow() {
        let mut bench = Bench::new(&[]);
        let tags = bench.send(0..32);
        assert!(bench.data(0, tags[0], 0) > 64.0, "32 of 64");
        let grown = bench.flow.law.window();
        assert_eq!(bench.data(1, tags[1], 0), grown, "31 of them");
    }

    #[test]
    fn a_data_is_as_many_packets_as_it_is_long() {
        let unit = Unit { packet: Some(Bytes::new(1448)) };
        for (size, packets) in [(8688, 6.0), (1448, 1.0), (100, 1.0), (2172, 1.5)] {
            assert_eq!(unit.packets(Bytes::new(size)), packets);
            assert_eq!(Unit::DATA.packets(Bytes::new(size)), 1.0);
        }
        assert_eq!(unit.packets(Bytes::ZERO), 8800.0 / 1448.0, "unknown: the longest");
    }

    #[test]
    fn pending_data_count_as_their_packets() {
        // W is 64, and a Data of unknown size is 16 packets.
        let mut bench = Bench::new(&[("unit", text("550 B"))]);
        assert_eq!(bench.room(), 4);
        // Each Data of 1100 B counts as two.
        let tags = bench.send(0..17);
        assert!(bench.data(0, tags[0], 0) > 64.0, "34 of 64 were used");
        let grown = bench.flow.law.window();
        assert!((grown - 64.0 - 2.0 / 64.0).abs() < 1e-9, "{grown}");
        (1..3).for_each(|segment| {
            bench.data(segment, tags[segment as usize], 0);
        });
        let grown = bench.flow.law.window();
        assert_eq!(bench.data(3, tags[3], 0), grown, "28 of them");
        // A window of less than a Data permits one.
        let mut bench = Bench::new(&[("unit", text("100 B"))]);
        bench.lose_all();
        assert_eq!(bench.room(), 1);
    }

    #[test]
    fn numbers_of_sendings_are_told_from_their_ends() {
        let mut bench = Bench::new(&[]);
        bench.flow.sent = (1 << 33) + 2;
        for (tag, number) in [(1, (1 << 33) + 1), (0, 1 << 33), (u32::MAX, (1 << 33) - 1)] {
            assert_eq!(bench.flow.number(tag), number);
        }
    }

    /// Returns how often W was decreased, and the used part of the link.
    fn decreases(entry: &crate::registry::Entry, params: &Params, pipe: Pipe, secs: u64) -> (usize, f64) {
        let got = pipe.run((entry.build)(params).flow_control(&pipe::FLOW), secs);
        let fell = got.windows.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
        (fell, got.bits as f64 / (pipe.rate.unwrap().as_bps() as f64 * secs as f64))
    }

    /// A queue that overflows loses several Interests of one window. Each loss is detected an RTO after its
    /// transmission.
    #[test]
    fn an_overflow_is_one_decrease() {
        let rate = Some(Rate::from_mbps(10));
        let pipe = Pipe { rate, limit: 20, delay: Span::from_millis(20), ..Pipe::default() };
        let by_segment = Value::Text("segment".to_owned());
        let segment = Params::resolve(reno::ENTRY.parameters, [("recovery", &by_segment)]).unwrap();
        let (few, used) = decreases(&reno::ENTRY, &article(&reno::ENTRY), pipe, 60);
        let (many, less) = decreases(&reno::ENTRY, &segment, pipe, 60);
        assert!(used > 0.9 && less < 0.85, "{used} used, by segments {less}");
        assert!(few < many, "{few} decreases, by segments {many}");
    }

    /// Runs every law on a link that marks a Data if 50 wait, and would drop it if 1000 wait.
    #[test]
    fn marks_keep_a_queue_short_and_the_link_busy() {
        let rate = Some(Rate::from_mbps(10));
        let pipe =
            Pipe { rate, limit: 1000, mark_above: 50, delay: Span::from_millis(20), ..Pipe::default() };
        for entry in [&reno::ENTRY, &bic::ENTRY, &cubic::ENTRY] {
            let got = pipe.run((entry.build)(&article(entry)).flow_control(&pipe::FLOW), 60);
            let used = got.bits as f64 / (10e6 * 60.0);
            assert_eq!(got.lost, 0, "{}", entry.name);
            assert!(used > 0.95, "{}: {used} used", entry.name);
            let steady = got.windows.iter().filter(|(at, _)| at.as_secs_f64() > 5.0);
            let most = steady.map(|(_, window)| *window).fold(0.0, f64::max);
            assert!(most < 23.0 + 50.0 + 40.0, "{}: W up to {most}", entry.name);
            let deaf = pipe.run((entry.build)(&variant(entry, "pcon-client")).flow_control(&pipe::FLOW), 60);
            assert!(deaf.lost > 0, "{}: it listens to losses only", entry.name);
        }
    }
}
