//! CoDel at the consumer, section 4: decides when a reported queue is congested.
//!
//! Algorithm 2 and Fig. 3:
//!
//! ```text
//!              δ > target: t0 = now             δ > target, now ≥ t0 + interval
//!   No Drop -----------------------> Drop ------------------------------------> Mark
//!      ^  total = 0                  |  ^                                        |  at the next Data:
//!      |  interval = 100 ms          |  |                                        |  total += 1, interval /= √total
//!      +-----------------------------+  +------------ δ > target: t0 = now ------+
//!      |            δ < target                                                   |
//!      +--------------------------------------------- else ----------------------+
//! ```
//!
//! Here the intervals compound: while a queue stays long, the marks come after 100, 100, 70.7, 40.8 and 20.4
//! ms, and soon with every other Data. The authors' program has NFD's form instead. There the n-th interval
//! is 100 ms/√n, counted from the time at which the last mark was due.
//!
//! Both count at most one mark a report, and a queue reports to a consumer in one of N of its Data. So with
//! more flows a queue gives fewer signals than a router would, and grows. The form `caught-up` is ours: it
//! counts each mark that was due since the last report.

use core::ops::RangeInclusive;

use weir_core::link::marking::{Marker, Marking};
use weir_core::units::{Span, Time};
use weir_core::{choice, parameters};

const TIME: RangeInclusive<Span> = Span::from_micros(1)..=Span::from_secs(10);

parameters! {
    /// CoDel's parameters.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        /// the variant of CoDel: Algorithm 2, whose intervals compound; or NFD's, whose n-th interval is interval/√n
        pub(super) form: Form = choice("codel") default "article"
            from "paper: Algorithm 2; files: consumer-src.cpp";
        /// TARGET: a queueing delay above it is congestion, if it lasts for `interval`
        pub(super) target: Span = span("target", TIME) default "5 ms" from "paper: section 5";
        /// interval: how long the delay exceeds `target` before the first signal
        pub(super) interval: Span = span("interval", TIME) default "100 ms" from "paper: Algorithm 2";
    }
}

choice! {
    /// The variant of CoDel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Form {
        /// Algorithm 2.
        Article = "article",
        /// The authors' program.
        Program = "program",
        /// The authors' program, but no mark is lost between two reports of the queue (ours).
        CaughtUp = "caught-up",
    }
}

/// The largest number of marks that one report counts. It bounds the work for one Data. With this number, a
/// P_m of 1/1000 gives a signal with a probability of 0.98.
const MOST_MARKS: u32 = 4096;

/// The state C of one queue, (5).
#[derive(Clone, Copy, Debug)]
pub(super) enum Codel {
    /// Algorithm 2.
    Article { state: State, interval: Span, total: u32 },
    /// The authors' program, or the same with marks caught up.
    Program(Marker),
}

/// A state of Algorithm 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    NoDrop,
    /// The delay has been above the target since this time.
    Drop(Time),
    Mark,
}

impl Codel {
    pub(super) fn new(settings: &Settings) -> Codel {
        match settings.form {
            Form::Article => Codel::Article { state: State::NoDrop, interval: settings.interval, total: 0 },
            Form::Program | Form::CaughtUp => Codel::Program(Marker::default()),
        }
    }

    /// Handles a Data that reports this queue, whose latest δ is `delay`. Returns how many packets a router
    /// would have marked since the queue's last report. By the paper and the program it is at most 1.
    pub(super) fn update(&mut self, settings: &Settings, now: Time, delay: Span) -> u32 {
        match self {
            Codel::Article { state, interval, total } => {
                *state = next(settings, now, delay, *state, interval, total);
                u32::from(*state == State::Mark)
            }
            Codel::Program(marker) => {
                // NFD's rule, with time in the place of NFD's bytes.
                let Settings { target, interval, form } = *settings;
                let marking = Marking { threshold: target.as_nanos(), interval };
                let most = if form == Form::CaughtUp { MOST_MARKS } else { 1 };
                (0..most).take_while(|_| marker.marks(now, delay.as_nanos(), marking)).count() as u32
            }
        }
    }
}

/// Makes one step of Algorithm 2.
fn next(
    settings: &Settings,
    now: Time,
    delay: Span,
    state: State,
    interval: &mut Span,
    total: &mut u32,
) -> State {
    let is_long = delay > settings.target;
    match state {
        State::NoDrop => {
            (*total, *interval) = (0, settings.interval);
            if is_long { State::Drop(now) } else { State::NoDrop }
        }
        State::Drop(since) if is_long && now.since(since) >= *interval => State::Mark,
        State::Drop(_) if delay < settings.target => State::NoDrop,
        State::Drop(since) => State::Drop(since),
        State::Mark => {
            *total = total.saturating_add(1);
            *interval = interval.scale(1.0 / f64::from(*total).sqrt());
            if is_long { State::Drop(now) } else { State::NoDrop }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);
    const ARTICLE: Settings =
        Settings { target: Span::from_millis(5), interval: Span::from_millis(100), form: Form::Article };
    const PROGRAM: Settings = Settings { form: Form::Program, ..ARTICLE };
    const CAUGHT_UP: Settings = Settings { form: Form::CaughtUp, ..ARTICLE };

    fn at_us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// Returns the times of marks, ms, for a Data every 10 µs of a queue with this delay, between the two
    /// times.
    fn marks(codel: &mut Codel, settings: &Settings, delay: Span, from_ms: u64, until_ms: u64) -> Vec<f64> {
        let each = (from_ms * 100..until_ms * 100).map(|step| at_us(step * 10));
        each.filter(|now| codel.update(settings, *now, delay) > 0)
            .map(|now| (now - Time::ZERO).as_millis_f64())
            .collect()
    }

    fn gaps(marks: &[f64]) -> Vec<f64> {
        marks.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn follow(measured: &[f64], stated: &[f64]) {
        for (measured, stated) in measured.iter().zip(stated) {
            assert!((measured - stated).abs() < 0.06, "{measured} ms, stated {stated} ms");
        }
        assert!(measured.len() >= stated.len(), "{measured:?}");
    }

    #[test]
    fn by_algorithm_2_intervals_compound() {
        let found = marks(&mut Codel::new(&ARTICLE), &ARTICLE, MS * 6, 0, 400);
        follow(&found[..1], &[100.0]);
        follow(&gaps(&found), &[100.0, 70.71, 40.82, 20.41, 9.13, 3.73, 1.41]);
        // An interval that becomes shorter than the spacing of Data marks every other Data: Mark, Drop, Mark.
        let last = gaps(&found[found.len() - 50..]);
        assert!(last.iter().all(|gap| (*gap - 0.02).abs() < 1e-9), "{last:?}");
    }

    #[test]
    fn by_the_program_they_do_not() {
        let found = marks(&mut Codel::new(&PROGRAM), &PROGRAM, MS * 6, 0, 600);
        follow(&found[..1], &[100.0]);
        let stated: Vec<f64> = (2..8).map(|n| 100.0 / f64::from(n).sqrt()).collect();
        follow(&gaps(&found), &stated);
    }

    /// A consumer that hears of the queue every 20 ms counts as many marks as one that hears of it all the
    /// time. By the program it counts one mark a report.
    #[test]
    fn caught_up_no_mark_is_lost_between_two_reports() {
        let count = |settings: &Settings, spacing_ms: u64| -> u32 {
            let codel = &mut Codel::new(settings);
            (0..5000)
                .step_by(spacing_ms as usize)
                .map(|ms| codel.update(settings, at_us(ms * 1000), MS * 6))
                .sum()
        };
        let all = count(&CAUGHT_UP, 1);
        assert!(all > 500 && all.abs_diff(count(&CAUGHT_UP, 20)) <= 10, "{all}, {}", count(&CAUGHT_UP, 20));
        assert!(count(&PROGRAM, 20) < 250);
    }

    #[test]
    fn a_delay_of_the_target_is_no_congestion_and_below_it_all_begins_anew() {
        for settings in [ARTICLE, PROGRAM, CAUGHT_UP] {
            let codel = &mut Codel::new(&settings);
            assert!(marks(codel, &settings, MS * 5, 0, 1000).is_empty(), "{settings:?}");
            assert_eq!(marks(codel, &settings, MS * 6, 1000, 1210).len(), 2, "{settings:?}");
            assert_eq!(codel.update(&settings, at_us(1_210_000), MS * 4), 0);
            follow(&marks(codel, &settings, MS * 6, 1211, 1400), &[1311.0]);
        }
    }

    /// Algorithm 2 leaves Drop only with a δ below the target. A δ of exactly the target neither ends it nor
    /// marks.
    #[test]
    fn in_drop_a_delay_of_exactly_the_target_changes_nothing() {
        let codel = &mut Codel::new(&ARTICLE);
        assert_eq!(codel.update(&ARTICLE, at_us(0), MS * 6), 0);
        assert_eq!(codel.update(&ARTICLE, at_us(150_000), MS * 5), 0);
        assert_eq!(codel.update(&ARTICLE, at_us(150_001), MS * 6), 1, "it is above since 0");
    }

    #[test]
    fn a_mark_after_which_the_queue_is_short_ends_the_spell() {
        let codel = &mut Codel::new(&ARTICLE);
        assert_eq!(marks(codel, &ARTICLE, MS * 6, 0, 101).len(), 1);
        codel.update(&ARTICLE, at_us(102_000), Span::ZERO);
        codel.update(&ARTICLE, at_us(103_000), Span::ZERO);
        follow(&marks(codel, &ARTICLE, MS * 6, 104, 310), &[204.0, 304.0]);
    }

    #[test]
    fn no_sequence_of_absurd_delays_makes_an_interval_negative_or_a_count_overflow() {
        for settings in [ARTICLE, PROGRAM, CAUGHT_UP] {
            let mut codel = Codel::new(&settings);
            for step in 0..200_000 {
                let delay = if step % 1000 == 999 { Span::ZERO } else { Span::from_nanos(u64::MAX) };
                codel.update(&settings, Time::from_nanos(step << 40), delay);
            }
        }
    }
}
