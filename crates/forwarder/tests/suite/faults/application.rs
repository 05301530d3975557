//! Applications: one registers its host's prefix and answers, one fetches content of all hosts, some flood.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

use weir_core::random::Random;
use weir_core::units::{Span, Time};
use weir_management::{ControlParameters, ControlResponse};
use weir_packet::tlv::stream_frame_len;
use weir_packet::{
    Component, Data, Interest, LpPacket, Name, NameRef, SignatureInfo, SignatureType, Signer, Verifier,
};

use super::net::{Net, Shared};

/// Upper bound of the segments of a file.
pub const SEGMENTS: u32 = 50;
/// Number of pending Interests of one fetch.
const WINDOW: usize = 8;
/// Time until a consumer repeats an Interest.
const PATIENCE: Span = Span::from_millis(1000);
/// Time until a broken connection is opened again, and until a command is repeated.
const AGAIN: Span = Span::from_millis(500);

/// The prefix of a host's producer.
pub fn prefix(host: usize) -> Name {
    Name::new().with(Component::generic(format!("h{host}").as_bytes()))
}

/// The content of a segment, of 1 to 5000 bytes.
fn content(host: usize, segment: u64) -> Vec<u8> {
    let mut random = Random::named(segment, &format!("content {host}"));
    let length = random.below(5000) as usize + 1;
    (0..length).map(|_| random.next_u32() as u8).collect()
}

/// The received part of a file.
#[derive(Debug)]
pub struct Fetch {
    host: usize,
    segments: u64,
    next: u64,
    /// Time of the next request, and whether it bypasses content stores.
    pending: BTreeMap<u64, (Time, bool)>,
    done: BTreeSet<u64>,
}

#[derive(Debug)]
pub enum Role {
    Producer {
        is_registered: bool,
        command_at: Time,
    },
    Consumer {
        fetches: Vec<Fetch>,
        asked: BTreeSet<Name>,
    },
    /// Sends this many more Interests, some at each time.
    Flood {
        left: u32,
        at: Time,
    },
}

/// An application on a host.
pub struct Application {
    pub host: usize,
    pub role: Role,
    pub conn: Option<usize>,
    /// It does not read until this time.
    pub slow_until: Time,
    connect_at: Time,
    received: Vec<u8>,
    unsent: VecDeque<u8>,
    random: Random,
    /// Number of wrong Data.
    pub damaged: u64,
}

impl Application {
    pub fn new(host: usize, role: Role, random: Random) -> Application {
        Application {
            host,
            role,
            conn: None,
            slow_until: Time::ZERO,
            connect_at: Time::ZERO,
            received: Vec::new(),
            unsent: VecDeque::new(),
            random,
            damaged: 0,
        }
    }

    pub fn consumer(host: usize, files: &[(usize, u64)], random: Random) -> Application {
        let fetch = |&(host, segments)| Fetch {
            host,
            segments,
            next: 0,
            pending: BTreeMap::new(),
            done: BTreeSet::new(),
        };
        let role = Role::Consumer { fetches: files.iter().map(fetch).collect(), asked: BTreeSet::new() };
        Application::new(host, role, random)
    }

    /// Whether it has completed its task.
    pub fn is_done(&self) -> bool {
        match &self.role {
            Role::Producer { is_registered, .. } => *is_registered,
            Role::Consumer { fetches, .. } => {
                fetches.iter().all(|fetch| fetch.done.len() as u64 == fetch.segments)
            }
            Role::Flood { left, .. } => *left == 0,
        }
    }

    /// The missing parts, for the message of a failure.
    pub fn lacks(&self) -> String {
        match &self.role {
            Role::Consumer { fetches, .. } => {
                let lacks = |fetch: &Fetch| {
                    let missing = (0..fetch.segments).filter(|segment| !fetch.done.contains(segment));
                    format!("{} {:?}", prefix(fetch.host), missing.collect::<Vec<_>>())
                };
                fetches.iter().map(lacks).collect::<Vec<_>>().join(", ")
            }
            role => format!("{role:?}"),
        }
    }

    /// The time of its next work.
    pub fn next(&self, net: &Net) -> Time {
        let Some(conn) = self.conn else {
            let has_ended = matches!(self.role, Role::Flood { left: 0, .. });
            return if has_ended { Time::NEVER } else { self.connect_at };
        };
        let own = match &self.role {
            Role::Producer { is_registered: true, .. } => Time::NEVER,
            Role::Producer { command_at, .. } => *command_at,
            Role::Consumer { fetches, .. } => {
                let pending = fetches.iter().flat_map(|fetch| fetch.pending.values().map(|(at, _)| *at));
                pending.min().unwrap_or(Time::NEVER)
            }
            Role::Flood { at, .. } => *at,
        };
        let heard = if net.has_news(conn, 0) { net.now.max(self.slow_until) } else { Time::NEVER };
        let more = if self.unsent.is_empty() { Time::NEVER } else { net.now + Span::from_millis(1) };
        own.min(heard).min(more)
    }

    pub fn run(&mut self, net: &Shared) {
        let mut net = net.borrow_mut();
        if self.next(&net) > net.now && self.unsent.is_empty() {
            return;
        }
        if self.conn.is_none() {
            self.connect(&mut net);
        }
        let Some(conn) = self.conn else { return };
        let mut exchanged = self.exchange(&mut net, conn);
        if exchanged.is_ok() {
            self.act(&mut net);
            exchanged = self.exchange(&mut net, conn);
        }
        if exchanged.is_err() || matches!(self.role, Role::Flood { left: 0, .. }) {
            net.close(conn, 0);
            self.conn = None;
            self.connect_at = net.now + AGAIN;
        }
    }

    fn connect(&mut self, net: &mut Net) {
        self.conn = net.connect_application(self.host);
        self.connect_at = net.now + AGAIN;
        self.received.clear();
        self.unsent.clear();
        match &mut self.role {
            Role::Producer { is_registered, command_at } => {
                (*is_registered, *command_at) = (false, net.now);
            }
            Role::Consumer { fetches, asked } => {
                asked.clear();
                fetches.iter_mut().flat_map(|fetch| fetch.pending.values_mut()).for_each(|at| at.0 = net.now);
            }
            Role::Flood { .. } => {}
        }
    }

    /// Writes pending bytes, and reads.
    fn exchange(&mut self, net: &mut Net, conn: usize) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match net.write(conn, 0, self.unsent.make_contiguous()) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let mut bytes = [0; 8000];
        while net.now >= self.slow_until {
            match net.read(conn, 0, &mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        while let Some(length) = stream_frame_len(&self.received).expect("frames come from the forwarder")
            && length <= self.received.len()
        {
            let frame: Vec<u8> = self.received.drain(..length).collect();
            let packet = LpPacket::decode(&frame).expect("a frame");
            if let Some(net_packet) = packet.fragment
                && packet.header.nack().is_none()
            {
                net.note(net_packet);
                self.take(net, net_packet);
            }
        }
        Ok(())
    }

    fn send(&mut self, packet: &[u8]) {
        // Bytes that the forwarder does not accept are dropped, to bound the test's memory.
        if self.unsent.len() < 1 << 20 {
            self.unsent.extend(packet);
        }
    }

    /// Handles a packet.
    fn take(&mut self, net: &Net, packet: &[u8]) {
        if let Ok(interest) = Interest::decode(packet) {
            let own = prefix(self.host);
            assert!(matches!(self.role, Role::Producer { .. }), "{} came to who has no route", interest.name);
            assert!(interest.name.starts_with(own.view()), "{} came to {own}", interest.name);
            if let Some(segment) = segment(interest.name) {
                let name = interest.name.to_name();
                let content = content(self.host, segment);
                let info = SignatureInfo::new(SignatureType::DigestSha256);
                let mut wire = Vec::new();
                Data::new(name.view(), &content, info).sign(&Signer::digest(), &mut wire).expect("it fits");
                self.send(&wire);
            }
            return;
        }
        let data = Data::decode(packet).expect("an Interest or a Data");
        match &mut self.role {
            Role::Producer { is_registered, command_at } => {
                let first = data.name.component(0).map(|first| first.value.to_vec());
                assert_eq!(first.as_deref(), Some(&b"localhost"[..]), "{} was not asked for", data.name);
                let response = ControlResponse::decode(data.payload()).expect("a response");
                *is_registered |= response.code == 200;
                *command_at = net.now + AGAIN;
            }
            Role::Consumer { fetches, asked } => {
                assert!(asked.contains(&data.name.to_name()), "{} was not asked for", data.name);
                let is_whole = Verifier::digest().verify_data(packet).is_ok();
                let of = fetches.iter_mut().find(|fetch| data.name.starts_with(prefix(fetch.host).view()));
                let (Some(fetch), Some(segment)) = (of, segment(data.name)) else { panic!("whose is it?") };
                if !fetch.pending.contains_key(&segment) {
                    return;
                }
                if !is_whole {
                    // Links have damaged it, and content stores may have stored it. Only a request that bypasses them gets
                    // another copy.
                    self.damaged += 1;
                    fetch.pending.insert(segment, (net.now + AGAIN, true));
                    return;
                }
                assert_eq!(data.payload(), content(fetch.host, segment), "{}", data.name);
                fetch.pending.remove(&segment);
                fetch.done.insert(segment);
            }
            Role::Flood { .. } => panic!("{} was not asked for", data.name),
        }
    }

    /// Sends Interests, registers or floods.
    fn act(&mut self, net: &mut Net) {
        let now = net.now;
        let mut out = Vec::new();
        match &mut self.role {
            Role::Producer { is_registered, command_at } => {
                if !*is_registered && *command_at <= now {
                    *command_at = now + AGAIN;
                    out.push(register(&prefix(self.host), net.wall_ms(self.host), &mut self.random));
                }
            }
            Role::Consumer { fetches, asked } => {
                for fetch in fetches {
                    while fetch.pending.len() < WINDOW && fetch.next < fetch.segments {
                        fetch.pending.insert(fetch.next, (now, false));
                        fetch.next += 1;
                    }
                    for (segment, (at, must_be_fresh)) in &mut fetch.pending {
                        if *at > now {
                            continue;
                        }
                        *at = now + PATIENCE;
                        let name = prefix(fetch.host).with_segment(*segment);
                        let lifetime = Some(1000 + u64::from(self.random.below(3000)));
                        let (nonce, must_be_fresh) = (Some(self.random.next_u32()), *must_be_fresh);
                        let interest =
                            Interest { nonce, lifetime, must_be_fresh, ..Interest::new(name.view()) };
                        out.push(interest.to_vec());
                        asked.insert(name);
                    }
                }
            }
            Role::Flood { left, at } => {
                if *at <= now {
                    let count = (*left).min(50);
                    (*left, *at) = (*left - count, now + Span::from_millis(5));
                    out.extend((0..count).map(|_| nonsense(&mut self.random)));
                }
            }
        }
        out.iter().for_each(|packet| self.send(packet));
    }
}

/// The segment in a name, if it is a producer's prefix and a segment.
fn segment(name: NameRef<'_>) -> Option<u64> {
    if name.len() == 2 { name.component(1)?.segment() } else { None }
}

/// An Interest that is not answered, for a prefix that exists or not.
pub fn nonsense(random: &mut Random) -> Vec<u8> {
    let number = random.next_u64().to_be_bytes();
    let name = prefix(random.below(6) as usize).with(Component::generic(&number));
    let lifetime = Some(100 + u64::from(random.below(4000)));
    Interest { nonce: Some(random.next_u32()), lifetime, ..Interest::new(name.view()) }.to_vec()
}

/// A Data with a valid digest and wrong content, for a segment that may be pending.
pub fn forged(random: &mut Random) -> Vec<u8> {
    let name = prefix(random.below(5) as usize).with_segment(u64::from(random.below(SEGMENTS)));
    let info = SignatureInfo::new(SignatureType::DigestSha256);
    let mut wire = Vec::new();
    Data::new(name.view(), b"forged", info).sign(&Signer::digest(), &mut wire).expect("it fits");
    wire
}

/// The command that registers a prefix.
fn register(prefix: &Name, wall_ms: u64, random: &mut Random) -> Vec<u8> {
    let parameters = ControlParameters { name: Some(prefix.clone()), ..ControlParameters::default() };
    let mut component = Vec::new();
    parameters.encode(&mut component);
    let parts: [&[u8]; 5] = [b"localhost", b"nfd", b"rib", b"register", &component];
    let name = parts.into_iter().fold(Name::new(), |name, part| name.with(Component::generic(part)));
    let nonce = random.next_u64().to_be_bytes();
    let info = SignatureInfo {
        nonce: Some(&nonce),
        time_ms: Some(wall_ms),
        ..SignatureInfo::new(SignatureType::DigestSha256)
    };
    let nonce = Some(random.next_u32());
    let interest =
        Interest { must_be_fresh: true, nonce, lifetime: Some(1000), ..Interest::new(name.view()) };
    let mut wire = Vec::new();
    interest.sign(&Signer::digest(), info, &mut wire).expect("it fits");
    wire
}
