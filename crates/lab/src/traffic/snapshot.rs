//! The accounts of a run that goes on, all of the same time.
//!
//! Each thread of a run has accounts of its own, and ends a step at the same times. The main thread chooses the end of a
//! step that is to come. When a thread ends this step, it leaves a copy of its accounts here, as if the run ended then.
//!
//! What forwarders report comes later than the rest, by the interval of their polls: drops and queueing delays of their
//! queues.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_core::units::{Span, Time};
use weir_measure::{DroppedByReason, FlowAccounts, LinkAccounts, NodeAccounts};

/// A chosen time is at least this much later than the present: until then all threads know of it.
const NOTICE: Span = Span::from_millis(50);
/// If copies are missing this long after the chosen time, a thread did not know of it.
const MISSED: Span = Span::from_secs(10);

/// The copies of accounts, and the time at which they are made.
#[derive(Debug)]
pub struct Snapshot {
    /// The end of the step, ns; `NEVER` if none is chosen.
    at: AtomicU64,
    copies: Mutex<Copies>,
}

/// Copies of the accounts of a run at the end of a step.
#[derive(Debug, Default)]
pub struct Copies {
    /// The accounts of the flows of each connection, with their indices among all.
    pub flows: Vec<(Vec<usize>, FlowAccounts)>,
    /// The accounts of the links.
    pub links: Option<LinkAccounts>,
    /// The accounts of the nodes, and the packets that they have dropped.
    pub nodes: Option<(NodeAccounts, DroppedByReason)>,
}

impl Default for Snapshot {
    fn default() -> Snapshot {
        Snapshot { at: AtomicU64::new(Time::NEVER.as_nanos()), copies: Mutex::default() }
    }
}

impl Snapshot {
    /// Chooses the end of one of the next steps of this length, unless one is chosen.
    pub fn choose(&self, now: Time, step: Span) {
        let chosen = Time::from_nanos(self.at.load(Ordering::Acquire));
        if chosen == Time::NEVER || now > chosen + MISSED {
            let steps = (now + NOTICE).as_nanos().div_ceil(step.as_nanos());
            *self.copies() = Copies::default();
            self.at.store(steps * step.as_nanos(), Ordering::Release);
        }
    }

    /// Returns whether a thread that ends a step at this time has to leave a copy.
    pub fn is_at(&self, end: Time) -> bool {
        self.at.load(Ordering::Acquire) == end.as_nanos()
    }

    /// The place for copies.
    pub fn copies(&self) -> MutexGuard<'_, Copies> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the copies when all are there: of this number of connections, of the links and of the nodes.
    pub fn take(&self, connections: usize) -> Option<Copies> {
        let mut copies = self.copies();
        let is_complete =
            copies.flows.len() == connections && copies.links.is_some() && copies.nodes.is_some();
        is_complete.then(|| {
            self.at.store(Time::NEVER.as_nanos(), Ordering::Release);
            core::mem::take(&mut *copies)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_of_the_end_of_a_step_to_come() {
        let (snapshot, step) = (Snapshot::default(), Span::from_millis(100));
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        assert!(!snapshot.is_at(at(300)));
        snapshot.choose(at(220), step);
        assert!(snapshot.is_at(at(300)) && snapshot.take(0).is_none());
        // Another one is chosen only after this one.
        snapshot.choose(at(270), step);
        assert!(snapshot.is_at(at(300)));
        let extent = weir_measure::Extent {
            until: at(1000),
            windows: Vec::new(),
            others: Vec::new(),
            step,
            with_series: false,
        };
        let flows = FlowAccounts::new(Vec::new(), &extent);
        snapshot.copies().links = Some(LinkAccounts::new(Vec::new(), &flows, &extent));
        snapshot.copies().nodes =
            Some((NodeAccounts::new(Vec::new(), &flows, &extent), DroppedByReason::default()));
        assert!(snapshot.take(1).is_none());
        snapshot.copies().flows.push((Vec::new(), flows));
        assert!(snapshot.take(1).is_some() && !snapshot.is_at(at(300)));
        snapshot.choose(at(260), step);
        assert!(snapshot.is_at(at(400)), "an earlier end of a step might be over");
        snapshot.choose(at(10_401), step);
        assert!(snapshot.is_at(at(10_500)), "a copy was missed");
    }
}
