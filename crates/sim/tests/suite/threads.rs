//! A world is built on one thread and run on another.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;

use crate::common::{at, experiment, run, scenario, world};
use weir_core::seam::{FlowControl, Queue, Scheme, Strategy};
use weir_experiment::{Experiment, Setup};
use weir_sim::World;

/// Compiles only for types that may go to another thread.
fn may_be_sent<T: Send + ?Sized>() {}

#[test]
fn worlds_experiments_and_the_seam_may_be_sent_to_another_thread() {
    may_be_sent::<World>();
    may_be_sent::<Experiment>();
    may_be_sent::<dyn Scheme>();
    may_be_sent::<dyn FlowControl>();
    may_be_sent::<dyn Strategy>();
    may_be_sent::<dyn Queue>();
}

#[test]
fn a_world_that_goes_on_in_another_thread_measures_the_same() {
    let scenario = scenario("examples/minimal", &[]);
    let here = run(&scenario, &Setup::default());
    let mut world = world(experiment(&scenario, &Setup::default()));
    // The world owns what it needs.
    drop(scenario);
    world.run_until(at(2), &mut |_| ()).unwrap();
    let elsewhere = thread::spawn(move || {
        world.run(&mut |_| ()).unwrap();
        world.finish().report
    });
    assert_eq!(elsewhere.join().unwrap().document, here.document);
}
