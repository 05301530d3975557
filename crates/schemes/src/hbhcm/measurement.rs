//! HbHCM: the queueing delay of a hop, measured where its Data arrive.
//!
//! A hop extends to the next node upstream that also measures. Switches and NDN nodes without the scheme in between are
//! part of the hop. r is the round-trip time from here, and r' is the field of the Data, [`RTT_MEASURE`]:
//!
//! > r_hop = r − r'   (3)
//! >
//! > d = r_hop − b   (4)
//!
//! b is the hop's base RTT (`base.rs`). A Data without the field has r' = 0. Its source or cache does not run
//! the scheme, or nodes without the scheme removed the field. Then the hop extends to the source of the Data.
//! This hop differs from that of Data with the field, so it has a separate base and state. It is one hop only
//! if all such Data come from one place. If they come from several, the nearest sets the base, and the others
//! look delayed.
//!
//! A Data gives no sample if its Interest was sent more than once, or if the field is at least r: that is a loop, a wrong
//! clock or a false value.

use weir_core::packet::Packet;
use weir_core::parameters;
use weir_core::units::{Bytes, Span, Time};

use super::base::{self, BaseRtt};
use super::longer::Longer;
use super::paqm::{self, Paqm};
use crate::rtt_measure::RTT_MEASURE;

/// HbHCM and PAQM for the neighbour of one face.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    /// The hop to the next node that measures.
    to_node: Way,
    /// The hop to the source of Data without the field.
    to_source: Way,
}

/// HbHCM and PAQM for Data with the field, or for Data without it.
#[derive(Clone, Debug)]
struct Way {
    base: BaseRtt,
    /// `None`: the base is the minimum of all time.
    longer: Option<Longer>,
    paqm: Paqm,
}

impl Way {
    fn new(settings: Settings) -> Way {
        let longer = settings.renews.then(|| Longer::new(settings.paqm.target));
        Way { base: BaseRtt::new(settings.base), longer, paqm: Paqm::new(settings.paqm) }
    }

    /// Counts a Data of this size with the hop time `hop_rtt` and the round-trip time `rtt`. Returns whether
    /// to mark it.
    fn marks(&mut self, now: Time, size: Bytes, hop_rtt: Span, rtt: Span) -> bool {
        let mut delay = self.base.queueing_delay(now, size, hop_rtt);
        let longer = self.longer.as_mut().and_then(|longer| longer.on_data(now, size, delay, rtt));
        if let Some(by) = longer {
            self.base.rise(by);
            delay = delay - by;
        }
        self.paqm.marks(now, delay)
    }
}

parameters! {
    /// Parameters of HbHCM and PAQM.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        pub(super) paqm: paqm::Settings = group;
        pub(super) base: base::Settings = group;
        /// whether the base RTT of a hop rises when the hop has become longer: it carries less, and its delay stays
        /// the same
        pub(super) renews: bool = switch("base_renewal") default "true"
            from "assumed: routes change; paper: section III-B, the minimum so far, which is `false`";
    }
}

impl Hop {
    /// Returns a hop without measurements.
    pub(super) fn new(settings: Settings) -> Hop {
        Hop { to_node: Way::new(settings), to_source: Way::new(settings) }
    }

    /// Counts a Data of this length on the wire that came `rtt` after its Interest left; `None` if it is not
    /// known which transmission it answers. Returns whether to mark it.
    pub(super) fn marks(&mut self, now: Time, data: &Packet, size: Bytes, rtt: Option<Span>) -> bool {
        let upstream = data.header().signals.value(&RTT_MEASURE);
        let Some(rtt) = rtt else { return false };
        let Some(hop_rtt) = hop_rtt(rtt, upstream) else { return false };
        let way = if upstream.is_some() { &mut self.to_node } else { &mut self.to_source };
        way.marks(now, size, hop_rtt, rtt)
    }
}

/// (3); returns `None` if the result is zero.
fn hop_rtt(rtt: Span, upstream: Option<u64>) -> Option<Span> {
    rtt.as_nanos().checked_sub(upstream.unwrap_or(0)).filter(|left| *left > 0).map(Span::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    fn settings() -> Settings {
        Settings::new(&crate::window::pipe::article(&super::super::ENTRY))
    }

    fn data(measure: Option<Span>) -> Packet {
        let mut data = Packet::default();
        if let Some(measure) = measure {
            data.header_mut().signals.set(&RTT_MEASURE, measure.as_nanos());
        }
        data
    }

    /// Returns how many of 1000 Data in a second are marked.
    fn marked(hop: &mut Hop, from_ms: u64, measure: Option<Span>, rtt: Option<Span>) -> usize {
        let at = |ms| Time::ZERO + MS * (from_ms + ms);
        let size = Bytes::new(1100);
        (0..1000).filter(|ms| hop.marks(at(*ms), &data(measure), size, rtt)).count()
    }

    #[test]
    fn a_hop_is_what_the_way_from_here_takes_more_than_that_from_the_next_node() {
        assert_eq!(hop_rtt(MS * 90, Some((MS * 60).as_nanos())), Some(MS * 30));
        assert_eq!(hop_rtt(MS * 90, None), Some(MS * 90), "to the source");
        assert_eq!(hop_rtt(MS * 90, Some((MS * 90).as_nanos())), None);
        assert_eq!(hop_rtt(MS * 90, Some(u64::MAX)), None);
    }

    /// A node without the scheme forwards the field, and answers from its cache without it.
    #[test]
    fn data_without_the_field_are_another_hop_than_those_with_it() {
        let mut hop = Hop::new(settings());
        let size = Bytes::new(1100);
        for ms in 0..3000 {
            let (measure, rtt) = if ms % 2 == 0 { (None, MS * 10) } else { (Some(MS * 40), MS * 70) };
            assert!(!hop.marks(Time::ZERO + MS * ms, &data(measure), size, Some(rtt)), "{ms} ms");
        }
        assert!(marked(&mut hop, 3000, Some(MS * 40), Some(MS * 76)) > 100);
        assert!(marked(&mut hop, 4000, None, Some(MS * 16)) > 100);
    }

    /// A limit of the measurement: a cache, and a source behind it.
    #[test]
    fn of_two_sources_behind_nodes_that_say_nothing_the_farther_looks_delayed() {
        let mut hop = Hop::new(settings());
        marked(&mut hop, 0, None, Some(MS * 40));
        assert!(marked(&mut hop, 1000, None, Some(MS * 100)) > 100);
    }

    #[test]
    fn a_value_slightly_below_the_round_trip_time_does_not_change_what_is_marked() {
        let mut hop = Hop::new(settings());
        let size = Bytes::new(1100);
        let lie = MS * 60 - Span::from_nanos(1);
        for ms in 0..2000 {
            let measure = if ms % 20 == 10 { lie } else { MS * 40 };
            assert!(!hop.marks(Time::ZERO + MS * ms, &data(Some(measure)), size, Some(MS * 60)), "{ms} ms");
        }
    }

    #[test]
    fn congestion_further_up_is_not_of_this_hop() {
        let mut hop = Hop::new(settings());
        assert_eq!(marked(&mut hop, 0, Some(MS * 40), Some(MS * 60)), 0);
        assert_eq!(marked(&mut hop, 1000, Some(MS * 140), Some(MS * 160)), 0, "100 ms more upstream");
        assert!(marked(&mut hop, 2000, Some(MS * 40), Some(MS * 66)) > 100, "6 ms more here");
    }

    #[test]
    fn what_is_no_sample_changes_nothing() {
        let mut hop = Hop::new(settings());
        marked(&mut hop, 0, Some(MS * 40), Some(MS * 60));
        let before = format!("{hop:?}");
        for (measure, rtt) in [
            (Some(MS * 40), None),
            (Some(MS * 60), Some(MS * 60)),
            (Some(MS * 61), Some(MS * 60)),
            (Some(Span::MAX), Some(MS * 60)),
            (None, Some(Span::ZERO)),
        ] {
            assert_eq!(marked(&mut hop, 1000, measure, rtt), 0);
            assert_eq!(format!("{hop:?}"), before);
        }
    }

    /// Every other Data has a false value that gives no sample. The true ones are marked as before.
    #[test]
    fn absurd_values_among_right_ones_neither_mark_nor_hide_congestion() {
        for lie in [Span::MAX, MS * 10_000, MS * 66] {
            let mut hop = Hop::new(settings());
            marked(&mut hop, 0, Some(MS * 40), Some(MS * 60));
            let mut marks = [0, 0];
            for ms in 1000..2000 {
                let measure = if ms % 2 == 0 { MS * 40 } else { lie };
                let (now, size) = (Time::ZERO + MS * ms, Bytes::new(1100));
                let is_marked = hop.marks(now, &data(Some(measure)), size, Some(MS * 66));
                marks[(ms % 2) as usize] += u32::from(is_marked);
            }
            assert!(marks[0] > 100 && marks[1] == 0, "{marks:?}");
        }
    }
}
