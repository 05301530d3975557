//! TCP NewReno over CoDel in the routers: RFC 5681, RFC 6582, RFC 6298 and RFC 3042 at the sender, RFC 8289 at each
//! queue. Section 5.2 of the end-to-end AQM article compares its cascade with this.
//!
//! ```text
//!   TCP:  sender ------- segment -----> [CoDel] -----> receiver        a segment that does not come leaves a gap
//!           ^                                             |
//!           +------------------ ACK ----------------------+            the gap makes duplicate ACKs
//!
//!   here: producer ------ Data -------> [CoDel] -----> consumer        the consumer sees the gap, and keeps the
//!           ^                                             |            sender's state: cwnd, ssthresh, recover
//!           +---------------- Interest -------------------+
//! ```
//!
//! A Data is a segment. An arriving Data is also the ACK that the receiver would send for it: it acknowledges all
//! segments before the oldest missing one, and it is a duplicate if that one has not changed. The consumer has the
//! sender's state (`sender.rs`), and an Interest asks the producer for the segment that it names. The ACK need not
//! travel to the sender, but the Interest must travel before the segment can leave. So the time from a drop to the
//! first packet that the reaction changes is the same as in TCP: from the queue to the receiver, from there to the
//! sender, and back to the queue.
//!
//! Nodes forward like IP routers: each packet takes the cheapest next hop. A retransmitted Interest is forwarded even
//! if an older one is pending, because routers do not hold back the retransmissions of a TCP sender either.
//!
//! # Deviations from the paper
//! 1. **The loss of an Interest is the loss of its segment.** In TCP the next ACK replaces a lost ACK.
//! 2. **There is no connection.** There is no handshake. Each Data counts as an ACK, so there are no delayed ACKs; RFC
//!    5681 permits this. The only receiver window is the application's free space. A segment is a Data with its name
//!    and signature. An ACK is an Interest.
//! 3. **After a timeout the consumer asks only for the missing segments.** TCP sends all segments again, and learns
//!    from the ACKs which of them the receiver has. Here the consumer knows.
//! 4. **FlightSize does not count Data received behind a gap before the loss under repair.** RFC 5681 counts them until
//!    an ACK covers them, but its (4) is only an upper bound of ssthresh. With that count, ssthresh grew from one
//!    recovery to the next when a slow start had lost hundreds of segments. Senders with a SACK scoreboard do not count
//!    them either.
//! 5. **Duplicate Data make no duplicate ACKs.** The core does not pass them to the flow control. RFC 6582's `recover`
//!    guards against them and is kept.
//! 6. **The retransmission timer is at most the Interest's lifetime.** Routers forget an Interest then. For an Interest
//!    older than its lifetime the timer counts as expired.
//! 7. **A Nack has the effect of a third duplicate ACK.** TCP has no Nacks.
//! 8. **cwnd does not grow while less than half of it is used.** All window schemes in Weir have this rule. RFC 5681
//!    has no such rule.
//! 9. **Data of nearer caches are no duplicate ACKs.** If several nodes answer Interests of one consumer,
//!    Data come out of order without a loss. TCP has one sender. A Data from nearer than those that were
//!    overtaken before acknowledges its own segment. If the path becomes more than twice as long, the
//!    consumer forgets ssthresh.
//! 10. **There are no selective acknowledgements.** ns-3 has them by default, and the article does not say whether it
//!     uses them.

mod sender;

use core::ops::RangeInclusive;

use weir_core::parameters;
use weir_core::seam::best_route::least_severe;
use weir_core::seam::{
    Decision, FaceConfig, FlowConfig, FlowControl, InterestEvent, NackEvent, Queue, Scheme, Strategy,
};
use weir_core::units::Span;
use weir_packet::NackReason;

use crate::codel::CodelQueue;
use crate::registry::Entry;
use sender::Sender;

const TIME: RangeInclusive<Span> = Span::from_micros(1)..=Span::from_secs(10);

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "tcp-newreno",
    title: "TCP NewReno with the sender's state at the consumer, and CoDel in the routers",
    citation: "T. Henderson, S. Floyd, A. Gurtov, Y. Nishida, The NewReno Modification to TCP's Fast Recovery Algorithm, \
               RFC 6582, 2012; K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, Controlled Delay Active Queue \
               Management, RFC 8289, 2018",
    parameters: TcpNewReno::PARAMETERS,
    signals: &[],
    early_loss: true,
    sharing: None,
    build: |params| Box::new(TcpNewReno::new(params)),
};

parameters! {
    /// The plug-in of TCP NewReno.
    #[derive(Clone, Copy, Debug)]
    pub struct TcpNewReno {
        sender: sender::Settings = group;
        /// TARGET of CoDel: the sojourn time that a queue may have permanently
        target: Span = span("target", TIME) default "5 ms" from "paper: RFC 8289, section 4.2";
        /// INTERVAL of CoDel: how long the sojourn time exceeds the target before CoDel drops a packet
        interval: Span = span("interval", TIME) default "100 ms" from "paper: RFC 8289, section 4.3";
    }
}

impl Scheme for TcpNewReno {
    fn flow_control(&self, flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(Sender::new(self.sender, flow.lifetime))
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(IpForwarding {})
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(CodelQueue::new(face.limit, self.target, self.interval))
    }
}

/// Forwards each Interest by the cheapest next hop, even if the same Interest is pending.
#[derive(Debug)]
struct IpForwarding {}

impl Strategy for IpForwarding {
    fn keeps_to_one(&self) -> bool {
        true
    }

    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        match ev.next_hops.first() {
            Some(hop) => Decision::Forward(hop.face),
            None => Decision::Nack(NackReason::NoRoute),
        }
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        match ev.next_hops.first() {
            Some(hop) => Decision::Forward(hop.face),
            None => Decision::Nack(least_severe(ev)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Bench, name};
    use weir_core::node::Input;
    use weir_core::node::testing::Told;
    use weir_core::seam::DropTail;
    use weir_core::seam::QueueLimit;
    use weir_core::units::Rate;

    #[test]
    fn a_retransmission_passes_a_router_where_the_interest_is_pending() {
        let mut bench = Bench::of(IpForwarding {}, ());
        let queue = || Box::new(DropTail::new(QueueLimit::Packets(10)));
        let rate = Rate::from_mbps(100);
        (0..3).for_each(|_| bench.add_link(queue(), rate));
        let [downstream, cheap, dear] = [0, 1, 2].map(weir_core::ids::FaceId);
        bench.forwarder.add_route(&name("/a"), cheap, 1);
        bench.forwarder.add_route(&name("/a"), dear, 2);
        for _ in 0..3 {
            let packet = bench.interest_of("/a/1");
            bench.handle(Input::Packet { face: downstream, packet });
            bench.later(Span::from_millis(1));
        }
        let faces: Vec<_> = bench.upstream.iter().map(|(face, _)| *face).collect();
        assert_eq!(faces, [cheap; 3]);
    }
}
