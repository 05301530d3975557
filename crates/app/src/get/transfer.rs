//! Fetches the segments of an object with a consumer and a time limit.

use core::ops::ControlFlow;

use hdrhistogram::Histogram;
use weir_core::consumer::{Delivery, REORDER_BOUND};
use weir_core::packet::Packet;
use weir_core::seam::Scheme;
use weir_core::units::{Rate, Span, Time};
use weir_keychain::{Moment, Validator};
use weir_packet::{MAX_PACKET_SIZE, NackReason};

use super::assembly::Assembly;
use super::requester::{Requester, TICK, now};
use super::{Each, Get, GetError, Object, Report, Status};
use crate::{App, Event, Fetch, FlowId};

/// Maximum recorded delay, µs. No Interest lives this long.
const LONGEST_DELAY_US: u64 = 100_000_000;
/// Averaging time of the displayed rate.
const RATE_SPAN: Span = Span::from_secs(1);
/// A longer turn of the loop was delayed by the receiver of the content, so the excess does not count as time without
/// an answer.
const LONGEST_TURN: Span = Span::from_millis(500);

/// An object that is being fetched.
pub(super) struct Transfer {
    get: Get,
    pub(super) flow: FlowId,
    first: u64,
    assembly: Assembly,
    /// Size of the largest Data, bytes, and the size used for the consumer's limit.
    largest: usize,
    bound_for: usize,
    /// The oldest missing segment, and how long it has been missing.
    missing: (u64, Span),
    /// During that time: the reason of the last Nack; and the number of Nacks before it.
    nack: Option<NackReason>,
    nacks_before: u64,
    begun: Time,
    marks: u64,
    delays: Histogram<u64>,
    rate: Smoothed,
}

impl Transfer {
    /// Starts to fetch from segment `first` on.
    pub(super) fn start(
        app: &mut App,
        get: &Get,
        scheme: &dyn Scheme,
        object: &Object,
        first: u64,
    ) -> Result<Transfer, GetError> {
        let begun = app.now();
        let fetch = Fetch {
            class: get.class,
            hint: get.hint.clone(),
            first,
            amount: object.last_segment.map(|last| last.saturating_add(1)),
            reorder: segments_in(get, MAX_PACKET_SIZE),
            lifetime: get.lifetime,
            ..Fetch::new(object.name.clone())
        };
        let flow = app.fetch(fetch, scheme, begun)?;
        let delays = Histogram::new_with_max(LONGEST_DELAY_US, 3).expect("the bounds are right");
        Ok(Transfer {
            get: get.clone(),
            flow,
            first,
            assembly: Assembly::new(object.name.clone(), first, object.last_segment),
            largest: 0,
            bound_for: MAX_PACKET_SIZE,
            missing: (first, Span::ZERO),
            nack: None,
            nacks_before: 0,
            begun,
            marks: 0,
            delays,
            rate: Smoothed { bps: 0.0, bytes: 0, at: begun },
        })
    }

    /// Continues for a while, or, if `eager`, until there is content. Returns whether everything has arrived.
    pub(super) fn turn(
        &mut self,
        app: &mut App,
        validator: &mut Validator,
        eager: bool,
        deliver: &mut Each<'_>,
    ) -> Result<bool, GetError> {
        let (began, moment) = (app.now(), now());
        app.run(began + TICK, &mut |_, event| {
            let (data, delivery) = match event {
                Event::Segment { flow, data, delivery } if flow == self.flow => (data, delivery),
                Event::Nack { flow, reason } if flow == self.flow => {
                    self.nack = Some(reason);
                    return ControlFlow::Continue(());
                }
                _ => return ControlFlow::Continue(()),
            };
            let before = self.assembly.next();
            self.take(data, delivery, (validator, moment), deliver);
            let assembly = &self.assembly;
            let is_over = assembly.has_failed() || assembly.wants_more() || assembly.is_complete();
            if is_over || eager && assembly.next() > before {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        self.assembly.failure()?;
        self.follow_end(app);
        self.bound(app);
        self.wait_for_missing(app, app.now().since(began))?;
        Ok(self.assembly.is_complete())
    }

    /// Returns whether a certificate is needed, or a rejected segment must be requested again.
    pub(super) fn wants_more(&self) -> bool {
        self.assembly.wants_more()
    }

    /// Fetches the needed certificate, or requests a rejected segment again. Until then no more segments are requested.
    pub(super) fn fetch_wanted(
        &mut self,
        app: &mut App,
        validator: &mut Validator,
        each: &mut Each<'_>,
    ) -> Result<(), GetError> {
        let (certificate, refused) = match self.assembly.take_wanted() {
            Some(wanted) => (Some(wanted), None),
            None => (None, self.assembly.take_refused()),
        };
        app.pause(self.flow);
        let (class, patience, hint) = (self.get.class, self.get.patience, self.get.hint.clone());
        let object = self.assembly.object().clone();
        let mut requester = Requester { app, validator, hint: &hint, class, patience, each };
        let mut keep = |_, event: Event<'_>| {
            if let Event::Segment { flow, data, delivery } = event
                && flow == self.flow
            {
                self.note(data, delivery);
                self.assembly.keep(delivery.segment, &data.wire);
            }
        };
        if let Some(wanted) = certificate {
            requester.supply(&wanted, &mut keep)?;
        }
        if let Some((segment, reason)) = refused {
            let interest = requester.interest(object.clone().with_segment(segment));
            let error = GetError::Invalid { object, segment: Some(segment), reason };
            let wire = requester.ask_again(&interest, error, &mut keep)?;
            self.assembly.keep(segment, &wire);
        }
        app.resume(self.flow);
        Ok(())
    }

    /// Verifies the waiting segments. Returns whether everything has arrived.
    pub(super) fn verify_waiting(
        &mut self,
        app: &mut App,
        validator: &mut Validator,
        deliver: &mut Each<'_>,
    ) -> Result<bool, GetError> {
        self.assembly.verify_kept(validator, now(), deliver);
        self.assembly.failure()?;
        self.follow_end(app);
        Ok(self.assembly.is_complete())
    }

    /// Handles a received segment.
    fn take(
        &mut self,
        data: &Packet,
        delivery: &Delivery,
        with: (&mut Validator, Moment),
        deliver: &mut Each<'_>,
    ) {
        if !self.assembly.has_failed() {
            self.note(data, delivery);
            self.assembly.take(delivery.segment, &data.wire, with, deliver);
        }
    }

    /// Counts a received segment.
    fn note(&mut self, data: &Packet, delivery: &Delivery) {
        self.marks += u64::from(data.header().congestion_mark != 0);
        self.delays.saturating_record(delivery.delay.as_nanos() / 1000);
        self.largest = self.largest.max(data.wire.len());
    }

    /// Ends the consumer where the valid Data end. While no valid Data is there and none was rejected, for example
    /// because all wait for a certificate, the consumer believes any FinalBlockId, so that it requests nothing beyond
    /// the end.
    fn follow_end(&self, app: &mut App) {
        let amount = self.assembly.amount();
        if amount.is_some() || self.assembly.has_refused() {
            app.set_amount(self.flow, amount);
        }
    }

    /// Limits the consumer to the available memory, now that the size of a Data is known.
    fn bound(&mut self, app: &mut App) {
        if self.largest > 0 && self.largest != self.bound_for {
            self.bound_for = self.largest;
            app.set_reorder(self.flow, segments_in(&self.get, self.largest));
        }
    }

    /// Fails if the oldest missing segment has been missing for too long.
    fn wait_for_missing(&mut self, app: &App, turn: Span) -> Result<(), GetError> {
        let consumer = app.consumer(self.flow);
        let asked = consumer.and_then(|consumer| consumer.oldest_missing());
        let segment = asked.map_or(self.assembly.next(), |(segment, _)| segment);
        let nacks = consumer.map_or(0, |consumer| consumer.counters().nacks);
        let (oldest, mut waited) = self.missing;
        if oldest == segment {
            waited = waited + turn.min(LONGEST_TURN);
        } else {
            (waited, self.nack, self.nacks_before) = (Span::ZERO, None, nacks);
        }
        self.missing = (segment, waited);
        if self.get.patience.is_none_or(|patience| waited < patience) {
            return Ok(());
        }
        let nacks = nacks - self.nacks_before;
        let (object, last) = (self.assembly.object().clone(), self.assembly.last());
        Err(GetError::Missing { object, segment, waited, nacks, reason: self.nack, last })
    }

    /// The current state.
    pub(super) fn status(&mut self, app: &App) -> Status<'_> {
        let now = app.now();
        let assembly = &self.assembly;
        self.rate.update(now, assembly.bytes());
        let consumer = app.consumer(self.flow);
        Status {
            object: assembly.object(),
            first: self.first,
            next: assembly.next(),
            last: assembly.last(),
            bytes: assembly.bytes(),
            elapsed: now.since(self.begun),
            rate: Rate::from_bps_f64(self.rate.bps),
            gauge: consumer.map(|consumer| consumer.gauge()),
            notice: consumer.and_then(|consumer| consumer.notice()),
            pending: consumer.map_or(0, |consumer| consumer.pending()),
            srtt: consumer.and_then(|consumer| consumer.srtt()),
            marks: self.marks,
            counters: consumer.map(|consumer| *consumer.counters()).unwrap_or_default(),
            is_connected: app.is_connected(),
        }
    }

    /// The result.
    pub(super) fn report(self, app: &App) -> Report {
        let consumer = app.consumer(self.flow);
        Report {
            elapsed: app.now().since(self.begun),
            first: self.first,
            next: self.assembly.next(),
            bytes: self.assembly.bytes(),
            signature: self.assembly.signature(),
            delays_us: Some(self.delays),
            srtt: consumer.and_then(|consumer| consumer.srtt()),
            marks: self.marks,
            counters: consumer.map(|consumer| *consumer.counters()).unwrap_or_default(),
            object: self.assembly.object().clone(),
        }
    }
}

/// Number of Data of a size for which there is memory.
fn segments_in(get: &Get, size: usize) -> u64 {
    (get.memory.as_u64() / size.max(1) as u64).clamp(1, REORDER_BOUND)
}

/// A rate, smoothed over about [`RATE_SPAN`].
struct Smoothed {
    bps: f64,
    bytes: u64,
    at: Time,
}

impl Smoothed {
    fn update(&mut self, now: Time, bytes: u64) {
        let span = now.since(self.at);
        if span < TICK / 2 {
            return;
        }
        let bps = 8.0 * (bytes - self.bytes) as f64 / span.as_secs_f64();
        let weight = (span.as_secs_f64() / RATE_SPAN.as_secs_f64()).min(1.0);
        self.bps = if self.bytes == 0 { bps } else { self.bps + weight * (bps - self.bps) };
        (self.bytes, self.at) = (bytes, now);
    }
}
