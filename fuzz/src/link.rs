//! Harnesses for the link service. They panic if a property is violated.

use std::collections::{BTreeSet, VecDeque};

use weir_core::rtt::RtoConfig;
use weir_core::units::{Span, Time};
use weir_net::link_service::{LinkOptions, LinkService, Repair};
use weir_net::reassembly::{Reassembler, ReassemblerConfig};
use weir_net::reliability::{Arrival, Receiver, ReceiverConfig, SILENCE, Sender, SenderConfig, SenderEvent};
use weir_packet::tlv::{Reader, put_element};
use weir_packet::{LpHeader, LpPacket, MAX_PACKET_SIZE};

use crate::input::Choices;

/// Runs operations on a reassembler and on both sides of link reliability. Limits hold, deadlines are kept, and a frame
/// is returned once.
pub fn reassembly(bytes: &[u8]) {
    let config = ReassemblerConfig {
        max_packets: 4,
        max_bytes: 2000,
        timeout: Span::from_nanos(50),
        ..ReassemblerConfig::default()
    };
    let mut reassembler = Reassembler::new(config);
    let mut sender = Sender::new(
        SenderConfig {
            max_unacknowledged: 8,
            rto: RtoConfig {
                initial: Span::from_nanos(100),
                min: Span::from_nanos(1),
                max: Span::from_nanos(1000),
                ..SenderConfig::default().rto
            },
            ..SenderConfig::default()
        },
        u64::MAX - 3,
    );
    let mut receiver = Receiver::new(ReceiverConfig { ack_delay: Span::from_nanos(5), max_acks: 4 });
    let mut now = Time::ZERO;
    let (mut sent, mut settled) = (0u64, 0u64);
    let piece = [0x5A; 1024];
    for operation in bytes.chunks_exact(4) {
        let [a, b, c, d] = [operation[0], operation[1], operation[2], operation[3]];
        now += Span::from_nanos(u64::from(a >> 4));
        match a % 8 {
            0..=3 => {
                let mut frame = LpPacket::default();
                // Numbers near zero, so that bases wrap around and collide.
                frame.link.sequence = Some(u64::from(b % 16).wrapping_sub(8));
                frame.link.frag_index = u64::from(c % 8);
                frame.link.frag_count = if c > 250 { 401 } else { u64::from(c / 8 % 8) };
                frame.fragment = piece.get(..usize::from(d) * 4);
                frame.header.congestion_mark = u64::from(d);
                let open = reassembler.len();
                if let Some(done) = reassembler.handle(now, u64::from(a & 16), &frame) {
                    assert!(!done.packet.is_empty() && done.packet.len() <= MAX_PACKET_SIZE);
                    assert!(reassembler.len() < open + 1);
                }
            }
            4 => reassembler.expire(now),
            5 => {
                if sender.transmit(now, sent).is_ok() {
                    sent += 1;
                }
            }
            6 => {
                let tx_sequence = (u64::MAX - 3).wrapping_add(u64::from(b % 64));
                settled += u64::from(sender.handle_ack(now, tx_sequence).is_some());
            }
            _ => {
                let sequence = u64::from(b) << (c % 56);
                let arrival = receiver.handle(now, Some(u64::from(d)), Some(sequence));
                assert_eq!(receiver.handle(now, None, Some(sequence)), Arrival::New);
                if arrival == Arrival::New {
                    let again = receiver.handle(now, Some(u64::from(d)), Some(sequence));
                    assert_eq!(again, Arrival::Duplicate);
                }
                let mut numbers = [0; 3];
                assert!(receiver.take_acks(usize::from(c), &mut numbers) <= 3);
                assert_eq!(receiver.next_deadline() < Time::NEVER, !receiver.is_empty());
            }
        }
        while let Some(event) = sender.poll(now) {
            settled += u64::from(matches!(event, SenderEvent::Lost(_)));
        }
        assert!(reassembler.len() <= config.max_packets && reassembler.bytes() <= config.max_bytes);
        assert_eq!(reassembler.is_empty(), reassembler.bytes() == 0);
        assert!(sender.next_deadline() > now);
        assert!(sender.len() <= 8 && receiver.len() <= 4);
        assert_eq!(sender.len() as u64, sent - settled);
    }
    reassembler.expire(Time::NEVER);
    assert_eq!((reassembler.len(), reassembler.bytes()), (0, 0));
    assert_eq!(sender.clear().count() as u64, sent - settled);
}

/// A sending link service, and its packets that arrived at the other end.
struct End {
    service: LinkService,
    sent: u64,
    /// Packets that arrived from the other end.
    came: BTreeSet<u64>,
}

/// The packet with this number: from one byte to a few fragments.
fn numbered(number: u64) -> Vec<u8> {
    let len = 10 + (number as usize * 347) % 1200;
    let mut packet = Vec::new();
    let content: Vec<u8> = number.to_be_bytes().into_iter().cycle().take(len).collect();
    put_element(&mut packet, 6, &content);
    packet
}

/// A frame in flight to an end.
#[derive(Clone)]
struct Frame {
    to: usize,
    sent: Time,
    bytes: Vec<u8>,
}

/// Frames in flight can be lost, duplicated and overtaken.
type Flying = VecDeque<Frame>;

/// Runs two link services with reliability, always on or automatic, on a link that loses, duplicates and reorders
/// frames, and holds none for [`SILENCE`]. Each packet arrives at most once and complete; if none was given up, each
/// arrives once. Returns the number of packets that arrived.
pub fn reliable_link(bytes: &[u8]) -> u64 {
    let mut choices = Choices::new(bytes);
    let mtu = 200 + choices.below(200);
    let repair = if mtu.is_multiple_of(2) { Repair::On } else { Repair::Auto { marks: mtu % 4 == 1 } };
    let options = LinkOptions { mtu: Some(mtu), reassembly_bytes: 1 << 20, repair, marking: None };
    let mut ends = [0, 1].map(|end| End {
        service: LinkService::new(options, [u64::MAX - 5, 7][end]),
        sent: 0,
        came: BTreeSet::new(),
    });
    let (mut flying, mut now) = (Flying::new(), Time::ZERO);
    for _ in 0..FRAMES {
        if choices.is_over() {
            break;
        }
        let at = choices.below(256);
        match choices.below(10) {
            0..=2 => send(&mut ends, at % 2, now, &mut flying),
            3..=6 => arrive(&mut ends, at, now, &mut flying),
            7 if !flying.is_empty() => drop(flying.remove(at % flying.len())),
            // A frame without TxSequence is delivered as often as the network delivers it.
            8 if !flying.is_empty() && is_numbered(&flying[at % flying.len()].bytes) => {
                let copy = flying[at % flying.len()].clone();
                flying.push_back(copy);
            }
            _ => {
                now += Span::from_millis(at as u64);
                flying.retain(|frame| now.since(frame.sent) < SILENCE);
                due(&mut ends, now, &mut flying);
            }
        }
    }
    // The link loses nothing from now on.
    for _ in 0..QUIET {
        while !flying.is_empty() {
            arrive(&mut ends, 0, now, &mut flying);
        }
        now += Span::from_secs(61);
        due(&mut ends, now, &mut flying);
    }
    for [sender, receiver] in [[0, 1], [1, 0]] {
        let (sent, came) = (ends[sender].sent, &ends[receiver].came);
        // Automatic repair is off at first, and while the link loses much for long.
        if ends[sender].service.lost() == 0 && repair == Repair::On {
            assert_eq!(came.len() as u64, sent, "each packet comes");
            assert!(came.iter().all(|number| *number < sent));
        }
    }
    ends.iter().map(|end| end.came.len() as u64).sum()
}

/// Number of operations on a link, and of rounds after them.
const FRAMES: usize = 400;
const QUIET: usize = 8;

fn send(ends: &mut [End; 2], end: usize, now: Time, flying: &mut Flying) {
    let from = &mut ends[end];
    let packet = numbered(from.sent);
    from.sent += 1;
    let sent = from.service.send(now, &LpHeader::default(), &packet, 0, &mut |frame| {
        flying.push_back(Frame { to: 1 - end, sent: now, bytes: encoded(frame) });
    });
    sent.expect("it fits in fragments");
}

fn arrive(ends: &mut [End; 2], at: usize, now: Time, flying: &mut Flying) {
    if flying.is_empty() {
        return;
    }
    let Some(frame) = flying.remove(at % flying.len()) else { return };
    let End { service, came, .. } = &mut ends[frame.to];
    let received = service.receive(now, 0, &frame.bytes, &mut |_, packet| {
        let number = number_of(packet).expect("a packet that was sent");
        assert_eq!(numbered(number), packet, "it is whole");
        assert!(came.insert(number), "packet {number} comes once");
    });
    received.expect("a frame that was sent");
}

/// Returns whether a frame has a TxSequence that identifies it, or only acknowledgements.
fn is_numbered(frame: &[u8]) -> bool {
    let frame = LpPacket::decode(frame).expect("a frame that was sent");
    (frame.link.tx_sequence.is_some() && frame.link.sequence.is_some()) || frame.fragment.is_none()
}

/// The number at the beginning of a packet's content.
fn number_of(packet: &[u8]) -> Option<u64> {
    let element = Reader::new(packet).element().ok()??;
    Some(u64::from_be_bytes(*element.value.first_chunk()?))
}

fn due(ends: &mut [End; 2], now: Time, flying: &mut Flying) {
    for (end, from) in ends.iter_mut().enumerate() {
        if from.service.next_deadline() <= now {
            from.service.on_deadline(now, &mut |frame| {
                flying.push_back(Frame { to: 1 - end, sent: now, bytes: encoded(frame) });
            });
        }
        from.service.expire_fragments(now);
    }
}

fn encoded(frame: &LpPacket<'_>) -> Vec<u8> {
    let mut wire = Vec::new();
    frame.encode(&mut wire);
    wire
}
