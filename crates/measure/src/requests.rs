//! Accounts of requests: completions and slowdowns by group and size.

use weir_core::units::{Span, Time};

use crate::accounts::Extent;
use crate::model::{Distribution, DistributionRow, RequestRow, SlowdownFigures};
use crate::series::RequestSample;
use crate::stats::DelayHistogram;

/// The smallest number of Data of each class of sizes.
const SIZES: [u64; 5] = [1, 10, 100, 1_000, 10_000];
/// A slowdown of 1 is recorded as this many ns, so that the histogram is precise to 0.00005.
const ONE: f64 = 1e9;
/// The largest number of requests with their own rows.
const MOST_SAMPLES: usize = 2_000_000;

/// Returns the class of sizes of a request.
fn size_of(amount: u64) -> usize {
    SIZES.iter().rposition(|least| amount >= *least).unwrap_or(0)
}

fn name_of_size(size: usize) -> String {
    match SIZES.get(size + 1) {
        Some(next) => format!("{}-{}", SIZES[size], next - 1),
        None => format!("{}-", SIZES[size]),
    }
}

/// The group of a flow, and whether it is a source of requests.
#[derive(Clone, Debug)]
pub struct RequestInfo {
    /// Its group.
    pub group: String,
    /// Whether it is a source of requests.
    pub is_source: bool,
}

/// The requests of one group and size that came in one interval.
#[derive(Clone, Debug, Default)]
struct Cell {
    came: u64,
    completed: u64,
    completion: DelayHistogram,
    slowdown: DelayHistogram,
}

impl Cell {
    fn merge(&mut self, other: &Cell) {
        self.came += other.came;
        self.completed += other.completed;
        self.completion.merge(&other.completion);
        self.slowdown.merge(&other.slowdown);
    }

    fn row(&self, group: &str, size: String) -> RequestRow {
        let slowdown = self.slowdown.delay_ms();
        let part = |ms: Option<f64>| ms.map(|ms| ms * 1e6 / ONE);
        RequestRow {
            group: group.to_owned(),
            size,
            came: self.came,
            completed: self.completed,
            completion_ms: self.completion.delay_ms(),
            slowdown: SlowdownFigures {
                mean: part(slowdown.mean),
                p50: part(slowdown.p50),
                p95: part(slowdown.p95),
                p99: part(slowdown.p99),
            },
            ideal_slowdown: None,
        }
    }
}

/// Converts the distribution of slowdowns that were recorded as times.
fn as_ratio(times: Distribution) -> Distribution {
    let ratio = 1e6 / ONE;
    let (step, mean) = (times.step * ratio, times.mean.map(|mean| mean * ratio));
    Distribution { unit: "1".to_owned(), step, mean, ..times }
}

/// All requests of a run. A request belongs to the intervals in which it came, whenever it completes.
#[derive(Clone, Debug, Default)]
pub struct RequestAccounts {
    groups: Vec<String>,
    /// The group of each flow.
    group_of: Vec<usize>,
    /// The whole run, then the windows.
    intervals: Vec<(Time, Time)>,
    /// The cells, by interval, group and size.
    cells: Vec<Cell>,
    /// The requests that have ended, if a row is wanted for each, with the times at which they ended.
    samples: Option<Vec<(Time, RequestSample)>>,
}

impl RequestAccounts {
    /// Returns the accounts of a run with these flows.
    pub fn new(flows: Vec<RequestInfo>, extent: &Extent) -> RequestAccounts {
        let mut groups: Vec<String> = Vec::new();
        let mut group_of = Vec::with_capacity(flows.len());
        for flow in flows {
            if flow.is_source && groups.last() != Some(&flow.group) {
                groups.push(flow.group);
            }
            group_of.push(groups.len().saturating_sub(1));
        }
        let whole = core::iter::once((Time::ZERO, extent.until));
        let intervals: Vec<_> = whole.chain(extent.windows.iter().copied()).collect();
        let cells = vec![Cell::default(); intervals.len() * groups.len() * SIZES.len()];
        let samples = (extent.with_series && !groups.is_empty()).then(Vec::new);
        RequestAccounts { groups, group_of, intervals, cells, samples }
    }

    fn cells_at(&mut self, flow: usize, came: Time, amount: u64) -> impl Iterator<Item = &mut Cell> {
        let (group, size) = (self.group_of[flow], size_of(amount));
        let per_interval = self.groups.len() * SIZES.len();
        let of_intervals = self.cells.chunks_mut(per_interval).zip(&self.intervals);
        let within = of_intervals.filter(move |(_, (from, to))| (*from..*to).contains(&came));
        within.map(move |(cells, _)| &mut cells[group * SIZES.len() + size])
    }

    /// Counts a request for this many Data.
    pub fn on_request(&mut self, flow: usize, came: Time, amount: u64) {
        self.cells_at(flow, came, amount).for_each(|cell| cell.came += 1);
    }

    /// Counts the completion of a request that came at `came`. `alone` is the time that it would take alone
    /// in the network.
    pub fn on_end(&mut self, flow: usize, came: Time, amount: u64, took: Span, alone: Option<Span>) {
        let slowdown =
            alone.filter(|alone| *alone > Span::ZERO).map(|alone| took.as_secs_f64() / alone.as_secs_f64());
        for cell in self.cells_at(flow, came, amount) {
            cell.completed += 1;
            cell.completion.record(took.as_nanos());
            if let Some(slowdown) = slowdown {
                cell.slowdown.record((slowdown * ONE) as u64);
            }
        }
        if let Some(samples) = self.samples.as_mut().filter(|samples| samples.len() < MOST_SAMPLES) {
            let sample = RequestSample {
                flow: flow as u32,
                came_s: came.as_secs_f64(),
                amount,
                completion_s: took.as_secs_f64(),
                slowdown: slowdown.map_or(f64::NAN, |slowdown| slowdown),
            };
            samples.push((came + took, sample));
        }
    }

    /// Returns whether any flow is a source of requests.
    pub fn has_sources(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Returns histograms of completion and slowdown over the whole run, for each group by size, and for all
    /// sizes together.
    pub fn distributions(&self) -> Vec<DistributionRow> {
        let mut rows = Vec::new();
        for (group, cells) in self.groups.iter().zip(self.cells.chunks(SIZES.len())) {
            let mut all = Cell::default();
            cells.iter().for_each(|cell| all.merge(cell));
            let sizes = cells.iter().enumerate().map(|(size, cell)| (name_of_size(size), cell));
            for (size, cell) in sizes.chain([("all".to_owned(), &all)]).filter(|(_, cell)| cell.completed > 0)
            {
                let name = format!("{group} {size}");
                rows.extend(DistributionRow::of(
                    "completion",
                    "requests",
                    name.clone(),
                    cell.completion.distribution(),
                ));
                rows.extend(DistributionRow::of(
                    "slowdown",
                    "requests",
                    name,
                    as_ratio(cell.slowdown.distribution()),
                ));
            }
        }
        rows
    }

    /// Returns the rows of an interval, the whole run first: for each group by size, and for all sizes
    /// together.
    pub fn rows(&self, interval: usize) -> Vec<RequestRow> {
        let per_interval = self.groups.len() * SIZES.len();
        let cells = self.cells.get(interval * per_interval..).unwrap_or_default();
        let mut rows = Vec::new();
        for (group, cells) in self.groups.iter().zip(cells.chunks(SIZES.len())) {
            let mut all = Cell::default();
            for (size, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.came > 0) {
                rows.push(cell.row(group, name_of_size(size)));
                all.merge(cell);
            }
            rows.push(all.row(group, "all".to_owned()));
        }
        rows
    }

    /// Removes and returns the requests that have ended, in the order of their ends; none without time
    /// series.
    pub fn take_samples(&mut self) -> Vec<RequestSample> {
        let mut samples = self.samples.take().unwrap_or_default();
        // Requests that end at the same time are in the order of flows, wherever they were counted.
        samples.sort_by_key(|(ended, sample)| (*ended, sample.flow));
        samples.truncate(MOST_SAMPLES);
        samples.into_iter().map(|(_, sample)| sample).collect()
    }

    /// Adds the accounts of a part of the network, which count the same flows.
    pub fn take_in(&mut self, part: RequestAccounts) {
        self.cells.iter_mut().zip(&part.cells).for_each(|(own, of_part)| own.merge(of_part));
        self.samples.iter_mut().for_each(|own| own.extend(part.samples.iter().flatten()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn accounts() -> RequestAccounts {
        let info = |group: &str, is_source| RequestInfo { group: group.to_owned(), is_source };
        let extent = Extent {
            until: at(100),
            windows: vec![(at(10), at(20))],
            others: Vec::new(),
            step: Span::from_secs(1),
            with_series: true,
        };
        RequestAccounts::new(
            vec![info("long", false), info("web", true), info("web", true), info("ftp", true)],
            &extent,
        )
    }

    #[test]
    fn a_request_counts_where_it_came_by_its_group_and_size() {
        let mut accounts = accounts();
        for (flow, came, amount) in [(1, 5, 1), (2, 10, 9), (2, 19, 10), (3, 20, 99_999)] {
            accounts.on_request(flow, at(came), amount);
            if flow < 3 {
                accounts.on_end(flow, at(came), amount, Span::from_secs(2), Some(Span::from_millis(500)));
            }
        }
        let shown = |interval| -> Vec<(String, String, u64, u64)> {
            accounts
                .rows(interval)
                .into_iter()
                .map(|row| (row.group, row.size, row.came, row.completed))
                .collect()
        };
        let row =
            |group: &str, size: &str, came, completed| (group.to_owned(), size.to_owned(), came, completed);
        let of_run = [
            row("web", "1-9", 2, 2),
            row("web", "10-99", 1, 1),
            row("web", "all", 3, 3),
            row("ftp", "10000-", 1, 0),
            row("ftp", "all", 1, 0),
        ];
        assert_eq!(shown(0), of_run);
        assert_eq!(
            shown(1),
            [
                row("web", "1-9", 1, 1),
                row("web", "10-99", 1, 1),
                row("web", "all", 2, 2),
                row("ftp", "all", 0, 0)
            ]
        );
        let web = &accounts.rows(0)[2];
        assert_eq!((web.completion_ms.mean, web.slowdown.mean), (Some(2000.0), Some(4.0)));
        assert_eq!(accounts.rows(0)[4].slowdown.mean, None);
        let shown: Vec<_> = accounts.distributions().into_iter().filter(|row| row.of == "web all").collect();
        assert_eq!([&*shown[0].what, &*shown[1].what], ["completion", "slowdown"]);
        let slowdown = &shown[1].distribution;
        assert_eq!((&*slowdown.unit, slowdown.count, slowdown.mean), ("1", 3, Some(4.0)));
        assert!((slowdown.quantile(0.5).unwrap() - 4.0).abs() < 0.02);
        assert_eq!(accounts.take_samples().len(), 3);
    }
}
