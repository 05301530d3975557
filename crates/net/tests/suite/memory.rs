//! Checks that buffers of faces use the memory that they report. This allocator counts bytes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::mem;

use mio::event::Source;
use mio::{Interest, Registry, Token};
use weir_core::packet::{PacketId, PacketPool};
use weir_core::shared_bound::SharedBound;
use weir_core::units::{Span, Time};
use weir_net::codec::Decoder;
use weir_net::reassembly::{Reassembler, ReassemblerConfig};
use weir_net::secrets::Secrets;
use weir_net::transport::Sent;
use weir_net::transport::stream::Outbox;
use weir_net::transport::udp::Batch;
use weir_net::transport::websocket::echo;
use weir_packet::lp::LinkHeader;
use weir_packet::{Data, LpHeader, LpPacket, Name, SignalSet, SignatureInfo, SignatureType};

struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// The count wraps around if one thread allocates and another frees.
fn count(more: usize, less: usize) {
    let _ = ALLOCATED.try_with(|all| all.set(all.get().wrapping_add(more).wrapping_sub(less)));
}

thread_local! {
    /// Number of allocations of this thread. The threads that run tests allocate too.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait; all of it is the system's")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(taken(layout.size()), 0);
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, taken(layout.size()));
        // SAFETY: `pointer` came from `System` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Memory of an allocation: the GNU C library adds a word before it and rounds up to a multiple of 16 bytes.
fn taken(size: usize) -> usize {
    (size + 8).next_multiple_of(16).max(32)
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[track_caller]
fn check(before: usize, said: usize, what: &str) {
    let taken = ALLOCATED.get() - before;
    let ratio = taken as f64 / said as f64;
    eprintln!("{what}: {taken} bytes, {ratio:.2} of what is said");
    assert!((0.6..=1.25).contains(&ratio), "{what}: {taken} bytes are taken, {said} are said");
}

/// Many faces share a limit, as in the forwarder. Each flood fills a reassembler in another way.
#[test]
fn incomplete_packets_take_what_they_say_whatever_the_pieces() {
    const BOUND: u64 = 4_000_000;
    let floods: [(&str, u64, &[usize]); 5] = [
        ("first pieces", 2, &[4000]),
        ("tiny pieces", 64, &[1]),
        ("half of a packet in small pieces", 64, &[100; 30]),
        ("pieces that grow", 10, &[1, 10, 100, 1000, 4000]),
        ("large pieces", 64, &[8000]),
    ];
    for (what, frag_count, lengths) in floods {
        let mut faces: Vec<Reassembler> =
            (0..100).map(|_| Reassembler::new(ReassemblerConfig::default())).collect();
        let before = ALLOCATED.get();
        let mut shared = SharedBound::new(BOUND);
        let mut now = Time::ZERO;
        for packet in 0..70 {
            for (face, reassembler) in faces.iter_mut().enumerate() {
                for (frag_index, len) in lengths.iter().enumerate() {
                    let piece = vec![face as u8; *len];
                    let mut frame = LpPacket::new(LpHeader::NONE, &piece);
                    let sequence = Some(1000 * packet + frag_index as u64);
                    let frag_index = frag_index as u64;
                    frame.link = LinkHeader { sequence, frag_index, frag_count, tx_sequence: None };
                    let held = reassembler.bytes() as u64;
                    reassembler.set_max_bytes(shared.share(held) as usize);
                    assert!(reassembler.handle(now, 0, &frame).is_none());
                    shared.replace(held, reassembler.bytes() as u64);
                    assert!(shared.held() <= BOUND);
                }
            }
        }
        check(before, shared.held() as usize, what);
        now += Span::from_secs(10);
        faces.iter_mut().for_each(|face| face.expire(now));
        assert!(faces.iter().all(|face| face.bytes() == 0));
        let left = ALLOCATED.get() - before;
        assert!(left < 100 * 2000, "{what}: {left} bytes stay");
    }
}

/// A socket that accepts nothing or everything.
struct Socket(bool);

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 { Ok(bytes.len()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn frames_before_slow_sockets_take_what_they_say_and_idle_faces_take_nothing() {
    for len in [20, 1000, 8000] {
        let before = ALLOCATED.get();
        let frame = vec![7; len];
        let mut boxes: Vec<Outbox> = (0..50).map(|_| Outbox::new(256 << 10)).collect();
        for outbox in &mut boxes {
            while outbox.send(&mut Socket(false), &frame).unwrap() == Sent::Taken {}
        }
        let memory = |boxes: &[Outbox]| boxes.iter().map(Outbox::memory).sum::<usize>();
        assert!(memory(&boxes) >= 50 * (240 << 10));
        check(before, memory(&boxes), "streams");
        boxes.iter_mut().for_each(|outbox| _ = outbox.flush(&mut Socket(true)).unwrap());
        assert_eq!(memory(&boxes), 0);

        let mut batches: Vec<Batch> = (0..1000).map(|_| Batch::default()).collect();
        for batch in &mut batches {
            (0..40).for_each(|_| _ = batch.push(|out| out.extend_from_slice(&frame)));
        }
        let said: usize = batches.iter().map(Batch::memory).sum();
        assert!(said >= 1000 * 40 * len);
        batches.iter_mut().for_each(Batch::clear);
        // Spare buffers, and room for lengths.
        let left = ALLOCATED.get().saturating_sub(before);
        assert!(left < 64 * (128 << 10) + 1000 * 1000, "{len}: {left} bytes stay");
    }
}

/// A WebSocket client that sends pings without end after its handshake, and does not read.
struct Pinging<'a> {
    handshake: Vec<u8>,
    pings: Vec<u8>,
    at: usize,
    before: usize,
    most: &'a Cell<usize>,
}

impl Read for Pinging<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.handshake.is_empty() {
            let handshake = mem::take(&mut self.handshake);
            buffer[..handshake.len()].copy_from_slice(&handshake);
            return Ok(handshake.len());
        }
        self.most.set(self.most.get().max(ALLOCATED.get() - self.before));
        for byte in &mut *buffer {
            *byte = self.pings[self.at];
            self.at = (self.at + 1) % self.pings.len();
        }
        Ok(buffer.len())
    }
}

impl Write for Pinging<'_> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Pinging<'_> {
    fn register(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }

    fn reregister(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
        Ok(())
    }

    fn deregister(&mut self, _: &Registry) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn pings_take_no_memory_beside_one_buffer_for_reading() {
    let handshake = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        .to_vec();
    let message = |first: u8| [&[first, 0x80 | 125, 0, 0, 0, 0][..], &[7; 125]].concat();
    // Pongs come between the pings. They need no answer, and fill the buffer from which the last ping was read.
    let pings = [message(0x8A).repeat(3000), message(0x89).repeat(100)].concat();
    let before = ALLOCATED.get();
    let most = Cell::new(0);
    echo(Pinging { handshake, pings, at: 0, before, most: &most }, 10_000, &mut |_| panic!("no frame"))
        .unwrap();
    eprintln!("pings: {} bytes", most.get());
    assert!(most.get() < 68 << 10, "{} bytes", most.get());
}

/// In steady state faces take turns with buffers.
#[test]
fn frames_that_leave_at_once_need_no_new_memory() {
    let mut boxes: Vec<Outbox> = (0..10).map(|_| Outbox::new(256 << 10)).collect();
    let mut batches: Vec<Batch> = (0..10).map(|_| Batch::default()).collect();
    let mut round = || {
        for outbox in &mut boxes {
            outbox.send(&mut Socket(true), &[1; 1000]).unwrap();
        }
        boxes.iter_mut().for_each(|outbox| _ = outbox.flush(&mut Socket(true)).unwrap());
        for batch in &mut batches {
            batch.push(|out| out.extend_from_slice(&[1; 1000]));
        }
        batches.iter_mut().for_each(Batch::clear);
    };
    (0..3).for_each(|_| round());
    let before = ALLOCATIONS.get();
    (0..100).for_each(|_| round());
    assert_eq!(ALLOCATIONS.get(), before);
}

/// A full store frees as much memory as it takes.
#[test]
fn data_that_are_kept_need_no_new_memory_once_as_many_go() {
    let (mut decoder, mut pool) = (Decoder::new(Secrets::fixed(1), SignalSet::ALL), PacketPool::new());
    decoder.keep_data(true);
    let name: Name = "/a/b".parse().unwrap();
    let info = SignatureInfo::new(SignatureType::Null);
    let wires = [8000, 1100, 3000].map(|len| Data::new(name.view(), &vec![7; len], info).to_vec());
    let mut stored: VecDeque<PacketId> = VecDeque::with_capacity(100);
    let mut round = || {
        for wire in &wires {
            let data = decoder.decode(&LpHeader::NONE, wire, &mut pool).unwrap();
            // One of them goes on to the consumer.
            let copy = pool.duplicate(data);
            stored.push_back(data);
            pool.free(copy);
            if stored.len() > 90 {
                pool.free(stored.pop_front().unwrap());
            }
        }
    };
    (0..60).for_each(|_| round());
    let before = ALLOCATIONS.get();
    (0..100).for_each(|_| round());
    assert_eq!(ALLOCATIONS.get(), before);
}
