//! The part of the Interests sent on a face that are answered with Data.
//!
//! An Interest without an answer brings no Data, so it uses none of the link's capacity for Data. If it
//! counted, a flood of such Interests would take the capacity from those that are answered.
//!
//! Interests are counted in cohorts by the time at which they came to the face. A Data that comes after `rtt`
//! counts for the cohort of its Interest. So while each Interest is answered, the part is 1 at any change of
//! the traffic. A cohort is complete after a second. A later Data counts nevertheless.

use weir_core::units::{Span, Time};

/// The number of cohorts. Together they cover one second.
const COHORTS: usize = 16;
const STEP: Span = Span::from_micros(62_500);
/// The weight of the previous sums when a cohort becomes complete.
const KEPT: f64 = 0.875;
/// The smallest part that is used, because other code divides by it.
const LEAST: f64 = 1.0 / 256.0;

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    sent: f64,
    answered: f64,
}

/// Counts of Interests and of their answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answers {
    cohorts: [Count; COHORTS],
    newest: usize,
    /// The start of the newest cohort.
    began: Time,
    /// The sums over complete cohorts, with smaller weights for older ones.
    complete: Count,
}

impl Answers {
    pub(super) fn new() -> Answers {
        let complete = Count::default();
        Answers { cohorts: [Count::default(); COHORTS], newest: 0, began: Time::ZERO, complete }
    }

    /// Begins the cohorts up to `now`.
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
        // The face was idle for longer than all cohorts.
        self.began = self.began.max(now);
    }

    /// Returns the cohort of the time `ago`, or the oldest one.
    fn cohort(&mut self, now: Time, ago: Span) -> &mut Count {
        self.advance(now);
        let before_newest = ago.saturating_sub(now.since(self.began));
        let steps = usize::try_from(before_newest.as_nanos().div_ceil(STEP.as_nanos())).unwrap_or(COHORTS);
        &mut self.cohorts[(self.newest + COHORTS - steps.min(COHORTS - 1)) % COHORTS]
    }

    /// Counts an Interest that leaves after it has waited for `waited`.
    pub(super) fn on_sent(&mut self, now: Time, waited: Span) {
        self.cohort(now, waited).sent += 1.0;
    }

    /// Counts a Data that comes this long after its Interest was to be sent; `None` if the Interest was sent
    /// several times.
    pub(super) fn on_data(&mut self, now: Time, rtt: Option<Span>) {
        self.cohort(now, rtt.unwrap_or(Span::ZERO)).answered += 1.0;
    }

    /// Returns the part that is answered; 1 while nothing is known.
    pub(super) fn part(&self) -> f64 {
        match self.complete {
            Count { sent, answered } if sent > answered => (answered / sent).max(LEAST),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    /// Sends an Interest each millisecond for `lasts_ms`. One in `answered` is answered at once.
    fn run(answers: &mut Answers, now: &mut Time, lasts_ms: u64, answered: u64) {
        for count in 0..lasts_ms {
            answers.on_sent(*now, Span::ZERO);
            if count % answered == 0 {
                answers.on_data(*now, Some(Span::ZERO));
            }
            *now += MS;
        }
    }

    #[test]
    fn while_each_interest_is_answered_the_part_is_one_at_any_change_of_the_traffic() {
        let (mut answers, mut now) = (Answers::new(), Time::from_nanos(1));
        let mut sent = std::collections::VecDeque::new();
        for step in 0..20_000_u64 {
            let each = [MS, MS / 10, MS * 40, MS / 3][step as usize / 1000 % 4];
            now += each;
            while sent.front().is_some_and(|at: &Time| now.since(*at) >= MS * 230) {
                let at = sent.pop_front().unwrap_or(now);
                answers.on_data(now, Some(now.since(at)));
            }
            answers.on_sent(now, Span::ZERO);
            sent.push_back(now);
            assert_eq!(answers.part(), 1.0, "{step}");
        }
    }

    #[test]
    fn of_interests_that_few_answer_the_part_is_known_after_a_second_and_a_half() {
        let (mut answers, mut now) = (Answers::new(), Time::from_nanos(1));
        run(&mut answers, &mut now, 5000, 1);
        assert_eq!(answers.part(), 1.0);
        run(&mut answers, &mut now, 2500, 10);
        assert!(answers.part() < 0.25, "{}", answers.part());
        run(&mut answers, &mut now, 5000, 10);
        assert!((0.09..0.11).contains(&answers.part()), "{}", answers.part());
        run(&mut answers, &mut now, 5000, 1);
        assert!(answers.part() > 0.97, "{}", answers.part());
    }

    #[test]
    fn data_that_come_after_more_than_a_second_count_too() {
        let (mut answers, mut now) = (Answers::new(), Time::from_nanos(1));
        for step in 0..20_000 {
            now += MS;
            answers.on_sent(now, Span::ZERO);
            if step >= 3000 {
                answers.on_data(now, Some(MS * 3000));
            }
        }
        assert!(answers.part() > 0.99, "{}", answers.part());
    }

    #[test]
    fn absurd_times_leave_a_part_that_divides() {
        let mut answers = Answers::new();
        for step in 0..10_000_u64 {
            let now = Time::from_nanos(step << 40);
            answers.on_sent(now, Span::from_nanos(u64::MAX));
            answers.on_data(now, (step % 3 == 0).then_some(Span::from_nanos(u64::MAX)));
            let part = answers.part();
            assert!((LEAST..=1.0).contains(&part), "{part}");
        }
    }
}
