//! A forwarder in a thread of the test, and peers on loopback sockets.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use weir_forwarder::config::Config;
use weir_forwarder::daemon::Daemon;
use weir_management::client::{Client, Endpoint};
use weir_packet::tlv::stream_frame_len;
use weir_packet::{
    Data, Interest, LpHeader, LpPacket, Name, ServiceClass, Signal, SignatureInfo, SignatureType,
};

pub const SECOND: Duration = Duration::from_secs(1);

#[allow(clippy::disallowed_methods, reason = "a test of real sockets has real time")]
pub fn now() -> Instant {
    Instant::now()
}

#[allow(clippy::disallowed_methods, reason = "others on real sockets need time")]
pub fn pause(span: Duration) {
    thread::sleep(span);
}

/// A folder that is removed at the end of the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Folder {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-{test}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A forwarder with a Unix socket and a UDP socket. It stops when it is dropped.
pub struct Running {
    pub unix: PathBuf,
    pub udp: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts it in a folder; `more` is the file apart from its sockets.
    pub fn start(folder: &Folder, more: &str) -> Running {
        Running::start_with(folder, more, |text| text)
    }

    /// Starts it in a folder with a changed file.
    pub fn start_with(folder: &Folder, more: &str, change: impl Fn(String) -> String) -> Running {
        let unix = folder.path("nfd.sock");
        let text = format!(
            "[faces.unix]\npath = \"{}\"\n[faces.udp]\nlisten = \"127.0.0.1:0\"\n[faces.tcp]\nlisten = []\n{more}",
            unix.display()
        );
        let text = change(text);
        let stop = Arc::new(AtomicBool::new(false));
        let (told, (started, udp)) = (Arc::clone(&stop), mpsc::channel());
        let thread = thread::spawn(move || {
            let config = Config::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"));
            let mut daemon = Daemon::start(config, None).unwrap_or_else(|error| panic!("{error}"));
            started.send(daemon.udp_addresses()[0]).unwrap();
            let round = Some(Duration::from_millis(20));
            daemon.run_while(round, &mut || !told.load(Ordering::Relaxed)).unwrap();
        });
        let udp = udp.recv().expect("it starts");
        Running { unix, udp, stop, thread: Some(thread) }
    }

    /// An application's connection.
    pub fn connect(&self) -> Peer {
        Peer::unix(&self.unix)
    }

    /// A management client.
    pub fn client(&self) -> Client {
        Client::connect(&Endpoint::Unix(self.unix.clone()), 10 * SECOND).unwrap()
    }

    /// Like [`Running::client`], but `None` if the connection is refused.
    pub fn try_client(&self) -> Option<Client> {
        Client::connect(&Endpoint::Unix(self.unix.clone()), SECOND).ok()
    }

    /// Stops it, and waits until it has stopped.
    pub fn stop(mut self) {
        self.end().expect("it has not panicked");
    }

    fn end(&mut self) -> thread::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// A received frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub header: LpHeader,
    pub packet: Vec<u8>,
}

impl Frame {
    /// The name of an Interest, a Nack or a Data.
    pub fn name(&self) -> Name {
        match Interest::decode(&self.packet) {
            Ok(interest) => interest.name.to_name(),
            Err(_) => Data::decode(&self.packet).unwrap().name.to_name(),
        }
    }

    pub fn is_data(&self) -> bool {
        self.packet[0] == 6
    }

    pub fn is_interest(&self) -> bool {
        self.packet[0] == 5 && self.header.nack().is_none()
    }
}

enum Socket {
    Unix(UnixStream),
    Udp(UdpSocket),
}

/// An application or a neighbour.
pub struct Peer {
    socket: Socket,
    received: Vec<u8>,
    nonce: u32,
    is_closed: bool,
}

impl Peer {
    pub fn unix(path: &Path) -> Peer {
        let until = now() + 10 * SECOND;
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(error) if now() > until => panic!("{}: {error}", path.display()),
                Err(_) => pause(Duration::from_millis(5)),
            }
        };
        Peer { socket: Socket::Unix(stream), received: Vec::new(), nonce: 0, is_closed: false }
    }

    /// A neighbour with a port, which the forwarder does not know yet.
    pub fn udp() -> (Peer, SocketAddr) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        (Peer { socket: Socket::Udp(socket), received: Vec::new(), nonce: 0, is_closed: false }, address)
    }

    pub fn know(&self, forwarder: SocketAddr) {
        if let Socket::Udp(socket) = &self.socket {
            socket.connect(forwarder).unwrap();
        }
    }

    /// Whether the other end has closed the connection.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Sends bytes unchanged. Returns whether the socket accepted them.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        match &mut self.socket {
            Socket::Unix(stream) => stream.write_all(bytes).is_ok(),
            Socket::Udp(socket) => socket.send(bytes).is_ok(),
        }
    }

    /// Sends an Interest with a new nonce.
    pub fn ask(&mut self, name: &Name, lifetime_ms: u64, class: Option<ServiceClass>) -> u32 {
        self.nonce = self.nonce.wrapping_mul(0x9E37_79B9).wrapping_add(0x7F4A_7C15);
        let nonce = Some(self.nonce);
        let lifetime = Some(lifetime_ms);
        let interest = Interest { nonce, lifetime, ..Interest::new(name.view()) }.to_vec();
        self.send(&LpPacket::new(with_class(class), &interest).to_vec());
        self.nonce
    }

    /// Answers an Interest with a content of this many bytes.
    pub fn answer(&mut self, interest: &Frame, length: usize) {
        let name = Interest::decode(&interest.packet).unwrap().name.to_name();
        let mut header = interest.header;
        header.set_nack(None);
        self.send(&LpPacket::new(header, &data(&name, length)).to_vec());
    }

    /// The next frame, if it arrives in time.
    pub fn receive(&mut self, timeout: Duration) -> Option<Frame> {
        let until = now() + timeout;
        loop {
            if let Some(frame) = self.take() {
                return Some(frame);
            }
            let left = until.saturating_duration_since(now());
            if left.is_zero() || !self.read(left) {
                return None;
            }
        }
    }

    fn read(&mut self, timeout: Duration) -> bool {
        let mut bytes = [0; 65536];
        let read = match &mut self.socket {
            Socket::Unix(stream) => {
                stream.set_read_timeout(Some(timeout)).unwrap();
                stream.read(&mut bytes)
            }
            Socket::Udp(socket) => {
                socket.set_read_timeout(Some(timeout)).unwrap();
                socket.recv(&mut bytes)
            }
        };
        match read {
            Ok(0) => {
                self.is_closed = true;
                false
            }
            Ok(length) => {
                self.received.extend_from_slice(&bytes[..length]);
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                self.is_closed = true;
                false
            }
            // A neighbour gets this error after the forwarder has stopped.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => true,
            // A signal interrupted the call, for example of a debugger or after a suspended host.
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
                false
            }
        }
    }

    fn take(&mut self) -> Option<Frame> {
        loop {
            let length = stream_frame_len(&self.received).unwrap()?;
            if self.received.len() < length {
                return None;
            }
            let bytes: Vec<u8> = self.received.drain(..length).collect();
            let frame = LpPacket::decode(&bytes).unwrap();
            if let Some(packet) = frame.fragment {
                return Some(Frame { header: frame.header, packet: packet.to_vec() });
            }
        }
    }
}

pub fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

pub fn with_class(class: Option<ServiceClass>) -> LpHeader {
    let mut header = LpHeader::NONE;
    if let Some(class) = class {
        header.signals.set(&Signal::SERVICE_CLASS, class as u64);
    }
    header
}

/// A Data with a content of this many bytes.
pub fn data(name: &Name, length: usize) -> Vec<u8> {
    let content = vec![0xDA; length];
    Data::new(name.view(), &content, SignatureInfo::new(SignatureType::Null)).to_vec()
}

/// A producer in a thread. It answers all Interests except every `deaf`-th one, and returns their number.
pub struct Producer {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    thread: Option<JoinHandle<Peer>>,
}

impl Producer {
    pub fn start(mut peer: Peer, length: usize, deaf: u64) -> Producer {
        let stop = Arc::new(AtomicBool::new(false));
        let answered = Arc::new(AtomicU64::new(0));
        let (told, counted) = (Arc::clone(&stop), Arc::clone(&answered));
        let thread = thread::spawn(move || {
            let mut came = 0;
            while !told.load(Ordering::Relaxed) {
                let Some(frame) = peer.receive(Duration::from_millis(20)) else { continue };
                if !frame.is_interest() {
                    continue;
                }
                came += 1;
                if deaf == 0 || came % deaf != 0 {
                    peer.answer(&frame, length);
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            }
            peer
        });
        Producer { stop, answered, thread: Some(thread) }
    }

    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    pub fn stop(mut self) -> Peer {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
