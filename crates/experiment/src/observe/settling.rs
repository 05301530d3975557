//! The time until goodput has settled.

use weir_core::units::{Span, Time};
use weir_scenario::{FlowId, Scenario};

use crate::probe::Probe;

/// The length of the bins over which goodput is averaged (the step of the papers' plots). If one
/// segment of each flow exceeds the settled range in such a bin, it is the smallest multiple in which it does
/// not.
const SETTLE_BIN: Span = Span::from_millis(500);
/// The relative deviation from the final value that counts as settled.
const SETTLED: f64 = 0.05;

/// The observations for [`Metric::Settle`].
#[derive(Clone, Debug)]
pub(super) struct Settling {
    window: (Time, Time),
    /// The time of the last change to which the flows have to settle.
    since: Time,
    /// The length of a step.
    step: Span,
    /// The content of one segment of each flow, bytes.
    segments_bytes: f64,
    /// The content delivered by the ends of steps.
    delivered: Vec<(Time, u64)>,
}

impl Settling {
    /// Returns an observer for the goodput of a probe that selects this number of flows.
    pub(super) fn of(scenario: &Scenario, probe: &Probe, flows: usize) -> Settling {
        let at = |span: Span| Time::ZERO + span;
        let window = (at(probe.window.0), at(probe.window.1));
        let payload = |flow: &FlowId| scenario.flows[flow.index()].payload;
        let longest = probe.select.flows.iter().map(payload).max();
        Settling {
            window,
            since: last_change(scenario, probe).max(window.0),
            step: scenario.sample,
            segments_bytes: longest.map_or(0.0, |payload| payload.as_u64() as f64) * flows as f64,
            delivered: Vec::new(),
        }
    }

    /// Handles the end of a step, with the content that the flows received until then, bytes.
    pub(super) fn on_sample(&mut self, now: Time, content: u64) {
        self.delivered.push((now, content));
    }

    /// Adds the content that further flows received by the same ends of steps.
    pub(super) fn take_in(&mut self, part: &Settling) {
        let known = self.delivered.len();
        self.delivered.extend(part.delivered.iter().skip(known).map(|(at, _)| (*at, 0)));
        self.delivered.iter_mut().zip(&part.delivered).for_each(|(own, of_part)| own.1 += of_part.1);
    }

    /// Returns the time, from the last change on, until the goodput, averaged over bins, stays near its mean
    /// over the window's last quarter. Returns `None` if nothing was delivered, or if there is no bin. If the
    /// last bin has not settled, it is the time until the end of this bin.
    pub(super) fn time_s(&self) -> Option<f64> {
        Some(self.settled()?.0)
    }

    /// Returns whether the last bin has not settled.
    pub(super) fn is_never(&self) -> bool {
        self.settled().is_some_and(|(_, is_near)| !is_near)
    }

    /// Returns the time to settle, s, and whether the last bin is near the final value.
    fn settled(&self) -> Option<(f64, bool)> {
        let (from, to) = (self.window.0, self.step_before(self.window.1));
        let last = self.step_after(from + (to - from) / 4 * 3);
        if last >= to {
            return None;
        }
        let final_rate = self.rate(last, to);
        if final_rate <= 0.0 {
            return None;
        }
        let (since, bin) = (self.step_after(self.since), self.bin(final_rate));
        let mut at = since;
        let mut settled = None;
        let mut is_near = true;
        while at + bin <= to {
            is_near = (self.rate(at, at + bin) / final_rate - 1.0).abs() <= SETTLED;
            at += bin;
            settled = if is_near { settled.or(Some(since)) } else { Some(at) };
        }
        settled.map(|settled| ((settled - since).as_secs_f64(), is_near))
    }

    /// Returns the length of the bins: whole steps, because the content is known only at their ends.
    fn bin(&self, final_rate: f64) -> Span {
        let times = self.segments_bytes / (SETTLED * final_rate * SETTLE_BIN.as_secs_f64());
        let bin = SETTLE_BIN * times.ceil().max(1.0) as u64;
        self.step * bin.as_nanos().div_ceil(self.step.as_nanos())
    }

    /// Returns the bytes a second between the ends of two steps.
    fn rate(&self, from: Time, to: Time) -> f64 {
        let content = |at: Time| {
            let after = self.delivered.partition_point(|(time, _)| *time <= at);
            after.checked_sub(1).map_or(0, |index| self.delivered[index].1) as f64
        };
        (content(to) - content(from)) / (to - from).as_secs_f64()
    }

    fn step_before(&self, at: Time) -> Time {
        Time::ZERO + self.step * (at.as_nanos() / self.step.as_nanos())
    }

    fn step_after(&self, at: Time) -> Time {
        Time::ZERO + self.step * at.as_nanos().div_ceil(self.step.as_nanos())
    }
}

/// Returns the last time before the window's end at which the scenario changes the probe's flows.
fn last_change(scenario: &Scenario, probe: &Probe) -> Time {
    let selected = probe.select.flows.iter().map(|flow| &scenario.flows[flow.index()]);
    let starts = selected.flat_map(|flow| [Some(flow.start), flow.stop]).flatten();
    let events = scenario.events.iter().map(|event| event.at);
    let last = starts.chain(events).filter(|at| *at < probe.window.1).max();
    Time::ZERO + last.unwrap_or(Span::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Returns an observer with these bytes in steps of `step` ms, over a window that they fill.
    fn settling(step: u64, since: u64, bytes: &[u64]) -> Settling {
        let ends = bytes.iter().scan((0, 0), |(now, sum), bytes| {
            (*now, *sum) = (*now + step, *sum + bytes);
            Some((at(*now), *sum))
        });
        let delivered: Vec<_> = ends.collect();
        let window = (at(0), delivered[delivered.len() - 1].0);
        Settling { window, since: at(since), step: Span::from_millis(step), segments_bytes: 1.0, delivered }
    }

    #[test]
    fn the_time_to_settle_is_the_end_of_the_last_bin_that_is_off() {
        let mut bytes = vec![1000; 100];
        assert_eq!(settling(100, 0, &bytes).time_s(), Some(0.0));
        bytes[12] = 0;
        assert_eq!(settling(100, 0, &bytes).time_s(), Some(1.5));
        // The step of the change itself is ignored.
        bytes[10] = 500;
        assert_eq!(settling(100, 1_040, &bytes).time_s(), Some(0.5));
    }

    #[test]
    fn a_goodput_whose_last_bin_is_off_never_settles() {
        let mut bytes = vec![1000; 100];
        bytes[93] = 0;
        let settled = settling(100, 0, &bytes);
        assert_eq!((settled.time_s(), settled.is_never()), (Some(9.5), false));
        bytes[97] = 0;
        let never = settling(100, 0, &bytes);
        assert_eq!((never.time_s(), never.is_never()), (Some(10.0), true));
        let nothing = settling(100, 0, &[0; 100]);
        assert_eq!((nothing.time_s(), nothing.is_never()), (None, false));
    }

    #[test]
    fn without_a_bin_after_the_last_change_nothing_is_known_to_have_settled() {
        let bytes = [1000; 100];
        assert_eq!(settling(100, 9_500, &bytes).time_s(), Some(0.0));
        assert_eq!(settling(100, 9_600, &bytes).time_s(), None);
        assert_eq!(settling(100, 0, &[0; 100]).time_s(), None);
    }

    #[test]
    fn steps_that_are_longer_than_a_bin_or_do_not_divide_it_are_no_unrest() {
        for step in [300, 700, 2_000] {
            assert_eq!(settling(step, 0, &[1000; 100]).time_s(), Some(0.0), "steps of {step} ms");
        }
    }
}
