//! Ingress policy: which fields of arriving packets a node accepts from a face.
//!
//! ```text
//!   Interest -> signals of routers are removed -> class: believed, remarked or refused -> rate of its class -> ...
//!   Data, Nack -> all signals are removed -------------------------------------------------------------------> ...
//! ```
//!
//! The policy acts before the PIT, the queue of the face and the strategy, so none of them sees a field that
//! is not accepted. A face without a policy is trusted fully.
//!
//! The rate of a class limits the Data that leave by the face for its Interests. An Interest takes the tokens
//! of [`LEAST_DATA`] bytes, and its Data takes the rest. So a consumer cannot exceed the limit by requesting
//! longer Data than usual, and Interests without Data are limited too.

use weir_packet::{ServiceClass, Signal, SignalSet, Signals};

use crate::meter::Meter;
use crate::packet::{Kind, Packet};
use crate::seam::DropReason;
use crate::units::{Rate, Span, Time};

/// Number of classes.
const CLASSES: usize = ServiceClass::ALL.len();

/// Size of the tokens that an Interest takes before its Data is known, bytes. Assumed: at most the size of
/// most Data, so that an Interest does not pay for more than it gets.
const LEAST_DATA: u64 = 256;

/// Time in which the rate fills the bucket. Assumed: a round-trip time, in which the first Interests of a
/// consumer have no Data yet.
const DEPTH: Span = Span::from_millis(250);

/// Treatment of the Interests of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRule {
    /// The class that they get; `None`: they are refused.
    pub class: Option<ServiceClass>,
    /// Rate of the Data for Interests that are in this class after remarking. Interests above the rate become
    /// best effort. Interests above the rate of best effort are dropped. `None`: no limit.
    pub rate: Option<Rate>,
}

/// Which fields of packets from a face are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressPolicy {
    /// `true` if all signals are accepted. Otherwise, an Interest keeps only the signals of consumers
    /// ([`NodeConfig::signals_of_consumers`](crate::node::NodeConfig::signals_of_consumers)), and Data and
    /// Nacks keep none.
    pub is_believed: bool,
    /// Rule of each class, indexed by the class that the Interest names.
    pub classes: [ClassRule; CLASSES],
}

impl IngressPolicy {
    /// The policy that accepts everything without a limit.
    pub fn open() -> IngressPolicy {
        let keep = |class| ClassRule { class: Some(class), rate: None };
        IngressPolicy { is_believed: true, classes: ServiceClass::ALL.map(keep) }
    }

    /// Returns whether everything is accepted without a limit.
    pub fn is_open(&self) -> bool {
        *self == IngressPolicy::open()
    }

    /// The policy that removes the signals of routers and makes every Interest best effort. If there are no
    /// signals of consumers, the node acts like a forwarder that does not know signals.
    pub fn without_signals() -> IngressPolicy {
        let best_effort = |_| ClassRule { class: Some(ServiceClass::Be), rate: None };
        IngressPolicy { is_believed: false, classes: ServiceClass::ALL.map(best_effort) }
    }
}

/// Counters of a policy's decisions on Interests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngressCounters {
    /// Interests that got another class by a rule.
    pub remarked: u64,
    /// Interests of a refused class.
    pub refused: u64,
    /// Interests above the rate of their class: remarked as best effort, or dropped.
    pub over_rate: u64,
}

/// A policy with the state of its rate limits.
#[derive(Clone, Debug)]
pub(super) struct Ingress {
    policy: IngressPolicy,
    believed: Option<SignalSet>,
    meters: [Option<Meter>; CLASSES],
    counters: IngressCounters,
}

impl Ingress {
    /// Makes the state of a policy that replaces one with these counters.
    pub(super) fn new(policy: IngressPolicy, of_consumers: SignalSet, counters: IngressCounters) -> Ingress {
        let meter = |rule: ClassRule| rule.rate.map(|rate| Meter::new(rate, rate.bits_in(DEPTH)));
        let believed = (!policy.is_believed).then_some(of_consumers);
        Ingress { policy, believed, meters: policy.classes.map(meter), counters }
    }

    pub(super) fn counters(&self) -> IngressCounters {
        self.counters
    }

    /// Removes or changes the fields of a packet that are not accepted.
    ///
    /// # Errors
    /// Returns the reason if the packet is refused.
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
        // The field may also contain a router's mark.
        if class != named || self.believed.is_some() {
            set_class(packet, class);
        }
        Ok(())
    }

    /// The class for an Interest that names `named`.
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

    /// Returns whether an Interest is within the rate of a class. If so, it takes the tokens.
    fn passes(&mut self, class: ServiceClass, now: Time) -> bool {
        let Some(meter) = &mut self.meters[class as usize] else { return true };
        let passes = meter.passes_at(8 * LEAST_DATA) <= now;
        if passes {
            meter.take(now, 8 * LEAST_DATA);
        }
        passes
    }

    /// Takes the tokens for a Data of this size that leaves by the face.
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
