use super::*;
use proptest::prelude::*;
use weir_core::packet::Kind;

const RATE: Rate = Rate::from_mbps(24);

/// Stations 1, 2, … that send to station 0, which only answers with acknowledgements.
struct Bench {
    medium: Medium,
    pool: PacketPool,
    now: Time,
    actions: Vec<MediumAction>,
    on_air: Vec<(Time, u32)>,
    received: Vec<(Time, u32, PacketId)>,
    lost: Vec<PacketId>,
    released: Vec<u32>,
}

fn stream(name: &str, number: usize) -> Random {
    Random::named(7, &format!("{name} {number}"))
}

/// Returns the pairs of station 0 with each of the others.
fn star(senders: usize, rate: Rate, loss: f64) -> Vec<Pair> {
    let pair = |n: usize| {
        let random = [stream("to", n), stream("from", n)];
        Pair { stations: [0, n as u32], rate: [rate; 2], loss, random }
    };
    (1..=senders).map(pair).collect()
}

impl Bench {
    fn new(stations: usize, pairs: Vec<Pair>) -> Bench {
        let medium = Medium::new((0..stations).map(|n| stream("station", n)).collect(), pairs);
        let (pool, now, actions) = (PacketPool::new(), Time::ZERO, Vec::new());
        let (on_air, received, lost, released) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Bench { medium, pool, now, actions, on_air, received, lost, released }
    }

    fn star(senders: usize, loss: f64) -> Bench {
        Bench::new(senders + 1, star(senders, RATE, loss))
    }

    fn offer(&mut self, link: u32, bytes: u32) -> PacketId {
        let packet = self.pool.take();
        self.pool[packet].kind = Kind::Data;
        self.pool[packet].net_len = bytes;
        self.medium.offer(self.now, link, packet, &self.pool);
        packet
    }

    /// Advances to the next change. Returns false if there is none.
    fn step(&mut self) -> bool {
        let at = self.medium.next_deadline();
        if at == Time::NEVER {
            return false;
        }
        assert!(at >= self.now);
        self.now = at;
        self.medium.handle_deadline(self.now, &self.pool, &mut self.actions);
        assert!(self.medium.next_deadline() > self.now, "what is due is done");
        for action in self.actions.drain(..) {
            match action {
                MediumAction::OnAir { link, .. } => self.on_air.push((self.now, link)),
                MediumAction::Receive { link, packet, at } => self.received.push((at, link, packet)),
                MediumAction::Release { link, lost } => {
                    self.lost.extend(lost);
                    self.released.push(link);
                }
                MediumAction::Rate { .. } => {}
            }
        }
        true
    }

    fn run(&mut self) {
        while self.step() {}
    }

    /// Keeps a packet of this length at every sender, until this number was received.
    fn saturate(&mut self, senders: usize, bytes: u32, frames: usize) {
        for n in 0..senders {
            self.offer(2 * n as u32 + 1, bytes);
        }
        while self.received.len() < frames {
            self.step();
            while let Some(link) = self.released.pop() {
                self.offer(link, bytes);
            }
        }
    }

    /// Returns the throughput, bit/s, and the part of the transmissions that collided or were lost.
    fn outcome(&self, bytes: u32) -> (f64, f64) {
        let bits = 8 * u64::from(bytes) * self.received.len() as u64;
        let failed = 1.0 - self.received.len() as f64 / self.on_air.len() as f64;
        (bits as f64 / self.now.as_secs_f64(), failed)
    }
}

fn micros(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

/// Frame, SIFS and acknowledgement of 1100 bytes at 24 Mb/s: 96 symbols would be 1142 bytes.
const FRAME: u64 = 400;
const EXCHANGE: u64 = FRAME + 16 + 28;

#[test]
fn on_an_idle_medium_a_frame_leaves_at_the_next_slot() {
    let mut bench = Bench::star(1, 0.0);
    let first = bench.offer(1, 1100);
    bench.run();
    assert_eq!(bench.received, [(micros(FRAME), 1, first)]);
    assert_eq!((bench.now, &bench.released[..]), (micros(EXCHANGE), &[1][..]));
    // Long after the post-backoff, slots are counted from DIFS after the acknowledgement.
    let slots_from = EXCHANGE + 34;
    bench.now = micros(slots_from + 9 * 1000 + 1);
    let second = bench.offer(1, 1100);
    bench.run();
    assert_eq!(bench.received[1], (micros(slots_from + 9 * 1001 + FRAME), 1, second));
}

#[test]
fn a_station_alone_sends_after_difs_and_its_own_back_off_each_time() {
    let mut bench = Bench::star(1, 0.0);
    bench.saturate(1, 1100, 1000);
    // The same stream draws the same back-offs, so the times are exact to the nanosecond.
    let (mut random, mut begins) = (stream("station", 1), Time::ZERO);
    for &(at, link) in &bench.on_air {
        assert_eq!((at, link), (begins, 1));
        begins += Span::from_micros(EXCHANGE + 34) + SLOT * u64::from(random.below(16));
    }
}

#[test]
fn a_frame_that_finds_the_medium_busy_draws_a_back_off() {
    let mut bench = Bench::star(2, 0.0);
    bench.offer(1, 1100);
    bench.step();
    bench.now = micros(100);
    bench.offer(3, 1100);
    bench.run();
    let back_off = u64::from(stream("station", 2).below(16));
    assert_eq!(bench.on_air[1], (micros(EXCHANGE + 34 + 9 * back_off), 3));
}

#[test]
fn a_counter_stands_still_while_the_medium_is_busy() {
    let mut bench = Bench::star(2, 0.0);
    // The first station keeps the medium busy. The second one has to wait for at least 2 slots.
    let begun = |bench: &Bench| bench.on_air.iter().filter(|(_, link)| *link == 3).count();
    bench.offer(1, 1100);
    bench.step();
    bench.offer(3, 1100);
    while begun(&bench) == 0 {
        bench.step();
        if let Some(link) = bench.released.pop() {
            bench.offer(link, 1100);
        }
    }
    let busy = bench.on_air.iter().filter(|(at, link)| *link == 1 && *at < bench.now).count() as u64;
    let idle_slots = u64::from(stream("station", 2).below(16));
    assert!(busy > 1 && idle_slots > 1, "{busy} {idle_slots}");
    assert_eq!(bench.now, micros(busy * (EXCHANGE + 34) + 9 * idle_slots));
}

#[test]
fn stations_that_begin_in_the_same_slot_collide_and_double_their_windows() {
    let mut bench = Bench::star(2, 0.0);
    bench.offer(1, 1100);
    bench.offer(3, 100);
    bench.step();
    assert_eq!(bench.on_air, [(micros(0), 1), (micros(0), 3)]);
    bench.step();
    assert_eq!((bench.now, bench.received.len()), (micros(FRAME), 0), "the longer one ends");
    let windows = bench.medium.stations.iter().map(|s| s.window).collect::<Vec<_>>();
    assert_eq!(windows, [15, 31, 31]);
    let slots = [1, 2].map(|n| u64::from(stream("station", n).below(32)));
    bench.step();
    assert_eq!(bench.now, micros(FRAME + 94 + 9 * slots[0].min(slots[1])), "EIFS, then slots");
}

#[test]
fn a_frame_that_is_never_received_is_given_up_after_seven_transmissions() {
    let mut bench = Bench::star(1, 0.0);
    bench.medium.set_up(1, false);
    let [first, second] = [0, 1].map(|_| bench.offer(1, 1100));
    bench.run();
    assert_eq!((bench.on_air.len(), &bench.lost[..]), (14, &[first, second][..]));
    let mut random = stream("station", 1);
    let mut begins = Time::ZERO;
    for windows in [[32, 64, 128, 256, 512, 1024, 16], [32, 64, 128, 256, 512, 1024, 16]] {
        for window in windows {
            let (at, _) = bench.on_air.remove(0);
            assert_eq!(at, begins);
            begins += Span::from_micros(FRAME + 94) + SLOT * u64::from(random.below(window));
        }
    }
    bench.medium.set_up(1, true);
    bench.offer(1, 1100);
    bench.run();
    assert_eq!((bench.received.len(), bench.lost.len()), (1, 2));
}

#[test]
fn frames_of_one_station_to_several_leave_in_the_order_in_which_they_came() {
    let mut bench = Bench::star(3, 0.0);
    for link in [4, 0, 2, 0] {
        bench.offer(link, 100);
    }
    bench.run();
    assert_eq!(bench.received.iter().map(|r| r.1).collect::<Vec<_>>(), [4, 0, 2, 0]);
}

/// Bianchi's model with the effect that it leaves out (I. Tinnirello, G. Bianchi, Y. Xiao, "Refinements on
/// IEEE 802.11 Distributed Coordination Function Modeling Approaches", IEEE Trans. Veh. Tech. 59(3), 2010):
/// counters also stop in a busy slot, so the slot after a transmission is free for the stations that sent and
/// draw 0. Returns the throughput, bit/s, and the part of the transmissions that collide.
fn refined(stations: usize, bytes: u32) -> (f64, f64) {
    let n = stations as f64;
    let windows: Vec<f64> =
        (0..TRANSMISSIONS).map(|j| f64::min(16.0 * 2_f64.powi(j as i32), 1024.0)).collect();
    // A back-off of 0 after a collision meets the other station's 0; after a success it meets none.
    let fails = |j: usize, p: f64| {
        let zero = 1.0 / windows[j];
        (1.0 - zero) * p + if j > 0 { zero * zero } else { 0.0 }
    };
    let attempt = |p: f64| {
        let (mut reached, mut sent, mut slots) = (1.0, 0.0, 0.0);
        for (j, window) in windows.iter().enumerate() {
            sent += reached * (1.0 - 1.0 / window);
            slots += reached * (window - 1.0) / 2.0;
            reached *= fails(j, p);
        }
        sent / slots
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - attempt(p)).powf(n - 1.0) > p { low = p } else { high = p }
    }
    let tau = attempt(low);
    let alone = n * tau * (1.0 - tau).powf(n - 1.0);
    let collide = 1.0 - (1.0 - tau).powf(n) - alone;
    // A station that has just sent and draws 0 sends again before the others count a slot.
    let train = 1.0 / (1.0 - 1.0 / windows[0]);
    let (mut reached, mut zeros, mut failed) = (1.0, 0.0, 0.0);
    for j in 0..windows.len() {
        reached *= fails(j, low);
        failed += reached;
        zeros += reached / windows.get(j + 1).unwrap_or(&windows[0]);
    }
    let (zero, many) = (zeros / failed.max(1e-12), (n * tau - alone) / collide.max(1e-12));
    let one_again = many * zero * (1.0 - zero).powf(many - 1.0);
    let two_again = 1.0 - (1.0 - zero).powf(many) - one_again;
    let received = train * (alone + collide * one_again);
    let collisions = collide * (1.0 + two_again);
    let frame = phy::frame_time(Bytes::new(u64::from(bytes)), RATE);
    let exchange = (frame + SIFS + phy::ack_time(RATE) + DIFS).as_secs_f64();
    let time = SLOT.as_secs_f64() + received * exchange + collisions * (frame + EIFS).as_secs_f64();
    let collided = collide * (many + 2.0 * two_again);
    (received * f64::from(8 * bytes) / time, collided / (collided + received))
}

/// Returns the relative difference.
fn off(value: f64, from: f64) -> f64 {
    (value / from - 1.0).abs()
}

/// The page with the table of these values.
const PAGE: &str = include_str!("../../../docs/reference/medium.md");

#[test]
fn saturated_stations_get_the_throughput_that_bianchi_calculates() {
    for bytes in [1100, 100] {
        for stations in [1, 2, 5, 10, 20] {
            let mut bench = Bench::star(stations, 0.0);
            bench.saturate(stations, bytes, 100_000);
            let (throughput, collided) = bench.outcome(bytes);
            let theory = Saturation::new(stations, 0.0);
            let bianchi = theory.throughput(Bytes::new(u64::from(bytes)), RATE);
            let (finer, finer_collided) = refined(stations, bytes);
            let (given_up, received) = (bench.lost.len() as f64, bench.received.len() as f64);
            let row = format!(
                "| {bytes} | {stations} | {:.2} | {:.2} | {:.2} | {collided:.3} | {:.3} | {finer_collided:.3} | {:.4} | {:.4} |",
                throughput / 1e6,
                bianchi / 1e6,
                finer / 1e6,
                theory.collision,
                given_up / (given_up + received),
                theory.drop_probability(0.0),
            );
            assert!(PAGE.contains(&row), "docs/reference/medium.md has another row than\n{row}");
            assert!(off(throughput, bianchi) < if bytes == 1100 { 0.012 } else { 0.035 }, "{row}");
            assert!(off(throughput, finer) < 0.005, "{row}");
            assert!((collided - theory.collision).abs() < 0.025);
            assert!((collided - finer_collided).abs() < 0.01);
        }
    }
}

#[test]
fn lost_frames_cost_what_the_model_says() {
    for (stations, loss) in [(1, 0.1), (1, 0.5), (5, 0.2)] {
        let mut bench = Bench::star(stations, loss);
        bench.saturate(stations, 1100, 50_000);
        let (throughput, failed) = bench.outcome(1100);
        let theory = Saturation::new(stations, loss);
        assert!(off(throughput, theory.throughput(Bytes::new(1100), RATE)) < 0.02);
        assert!((failed - (1.0 - (1.0 - theory.collision) * (1.0 - loss))).abs() < 0.015);
        let given_up = bench.lost.len() as f64 / (bench.lost.len() + bench.received.len()) as f64;
        assert!((given_up - theory.drop_probability(loss)).abs() < 0.002, "{stations} {loss}: {given_up}");
    }
}

/// An operation of the world: it offers a packet, lets time pass, or changes a direction.
#[derive(Clone, Debug)]
enum Op {
    Offer { link: u32, bytes: u32, is_interest: bool },
    Pass(u64),
    Next,
    Rate(u32, usize),
    Loss(u32, f64),
    Up(u32, bool),
}

fn op() -> impl Strategy<Value = Op> {
    let offer = (0..64_u32, prop_oneof![1..2300_u32, Just(100)], any::<bool>());
    prop_oneof![
        8 => offer.prop_map(|(link, bytes, is_interest)| Op::Offer { link, bytes, is_interest }),
        2 => (0..2_000_000_u64).prop_map(Op::Pass),
        6 => Just(Op::Next),
        1 => (0..64_u32, 0..8_usize).prop_map(|(link, rate)| Op::Rate(link, rate)),
        1 => (0..64_u32, prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]).prop_map(|(link, loss)| Op::Loss(link, loss)),
        1 => (0..64_u32, any::<bool>()).prop_map(|(link, up)| Op::Up(link, up)),
    ]
}

/// Runs a medium under a list of operations. Returns all events.
fn history(stations: usize, ops: &[Op]) -> Vec<(Time, MediumAction)> {
    let pairs: Vec<Pair> = (0..stations)
        .flat_map(|b| (0..b).map(move |a| (a, b)))
        .map(|(a, b)| {
            let random = [stream("there", 64 * a + b), stream("back", 64 * a + b)];
            Pair { stations: [a as u32, b as u32], rate: [RATE; 2], loss: 0.0, random }
        })
        .collect();
    let links = 2 * pairs.len() as u32;
    let mut bench = Bench::new(stations, pairs);
    let (mut offered, mut all) = (0, Vec::new());
    let mut step = |bench: &mut Bench| {
        let (at, mut actions) = (bench.medium.next_deadline(), Vec::new());
        bench.now = at;
        bench.medium.handle_deadline(at, &bench.pool, &mut actions);
        assert!(bench.medium.next_deadline() > at, "what is due is done");
        all.extend(actions.into_iter().map(|action| (at, action)));
    };
    for op in ops {
        match *op {
            Op::Offer { link, bytes, is_interest } => {
                let packet = bench.offer(link % links, bytes);
                bench.pool[packet].kind = if is_interest { Kind::Interest } else { Kind::Data };
                offered += 1;
            }
            Op::Pass(span) => {
                let until = bench.now + Span::from_nanos(span);
                while bench.medium.next_deadline() <= until {
                    step(&mut bench);
                }
                bench.now = until;
            }
            Op::Next if bench.medium.next_deadline() < Time::NEVER => step(&mut bench),
            Op::Next => {}
            Op::Rate(link, rate) => bench.medium.set_rate(bench.now, link % links, phy::RATES[rate]),
            Op::Loss(link, loss) => bench.medium.set_loss(link % links, loss),
            Op::Up(link, up) => bench.medium.set_up(link % links, up),
        }
    }
    while bench.medium.next_deadline() < Time::NEVER {
        step(&mut bench);
    }
    check(&all, offered);
    all
}

/// Checks that every packet is received or given up, once, and that one frame at a time is received.
fn check(history: &[(Time, MediumAction)], offered: usize) {
    let (mut done, mut air_free, mut received_at) = (Vec::new(), Time::ZERO, Time::ZERO);
    let mut begun = Vec::new();
    for &(now, action) in history {
        match action {
            MediumAction::OnAir { until, .. } => {
                assert!(until > now);
                assert!(now >= received_at, "no station begins while a frame is received");
                begun.retain(|(_, end)| *end > now);
                begun.push((now, until));
                air_free = air_free.max(until);
            }
            MediumAction::Receive { packet, at, .. } => {
                assert!(now < at && at < air_free);
                assert_eq!(begun.len(), 1, "a received frame is alone");
                received_at = air_free;
                done.push(packet);
            }
            MediumAction::Release { lost, .. } => {
                assert_eq!(now, air_free, "the sender waits for the acknowledgement");
                done.extend(lost);
            }
            MediumAction::Rate { rate, fair, .. } => {
                assert!(rate > Rate::ZERO && rate < Rate::from_mbps(54), "{rate}");
                assert!(fair > Rate::ZERO && fair < Rate::from_mbps(54), "{fair}");
            }
        }
    }
    done.sort();
    done.dedup();
    assert_eq!(done.len(), offered, "every packet leaves once, or is given up");
}

proptest! {
    #[test]
    fn one_frame_at_a_time_is_received_and_none_is_forgotten(
        stations in 2..6_usize,
        ops in prop::collection::vec(op(), 0..200),
    ) {
        let first = history(stations, &ops);
        prop_assert_eq!(first, history(stations, &ops), "the same operations give the same history");
    }
}
