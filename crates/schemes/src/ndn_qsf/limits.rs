//! Rate limits of the upstreams of a prefix, once a round (Algorithms 1 and 2), in Interests a second.
//!
//! Algorithm 2 is for several upstreams. q is the smoothed queue size of an upstream, Q is the number of Interests of the
//! prefix that wait here, and v is the upstream that is being probed:
//!
//! ```text
//!   each u:  limit ← max(q > 2·QUEUE_THRESHOLD ? bandwidth·MD_FACTOR : bandwidth, MIN_RATE)
//!   q(v) < QUEUE_THRESHOLD:  limit(v) ← limit(v)·1.05         else: another v
//!   q(v) < QUEUE_THRESHOLD and Q ≤ QUEUE_THRESHOLD:
//!       each u with q > QUEUE_THRESHOLD:  limit(u) ← limit(u) − STEP,  limit(v) ← limit(v) + STEP
//! ```
//!
//! Algorithm 1 is for one upstream. It is missing from the available text, and reconstructed from section 4.3: the threshold
//! counts once, and each round with a short queue probes.
//!
//! Each round computes a limit from the bandwidth again. The effects of probing and STEP nevertheless remain:
//! rule (2) raises the bandwidth of v if more comes from it, and rule (1) lowers the bandwidth of u, whose
//! queue is long, if less comes from it.

use weir_core::random::Random;

use super::NodeSettings;

/// One upstream in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Path {
    /// The smoothed queue size, packets.
    pub(super) queue: f64,
    /// The bandwidth, Data a second.
    pub(super) bandwidth: f64,
    /// MIN_RATE, Interests a second.
    pub(super) least: f64,
    /// The result: the limit, Interests a second.
    pub(super) limit: f64,
}

/// Sets the limits for the next round. `waiting` Interests wait here, and `probed` is the place of upstream2probe.
pub(super) fn adjust(
    paths: &mut [Path],
    probed: &mut usize,
    waiting: u32,
    settings: &NodeSettings,
    random: &mut Random,
) {
    match paths {
        [] => {}
        [only] => adjust_one(only, settings),
        several => adjust_several(several, probed, waiting, settings, random),
    }
}

/// Algorithm 1.
fn adjust_one(path: &mut Path, settings: &NodeSettings) {
    control(path, settings.threshold, settings);
    if path.queue < settings.threshold {
        path.limit *= settings.probe;
    }
}

/// Algorithm 2.
fn adjust_several(
    paths: &mut [Path],
    probed: &mut usize,
    waiting: u32,
    settings: &NodeSettings,
    random: &mut Random,
) {
    for path in paths.iter_mut() {
        control(path, 2.0 * settings.threshold, settings);
    }
    let is_short = |path: &Path| path.queue < settings.threshold;
    match paths.get_mut(*probed).filter(|path| is_short(path)) {
        Some(path) => path.limit *= settings.probe,
        None => *probed = another(paths, *probed, random),
    }
    if is_short(&paths[*probed]) && f64::from(waiting) <= settings.threshold {
        avoid_contention(paths, *probed, settings);
    }
}

/// Sets the limit to the bandwidth, or below it while the upstream's queue is long.
fn control(path: &mut Path, threshold: f64, settings: &NodeSettings) {
    let part = if path.queue > threshold { settings.decrease } else { 1.0 };
    path.limit = (path.bandwidth * part).max(path.least);
}

/// selectUpstream2Probe: returns the upstream with the shortest queue, a random one of equals, but not the
/// previous one.
fn another(paths: &[Path], before: usize, random: &mut Random) -> usize {
    let shortest = |best: f64, (place, path): (usize, &Path)| {
        if place == before { best } else { best.min(path.queue) }
    };
    let least = paths.iter().enumerate().fold(f64::INFINITY, shortest);
    let is_one = |place: usize, path: &Path| place != before && path.queue <= least;
    let count = paths.iter().enumerate().filter(|(place, path)| is_one(*place, path)).count();
    let chosen = random.below((count as u32).max(1)) as usize;
    let mut all = paths.iter().enumerate().filter(|(place, path)| is_one(*place, path));
    all.nth(chosen).map_or(0, |(place, _)| place)
}

/// Avoids unnecessary contention (section 5.1.1). No Interest waits here, so traffic of upstreams with long
/// queues can move to `to`.
fn avoid_contention(paths: &mut [Path], to: usize, settings: &NodeSettings) {
    let mut moved = 0.0;
    for path in paths.iter_mut().filter(|path| path.queue > settings.threshold) {
        let step = (settings.step * path.bandwidth).min((path.limit - path.least).max(0.0));
        path.limit -= step;
        moved += step;
    }
    paths[to].limit += moved;
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: f64 = 125.0;

    fn settings() -> NodeSettings {
        let usual = NodeSettings::usual();
        NodeSettings { threshold: 5.0, decrease: 0.9, probe: 1.05, step: 0.02, least: 5.0, ..usual }
    }

    fn path(queue: f64, bandwidth: f64) -> Path {
        Path { queue, bandwidth, least: LEAST, limit: 0.0 }
    }

    /// Returns the limits, and the upstream that is probed.
    fn limits(paths: &[Path], probed: usize, waiting: u32) -> (Vec<f64>, usize) {
        let (mut paths, mut probed) = (paths.to_vec(), probed);
        let mut random = Random::named(1, "limits");
        adjust(&mut paths, &mut probed, waiting, &settings(), &mut random);
        (paths.iter().map(|path| (path.limit * 10.0).round() / 10.0).collect(), probed)
    }

    #[test]
    fn one_upstream_is_probed_below_the_threshold_and_drained_above_it() {
        for (queue, expected) in [(0.0, 1050.0), (4.9, 1050.0), (5.0, 1000.0), (5.1, 900.0), (1e9, 900.0)] {
            assert_eq!(limits(&[path(queue, 1000.0)], 0, 100).0, [expected], "{queue}");
        }
    }

    /// The paper: a round drains bandwidth × round × (1 − MD_FACTOR), with 60 Mb/s of 4500 B and 40 ms.
    #[test]
    fn a_round_drains_what_the_paper_says() {
        let mut one = [path(20.0, 60e6 / 36e3)];
        adjust(&mut one, &mut 0, 0, &settings(), &mut Random::named(1, "limits"));
        let drained = (one[0].bandwidth - one[0].limit) * 0.040;
        assert!((drained - 6.67).abs() < 0.01, "{drained}");
    }

    #[test]
    fn no_limit_is_below_the_least() {
        assert_eq!(limits(&[path(9.0, 1.0)], 0, 0).0, [125.0]);
        assert_eq!(limits(&[path(99.0, 100.0), path(99.0, 0.0)], 0, 100).0, [125.0, 125.0]);
    }

    #[test]
    fn of_several_upstreams_twice_the_threshold_is_too_much_and_one_is_probed() {
        let all = [path(0.0, 1000.0), path(10.0, 1000.0), path(10.1, 1000.0)];
        assert_eq!(limits(&all, 0, 100), (vec![1050.0, 1000.0, 900.0], 0));
    }

    #[test]
    fn when_a_queue_builds_up_the_upstream_with_the_shortest_is_probed_next() {
        let all = [path(5.0, 1000.0), path(7.0, 1000.0), path(3.0, 1000.0)];
        // The limit does not change in the round that selects the upstream.
        assert_eq!(limits(&all, 0, 100), (vec![1000.0, 1000.0, 1000.0], 2));
        let all = [path(5.0, 1000.0), path(7.0, 1000.0)];
        assert_eq!(limits(&all, 0, 100).1, 1, "not the one of before, though its queue is shorter");
        assert_eq!(limits(&all, 9, 100).1, 0, "one that is gone");
    }

    #[test]
    fn with_nothing_waiting_here_traffic_moves_from_long_queues_to_the_probed_upstream() {
        let all = [path(0.0, 1000.0), path(6.0, 1000.0), path(11.0, 500.0), path(5.0, 1000.0)];
        let (moved, _) = limits(&all, 0, 5);
        assert_eq!(moved, [1050.0 + 20.0 + 10.0, 980.0, 440.0, 1000.0]);
        let (kept, _) = limits(&all, 0, 6);
        assert_eq!(kept, [1050.0, 1000.0, 450.0, 1000.0], "with more waiting nothing moves");
    }

    #[test]
    fn nothing_moves_to_an_upstream_with_a_queue_nor_below_the_least() {
        assert_eq!(limits(&[path(5.0, 1000.0), path(9.0, 1000.0)], 0, 0), (vec![1000.0, 1000.0], 1));
        assert_eq!(limits(&[path(0.0, 1000.0), path(9.0, 126.0)], 0, 0).0, [1051.0, 125.0]);
    }

    #[test]
    fn without_upstreams_there_is_nothing_to_set() {
        assert_eq!(limits(&[], 3, 0), (vec![], 3));
    }
}
