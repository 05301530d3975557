//! Simulated sockets, clocks and links: the outside of every forwarder of one world.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use mio::{Registry, Token};
use weir_core::random::Random;
use weir_core::units::{Span, Time};
use weir_net::FaceScope;
use weir_net::link_service::{LinkOptions, LinkService, Repair};
use weir_net::outside::{Datagrams, Outside, Place};
use weir_net::transport::stream::{FaceAddresses, Stream, StreamSocket};
use weir_net::transport::udp::{Batch, Refused, Source};
use weir_net::transport::{Listener, Options, Received, Transport};
use weir_net::uri::FaceUri;
use weir_net::user::User;
use weir_packet::{Data, Interest, LpPacket, Name, NameRef};

pub type Shared = Rc<RefCell<Net>>;

/// Capacity of one direction of a stream, unread or in transit, bytes.
const WINDOW: usize = 32 << 10;
/// The port of every forwarder, on UDP and on TCP.
pub const PORT: u16 = 6363;
/// Wall-clock time at the beginning of a world, ms since 1970.
const DAWN_MS: u64 = 1_795_000_000_000;

/// The address of a host.
pub fn address(host: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host as u8 + 1)), PORT)
}

fn host_of(ip: IpAddr) -> Option<usize> {
    match ip {
        IpAddr::V4(ip) if ip.octets()[..3] == [10, 0, 0] => usize::from(ip.octets()[3]).checked_sub(1),
        _ => None,
    }
}

/// A link between two hosts, both directions alike.
#[derive(Clone, Debug)]
pub struct Link {
    pub delay: Span,
    pub mtu: usize,
    pub loss: f64,
    pub duplicate: f64,
    /// The part of the datagrams that are delayed, by up to 50 ms.
    pub reorder: f64,
    pub corrupt: f64,
    pub is_down: bool,
}

/// The surroundings of a forwarder.
#[derive(Default)]
pub struct HostSide {
    pub is_up: bool,
    pub started: Time,
    pub wall_offset_ms: i64,
    pub ready: BTreeSet<Token>,
    udp: Option<Token>,
    inbox: VecDeque<(SocketAddr, Vec<u8>)>,
    listeners: BTreeMap<String, (Token, VecDeque<usize>)>,
    /// Interests that it got in datagrams, by neighbour: names, and names with CanBePrefix.
    heard: BTreeMap<SocketAddr, (BTreeSet<Name>, Vec<Name>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Connecting,
    Up,
    Refused,
}

struct Conn {
    state: State,
    ends: [End; 2],
}

struct End {
    /// The host; `None`: an application of the test.
    host: Option<usize>,
    addresses: FaceAddresses,
    token: Option<Token>,
    inbox: VecDeque<u8>,
    /// Bytes in transit to this end; `None` is the end of the stream.
    coming: VecDeque<(Time, Option<Vec<u8>>)>,
    on_way: usize,
    has_ended: bool,
    is_reset: bool,
    is_gone: bool,
    wants_room: bool,
}

enum Flight {
    Datagram { to: usize, from: SocketAddr, frame: Vec<u8> },
    Arrival { conn: usize, end: usize },
    Connection { conn: usize, place: String, attempts: u32 },
}

/// All connections between the forwarders.
pub struct Net {
    pub now: Time,
    pub hosts: Vec<HostSide>,
    pub links: BTreeMap<(usize, usize), Link>,
    /// Whether closed connections appear to the peer as a reset instead of an end.
    pub is_crash: bool,
    conns: Vec<Conn>,
    flying: BTreeMap<(Time, u64), Flight>,
    numbers: u64,
    random: Random,
    digest: u64,
    /// Reassembles fragments to inspect the packets, by host and peer.
    observers: BTreeMap<(usize, SocketAddr), LinkService>,
    /// Numbers of datagrams that the links lost, and that arrived.
    pub lost: u64,
    pub arrived: u64,
    /// Number of datagrams longer than their link carries, before the host knew of it.
    pub refused: u64,
}

impl Net {
    pub fn new(hosts: usize, seed: u64) -> Shared {
        let hosts = (0..hosts).map(|_| HostSide::default()).collect();
        Rc::new(RefCell::new(Net {
            now: Time::ZERO,
            hosts,
            links: BTreeMap::new(),
            is_crash: false,
            conns: Vec::new(),
            flying: BTreeMap::new(),
            numbers: 0,
            random: Random::named(seed, "net"),
            digest: 0xcbf2_9ce4_8422_2325,
            observers: BTreeMap::new(),
            lost: 0,
            arrived: 0,
            refused: 0,
        }))
    }

    /// The digest of all events.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Adds an event to the digest (FNV-1a).
    pub fn note(&mut self, what: &[u8]) {
        let now = self.now.as_nanos().to_le_bytes();
        for byte in now.iter().chain(what) {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub fn wall_ms(&self, host: usize) -> u64 {
        let since = DAWN_MS + self.now.as_nanos() / 1_000_000;
        since.saturating_add_signed(self.hosts[host].wall_offset_ms)
    }

    pub fn next(&self) -> Time {
        self.flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    fn fly(&mut self, at: Time, flight: Flight) {
        self.numbers += 1;
        self.flying.insert((at, self.numbers), flight);
    }

    fn link(&self, one: usize, other: usize) -> Option<&Link> {
        self.links.get(&(one.min(other), one.max(other)))
    }

    /// The longest datagram that a host may send to an address.
    fn path_mtu(&self, from: usize, to: SocketAddr) -> Option<usize> {
        Some(self.link(from, host_of(to.ip())?)?.mtu)
    }

    /// Delivers everything that is due.
    pub fn advance(&mut self) {
        while self.next() <= self.now
            && let Some((_, flight)) = self.flying.pop_first()
        {
            match flight {
                Flight::Datagram { to, from, frame } => self.arrive(to, from, frame),
                Flight::Arrival { conn, end } => self.arrive_bytes(conn, end),
                Flight::Connection { conn, place, attempts } => self.connected(conn, place, attempts),
            }
        }
    }

    /// Delivers a datagram from any address to a host.
    pub fn arrive(&mut self, to: usize, from: SocketAddr, frame: Vec<u8>) {
        let host = &mut self.hosts[to];
        let Some(token) = host.udp.filter(|_| host.is_up && host.inbox.len() < 4096) else { return };
        if let Ok(LpPacket { fragment: Some(packet), .. }) = LpPacket::decode(&frame)
            && let Ok(interest) = Interest::decode(packet)
        {
            let heard = host.heard.entry(from).or_default();
            match interest.can_be_prefix {
                true => heard.1.push(interest.name.to_name()),
                false => {
                    heard.0.insert(interest.name.to_name());
                }
            }
        }
        self.arrived += 1;
        host.inbox.push_back((from, frame));
        host.ready.insert(token);
    }

    /// Sends a datagram of a host.
    fn send_datagram(&mut self, from: usize, to: SocketAddr, frame: &[u8]) {
        self.note(frame);
        self.observe(from, to, frame);
        let Some(there) = host_of(to.ip()) else { return };
        let Some(link) = self.link(from, there).cloned() else { return };
        if link.is_down || self.random.chance(link.loss) {
            self.lost += 1;
            return;
        }
        let copies = 1 + u32::from(self.random.chance(link.duplicate));
        for _ in 0..copies {
            let mut frame = frame.to_vec();
            if self.random.chance(link.corrupt) {
                let at = self.random.below(frame.len() as u32) as usize;
                frame[at] ^= 1 << self.random.below(8);
            }
            let mut at = self.now + link.delay;
            if self.random.chance(link.reorder) {
                at += Span::from_micros(u64::from(self.random.below(50_000)));
            }
            self.fly(at, Flight::Datagram { to: there, from: address(from), frame });
        }
    }

    /// Checks that a host gets only requested Data, and that no packet under `/localhost` leaves its host.
    fn observe(&mut self, from: usize, to: SocketAddr, frame: &[u8]) {
        let options =
            LinkOptions { mtu: None, reassembly_bytes: 1 << 20, repair: Repair::Off, marking: None };
        let observer = self.observers.entry((from, to)).or_insert_with(|| LinkService::new(options, 0));
        let heard = self.hosts[from].heard.get(&to);
        let asked = |name: NameRef<'_>| {
            heard.is_some_and(|(whole, prefixes)| {
                whole.contains(&name.to_name())
                    || prefixes.iter().any(|prefix| name.starts_with(prefix.view()))
            })
        };
        let seen = observer.receive(self.now, 0, frame, &mut |header, packet| {
            let name = match (Data::decode(packet), Interest::decode(packet)) {
                (Ok(data), _) => {
                    assert!(asked(data.name), "host {from} sends {} to {to}, who has not asked", data.name);
                    data.name
                }
                (_, Ok(interest)) => interest.name,
                _ => panic!("host {from} sends what is no packet"),
            };
            let is_of_host = name.component(0).is_some_and(|first| first.value == b"localhost");
            assert!(!is_of_host || header.nack().is_some(), "{name} leaves host {from}");
        });
        assert!(seen.is_ok(), "host {from} sends what is no frame");
    }

    // ---- Streams

    fn open(&mut self, hosts: [Option<usize>; 2], addresses: [FaceAddresses; 2], state: State) -> usize {
        let [one, other] = addresses;
        let end = |host, addresses| End {
            host,
            addresses,
            token: None,
            inbox: VecDeque::new(),
            coming: VecDeque::new(),
            on_way: 0,
            has_ended: false,
            is_reset: false,
            is_gone: false,
            wants_room: false,
        };
        self.conns.push(Conn { state, ends: [end(hosts[0], one), end(hosts[1], other)] });
        self.conns.len() - 1
    }

    /// Connects an application to its host; `None` without a listener.
    pub fn connect_application(&mut self, host: usize) -> Option<usize> {
        let uri = unix_uri(host);
        self.hosts[host].listeners.get(&uri).filter(|_| self.hosts[host].is_up)?;
        let theirs = format!("fd://{}", self.conns.len());
        let addresses = |remote: &str, local: &str| FaceAddresses {
            remote: remote.to_owned(),
            local: local.to_owned(),
            scope: FaceScope::Local,
        };
        let both = [addresses(&uri, &theirs), addresses(&theirs, &uri)];
        let conn = self.open([None, Some(host)], both, State::Up);
        self.offer(host, &uri, conn);
        Some(conn)
    }

    fn offer(&mut self, host: usize, place: &str, conn: usize) {
        if let Some((token, waiting)) = self.hosts[host].listeners.get_mut(place) {
            waiting.push_back(conn);
            let token = *token;
            self.hosts[host].ready.insert(token);
        }
    }

    fn connected(&mut self, conn: usize, place: String, attempts: u32) {
        let [Some(here), Some(there)] = [self.conns[conn].ends[0].host, self.conns[conn].ends[1].host] else {
            return;
        };
        if self.conns[conn].ends[0].is_gone {
            return;
        }
        let is_down = self.link(here, there).is_none_or(|link| link.is_down);
        if is_down && attempts < 3 {
            let again = Flight::Connection { conn, place, attempts: attempts + 1 };
            return self.fly(self.now + Span::from_secs(1), again);
        }
        let is_there =
            !is_down && self.hosts[there].is_up && self.hosts[there].listeners.contains_key(&place);
        self.conns[conn].state = if is_there { State::Up } else { State::Refused };
        if is_there {
            self.offer(there, &place, conn);
        }
        self.wake(conn, 0);
    }

    /// Notifies the event loop of an end.
    fn wake(&mut self, conn: usize, end: usize) {
        let end = &self.conns[conn].ends[end];
        if let (Some(host), Some(token)) = (end.host, end.token) {
            self.hosts[host].ready.insert(token);
        }
    }

    fn delay(&self, conn: usize) -> Span {
        match [self.conns[conn].ends[0].host, self.conns[conn].ends[1].host] {
            [Some(one), Some(other)] => self.link(one, other).map_or(Span::ZERO, |link| link.delay),
            _ => Span::from_micros(10),
        }
    }

    fn is_cut(&self, conn: usize) -> bool {
        match [self.conns[conn].ends[0].host, self.conns[conn].ends[1].host] {
            [Some(one), Some(other)] => self.link(one, other).is_none_or(|link| link.is_down),
            _ => false,
        }
    }

    fn arrive_bytes(&mut self, conn: usize, end: usize) {
        if self.is_cut(conn) {
            return self.fly(self.now + Span::from_millis(200), Flight::Arrival { conn, end });
        }
        let now = self.now;
        let to = &mut self.conns[conn].ends[end];
        while to.coming.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, bytes)) = to.coming.pop_front()
        {
            match bytes {
                Some(bytes) => {
                    to.on_way -= bytes.len();
                    to.inbox.extend(bytes);
                }
                None => to.has_ended = true,
            }
        }
        self.wake(conn, end);
    }

    fn send_on(&mut self, conn: usize, to: usize, bytes: Option<Vec<u8>>) {
        let at = self.now + self.delay(conn);
        let end = &mut self.conns[conn].ends[to];
        end.on_way += bytes.as_ref().map_or(0, Vec::len);
        end.coming.push_back((at, bytes));
        self.fly(at, Flight::Arrival { conn, end: to });
    }

    /// Reads pieces of any length.
    pub fn read(&mut self, conn: usize, end: usize, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.random.below(8000) as usize + 1;
        let from = &mut self.conns[conn].ends[end];
        if from.is_reset {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if from.inbox.is_empty() {
            return if from.has_ended { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        let count = most.min(buffer.len()).min(from.inbox.len());
        for (place, byte) in buffer.iter_mut().zip(from.inbox.drain(..count)) {
            *place = byte;
        }
        if core::mem::take(&mut self.conns[conn].ends[1 - end].wants_room) {
            self.wake(conn, 1 - end);
        }
        Ok(count)
    }

    /// Accepts pieces of any length.
    pub fn write(&mut self, conn: usize, end: usize, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let most = self.random.below(8000) as usize + 1;
        let ends = &mut self.conns[conn].ends;
        if ends[end].is_reset {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if ends[1 - end].is_gone {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = WINDOW.saturating_sub(ends[1 - end].inbox.len() + ends[1 - end].on_way);
        if room == 0 {
            ends[end].wants_room = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = most.min(room).min(bytes.len());
        self.note(&bytes[..count]);
        self.send_on(conn, 1 - end, Some(bytes[..count].to_vec()));
        Ok(count)
    }

    /// Whether an end has bytes to read, or the end of the stream.
    pub fn has_news(&self, conn: usize, end: usize) -> bool {
        let end = &self.conns[conn].ends[end];
        !end.inbox.is_empty() || end.has_ended || end.is_reset
    }

    /// Closes the socket of an end.
    pub fn close(&mut self, conn: usize, end: usize) {
        self.conns[conn].ends[end].is_gone = true;
        self.conns[conn].ends[end].inbox.clear();
        match self.is_crash {
            true => self.reset(conn),
            false => self.send_on(conn, 1 - end, None),
        }
    }

    /// Breaks a connection.
    pub fn reset(&mut self, conn: usize) {
        for end in 0..2 {
            self.conns[conn].ends[end].is_reset = true;
            self.wake(conn, end);
        }
    }

    /// The open connections between two hosts.
    pub fn connections(&self, one: usize, other: usize) -> Vec<usize> {
        let is_between = |conn: &Conn| {
            let hosts = [conn.ends[0].host, conn.ends[1].host];
            let is_there =
                conn.state == State::Up && conn.ends.iter().all(|end| !end.is_gone && !end.is_reset);
            is_there && (hosts == [Some(one), Some(other)] || hosts == [Some(other), Some(one)])
        };
        (0..self.conns.len()).filter(|at| is_between(&self.conns[*at])).collect()
    }

    /// Ends the process of a host, with its sockets.
    pub fn stop(&mut self, host: usize) {
        let wall_offset_ms = self.hosts[host].wall_offset_ms;
        // Peers with connections that were not accepted yet are notified too.
        let listeners = core::mem::take(&mut self.hosts[host].listeners);
        for conn in listeners.into_values().flat_map(|(_, waiting)| waiting) {
            self.reset(conn);
        }
        self.hosts[host] = HostSide { wall_offset_ms, ..HostSide::default() };
        self.observers.retain(|(from, _), _| *from != host);
    }
}

fn unix_uri(host: usize) -> String {
    format!("unix:///run/h{host}.sock")
}

/// The surroundings of one forwarder.
pub struct Simulated {
    pub net: Shared,
    pub host: usize,
}

impl Simulated {
    fn stream(&self, conn: usize, end: usize, is_connected: bool) -> Box<dyn Transport> {
        let addresses = self.net.borrow().conns[conn].ends[end].addresses.clone();
        let socket = Socket { net: Rc::clone(&self.net), conn, end };
        // Applications run as the superuser.
        let user = (addresses.scope == FaceScope::Local).then_some(User { uid: 0, gid: 0 });
        Box::new(Stream::new(socket, is_connected, Options::default(), addresses).of_user(user))
    }
}

impl Outside for Simulated {
    fn now(&self) -> Time {
        let net = self.net.borrow();
        Time::ZERO + net.now.since(net.hosts[self.host].started)
    }

    fn wall_ms(&self) -> u64 {
        self.net.borrow().wall_ms(self.host)
    }

    fn start_unix_ns(&self) -> u64 {
        self.wall_ms() * 1_000_000
    }

    fn bind_udp(&mut self, local: SocketAddr, _: usize, token: Token) -> io::Result<Box<dyn Datagrams>> {
        assert_eq!(local, address(self.host), "one socket a host is simulated");
        self.net.borrow_mut().hosts[self.host].udp = Some(token);
        Ok(Box::new(UdpSocket { net: Rc::clone(&self.net), host: self.host }))
    }

    fn listen(&mut self, at: Place<'_>, token: Token) -> io::Result<Box<dyn Listener>> {
        let uri = match at {
            Place::Unix(path, _) => FaceUri::Unix(path.to_owned()).to_string(),
            Place::Tcp(address) => FaceUri::Tcp(address.into()).to_string(),
            Place::WebSocket(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        let waiting = (token, VecDeque::new());
        self.net.borrow_mut().hosts[self.host].listeners.insert(uri.clone(), waiting);
        Ok(Box::new(Door { outside: Simulated { net: Rc::clone(&self.net), host: self.host }, uri }))
    }

    fn connect(&mut self, remote: &FaceUri, _: Option<&str>, token: Token) -> io::Result<Box<dyn Transport>> {
        let FaceUri::Tcp(end) = remote else { return Err(io::ErrorKind::Unsupported.into()) };
        let there = host_of(end.socket_addr()?.ip()).ok_or(io::ErrorKind::HostUnreachable)?;
        let conn = {
            let mut net = self.net.borrow_mut();
            let port = 10_000 + net.conns.len() as u16;
            let local = FaceUri::Tcp(SocketAddr::new(address(self.host).ip(), port).into()).to_string();
            let remote = remote.to_string();
            let scope = FaceScope::NonLocal;
            let ours = FaceAddresses { remote: remote.clone(), local: local.clone(), scope };
            let theirs = FaceAddresses { remote: local, local: remote.clone(), scope };
            let conn = net.open([Some(self.host), Some(there)], [ours, theirs], State::Connecting);
            net.conns[conn].ends[0].token = Some(token);
            let at = net.now + net.delay(conn) * 2;
            net.fly(at, Flight::Connection { conn, place: remote, attempts: 0 });
            conn
        };
        Ok(self.stream(conn, 0, false))
    }

    fn watch(&mut self, transport: &mut dyn Transport, token: Token) -> io::Result<()> {
        let mut net = self.net.borrow_mut();
        let uris = transport.uris();
        let is_it = |end: &End| {
            end.host == Some(self.host)
                && !end.is_gone
                && end.addresses.remote == uris.remote
                && end.addresses.local == uris.local
        };
        let end = net.conns.iter_mut().rev().map(|conn| &mut conn.ends[1]).find(|end| is_it(end));
        end.expect("it was accepted").token = Some(token);
        Ok(())
    }

    fn address_towards(&self, _: SocketAddr) -> Option<IpAddr> {
        Some(address(self.host).ip())
    }

    fn is_of_many(&self, address: IpAddr) -> bool {
        address.is_multicast()
    }

    fn path_mtu(&self, _: SocketAddr, peer: SocketAddr) -> Option<usize> {
        self.net.borrow().path_mtu(self.host, peer)
    }

    fn reassembly_failures(&self) -> u64 {
        0
    }
}

struct UdpSocket {
    net: Shared,
    host: usize,
}

impl Datagrams for UdpSocket {
    fn local(&self) -> SocketAddr {
        address(self.host)
    }

    fn receive(&mut self, calls: usize, each: &mut dyn FnMut(Source, &[u8])) -> io::Result<Received> {
        for _ in 0..calls * 32 {
            let next = self.net.borrow_mut().hosts[self.host].inbox.pop_front();
            let Some((from, frame)) = next else { return Ok(Received::Drained) };
            each(Source { from, to: None }, &frame);
        }
        Ok(Received::More)
    }

    fn send(&mut self, batch: &mut Batch, to: SocketAddr, _: Option<IpAddr>) -> Refused {
        let mut net = self.net.borrow_mut();
        let carries = net.path_mtu(self.host, to).unwrap_or(usize::MAX);
        let mut refused = Refused::default();
        for frame in batch.frames() {
            // A frame that the forwarder knows to be longer is split on the path.
            if frame.len() > carries && frame.len() <= batch.path_mtu() {
                refused.frames += 1;
                refused.note_too_long(frame.len());
                net.refused += 1;
            } else {
                net.send_datagram(self.host, to, &frame);
            }
        }
        batch.clear();
        refused
    }

    fn dropped(&self) -> u64 {
        0
    }
}

struct Door {
    outside: Simulated,
    uri: String,
}

impl Listener for Door {
    fn register(&mut self, _: &Registry, _: Token) -> io::Result<()> {
        Ok(())
    }

    fn accept(&mut self) -> io::Result<Option<Box<dyn Transport>>> {
        let next = {
            let mut net = self.outside.net.borrow_mut();
            let listener = net.hosts[self.outside.host].listeners.get_mut(&self.uri);
            listener.and_then(|(_, waiting)| waiting.pop_front())
        };
        Ok(next.map(|conn| self.outside.stream(conn, 1, true)))
    }

    fn uri(&self) -> &str {
        &self.uri
    }
}

/// One end of a stream.
struct Socket {
    net: Shared,
    conn: usize,
    end: usize,
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.net.borrow_mut().read(self.conn, self.end, buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.net.borrow_mut().write(self.conn, self.end, bytes)
    }

    /// Writes the slices as one, wherever the caller's buffer is divided.
    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        let bytes: Vec<u8> = bytes.iter().flat_map(|part| part.iter().copied()).collect();
        self.write(&bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StreamSocket for Socket {
    fn register(&mut self, _: &Registry, _: Token) -> io::Result<()> {
        Ok(())
    }

    fn is_connected(&self) -> io::Result<bool> {
        let net = self.net.borrow();
        match net.conns[self.conn].state {
            State::Connecting => Ok(false),
            State::Up => Ok(true),
            State::Refused => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.net.borrow_mut().close(self.conn, self.end);
    }
}
