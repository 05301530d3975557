//! Ethernet faces between the two ends of a veth pair in a network namespace.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;

use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::sys::socket::{LinkAddr, SockaddrStorage, bind};
use socket2::{Domain, Protocol, Socket, Type};
use weir_net::transport::ethernet::NDN_ETHERTYPE;
use weir_net::transport::{Options, Sent, connect};
use weir_net::uri::{Mac, NDN_GROUP_ETHERNET};
use weir_net::{FaceScope, LinkType};

use crate::namespace;
use crate::side::{Side, exchange, frame, uri};

/// Two hosts on a link, and a third on another link.
const LINK: &str = "
    ip link add va address 02:00:00:00:00:0a mtu 9000 type veth peer name vb address 02:00:00:00:00:0b
    ip link add vc address 02:00:00:00:00:0c type veth peer name vd address 02:00:00:00:00:0d
    for v in va vb vc vd; do ip link set $v up; done
";
const A: Mac = Mac([2, 0, 0, 0, 0, 0x0A]);
const B: Mac = Mac([2, 0, 0, 0, 0, 0x0B]);
const C: Mac = Mac([2, 0, 0, 0, 0, 0x0C]);

fn dial(remote: Mac, device: &str) -> io::Result<Side> {
    let remote = uri(&format!("ether://[{remote}]"));
    connect(&remote, Some(&format!("dev://{device}")), Options::default()).map(Side::new)
}

fn face(remote: Mac, device: &str) -> Side {
    dial(remote, device).unwrap_or_else(|error| panic!("{error}"))
}

fn link_addr(device: &str) -> LinkAddr {
    let of_device = |entry: nix::ifaddrs::InterfaceAddress| {
        let addr = entry.address.filter(|_| entry.interface_name == device)?;
        SockaddrStorage::as_link_addr(&addr).copied()
    };
    getifaddrs().expect("a list").find_map(of_device).expect("it is there")
}

/// A host that sends raw bytes, including the header.
struct Stranger(Socket);

impl Stranger {
    fn on(device: &str) -> Stranger {
        let ethertype = Protocol::from(i32::from(NDN_ETHERTYPE.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::from(libc::SOCK_RAW), Some(ethertype)).expect("root");
        bind(socket.as_raw_fd(), &link_addr(device)).expect("bound");
        Stranger(socket)
    }

    fn send(&self, to: Mac, from: Mac, ethertype: u16, payload: &[u8]) {
        let bytes = [&to.0[..], &from.0, &ethertype.to_be_bytes(), payload].concat();
        self.0.send(&bytes).expect("sent");
    }
}

#[test]
fn on_a_link() {
    namespace::run(&format!("{LINK}\nrun ethernet::two_hosts_on_a_link"));
}

#[test]
#[ignore = "run by another test, in a network namespace"]
fn two_hosts_on_a_link() {
    a_group_hears_everybody_but_itself();
    hosts_hear_only_each_other();
    ten_thousand_frames_go_each_way_in_order();
    padding_is_cut_off_and_garbage_counted();
    frames_fit_the_link();
    what_cannot_be_is_an_error();
    a_link_that_goes_down_ends_the_face();
}

fn a_group_hears_everybody_but_itself() {
    let (mut a, mut b, mut c) =
        (face(NDN_GROUP_ETHERNET, "va"), face(NDN_GROUP_ETHERNET, "vb"), face(NDN_GROUP_ETHERNET, "vc"));
    assert_eq!(a.transport.uris().remote, "ether://[01:00:5e:00:17:aa]");
    assert_eq!(a.transport.uris().local, "dev://va");
    assert_eq!((a.transport.link_type(), a.transport.scope()), (LinkType::MultiAccess, FaceScope::NonLocal));
    assert_eq!(a.send(&frame(1, 100)), Sent::Taken);
    b.until_received(1);
    assert_eq!((&b.received, &b.peers), (&vec![frame(1, 100)], &vec![A.number()]));
    b.send(&frame(2, 2));
    a.until_received(1);
    assert_eq!((&a.received, &a.peers), (&vec![frame(2, 2)], &vec![B.number()]));
    c.step(std::time::Duration::ZERO);
    assert!(c.received.is_empty(), "it is on another link");
    // A face to one host does not receive the group's frames, and the other way round.
    let mut only = face(A, "vb");
    a.send(&frame(3, 3));
    b.until_received(2);
    only.step(std::time::Duration::ZERO);
    assert!(only.received.is_empty());
}

fn hosts_hear_only_each_other() {
    let (mut a, mut b) = (face(B, "va"), face(A, "vb"));
    let mut other = face(C, "vb");
    assert_eq!(
        (a.transport.link_type(), a.transport.uris().remote),
        (LinkType::PointToPoint, "ether://[02:00:00:00:00:0b]")
    );
    a.send(&frame(1, 1));
    b.until_received(1);
    assert_eq!(b.peers, [0]);
    let stranger = Stranger::on("va");
    stranger.send(B, C, NDN_ETHERTYPE, &frame(2, 2));
    other.until_received(1);
    stranger.send(B, A, 0x0800, &frame(3, 3));
    stranger.send(C, A, NDN_ETHERTYPE, &frame(4, 4));
    stranger.send(B, A, NDN_ETHERTYPE, &frame(5, 5));
    b.until_received(2);
    assert_eq!((b.received[1].clone(), other.received.len()), (frame(5, 5), 1));
}

fn ten_thousand_frames_go_each_way_in_order() {
    exchange(&mut face(B, "va"), &mut face(A, "vb"), 1500, 64);
}

fn padding_is_cut_off_and_garbage_counted() {
    let mut b = face(A, "vb");
    let stranger = Stranger::on("va");
    let garbage: [&[u8]; 5] = [&[], &[0x64], &[0; 46], &[0x64, 0xFD, 0xFF, 0xFF, 1], &frame(1, 50)[..40]];
    for bytes in garbage {
        stranger.send(B, A, NDN_ETHERTYPE, bytes);
    }
    let mut padded = frame(7, 1);
    padded.resize(46, 0);
    stranger.send(B, A, NDN_ETHERTYPE, &padded);
    b.until_received(1);
    assert_eq!((b.received[0].clone(), b.transport.malformed()), (frame(7, 1), garbage.len() as u64));
}

fn frames_fit_the_link() {
    let (mut a, mut b) = (face(B, "va"), face(A, "vb"));
    // The MTUs of LINK.
    assert_eq!((a.transport.mtu(), b.transport.mtu()), (Some(8800), Some(1500)));
    assert_eq!(b.send(&frame(1, 1500 - 8)), Sent::Taken);
    assert_eq!(b.send(&frame(1, 1500 - 7)), Sent::TooLong);
    a.until_received(1);
    assert_eq!(a.received[0].len(), 1500);
    assert_eq!(a.send(&[0x64; 8801]), Sent::TooLong);
}

fn what_cannot_be_is_an_error() {
    for (remote, device, why) in [
        (NDN_GROUP_ETHERNET, "nosuch", "no network interface nosuch"),
        (NDN_GROUP_ETHERNET, "lo", "lo is down"),
        (A, "va", "of va itself"),
    ] {
        let error = dial(remote, device).map(|_| ()).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    ip("link set lo up");
    let error = dial(NDN_GROUP_ETHERNET, "lo").map(|_| ()).expect_err("lo").to_string();
    assert!(error.contains("not Ethernet"), "{error}");
}

fn a_link_that_goes_down_ends_the_face() {
    let mut a = face(NDN_GROUP_ETHERNET, "va");
    ip("link set va down");
    assert_eq!(a.ended().kind(), ErrorKind::NetworkDown);
    assert!(
        dial(NDN_GROUP_ETHERNET, "va")
            .map(|_| ())
            .expect_err("down")
            .to_string()
            .contains("ip link set va up")
    );
    ip("link set va up");
    face(NDN_GROUP_ETHERNET, "va");
}

fn ip(arguments: &str) {
    let status = std::process::Command::new("ip").args(arguments.split(' ')).status().expect("iproute2");
    assert!(status.success(), "ip {arguments}");
}

#[test]
fn without_permission_the_error_says_which_is_needed() {
    let nobody = "setpriv --bounding-set=-all --inh-caps=-all --reuid=65534 --clear-groups";
    namespace::run(&format!("{LINK}\nrun ethernet::as_nobody {nobody}"));
}

#[test]
#[ignore = "run by another test, in a network namespace"]
fn as_nobody() {
    let error = dial(NDN_GROUP_ETHERNET, "va").map(|_| ()).expect_err("no permission");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("NET_RAW") && error.to_string().contains("va"), "{error}");
}
