//! Window schemes: what they share. A consumer keeps fewer Interests pending than its window W allows;
//! marked Data, lost Interests or both say that there is congestion; a *law* says what becomes of W.
//!
//! ```text
//!   Data, unmarked ----------------------------------> law.increase
//!   Data, marked  \                  at most once
//!   timeout, Nack  > what it reacts to > a round trip > law.decrease
//! ```
//!
//! The laws stand in files of their own, each beside its article: `reno.rs`, `bic.rs`, `cubic.rs`,
//! `bbr.rs`. In NDN a consumer knows of a loss only by a timeout or a Nack: Data come from several
//! places, by several ways, and out of order, so there are no duplicate acknowledgements.

pub(crate) mod bbr;
pub(crate) mod bic;
pub(crate) mod cubic;
#[cfg(test)]
mod pipe;
pub(crate) mod reno;

use core::fmt;

use weir_core::params::{Parameter, ParameterKind, Params};
use weir_core::scheme::{
    DataReceived, FlowConfig, FlowControl, Gauge, LossEvent, Permit, PermitEvent, Scheme, SendEvent,
};
use weir_core::units::{Rate, Span, Time};

/// No window is larger: as far as a consumer's segments may be ahead of the oldest missing one.
pub(crate) const LARGEST_WINDOW: f64 = (1 << 20) as f64;

/// How late an Interest may leave so that the next one makes up for it; more is no fault of a timer.
const CATCH_UP: Span = Span::from_millis(1);

/// No pace is slower: one near zero would never hear that it could be faster.
const LONGEST_INTERVAL: Span = Span::from_secs(10);

/// How a window changes.
pub(crate) trait WindowLaw: fmt::Debug + Sized + 'static {
    /// Its parameters, read.
    type Settings: Copy + fmt::Debug;

    /// At the begin of a flow.
    fn new(settings: Self::Settings) -> Self;

    /// W, packets.
    fn window(&self) -> f64;

    /// The rate of Data to pace Interests by; `None`: as many as W allows leave at once.
    fn pacing(&self) -> Option<Rate> {
        None
    }

    /// How long an answer may take by the law's own doing: an Interest is not lost before.
    fn longest_wait(&self) -> Span {
        Span::ZERO
    }

    /// An Interest leaves, later by `late` than the law would have let it: its application had nothing
    /// to ask for. The answer comes back with the Data, or the loss, as `tag`.
    fn on_send(&mut self, _ev: &SendEvent<'_>, _late: Span) -> u32 {
        0
    }

    /// A Data came, marked or not; before anything else is said of it.
    fn on_data(&mut self, _ev: &mut DataReceived<'_>) {}

    /// An Interest is lost; before anything else is said of it.
    fn on_loss(&mut self, _ev: &LossEvent<'_>) {}

    /// A Data without a mark came, and W was in use.
    fn increase(&mut self, ev: &DataReceived<'_>);

    /// There is congestion, with so many Interests pending.
    fn decrease(&mut self, now: Time, pending: u32);
}

/// What a consumer takes for a sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signs {
    pub(crate) marks: bool,
    pub(crate) losses: bool,
}

/// Conservative window adaptation: which signs are believed once a round trip only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Guard {
    pub(crate) marks: bool,
    pub(crate) losses: bool,
    /// How much more than a round trip lies between two decreases, round trips.
    pub(crate) add_rtt: f64,
}

/// What window schemes have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reaction {
    pub(crate) signs: Signs,
    pub(crate) guard: Guard,
    /// The RTO is not below it.
    pub(crate) min_rto: Span,
}

impl Reaction {
    /// As [`PARAMETERS`](reaction_parameters) say.
    pub(crate) fn new(params: &Params) -> Reaction {
        let reacts_to = params.text("react_to");
        let signs = Signs { marks: reacts_to != "losses", losses: reacts_to != "marks" };
        let cwa = params.switch("cwa");
        let guard = Guard { marks: cwa, losses: cwa, add_rtt: params.number("add_rtt_suppress") };
        Reaction { signs, guard, min_rto: Span::ZERO }
    }
}

/// `react_to`, `cwa` and `add_rtt_suppress`.
pub(crate) const REACTION: [Parameter; 3] = [
    Parameter {
        key: "react_to",
        kind: ParameterKind::Choice(&["marks", "losses", "both"]),
        default: "both",
        meaning: "what counts as congestion: marked Data, lost Interests, or both",
        from: "assumed: RFC 3168, a mark is answered as a loss is",
    },
    Parameter::switch(
        "cwa",
        "true",
        "conservative window adaptation: the window is decreased at most once a round trip",
        "paper: RFC 5681, section 3.1, and RFC 6582, at most once a window of data",
    ),
    Parameter::number(
        "add_rtt_suppress",
        (0.0, 10.0),
        "0",
        "round trips beyond one between two decreases",
        "paper: RFC 6582, none; pcon-client has 0.5, without effect while its `cwa` is off",
    ),
];

/// W at first.
pub(crate) const fn initial_window(default: &'static str, from: &'static str) -> Parameter {
    let kind = ParameterKind::Number(1.0, 1000.0);
    Parameter { key: "initial_window", kind, default, meaning: "W at first, packets", from }
}

/// The least W.
pub(crate) const fn min_window(default: &'static str, from: &'static str) -> Parameter {
    let kind = ParameterKind::Number(1.0, 1000.0);
    Parameter { key: "min_window", kind, default, meaning: "the least W, packets", from }
}

/// The bounds of W of a law, packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) initial: f64,
    pub(crate) least: f64,
}

impl Bounds {
    pub(crate) fn new(params: &Params) -> Bounds {
        let least = params.number("min_window");
        Bounds { initial: params.number("initial_window").max(least), least }
    }

    /// A window within them.
    pub(crate) fn clamp(&self, window: f64) -> f64 {
        window.clamp(self.least, LARGEST_WINDOW)
    }
}

/// A scheme that is no more than a law at the consumer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowScheme<L: WindowLaw> {
    pub(crate) law: L::Settings,
    pub(crate) reaction: Reaction,
}

impl<L: WindowLaw> Scheme for WindowScheme<L> {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(WindowFlow::<L>::new(self.law, self.reaction))
    }
}

/// The consumer's side of a window scheme.
#[derive(Debug)]
pub(crate) struct WindowFlow<L> {
    law: L,
    reaction: Reaction,
    /// The newest segment that came.
    highest_data: u64,
    /// Until a Data beyond this segment came, a sign tells of what was answered already.
    recovery_point: Option<u64>,
    /// When the pace lets the next Interest go.
    paced_until: Time,
    /// Since when the next Interest could have left.
    could_leave: Option<Time>,
}

impl<L: WindowLaw> WindowFlow<L> {
    pub(crate) fn new(settings: L::Settings, reaction: Reaction) -> WindowFlow<L> {
        let (paced_until, could_leave) = (Time::ZERO, None);
        WindowFlow {
            law: L::new(settings),
            reaction,
            highest_data: 0,
            recovery_point: None,
            paced_until,
            could_leave,
        }
    }

    /// A sign of congestion: a decrease, unless the guard knows of it. The recovery point is where new
    /// segments begin, and by `add_rtt` of what is on its way beyond that.
    fn on_sign(&mut self, is_guarded: bool, now: Time, pending: u32, highest_sent: u64) {
        if is_guarded {
            if self.recovery_point.is_some_and(|point| self.highest_data <= point) {
                return;
            }
            let on_its_way = highest_sent.saturating_sub(self.highest_data) as f64;
            let beyond = (self.reaction.guard.add_rtt * on_its_way) as u64;
            self.recovery_point = Some(highest_sent.saturating_add(beyond));
        }
        self.law.decrease(now, pending);
    }

    /// Whether half of W is in use: what an application with little to ask for does not use says
    /// nothing about the network (RFC 7661).
    fn is_used(&self, pending: u32) -> bool {
        2.0 * (f64::from(pending) + 1.0) >= self.law.window()
    }
}

impl<L: WindowLaw> FlowControl for WindowFlow<L> {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if ev.pending > 0 && f64::from(ev.pending) + 1.0 > self.law.window() {
            self.could_leave = None;
            return Permit::Blocked;
        }
        let is_paced = self.law.pacing().is_some();
        let from = if is_paced { self.paced_until.max(ev.now) } else { ev.now };
        self.could_leave = Some(self.could_leave.map_or(from, |earlier| earlier.min(from)));
        if from > ev.now { Permit::At(from) } else { Permit::Now }
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        let late = self.could_leave.take().map_or(Span::ZERO, |from| ev.now.since(from));
        if let Some(rate) = self.law.pacing() {
            let due = self.paced_until.max(ev.now - CATCH_UP);
            self.paced_until = due + rate.time_for(ev.expected_size).min(LONGEST_INTERVAL);
        }
        self.law.on_send(ev, late)
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.highest_data = self.highest_data.max(ev.segment);
        self.law.on_data(ev);
        if self.reaction.signs.marks && ev.data.header().congestion_mark != 0 {
            self.on_sign(self.reaction.guard.marks, ev.now, ev.pending, ev.highest_sent);
        } else if self.is_used(ev.pending) {
            self.law.increase(ev);
        }
    }

    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        self.law.on_loss(ev);
        if self.reaction.signs.losses {
            self.on_sign(self.reaction.guard.losses, ev.now, ev.pending, ev.highest_sent);
        }
    }

    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.max(self.reaction.min_rto).max(self.law.longest_wait()).min(lifetime)
    }

    fn gauge(&self) -> Gauge {
        Gauge::Window(self.law.window())
    }
}
