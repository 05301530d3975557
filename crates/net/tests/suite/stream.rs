//! Properties of every stream transport: TCP on IPv4 and IPv6, and Unix.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use weir_net::transport::tcp::TcpListener;
use weir_net::transport::unix::UnixListener;
use weir_net::transport::{Flushed, Options, Sent, connect};
use weir_net::uri::FaceUri;
use weir_net::{FaceScope, LinkType};
use weir_packet::MAX_PACKET_SIZE;

use crate::files::Folder;
use crate::side::{Door, Side, dial, exchange, frame, uri};

/// A foreign program at the other end.
trait Stranger: Read + Write + Send {
    fn half_close(&self);
}

impl Stranger for TcpStream {
    fn half_close(&self) {
        self.shutdown(Shutdown::Write).expect("shut");
    }
}

impl Stranger for UnixStream {
    fn half_close(&self) {
        self.shutdown(Shutdown::Write).expect("shut");
    }
}

/// A listener of one kind, and its folder if it needs one.
struct Kind {
    door: Door,
    _folder: Option<Folder>,
}

impl Kind {
    /// Connects a stranger.
    fn connect(&self) -> Box<dyn Stranger> {
        match uri(self.door.listener.uri()) {
            FaceUri::Tcp(end) => {
                let socket = TcpStream::connect(end.socket_addr().expect("no zone")).expect("it listens");
                socket.set_nodelay(true).expect("set");
                Box::new(socket)
            }
            FaceUri::Unix(path) => Box::new(UnixStream::connect(path).expect("it listens")),
            other => panic!("{other} is no stream"),
        }
    }

    /// Returns a stranger and the face to it.
    fn stranger(&mut self) -> (Box<dyn Stranger>, Side) {
        (self.connect(), self.door.accept())
    }
}

fn tcp(addr: &str) -> Door {
    let addr: SocketAddr = addr.parse().expect("an address");
    Door::new(TcpListener::bind(addr, Options::default()).expect("free"))
}

fn kinds() -> [Kind; 3] {
    let folder = Folder::new();
    let unix = UnixListener::bind(&folder.path("nfd.sock"), 0o600, Options::default()).expect("free");
    [
        Kind { door: tcp("127.0.0.1:0"), _folder: None },
        Kind { door: tcp("[::1]:0"), _folder: None },
        Kind { door: Door::new(unix), _folder: Some(folder) },
    ]
}

#[test]
fn ten_thousand_frames_go_each_way_in_order() {
    for mut kind in kinds() {
        let (mut client, mut server) = kind.door.pair();
        exchange(&mut client, &mut server, MAX_PACKET_SIZE, 10_000);
    }
}

#[test]
fn faces_say_where_their_ends_are() {
    let [mut v4, mut v6, mut unix] = kinds();
    for (kind, scheme) in [(&mut v4, "tcp4://127.0.0.1:"), (&mut v6, "tcp6://[::1]:")] {
        let (client, server) = kind.door.pair();
        let (client, server) = (client.transport, server.transport);
        assert_eq!(server.uris().local, kind.door.listener.uri());
        assert_eq!(client.uris().remote, kind.door.listener.uri());
        assert_eq!(client.uris().local, server.uris().remote);
        assert!(client.uris().local.starts_with(scheme));
        assert_eq!((client.scope(), server.scope()), (FaceScope::Local, FaceScope::Local));
        assert_eq!((client.mtu(), client.link_type()), (None, LinkType::PointToPoint));
    }
    let (client, server) = unix.door.pair();
    let (client, server) = (client.transport, server.transport);
    assert_eq!(server.uris().local, unix.door.listener.uri());
    assert_eq!(client.uris().remote, unix.door.listener.uri());
    assert!(server.uris().remote.starts_with("fd://") && client.uris().local.starts_with("fd://"));
    assert_eq!((client.scope(), server.scope()), (FaceScope::Local, FaceScope::Local));
}

#[test]
fn frames_that_come_byte_by_byte_are_whole() {
    for mut kind in kinds() {
        let (mut stranger, mut side) = kind.stranger();
        for byte in [frame(1, 0), frame(2, 300)].concat() {
            stranger.write_all(&[byte]).expect("written");
            side.step(Duration::ZERO);
        }
        side.until_received(2);
        assert_eq!(side.received, [frame(1, 0), frame(2, 300)]);
    }
}

#[test]
fn garbage_ends_the_face_after_the_frames_before_it() {
    let oversize = [0x06, 0xFD, 0x22, 0x5D];
    for garbage in [&[0, 0][..], &oversize, &[0xFF; 20], b"GET / HTTP/1.1"] {
        for mut kind in kinds() {
            let (mut stranger, mut side) = kind.stranger();
            stranger.write_all(&[&frame(1, 10), garbage].concat()).expect("written");
            assert_eq!(side.ended().kind(), ErrorKind::InvalidData);
            assert_eq!(side.received, [frame(1, 10)]);
        }
    }
}

#[test]
fn the_largest_frame_passes() {
    for mut kind in kinds() {
        let (mut client, mut server) = kind.door.pair();
        let mut largest = frame(1, MAX_PACKET_SIZE - 8);
        assert_eq!(largest.len(), MAX_PACKET_SIZE);
        assert_eq!(client.send(&largest), Sent::Taken);
        client.until("it is sent", |side| side.transport.waiting() == 0);
        server.until_received(1);
        assert_eq!(server.received[0], largest);
        largest.push(0);
        assert_eq!(client.send(&largest), Sent::TooLong);
    }
}

#[test]
fn a_peer_that_closes_ends_the_face_also_within_a_frame() {
    for mut kind in kinds() {
        let (mut stranger, mut side) = kind.stranger();
        stranger.write_all(&[&frame(1, 10)[..], &frame(2, 10)[..5]].concat()).expect("written");
        drop(stranger);
        assert_eq!(side.ended().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(side.received, [frame(1, 10)]);
    }
}

#[test]
fn a_peer_that_closes_its_half_ends_the_face_and_gets_what_was_sent() {
    for mut kind in kinds() {
        let (mut stranger, mut side) = kind.stranger();
        assert_eq!(side.send(&frame(7, 7)), Sent::Taken);
        stranger.write_all(&frame(1, 10)).expect("written");
        stranger.half_close();
        assert_eq!(side.ended().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(side.received, [frame(1, 10)]);
        drop(side);
        let mut rest = Vec::new();
        stranger.read_to_end(&mut rest).expect("read");
        assert_eq!(rest, frame(7, 7));
    }
}

#[test]
fn a_full_buffer_drops_whole_frames_and_goes_on_when_the_peer_reads() {
    for mut kind in kinds() {
        let (mut stranger, mut side) = kind.stranger();
        let mut taken = Vec::new();
        let mut number = 0;
        while side.send(&frame(number, 3000)) == Sent::Taken {
            taken.extend(frame(number, 3000));
            number += 1;
            assert!(number < 10_000, "the buffer has no bound");
        }
        assert!(side.transport.waiting() <= Options::default().buffer);
        assert_eq!(side.flush(), Flushed::Blocked);
        let mut read = vec![0; taken.len()];
        let reader = std::thread::spawn(move || {
            stranger.read_exact(&mut read).expect("read");
            (stranger, read)
        });
        side.until("room", |side| side.transport.waiting() == 0);
        let (mut stranger, read) = reader.join().expect("it reads");
        assert!(read == taken, "what the peer reads is what was taken");
        assert_eq!(side.send(&frame(1, 1)), Sent::Taken);
        let mut last = vec![0; frame(1, 1).len()];
        stranger.read_exact(&mut last).expect("read");
        assert_eq!(last, frame(1, 1));
    }
}

#[test]
fn what_is_sent_before_the_connection_is_there_waits_for_it() {
    for mut kind in kinds() {
        let mut client = dial(kind.door.listener.uri()).expect("it listens");
        assert_eq!(client.send(&frame(1, 9)), Sent::Taken);
        let mut server = kind.door.accept();
        client.until("it is sent", |side| side.transport.waiting() == 0);
        server.until_received(1);
    }
}

#[test]
fn nobody_listening_is_an_error_that_says_where() {
    let [v4, v6, unix] = kinds().map(|kind| kind.door.listener.uri().to_owned());
    for uri in [v4, v6] {
        let error = dial(&uri).map(|mut side| side.ended()).unwrap_or_else(|error| error);
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains(&uri) && error.to_string().contains("nothing listens"), "{error}");
    }
    let error = dial(&unix).map(|_| ()).expect_err("the listener is gone");
    assert!(error.to_string().contains(&unix) && error.to_string().contains("nothing listens"), "{error}");
}

#[test]
fn a_port_in_use_is_an_error_that_names_the_address_and_the_cause() {
    let door = tcp("127.0.0.1:0");
    let FaceUri::Tcp(end) = uri(door.listener.uri()) else { panic!("TCP") };
    let addr = end.socket_addr().expect("no zone");
    let error = TcpListener::bind(addr, Options::default()).map(|_| ()).expect_err("in use");
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    let said = format!("cannot listen on {addr} (TCP): another process uses this address (");
    assert!(error.to_string().starts_with(&said), "{error}");
    let foreign = "192.0.2.1:6363".parse().expect("an address");
    let error = TcpListener::bind(foreign, Options::default()).map(|_| ()).expect_err("not ours");
    assert!(error.to_string().contains("does not have this address"), "{error}");
}

#[test]
fn ipv4_and_ipv6_listen_at_the_same_port() {
    let v4 = tcp("0.0.0.0:0");
    let FaceUri::Tcp(end) = uri(v4.listener.uri()) else { panic!("TCP") };
    let v6 = TcpListener::bind(format!("[::]:{}", end.port()).parse().expect("v6"), Options::default());
    assert_eq!(Door::new(v6.expect("free")).listener.uri(), format!("tcp6://[::]:{}", end.port()));
}

#[test]
fn a_local_end_where_there_is_no_choice_is_refused() {
    let error = connect(&uri("tcp4://127.0.0.1"), Some("tcp4://127.0.0.1:1"), Options::default());
    assert_eq!(error.map(|_| ()).expect_err("no choice").kind(), ErrorKind::InvalidInput);
    for no_face in
        ["fd://3", "internal://", "dev://lo", "tcp://localhost", "udp4://127.0.0.1", "wsclient://127.0.0.1"]
    {
        assert!(connect(&uri(no_face), None, Options::default()).is_err(), "{no_face}");
    }
}

/// Runs in its own process, because the limit is per process.
#[test]
fn without_file_descriptors_peers_are_refused_and_listening_goes_on() {
    let this = std::env::current_exe().expect("this program");
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 24 && exec \"$0\" --exact --ignored --nocapture stream::peers_at_the_limit"])
        .arg(this)
        .output()
        .expect("a shell");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by another test, with few file descriptors"]
fn peers_at_the_limit() {
    for mut kind in kinds() {
        let mut refused = [kind.connect(), kind.connect()];
        let mut open = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            open.push(file);
            assert!(open.len() < 64, "there is no limit");
        }
        for stranger in &mut refused {
            let error = kind.door.listener.accept().map(|_| ()).expect_err("no descriptor is left");
            assert!(error.to_string().contains("a peer was refused"), "{error}");
            // An end or a reset, but not silence.
            assert_eq!(stranger.read(&mut [0; 9]).unwrap_or(0), 0);
        }
        assert!(kind.door.listener.accept().expect("nobody is left").is_none());
        drop(open);
        let (mut stranger, mut side) = kind.stranger();
        stranger.write_all(&frame(1, 1)).expect("written");
        side.until_received(1);
    }
}
