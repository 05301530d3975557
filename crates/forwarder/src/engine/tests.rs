//! The engine between scripted sockets.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use mio::Poll;
use weir_packet::{Interest, NackReason, Name};

use super::*;
use crate::config::Config;
use crate::control::Control;
use crate::status::FaceScope;
use crate::transport::{Peer, Sent, Transport, Uris};

/// What a scripted socket is to do, and what it was given.
struct Script {
    incoming: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    link_type: LinkType,
    scope: FaceScope,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            incoming: VecDeque::new(),
            sent: Vec::new(),
            link_type: LinkType::PointToPoint,
            scope: FaceScope::NonLocal,
        }
    }
}

struct Scripted(Rc<RefCell<Script>>);

impl Transport for Scripted {
    fn register(&mut self, _: &Registry, _: Token) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self, budget: usize, each: &mut dyn FnMut(Peer, &[u8])) -> io::Result<Received> {
        for _ in 0..budget {
            let Some(frame) = self.0.borrow_mut().incoming.pop_front() else { break };
            each(0, &frame);
        }
        Ok(Received::Drained)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        self.0.borrow_mut().sent.push(frame.to_vec());
        Ok(Sent::Taken)
    }

    fn flush(&mut self) -> io::Result<Flushed> {
        Ok(Flushed::Done)
    }

    fn waiting(&self) -> usize {
        0
    }

    fn mtu(&self) -> Option<usize> {
        None
    }

    fn uris(&self) -> Uris<'_> {
        Uris { remote: "tcp4://192.0.2.9:6363", local: "tcp4://192.0.2.1:6363" }
    }

    fn scope(&self) -> FaceScope {
        self.0.borrow().scope
    }

    fn link_type(&self) -> LinkType {
        self.0.borrow().link_type
    }
}

fn engine(text: &str) -> Engine {
    let config = Config::parse(text, "test").unwrap();
    let poll = Poll::new().unwrap();
    let limits = Limits { faces: config.tables.faces, fib_entries: 100, reassembly_bytes: 10_000 };
    let registry = poll.registry().try_clone().unwrap();
    Engine::new(registry, Node::new(&config, 1), config.faces, limits, Clock::start())
}

/// Adds a face on a scripted socket.
fn add(engine: &mut Engine, script: Script) -> (Place, Rc<RefCell<Script>>) {
    let script = Rc::new(RefCell::new(script));
    let place = engine.faces.next_place();
    engine.add_accepted(Box::new(Scripted(Rc::clone(&script))));
    (place, script)
}

/// A frame comes, and what follows from it is done.
fn come(engine: &mut Engine, place: Place, script: &Rc<RefCell<Script>>, frame: Vec<u8>) {
    script.borrow_mut().incoming.push_back(frame);
    engine.ready(Token(FACES + place as usize));
    engine.end();
}

fn face(engine: &Engine, place: Place) -> &Face {
    engine.faces.get(place).unwrap()
}

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

fn interest(uri: &str, nonce: u32) -> Vec<u8> {
    Interest { nonce: Some(nonce), ..Interest::new(name(uri).view()) }.to_vec()
}

fn nack(interest: &[u8]) -> Vec<u8> {
    LpPacket::new(LpHeader { nack: Some(NackReason::NoRoute), ..LpHeader::NONE }, interest).to_vec()
}

fn is_nack(frame: &[u8]) -> bool {
    LpPacket::decode(frame).unwrap().header.nack.is_some()
}

#[test]
fn nacks_neither_come_nor_go_on_links_with_several_neighbours() {
    for (link_type, passes) in [(LinkType::PointToPoint, true), (LinkType::MultiAccess, false)] {
        let mut engine = engine("");
        let (consumer, asks) = add(&mut engine, Script::default());
        let (group, heard) = add(&mut engine, Script { link_type, ..Script::default() });
        let hop = face(&engine, group).number;
        engine.add_next_hop(&name("/a"), hop, 0).unwrap();
        // One of the group says that it has no route: another may have the Data.
        let asked = interest("/a/1", 1);
        come(&mut engine, consumer, &asks, asked.clone());
        assert_eq!(heard.borrow().sent.len(), 1);
        come(&mut engine, group, &heard, nack(&asked));
        assert_eq!(asks.borrow().sent.iter().any(|frame| is_nack(frame)), passes);
        let counters = face(&engine, group).counters;
        assert_eq!((counters.in_nacks, counters.in_malformed), if passes { (1, 0) } else { (0, 1) });
        // Nor does the group hear that we have none.
        come(&mut engine, group, &heard, interest("/b/1", 2));
        assert_eq!(heard.borrow().sent.iter().any(|frame| is_nack(frame)), passes);
        let counters = face(&engine, group).counters;
        assert_eq!((counters.out_nacks, counters.out_dropped), if passes { (1, 0) } else { (0, 1) });
    }
}
