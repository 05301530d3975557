//! DPCCP: Y. Ye, B. Lee, R. Flynn, J. Xu, G. Fang, Y. Qiao, "Delay-based Network Utility Maximization Modelling for
//! Congestion Control in Named Data Networking".
//!
//! Consumers choose the path of each Interest (`label.rs`, `switching.rs`), and have a rate for each path: a *sub-flow*
//! (`subflow.rs`, `consumer.rs`). The sources on a path are *hop-flows*, identified by their hop counts. So a consumer
//! can compute the packets in queues from round-trip times even if caches answer a part (`hop_flow.rs`). Rates depend
//! only on this number (`states.rs`): each flow keeps α_s packets queued, over all of its paths. Routers compute
//! nothing.
//!
//! ```text
//!   consumer --Interest: SwitchLabel, RTT probing--------> routers --> producer or cache
//!   consumer <--Data:    SwitchLabel, hop count, drain---- routers <--
//! ```
//!
//! # Deviations from the paper
//! 1. **A label has six bits a hop and at most ten hops, as in the authors' simulator.** Beyond ten hops an Interest is
//!    forwarded by name. The label is a separate field: `PathLabel` of MIRCC and OMCC-RF is random on Interests and a
//!    hash on Data, so no Interest could follow it.
//! 2. **Some Interests explore, to find paths.** The paper leaves this to path switching. Each router draws a next hop
//!    for an exploring Interest. They leave at random times, with growing gaps while they find nothing. A path without
//!    Data for 2 s is given up. A consumer has at most 16 paths, and each path at most 64 hop-flows.
//! 3. **Constants without a value in the paper are assumed.** These are β, ψ, η, the length and rate of RTT probing,
//!    the lifetime of a face's label, the threshold of a dramatic change, and the first rate of BF.
//! 4. **The growth in BF is smaller near the known bottleneck rate.** β is the limit until the bottleneck was full
//!    once, and later up to that rate. Beyond it the first round adds α_r packets, and each further round twice as
//!    much, up to β. With β alone, a stage I on a path of many packets leaves more than η of them queued, and BF and QD
//!    alternate for ever.
//! 5. **ρ counts packets a control cycle (`rho_unit`), and K counts control cycles.** (19) seems to add ρ to packets a
//!    second. But in (20) a speed of 1 packet a round trip is the effect of a ρ of 1 packet a round trip. The paper's K
//!    counts base RTTs; here u_r changes once in a cycle.
//! 6. **ρ, ψ and η have limits.** ρ is at least 1, and changes u_r by at most half of x_r. ψ is at most
//!    0.3·α_r. η is that of the whole flow; a sub-flow's is not smaller.
//! 7. **FC averages Δ_r over cycles (`gain`).** Caches answer at random. The first cycle of FC changes nothing, because
//!    its Data answer Interests of BF.
//! 8. **A flag marks a Data whose Interest was aggregated.** It counts for x_h but gives no RTT. The same holds for a
//!    Data whose Interest was sent twice. Neither has the round-trip time of its path. In RP and QD the RTT of the
//!    latter counts from its last transmission, unless it is shorter than the base.
//! 9. **u* grows only if Data come back for half of it.** Otherwise u* would grow for ever on a path that is cut, or if
//!    the source is slower than u*.
//! 10. **A loss ends BF, and counts in FC as a backlog above the set point.** The paper has no losses. If a queue is
//!     shorter than α_s packets, there is no other signal. So random loss lowers the rate. A loss is detected after the
//!     RTO or two of the longest control cycles, whichever is longer.
//! 11. **QD ends with the first round trip that shows an empty queue, or that is no shorter than an earlier one.** It is
//!     measured with Interests that left during QD, one in each control cycle. The paper sends 2 a second. Then all
//!     flows stop for 500 ms for each one that joins. QD ends at the latest after ten cycles or 2 s, whichever is
//!     later. It does not raise a base RTT: what is left of the delay may be other flows' packets. A falling mean RTT
//!     drains nothing, because its base falls too.
//! 12. **A sub-flow that has drained does not drain again for five cycles, or for the lifetime of a face's label.** The
//!     longer of these times counts, and after RP their sum, because its own Interests have labelled the faces. The
//!     flow's other sub-flows drain by those labels.
//! 13. **A control cycle lasts from 1 ms to 4 s.** Without Data and losses it ends after four of its lengths, and after
//!     at least 1 s. Each cycle of stages II and III is judged separately, not the whole round.
//! 14. **A cycle without enough Interests changes nothing.** A source that asks for little does not test a rate. A
//!     cycle in FC changes nothing if less than half of u_r was used in it or in the previous one, or if it has neither
//!     Data nor losses. After a gap of more than two cycles a new cycle begins. A cycle with only losses sets the
//!     smallest rate, which probes for the path. Then BF continues with half of the earlier rate.
//! 15. **If all Interests are aggregated, the time that they waited counts for a round trip in RP.** It gives no base
//!     RTT. BF then ends when less arrives than was asked for, and FC asks for ρ more than arrives. The RTT-probing
//!     flag ends 5 s, or ten cycles, after the first Interest of RP. An aggregated Data that answers an exploring
//!     Interest does not identify a path.
//! 16. **Without labels there is one sub-flow, forwarded by name.** So the scheme works over routers that do not run
//!     it. These count no hops and do not report aggregation. If they have caches, Δ_r has an error.
//! 17. **A base RTT is measured again if no Data has met it for 10 s (`base_lifetime`).** In the paper it is
//!     measured when a sub-flow joins or the RTT changes dramatically. Then a path that becomes longer by
//!     less costs rate for good. The sub-flow drains as in QD, and its Interests have the RTT-probing flag,
//!     so all flows drain. If the base is met, nothing else happens. If not, round trips that were equal in
//!     the end are the new base. The paper's experiments are run without this.
//! 18. **A dramatic change of RTTs is a step from one Data to the next (`path_change`).** It has to be longer
//!     than α_s/2 packets take, and the two Interests have to leave shortly after each other. A queue grows
//!     packet by packet. The base RTT is then measured again.
//! 19. **A sub-flow in BF with less than ψ packets queued ignores drain flags.** It has nothing to drain. If many flows
//!     join within seconds, none could grow otherwise.

mod consumer;
mod hop_flow;
mod label;
mod signals;
mod states;
mod subflow;
mod switching;

use core::ops::RangeInclusive;

use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme, SharingPolicy, Strategy};
use weir_core::units::Span;
use weir_core::{choice, parameters};

use crate::path_label::LabellingQueue;
use crate::registry::{Entry, Sharing};

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "dpccp",
    title: "consumers choose paths, and pace each path at a rate that keeps a few packets queued",
    citation: "Y. Ye et al., Delay-based Network Utility Maximization Modelling for Congestion Control in Named Data Networking",
    parameters: Settings::PARAMETERS,
    signals: signals::SIGNALS,
    // Equal logarithms on one link give equal shares of it. Over a network that is proportional fairness,
    // which is an objective and not a policy.
    early_loss: false,
    sharing: Some(Sharing { by_class: false, parameters: &[], policy: |_| SharingPolicy::default() }),
    build: |params| Box::new(Dpccp { settings: Settings::new(params) }),
};

const TIME: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(60);

parameters! {
    /// The parameters.
    #[derive(Clone, Copy, Debug)]
    struct Settings {
        /// α_s, the packets that a flow keeps queued
        set_point: f64 = number("set_point", 0.1..=10_000.0) default "20" from "paper: section VII.A";
        /// the smallest α_r of a sub-flow, packets; (16) divides the rest of α_s
        least_set_point: f64 = number("least_set_point", 0.0..=10_000.0) default "0"
            from "paper: (16) has none; files: wVegas in MPTCP for Linux has 2";
        /// ψ, packets: with fewer in queues the bottleneck is underused; at most 0.3·α_r
        psi: f64 = number("underused", 0.01..=10_000.0) default "3"
            from "assumed: a few; files: a third party's program has 3";
        /// η, in multiples of α_s: with more packets queued a sub-flow drains its queue
        heavy: f64 = number("heavy", 1.1..=1e6) default "6"
            from "fitted: dpccp/fixed-cache, with 3 caches that answer at random cause drains, and two of the \
                  rates that the paper states are missed; files: the program of a third party has 1.5";
        /// β, the relative step of Z-MI above and below its rate
        beta: f64 = number("growth", 0.001..=1.0) default "0.25"
            from "assumed: as BBR probes for bandwidth; files: a third party's program has 0.05";
        /// ζ, the part of its earlier rate with which a sub-flow continues after draining
        zeta: f64 = number("reserve", 0.01..=1.0) default "0.8" from "paper: section VI.E.6";
        /// the smallest u_r, Interests a second; also while draining, but at least one in a control cycle
        least_rate: f64 = number("least_rate", 0.01..=1e6) default "2" from "paper: section VI.E.6";
        /// K, control cycles between changes of ρ
        periods: f64 = number("periods", 2.0..=1000.0) default "3"
            from "paper: section VI.E.5, there in base RTTs";
        /// the time over which ρ counts Interests: a control cycle or a second
        rho_unit: RhoUnit = choice("rho_unit") default "cycle"
            from "assumed: in (20) a ρ of 1 changes Δ by 1 a round trip, so ρ counts Interests a round trip; \
                  paper: (19) has no unit";
        /// weight of the newest cycle in Δ_r while the sub-flow converges (FC)
        gain: f64 = number("gain", 0.01..=1.0) default "0.5"
            from "assumed: the paper's d̄ is an average of recent round trips; here of so many that caches, \
                  which answer at random, cause no draining";
        /// u_r during RTT probing, Interests a second; after the first round trip at least one in each
        probing_rate: f64 = number("probing_rate", 0.1..=1e6) default "10"
            from "assumed: few enough not to fill a queue";
        /// shortest RTT probing, base RTTs
        probing_round_trips: f64 = number("probing_round_trips", 0.0..=1000.0) default "3"
            from "assumed: one until the other flows know, one to drain their queues, one to measure";
        /// smallest number of round-trip times for RTT probing
        probing_samples: u32 = integer("probing_samples", 1..=1 << 20) default "3" from "assumed: a few";
        /// u* after RTT probing, Interests in a base RTT
        first_interests: f64 = number("first_interests", 0.1..=1e6) default "40"
            from "assumed: twice α_s, paced; with TCP's 10 (RFC 6928) short downloads take three times as long";
        /// how long a face stays labelled after an Interest of RTT probing, and sets the drain flag of its Data
        probing_label: Span = span("probing_label", TIME) default "200 ms"
            from "assumed: these Interests are 100 ms apart";
        /// how long after draining a sub-flow does not drain again, control cycles
        drain_spacing: f64 = number("drain_spacing", 0.0..=1000.0) default "5"
            from "assumed: the time to return to its rate";
        /// if the RTT of a source rises from one Data to the next by more than this, and by more than α_s/2 Data
        /// take, the path has changed
        path_change: Span = span("path_change", TIME) default "5 ms"
            from "assumed: longer than hosts usually delay a packet";
        /// a base RTT that no Data has met for this time is measured again, but not within 50 control cycles;
        /// 0: never
        base_lifetime: Option<Span> = span("base_lifetime", Span::ZERO..=Span::from_secs(3600)) default "10 s"
            from "assumed: as BBR's; the paper has none";
        /// initial time between exploring Interests
        exploration: Span = span("exploration", TIME) default "100 ms" from "assumed: as MIRCC's";
        /// longest time between exploring Interests; it grows by a quarter with each, until one finds a path
        longest_exploration: Span = span("longest_exploration", TIME) default "2 s"
            from "assumed: as long as a path without Data is kept";
        /// how long a path without Data is kept; at least four control cycles
        path_memory: Span = span("path_memory", TIME) default "2 s" from "assumed: as MIRCC's";
        // TODO ];
    }
}

choice! {
    /// The time over which ρ counts Interests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum RhoUnit {
        /// A control cycle.
        Cycle = "cycle",
        /// A second.
        Second = "second",
    }
}

impl Settings {
    /// Returns η, packets.
    fn eta(&self) -> f64 {
        self.heavy * self.set_point
    }
}

/// The plug-in of DPCCP.
#[derive(Clone, Copy, Debug)]
pub struct Dpccp {
    settings: Settings,
}

impl Scheme for Dpccp {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(consumer::Consumer::new(self.settings))
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(switching::Switching::new(self.settings.probing_label))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(LabellingQueue::new(face, switching::note_arrival))
    }
}

#[cfg(test)]
impl Settings {
    /// Returns the settings with the default values.
    fn usual() -> Settings {
        use weir_core::seam::params::Params;
        Settings::new(&Params::resolve(Settings::PARAMETERS, []).expect("defaults are right"))
    }
}
