//! Tests of log messages about next hops that do not answer.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

/// Collects the lines of the log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Lines {
    /// Takes the lines about next hops.
    fn take(&self) -> Vec<String> {
        let lines = core::mem::take(&mut *self.0.lock().unwrap());
        lines.into_iter().filter(|line| line.contains("next hop")).collect()
    }
}

fn data(uri: &str) -> Vec<u8> {
    let info = SignatureInfo::new(SignatureType::DigestSha256);
    Data::new(name(uri).view(), b"", info).to_vec()
}

/// An engine with a consumer and two next hops of `/a%0A`. The cheaper one does not answer.
struct World {
    engine: Engine,
    consumer: (FaceSlot, Rc<RefCell<Script>>),
    hops: [(FaceSlot, Rc<RefCell<Script>>); 2],
    asked: u32,
}

const PREFIX: &str = "/a%0A";

fn world() -> World {
    let mut engine = engine("[tables]\nnext_hop_timeout = \"5 ms\"\n");
    let consumer = add(&mut engine, Script::default());
    let hops = [(); 2].map(|()| add(&mut engine, Script::default()));
    for (cost, (slot, _)) in hops.iter().enumerate() {
        let hop = face(&engine, *slot).number;
        engine.add_next_hop(&name(PREFIX), hop, cost as u64).unwrap();
    }
    World { engine, consumer, hops, asked: 0 }
}

impl World {
    /// Requests one more name, and lets the next-hop timeout pass.
    fn ask(&mut self) {
        self.asked += 1;
        let (slot, script) = &self.consumer;
        come(&mut self.engine, *slot, script, interest(&format!("{PREFIX}/{}", self.asked), self.asked));
        let later = self.engine.outside.now() + us(6_000);
        while self.engine.outside.now() < later {}
    }

    /// Sends the answer of a next hop.
    fn answer(&mut self, hop: usize, n: u32) {
        let (slot, script) = &self.hops[hop];
        come(&mut self.engine, *slot, script, data(&format!("{PREFIX}/{n}")));
    }

    /// The first next hop sends a Nack for the previous Interest. This is an answer without a round-trip time, which would delay
    /// the next timeout.
    fn refuse(&mut self) {
        let n = self.asked - 1;
        let (slot, script) = &self.hops[0];
        come(&mut self.engine, *slot, script, nack(&interest(&format!("{PREFIX}/{n}"), n)));
    }

    /// Removes a next hop without ending the round.
    fn remove(&mut self, hop: usize) {
        let number = face(&self.engine, self.hops[hop].0).number;
        self.engine.remove_next_hop(&name(PREFIX), number);
    }

    /// Makes strategies stop using the first next hop.
    fn leave(&mut self) {
        (0..2).for_each(|_| self.ask());
        self.answer(1, self.asked);
    }
}

#[test]
fn the_log_says_which_next_hop_is_left_and_when_it_answers_again() {
    let (mut world, lines) = (world(), Lines::default());
    let number = face(&world.engine, world.hops[0].0).number;
    let subject = format!("prefix={PREFIX} face={number} remote=tcp4://192.0.2.9:6363");
    tracing::subscriber::with_default(lines.clone(), || {
        world.leave();
        let left = "message=stopped using a next hop: it does not answer, and another one does";
        assert_eq!(lines.take(), [format!("WARN {left} {subject}")]);
        world.ask();
        assert_eq!(lines.take(), Vec::<String>::new());
        world.answer(0, 1);
        let back = "message=a next hop answers again, and is used again";
        assert_eq!(lines.take(), [format!("INFO {back} {subject}")]);
    });
    assert_eq!(world.engine.snapshot().left_next_hops, 1);
}

#[test]
fn of_a_next_hop_that_comes_and_goes_the_log_has_some_lines_and_then_the_number() {
    let (mut world, lines) = (world(), Lines::default());
    tracing::subscriber::with_default(lines.clone(), || {
        for _ in 0..20 {
            world.leave();
            world.refuse();
        }
        assert_eq!(lines.take().len(), 16);
        world.engine.now += Span::from_secs(30);
        world.engine.tell_other_next_hops();
        let other = lines.take();
        assert!(other.len() == 1 && other[0].ends_with(" left=12 back=12"), "{other:?}");
    });
    assert_eq!(world.engine.snapshot().left_next_hops, 20);
}

#[test]
fn the_log_says_that_a_next_hop_that_was_left_is_used_again_because_the_others_are_removed() {
    let (mut world, lines) = (world(), Lines::default());
    let number = face(&world.engine, world.hops[0].0).number;
    tracing::subscriber::with_default(lines.clone(), || {
        world.leave();
        assert_eq!(lines.take().len(), 1);
        world.remove(1);
        world.engine.end();
        let back = "message=a next hop that does not answer is used again: there is no other one";
        let subject = format!("prefix={PREFIX} face={number} remote=tcp4://192.0.2.9:6363");
        assert_eq!(lines.take(), [format!("INFO {back} {subject}")]);
    });
}

#[test]
fn a_next_hop_that_is_left_and_removed_at_once_is_counted_in_the_next_line() {
    let (mut world, lines) = (world(), Lines::default());
    tracing::subscriber::with_default(lines.clone(), || {
        (0..2).for_each(|_| world.ask());
        let (slot, script) = &world.hops[1];
        script.borrow_mut().incoming.push_back(data(&format!("{PREFIX}/2")));
        world.engine.ready(EventSource::Face(*slot).token());
        world.remove(0);
        world.engine.end();
        assert_eq!(world.engine.snapshot().left_next_hops, 1);
        assert_eq!(lines.take(), Vec::<String>::new());
        world.engine.tell_other_next_hops();
        let other = lines.take();
        assert!(other.len() == 1 && other[0].ends_with(" left=1 back=0"), "{other:?}");
    });
}
