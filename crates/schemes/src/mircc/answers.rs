//! The part of the Interests sent on a face that Data answer.
//!
//! An Interest that nobody answers brings no Data, so it uses nothing of the link's capacity for Data. Without this a flood of
//! such Interests would take the capacity from those that are answered.
//!
//! Interests are counted in cohorts by the time at which they came to the face. The Data that comes after `rtt` counts for the
//! cohort of its Interest. So while each Interest is answered, the part is 1 at any change of the traffic. A cohort is complete after a
//! second. A Data that is later counts nevertheless.

use weir_core::units::{Span, Time};

/// Cohorts, and the time of each: together a second.
const COHORTS: usize = 16;
const STEP: Span = Span::from_micros(62_500);
/// What a complete cohort leaves of the sums of those before.
const KEPT: f64 = 0.875;
/// The part is not taken to be less: it divides.
const LEAST: f64 = 1.0 / 256.0;

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    sent: f64,
    answered: f64,
}

/// Interests and their answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answers {
    cohorts: [Count; COHORTS],
    newest: usize,
    /// When the newest cohort began.
    began: Time,
    /// The sums over complete cohorts, in which older ones count less.
    complete: Count,
}

impl Answers {
    pub(super) fn new() -> Answers {
        let complete = Count::default();
        Answers { cohorts: [Count::default(); COHORTS], newest: 0, began: Time::ZERO, complete }
    }

    /// Begins new cohorts up to now.
    fn advance(&mut self, now: Time) {
        for _ in 0..COHORTS {
            if now.since(self.began) < STEP {
                return;
            }
            self.newest = (self.newest + 1) % COHORTS;
            self.began += STEP;
            let oldest = core::mem::take(&mut self.cohorts[self.newest]);
            if oldest.sent > 0.0 || oldest.answered > 0.0 {
                self.complete.sent = KEPT * self.complete.sent + oldest.sent;
                self.complete.answered = KEPT * self.complete.answered + oldest.answered;
            }
        }
        // It was idle for longer than all cohorts.
        self.began = self.began.max(now);
    }

    /// The cohort of so long ago; of longer ago, the oldest.
    fn cohort(&mut self, now: Time, ago: Span) -> &mut Count {
        self.advance(now);
        let before_newest = ago.saturating_sub(now.since(self.began));
        let steps = usize::try_from(before_newest.as_nanos().div_ceil(STEP.as_nanos())).unwrap_or(COHORTS);
        &mut self.cohorts[(self.newest + COHORTS - steps.min(COHORTS - 1)) % COHORTS]
    }

    /// An Interest leaves that has waited so long.
    pub(super) fn on_sent(&mut self, now: Time, waited: Span) {
        self.cohort(now, waited).sent += 1.0;
    }

    /// A Data comes this long after its Interest was to be sent; `None` if there were several.
    pub(super) fn on_data(&mut self, now: Time, rtt: Option<Span>) {
        self.cohort(now, rtt.unwrap_or(Span::ZERO)).answered += 1.0;
    }

    /// The part that is answered; 1 while nothing is known.
    pub(super) fn part(&self) -> f64 {
        match self.complete {
            Count { sent, answered } if sent > answered => (answered / sent).max(LEAST),
            _ => 1.0,
        }
    }
}
