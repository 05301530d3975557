//! For tests: a strategy or a flow control that the test can inspect while a node or a consumer owns it.

use std::sync::{Arc, Mutex, MutexGuard};

use weir_core::ids::{FaceId, PrefixId};
use weir_core::seam::{
    DataEvent, DataOutEvent, DataReceived, Decision, ExpiredEvent, FlowControl, FlowDeadline, Gauge,
    InterestEvent, LossEvent, NackEvent, Permit, PermitEvent, SendEvent, Strategy, StrategyDeadline,
};
use weir_core::units::{Span, Time};

/// A state machine that the test shares with its owner. Clones refer to the same one.
#[derive(Debug)]
pub struct Watched<T>(Arc<Mutex<T>>);

impl<T> Watched<T> {
    pub fn new(inner: T) -> Watched<T> {
        Watched(Arc::new(Mutex::new(inner)))
    }

    /// Returns the state machine until the guard is dropped. Its owner must not run in the meantime.
    pub fn look(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}

impl<T> Clone for Watched<T> {
    fn clone(&self) -> Watched<T> {
        Watched(Arc::clone(&self.0))
    }
}

impl<S: Strategy> Strategy for Watched<S> {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        self.look().on_interest(ev)
    }
    fn on_aggregated(&mut self, ev: &mut InterestEvent<'_>) {
        self.look().on_aggregated(ev);
    }
    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        self.look().on_data(ev);
    }
    fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
        self.look().on_data_out(ev);
    }
    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        self.look().on_nack(ev)
    }
    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        self.look().on_expired(ev);
    }
    fn on_face(&mut self, face: FaceId, up: bool, now: Time) {
        self.look().on_face(face, up, now);
    }
    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        self.look().on_prefix_removed(prefix);
    }
    fn next_deadline(&self) -> Time {
        self.look().next_deadline()
    }
    fn on_deadline(&mut self, ev: &mut StrategyDeadline<'_>) {
        self.look().on_deadline(ev);
    }
}

impl<F: FlowControl> FlowControl for Watched<F> {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        self.look().permit(ev)
    }
    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        self.look().on_send(ev)
    }
    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.look().on_data(ev);
    }
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        self.look().on_timeout(ev);
    }
    fn on_nack(&mut self, ev: &mut LossEvent<'_>) {
        self.look().on_nack(ev);
    }
    fn next_deadline(&self) -> Time {
        self.look().next_deadline()
    }
    fn on_deadline(&mut self, ev: &mut FlowDeadline) {
        self.look().on_deadline(ev);
    }
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        self.look().timeout(rto, lifetime)
    }
    fn longest_wait(&self) -> Span {
        self.look().longest_wait()
    }
    fn gauge(&self) -> Gauge {
        self.look().gauge()
    }
    fn notice(&self) -> Option<&'static str> {
        self.look().notice()
    }
}
