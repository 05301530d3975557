//! The client against management, over a Unix socket.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use crate::server::Server;
use weir_forwarder::control::Control;
use weir_management::client::{Client, ClientError, Endpoint};
use weir_management::dataset::FaceQueryFilter;
use weir_management::status::{FaceScope, FaceStatus};
use weir_management::{ControlParameters, Module};
use weir_packet::{Data, Name, SignatureInfo, SignatureType};

use crate::mock;

const SECOND: Duration = Duration::from_secs(1);

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

fn connect(server: &Server) -> Client {
    Client::connect(&server.uri().parse().unwrap(), 10 * SECOND).unwrap()
}

#[test]
fn commands_are_done_one_after_the_other_and_show_in_the_lists() {
    let server = Server::start("client");
    let mut client = connect(&server);
    for i in 0..50 {
        let asked = ControlParameters {
            name: Some(name(&format!("/a/{i}"))),
            cost: Some(i),
            ..ControlParameters::default()
        };
        let done = client.command(Module::Rib, "register", &asked).unwrap();
        assert_eq!((done.face, done.cost), (Some(1), Some(i)));
    }
    assert_eq!(client.rib().unwrap().len(), 50);
    assert_eq!(client.fib().unwrap(), server.state().1.fib());
    assert_eq!(client.strategies().unwrap(), server.state().1.strategies());
    assert_eq!(client.cs_info().unwrap(), server.state().1.cs);
    assert_eq!(client.general().unwrap(), server.state().1.general());
    assert_eq!(client.channels().unwrap(), server.state().1.channels());
}

#[test]
fn a_dataset_of_many_segments_comes_whole() {
    let server = Server::start("segments");
    for number in 10..2000 {
        let face = mock::face(number, &format!("udp4://10.1.2.3:{number}"), FaceScope::NonLocal);
        server.state().1.faces.insert(number, face);
    }
    let mut client = connect(&server);
    let faces: Vec<FaceStatus> = client.faces().unwrap().into_iter().map(|face| face.status).collect();
    assert_eq!(faces, server.state().1.faces());
    let filter = FaceQueryFilter { uri: Some("udp4://10.1.2.3:77".to_owned()), ..Default::default() };
    let found = client.query_faces(&filter).unwrap();
    assert_eq!(found.iter().map(|face| face.status.number).collect::<Vec<_>>(), [77]);
}

#[test]
fn what_the_forwarder_refuses_is_an_error_with_its_code_and_words() {
    let server = Server::start("refusals");
    let mut client = connect(&server);
    let error = client.command(Module::Rib, "register", &ControlParameters::default()).unwrap_err();
    assert_eq!(error.to_string(), "the forwarder says: Name is missing (code 400)");
    let error = client.command(Module::Cs, "burn", &ControlParameters::default()).unwrap_err();
    assert_eq!(error.to_string(), "the forwarder says: there is no such verb (code 501)");
    let error = client.dataset(&name("/localhost/nfd/faces/query")).unwrap_err();
    assert!(matches!(error, ClientError::Refused(response) if response.code == 400));
    let long = ControlParameters { uri: Some("x".repeat(9000)), ..ControlParameters::default() };
    let error = client.command(Module::Faces, "create", &long).unwrap_err();
    assert!(matches!(error, ClientError::TooLong));
}

/// The client's error with a server that always sends these bytes.
fn against(label: &str, bytes: Vec<u8>, hold: bool) -> ClientError {
    let path = std::env::temp_dir().join(format!("weir-{label}-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&bytes).unwrap();
        hold.then_some(stream)
    });
    let mut client = Client::connect(&Endpoint::Unix(path.clone()), SECOND / 5).unwrap();
    let stream = server.join().unwrap();
    let error = client.faces().unwrap_err();
    drop(stream);
    let _ = std::fs::remove_file(path);
    error
}

#[test]
fn silence_nonsense_and_a_closed_connection_are_errors() {
    let error = against("silence", Vec::new(), true);
    assert!(matches!(error, ClientError::Timeout(_, after) if after == SECOND / 5), "{error}");
    let error = against("closed", Vec::new(), false);
    assert!(matches!(error, ClientError::Broken(..)), "{error}");
    let error = against("nonsense", vec![0; 100], true);
    assert!(matches!(error, ClientError::BadReply(_)), "{error}");
    let wrong = name("/localhost/nfd/faces/list/v=1/seg=0");
    let unsigned = Data::new(wrong.view(), b"", SignatureInfo::new(SignatureType::DigestSha256)).to_vec();
    let error = against("digest", unsigned, true);
    assert_eq!(error.to_string(), "the forwarder's answer is not valid: the signature is wrong");
    let endless = Data::new(wrong.view(), b"", SignatureInfo::new(SignatureType::Null)).to_vec();
    let error = against("endless", endless.repeat(2), true);
    assert!(matches!(error, ClientError::Timeout(..)), "{error}");
    let other = Data::new(name("/other").view(), b"", SignatureInfo::new(SignatureType::Null)).to_vec();
    assert!(matches!(against("other", other, true), ClientError::Timeout(..)));
}
