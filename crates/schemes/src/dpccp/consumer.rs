//! The consumer: learns paths, and shares one sequence of segments among its sub-flows.
//!
//! ```text
//!   Interests that explore --> Data with an unknown label --> a new sub-flow
//!   each sub-flow: a pacer at u_r; whichever is due sends the next segment
//!   fairness (16): α_r = α_s·x_r/y_s
//! ```
//!
//! A Data belongs to the sub-flow of its Interest if its label is that path's, or the path's end nearest to
//! here: then a cache on it answered. If not, the Interest went another way, by name or drawn, or for another's, and
//! the Data belongs to the sub-flow of that way. Of no known way it makes one known. Who has a label for a part of
//! the way alone, since a cache answered first, has it completed.

use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};

use super::Settings;
use super::label::Label;
use super::signals::HopsAndFlags;
use super::subflow::{Arrival, NUMBERS, Subflow, is_since};
use crate::pacing;

/// More sub-flows are not kept: labels come from strangers.
const SUBFLOWS: usize = 16;
/// In a tag: which slot, the highest being for exploration; above it the Interest's number.
const SLOT_BITS: u32 = 6;
const EXPLORER: u32 = (1 << SLOT_BITS) - 1;
/// By what the time between explorations grows when one shows nothing new.
const PATIENCE: f64 = 1.25;
/// A path is not given up before so many control cycles.
const UNHEARD_CYCLES: u64 = 4;

/// What is due first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Exploration,
    Subflow(usize),
}

/// The consumer's flow control.
#[derive(Debug)]
pub(super) struct Consumer {
    settings: Settings,
    /// One at least.
    subflows: Vec<Subflow>,
    explore_at: Time,
    /// Time between explorations.
    exploration: Span,
    /// The next Interest's.
    number: u32,
    /// Expected size of Data, for the gauge.
    size: Bytes,
}

impl Consumer {
    pub(super) fn new(settings: Settings) -> Consumer {
        let by_name = Subflow::new(Label::NONE, 0, 0, Time::ZERO, &settings);
        Consumer {
            settings,
            subflows: vec![by_name],
            explore_at: Time::NEVER,
            exploration: settings.exploration,
            number: 0,
            size: Bytes::ZERO,
        }
    }

    fn first_due(&self, now: Time) -> (Time, Due) {
        let mut first = (self.explore_at, Due::Exploration);
        for (place, subflow) in self.subflows.iter().enumerate() {
            if subflow.pacer.due() < first.0 && (first.1 != Due::Exploration || self.explore_at > now) {
                first = (subflow.pacer.due(), Due::Subflow(place));
            }
        }
        first
    }

    /// Whose turn it is where nobody asks for leave.
    fn unasked(&mut self, now: Time) -> Due {
        if self.explore_at <= now {
            return Due::Exploration;
        }
        Due::Subflow(pacing::deal(&mut self.subflows, |one| one.requested, |one| &mut one.credit))
    }

    /// Ends the control cycles that are over.
    fn end_cycles(&mut self, now: Time) {
        for place in 0..self.subflows.len() {
            if self.subflows[place].cycle_ends() <= now {
                self.subflows[place].end_cycle(now, self.number, &self.settings);
                self.share_set_point();
            }
        }
    }

    /// (16): α_r = α_s·x_r/y_s.
    fn share_set_point(&mut self) {
        let total: f64 = self.subflows.iter().map(|subflow| subflow.rate).sum();
        let (whole, least) = (self.settings.set_point, self.settings.least_set_point);
        for subflow in &mut self.subflows {
            let part = if total > 0.0 { subflow.rate / total } else { 1.0 };
            subflow.set_point = (whole * part).max(least.min(whole));
        }
    }

    /// An Interest leaves that looks for paths.
    fn explore(&mut self, ev: &mut SendEvent<'_>) {
        // Not at equal times: consumers that began together would meet for ever.
        self.explore_at = ev.now + self.exploration.scale(0.5 + ev.random.unit());
        self.exploration = self.exploration.scale(PATIENCE).min(self.settings.longest_exploration);
        HopsAndFlags::EXPLORING.write(ev.interest);
        self.forget_unheard(ev.now);
    }

    /// Something is new: looks for more.
    fn explore_soon(&mut self, now: Time) {
        self.exploration = self.settings.exploration;
        self.explore_at = self.explore_at.min(now + self.exploration);
    }

    /// Gives up the paths by which nothing comes any more; the last one goes by name again.
    fn forget_unheard(&mut self, now: Time) {
        let memory = self.settings.path_memory;
        let is_lost = |subflow: &Subflow| {
            let memory = memory.max(subflow.cycle() * UNHEARD_CYCLES);
            subflow.unheard_since.is_some_and(|since| now.since(since) > memory)
        };
        if !self.subflows.iter().any(is_lost) {
            return;
        }
        self.subflows.retain(|subflow| !is_lost(subflow));
        if self.subflows.is_empty() {
            self.subflows.push(Subflow::new(Label::NONE, 0, self.number, now, &self.settings));
        }
        self.explore_soon(now);
        self.share_set_point();
    }

    /// The sub-flow that an Interest was of, if it lives.
    fn of_tag(&self, tag: u32) -> Option<usize> {
        let (slot, number) = (tag & EXPLORER, tag >> SLOT_BITS);
        self.subflows.iter().position(|subflow| subflow.slot == slot && is_since(number, subflow.since))
    }

    /// The sub-flow of the way that a Data came.
    fn of_label(&mut self, label: Label, now: Time) -> Option<usize> {
        if let Some(place) = self.subflows.iter().position(|subflow| subflow.label.covers(label)) {
            return Some(place);
        }
        self.explore_soon(now);
        if let Some(place) = self.subflows.iter().position(|subflow| label.covers(subflow.label)) {
            self.subflows[place].label = label;
            return Some(place);
        }
        if self.subflows.len() >= SUBFLOWS {
            return None;
        }
        let is_free = |slot: &u32| self.subflows.iter().all(|subflow| subflow.slot != *slot);
        let slot = (0..EXPLORER).find(is_free)?;
        self.subflows.push(Subflow::new(label, slot, self.number, now, &self.settings));
        Some(self.subflows.len() - 1)
    }
}

impl FlowControl for Consumer {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        self.end_cycles(ev.now);
        Permit::At(self.first_due(ev.now).0)
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        let due = if ev.is_permitted { self.first_due(ev.now).1 } else { self.unasked(ev.now) };
        let number = self.number;
        self.number = (self.number + 1) & NUMBERS;
        let slot = match due {
            Due::Exploration => {
                self.explore(ev);
                EXPLORER
            }
            Due::Subflow(place) => {
                let subflow = &mut self.subflows[place];
                subflow.on_send(ev.now, number);
                subflow.label.write(ev.interest);
                if subflow.is_probing() {
                    HopsAndFlags::PROBING.write(ev.interest);
                }
                subflow.slot
            }
        };
        number << SLOT_BITS | slot
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.size = ev.expected_size;
        self.end_cycles(ev.now);
        if self.explore_at == Time::NEVER {
            self.explore_at = ev.now + self.exploration;
        }
        let (label, octet) = (Label::of(ev.data), HopsAndFlags::of(ev.data));
        let asked = self.of_tag(ev.tag);
        let is_of = |place: &usize| octet.is_aggregated() || self.subflows[*place].label.covers(label);
        let Some(place) = asked.filter(is_of).or_else(|| self.of_label(label, ev.now)) else { return };
        let arrival = Arrival {
            now: ev.now,
            hops: octet.hops(),
            rtt: ev.rtt.filter(|_| !octet.is_aggregated()),
            drain: octet.is_drain(),
            is_aggregated: octet.is_aggregated(),
            number: ev.tag >> SLOT_BITS,
            next_number: self.number,
        };
        self.subflows[place].on_data(&arrival, &self.settings);
    }

    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        if let Some(place) = self.of_tag(ev.tag) {
            self.subflows[place].on_loss();
        }
        self.end_cycles(ev.now);
    }

    /// No sooner than on the slowest path: of several, most answers come by faster ones.
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.max(self.longest() * 2).min(lifetime)
    }

    /// Later Interests overtake earlier ones where paths and sources are several.
    fn longest_wait(&self) -> Span {
        self.longest().scale(PATIENCE)
    }

    fn gauge(&self) -> Gauge {
        let interests: f64 = self.subflows.iter().map(|subflow| subflow.requested).sum();
        Gauge::Rate(Rate::from_bps_f64(interests * self.size.bits() as f64))
    }
}

impl Consumer {
    /// The longest round trip of late.
    fn longest(&self) -> Span {
        self.subflows.iter().map(Subflow::cycle).max().unwrap_or(Span::ZERO)
    }
}
