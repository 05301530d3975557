//! Requests of random traffic, under several schemes: means over the seeds.

use crate::comparison::{Part, estimate};
use crate::model::{DelayEstimates, RequestComparison, SlowdownEstimates};
use weir_measure::{DelayMs, Estimate, RequestRow, SlowdownFigures};

/// The row of objects of all sizes, in the measurements of a group.
pub(crate) const ALL_SIZES: &str = "all";
/// The name of all groups together.
const ALL_GROUPS: &str = "all groups";

/// What the figures are, in words.
pub(crate) const IN_WORDS: &str = "Requests belong to the part of the runs in which they came. Slowdown is the completion over the time that \
     the request would take alone; ideal is that of sharing links ideally, without queues. Completion and slowdown are of the requests \
     that were complete at the end: a scheme with fewer of them leaves out its slowest.";

/// Requests in words: the group and the sizes in Data.
pub(crate) fn name(group: &str, size: &str) -> String {
    let unit = if size == ALL_SIZES { "" } else { " Data" };
    format!("{group}, {size}{unit}")
}

/// The rows of a part of the runs: for each group and size a row for each scheme, those of all requests last.
pub(crate) fn rows(names: &[&str], schemes: &[Vec<Part<'_>>]) -> Vec<RequestComparison> {
    let runs: Vec<Vec<Vec<RequestRow>>> =
        schemes.iter().map(|runs| runs.iter().map(with_total).collect()).collect();
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for row in runs.iter().flatten().flatten() {
        let key = (row.group.as_str(), row.size.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    // A seed may have no request of some size.
    let groups: Vec<&str> = keys.iter().map(|(group, _)| *group).collect();
    let place = |group: &str| groups.iter().position(|other| *other == group);
    keys.sort_by_key(|(group, size)| (place(group), least(size)));
    let row = |(group, size): (&str, &str)| {
        let of_scheme = move |(name, runs): (&&str, &Vec<Vec<RequestRow>>)| {
            let is_it = |row: &&RequestRow| row.group == group && row.size == size;
            let found: Vec<&RequestRow> = runs.iter().filter_map(|run| run.iter().find(is_it)).collect();
            over_seeds(name, group, size, &found)
        };
        names.iter().zip(&runs).map(of_scheme).collect::<Vec<_>>()
    };
    keys.into_iter().flat_map(row).collect()
}

/// The smallest number of Data of a class of sizes.
fn least(size: &str) -> u64 {
    size.split('-').next().and_then(|least| least.parse().ok()).unwrap_or(u64::MAX)
}

/// The rows of a run, and of several groups that of all together.
fn with_total(run: &Part<'_>) -> Vec<RequestRow> {
    let mut rows = run.requests.to_vec();
    let groups = rows.iter().filter(|row| row.size == ALL_SIZES).count();
    rows.extend(together(run).filter(|_| groups > 1));
    rows
}

/// The requests of all groups. Means are by the requests that were complete; a 99th percentile is that of the group with the
/// largest. `None` without requests.
pub(crate) fn together(run: &Part<'_>) -> Option<RequestRow> {
    let groups: Vec<&RequestRow> = run.requests.iter().filter(|row| row.size == ALL_SIZES).collect();
    let mean = |of: &dyn Fn(&RequestRow) -> Option<f64>| {
        let known = groups.iter().filter_map(|row| Some((of(row)?, row.completed as f64)));
        let (sum, count) = known.fold((0.0, 0.0), |(sum, all), (mean, n)| (sum + mean * n, all + n));
        (count > 0.0).then(|| sum / count)
    };
    let largest =
        |of: &dyn Fn(&RequestRow) -> Option<f64>| groups.iter().filter_map(|row| of(row)).reduce(f64::max);
    let slowdown = |of: &dyn Fn(&RequestRow) -> Option<SlowdownFigures>| SlowdownFigures {
        mean: mean(&|row| of(row)?.mean),
        p99: largest(&|row| of(row)?.p99),
        ..SlowdownFigures::default()
    };
    let first = groups.first()?;
    if groups.len() == 1 {
        return Some((*first).clone());
    }
    Some(RequestRow {
        group: ALL_GROUPS.to_owned(),
        size: ALL_SIZES.to_owned(),
        came: groups.iter().map(|row| row.came).sum(),
        completed: groups.iter().map(|row| row.completed).sum(),
        completion_ms: DelayMs {
            mean: mean(&|row| row.completion_ms.mean),
            p99: largest(&|row| row.completion_ms.p99),
            ..DelayMs::default()
        },
        slowdown: slowdown(&|row| Some(row.slowdown)),
        ideal_slowdown: first.ideal_slowdown.map(|_| slowdown(&|row| row.ideal_slowdown)),
    })
}

/// The part of some requests that were complete.
pub(crate) fn complete(row: &RequestRow) -> Option<f64> {
    (row.came > 0).then(|| row.completed as f64 / row.came as f64)
}

/// The requests of a group and size, with a row a seed.
pub(crate) fn over_seeds(scheme: &str, group: &str, size: &str, runs: &[&RequestRow]) -> RequestComparison {
    let mean = |of: &dyn Fn(&RequestRow) -> Option<f64>| -> Option<Estimate> {
        estimate(runs.iter().map(|run| of(run)))
    };
    let ideal = SlowdownEstimates {
        mean: mean(&|run| run.ideal_slowdown?.mean),
        p99: mean(&|run| run.ideal_slowdown?.p99),
    };
    RequestComparison {
        group: group.to_owned(),
        size: size.to_owned(),
        scheme: scheme.to_owned(),
        came: mean(&|run| Some(run.came as f64)),
        complete: mean(&complete),
        completion_ms: DelayEstimates {
            mean: mean(&|run| run.completion_ms.mean),
            p99: mean(&|run| run.completion_ms.p99),
        },
        slowdown: SlowdownEstimates {
            mean: mean(&|run| run.slowdown.mean),
            p99: mean(&|run| run.slowdown.p99),
        },
        ideal_slowdown: ideal.mean.map(|_| ideal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ComparisonDocument;
    use crate::{SweepDocument, SweepRow, sample, samples};
    use weir_measure::RunDocument;

    fn request(group: &str, size: &str, (came, completed): (u64, u64), slowdown: f64) -> RequestRow {
        let completion_ms =
            DelayMs { mean: Some(10.0 * slowdown), p99: Some(30.0 * slowdown), ..DelayMs::default() };
        let (mean, p99) = (Some(slowdown), Some(3.0 * slowdown));
        let slowdown = SlowdownFigures { mean, p99, ..SlowdownFigures::default() };
        let (group, size) = (group.to_owned(), size.to_owned());
        RequestRow { group, size, came, completed, completion_ms, slowdown, ideal_slowdown: None }
    }

    /// Two schemes with three seeds, all of whose flows are sources of requests. The second seed has no request of the larger size.
    fn runs() -> Vec<Vec<RunDocument>> {
        let mut runs = samples::runs(&sample::dumbbell(8, 50));
        for (at, scheme) in runs.iter_mut().enumerate() {
            for run in scheme {
                let slowdown = (1 + at) as f64 * (1.0 + 0.01 * run.seed as f64);
                let mut rows = vec![request("web", "1-9", (90, 90), slowdown)];
                rows.extend((run.seed != 2).then(|| request("web", "10-99", (10, 5), slowdown)));
                rows.push(request("web", "all", (100, 95), slowdown));
                let windows = run.windows.iter_mut().map(|window| (&mut window.requests, &mut window.flows));
                for (requests, flows) in windows.chain([(&mut run.requests, &mut run.flows)]) {
                    flows.iter_mut().for_each(|flow| flow.group = "web".to_owned());
                    requests.clone_from(&rows);
                }
            }
        }
        runs
    }

    #[test]
    fn a_comparison_of_random_traffic_is_by_its_requests_and_not_by_goodput_or_fairness() {
        let document = ComparisonDocument::of("", &runs());
        let period = document.periods.last().unwrap();
        let heads: Vec<_> = period.requests.iter().map(|row| (&*row.size, &*row.scheme)).collect();
        let sizes = ["1-9", "10-99", "all"];
        assert_eq!(heads, sizes.map(|size| [(size, "qsccp"), (size, "fixed")]).concat());
        let slowdown = period.requests[4].slowdown.mean.unwrap();
        assert!((slowdown.mean - 1.02).abs() < 1e-9 && slowdown.ci95.is_some_and(|half| half > 0.0));
        assert_eq!(
            (period.requests[2].came.unwrap().n, period.requests[4].complete.unwrap().mean),
            (2, 0.95)
        );
        let answer = document.answer();
        assert!(
            answer
                .iter()
                .any(|one| one.starts_with("Mean slowdown of requests: best qsccp, 1.02; then fixed (2.04")),
            "{answer:?}"
        );
        assert!(
            answer
                .iter()
                .all(|one| !one.contains("Goodput") && !one.contains("Jain") && !one.contains("share")),
            "{answer:?}"
        );
        let text = document.text(None);
        assert!(text.contains("\nRequests\n") && text.contains(" web, 10-99 Data "), "{text}");
        assert!(!text.contains("Jain") && !text.contains("Distance"), "{text}");
        let page = document.html(&[]);
        assert!(page.contains("\"key\":\"slowdown\"") && !page.contains("\"key\":\"goodput\""));
    }

    #[test]
    fn a_run_of_random_traffic_says_nothing_of_an_optimum() {
        let mut run = runs()[0][0].clone();
        assert!(run.windows.iter().any(|window| window.optimum.is_some()));
        assert!(!crate::summary(&run, None).contains("optimum"));
        run.windows.iter_mut().for_each(|window| window.requests.clear());
        assert!(crate::summary(&run, None).contains("Distance from the optimum"));
    }

    #[test]
    fn sources_of_requests_have_no_fairness_beside_other_flows() {
        let mut run = runs()[0][0].clone();
        let window = run.windows.last_mut().unwrap();
        let jain = |window: &weir_measure::WindowRow| {
            let row = RunDocument { windows: vec![window.clone()], ..RunDocument::default() };
            crate::summary::fairness_in_class(&crate::comparison::part(&row, 1).unwrap())
        };
        assert_eq!(jain(window), None);
        let class = window.flows[0].class.clone();
        for (flow, goodput_bps) in window.flows.iter_mut().zip([1e6, 3e6, 9e6]) {
            (flow.class, flow.goodput_bps) = (class.clone(), goodput_bps);
        }
        window.flows[..2].iter_mut().for_each(|flow| flow.group = "steady".to_owned());
        assert!((jain(window).unwrap() - 0.8).abs() < 1e-9);
    }

    #[test]
    fn a_sweep_of_random_traffic_has_columns_of_its_requests() {
        let rows =
            runs().into_iter().map(|runs| SweepRow::of(Vec::new(), Vec::new(), &runs[0].scheme, &runs));
        let document =
            SweepDocument::of(SweepDocument { seeds: vec![1, 2, 3], ..SweepDocument::default() }, rows);
        let text = document.text(None);
        let head = text.lines().find(|line| line.contains("slowdown mean")).unwrap();
        assert!(
            head.contains("completion mean ms") && head.contains("complete %") && !head.contains("Jain"),
            "{text}"
        );
    }

    #[test]
    fn requests_of_several_groups_have_a_mean_by_those_complete_and_the_largest_percentile() {
        let rows = [
            request("web", "all", (100, 30), 2.0),
            request("ftp", "1-9", (5, 5), 50.0),
            request("ftp", "all", (10, 10), 6.0),
        ];
        let flows = [];
        let part = Part {
            from_s: 0.0,
            to_s: 1.0,
            flows: &flows,
            classes: &[],
            groups: &[],
            links: &[],
            requests: &rows,
            optimum: None,
        };
        let all = together(&part).unwrap();
        assert_eq!(
            (all.came, all.completed, all.slowdown.mean, all.slowdown.p99),
            (110, 40, Some(3.0), Some(18.0))
        );
        let names: Vec<String> = with_total(&part).iter().map(|row| name(&row.group, &row.size)).collect();
        assert_eq!(names, ["web, all", "ftp, 1-9 Data", "ftp, all", "all groups, all"]);
    }
}
