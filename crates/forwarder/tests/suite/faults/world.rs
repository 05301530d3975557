//! A network of forwarders with applications and faults, and its invariants.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use weir_core::name::NameHasher;
use weir_core::random::Random;
use weir_core::units::{Span, Time};
use weir_forwarder::config::Config;
use weir_forwarder::control::Control;
use weir_forwarder::instance::Instance;
use weir_management::status::{FacePersistency, FaceStatus};
use weir_net::secrets::Secrets;

use super::application::{Application, Role, SEGMENTS, forged, nonsense, prefix};
use super::net::{Link, Net, PORT, Shared, Simulated, address};

/// End of the faults.
const FAULTS_END: Time = Time::from_nanos(12_000_000_000);
/// Every fetch completes by this time. The longest wait is that of a face that connects again: it doubles with each attempt, to
/// some 16 s after 12 s of faults.
const DONE_BY: Time = Time::from_nanos(72_000_000_000);
/// This long after the last packet nothing is left: Interests live for 4 s, damaged ones for 5 s, and faces of strangers for 10
/// s, with a check every 5 s.
const LIFETIMES: Span = Span::from_secs(20);
/// Limits of tables.
const PIT_BYTES: usize = 256_000;
/// An entry takes at least 256 B.
const PIT_ENTRIES: usize = PIT_BYTES / 256;
const FACES: usize = 32;
const STORED: usize = 40;
/// Largest number of rounds of a forwarder without progress of time.
const ROUNDS: u32 = 10_000;

#[derive(Clone, Debug)]
enum Fault {
    Loss(usize, f64),
    Mtu(usize, usize),
    Down(usize, bool),
    Reset(usize),
    Slow(usize, Span),
    Crash(usize),
    Start(usize),
    Wall(usize, i64),
    Flood(usize, u32),
    Strangers(usize, u32),
    Calm,
}

struct Host {
    config: String,
    instance: Option<Instance>,
    runs: u64,
    rounds: u32,
    faces_of_file: usize,
}

pub struct World {
    seed: u64,
    /// The name hash of all forwarders; `None`: derived from the seed.
    names: Option<NameHasher>,
    net: Shared,
    hosts: Vec<Host>,
    links: Vec<(usize, usize)>,
    applications: Vec<Application>,
    script: VecDeque<(Time, Fault)>,
    random: Random,
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut random = Random::named(seed, "world");
        let count = 2 + random.below(4) as usize;
        let net = Net::new(count, seed);
        // A tree, and perhaps one more link.
        let mut links: Vec<(usize, usize)> =
            (1..count).map(|host| (random.below(host as u32) as usize, host)).collect();
        if count > 2 && !links.contains(&(0, count - 1)) && random.chance(0.5) {
            links.push((0, count - 1));
        }
        let hosts = configs(count, &links, &net, &mut random);
        let mut applications = Vec::new();
        for host in 0..count {
            let role = Role::Producer { is_registered: false, command_at: Time::ZERO };
            applications.push(Application::new(host, role, Random::named(seed, &format!("producer {host}"))));
            let others = (0..count).filter(|other| *other != host);
            let files: Vec<_> =
                others.map(|other| (other, 10 + u64::from(random.below(SEGMENTS - 10)))).collect();
            let random = Random::named(seed, &format!("consumer {host}"));
            applications.push(Application::consumer(host, &files, random));
        }
        let mut world =
            World { seed, names: None, net, hosts, links, applications, script: VecDeque::new(), random };
        world.draw_faults();
        world
    }

    /// Uses another name hash.
    pub fn with_names(mut self, names: NameHasher) -> World {
        self.names = Some(names);
        self
    }

    fn draw_faults(&mut self) {
        let mut script: Vec<(Time, Fault)> = Vec::new();
        let at = |ms: u32| Time::ZERO + Span::from_millis(u64::from(ms));
        let (hosts, links) = (self.hosts.len() as u32, self.links.len() as u32);
        for _ in 0..3 + self.random.below(8) {
            let from = 50 + self.random.below(9000);
            let until = from + 100 + self.random.below(2500);
            let (host, link) = (self.random.below(hosts) as usize, self.random.below(links) as usize);
            let (begin, end) = (at(from), at(until));
            match self.random.below(10) {
                0 => {
                    let loss = 0.2 + 0.8 * self.random.unit();
                    script.extend([(begin, Fault::Loss(link, loss)), (end, Fault::Loss(link, 0.0))]);
                }
                1 | 2 => script.extend([(begin, Fault::Down(link, true)), (end, Fault::Down(link, false))]),
                3 => script.push((begin, Fault::Reset(link))),
                4 => {
                    let application = self.random.below(2 * hosts) as usize;
                    script.push((begin, Fault::Slow(application, end.since(begin))));
                }
                5 => script.extend([(begin, Fault::Crash(host)), (end, Fault::Start(host))]),
                6 => {
                    let ms = i64::from(self.random.below(200_000_000)) - 100_000_000;
                    script.push((begin, Fault::Wall(host, ms)));
                }
                // First a smaller MTU than any link of datagrams, and later the old one.
                7 => {
                    let mtu = self.net.borrow().links[&self.links[link]].mtu;
                    script.extend([(begin, Fault::Mtu(link, 450)), (end, Fault::Mtu(link, mtu))]);
                }
                8 => script.push((begin, Fault::Flood(host, 500 + self.random.below(2000)))),
                _ => script.push((begin, Fault::Strangers(host, 20 + self.random.below(200)))),
            }
        }
        script.push((FAULTS_END, Fault::Calm));
        script.sort_by_key(|(at, _)| *at);
        self.script = script.into();
    }

    /// Runs until nothing should be left. Returns the digest of all events.
    pub fn run(mut self) -> u64 {
        (0..self.hosts.len()).for_each(|host| self.start(host));
        let is_done = |world: &World| world.applications.iter().all(Application::is_done);
        while self.now() < FAULTS_END || !is_done(&self) {
            assert!(self.now() < DONE_BY, "not complete: {}", self.lacks());
            self.step(DONE_BY);
        }
        let quiet = self.now() + LIFETIMES;
        while self.now() < quiet {
            self.step(quiet);
        }
        (0..self.hosts.len()).for_each(|host| self.check_end(host));
        self.net.borrow().digest()
    }

    fn now(&self) -> Time {
        self.net.borrow().now
    }

    fn lacks(&self) -> String {
        let lack = self.applications.iter().filter(|application| !application.is_done());
        let each = lack.map(|application| format!("at {}: {}", application.host, application.lacks()));
        each.collect::<Vec<_>>().join("; ")
    }

    /// Runs the next event.
    fn step(&mut self, until: Time) {
        let now = self.now();
        let mut next = self.net.borrow().next().min(until);
        next = self.script.front().map_or(next, |(at, _)| next.min(*at));
        for (host, side) in self.hosts.iter().zip(&self.net.borrow().hosts) {
            let Some(instance) = &host.instance else { continue };
            let due = instance.next_deadline();
            let due = if due == Time::NEVER { due } else { due + side.started.since(Time::ZERO) };
            next = if side.ready.is_empty() { next.min(due) } else { now };
        }
        let net = self.net.borrow();
        let applications = self.applications.iter().map(|application| application.next(&net));
        next = next.min(applications.min().unwrap_or(Time::NEVER)).max(now);
        drop(net);
        if next > now {
            self.hosts.iter_mut().for_each(|host| host.rounds = 0);
        }
        self.net.borrow_mut().now = next;
        self.net.borrow_mut().advance();
        while self.script.front().is_some_and(|(at, _)| *at <= next)
            && let Some((_, fault)) = self.script.pop_front()
        {
            self.fault(&fault);
        }
        (0..self.hosts.len()).for_each(|host| self.round(host));
        let net = Rc::clone(&self.net);
        self.applications.iter_mut().for_each(|application| application.run(&net));
    }

    /// Runs a round of a forwarder's event loop, if there is work.
    fn round(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        let Some(instance) = &mut host.instance else { return };
        let tokens = core::mem::take(&mut self.net.borrow_mut().hosts[at].ready);
        if tokens.is_empty() && instance.next_deadline() > instance.clock() {
            return;
        }
        host.rounds += 1;
        assert!(host.rounds < ROUNDS, "host {at} turns in circles");
        instance.begin();
        tokens.into_iter().for_each(|token| instance.ready(token));
        instance.go_on();
        instance.settle();
        check(at, instance);
    }

    fn start(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        if host.instance.is_some() {
            return;
        }
        host.runs += 1;
        {
            let mut net = self.net.borrow_mut();
            let now = net.now;
            net.hosts[at].started = now;
            net.hosts[at].is_up = true;
        }
        let config = Config::parse(&host.config, "host").unwrap_or_else(|error| panic!("{error}"));
        let outside = Box::new(Simulated { net: Rc::clone(&self.net), host: at });
        let seed = self.seed.wrapping_mul(1000) + at as u64 * 100 + host.runs;
        let mut secrets = Secrets::fixed(seed);
        secrets.names = self.names.unwrap_or(secrets.names);
        let mut instance = Instance::new(config, outside, seed, secrets).unwrap();
        instance.listen().unwrap();
        instance.set_up().unwrap();
        host.instance = Some(instance);
    }

    fn stop(&mut self, at: usize) {
        self.net.borrow_mut().is_crash = true;
        self.hosts[at].instance = None;
        let mut net = self.net.borrow_mut();
        net.is_crash = false;
        net.stop(at);
    }

    fn fault(&mut self, fault: &Fault) {
        let link_of = |net: &mut Net, link: (usize, usize), change: &dyn Fn(&mut Link)| {
            net.links.get_mut(&link).into_iter().for_each(change);
        };
        match *fault {
            Fault::Loss(link, loss) => {
                link_of(&mut self.net.borrow_mut(), self.links[link], &|link| link.loss = loss);
            }
            Fault::Mtu(link, mtu) => {
                link_of(&mut self.net.borrow_mut(), self.links[link], &|link| link.mtu = mtu);
            }
            Fault::Down(link, is_down) => {
                link_of(&mut self.net.borrow_mut(), self.links[link], &|link| link.is_down = is_down);
            }
            Fault::Reset(link) => {
                let (one, other) = self.links[link];
                let mut net = self.net.borrow_mut();
                net.connections(one, other).into_iter().for_each(|conn| net.reset(conn));
            }
            Fault::Slow(application, span) => {
                self.applications[application].slow_until = self.now() + span;
            }
            Fault::Crash(host) => self.stop(host),
            Fault::Start(host) => self.start(host),
            Fault::Wall(host, ms) => self.net.borrow_mut().hosts[host].wall_offset_ms += ms,
            Fault::Flood(host, count) => {
                let random = Random::named(u64::from(count), "flood");
                let role = Role::Flood { left: count, at: Time::ZERO };
                self.applications.push(Application::new(host, role, random));
            }
            Fault::Strangers(host, count) => {
                for number in 0..count {
                    let from = ([192, 0, 2, self.random.below(100) as u8], 1000 + (number % 7) as u16).into();
                    let make = if number % 2 == 0 { nonsense } else { forged };
                    let packet = make(&mut self.random);
                    self.net.borrow_mut().arrive(host, from, packet);
                }
            }
            Fault::Calm => {
                (0..self.hosts.len()).for_each(|host| self.start(host));
                for link in self.net.borrow_mut().links.values_mut() {
                    (link.loss, link.duplicate, link.reorder, link.corrupt) = (0.0, 0.0, 0.0, 0.0);
                    link.is_down = false;
                }
            }
        }
    }

    /// Checks that the state follows from the file and the living applications, and that nothing is pending.
    fn check_end(&mut self, at: usize) {
        let host = &self.hosts[at];
        let Some(instance) = &host.instance else { panic!("host {at} is not up") };
        let engine = instance.engine();
        let core = engine.node().core();
        assert_eq!(core.pit().len(), 0, "host {at}: Interests are pending still");
        assert_eq!(engine.node().packets_held(), core.content_store().len(), "host {at}: packets are left");
        let faces = engine.faces();
        assert_eq!(core.face_count(), faces.len(), "host {at}: faces of the core");
        for face in &faces {
            assert!(face.up, "host {at}: {} is down", face.remote);
            assert_eq!((face.queued_packets, face.queued_bytes), (0, 0), "host {at}: {}", face.remote);
        }
        let of_kind = |is_it: &dyn Fn(&FaceStatus) -> bool| faces.iter().filter(|face| is_it(face)).count();
        let is_permanent = |face: &FaceStatus| face.persistency == FacePersistency::Permanent;
        assert_eq!(of_kind(&is_permanent), 1 + host.faces_of_file, "host {at}: {faces:#?}");
        let living = self.applications.iter().filter(|app| app.host == at && app.conn.is_some()).count();
        assert_eq!(of_kind(&|face| face.remote.starts_with("fd://")), living, "host {at}: {faces:#?}");
        assert_eq!(
            of_kind(&|face| !is_permanent(face) && face.remote.starts_with("udp")),
            0,
            "host {at}: faces without peers: {faces:#?}"
        );
        // A neighbour's connection to us is one face.
        let neighbours = self.links.iter().filter(|(one, other)| *one == at || *other == at).count();
        assert!(of_kind(&|face| !is_permanent(face) && face.remote.starts_with("tcp")) <= neighbours);
        let now = instance.clock();
        let rib = instance.management().rib().list(now);
        let routes: BTreeMap<String, usize> =
            rib.map(|entry| (entry.prefix.to_string(), entry.routes.len())).collect();
        let wanted = (0..self.hosts.len()).map(|host| (prefix(host).to_string(), 1)).collect();
        assert_eq!(routes, wanted, "host {at}");
        let numbers: BTreeSet<_> = faces.iter().map(|face| face.number).collect();
        for entry in engine.fib() {
            let is_there = entry.next_hops.iter().all(|hop| numbers.contains(&hop.face));
            assert!(is_there && !entry.next_hops.is_empty(), "host {at}: {entry:?}");
        }
    }
}

/// Checks the invariants.
fn check(at: usize, instance: &Instance) {
    let core = instance.engine().node().core();
    let (pit, stored) = (core.pit().len(), core.content_store().len());
    assert!(pit <= PIT_ENTRIES && stored <= STORED, "host {at}: PIT {pit}, content store {stored}");
    assert!(core.fib().len() <= 16, "host {at}: {} prefixes", core.fib().len());
    let faces = instance.engine().face_count();
    assert!(faces <= FACES, "host {at}: {faces} faces");
    // A held packet is stored, queued, or the Interest of an entry.
    let held = instance.engine().node().packets_held();
    let queued = instance.engine().queued_packets();
    assert!(
        held >= stored && held <= stored + pit + queued,
        "host {at}: {held} of {stored}, {pit}, {queued}"
    );
}

/// The files of the forwarders, and the links between them.
fn configs(count: usize, links: &[(usize, usize)], net: &Shared, random: &mut Random) -> Vec<Host> {
    let mut faces: Vec<Vec<(usize, String)>> = vec![Vec::new(); count];
    for &(one, other) in links {
        let is_datagrams = random.chance(0.65);
        let mtu = [500, 1400, 8800][random.below(3) as usize];
        // The MTU comes from the file, or from the host.
        let asked = if mtu == 1400 { String::new() } else { format!("mtu = \"{mtu} B\"\n") };
        // Each end has its own setting.
        let mut repair = || ["true", "\"auto\"", "\"auto\"", "false"][random.below(4) as usize];
        let repair = [repair(), repair()];
        let rate = [None, Some(20), Some(100)][random.below(3) as usize];
        let delay = Span::from_micros(200 + u64::from(random.below(20_000)));
        let mut chance = |most: f64| if random.chance(0.5) { most * random.unit() } else { 0.0 };
        let (loss, duplicate, reorder) = (chance(0.1), chance(0.1), chance(0.2));
        let corrupt = chance(0.02);
        let link = Link { delay, mtu, loss, duplicate, reorder, corrupt, is_down: false };
        net.borrow_mut().links.insert((one, other), link);
        for ((here, there), reliability) in [(one, other), (other, one)].into_iter().zip(repair) {
            let mut text = format!("[[face]]\nname = \"h{there}\"\n");
            text += &match is_datagrams {
                true => {
                    format!("remote = \"udp4://{}\"\n{asked}reliability = {reliability}\n", address(there))
                }
                false => format!("remote = \"tcp4://{}\"\n", address(there)),
            };
            if let Some(rate) = rate {
                text += &format!("rate = \"{rate} Mb/s\"\n");
            }
            faces[here].push((there, text));
        }
    }
    let scheme = ["fixed", "qsccp", "pcon"][random.below(3) as usize];
    (0..count)
        .map(|host| {
            let ip = address(host).ip();
            let mut config = format!(
                "[faces.unix]\npath = \"/run/h{host}.sock\"\n\
                 [faces.udp]\nlisten = [\"{ip}:{PORT}\"]\nidle_timeout = \"10 s\"\n\
                 [faces.tcp]\nlisten = [\"{ip}:{PORT}\"]\n\
                 [tables]\nfaces = {FACES}\npit_bytes = \"{PIT_BYTES} B\"\nlongest_lifetime = \"5 s\"\nfib_entries = 16\n\
                 dead_nonces = 500\ncontent_store_packets = {STORED}\n[scheme]\nname = \"{scheme}\"\n"
            );
            faces[host].iter().for_each(|(_, text)| config += text);
            for other in (0..count).filter(|other| *other != host) {
                let hop = next_hop(count, links, host, other);
                config += &format!("[[route]]\nprefix = \"/h{other}\"\nface = \"h{hop}\"\n");
            }
            Host { config, instance: None, runs: 0, rounds: 0, faces_of_file: faces[host].len() }
        })
        .collect()
}

/// The next neighbour on a shortest path.
fn next_hop(count: usize, links: &[(usize, usize)], from: usize, to: usize) -> usize {
    let mut distance = vec![usize::MAX; count];
    distance[to] = 0;
    for _ in 0..count {
        for &(one, other) in links {
            for (here, there) in [(one, other), (other, one)] {
                distance[here] = distance[here].min(distance[there].saturating_add(1));
            }
        }
    }
    let neighbours = links.iter().flat_map(|&(one, other)| [(one, other), (other, one)]);
    neighbours
        .filter(|(here, _)| *here == from)
        .map(|(_, there)| there)
        .min_by_key(|there| (distance[*there], *there))
        .expect("the network is connected")
}
