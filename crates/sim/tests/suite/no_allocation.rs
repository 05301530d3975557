//! In its steady state a world allocates nothing per packet: this allocator counts the allocations of each
//! thread.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::common::{at, experiment, scenario, world};
use weir_experiment::Setup;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    let _ = ALLOCATIONS.try_with(|all| all.set(all.get() + 1));
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait; all of it is the system's")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: `pointer` came from `System` with this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Checks that between the warm-up and the end of a scenario, in seconds, it allocates less than once per
/// thousand packet-hops. Tables and histograms still grow occasionally, but packets cost nothing.
fn allocates_nothing_per_packet(name: &str, set: &[&str], warm_up: u64, end: u64) {
    let setup = Setup { with_series: true, ..Setup::default() };
    let scenario = scenario(name, set);
    let mut world = world(experiment(&scenario, &setup));
    world.run_until(at(warm_up), &mut |_| ()).unwrap();
    let before = (ALLOCATIONS.get(), world.packet_hops());
    world.run_until(at(end), &mut |_| ()).unwrap();
    let allocations = ALLOCATIONS.get() - before.0;
    let hops = world.packet_hops() - before.1;
    eprintln!("{name} {set:?}: {allocations} allocations, {hops} packet-hops");
    assert!(hops > 500_000, "{hops}");
    assert!(1000 * allocations < hops, "{allocations} allocations in {hops} packet-hops");
}

#[test]
fn the_dumbbell_allocates_nothing_per_packet() {
    allocates_nothing_per_packet("qsccp/dumbbell", &[], 10, 60);
}

#[test]
fn a_network_of_200_nodes_allocates_nothing_per_packet() {
    allocates_nothing_per_packet("examples/random-200", &[], 3, 5);
}

#[test]
fn without_congestion_control_nothing_is_allocated_per_packet_either() {
    allocates_nothing_per_packet("qsccp/dumbbell", &["scheme.default=fixed"], 10, 60);
}

#[test]
fn schemes_that_steer_or_label_paths_allocate_nothing_per_packet() {
    // OMCC-RF sends little while its first flow is alone.
    for (scheme, end) in [("mircc", 80), ("omcc-rf", 160), ("hbhcm", 80), ("dpccp", 80), ("ndn-qsf", 80)] {
        let default = format!("scheme.default={scheme}");
        allocates_nothing_per_packet("qsccp/diamond-latency", &[&default], 20, end);
    }
}

#[test]
fn windows_and_marks_allocate_nothing_per_packet() {
    for scheme in ["pcon", "cubic", "bbr", "e2e-aqm", "tcp-newreno"] {
        let default = format!("scheme.default={scheme}");
        allocates_nothing_per_packet("qsccp/dumbbell", &[&default], 10, 60);
    }
}
