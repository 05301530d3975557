//! MIRCC: M. Mahdian, S. Arianfar, J. Gibson, D. Oran, "MIRCC: Multipath-aware ICN Rate-based Congestion Control" (ICN
//! 2016).
//!
//! Routers compute a primary and a secondary rate of a flow for each link (`rates.rs`, `answers.rs`), write them into Data, and send
//! Interests no faster than their Data fit (`shaper.rs`). Interests follow the path of their label (`steering.rs`,
//! `../path_label.rs`). Consumers find paths, and pace Interests on each: primary Interests at the rate of the best
//! path alone, and secondary Interests beside them (`consumer.rs`). While no Data carries a rate, a window limits a
//! consumer (`unrated_window.rs`).
//!
//! ```text
//!   consumer --Interest: PathLabel, RateClass-------------------> routers --> producer
//!   consumer <--Data:    PathLabel, PrimaryRate, SecondaryRate--- routers <-- producer
//! ```
//!
//! # Deviations from the paper
//! 1. **The equations are those of the code of QSCCP's authors, without its obvious errors.** Only the article's
//!    abstract was available. η = 0.95 is the article's value according to QSCCP's paper.
//! 2. **The number of secondary flows follows from their own rate, N_s = max(C_s, y_s)/R_s.** While no flow asks for
//!    secondary Data, N_s is the number of primary flows. The code divides by R_p + R_s (`secondary_flows = "both"`).
//!    Then secondary flows ask for (R_p + R_s)/R_s of the available rate, and the shaper drops the rest.
//! 3. **The older Interest leaves first, whatever its class, as in the code.** Secondary traffic yields when the shaper
//!    is full. It is not known whether primary Interests leave first in the article (`primary_first`).
//! 4. **The queue q counts once in (3).** The code multiplies q by ten (`queue_weight`). It multiplies y by ten too,
//!    but there this converts bits a period into bits a second.
//! 5. **The rate of a link is known from its configuration.** The code assumes 1 Mb/s until the first Data.
//! 6. **Each face learns the size of Data, S_D, from the Data that arrive.** The code has a constant.
//! 7. **d has one sample for each Data: the time since its Interest was sent, at most 1 s.** A Data whose Interest was
//!    sent twice gives no sample. The code has a sample for each downstream face: the time since its Interest arrived.
//! 8. **An Interest that is due leaves before the Data that wait for the same link.** The code has one queue for both
//!    behind the shaper. After a pause an Interest leaves at once; in the code it leaves at the next tick of a clock
//!    that never stops.
//! 9. **The PIT entry of an Interest that a shaper drops stays until it expires.** The code removes the entry. A node
//!    does not forward a retransmission within the round-trip time of its prefix, at most 100 ms, after the last
//!    transmission. The code does not forward it while the Interest is pending.
//! 10. **Path labels of Data are hashes.** The code appends a decimal digit for each face, which is too little for more
//!     than ten faces.
//! 11. **A consumer forgets a path after 2 s without Data, and keeps at most 32.** The code assumes that routes are
//!     permanent. Only an exploring Interest can find a path, because the Data of another Interest may come over the
//!     path of another consumer, with whose Interest it was aggregated. A rate in a Data counts as at most 100 Gb/s.
//! 12. **A link without Interests computes no rates.** The next flow finds the initial rates: R_p = C, R_s = 0.
//! 13. **A Data without rates identifies no path and changes no rate.** It comes from this node, or over routers that
//!     do not run MIRCC. The code takes it as a rate of 0, which means one Interest a second. While the consumer knows
//!     no path, a window limits the Interests. It grows by one a round trip, up to `unknown_capacity`. A loss halves
//!     it, at most once a round trip.
//! 14. **Interests explore at random times, 100 ms apart on average.** In the code the intervals are constant. Then
//!     flows that began together fill shapers of ten Interests together, and the last of them never finds a path.
//! 15. **A retransmission uses the pacer that is due next.** In the code it leaves at once, by the path and class of
//!     the lost Interest. It also starts one more pacer there, which never ends.
//! 16. **If several pacers are overdue, primary ones send first.** So if a source has its own rate, below its R_p, all
//!     its Interests are primary. The code has no such sources.
//! 17. **An Interest counts as S_D times the part of the face's Interests that Data answer (`answers.rs`).**
//!     This holds for the demand y, the queue q and the shaper's clock. In the code each Interest counts as a
//!     Data. Then Interests without an answer take the capacity of the link, and lower the rate of all flows
//!     to nearly 0.

mod answers;
mod consumer;
mod rates;
mod shaper;
mod signals;
mod steering;
mod unrated_window;

use core::ops::RangeInclusive;

use weir_core::parameters;
use weir_core::seam::params::Variant;
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme, Strategy};
use weir_core::units::{Rate, Span};

use crate::registry::Entry;
use rates::SecondaryFlows;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "mircc",
    title: "explicit rates in two classes; Interests are steered over known paths",
    citation: "M. Mahdian et al., MIRCC: Multipath-aware ICN Rate-based Congestion Control, ICN 2016",
    parameters: Settings::PARAMETERS,
    signals: signals::SIGNALS,
    early_loss: false,
    sharing: None,
    build: |params| Box::new(Mircc { settings: Settings::new(params) }),
};

const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);

const TIME: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(60);

const VARIANTS: &[Variant] = &[
    Variant { name: "article", defaults: &[] },
    Variant {
        name: "qsccp",
        defaults: &[("target_utilisation", "0.99"), ("secondary_flows", "both"), ("queue_weight", "10")],
    },
];

parameters! {
    /// The parameters.
    #[derive(Clone, Copy, Debug)]
    struct Settings {
        /// the source of the other defaults: the article, or the code of QSCCP's authors
        _ = variant("variant", VARIANTS) default "article"
            from "assumed: the article where they differ";
        /// η, part of a link that Data may use
        eta: f64 = number("target_utilisation", 0.01..=1.0) default "0.95"
            from "paper: as QSCCP's section V-C cites it";
        /// T, how often rates are computed
        period: Span = span("period", TIME) default "100 ms" from "files: mircc-strategy.cpp";
        /// weight of the new value in (3) and (4)
        gain: f64 = number("gain", 0.001..=1.0) default "0.2" from "files: mircc-strategy.cpp";
        /// the rate from which the number of secondary flows is computed: R_s, or R_p + R_s
        secondary_flows: SecondaryFlows = choice("secondary_flows")
            default "secondary"
            from "assumed: the rate at which they send; files: both";
        /// factor of q in (3)
        queue_weight: f64 = number("queue_weight", 0.0..=1000.0) default "1"
            from "assumed: as in RCP, which MIRCC follows; files: 10";
        /// number of Interests of both classes that may wait for a link
        shaper: usize = integer("shaper", 1..=1 << 16) default "10" from "files: mircc-strategy.cpp";
        /// whether primary Interests leave before secondary ones; if not, the older Interest leaves first
        primary_first: bool = switch("primary_first") default "false" from "files: mircc-strategy.cpp";
        /// mean time between Interests that explore paths
        exploration: Span = span("exploration", TIME) default "100 ms" from "files: mircc-consumer.cpp";
        /// how long a path is kept without Data
        path_memory: Span = span("path_memory", TIME) default "2 s"
            from "assumed: routes change; as long as hICN counts a path as in use";
        /// assumed size of Data until one arrives, bytes
        data_bits: u64 = integer("data_size", 1..=8800) default "1087"
            from "files: mircc-strategy.cpp, 8696 bits" as |bytes| 8 * bytes;
        /// capacity of a face whose rate is not given
        unknown_capacity: Rate = rate("unknown_capacity", Rate::from_bps(1)..=MAX_RATE) default "100 Mb/s"
            from "files: QSCCP's authors' NFD, default bandwidth";
        // TODO ];
    }
}

impl Settings {
    /// Returns C, the part of a link that Data may use. It is at least 1 bit/s, so that the shaper's clock
    /// never stops.
    fn capacity(&self, rate: Option<Rate>) -> Rate {
        rate.unwrap_or(self.unknown_capacity).scale(self.eta).max(Rate::from_bps(1))
    }
}

/// The plug-in of MIRCC.
#[derive(Clone, Copy, Debug)]
pub struct Mircc {
    settings: Settings,
}

impl Scheme for Mircc {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(consumer::Consumer::new(&self.settings))
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(steering::Steering {})
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(shaper::Shaper::new(self.settings, face))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::seam::params::{Params, Value};

    #[test]
    fn the_variants_differ_in_utilisation_in_the_count_of_secondary_flows_and_in_what_a_queue_weighs() {
        let settings = |variant: &str| {
            let name = Value::Text(variant.to_owned());
            Settings::new(&Params::resolve(Settings::PARAMETERS, [("variant", &name)]).unwrap())
        };
        let (article, qsccp) = (settings("article"), settings("qsccp"));
        let key = |settings: &Settings| (settings.eta, settings.secondary_flows, settings.queue_weight);
        assert_eq!(key(&article), (0.95, SecondaryFlows::Secondary, 1.0));
        assert_eq!(key(&qsccp), (0.99, SecondaryFlows::Both, 10.0));
        assert!(!article.primary_first && !qsccp.primary_first);
    }
}
