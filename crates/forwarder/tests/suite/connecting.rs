//! Faces that management creates over TCP and WebSocket, with peers on loopback sockets.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::running::{Folder, Running, SECOND, now};
use socket2::{Domain, Socket, Type};
use weir_management::client::{Client, ClientError, Endpoint};
use weir_management::status::FacePersistency;
use weir_management::{ControlParameters, ControlResponse, Module};

fn wanted(uri: &str) -> ControlParameters {
    ControlParameters { uri: Some(uri.to_owned()), ..ControlParameters::default() }
}

/// The forwarder's response when it does not create a face.
fn refused(client: &mut Client, asked: &ControlParameters) -> ControlResponse {
    match client.command(Module::Faces, "create", asked) {
        Err(ClientError::Refused(response)) => *response,
        other => panic!("{other:?}"),
    }
}

/// An address of this host without a listener.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A listener without room for connections, so a connecting client gets no answer.
fn silent() -> (Socket, Vec<TcpStream>, SocketAddr) {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let connect = || TcpStream::connect_timeout(&address, SECOND / 5).ok();
    let taken = std::iter::from_fn(connect).collect();
    (listener, taken, address)
}

/// The faces to an address: whether each is up.
fn up(client: &mut Client, remote: &str) -> Vec<bool> {
    let faces = client.faces().unwrap().into_iter().map(|face| face.status);
    faces.filter(|face| face.remote == remote).map(|face| face.up).collect()
}

#[test]
fn a_face_to_a_peer_that_refuses_is_an_error_that_says_so() {
    let folder = Folder::new("refusing-peer");
    let forwarder = Running::start(&folder, "");
    let mut client = forwarder.client();
    for uri in [format!("tcp4://{}", nobody()), format!("ws://{}", nobody())] {
        let answer = refused(&mut client, &wanted(&uri));
        let said = format!("cannot connect to {uri}: nothing listens there");
        assert!(answer.code == 504 && answer.text.starts_with(&said), "{answer:?}");
        assert!(up(&mut client, &uri).is_empty());
        let persistency = Some(FacePersistency::Permanent);
        let made =
            client.command(Module::Faces, "create", &ControlParameters { persistency, ..wanted(&uri) });
        assert_eq!(made.unwrap().uri.as_ref(), Some(&uri), "a permanent face connects later");
        assert_eq!(up(&mut client, &uri), [false]);
    }
}

#[test]
fn a_face_to_a_peer_that_does_not_answer_is_an_error_before_the_command_ends_and_others_are_served() {
    let folder = Folder::new("silent-peer");
    let forwarder = Running::start(&folder, "");
    let (_listener, _taken, address) = silent();
    let uri = format!("tcp4://{address}");
    let endpoint = Endpoint::Unix(forwarder.unix.clone());
    let begun = now();
    let waiting = thread::spawn({
        let uri = uri.clone();
        move || refused(&mut Client::connect(&endpoint, SECOND).unwrap(), &wanted(&uri))
    });
    let mut client = forwarder.client();
    while up(&mut client, &uri) != [false] {
        assert!(begun.elapsed() < SECOND, "it is there while it connects");
    }
    assert!(client.general().is_ok() && !waiting.is_finished());
    let answer = waiting.join().unwrap();
    let said = format!("cannot connect to {uri}: no answer within 0.875 s");
    assert_eq!((answer.code, answer.text), (504, said));
    assert!(begun.elapsed() < SECOND);
    assert!(up(&mut client, &uri).is_empty());
}

#[test]
fn a_server_that_says_nothing_is_no_peer_over_websocket() {
    let folder = Folder::new("no-websocket");
    let forwarder = Running::start(&folder, "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("ws://{}", listener.local_addr().unwrap());
    let mut client = Client::connect(&Endpoint::Unix(forwarder.unix.clone()), SECOND).unwrap();
    let answer = refused(&mut client, &wanted(&uri));
    assert!(answer.code == 504 && answer.text.contains("no answer within"), "{answer:?}");
}

#[test]
fn a_face_to_a_peer_that_accepts_is_up_when_the_answer_comes_and_is_made_once() {
    let folder = Folder::new("accepting-peer");
    let forwarder = Running::start(&folder, "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("tcp4://{}", listener.local_addr().unwrap());
    let mut client = forwarder.client();
    let made = client.command(Module::Faces, "create", &wanted(&uri)).unwrap();
    assert_eq!(up(&mut client, &uri), [true]);
    let again = refused(&mut client, &wanted(&uri));
    assert_eq!((again.code, again.body.unwrap().face), (409, made.face));
    let (mut peer, _) = listener.accept().unwrap();
    let destroyed = ControlParameters { face: made.face, ..ControlParameters::default() };
    client.command(Module::Faces, "destroy", &destroyed).unwrap();
    assert_eq!(peer.read(&mut [0; 9]).unwrap(), 0);
}
