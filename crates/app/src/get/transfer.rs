//! The segments of an object through a consumer: verified, in order, and given up if they do not come.
//!
//! ```text
//!   App -- Data --> verify -- valid --> end -- agrees --> order ----> deliver
//!                     |  \                 \
//!                     |   invalid: error    does not: error
//!                     v
//!                   waits for a certificate; the consumer is paused meanwhile
//! ```

use core::ops::ControlFlow;
use std::collections::VecDeque;

use hdrhistogram::Histogram;
use weir_core::consumer::{Delivery, REORDER_BOUND};
use weir_core::packet::Packet;
use weir_core::scheme::Scheme;
use weir_core::units::{Rate, Span, Time};
use weir_keychain::{Moment, Step, Validator};
use weir_packet::{ContentType, Data, MAX_PACKET_SIZE, Name, SignatureType};

use super::asker::{Asker, TICK, Watch, now};
use super::ends::Ends;
use super::order::Order;
use super::{Each, Get, GetError, Object, Progress, Report, Status, weakest};
use crate::{App, Event, Fetch, FlowId};

/// Longer delays count as this: no Interest lives for so long.
const LONGEST_DELAY_US: u64 = 100_000_000;
/// The rate that is shown follows the last second or so.
const RATE_SPAN: Span = Span::from_secs(1);
/// A longer turn was held up by whoever takes the content: that is no time in which nobody answered.
const LONGEST_TURN: Span = Span::from_millis(500);

/// An object on its way.
pub(super) struct Transfer {
    get: Get,
    object: Name,
    pub(super) flow: FlowId,
    first: u64,
    order: Order,
    ends: Ends,
    /// What came before its certificate.
    unverified: VecDeque<(u64, Vec<u8>)>,
    /// A certificate that is wanted.
    wanted: Option<Name>,
    /// The first segment that the producer says is not there.
    absent: Option<u64>,
    failure: Option<GetError>,
    /// Size of the largest Data, bytes, and the one that the consumer's bound was made of.
    largest: usize,
    bound_for: usize,
    /// The oldest segment that is missing, and for how long we have waited for it.
    missing: (u64, Span),
    begun: Time,
    bytes: u64,
    marks: u64,
    signature: Option<SignatureType>,
    delays: Histogram<u64>,
    rate: Smoothed,
}

impl Transfer {
    /// Begins with a segment.
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
            object: object.name.clone(),
            flow,
            first,
            order: Order::new(first),
            ends: Ends::new(object.last_segment),
            unverified: VecDeque::new(),
            wanted: None,
            absent: None,
            failure: None,
            largest: 0,
            bound_for: MAX_PACKET_SIZE,
            missing: (first, Span::ZERO),
            begun,
            bytes: 0,
            marks: 0,
            signature: None,
            delays,
            rate: Smoothed { bps: 0.0, bytes: 0, at: begun },
        })
    }

    /// Goes on for a while, or if `eager` until there is content; says whether everything is there.
    pub(super) fn turn(
        &mut self,
        app: &mut App,
        validator: &mut Validator,
        eager: bool,
        deliver: &mut Each<'_>,
    ) -> Result<bool, GetError> {
        let (began, moment) = (app.now(), now());
        app.run(began + TICK, &mut |_, event| {
            let Event::Segment { flow, data, delivery } = event else { return ControlFlow::Continue(()) };
            if flow != self.flow {
                return ControlFlow::Continue(());
            }
            let before = self.order.next();
            self.take(data, delivery, (validator, moment), deliver);
            let is_over = self.failure.is_some() || self.wanted.is_some() || self.is_complete();
            if is_over || eager && self.order.next() > before {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.bound(app);
        self.wait_for_missing(app, app.now().since(began))?;
        Ok(self.is_complete())
    }

    /// Whether everything was delivered.
    fn is_complete(&self) -> bool {
        self.ends.last().is_some_and(|last| self.order.next() > last)
    }

    /// Whether it waits for a certificate.
    pub(super) fn wants_certificate(&self) -> bool {
        self.wanted.is_some()
    }

    /// Fetches the certificate that is wanted. Until it is there no more segments are asked for.
    pub(super) fn fetch_certificate(
        &mut self,
        app: &mut App,
        validator: &mut Validator,
        watch: &mut Watch<'_>,
    ) -> Result<(), GetError> {
        let Some(certificate) = self.wanted.take() else { return Ok(()) };
        app.pause(self.flow);
        let (class, patience) = (self.get.class, self.get.patience);
        let mut asker = Asker { app, validator, class, patience, watch };
        asker.supply(certificate.view(), &mut |_, event| {
            if let Event::Segment { flow, data, delivery } = event
                && flow == self.flow
            {
                self.note(data, delivery);
                self.unverified.push_back((delivery.segment, data.wire.to_vec()));
            }
        })?;
        app.resume(self.flow);
        Ok(())
    }

    /// Has what waited for a certificate its turn; says whether everything is there.
    pub(super) fn verify_waiting(
        &mut self,
        validator: &mut Validator,
        deliver: &mut Each<'_>,
    ) -> Result<bool, GetError> {
        for (segment, wire) in core::mem::take(&mut self.unverified) {
            self.verify(segment, &wire, (validator, now()), deliver);
        }
        self.failure.take().map_or(Ok(self.is_complete()), Err)
    }

    /// A segment came.
    fn take(
        &mut self,
        data: &Packet,
        delivery: &Delivery,
        with: (&mut Validator, Moment),
        deliver: &mut Each<'_>,
    ) {
        if self.failure.is_none() {
            self.note(data, delivery);
            self.verify(delivery.segment, &data.wire, with, deliver);
        }
    }

    /// Counts it.
    fn note(&mut self, data: &Packet, delivery: &Delivery) {
        self.marks += u64::from(data.header().congestion_mark != 0);
        self.delays.saturating_record(delivery.delay.as_nanos() / 1000);
        self.largest = self.largest.max(data.wire.len());
    }

    fn verify(
        &mut self,
        segment: u64,
        wire: &[u8],
        (validator, moment): (&mut Validator, Moment),
        deliver: &mut Each<'_>,
    ) {
        if self.failure.is_some() {
            return;
        }
        match validator.check(wire, moment) {
            Step::Valid => {
                if let Err(error) = self.hand_on(segment, wire, deliver) {
                    self.failure = Some(error);
                }
            }
            Step::Invalid(reason) => {
                let (object, segment) = (self.object.clone(), Some(segment));
                self.failure = Some(GetError::Invalid { object, segment, reason });
            }
            Step::Wants(certificate) => {
                self.unverified.push_back((segment, wire.to_vec()));
                self.wanted.get_or_insert(certificate);
            }
        }
    }

    /// A segment is to be believed.
    fn hand_on(&mut self, segment: u64, wire: &[u8], deliver: &mut Each<'_>) -> Result<(), GetError> {
        let data = Data::decode(wire).expect("a Data that was verified can be read");
        if data.meta.content_type == Some(ContentType::Nack) {
            self.absent = self.absent.map_or(Some(segment), |absent| Some(absent.min(segment)));
            return self.miss_absent();
        }
        let signature = weakest(self.signature, data.signature.info.typ);
        self.signature = Some(signature);
        self.ends.hear(&self.object, segment, &data)?;
        let mut stopped = false;
        self.order.put(segment, data.payload(), &mut |segment, content| {
            if !stopped {
                self.bytes += content.len() as u64;
                stopped = deliver(Progress::Content { segment, content, signature }).is_break();
            }
        });
        if stopped { Err(GetError::Stopped) } else { self.miss_absent() }
    }

    /// Whether a segment is wanted that the producer says is not there. Until the end is known, segments behind it
    /// may have been asked for.
    fn miss_absent(&self) -> Result<(), GetError> {
        let Some(absent) = self.absent else { return Ok(()) };
        let is_wanted = match self.ends.last() {
            Some(last) => absent <= last,
            None => absent == self.order.next(),
        };
        if is_wanted { Err(GetError::Absent(self.object.clone().with_segment(absent))) } else { Ok(()) }
    }

    /// Has the consumer keep to the memory that there is, now that the size of a Data is known.
    fn bound(&mut self, app: &mut App) {
        if self.largest > 0 && self.largest != self.bound_for {
            self.bound_for = self.largest;
            app.set_reorder(self.flow, segments_in(&self.get, self.largest));
        }
    }

    /// Gives up if the oldest segment that is missing has been for too long.
    fn wait_for_missing(&mut self, app: &App, turn: Span) -> Result<(), GetError> {
        let consumer = app.consumer(self.flow);
        let Some((segment, _)) = consumer.and_then(|consumer| consumer.oldest_missing()) else {
            self.missing = (self.order.next(), Span::ZERO);
            return Ok(());
        };
        let (oldest, waited) = self.missing;
        let waited = if oldest == segment { waited + turn.min(LONGEST_TURN) } else { Span::ZERO };
        self.missing = (segment, waited);
        if self.get.patience.is_none_or(|patience| waited < patience) {
            return Ok(());
        }
        let nacks = consumer.map_or(0, |consumer| consumer.counters().nacks);
        let (object, last) = (self.object.clone(), self.ends.last());
        Err(GetError::Missing { object, segment, waited, nacks, last })
    }

    /// How things are.
    pub(super) fn status(&mut self, app: &App) -> Status<'_> {
        let now = app.now();
        self.rate.update(now, self.bytes);
        let consumer = app.consumer(self.flow);
        Status {
            object: &self.object,
            first: self.first,
            next: self.order.next(),
            last: self.ends.last(),
            bytes: self.bytes,
            elapsed: now.since(self.begun),
            rate: Rate::from_bps_f64(self.rate.bps),
            gauge: consumer.map(|consumer| consumer.gauge()),
            pending: consumer.map_or(0, |consumer| consumer.pending()),
            srtt: consumer.and_then(|consumer| consumer.srtt()),
            marks: self.marks,
            counters: consumer.map(|consumer| *consumer.counters()).unwrap_or_default(),
            is_connected: app.is_connected(),
        }
    }

    /// What came of it.
    pub(super) fn report(self, app: &App) -> Report {
        let consumer = app.consumer(self.flow);
        Report {
            elapsed: app.now().since(self.begun),
            first: self.first,
            next: self.order.next(),
            bytes: self.bytes,
            signature: self.signature,
            delays_us: Some(self.delays),
            srtt: consumer.and_then(|consumer| consumer.srtt()),
            marks: self.marks,
            counters: consumer.map(|consumer| *consumer.counters()).unwrap_or_default(),
            object: self.object,
        }
    }
}

/// How many Data of a size there is room for.
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
