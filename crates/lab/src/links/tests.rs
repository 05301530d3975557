//! Tests of the links alone: the model without sockets, and real interfaces.

use std::collections::VecDeque;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use weir_core::link::{RateTrace, Way};
use weir_core::random::Random;
use weir_core::seam::QueueLimit;
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_measure::{Extent, FlowAccounts, LinkAccounts, LinkInfo};
use weir_net::clock::Clock;

use super::model::Model;
use super::port::{BATCH, Calls, EXPERIMENT, Frame, VNET, unix_ns};
use super::*;

const MS: Span = Span::from_millis(1);

fn at(micros: u64) -> Time {
    Time::from_nanos(1000 * micros)
}

fn extent(until: Span) -> Extent {
    let until = Time::ZERO + until;
    Extent {
        until,
        windows: vec![(Time::ZERO, until)],
        others: Vec::new(),
        step: MS * 100,
        with_series: true,
    }
}

fn accounts(directions: &[Direction], extent: &Extent) -> LinkAccounts {
    let info = |direction: &Direction| LinkInfo {
        from: direction.from.to_string(),
        to: direction.to.to_string(),
        name: None,
        rate: match direction.pace {
            Pace::Sender(rate) | Pace::Link(rate) => rate,
            Pace::Trace(ref trace) => trace.mean_rate(),
        },
    };
    LinkAccounts::new(directions.iter().map(info).collect(), &FlowAccounts::new(Vec::new(), extent), extent)
}

fn way(delay: Span) -> Way {
    Way::new(delay, 0.0, Random::named(1, "link"))
}

fn direction(pace: Pace) -> Direction {
    Direction { from: 0, to: 1, pace, limit: QueueLimit::Packets(3), way: way(MS * 10), shares_with: None }
}

/// At 1 Mb/s, 1000 bytes take 8 ms.
const MBPS: Rate = Rate::from_mbps(1);

/// The model alone, during one second.
struct Bench {
    model: Model,
    live: Arc<[Live]>,
}

impl Bench {
    fn new(directions: Vec<Direction>, script: Vec<(Time, Change)>) -> Bench {
        let extent = extent(MS * 1000);
        let live: Arc<[Live]> = directions.iter().map(|_| Live::default()).collect();
        let accounts = accounts(&directions, &extent);
        let steps = FlowAccounts::new(Vec::new(), &extent);
        Bench {
            model: Model::new(directions, script, (steps, accounts), extent.until, live.clone(), None),
            live,
        }
    }

    /// Gives a frame of 1000 bytes to a direction.
    fn take(&mut self, lane: usize, micros: u64) {
        self.model.advance(at(micros));
        let _ = self.model.next_due(at(micros));
        self.model.take(lane, at(micros), 1000, Frame::default());
    }

    /// Returns the frames delivered until `until`: direction and time, µs.
    fn run(&mut self, until: u64) -> Vec<(usize, u64)> {
        let mut delivered = Vec::new();
        loop {
            let next = self.model.next_deadline();
            if next > at(until) {
                return delivered;
            }
            self.model.advance(next);
            while let Some(lane) = self.model.next_due(next) {
                assert_eq!(self.model.due(lane, next, 1).len(), 1);
                self.model.delivered(lane, 1);
                delivered.push((lane, next.as_nanos() / 1000));
            }
        }
    }

    fn rows(mut self) -> Vec<weir_measure::LinkRow> {
        self.run(2_000_000);
        self.model.advance(Time::ZERO + MS * 1000);
        assert!(self.model.is_over());
        self.model.into_accounts().rows(0, 1.0)
    }
}

#[test]
fn a_paced_senders_frames_take_their_time_and_never_wait() {
    let mut bench = Bench::new(vec![direction(Pace::Sender(MBPS))], vec![]);
    for micros in [0, 8000, 15_900, 24_100] {
        bench.take(0, micros);
    }
    assert_eq!(bench.run(900_000), [(0, 18_000), (0, 26_000), (0, 33_900), (0, 42_100)]);
    assert_eq!(bench.live[0].bytes.load(Relaxed), 4000);
    let rows = bench.rows();
    // Four frames use the link for 8 ms each, one after another.
    assert!((rows[0].utilisation - 0.032).abs() < 1e-9, "{}", rows[0].utilisation);
    assert_eq!((rows[0].drops, rows[0].queue_ms.mean), (0, Some(0.0)));
}

#[test]
fn a_paced_link_queues_and_drops_what_does_not_fit() {
    let mut bench = Bench::new(vec![direction(Pace::Link(MBPS))], vec![]);
    (0..6).for_each(|_| bench.take(0, 1000));
    assert_eq!(bench.live[0].queued.load(Relaxed), 3);
    // One frame leaves at once and three wait.
    assert_eq!(bench.run(900_000), [(0, 19_000), (0, 27_000), (0, 35_000), (0, 43_000)]);
    let rows = bench.rows();
    assert_eq!((rows[0].drops, rows[0].lost, rows[0].down), (2, 0, 0));
    // 0, 8, 16 and 24 ms.
    assert_eq!(rows[0].queue_ms.mean, Some(12.0));
    assert!((rows[0].utilisation - 0.032).abs() < 1e-9);
}

#[test]
fn the_rate_does_not_depend_on_when_the_thread_looks() {
    let mut bench = Bench::new(
        vec![Direction { limit: QueueLimit::Bytes(Bytes::new(100_000)), ..direction(Pace::Link(MBPS)) }],
        vec![],
    );
    (0..100).for_each(|_| bench.take(0, 0));
    // Nothing was delivered for 500 ms: (500 - 10) / 8 frames are due.
    let lane = bench.model.next_due(at(500_000)).expect("frames are due");
    assert_eq!(bench.model.due(lane, at(500_000), 100).len(), 61);
}

#[test]
fn the_directions_of_a_half_duplex_link_take_turns() {
    let half = |from: usize| Direction {
        from,
        to: 1 - from,
        shares_with: Some(1 - from),
        ..direction(Pace::Link(MBPS))
    };
    let mut bench = Bench::new(vec![half(0), half(1)], vec![]);
    for lane in [0, 0, 0, 1, 1] {
        bench.take(lane, 0);
    }
    let order: Vec<_> = bench.run(900_000);
    assert_eq!(order, [(0, 18_000), (1, 26_000), (0, 34_000), (1, 42_000), (0, 50_000)]);
}

#[test]
fn changes_come_when_the_script_says() {
    let script = vec![
        (at(20_000), Change::Rate(0, Rate::ZERO)),
        (at(100_000), Change::Rate(0, Rate::from_mbps(2))),
        (at(100_000), Change::Delay(0, MS)),
        (at(200_000), Change::Up(0, false)),
        (at(300_000), Change::Up(0, true)),
        (at(400_000), Change::Loss(0, 1.0)),
    ];
    let mut bench = Bench::new(vec![direction(Pace::Link(MBPS))], script);
    (0..4).for_each(|_| bench.take(0, 0));
    // Three frames left before the rate was 0. The fourth left at twice the rate, with a shorter delay.
    assert_eq!(bench.run(190_000), [(0, 18_000), (0, 26_000), (0, 34_000), (0, 105_000)]);
    // When the link fails, one frame is on it and one waits. Another arrives while it is down.
    bench.take(0, 198_000);
    bench.take(0, 198_000);
    bench.take(0, 250_000);
    assert_eq!(bench.run(290_000), []);
    bench.take(0, 310_000);
    bench.take(0, 410_000);
    assert_eq!(bench.run(900_000), [(0, 315_000)]);
    let rows = bench.rows();
    assert_eq!((rows[0].drops, rows[0].lost, rows[0].down), (0, 1, 3));
    assert_eq!(rows[0].rate_bps, 2e6);
}

#[test]
fn a_trace_paces_from_the_beginning_of_the_run() {
    let trace = Arc::new(RateTrace::parse("5\n6\n50\n").expect("a trace"));
    let mut bench = Bench::new(vec![direction(Pace::Trace(trace))], vec![]);
    // Frames have 1000 bytes each; an opportunity has 1504.
    (0..3).for_each(|_| bench.take(0, 1000));
    assert_eq!(bench.run(900_000), [(0, 15_000), (0, 16_000), (0, 16_000)]);
}

#[test]
fn a_run_that_is_cut_short_has_accounts() {
    let mut bench = Bench::new(vec![direction(Pace::Sender(MBPS))], vec![]);
    (0..10).for_each(|k| bench.take(0, 10_000 * k));
    bench.run(100_000);
    bench.model.end_at(at(100_000));
    bench.model.advance(at(100_000));
    bench.take(0, 300_000);
    assert_eq!(bench.run(500_000), [(0, 108_000), (0, 318_000)], "frames still pass");
    let rows = bench.model.into_accounts().rows(0, 0.1);
    assert!((rows[0].utilisation - 0.8).abs() < 1e-9, "{}", rows[0].utilisation);
}

#[test]
fn bytes_that_count_are_those_of_the_ndn_frame() {
    let mut frame = vec![0; 14 + 20 + 8 + 100];
    frame[12..14].copy_from_slice(&[0x86, 0x24]);
    assert_eq!(counted(&frame).map(<[u8]>::len), Some(128), "Ethernet");
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14] = 0x45;
    assert_eq!(counted(&frame).map(<[u8]>::len), Some(128), "not UDP");
    frame[14 + 9] = 17;
    assert_eq!(counted(&frame).map(<[u8]>::len), Some(100));
    frame[14 + 7] = 1;
    assert_eq!(counted(&frame).map(<[u8]>::len), Some(108), "a later fragment has no header of UDP");
    frame[14] = 0x4f;
    assert_eq!(counted(&frame[..14 + 30]).map(<[u8]>::len), Some(0), "cut");
    assert_eq!(counted(&frame[..14]).map(<[u8]>::len), Some(0));
    assert_eq!(counted(&frame[..13]), None);
}

// ---- Real interfaces

/// Two pairs of interfaces: frames are sent and received at the outer ends, and the emulator connects the inner ends.
struct Cable {
    names: [[String; 2]; 2],
}

static CABLES: AtomicU32 = AtomicU32::new(0);

impl Cable {
    /// Returns `None`, and prints the reason, if the user lacks the permission.
    fn new() -> Option<Cable> {
        let number = CABLES.fetch_add(1, Relaxed);
        let names = ["a", "b"].map(|end| {
            ["n", "l"].map(|side| format!("wl{}{end}{side}{number}", std::process::id() % 1_000_000))
        });
        let cable = Cable { names };
        for [near, lab] in &cable.names {
            let arguments =
                ["link", "add", near, "mtu", "9100", "type", "veth", "peer", "name", lab, "mtu", "9100"];
            if !ip(&arguments) {
                println!("skipped: `ip {}` does not work here; it needs root", arguments.join(" "));
                return None;
            }
            for name in [near, lab] {
                // Without IPv6 addresses the kernel sends nothing by itself.
                assert!(
                    ip(&["link", "set", name, "addrgenmode", "none"]) && ip(&["link", "set", name, "up"])
                );
                no_offload(name).expect("offloads are switched off");
            }
        }
        Some(cable)
    }

    fn near(&self, end: usize) -> Port {
        open(&self.names[end][0]).expect("an interface")
    }

    /// Emulates a link in both directions; the second has no limit. Ends after `until`.
    fn run(&self, there: Direction, until: Span) -> Run {
        let back = Direction { from: 1, to: 0, ..direction(Pace::Sender(Rate::MAX)) };
        self.run_plan(there, back, until, vec![], vec![])
    }

    fn run_plan(
        &self,
        there: Direction,
        back: Direction,
        until: Span,
        script: Vec<(Time, Change)>,
        captures: Vec<Capture>,
    ) -> Run {
        let ports = self.names.iter().map(|[_, lab]| open(lab).expect("an interface")).collect();
        let directions = vec![there, back];
        let extent = extent(until);
        let accounts = accounts(&directions, &extent);
        let plan = Plan { ports, directions, script, accounts, extent, captures, observe: None };
        let clock = Clock::start();
        let (emulator, control, live) = Emulator::new(plan, clock).expect("an emulator");
        let thread = thread::spawn(move || emulator.run().expect("it runs"));
        let ends = [0, 1].map(|end| self.near(end));
        let calls = Calls::new();
        let buffers = std::array::from_fn(|_| vec![0; ends[0].longest()].into());
        Run { clock, control, live, thread, ends, calls, buffers, begin: Time::NEVER, received: Vec::new() }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for [_, lab] in &self.names {
            ip(&["link", "delete", lab]);
        }
    }
}

fn ip(arguments: &[&str]) -> bool {
    let command = Command::new("ip").args(arguments).stderr(std::process::Stdio::null()).status();
    command.is_ok_and(|status| status.success())
}

/// A running emulator, with the nodes' ends of its link.
struct Run {
    clock: Clock,
    control: Control,
    live: Arc<[Live]>,
    thread: JoinHandle<Outcome>,
    ends: [Port; 2],
    calls: Calls,
    buffers: [Box<[u8]>; BATCH],
    begin: Time,
    received: Vec<Received>,
}

/// A received frame: its number, send time and arrival time.
#[derive(Clone, Copy, Debug)]
struct Received {
    number: u64,
    sent: Time,
    came: Time,
}

impl Received {
    fn delay(&self) -> Span {
        self.came.since(self.sent)
    }
}

impl Run {
    fn begin(&mut self) {
        self.begin = self.clock.now() + MS * 2;
        self.control.begin(self.begin);
        self.until(self.begin);
    }

    /// Waits until `time`, and receives meanwhile.
    fn until(&mut self, time: Time) {
        loop {
            self.receive();
            let left = time.since(self.clock.now());
            match left.as_nanos() / 1000 {
                0 => return,
                1..60 => std::hint::spin_loop(),
                micros => {
                    #[expect(clippy::disallowed_methods, reason = "a test waits")]
                    thread::sleep(std::time::Duration::from_micros((micros - 50).min(2000)));
                }
            }
        }
    }

    /// Sends frames with these numbers and `size` counted bytes.
    fn send(&mut self, numbers: std::ops::Range<u64>, size: usize) {
        let mut frames = VecDeque::new();
        for number in numbers {
            let mut frame = Frame::of_nothing(ETHERNET + size);
            let ethernet = &mut frame.buffer[VNET..];
            ethernet[14..22].copy_from_slice(&number.to_be_bytes());
            ethernet[22..30].copy_from_slice(&self.clock.now().as_nanos().to_be_bytes());
            frames.push_back(frame);
        }
        while !frames.is_empty() {
            let sent = self.ends[0]
                .send(frames.range(..frames.len().min(BATCH)), &mut self.calls)
                .expect("it sends");
            frames.drain(..sent);
        }
    }

    /// Receives until the condition holds, for a few seconds at most.
    fn wait(&mut self, is_so: impl Fn(&[Received]) -> bool) {
        let end = self.clock.now() + MS * 10_000;
        self.receive();
        while !is_so(&self.received) {
            assert!(self.clock.now() < end, "{:?}, {:?}", self.received, self.live);
            self.until(self.clock.now() + MS);
        }
    }

    fn receive(&mut self) {
        loop {
            let count = self.ends[1].take(&mut self.buffers, &mut self.calls).unwrap_or(0);
            let (now, unix) = (self.clock.now(), unix_ns());
            for (buffer, taken) in self.buffers.iter().zip(&self.calls.taken).take(count) {
                let field = |from: usize| {
                    u64::from_be_bytes(buffer[VNET + from..VNET + from + 8].try_into().expect("eight bytes"))
                };
                if buffer[VNET + 12..VNET + 14] == EXPERIMENT {
                    let came = Time::from_nanos(now.as_nanos() - (unix - taken.unix_ns));
                    self.received.push(Received {
                        number: field(14),
                        sent: Time::from_nanos(field(22)),
                        came,
                    });
                }
            }
            if count < BATCH {
                return;
            }
        }
    }

    /// Sends frames at a constant rate for this time.
    fn send_evenly(&mut self, per_second: f64, span: Span, size: usize) -> u64 {
        let begin = self.clock.now();
        let mut number = 0;
        loop {
            let now = self.clock.now();
            if now >= begin + span {
                return number;
            }
            let due = (now.since(begin).as_secs_f64() * per_second) as u64 + 1;
            if due > number {
                self.send(number..due, size);
                self.receive();
                number = due;
            } else {
                self.until(begin + Span::from_secs_f64(number as f64 / per_second));
            }
        }
    }

    fn end(self) -> (Outcome, Vec<Received>) {
        self.control.stop();
        let missed = self.ends[1].kernel_drops();
        if missed > 0 {
            println!("the test itself did not receive {missed} frames in time");
        }
        (self.thread.join().expect("the thread ends"), self.received)
    }
}

/// A quantile, µs, of the differences from the expected delays.
fn error_us(received: &[Received], expected: Span, quantile: f64) -> f64 {
    let mut errors: Vec<f64> =
        received.iter().map(|it| (it.delay().as_millis_f64() - expected.as_millis_f64()) * 1000.0).collect();
    errors.sort_by(f64::total_cmp);
    errors[((errors.len() - 1) as f64 * quantile).round() as usize]
}

#[test]
fn frames_pass_a_real_link_as_the_model_says() {
    let Some(cable) = Cable::new() else { return };
    let file = std::env::temp_dir().join(format!("weir-links-{}.pcapng", std::process::id()));
    let captures = vec![Capture { path: file.clone(), directions: vec![(0, "a -> b".to_owned())] }];
    let ten = Rate::from_mbps(10);
    let there = Direction { limit: QueueLimit::Packets(20), ..direction(Pace::Link(ten)) };
    let back = Direction { from: 1, to: 0, ..direction(Pace::Sender(ten)) };
    let script = vec![(at(500_000), Change::Up(0, false))];
    let mut run = cable.run_plan(there, back, MS * 10_000, script, captures);
    let live = run.live.clone();
    let count = |of: fn(&Live) -> &AtomicU64| of(&live[0]).load(Relaxed);
    // Before the run, frames pass at once and do not count.
    run.send(1000..1003, 1000);
    run.wait(|received| received.len() == 3);
    assert_eq!(run.received.drain(..).map(|it| it.number).collect::<Vec<_>>(), [1000, 1001, 1002]);
    run.begin();
    // Single frames: each takes 0.8 ms and 10 ms.
    let sent = run.send_evenly(500.0, MS * 50, 1000);
    run.wait(|received| received.len() as u64 == sent);
    let single = std::mem::take(&mut run.received);
    let expected = MS * 10 + Span::from_micros(800);
    assert!(error_us(&single, expected, 0.0) > -50.0, "never early: {single:?}");
    // A burst: 20 frames wait, one is sent, and the rest is dropped.
    run.send(0..30, 1000);
    run.wait(|received| received.len() as u64 + count(|live| &live.drops) == 30);
    let burst = std::mem::take(&mut run.received);
    assert!(burst.len() >= 21 && burst.is_sorted_by_key(|it| it.number), "{burst:?}");
    let late = burst.iter().enumerate().map(|(place, frame)| {
        let leaves = Span::from_micros(800) * (place as u64 + 1);
        frame.came.since(burst[0].sent).as_millis_f64() - (MS * 10 + leaves).as_millis_f64()
    });
    assert!(late.clone().all(|ms| ms > -0.05), "never early: {burst:?}");
    // The link is down.
    run.until(run.begin + MS * 510);
    run.send(0..2, 1000);
    let drops = 32 - burst.len() as u64;
    run.wait(|_| count(|live| &live.drops) == drops);
    let (outcome, received) = run.end();
    assert!(received.is_empty(), "{received:?}");
    assert_eq!(outcome.trouble, Trouble::default());
    assert_eq!(outcome.frames, sent + burst.len() as u64);
    assert_eq!(count(|live| &live.frames), outcome.frames);
    let rows = outcome.accounts.rows(0, 1.0);
    assert_eq!((rows[0].drops, rows[0].down, rows[0].lost), (drops - 2, 2, 0));
    let busy = rows[0].utilisation;
    assert!((busy - 0.0008 * outcome.frames as f64).abs() < 1e-6, "{busy} s");
    // Lateness depends on the machine. The emulator measures it.
    if outcome.doubt().is_none() {
        assert!(error_us(&single, expected, 0.5) < 1000.0, "{single:?}");
        assert!(late.clone().all(|ms| ms < 20.0) && burst.len() <= 26, "{burst:?}");
    }
    // The capture contains all delivered frames, also from before the run.
    let captured = std::fs::read(&file).expect("a capture");
    std::fs::remove_file(&file).expect("it is removed");
    assert_eq!(
        captured.windows(2).filter(|bytes| **bytes == EXPERIMENT).count(),
        3 + outcome.frames as usize
    );
}

/// A network namespace with one end of a cable. Dropping it removes the namespace.
struct Host(String);

impl Host {
    /// Moves the near end of a cable into a new namespace, with this address.
    fn new(near: &str, address: &str) -> Option<Host> {
        if !ip(&["netns", "add", near]) {
            println!("skipped: `ip netns add` does not work here");
            return None;
        }
        let host = Host(near.to_owned());
        assert!(ip(&["link", "set", near, "netns", near]));
        assert!(ip(&["-n", near, "address", "add", address, "dev", near]));
        assert!(ip(&["-n", near, "link", "set", near, "addrgenmode", "none", "up"]));
        Some(host)
    }

    /// Runs a function in the namespace, in its own thread.
    fn run<T: Send + 'static>(&self, what: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let file = std::fs::File::open(format!("/run/netns/{}", self.0)).expect("a namespace");
        thread::spawn(move || {
            nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).expect("it enters the namespace");
            what()
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        ip(&["netns", "delete", &self.0]);
    }
}

/// The kernel's offloads, checksums and segments, work as on a wire: UDP and TCP work, and frames are short.
#[test]
fn kernels_talk_udp_and_tcp_over_an_emulated_link() {
    const PAYLOAD: usize = 1000;
    const CONTENT: usize = 100_000;
    let Some(cable) = Cable::new() else { return };
    let host = |end: usize, address| Host::new(&cable.names[end][0], address);
    let (Some(first), Some(second)) = (host(0, "10.99.0.1/24"), host(1, "10.99.0.2/24")) else { return };
    let ports = cable.names.iter().map(|[_, lab]| open(lab).expect("an interface")).collect();
    let ten = Rate::from_mbps(10);
    let limit = QueueLimit::Packets(200);
    let there = Direction { limit, way: way(MS), ..direction(Pace::Link(ten)) };
    let back = Direction { from: 1, to: 0, way: way(MS), ..direction(Pace::Sender(ten)) };
    let directions = vec![there, back];
    let extent = extent(Span::from_secs(30));
    let accounts = accounts(&directions, &extent);
    let plan = Plan { ports, directions, script: vec![], accounts, extent, captures: vec![], observe: None };
    let clock = Clock::start();
    let (emulator, control, live) = Emulator::new(plan, clock).expect("an emulator");
    let links = thread::spawn(move || emulator.run().expect("it runs"));
    // The hosts resolve each other's addresses before the run.
    let received = second.run(|| {
        let udp = std::net::UdpSocket::bind("10.99.0.2:6363").expect("a socket");
        let tcp = std::net::TcpListener::bind("10.99.0.2:6363").expect("a socket");
        (udp, tcp)
    });
    let (udp, tcp) = received.join().expect("sockets");
    udp.set_read_timeout(Some(std::time::Duration::from_secs(10))).expect("a timeout");
    let sender = first.run(|| {
        let udp = std::net::UdpSocket::bind("10.99.0.1:0").expect("a socket");
        udp.connect("10.99.0.2:6363").expect("an address");
        udp.send(&[0; PAYLOAD]).expect("it sends");
        udp
    });
    let sender = sender.join().expect("a socket");
    let mut buffer = [0; 2 * PAYLOAD];
    assert_eq!(udp.recv(&mut buffer).expect("it arrives"), PAYLOAD);
    control.begin(clock.now());
    // The kernel makes five frames of each datagram.
    nix::sys::socket::setsockopt(&sender, nix::sys::socket::sockopt::UdpGsoSegment, &(PAYLOAD as i32))
        .expect("segments");
    for _ in 0..4 {
        sender.send(&[1; 5 * PAYLOAD]).expect("it sends");
    }
    (0..20).for_each(|_| assert_eq!(udp.recv(&mut buffer).expect("it arrives"), PAYLOAD));
    assert_eq!(live[0].bytes.load(Relaxed), 20 * PAYLOAD as u64, "without the headers of IP and UDP");
    let content = first.run(|| {
        let mut stream = std::net::TcpStream::connect("10.99.0.2:6363").expect("a connection");
        std::io::Write::write_all(&mut stream, &[7; CONTENT]).expect("it sends");
    });
    let begin = clock.now();
    let (mut stream, _) = tcp.accept().expect("a connection");
    let mut got = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut got).expect("it arrives");
    let took = clock.now().since(begin).as_secs_f64();
    content.join().expect("it has sent");
    assert!(got.len() == CONTENT && took > 8.0 * CONTENT as f64 / 10e6, "{} bytes in {took} s", got.len());
    // The emulator continues if an interface goes away.
    assert!(ip(&["link", "delete", &cable.names[1][1]]));
    control.stop();
    let outcome = links.join().expect("it ends");
    let Trouble { kernel_drops, too_long, strays, no_memory, .. } = outcome.trouble;
    assert_eq!((kernel_drops, too_long, strays, no_memory), (0, 0, 0, 0));
}

/// Measures the capacity of the emulation on this machine: `cargo test -p weir-lab --release -- --ignored --nocapture
/// links_alone`.
#[test]
#[ignore = "it measures, for a minute"]
fn links_alone() {
    println!(
        "rate Mb/s  frame B  delay ms   frames/s  rate error %  delay error µs: p1   p50    p99    worst   CPU µs a frame"
    );
    for (mbps, size, delay_us) in [
        (1, 1000, 10_000),
        (1, 8000, 10_000),
        (10, 1000, 100),
        (10, 1000, 10_000),
        (10, 8000, 100_000),
        (100, 1000, 100),
        (100, 1000, 10_000),
        (100, 8000, 10_000),
        (1000, 8000, 100),
        (1000, 8000, 10_000),
        (1000, 8000, 100_000),
    ] {
        let Some(cable) = Cable::new() else { return };
        let (rate, delay) = (Rate::from_mbps(mbps), Span::from_micros(delay_us));
        let per_second = rate.as_bps_f64() / (8 * size) as f64;
        // Delays: the sender sends at 0.8 of the rate.
        let there = Direction { way: way(delay), ..direction(Pace::Sender(rate)) };
        let mut run = cable.run(there, Span::from_secs(10));
        run.begin();
        let sent = run.send_evenly(0.8 * per_second, Span::from_millis(2000), size);
        run.until(run.clock.now() + delay + MS * 50);
        let (outcome, received) = run.end();
        assert_eq!((received.len() as u64, outcome.trouble), (sent, Trouble::default()));
        let expected = delay + rate.time_for(Bytes::new(size as u64));
        let error = |quantile| error_us(&received, expected, quantile);
        let processor = outcome.processor.as_millis_f64() * 1000.0 / outcome.frames as f64;
        // Rate: the sender sends more than the link carries.
        let limit = QueueLimit::Packets(100_000);
        let there = Direction { way: way(delay), limit, ..direction(Pace::Link(rate)) };
        let mut run = cable.run(there, Span::from_secs(10));
        run.begin();
        // Some frames wait from the beginning, so the link is never idle while the sender is late.
        run.send(0..(per_second / 10.0) as u64 + 2, size);
        run.send_evenly(1.1 * per_second, Span::from_millis(1500), size);
        run.until(run.clock.now() + delay + MS * 50);
        let (_, backlog) = run.end();
        let (first, last) = (backlog[0], backlog[backlog.len() - 1]);
        let seen = (backlog.len() - 1) as f64 / last.came.since(first.came).as_secs_f64();
        println!(
            "{mbps:9}  {size:7}  {:8.1}  {:9.0}  {:12.3}  {:18.0} {:6.0} {:6.0} {:8.0}   {processor:8.1}   {:?} late {}",
            delay.as_millis_f64(),
            0.8 * per_second,
            100.0 * (seen / per_second - 1.0),
            error(0.01),
            error(0.5),
            error(0.99),
            error(1.0),
            outcome.priority,
            outcome.late,
        );
    }
    for size in [100, 1000, 8000] {
        let Some(cable) = Cable::new() else { return };
        let there = direction(Pace::Sender(Rate::MAX));
        let ports = cable.names.iter().map(|[_, lab]| open(lab).expect("an interface")).collect();
        let extent = extent(MS);
        let accounts = accounts(std::slice::from_ref(&there), &extent);
        let plan = Plan {
            ports,
            directions: vec![there],
            script: vec![],
            accounts,
            extent,
            captures: vec![],
            observe: None,
        };
        let (emulator, ..) = Emulator::new(plan, Clock::start()).expect("an emulator");
        for _ in 0..3 {
            println!("{size} B: capacity {:?} frames/s", emulator.capacity(size).expect("it sends"));
        }
        for per_second in [10_000, 20_000, 40_000, 80_000, 120_000, 160_000, 200_000] {
            let Some(cable) = Cable::new() else { return };
            let there = Direction { way: way(MS * 10), ..direction(Pace::Sender(Rate::MAX)) };
            let mut run = cable.run(there, Span::from_secs(10));
            run.begin();
            let sent = run.send_evenly(f64::from(per_second), Span::from_millis(1000), size);
            run.until(run.clock.now() + MS * 60);
            let (outcome, received) = run.end();
            println!(
                "{size} B, {per_second} frames/s: {sent} sent, {} received, p50 {:.2} ms p99 {:.2} ms late, {:.1} µs a frame: {:?} {:?}",
                received.len(),
                outcome.lateness.quantile_ms(0.5).unwrap_or(0.0),
                outcome.lateness.quantile_ms(0.99).unwrap_or(0.0),
                outcome.processor.as_millis_f64() * 1000.0 / outcome.frames.max(1) as f64,
                outcome.doubt(),
                outcome.trouble,
            );
        }
    }
}

/// The same with frames spread over 20 links, so few arrive together.
#[test]
#[ignore = "it measures, for ten seconds"]
fn many_links() {
    const LINKS: usize = 20;
    let cables: Vec<Cable> = (0..LINKS).map_while(|_| Cable::new()).collect();
    if cables.len() < LINKS {
        return;
    }
    for per_second in [5_000, 10_000, 20_000, 40_000, 80_000, 120_000] {
        let names = cables.iter().flat_map(|cable| &cable.names);
        let ports = names.map(|[_, lab]| open(lab).expect("an interface")).collect();
        let there =
            |link| Direction { from: 2 * link, to: 2 * link + 1, ..direction(Pace::Sender(Rate::MAX)) };
        let directions: Vec<_> = (0..LINKS).map(there).collect();
        let extent = extent(Span::from_secs(10));
        let accounts = accounts(&directions, &extent);
        let plan =
            Plan { ports, directions, script: vec![], accounts, extent, captures: vec![], observe: None };
        let clock = Clock::start();
        let (emulator, control, _) = Emulator::new(plan, clock).expect("an emulator");
        let links = thread::spawn(move || emulator.run().expect("it runs"));
        let ends: Vec<Port> = cables.iter().map(|cable| cable.near(0)).collect();
        let (frame, mut calls) = (Frame::of_nothing(1000), Calls::new());
        let begin = clock.now();
        control.begin(begin);
        let mut sent = 0;
        while clock.now() < begin + MS * 1000 {
            let due = clock.now().since(begin).as_nanos() * per_second / 1_000_000_000;
            for number in sent..due {
                ends[number as usize % LINKS].send([&frame].into_iter(), &mut calls).expect("it sends");
            }
            sent = due.max(sent);
            #[expect(clippy::disallowed_methods, reason = "a test waits")]
            thread::sleep(std::time::Duration::from_micros(20));
        }
        control.end(Time::ZERO + clock.now().since(begin) + MS * 50);
        #[expect(clippy::disallowed_methods, reason = "a test waits")]
        thread::sleep(std::time::Duration::from_millis(60));
        control.stop();
        let outcome = links.join().expect("it ends");
        println!(
            "{per_second} frames/s over {LINKS} links: {} of {sent}, {:.1} µs a frame, p50 {:.2} ms p99 {:.2} ms late: {:?}",
            outcome.frames,
            outcome.processor.as_millis_f64() * 1000.0 / outcome.frames as f64,
            outcome.lateness.quantile_ms(0.5).unwrap_or(0.0),
            outcome.lateness.quantile_ms(0.99).unwrap_or(0.0),
            outcome.doubt(),
        );
    }
}
