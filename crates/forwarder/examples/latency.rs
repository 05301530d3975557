//! Round-trip times of Interests that leave at a steady rate, whether answers come or not: the load of `tests/bench`.
//!
//! ```text
//! latency HOST:PORT PREFIX INTERESTS-PER-SECOND SECONDS
//! ```
//!
//! It uses UDP, and each Interest requests another Data. It prints the number of Interests, how many were answered, and the 50 %
//! and 99 % points of the round-trip times in microseconds, after a tenth of the time to warm up.

#![expect(clippy::disallowed_methods, reason = "a program of its own, which reads the clock and waits")]

use std::error::Error;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use weir_packet::{Data, Interest, LpPacket, Name};

/// Wait for answers after the last Interest.
const PATIENCE: Duration = Duration::from_millis(500);
/// Number of Interests that leave together, because the sender cannot sleep for shorter intervals.
const BURST: u64 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [peer, prefix, rate, seconds] = &arguments[..] else {
        return Err("usage: latency HOST:PORT PREFIX INTERESTS-PER-SECOND SECONDS".into());
    };
    let (rate, seconds): (f64, f64) = (rate.parse()?, seconds.parse()?);
    let count = (rate * seconds) as u64;
    let prefix: Name = prefix.parse()?;
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(peer)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let start = Instant::now();
    let sent: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
    let times = thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&socket, start, &sent));
        send(&socket, start, &sent, &prefix, rate);
        receiver.join()
    });
    let (answered, times) = times.map_err(|_| "the receiver failed")??;
    println!(
        "interests={count} answered={answered} p50_us={} p99_us={}",
        times.value_at_quantile(0.5),
        times.value_at_quantile(0.99)
    );
    Ok(())
}

/// Sends each Interest when it is due. Interests that the socket refuses count as lost.
fn send(socket: &UdpSocket, start: Instant, sent: &[AtomicU64], prefix: &Name, rate: f64) {
    let mut wire = Vec::new();
    for (number, sent) in sent.iter().enumerate() {
        let due = Duration::from_secs_f64(number as f64 / rate);
        let early = due.saturating_sub(start.elapsed());
        if (number as u64).is_multiple_of(BURST) {
            thread::sleep(early);
        }
        wire.clear();
        let name = prefix.clone().with_segment(number as u64);
        Interest { nonce: Some(number as u32), ..Interest::new((&name).into()) }.encode(&mut wire);
        sent.store(nanoseconds(start), Ordering::Relaxed);
        let _ = socket.send(&wire);
    }
}

/// Receives answers until none arrives for a while. Returns their number, and their round-trip times in microseconds.
fn receive(
    socket: &UdpSocket,
    start: Instant,
    sent: &[AtomicU64],
) -> Result<(u64, Histogram<u64>), hdrhistogram::CreationError> {
    let (mut buffer, mut answered, mut times) = ([0; 9000], 0, Histogram::new_with_max(10_000_000, 3)?);
    while let Ok(len) = socket.recv(&mut buffer) {
        let packet = LpPacket::decode(&buffer[..len]).ok().and_then(|frame| frame.fragment);
        let data = packet.and_then(|packet| Data::decode(packet).ok());
        let number = data.and_then(|data| data.name.components().last()?.segment());
        let Some(at) = number.and_then(|number| sent.get(number as usize)) else { continue };
        answered += 1;
        if number > Some(sent.len() as u64 / 10) {
            times.saturating_record((nanoseconds(start) - at.load(Ordering::Relaxed)) / 1000);
        }
    }
    Ok((answered, times))
}

fn nanoseconds(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}
