//! Harnesses for the link service: bytes in, a panic if a promise is broken.

use weir_core::rtt::RtoConfig;
use weir_core::units::{Span, Time};
use weir_net::reassembly::{Reassembler, ReassemblerConfig};
use weir_net::reliability::{Arrival, Receiver, ReceiverConfig, Sender, SenderConfig, SenderEvent};
use weir_packet::{LpPacket, MAX_PACKET_SIZE};

/// A list of operations on a reassembler and on the two sides of link reliability: bounds hold,
/// deadlines are kept, a frame is given back once.
pub fn reassembly(bytes: &[u8]) {
    let config = ReassemblerConfig { max_packets: 4, max_bytes: 2000, timeout: Span::from_nanos(50) };
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
                // Numbers near zero, so that bases wrap round and meet again.
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
