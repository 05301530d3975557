//! HbHCM: how long Data spend in the queues of a hop, measured where they arrive.
//!
//! A hop reaches from here to the next node upstream that measures as well; what lies between, be it switches or NDN
//! nodes that do not take part, is measured with it. With r the round-trip time from here and r' what the Data carries,
//! [`RTT_MEASURE`]:
//!
//! > r_hop = r − r'   (3)
//! >
//! > d = r_hop − b   (4)
//!
//! b is the hop's base RTT (`base.rs`). A Data without the field comes from a source, or over nodes that say nothing:
//! r' = 0, and the hop reaches to the source.
//!
//! No sample is a Data whose Interest was sent more than once, and one that says that the way from the next node on
//! takes as long as that from here: a loop, a clock that is wrong, or a lie.

use weir_core::packet::Packet;
use weir_core::units::{Bytes, Span, Time};

use super::base::{self, BaseRtt};
use super::paqm::{self, Paqm};
use super::signals::RTT_MEASURE;

/// HbHCM and PAQM of one hop.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    base: BaseRtt,
    paqm: Paqm,
}

/// Their parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) base: base::Settings,
    pub(super) paqm: paqm::Settings,
}

impl Hop {
    /// Of which nothing is known.
    pub(super) fn new(settings: Settings) -> Hop {
        Hop { base: BaseRtt::new(settings.base), paqm: Paqm::new(settings.paqm) }
    }

    /// A Data came over the hop, of this length on the wire and so long after its Interest left; `None` if it is not
    /// known which sending it answers. Whether it is to be marked.
    pub(super) fn marks(&mut self, now: Time, data: &Packet, size: Bytes, rtt: Option<Span>) -> bool {
        let Some(hop_rtt) = rtt.and_then(|rtt| hop_rtt(rtt, data)) else { return false };
        let delay = self.base.queueing_delay(now, size, hop_rtt);
        self.paqm.marks(now, delay)
    }
}

/// (3); `None` if it comes to nothing.
fn hop_rtt(rtt: Span, data: &Packet) -> Option<Span> {
    let upstream = data.header().signals.value(&RTT_MEASURE).unwrap_or(0);
    rtt.as_nanos().checked_sub(upstream).filter(|left| *left > 0).map(Span::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    fn settings() -> Settings {
        super::super::settings(&crate::window::pipe::article(&super::super::ENTRY))
    }

    fn data(measure: Option<Span>) -> Packet {
        let mut data = Packet::default();
        if let Some(measure) = measure {
            data.header_mut().signals.set(&RTT_MEASURE, measure.as_nanos());
        }
        data
    }

    /// How many of 1000 Data in a second are marked.
    fn marked(hop: &mut Hop, from_ms: u64, measure: Option<Span>, rtt: Option<Span>) -> usize {
        let at = |ms| Time::ZERO + MS * (from_ms + ms);
        let size = Bytes::new(1100);
        (0..1000).filter(|ms| hop.marks(at(*ms), &data(measure), size, rtt)).count()
    }

    #[test]
    fn a_hop_is_what_the_way_from_here_takes_more_than_that_from_the_next_node() {
        assert_eq!(hop_rtt(MS * 90, &data(Some(MS * 60))), Some(MS * 30));
        assert_eq!(hop_rtt(MS * 90, &data(None)), Some(MS * 90), "to the source");
        assert_eq!(hop_rtt(MS * 90, &data(Some(MS * 90))), None);
        assert_eq!(hop_rtt(MS * 90, &data(Some(Span::MAX))), None);
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

    /// Every other Data is a lie that is no sample, and the true ones are marked as they were.
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
