//! WebSocket with our own client, and with strangers written byte by byte from RFC 6455.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use proptest::prelude::*;
use socket2::{Domain, Socket, Type};
use weir_net::FaceScope;
use weir_net::transport::Options;
use weir_net::transport::Sent;
use weir_net::transport::websocket::WebSocketListener;
use weir_net::uri::FaceUri;
use weir_packet::MAX_PACKET_SIZE;

use crate::side::{Door, Side, dial, exchange, frame, uri};

fn door() -> Door {
    let addr = "127.0.0.1:0".parse().expect("an address");
    Door::new(WebSocketListener::bind(addr, Options::default()).expect("free"))
}

fn connect(door: &Door) -> TcpStream {
    let FaceUri::WebSocket(end) = uri(door.listener.uri()) else { panic!("WebSocket") };
    let socket = TcpStream::connect(end.socket_addr().expect("no zone")).expect("it listens");
    socket.set_nodelay(true).expect("set");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    socket
}

/// The request of the example in RFC 6455, section 1.3, with another path.
const REQUEST: &str = "GET /any/path?x=1 HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://example.com\r\n\
    Sec-WebSocket-Version: 13\r\n\r\n";

/// Returns a stranger whose handshake is complete, and the face to it.
fn stranger(door: &mut Door) -> (TcpStream, Side) {
    let mut socket = connect(door);
    socket.write_all(REQUEST.as_bytes()).expect("written");
    let side = door.accept();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).expect("an answer");
        answer.extend(byte);
    }
    let answer = String::from_utf8(answer).expect("text").to_lowercase();
    assert!(answer.starts_with("http/1.1 101 "), "{answer}");
    let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".to_lowercase();
    assert!(answer.contains(&format!("sec-websocket-accept: {accept}\r\n")), "{answer}");
    (socket, side)
}

/// A message of a client: first byte, and payload masked with zeros.
fn message(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut message = vec![first];
    match payload.len() {
        len @ 0..126 => message.push(0x80 | len as u8),
        len => message.extend([0x80 | 126, (len >> 8) as u8, len as u8]),
    }
    message.extend([0; 4]);
    message.extend(payload);
    message
}

const BINARY: u8 = 0x82;
const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8A;

/// The next message of the server: first byte and payload.
fn read_message(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    socket.read_exact(&mut head).expect("a message");
    let mut len = usize::from(head[1]);
    if len == 126 {
        let mut long = [0; 2];
        socket.read_exact(&mut long).expect("a length");
        len = usize::from(u16::from_be_bytes(long));
    }
    let mut payload = vec![0; len];
    socket.read_exact(&mut payload).expect("a payload");
    (head[0], payload)
}

#[test]
fn ten_thousand_frames_go_each_way_in_order() {
    let (mut client, mut server) = door().pair();
    exchange(&mut client, &mut server, MAX_PACKET_SIZE, 10_000);
}

#[test]
fn faces_say_where_their_ends_are() {
    let mut door = door();
    let (client, server) = door.pair();
    let (client, server) = (client.transport.uris(), server.transport.uris());
    assert!(client.local.starts_with("wsclient://127.0.0.1:"));
    assert_eq!((client.local, client.remote), (server.remote, server.local));
    assert_eq!(server.local, door.listener.uri());
    let (client, server) = door.pair();
    assert_eq!((client.transport.scope(), server.transport.scope()), (FaceScope::Local, FaceScope::Local));
}

#[test]
fn a_page_of_another_host_is_no_application_of_this_one() {
    let mut door = door();
    let (_socket, page) = stranger(&mut door);
    assert_eq!(page.transport.scope(), FaceScope::NonLocal);
}

#[test]
fn what_is_sent_before_the_handshake_waits_for_it() {
    let mut door = door();
    let mut client = dial(door.listener.uri()).expect("it listens");
    assert_eq!(client.send(&frame(1, 10)), Sent::Taken);
    assert_eq!(client.transport.waiting(), frame(1, 10).len());
    let mut taken = 1;
    while client.send(&frame(taken, 8000)) == Sent::Taken {
        taken += 1;
    }
    assert!(taken > 10 && client.transport.waiting() <= Options::default().buffer);
    let mut server = loop {
        client.step(Duration::from_millis(1));
        match door.listener.accept().expect("accepted") {
            Some(transport) => break Side::new(transport),
            None => assert!(client.end.is_none(), "{:?}", client.end),
        }
    };
    while server.received.len() < taken as usize {
        assert!(
            client.step(Duration::from_millis(100)) | server.step(Duration::from_secs(1)),
            "nothing comes"
        );
    }
    assert_eq!(client.transport.waiting(), 0);
    assert_eq!(server.received[0], frame(1, 10));
    for number in 1..taken {
        assert!(server.received[number as usize] == frame(number, 8000), "frame {number} is another");
    }
}

#[test]
fn a_stranger_is_understood_whatever_the_path_and_in_pieces() {
    let mut door = door();
    let mut socket = connect(&door);
    for piece in REQUEST.as_bytes().chunks(20) {
        assert!(door.listener.accept().expect("accepted").is_none(), "the handshake is not done");
        socket.write_all(piece).expect("written");
    }
    let mut side = door.accept();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).expect("an answer");
        answer.extend(byte);
    }
    for byte in message(BINARY, &frame(1, 200)) {
        socket.write_all(&[byte]).expect("written");
        side.step(Duration::ZERO);
    }
    side.until_received(1);
    assert_eq!(side.received, [frame(1, 200)]);
    assert_eq!(side.send(&frame(2, 300)), Sent::Taken);
    assert_eq!(read_message(&mut socket), (BINARY, frame(2, 300)));
}

#[test]
fn a_message_in_fragments_with_a_ping_between_is_one_frame() {
    let (mut socket, mut side) = stranger(&mut door());
    let whole = frame(1, 500);
    socket.write_all(&message(0x02, &whole[..100])).expect("written");
    socket.write_all(&message(PING, b"there?")).expect("written");
    socket.write_all(&message(0x80, &whole[100..])).expect("written");
    side.until_received(1);
    assert_eq!(side.received, [whole]);
    assert_eq!(read_message(&mut socket), (PONG, b"there?".to_vec()));
}

#[test]
fn text_ends_the_face_and_the_stranger_is_told() {
    let (mut socket, mut side) = stranger(&mut door());
    socket.write_all(&message(BINARY, &frame(1, 1))).expect("written");
    socket.write_all(&message(TEXT, b"hello")).expect("written");
    assert_eq!(side.ended().kind(), ErrorKind::InvalidData);
    assert_eq!(side.received, [frame(1, 1)]);
    let (first, payload) = read_message(&mut socket);
    // Status code 1003 of RFC 6455, section 7.4.1: an unacceptable type of data.
    assert_eq!((first, &payload[..2]), (CLOSE, &1003u16.to_be_bytes()[..]));
}

#[test]
fn what_is_no_message_or_too_long_ends_the_face() {
    let too_long = message(BINARY, &[0; MAX_PACKET_SIZE + 1]);
    let pieces = [message(0x02, &[0; 8000]), message(0x80, &[0; 8000])].concat();
    let huge = [BINARY, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0].to_vec();
    let unmasked = [BINARY, 2, 5, 0].to_vec();
    let unknown = message(0x83, b"x");
    for garbage in [too_long, pieces, huge, unmasked, unknown, b"GET / HTTP/1.1\r\n\r\n".to_vec()] {
        let (mut socket, mut side) = stranger(&mut door());
        socket.write_all(&message(BINARY, &frame(1, 1))).expect("written");
        // The face may have ended before all bytes are written.
        let _ = socket.write_all(&garbage);
        assert_eq!(side.ended().kind(), ErrorKind::InvalidData, "{:?}", &garbage[..4]);
        assert_eq!(side.received, [frame(1, 1)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn whatever_a_stranger_writes_the_face_ends_when_it_closes(
        messages in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 0..6),
        garbage: Vec<u8>,
    ) {
        let (mut socket, mut side) = stranger(&mut door());
        let messages: Vec<u8> = messages.iter().flat_map(|(first, payload)| message(*first, payload)).collect();
        // The face may have ended before all bytes are written.
        let _ = socket.write_all(&[messages, garbage].concat());
        drop(socket);
        let end = side.ended().kind();
        let expected = [ErrorKind::InvalidData, ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        prop_assert!(expected.contains(&end), "{:?}", end);
    }
}

#[test]
fn the_largest_frame_passes_and_a_longer_one_is_not_sent() {
    let (mut client, mut server) = door().pair();
    let mut largest = frame(1, MAX_PACKET_SIZE - 8);
    assert_eq!((largest.len(), client.send(&largest)), (MAX_PACKET_SIZE, Sent::Taken));
    client.until("it is sent", |side| side.transport.waiting() == 0);
    server.until_received(1);
    assert_eq!(server.received[0], largest);
    largest.push(0);
    assert_eq!(server.send(&largest), Sent::TooLong);
}

#[test]
fn a_stranger_that_closes_is_answered_and_the_face_ends() {
    let (mut socket, mut side) = stranger(&mut door());
    socket.write_all(&message(CLOSE, &1000u16.to_be_bytes())).expect("written");
    assert_eq!(side.ended().kind(), ErrorKind::UnexpectedEof);
    assert_eq!(read_message(&mut socket), (CLOSE, 1000u16.to_be_bytes().to_vec()));
    let (socket, mut side) = stranger(&mut door());
    drop(socket);
    assert_eq!(side.ended().kind(), ErrorKind::UnexpectedEof, "without a word");
}

#[test]
fn a_full_buffer_drops_whole_messages_and_goes_on_when_the_stranger_reads() {
    let (mut socket, mut side) = stranger(&mut door());
    let mut taken = 0;
    while side.send(&frame(taken, 3000)) == Sent::Taken {
        taken += 1;
        assert!(taken < 10_000, "the buffer has no bound");
    }
    // A page of another host counts as a neighbour, although its browser connects from this host.
    assert!(side.transport.waiting() <= Options::default().far_buffer);
    let reader = std::thread::spawn(move || {
        for number in 0..taken {
            assert!(read_message(&mut socket) == (BINARY, frame(number, 3000)), "message {number}");
        }
    });
    side.until("room", |side| side.transport.waiting() == 0);
    reader.join().expect("all are read");
}

#[test]
fn pings_of_a_stranger_that_does_not_read_use_no_memory() {
    let (mut socket, mut side) = stranger(&mut door());
    let writer = std::thread::spawn(move || {
        let ping = message(PING, &[7; 125]).repeat(100);
        for _ in 0..1000 {
            if socket.write_all(&ping).is_err() {
                break;
            }
        }
        socket.write_all(&message(BINARY, &frame(1, 1))).expect("written");
        socket
    });
    side.until("the frame", |side| !side.received.is_empty() || side.end.is_some());
    assert_eq!(side.received.len(), 1, "{:?}", side.end);
    assert!(side.transport.waiting() <= 2 + 125, "more than an answer: {}", side.transport.waiting());
    let mut socket = writer.join().expect("written");
    assert_eq!(read_message(&mut socket), (PONG, vec![7; 125]));
}

#[test]
fn peers_that_say_nothing_have_to_go_when_there_are_many() {
    let mut door = door();
    let mut silent: Vec<TcpStream> = (0..100).map(|_| connect(&door)).collect();
    assert!(door.listener.accept().expect("accepted").is_none());
    silent[0].set_nonblocking(false).expect("set");
    assert_eq!(silent[0].read(&mut [0]).unwrap_or(0), 0, "the oldest is closed");
    silent[99].set_nonblocking(true).expect("set");
    assert_eq!(silent[99].read(&mut [0]).expect_err("open").kind(), ErrorKind::WouldBlock);
    let (mut socket, mut side) = stranger(&mut door);
    socket.write_all(&message(BINARY, &frame(1, 1))).expect("written");
    side.until_received(1);
    // Those that wait can still speak.
    silent[99].set_nonblocking(false).expect("set");
    silent[99].write_all(REQUEST.as_bytes()).expect("written");
    door.accept();
}

/// Connects from another address of this host.
fn connect_from(door: &Door, from: &str) -> TcpStream {
    let FaceUri::WebSocket(end) = uri(door.listener.uri()) else { panic!("WebSocket") };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let from: SocketAddr = from.parse().expect("an address");
    socket.bind(&from.into()).expect("an address of this host");
    socket.connect(&end.socket_addr().expect("no zone").into()).expect("it listens");
    socket.into()
}

#[test]
fn who_opens_many_connections_loses_its_own() {
    let mut door = door();
    let mut slow = connect_from(&door, "127.0.0.2:0");
    slow.write_all(&REQUEST.as_bytes()[..20]).expect("written");
    let _silent: Vec<TcpStream> = (0..200).map(|_| connect(&door)).collect();
    assert!(door.listener.accept().expect("accepted").is_none());
    slow.write_all(&REQUEST.as_bytes()[20..]).expect("its connection is still open");
    door.accept();
}

#[test]
fn who_does_not_speak_websocket_gets_no_face() {
    let mut door = door();
    let requests = [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "\x05\x10\x07\x0e\r\n\r\n".to_owned(),
        REQUEST.replace("Version: 13", "Version: 12"),
        format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(70_000)),
        format!("{REQUEST}behind it"),
    ];
    for request in requests {
        let mut socket = connect(&door);
        let _ = socket.write_all(request.as_bytes());
        let mut closed = false;
        for _ in 0..500 {
            assert!(door.listener.accept().expect("accepted").is_none(), "{request}");
            socket.set_read_timeout(Some(Duration::from_millis(10))).expect("set");
            match socket.read(&mut [0; 1000]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => {
                    closed = true;
                    break;
                }
            }
        }
        assert!(closed, "{request}");
    }
}

#[test]
fn a_server_that_is_none_is_an_error_that_says_where() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("free");
    let uri = format!("ws://{}", listener.local_addr().expect("bound"));
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client");
        let mut request = [0; 2000];
        let len = socket.read(&mut request).expect("a request");
        socket.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").expect("written");
        String::from_utf8_lossy(&request[..len]).into_owned()
    });
    let error = dial(&uri).expect("a connection").ended().to_string();
    assert!(error.contains(&uri) && error.contains("404"), "{error}");
    assert!(server.join().expect("served").starts_with("GET / HTTP/1.1\r\n"));
    let error = dial(&uri).map(|mut side| side.ended()).unwrap_or_else(|error| error);
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert!(error.to_string().contains(&uri) && error.to_string().contains("nothing listens"), "{error}");
}
