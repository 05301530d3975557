//! Queues whose packets take as much memory as all queues may.

use super::*;
use crate::packet::Packet;

/// The charge of a small packet, bytes.
const CHARGE: u64 = 5 * size_of::<Packet>() as u64;

#[test]
fn a_link_beyond_its_share_of_memory_takes_nothing_more_and_others_do() {
    let limits = TableLimits { queue_bytes: 10 * CHARGE, ..TableLimits::default() };
    let mut bench = Bench::with(Box::new(BestRoute::default()), &limits, || tail(100)).routed();
    let [down, _, up, other] = bench.neighbours;
    bench.node.add_route(&name("/b"), other, 0);
    for link in [up, other] {
        bench.node.set_link_rate(bench.now, link, Some(Rate::ZERO));
    }
    let full = [Seen::Dropped(DropReason::QueueFull)];
    for nonce in 0..8 {
        let seen = bench.interest(down, &format!("/a/{nonce}"), nonce);
        assert_eq!(seen, if nonce < 5 { &[][..] } else { &full }, "one alone has half");
    }
    for nonce in 10..14 {
        let seen = bench.interest(down, &format!("/b/{nonce}"), nonce);
        assert_eq!(seen, if nonce < 12 { &[][..] } else { &full }, "half of what is left");
    }
    assert_eq!(bench.node.queued_bytes(), 7 * CHARGE);
    bench.node.set_link_rate(bench.now, up, None);
    let left: Vec<Seen> = bench.input(Input::Deadline).into_iter().map(|(seen, _)| seen).collect();
    assert_eq!(left, vec![Seen::Interest(up); 5]);
    assert_eq!(bench.node.queued_bytes(), 2 * CHARGE);
    bench.node.remove_face(bench.now, other, &mut bench.pool, &mut Vec::new());
    assert_eq!(bench.node.queued_bytes(), 0);
}

#[test]
fn what_waits_while_much_goes_by_does_not_keep_the_memory_that_it_came_in() {
    let limits = TableLimits { queue_bytes: 80 * CHARGE, ..TableLimits::default() };
    let mut bench = Bench::with(Box::new(BestRoute::default()), &limits, || tail(100)).routed();
    let [down, _, up, _] = bench.neighbours;
    bench.node.set_link_rate(bench.now, up, Some(Rate::ZERO));
    let mut arrive = |uri: &str, nonce, bytes: &'static [u8]| {
        let packet = bench.packet(Kind::Interest, uri, nonce);
        bench.pool[packet].wire = bytes::Bytes::from_static(bytes);
        bench.pool[packet].net_len = bytes.len() as u32;
        bench.input(Input::Packet { face: down, packet });
        packet
    };
    static HERE: [u8; 100] = [7; 100];
    let waiting = arrive("/a/1", 1, &HERE);
    // An eighth of the bound: as much as ten packets.
    static OTHERS: [u8; 1000] = [1; 1000];
    for n in 0..10 * CHARGE / 1000 {
        arrive("/nowhere", 2 + n as u32, &OTHERS);
    }
    assert_eq!(bench.pool[waiting].wire.as_ptr(), HERE.as_ptr());
    let mut arrive = |nonce| {
        let packet = bench.packet(Kind::Interest, "/nowhere", nonce);
        bench.pool[packet].wire = bytes::Bytes::from_static(&OTHERS);
        bench.input(Input::Packet { face: down, packet });
    };
    (900..902).for_each(&mut arrive);
    let wire = &bench.pool[waiting].wire;
    assert!(wire[..] == HERE && wire.as_ptr() != HERE.as_ptr());
}

#[test]
fn the_store_copies_only_what_has_no_memory_of_its_own() {
    static WIRE: [u8; 100] = [7; 100];
    for has_own_memory in [false, true] {
        let mut bench = Bench::new().routed().cached();
        let [down, _, up, _] = bench.neighbours;
        bench.interest(down, "/a/1", 1);
        let data = bench.packet(Kind::Data, "/a/1", 0);
        bench.pool[data].wire = bytes::Bytes::from_static(&WIRE);
        bench.pool[data].net_len = WIRE.len() as u32;
        bench.pool[data].has_own_memory = has_own_memory;
        assert_eq!(only_seen(bench.give(up, data)), [Seen::Data(down)]);
        let stored = bench.node.content_store().iter().next().unwrap().1;
        let Packet { wire, has_own_memory: is_alone, .. } = &bench.pool[stored];
        assert_eq!(wire.as_ptr() == WIRE.as_ptr(), has_own_memory);
        assert!(*is_alone && wire[..] == WIRE);
    }
}
