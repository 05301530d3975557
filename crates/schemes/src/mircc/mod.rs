//! MIRCC: M. Mahdian, S. Arianfar, J. Gibson, D. Oran, "MIRCC: Multipath-aware ICN Rate-based Congestion
//! Control" (ICN 2016).
//!
//! Routers compute for each link what a flow may have, as a primary rate and a secondary one
//! (`rates.rs`), write it into Data, and let Interests go no faster than their Data fit
//! (`shaper.rs`). Interests take the path that their label says (`steering.rs`, `../path_label.rs`). Consumers find paths
//! and pace Interests on each: primary ones as many as the best path alone would carry, secondary ones
//! beside them (`consumer.rs`). While nobody tells them a rate, a window governs them (`untold.rs`).
//!
//! ```text
//!   consumer --Interest: PathLabel, RateClass-------------------> routers --> producer
//!   consumer <--Data:    PathLabel, PrimaryRate, SecondaryRate--- routers <-- producer
//! ```
//!
//! # Deviations from the paper
//! 1. The article could be had as an abstract only. The equations are those of the code of QSCCP's authors, where
//!    they are not plainly mistaken; η = 0.95 is what QSCCP's paper says that the article has.
//! 2. Secondary flows are counted by the rate that they are told, N_s = max(C_s, y_s)/R_s, and taken to be as many as
//!    the primary ones while none asks. The code has R_p + R_s there: then they ask for (R_p + R_s)/R_s of what there is, and the shaper
//!    drops the rest (`secondary_flows = "both"`).
//! 3. The older Interest leaves first, whatever its class, as in the code: secondary traffic yields where the
//!    shaper is full. Whether in the article primary Interests leave first is not known (`primary_first`).
//! 4. What waits counts once in (3); the code multiplies it by ten, as it does y, which it has to turn into bits a
//!    second (`queue_weight`).
//! 5. The rate of a link is known from its configuration; the code takes 1 Mb/s until a Data says.
//! 6. The size of Data, S_D, is learned by each face from those that come; the code has a constant.
//! 7. d has one sample for each Data, from the sending of its Interest, none if that was sent twice, 1 s at
//!    most. The code has one for each downstream, from when its Interest came.
//! 8. An Interest that is due goes before Data that wait for the same link. The code has one queue for
//!    both behind the shaper. After a pause an Interest goes at once, in the code at the next tick of a clock that never stops.
//! 9. What a shaper drops is not pending, but its PIT entry stays until it expires; the code forgets it. A repeated
//!    Interest is absorbed for its prefix's round trip after its last sending, 100 ms at most, in the code for as
//!    long as that is pending.
//! 10. Path labels of Data are hashes, and not decimal digits, which end at ten faces.
//! 11. A path that is not heard of for 2 s is given up, and no more than 32 are kept; the code takes routes to
//!     be for ever. Only an Interest that explores makes a path: another's may have been answered for somebody
//!     else's, which was aggregated. No rate that is told counts for more than 100 Gb/s.
//! 12. While nobody asks, a link computes no rates. Who comes then finds them as at the beginning: R_p = C, R_s = 0.
//! 13. A Data without rates comes from this node, or by routers that know nothing of MIRCC: it makes no path and
//!     changes no rate. The code takes it for a rate of 0, an Interest a second. While there is no path a window lets Interests
//!     go: it grows by one a round trip, to `unknown_capacity` at most, and a loss halves it, once a round trip.
//! 14. Interests explore at random times, 100 ms apart on the mean. At equal ones flows that began together
//!     fill shapers of ten Interests together, and the last of them never finds a path.
//! 15. A segment that is sent again goes by whichever pacer is due. In the code it goes at once, by the path and class of the lost one,
//!     and begins one more pacer there, which never ends.
//! 16. Of pacers that are overdue, primary ones send first: so a source with a rate of its own below its R_p
//!     is all primary. The code has no such sources.

mod consumer;
mod rates;
mod shaper;
mod signals;
mod steering;
mod unrated_window;

use weir_core::seam::params::{Parameter, ParameterKind, Params, Variant};
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, NodeConfig, Queue, Scheme, Strategy};
use weir_core::units::{Rate, Span};

use crate::registry::Entry;
use rates::SecondaryFlows;

/// Its place in the list of schemes.
pub const ENTRY: Entry = Entry {
    name: "mircc",
    title: "explicit rates of two classes, Interests steered over known paths",
    citation: "M. Mahdian et al., MIRCC: Multipath-aware ICN Rate-based Congestion Control, ICN 2016",
    parameters: PARAMETERS,
    signals: signals::SIGNALS,
    sharing: None,
    build: |params| Box::new(Mircc { settings: Settings::new(params) }),
};

const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);

const fn span(
    key: &'static str,
    default: &'static str,
    meaning: &'static str,
    from: &'static str,
) -> Parameter {
    Parameter::span(key, (Span::from_millis(1), Span::from_secs(60)), default, meaning, from)
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "variant",
        kind: ParameterKind::Variant(&[
            Variant { name: "article", defaults: &[] },
            Variant {
                name: "qsccp",
                defaults: &[
                    ("target_utilisation", "0.99"),
                    ("secondary_flows", "both"),
                    ("queue_weight", "10"),
                ],
            },
        ]),
        default: "article",
        meaning: "the source of the other defaults: the article, or the code of QSCCP's authors",
        from: "assumed: the article where they differ",
    },
    Parameter::number(
        "target_utilisation",
        (0.01, 1.0),
        "0.95",
        "η, part of a link that Data may use",
        "paper: as QSCCP's section V-C cites it",
    ),
    span("period", "100 ms", "T, how often rates are computed", "files: mircc-strategy.cpp"),
    Parameter::number(
        "gain",
        (0.001, 1.0),
        "0.2",
        "part of the new value in (3) and (4)",
        "files: mircc-strategy.cpp",
    ),
    Parameter {
        key: "secondary_flows",
        kind: ParameterKind::Choice(&["secondary", "both"]),
        default: "secondary",
        meaning: "the rate that counts secondary flows: R_s, or R_p + R_s",
        from: "assumed: the rate that they send at; files: both",
    },
    Parameter::number(
        "queue_weight",
        (0.0, 1000.0),
        "1",
        "by what q is multiplied in (3)",
        "assumed: as RCP, which it follows, has it; files: 10",
    ),
    Parameter::integer(
        "shaper",
        (1, 1 << 16),
        "10",
        "Interests of both classes that may wait for a link",
        "files: mircc-strategy.cpp",
    ),
    Parameter::switch(
        "primary_first",
        "false",
        "whether primary Interests leave before secondary ones, or the older first",
        "files: mircc-strategy.cpp",
    ),
    span("exploration", "100 ms", "time between Interests that look for paths", "files: mircc-consumer.cpp"),
    span(
        "path_memory",
        "2 s",
        "how long a path is kept that is not heard of",
        "assumed: routes change; as long as hICN's paths count as in use",
    ),
    Parameter::integer(
        "data_size",
        (1, 8800),
        "1087",
        "size of Data before any was seen, bytes",
        "files: mircc-strategy.cpp, 8696 bits",
    ),
    Parameter {
        key: "unknown_capacity",
        kind: ParameterKind::Rate(Rate::from_bps(1), MAX_RATE),
        default: "100 Mb/s",
        meaning: "capacity of a face without a given rate",
        from: "files: QSCCP's authors' NFD, default bandwidth",
    },
];

/// The parameters, read.
#[derive(Clone, Copy, Debug)]
struct Settings {
    eta: f64,
    period: Span,
    gain: f64,
    secondary_flows: SecondaryFlows,
    queue_weight: f64,
    shaper: usize,
    primary_first: bool,
    exploration: Span,
    path_memory: Span,
    data_bits: u64,
    unknown_capacity: Rate,
}

impl Settings {
    fn new(params: &Params) -> Settings {
        Settings {
            eta: params.number("target_utilisation"),
            period: params.span("period"),
            gain: params.number("gain"),
            secondary_flows: match params.text("secondary_flows") {
                "both" => SecondaryFlows::Both,
                _ => SecondaryFlows::Secondary,
            },
            queue_weight: params.number("queue_weight"),
            shaper: params.integer("shaper") as usize,
            primary_first: params.switch("primary_first"),
            exploration: params.span("exploration"),
            path_memory: params.span("path_memory"),
            data_bits: 8 * params.integer("data_size"),
            unknown_capacity: params.rate("unknown_capacity"),
        }
    }

    /// C: what Data may use of a link; a bit a second at least, that its clock goes on.
    fn capacity(&self, rate: Option<Rate>) -> Rate {
        rate.unwrap_or(self.unknown_capacity).scale(self.eta).max(Rate::from_bps(1))
    }
}

/// The scheme.
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

    fn strategy(&self, _node: &NodeConfig) -> Box<dyn Strategy> {
        Box::new(steering::Steering {})
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(shaper::Shaper::new(self.settings, face))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::seam::params::Value;

    #[test]
    fn the_variants_differ_in_utilisation_in_the_count_of_secondary_flows_and_in_what_a_queue_weighs() {
        let settings = |variant: &str| {
            let name = Value::Text(variant.to_owned());
            Settings::new(&Params::resolve(PARAMETERS, [("variant", &name)]).unwrap())
        };
        let (article, qsccp) = (settings("article"), settings("qsccp"));
        let key = |settings: &Settings| (settings.eta, settings.secondary_flows, settings.queue_weight);
        assert_eq!(key(&article), (0.95, SecondaryFlows::Secondary, 1.0));
        assert_eq!(key(&qsccp), (0.99, SecondaryFlows::Both, 10.0));
        assert!(!article.primary_first && !qsccp.primary_first);
    }
}
