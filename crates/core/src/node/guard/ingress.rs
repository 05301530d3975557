//! What a node believes of the packets that arrive by a face.
//!
//! ```text
//!   Interest -> signals of routers are removed -> class: believed, remarked or refused -> rate of its class -> ...
//!   Data, Nack -> all signals are removed -------------------------------------------------------------------> ...
//! ```
//!
//! It comes before the PIT, the queue of the face and the strategy: none of them sees what is not believed. A face
//! without a policy is believed in all.
//!
//! The rate of a class is that of the Data that leave by the face for its Interests. An Interest takes the tokens of
//! [`LEAST_DATA`] bytes, its Data the rest. So nobody can pass the limit by asking for longer Data than usual, and
//! Interests without Data are limited too.

use weir_packet::{ServiceClass, Signal, SignalSet, Signals};

use crate::meter::Meter;
use crate::packet::{Kind, Packet};
use crate::seam::DropReason;
use crate::units::{Rate, Span, Time};

/// How many classes there are.
const CLASSES: usize = ServiceClass::ALL.len();

/// What an Interest takes of its class's tokens before its Data is known, bytes. Assumed: no more than what most Data
/// have, so that an Interest does not pay for more than it gets.
const LEAST_DATA: u64 = 256;

/// A bucket holds what its rate gives in this time. Assumed: a round-trip time, in which the Interests of a consumer have
/// no Data yet.
const DEPTH: Span = Span::from_millis(250);

/// What becomes of the Interests of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRule {
    /// The class that they get; `None`: they are refused.
    pub class: Option<ServiceClass>,
    /// Rate of the Data for Interests that are in this class after remarking. Interests beyond are best effort, and
    /// beyond the rate of best effort they are dropped. `None`: no limit.
    pub rate: Option<Rate>,
}

/// What is believed of the packets that arrive by a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressPolicy {
    /// Whether all signals are. If not, those of Interests that consumers say are
    /// ([`NodeConfig::signals_of_consumers`](crate::node::NodeConfig::signals_of_consumers)), and none of Data and Nacks.
    pub is_believed: bool,
    /// By class, as the Interest names it.
    pub classes: [ClassRule; CLASSES],
}

impl IngressPolicy {
    /// All is believed, without a limit.
    pub fn open() -> IngressPolicy {
        let keep = |class| ClassRule { class: Some(class), rate: None };
        IngressPolicy { is_believed: true, classes: ServiceClass::ALL.map(keep) }
    }

    /// Whether all is believed, without a limit.
    pub fn is_open(&self) -> bool {
        *self == IngressPolicy::open()
    }

    /// Signals of routers are not believed, and all is best effort: with no signals of consumers, as in a forwarder that
    /// does not know signals.
    pub fn without_signals() -> IngressPolicy {
        let best_effort = |_| ClassRule { class: Some(ServiceClass::Be), rate: None };
        IngressPolicy { is_believed: false, classes: ServiceClass::ALL.map(best_effort) }
    }
}

/// What a policy did with Interests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngressCounters {
    /// Got another class by a rule.
    pub remarked: u64,
    /// Were in a class that is refused.
    pub refused: u64,
    /// Were beyond the rate of their class: best effort from then on, or dropped.
    pub over_rate: u64,
}

/// A policy with the state of its limits.
#[derive(Clone, Debug)]
pub(super) struct Ingress {
    policy: IngressPolicy,
    believed: Option<SignalSet>,
    meters: [Option<Meter>; CLASSES],
    counters: IngressCounters,
}

impl Ingress {
    /// A policy in place of one that has counted so much.
    pub(super) fn new(policy: IngressPolicy, of_consumers: SignalSet, counters: IngressCounters) -> Ingress {
        let meter = |rule: ClassRule| rule.rate.map(|rate| Meter::new(rate, rate.bits_in(DEPTH)));
        let believed = (!policy.is_believed).then_some(of_consumers);
        Ingress { policy, believed, meters: policy.classes.map(meter), counters }
    }

    pub(super) fn counters(&self) -> IngressCounters {
        self.counters
    }

    /// Changes what is not believed of a packet.
    ///
    /// # Errors
    /// It is refused: why.
    pub(super) fn admit(&mut self, packet: &mut Packet, now: Time) -> Result<(), DropReason> {
        if packet.kind != Kind::Interest {
            if self.believed.is_some() && !packet.header().signals.is_empty() {
                packet.header_mut().signals = Signals::NONE;
            }
            return Ok(());
        }
        let named = packet.class();
        let class = self.class_for(named, now)?;
        if let Some(believed) = self.believed {
            packet.header_mut().signals.retain(believed);
        }
        // The field may also carry a mark of a router.
        if class != named || self.believed.is_some() {
            set_class(packet, class);
        }
        Ok(())
    }

    /// The class of an Interest that names one.
    fn class_for(&mut self, named: ServiceClass, now: Time) -> Result<ServiceClass, DropReason> {
        let Some(class) = self.policy.classes[named as usize].class else {
            self.counters.refused += 1;
            return Err(DropReason::ClassRefused);
        };
        self.counters.remarked += u64::from(class != named);
        if self.passes(class, now) {
            return Ok(class);
        }
        self.counters.over_rate += 1;
        match class != ServiceClass::Be && self.passes(ServiceClass::Be, now) {
            true => Ok(ServiceClass::Be),
            false => Err(DropReason::ClassRate),
        }
    }

    /// Whether an Interest is within the rate of a class; then it takes its tokens.
    fn passes(&mut self, class: ServiceClass, now: Time) -> bool {
        let Some(meter) = &mut self.meters[class as usize] else { return true };
        let passes = meter.passes_at(8 * LEAST_DATA) <= now;
        if passes {
            meter.take(now, 8 * LEAST_DATA);
        }
        passes
    }

    /// A Data of so many bytes leaves by the face.
    pub(super) fn owe(&mut self, class: ServiceClass, bytes: u64, now: Time) {
        if let Some(meter) = &mut self.meters[class as usize] {
            meter.take(now, 8 * bytes.saturating_sub(LEAST_DATA));
        }
    }
}

fn set_class(interest: &mut Packet, class: ServiceClass) {
    let signals = &mut interest.header_mut().signals;
    match class {
        ServiceClass::Be => signals.clear(&Signal::SERVICE_CLASS),
        _ => signals.set(&Signal::SERVICE_CLASS, class as u64),
    }
}
