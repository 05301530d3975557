//! The consumer: discovers paths, and divides one sequence of segments among its sub-flows.
//!
//! ```text
//!   Interests that explore --> Data with an unknown label --> a new sub-flow
//!   each sub-flow: a pacer at u_r; whichever is due sends the next segment
//!   fairness (16): α_r = α_s·x_r/y_s
//! ```
//!
//! A Data belongs to the sub-flow of its Interest if its label is the label of that path, or of the consumer's end of it:
//! then a cache on the path answered. Otherwise the Interest took another path, by name, by a random choice, or because it
//! was aggregated. Then the Data belongs to the sub-flow of that path. If the path is unknown, it becomes a new sub-flow. If
//! the known label covers only the consumer's end of the path, because a cache answered first, the Data completes it.

use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};

use super::Settings;
use super::label::Label;
use super::signals::HopsAndFlags;
use super::subflow::{Arrival, NUMBERS, Subflow, is_since};
use crate::pacing;

/// The largest number of sub-flows. It is bounded because labels come from the network.
const SUBFLOWS: usize = 16;
/// Bits of a tag that hold the slot of the sub-flow. The highest slot means exploration. The bits above hold
/// the Interest's number.
const SLOT_BITS: u32 = 6;
const EXPLORER: u32 = (1 << SLOT_BITS) - 1;
/// The time between explorations is multiplied by this if an exploration finds nothing new.
const PATIENCE: f64 = 1.25;
/// A path is kept for at least this number of control cycles without Data.
const UNHEARD_CYCLES: u64 = 4;

/// The next action that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Exploration,
    Subflow(usize),
}

/// The consumer's flow control.
#[derive(Debug)]
pub(super) struct Consumer {
    settings: Settings,
    /// The sub-flows; never empty.
    subflows: Vec<Subflow>,
    explore_at: Time,
    /// The time between explorations.
    exploration: Span,
    /// The number of the next Interest.
    number: u32,
    /// The expected size of Data, for the gauge.
    size: Bytes,
}

impl Consumer {
    pub(super) fn new(settings: Settings) -> Consumer {
        let by_name = Subflow::new(Label::NONE, 0, 0, Time::ZERO, &settings);
        Consumer {
            settings,
            subflows: vec![by_name],
            explore_at: Time::NEVER,
            exploration: settings.exploration,
            number: 0,
            size: Bytes::ZERO,
        }
    }

    fn first_due(&self, now: Time) -> (Time, Due) {
        let mut first = (self.explore_at, Due::Exploration);
        for (place, subflow) in self.subflows.iter().enumerate() {
            if subflow.pacer.due() < first.0 && (first.1 != Due::Exploration || self.explore_at > now) {
                first = (subflow.pacer.due(), Due::Subflow(place));
            }
        }
        first
    }

    /// Returns the next sub-flow in turn, for a greedy source, which sends without a permit.
    fn unasked(&mut self, now: Time) -> Due {
        if self.explore_at <= now {
            return Due::Exploration;
        }
        Due::Subflow(pacing::deal(&mut self.subflows, |one| one.requested, |one| &mut one.credit))
    }

    /// Ends the control cycles whose time is over.
    fn end_cycles(&mut self, now: Time) {
        for place in 0..self.subflows.len() {
            if self.subflows[place].cycle_ends() <= now {
                self.subflows[place].end_cycle(now, self.number, &self.settings);
                self.share_set_point();
            }
        }
    }

    /// (16): α_r = α_s·x_r/y_s. Raises a small α_r to the minimum; the sum remains α_s (condition 2).
    fn share_set_point(&mut self) {
        let total: f64 = self.subflows.iter().map(|subflow| subflow.rate).sum();
        let (whole, count) = (self.settings.set_point, self.subflows.len() as f64);
        let least = self.settings.least_set_point.min(whole / count);
        for subflow in &mut self.subflows {
            let part = if total > 0.0 { subflow.rate / total } else { 1.0 / count };
            subflow.set_point = least + (whole - count * least) * part;
        }
    }

    /// Sends an Interest that looks for paths.
    fn explore(&mut self, ev: &mut SendEvent<'_>) {
        // The times are random: consumers that started together would otherwise explore together for ever.
        self.explore_at = ev.now + self.exploration.scale(0.5 + ev.random.unit());
        self.exploration = self.exploration.scale(PATIENCE).min(self.settings.longest_exploration);
        HopsAndFlags::EXPLORING.write(ev.interest);
        self.forget_unheard(ev.now);
    }

    /// Schedules an exploration soon, because something new was found.
    fn explore_soon(&mut self, now: Time) {
        self.exploration = self.settings.exploration;
        self.explore_at = self.explore_at.min(now + self.exploration);
    }

    /// Gives up paths without Data. If none is left, Interests are forwarded by name again.
    fn forget_unheard(&mut self, now: Time) {
        let memory = self.settings.path_memory;
        let is_lost = |subflow: &Subflow| {
            let memory = memory.max(subflow.cycle() * UNHEARD_CYCLES);
            subflow.unheard_since.is_some_and(|since| now.since(since) > memory)
        };
        if !self.subflows.iter().any(is_lost) {
            return;
        }
        self.subflows.retain(|subflow| !is_lost(subflow));
        if self.subflows.is_empty() {
            self.subflows.push(Subflow::new(Label::NONE, 0, self.number, now, &self.settings));
        }
        self.explore_soon(now);
        self.share_set_point();
    }

    /// Returns the sub-flow that sent the Interest with this tag, if it still exists.
    fn of_tag(&self, tag: u32) -> Option<usize> {
        let (slot, number) = (tag & EXPLORER, tag >> SLOT_BITS);
        self.subflows.iter().position(|subflow| subflow.slot == slot && is_since(number, subflow.since))
    }

    /// Returns the sub-flow of the path by which a Data came.
    fn of_label(&mut self, label: Label, now: Time) -> Option<usize> {
        if let Some(place) = self.subflows.iter().position(|subflow| subflow.label.covers(label)) {
            return Some(place);
        }
        self.explore_soon(now);
        if let Some(place) = self.subflows.iter().position(|subflow| label.covers(subflow.label)) {
            self.subflows[place].label = label;
            return Some(place);
        }
        if self.subflows.len() >= SUBFLOWS {
            return None;
        }
        let is_free = |slot: &u32| self.subflows.iter().all(|subflow| subflow.slot != *slot);
        let slot = (0..EXPLORER).find(is_free)?;
        self.subflows.push(Subflow::new(label, slot, self.number, now, &self.settings));
        Some(self.subflows.len() - 1)
    }
}

impl FlowControl for Consumer {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        self.end_cycles(ev.now);
        Permit::At(self.first_due(ev.now).0)
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        let due = if ev.is_permitted { self.first_due(ev.now).1 } else { self.unasked(ev.now) };
        let number = self.number;
        self.number = (self.number + 1) & NUMBERS;
        let slot = match due {
            Due::Exploration => {
                self.explore(ev);
                EXPLORER
            }
            Due::Subflow(place) => {
                let subflow = &mut self.subflows[place];
                subflow.on_send(ev.now, number);
                subflow.label.write(ev.interest);
                if subflow.is_announcing(ev.now) {
                    HopsAndFlags::PROBING.write(ev.interest);
                }
                subflow.slot
            }
        };
        number << SLOT_BITS | slot
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.size = ev.expected_size;
        self.end_cycles(ev.now);
        if self.explore_at == Time::NEVER {
            self.explore_at = ev.now + self.exploration;
        }
        let (label, octet) = (Label::of(ev.data), HopsAndFlags::of(ev.data));
        let asked = self.of_tag(ev.tag);
        let is_of = |place: &usize| octet.is_aggregated() || self.subflows[*place].label.covers(label);
        let place = match asked.filter(is_of) {
            // The Data was on the path of another Interest.
            None if octet.is_aggregated() => None,
            None => self.of_label(label, ev.now),
            place => place,
        };
        let Some(place) = place else { return };
        let arrival = Arrival {
            now: ev.now,
            hops: octet.hops(),
            rtt: ev.rtt.filter(|_| !octet.is_aggregated()),
            waited: ev.rtt,
            drain: octet.is_drain(),
            is_aggregated: octet.is_aggregated(),
            number: ev.tag >> SLOT_BITS,
            next_number: self.number,
        };
        self.subflows[place].on_data(&arrival, &self.settings);
    }

    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        if let Some(place) = self.of_tag(ev.tag) {
            self.subflows[place].on_loss();
        }
        self.end_cycles(ev.now);
    }

    /// The timeout is at least that of the slowest path. With several paths, most answers come by the faster
    /// ones.
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.max(self.longest() * 2).min(lifetime)
    }

    /// With several paths and sources, later Interests overtake earlier ones.
    fn longest_wait(&self) -> Span {
        self.longest().scale(PATIENCE)
    }

    fn gauge(&self) -> Gauge {
        let interests: f64 = self.subflows.iter().map(|subflow| subflow.requested).sum();
        Gauge::Rate(Rate::from_bps_f64(interests * self.size.bits() as f64))
    }
}

impl Consumer {
    /// Returns the longest recent round trip.
    fn longest(&self) -> Span {
        self.subflows.iter().map(Subflow::cycle).max().unwrap_or(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::super::signals::{HOPS_AND_FLAGS, SWITCH_LABEL};
    use super::super::states::State;
    use super::*;
    use weir_core::ids::FaceId;
    use weir_core::packet::Packet;
    use weir_core::random::Random;

    const SIZE: Bytes = Bytes::new(1000);
    const RTT: Span = Span::from_millis(100);

    /// An Interest that was sent: its fields and its tag.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Sent {
        label: Option<u64>,
        octet: HopsAndFlags,
        tag: u32,
    }

    /// A consumer, with a test in the place of the network.
    struct Bench {
        consumer: Consumer,
        random: Random,
        now: Time,
        is_permitted: bool,
        /// Round-trip time of the link without its queue.
        rtt: Span,
    }

    impl Bench {
        fn new() -> Bench {
            let (random, now) = (Random::named(1, "flow"), Time::from_nanos(1));
            Bench { consumer: Consumer::new(Settings::usual()), random, now, is_permitted: true, rtt: RTT }
        }

        fn permit(&mut self) -> Time {
            let (now, random) = (self.now, &mut self.random);
            let ev = &mut PermitEvent { now, pending: 0, expected_size: SIZE, random };
            match self.consumer.permit(ev) {
                Permit::Now => now,
                Permit::At(time) => time,
                Permit::Blocked => Time::NEVER,
            }
        }

        fn send(&mut self) -> Sent {
            let mut interest = Packet::default();
            let tag = self.consumer.on_send(&mut SendEvent {
                now: self.now,
                interest: &mut interest,
                segment: 0,
                retransmission: false,
                is_permitted: self.is_permitted,
                pending: 0,
                expected_size: SIZE,
                random: &mut self.random,
            });
            let label = interest.header().signals.value(&SWITCH_LABEL);
            Sent { label, octet: HopsAndFlags::of(&interest), tag }
        }

        /// Returns the Interests sent until `until`, each at the time when it was due.
        fn run(&mut self, until: Time) -> Vec<Sent> {
            let mut sent = Vec::new();
            while self.permit() <= until {
                self.now = self.now.max(self.permit());
                sent.push(self.send());
            }
            self.now = until;
            sent
        }

        /// Returns the answer to an Interest, from a source that is `path.len()` hops away.
        fn answer(&mut self, tag: u32, path: &[u32], rtt: Option<Span>, flags: u64) {
            let mut data = Packet::default();
            path.iter().for_each(|face| super::super::switching::note_arrival(&mut data, FaceId(*face)));
            let octet = data.header().signals.value(&HOPS_AND_FLAGS).unwrap_or(0) | flags;
            data.header_mut().signals.set(&HOPS_AND_FLAGS, octet);
            self.receive(&data, tag, rtt);
        }

        fn receive(&mut self, data: &Packet, tag: u32, rtt: Option<Span>) {
            self.consumer.on_data(&mut DataReceived {
                now: self.now,
                data,
                segment: 0,
                rtt,
                srtt: rtt,
                bases: None,
                tag,
                was_pending: true,
                pending: 0,
                highest_sent: 0,
                oldest_missing: 0,
                lost: 0..0,
                expected_size: SIZE,
                random: &mut self.random,
            });
        }

        fn lose(&mut self, tag: u32) {
            let (now, random) = (self.now, &mut self.random);
            let ev = &mut LossEvent { now, segment: 0, tag, pending: 0, highest_sent: 0, random };
            self.consumer.on_timeout(ev);
        }

        /// Answers each Interest after one round trip, for `duration`, by the path of its label. Exploring
        /// Interests use the last path.
        fn live(&mut self, duration: Span, paths: &[&[u32]], rtt: Span) {
            let end = self.now + duration;
            let mut pending = std::collections::VecDeque::new();
            while self.now < end {
                let answered = pending.front().map_or(Time::NEVER, |(at, _)| *at);
                self.now = self.permit().max(self.now).min(answered).min(end);
                if let Some((at, sent)) = pending.pop_front_if(|(at, _): &mut (Time, Sent)| *at <= self.now) {
                    let way = paths.iter().find(|path| sent.label.is_some() && sent.label == label(path));
                    assert!(at <= self.now);
                    self.answer(sent.tag, way.unwrap_or(&paths[paths.len() - 1]), Some(rtt), 0);
                } else if self.permit() <= self.now {
                    let sent = self.send();
                    pending.push_back((self.now + rtt, sent));
                }
            }
        }

        /// Answers over a link of 1000 Data a second, for `duration`. Everything sent before `until_heard` is
        /// lost. Returns the smallest u_r.
        fn link(&mut self, duration: Span, until_heard: Time) -> f64 {
            let (end, timeout) = (self.now + duration, Span::from_millis(300));
            let mut pending = std::collections::VecDeque::<(Time, Sent, Option<Span>)>::new();
            let mut least = f64::INFINITY;
            let mut free = self.now;
            while self.now < end || !pending.is_empty() {
                let answered = pending.front().map_or(Time::NEVER, |(at, ..)| *at);
                let due = if self.now < end { self.permit().max(self.now).min(end) } else { Time::NEVER };
                self.now = due.min(answered);
                let is_answer = |(at, ..): &mut (Time, Sent, Option<Span>)| *at <= self.now;
                least = least.min(self.requested());
                if let Some((_, sent, rtt)) = pending.pop_front_if(is_answer) {
                    match rtt {
                        Some(rtt) => self.answer(sent.tag, &[2, 1], Some(rtt), 0),
                        None => self.lose(sent.tag),
                    }
                } else if self.now < end && self.permit() <= self.now {
                    let (left, sent) = (self.now, self.send());
                    if left < until_heard {
                        pending.push_back((left + timeout, sent, None));
                    } else {
                        free = free.max(left + self.rtt) + Span::from_millis(1);
                        pending.push_back((free, sent, Some(free.since(left))));
                    }
                }
            }
            least
        }

        fn requested(&self) -> f64 {
            self.consumer.subflows[0].requested
        }

        fn labels(&self) -> Vec<Label> {
            self.consumer.subflows.iter().map(|subflow| subflow.label).collect()
        }
    }

    fn label(path: &[u32]) -> Option<u64> {
        let mut data = Packet::default();
        path.iter().for_each(|face| super::super::switching::note_arrival(&mut data, FaceId(*face)));
        data.header().signals.value(&SWITCH_LABEL)
    }

    /// A consumer that knows these paths. All of them are still in RP.
    fn knowing(paths: &[&[u32]]) -> Bench {
        let mut bench = Bench::new();
        let first = bench.send();
        bench.now += RTT;
        paths.iter().for_each(|path| bench.answer(first.tag, path, Some(RTT), 0));
        bench
    }

    /// A consumer whose rate has converged on a link of 1000 Data a second.
    fn converged() -> Bench {
        let mut bench = knowing(&[&[2, 1]]);
        bench.link(Span::from_secs(20), Time::ZERO);
        assert!((900.0..1100.0).contains(&bench.requested()), "{}", bench.requested());
        assert!(matches!(bench.consumer.subflows[0].state, State::Converging(_)));
        bench
    }

    #[test]
    fn a_pause_of_the_application_does_not_lower_the_rate() {
        for pause in [80, 150, 300, 1000, 10_000] {
            let mut bench = converged();
            bench.now += Span::from_millis(pause);
            let least = bench.link(Span::from_secs(3), Time::ZERO);
            assert!(least > 450.0, "{pause} ms: {least}");
            assert!(bench.requested() > 700.0, "{pause} ms: {}", bench.requested());
        }
    }

    /// Round trips become longer by 40 ms, and then by 300 ms. 40 ms is the time of 40 packets, where 20
    /// should be queued.
    #[test]
    fn the_rate_stays_that_of_the_link_when_the_path_becomes_longer() {
        for longer in [5, 40, 300] {
            let mut bench = converged();
            bench.rtt = RTT + Span::from_millis(longer);
            bench.link(Span::from_secs(12), Time::ZERO);
            bench.link(Span::from_secs(3), Time::ZERO);
            assert!(bench.requested() > 900.0, "{longer} ms: {}", bench.requested());
        }
    }

    #[test]
    fn after_a_blackout_half_of_the_rate_is_gone_on_with() {
        let mut bench = converged();
        let back = bench.now + Span::from_millis(900);
        bench.link(Span::from_secs(4), back);
        assert!(bench.requested() > 700.0, "{}", bench.requested());
    }

    #[test]
    fn who_has_all_its_interests_aggregated_does_not_have_others_drain_for_ever() {
        let mut bench = Bench::new();
        let mut flags = Vec::new();
        for n in 0..100 {
            bench.now = bench.permit().max(bench.now);
            let sent = bench.send();
            bench.answer(sent.tag, &[2, 1], Some(RTT), 128);
            flags.push((n, sent.octet.is_probing()));
        }
        assert!(flags[1].1 && flags[90..].iter().all(|(_, is_probing)| !is_probing), "{flags:?}");
        assert!(bench.requested() > 100.0, "the time that they waited counts as a round trip");
    }

    #[test]
    fn an_aggregated_interest_that_explores_makes_no_path() {
        let mut bench = knowing(&[&[2, 1]]);
        bench.now = bench.consumer.explore_at;
        let sent = bench.send();
        assert!(sent.octet.is_exploring());
        bench.answer(sent.tag, &[7, 1], None, 128);
        assert_eq!(bench.labels().len(), 1);
    }

    #[test]
    fn the_first_interests_go_by_name_ten_a_second_and_probe_round_trips() {
        let mut bench = Bench::new();
        let sent = bench.run(Time::ZERO + Span::from_millis(950));
        assert_eq!(sent.len(), 10);
        assert!(
            sent.iter().all(|sent| sent.label.is_none() && sent.octet == HopsAndFlags::PROBING),
            "{sent:?}"
        );
    }

    #[test]
    fn the_label_of_a_data_is_what_interests_carry() {
        let mut bench = knowing(&[&[3, 2, 1]]);
        let sent = bench.run(bench.now + Span::from_millis(90));
        assert!(!sent.is_empty());
        let own = sent.iter().filter(|sent| !sent.octet.is_exploring());
        assert!(own.clone().count() > 0 && own.clone().all(|sent| sent.label == label(&[3, 2, 1])));
    }

    #[test]
    fn an_unknown_label_makes_a_path_and_a_source_on_a_known_one_does_not() {
        let mut bench = knowing(&[&[3, 2, 1], &[4, 2, 1]]);
        assert_eq!(bench.labels().len(), 2);
        let tag = bench.send().tag;
        for nearer in [&[2, 1][..], &[1], &[]] {
            bench.answer(tag, nearer, Some(RTT), 0);
        }
        assert_eq!(bench.labels().len(), 2);
    }

    #[test]
    fn a_label_that_a_cache_cut_short_is_completed() {
        let mut bench = knowing(&[&[2, 1], &[3, 2, 1]]);
        assert_eq!(bench.labels().len(), 1);
        assert_eq!(bench.send().label, label(&[3, 2, 1]));
    }

    #[test]
    fn strange_labels_and_hop_counts_take_bounded_room() {
        let mut bench = Bench::new();
        let tag = bench.send().tag;
        for n in 0..10_000_u64 {
            let mut data = Packet::default();
            data.header_mut().signals.set(&SWITCH_LABEL, n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            data.header_mut().signals.set(&HOPS_AND_FLAGS, n.wrapping_mul(0xBF58_476D_1CE4_E5B9));
            bench.now += Span::from_micros(10);
            bench.receive(&data, tag, Some(Span::from_millis(n % 3000)));
            assert!(bench.permit() <= bench.now + Span::from_secs(1));
        }
        assert!(bench.labels().len() <= SUBFLOWS);
    }

    #[test]
    fn a_path_that_nothing_comes_by_is_given_up_and_the_last_one_goes_by_name_again() {
        let (kept, lost): (&[u32], &[u32]) = (&[3, 2, 1], &[4, 2, 1]);
        let mut bench = knowing(&[lost, kept]);
        bench.live(Span::from_secs(1), &[lost, kept], RTT);
        assert_eq!(bench.labels().len(), 2);
        // Now all Data come by one path, whatever the label says.
        bench.live(Span::from_secs(6), &[kept], RTT);
        let left: Vec<_> = bench.consumer.subflows.iter().map(|subflow| subflow.label).collect();
        assert_eq!(left.len(), 1);
        bench.run(bench.now + Span::from_secs(10));
        assert_eq!(bench.labels(), [Label::NONE]);
        assert!(matches!(bench.consumer.subflows[0].state, State::Probing(_)));
    }

    #[test]
    fn where_no_data_has_a_label_there_is_one_subflow_which_grows() {
        let mut bench = Bench::new();
        bench.live(Span::from_secs(5), &[&[]], RTT);
        assert_eq!(bench.labels(), [Label::NONE]);
        assert!(bench.consumer.subflows[0].requested > 100.0, "{}", bench.consumer.subflows[0].requested);
    }

    #[test]
    fn the_set_point_is_divided_as_the_rates_are() {
        let mut bench = knowing(&[&[1], &[2], &[3]]);
        for (subflow, rate) in bench.consumer.subflows.iter_mut().zip([600.0, 390.0, 10.0]) {
            subflow.rate = rate;
        }
        bench.consumer.share_set_point();
        let set_points: Vec<f64> = bench.consumer.subflows.iter().map(|one| one.set_point).collect();
        // (16) with α_s = 20.
        let expected = [12.0, 7.8, 0.2];
        assert!((set_points.iter().sum::<f64>() - 20.0).abs() < 1e-9, "condition 2");
        assert!(set_points.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{set_points:?}");
    }

    #[test]
    fn a_drain_flag_empties_the_queue_but_not_while_probing_nor_by_ones_own_labels() {
        let path: &[u32] = &[2, 1];
        let mut bench = knowing(&[path]);
        let drain = |bench: &mut Bench| {
            let tag = bench.send().tag;
            bench.answer(tag, path, Some(RTT), 64);
            matches!(bench.consumer.subflows[0].state, State::Draining(_))
        };
        assert!(!drain(&mut bench), "it probes");
        bench.live(Span::from_millis(400), &[path], RTT);
        assert!(!matches!(bench.consumer.subflows[0].state, State::Probing(_)));
        assert!(!drain(&mut bench), "its own probing labelled the faces");
        bench.live(Span::from_secs(3), &[path], RTT);
        assert!(!drain(&mut bench), "nothing waits");
        let mut bench = converged();
        assert!(drain(&mut bench));
        assert_eq!(bench.requested(), 2.0);
        bench.link(Span::from_millis(500), Time::ZERO);
        assert!(bench.requested() > 450.0, "an empty queue ends it, within a few round trips");
    }

    #[test]
    fn what_is_sent_again_ends_probing_and_draining_too() {
        let path: &[u32] = &[2, 1];
        let mut bench = knowing(&[path]);
        for _ in 0..5 {
            bench.now = bench.permit().max(bench.now);
            let sent = bench.send();
            bench.now += RTT;
            bench.answer(sent.tag, path, None, 0);
        }
        assert!(!matches!(bench.consumer.subflows[0].state, State::Probing(_)));
    }

    #[test]
    fn an_aggregated_interest_tells_of_no_round_trip_and_no_path() {
        let mut bench = knowing(&[&[2, 1]]);
        let tag = bench.send().tag;
        bench.answer(tag, &[7, 1], Some(Span::from_millis(1)), 128);
        assert_eq!(bench.labels().len(), 1);
        assert_eq!(bench.consumer.subflows[0].cycle(), RTT);
    }

    #[test]
    fn nothing_is_lost_before_the_slowest_path_can_have_answered() {
        let mut bench = knowing(&[&[1]]);
        let tag = bench.send().tag;
        bench.answer(tag, &[2], Some(RTT * 9), 0);
        let (rto, lifetime) = (Span::from_millis(200), Span::from_secs(4));
        assert_eq!(bench.consumer.timeout(rto, lifetime), RTT * 18);
        assert_eq!(bench.consumer.timeout(rto, RTT * 10), RTT * 10);
        assert!(bench.consumer.longest_wait() >= RTT * 9);
    }

    #[test]
    fn losses_end_the_filling() {
        let path: &[u32] = &[2, 1];
        let mut bench = knowing(&[path]);
        bench.live(Span::from_secs(2), &[path], RTT);
        assert!(matches!(bench.consumer.subflows[0].state, State::Filling(_)));
        let lost: Vec<u32> = (0..300).map(|_| bench.send().tag).collect();
        lost.iter().for_each(|tag| bench.lose(*tag));
        bench.live(Span::from_millis(300), &[path], RTT);
        assert!(!matches!(bench.consumer.subflows[0].state, State::Filling(_)));
    }

    #[test]
    fn a_greedy_source_divides_its_interests_as_the_rates_are() {
        let mut bench = knowing(&[&[1], &[2]]);
        bench.is_permitted = false;
        for (subflow, rate) in bench.consumer.subflows.iter_mut().zip([600.0, 300.0]) {
            subflow.requested = rate;
        }
        let mut counts = [0_i32; 3];
        for _ in 0..900 {
            bench.now += Span::from_micros(100);
            let sent = bench.send();
            let of = [label(&[1]), label(&[2])].iter().position(|label| sent.label == *label);
            counts[of.unwrap_or(2)] += 1;
        }
        assert!((counts[0] - 2 * counts[1]).abs() <= 3, "{counts:?}");
    }

    #[test]
    fn explorations_grow_apart_while_they_find_nothing() {
        let mut bench = knowing(&[&[2, 1]]);
        let mut tag = 0;
        for _ in 0..30 {
            bench.now = bench.consumer.explore_at;
            let sent = bench.send();
            assert_eq!((sent.label, sent.octet), (None, HopsAndFlags::EXPLORING));
            tag = sent.tag;
            bench.answer(tag, &[2, 1], Some(RTT), 0);
        }
        assert_eq!(bench.consumer.exploration, Settings::usual().longest_exploration);
        bench.answer(tag, &[3, 1], Some(RTT), 0);
        assert_eq!(bench.consumer.exploration, Settings::usual().exploration);
        assert!(bench.consumer.explore_at <= bench.now + Settings::usual().exploration);
    }
}
