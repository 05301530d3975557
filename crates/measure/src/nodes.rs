//! Accounts of the nodes of a run: their stores, their pending Interests, and the packets that they dropped.
//! They work like those of links.
//!
//! The world reports the counters of a node at the ends of steps and intervals, so a packet costs nothing
//! here.

use weir_core::node::CacheCounters;
use weir_core::seam::DropReason;
use weir_core::units::Time;

use crate::accounts::{Extent, FlowAccounts, Interval};
use crate::model::{DropRow, NodeRow};
use crate::series::{NodeSample, NodeSeries};

/// With more nodes than this, their time series are not kept.
const NODES_WITH_SERIES: usize = 1_000;

/// Packets dropped for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Data.
    pub data: u64,
    /// Interests and Nacks.
    pub interests: u64,
}

/// Packets dropped, by [`DropReason::ALL`].
pub type DroppedByReason = [Dropped; DropReason::ALL.len()];

/// Returns one row for each reason for which packets were dropped.
pub fn drop_rows(dropped: &DroppedByReason) -> Vec<DropRow> {
    let some =
        DropReason::ALL.into_iter().zip(dropped).filter(|(_, dropped)| **dropped != Dropped::default());
    some.map(|(reason, &Dropped { data, interests })| DropRow {
        reason: reason.words().to_owned(),
        place: reason.place().name().to_owned(),
        data,
        interests,
    })
    .collect()
}

/// The state of a node at the end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeState {
    /// The counters of its stores so far.
    pub cache: CacheCounters,
    /// The number of Data in its content store.
    pub cached: u64,
    /// The number of pending Interests.
    pub pending: u64,
    /// The largest number of pending Interests since the last report.
    pub most_pending: u64,
}

/// The nodes in a part of the run.
#[derive(Clone, Debug)]
struct NodeInterval {
    from: Time,
    to: Time,
    is_active: bool,
    caches: [Vec<CacheCounters>; 2],
    /// Packets dropped, by node; `None` for a node that dropped nothing, as most nodes.
    drops: Vec<Option<Box<DroppedByReason>>>,
    /// The sum of the pending Interests at the ends of steps.
    pending: Vec<u64>,
    most_pending: Vec<u64>,
    steps: u64,
}

impl NodeInterval {
    fn new(interval: &Interval, nodes: usize) -> NodeInterval {
        NodeInterval {
            from: interval.from(),
            to: interval.to(),
            is_active: false,
            caches: [vec![CacheCounters::default(); nodes], vec![CacheCounters::default(); nodes]],
            drops: vec![None; nodes],
            pending: vec![0; nodes],
            most_pending: vec![0; nodes],
            steps: 0,
        }
    }

    /// Adds the interval of some nodes, which have these indices.
    fn take_in(&mut self, places: &[usize], part: NodeInterval) {
        (self.to, self.is_active, self.steps) = (part.to, part.is_active, part.steps);
        for (own, of_part) in self.caches.iter_mut().zip(part.caches) {
            put(own, of_part, places);
        }
        put(&mut self.drops, part.drops, places);
        put(&mut self.pending, part.pending, places);
        put(&mut self.most_pending, part.most_pending, places);
    }

    fn cache(&self, node: usize) -> CacheCounters {
        let [before, after] = [self.caches[0][node], self.caches[1][node]];
        CacheCounters {
            hits: after.hits - before.hits,
            misses: after.misses - before.misses,
            insertions: after.insertions - before.insertions,
            evictions: after.evictions - before.evictions,
        }
    }

    fn row(&self, node: usize, name: &str) -> NodeRow {
        let cache = self.cache(node);
        NodeRow {
            node: name.to_owned(),
            cache_hits: cache.hits,
            cache_misses: cache.misses,
            cache_insertions: cache.insertions,
            cache_evictions: cache.evictions,
            cache_hit_ratio: ratio(cache),
            pit_mean: (self.steps > 0).then(|| self.pending[node] as f64 / self.steps as f64),
            pit_max: self.most_pending[node],
            drops: self.drops[node].as_deref().map(drop_rows).unwrap_or_default(),
        }
    }
}

/// Puts the values of a part at their indices among all.
fn put<T>(all: &mut [T], part: Vec<T>, places: &[usize]) {
    for (value, &place) in part.into_iter().zip(places) {
        if let Some(own) = all.get_mut(place) {
            *own = value;
        }
    }
}

/// Returns the answered part of the Interests looked up; `None` without any.
fn ratio(cache: CacheCounters) -> Option<f64> {
    let looked_up = cache.hits + cache.misses;
    (looked_up > 0).then(|| cache.hits as f64 / looked_up as f64)
}

/// All accounts of the nodes of a run.
#[derive(Clone, Debug)]
pub struct NodeAccounts {
    names: Vec<String>,
    states: Vec<NodeState>,
    /// Packets dropped, for any reason.
    dropped: Vec<u64>,
    /// The intervals of the flows' accounts, in order.
    intervals: Vec<NodeInterval>,
    series: Vec<NodeSeries>,
    at_step: Vec<(CacheCounters, u64)>,
}

impl NodeAccounts {
    /// Returns accounts over the intervals of the flows' accounts.
    pub fn new(names: Vec<String>, flows: &FlowAccounts, extent: &Extent) -> NodeAccounts {
        let nodes = names.len();
        let samples = (extent.until.as_nanos() / extent.step.as_nanos()) as usize;
        let plotted = if extent.with_series && nodes <= NODES_WITH_SERIES { nodes } else { 0 };
        NodeAccounts {
            names,
            states: vec![NodeState::default(); nodes],
            dropped: vec![0; nodes],
            intervals: flows.intervals().iter().map(|i| NodeInterval::new(i, nodes)).collect(),
            series: (0..plotted).map(|_| NodeSeries::with_room(samples)).collect(),
            at_step: vec![Default::default(); nodes],
        }
    }

    /// Adds the accounts of a part of the network, whose nodes have these indices among all.
    pub fn take_in(&mut self, places: &[usize], part: NodeAccounts) {
        put(&mut self.states, part.states, places);
        put(&mut self.dropped, part.dropped, places);
        // A part has fewer nodes, so it has the series of each if the whole has.
        put(&mut self.series, part.series, places);
        for (own, of_part) in self.intervals.iter_mut().zip(part.intervals) {
            own.take_in(places, of_part);
        }
    }

    // ---- Events

    /// Counts a packet that a node dropped.
    pub fn on_drop(&mut self, node: usize, is_data: bool, reason: DropReason) {
        self.dropped[node] += 1;
        for interval in self.intervals.iter_mut().filter(|i| i.is_active) {
            let dropped = &mut interval.drops[node].get_or_insert_default()[reason as usize];
            *(if is_data { &mut dropped.data } else { &mut dropped.interests }) += 1;
        }
    }

    /// Counts these packets, which a node dropped and reports at once.
    pub fn on_drops(&mut self, node: usize, drops: &DroppedByReason) {
        self.dropped[node] += drops.iter().map(|dropped| dropped.data + dropped.interests).sum::<u64>();
        if drops.iter().all(|dropped| *dropped == Dropped::default()) {
            return;
        }
        for interval in self.intervals.iter_mut().filter(|i| i.is_active) {
            for (sum, dropped) in interval.drops[node].get_or_insert_default().iter_mut().zip(drops) {
                sum.data += dropped.data;
                sum.interests += dropped.interests;
            }
        }
    }

    /// Sets the present state of a node, before [`NodeAccounts::end_step`].
    pub fn set_state(&mut self, node: usize, state: NodeState) {
        self.states[node] = state;
    }

    /// Ends a step or an interval. `is_sample` is whether a step of the time series ends.
    pub fn end_step(&mut self, now: Time, is_sample: bool) {
        for interval in &mut self.intervals {
            if interval.is_active {
                let most = interval.most_pending.iter_mut().zip(&self.states);
                most.for_each(|(most, state)| *most = (*most).max(state.most_pending));
                if is_sample {
                    interval.steps += 1;
                    let sums = interval.pending.iter_mut().zip(&self.states);
                    sums.for_each(|(sum, state)| *sum += state.pending);
                }
            }
            let caches = || self.states.iter().map(|state| state.cache).collect();
            if interval.from == now {
                interval.is_active = true;
                interval.most_pending = self.states.iter().map(|state| state.pending).collect();
                interval.caches[0] = caches();
            }
            if interval.to == now {
                interval.is_active = false;
                interval.caches[1] = caches();
            }
        }
        if is_sample {
            self.sample();
        }
    }

    /// Ends the run at `until`, at which the next step ends, earlier than planned.
    pub fn end_at(&mut self, until: Time) {
        for interval in self.intervals.iter_mut().filter(|i| i.from < until) {
            interval.to = interval.to.min(until);
        }
    }

    fn sample(&mut self) {
        for (index, series) in self.series.iter_mut().enumerate() {
            let (state, (before, dropped)) = (&self.states[index], self.at_step[index]);
            series.push(NodeSample {
                cache_hits: (state.cache.hits - before.hits) as u32,
                cache_misses: (state.cache.misses - before.misses) as u32,
                cached_packets: state.cached.min(u32::MAX.into()) as u32,
                pit: state.pending as u32,
                drops: (self.dropped[index] - dropped) as u32,
            });
            self.at_step[index] = (state.cache, self.dropped[index]);
        }
    }

    // ---- Results

    /// Returns one row for each node, over the interval with this index.
    pub fn rows(&self, place: usize) -> Vec<NodeRow> {
        let interval = &self.intervals[place];
        self.names.iter().enumerate().map(|(node, name)| interval.row(node, name)).collect()
    }

    /// Returns the Data that all nodes lost, over the interval with this index.
    pub fn data_lost(&self, place: usize) -> u64 {
        let of_reasons = |drops: &DroppedByReason| -> u64 {
            let losses = DropReason::ALL.into_iter().zip(drops).filter(|(reason, _)| reason.is_loss());
            losses.map(|(_, dropped)| dropped.data).sum()
        };
        self.intervals[place].drops.iter().flatten().map(|drops| of_reasons(drops)).sum()
    }

    /// Returns the part of the Interests looked up at some nodes that their stores answered, over the
    /// interval with this index; `None` without any.
    pub fn hit_ratio(&self, place: usize, nodes: &[usize]) -> Option<f64> {
        let mut sum = CacheCounters::default();
        for &node in nodes {
            let cache = self.intervals[place].cache(node);
            sum.hits += cache.hits;
            sum.misses += cache.misses;
        }
        ratio(sum)
    }

    /// Removes and returns the time series.
    pub fn take_series(&mut self) -> Vec<NodeSeries> {
        core::mem::take(&mut self.series)
    }
}
