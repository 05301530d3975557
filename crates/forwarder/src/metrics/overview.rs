//! A [`Snapshot`] as the [`Overview`] of the forwarder.

use weir_core::seam::DropReason;
use weir_management::overview::{
    ClassOverview, DropOverview, FaceOverview, LossOverview, NextHopOverview, Overview, RouteOverview, Store,
    Tables,
};
use weir_management::status::{FaceStatus, FibStatus};

use super::{Delays, MAX_FACES, Snapshot};

/// Largest number of prefixes in an overview.
pub const MAX_ROUTES: usize = 200;

impl Snapshot {
    /// The overview, with these entries of the FIB.
    pub fn overview(&self, routes: Vec<FibStatus>) -> Overview {
        let general = &self.general;
        Overview {
            version: general.version.clone(),
            started_ms: general.started_ms,
            now_ms: general.now_ms,
            tables: Tables {
                pit_entries: general.pit_entries,
                satisfied_interests: general.satisfied_interests,
                expired_interests: general.unsatisfied_interests,
                evicted_interests: self.evicted_interests,
                left_next_hops: self.left_next_hops,
            },
            store: Store {
                packets: self.cs.entries,
                capacity: self.cs.capacity,
                hits: self.cs.hits,
                misses: self.cs.misses,
            },
            faces: self.faces.iter().take(MAX_FACES).map(face).collect(),
            face_count: self.faces.len(),
            classes: self.classes_overview(),
            routes: routes.into_iter().map(route).collect(),
            route_count: general.fib_entries,
            drops: self.drops_overview(),
            losses: LossOverview {
                datagrams: general.losses.datagrams,
                reassembly: general.losses.reassembly,
                connections: general.losses.connections,
                files: general.losses.files,
            },
        }
    }

    fn classes_overview(&self) -> Vec<ClassOverview> {
        let each = self.classes.used().map(|(class, sent)| {
            let delays = self.delays.iter().find(|(other, _)| *other == class).map(|(_, delays)| *delays);
            let delays = delays.unwrap_or_default();
            ClassOverview {
                class: class.name().to_owned(),
                out_interests: sent.out_interests,
                out_data: sent.out_data,
                out_bytes: sent.out_bytes,
                dropped: sent.dropped,
                queued: delays.count(),
                queue_delay_s: delays.sum_s(),
                queue_delays: queue_delays(&delays),
            }
        });
        each.collect()
    }

    fn drops_overview(&self) -> Vec<DropOverview> {
        let each = DropReason::ALL.iter().zip(self.drops).filter(|(_, counts)| *counts != [0, 0]);
        each.map(|(reason, [data, others])| DropOverview { reason: reason.words().to_owned(), data, others })
            .collect()
    }
}

/// Upper bounds, s, each with its number of packets; empty without packets.
fn queue_delays(delays: &Delays) -> Vec<(Option<f64>, u64)> {
    if delays.count() == 0 {
        return Vec::new();
    }
    let bound = |bound: f64| (bound < f64::MAX).then_some(bound);
    delays.buckets().into_iter().map(|(upper, count)| (bound(upper), count)).collect()
}

fn face(face: &FaceStatus) -> FaceOverview {
    let counters = &face.counters;
    FaceOverview {
        face: face.number,
        remote: face.remote.clone(),
        up: face.up,
        rate_bps: face.send_rate_bps,
        in_interests: counters.in_interests,
        in_data: counters.in_data,
        in_bytes: counters.in_bytes,
        out_interests: counters.out_interests,
        out_data: counters.out_data,
        out_bytes: counters.out_bytes,
        queue_packets: face.queued_packets,
        queue_bytes: face.queued_bytes,
        dropped: counters.out_dropped,
    }
}

fn route(entry: FibStatus) -> RouteOverview {
    let hops = entry.next_hops.iter();
    RouteOverview {
        prefix: entry.prefix.to_string(),
        next_hops: hops
            .map(|hop| NextHopOverview { face: hop.face, cost: hop.cost, silent: hop.silent })
            .collect(),
    }
}
