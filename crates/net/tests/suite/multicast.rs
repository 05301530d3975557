//! UDP multicast among programs on one host, and between hosts in network namespaces.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use weir_net::transport::{Options, Sent, connect};
use weir_net::{FaceScope, LinkType};
use weir_packet::MAX_PACKET_SIZE;

use crate::namespace;
use crate::side::{Side, exchange, frame, uri};

const V4: &str = "udp4://224.0.23.170:56363";
const V6: &str = "udp6://[ff02::1234]:56363";

fn dial(group: &str, local: &str) -> io::Result<Side> {
    connect(&uri(group), Some(local), Options::default()).map(Side::new)
}

fn face(group: &str, local: &str) -> Side {
    dial(group, local).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns whether nothing arrives within a while.
fn hears_nothing(side: &mut Side) -> bool {
    let before = side.received.len();
    while side.step(Duration::from_millis(50)) {}
    side.received.len() == before
}

#[test]
fn on_a_link() {
    // Host A has the link va-vb to host B, and the link vc-vd with both ends on host A.
    namespace::run(
        "
        quiet() { for v in default all; do echo 0 > /proc/sys/net/ipv6/conf/$v/accept_dad; done; ip link set lo up; }
        unshare --net sleep 60 & B=$!
        until [ \"$(readlink /proc/$B/ns/net)\" != \"$(readlink /proc/$$/ns/net)\" ]; do sleep 0.01; done
        trap 'kill $B' EXIT
        quiet
        ip link add va type veth peer name vb netns $B
        ip link add vc type veth peer name vd
        for v in va vc vd; do ip link set $v up; done
        ip addr add 10.7.0.1/24 dev va
        ip addr add 10.8.0.1/24 dev vc
        nsenter -t $B -n sh -c 'echo 0 > /proc/sys/net/ipv6/conf/vb/accept_dad
            ip link set lo up; ip addr add 10.7.0.2/24 dev vb; ip link set vb up'
        run multicast::echo nsenter -t $B -n & E=$!
        run multicast::two_hosts
        wait $E
        ",
    );
}

/// Number of the last frame in a group.
const BYE: u32 = u32::MAX;

#[test]
#[ignore = "run by another test, as another host"]
fn echo() {
    for group in [V4, V6] {
        let mut side = face(group, "dev://vb");
        let mut answered = 0;
        while !side.received.contains(&frame(BYE, 0)) {
            side.until_received_more(answered);
            for heard in &side.received.clone()[answered..] {
                side.send(heard);
            }
            answered = side.received.len();
        }
    }
}

#[test]
#[ignore = "run by another test, in a network namespace"]
fn two_hosts() {
    for group in [V4, V6] {
        let mut side = face(group, "dev://va");
        let mut bystander = face(group, "dev://vc");
        assert_eq!(side.transport.mtu(), Some(if group == V4 { 1472 } else { 1452 }));
        while side.received.is_empty() {
            side.send(&frame(0, 0));
            side.step(Duration::from_millis(100));
        }
        // Each greeting is answered, including those that waited while the other host started.
        while !hears_nothing(&mut side) {}
        side.received.clear();
        let largest = side.transport.mtu().expect("of the link");
        for number in 0..1000 {
            // One frame at a time, so that none is lost. Most fit the link; some must be fragmented by IP.
            let sent =
                frame(number, if number % 50 == 0 { 8000 } else { (number as usize * 37) % (largest - 12) });
            assert_eq!(side.send(&sent), Sent::Taken);
            side.until_received(number as usize + 1);
            assert!(side.received[number as usize] == sent, "frame {number} is another");
        }
        assert!(side.peers.windows(2).all(|pair| pair[0] == pair[1]), "all are of one host");
        side.send(&frame(BYE, 0));
        side.until_received(1001);
        // A frame of the others would have arrived by now.
        assert!(hears_nothing(&mut bystander) && bystander.received.is_empty(), "it is on another link");
    }
}

#[test]
fn on_one_host() {
    namespace::run(
        "
        echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
        ip link set lo up
        ip link add va type veth peer name vb
        for v in va vb; do ip link set $v up; done
        ip addr add 10.7.0.1/24 dev va
        run multicast::programs_of_one_host
        ",
    );
}

#[test]
#[ignore = "run by another test, in a network namespace"]
fn programs_of_one_host() {
    for group in [V4, V6] {
        everybody_hears_everybody_but_itself(group);
        let (mut a, mut b) = (face(group, "dev://va"), face(group, "dev://va"));
        exchange(&mut a, &mut b, MAX_PACKET_SIZE, 8);
    }
    what_is_too_long_is_counted_and_not_sent();
    what_cannot_be_is_an_error();
}

fn everybody_hears_everybody_but_itself(group: &str) {
    let [mut a, mut b, mut c] = [(); 3].map(|()| face(group, "dev://va"));
    assert_eq!(a.transport.link_type(), LinkType::MultiAccess);
    assert_eq!(a.transport.scope(), FaceScope::NonLocal, "programs of other hosts speak there too");
    assert_eq!(a.transport.uris().local, "dev://va");
    let zone = if group == V4 { V4 } else { "udp6://[ff02::1234%va]:56363" };
    assert_eq!(a.transport.uris().remote, zone);
    a.send(&frame(1, 1));
    b.send(&frame(2, 2));
    c.until_received(2);
    assert!(c.peers[0] != c.peers[1] && c.received != [frame(1, 1), frame(1, 1)]);
    a.until_received(1);
    b.until_received(1);
    assert_eq!((&a.received[0], &b.received[0]), (&frame(2, 2), &frame(1, 1)));
    // A host's own frame would have arrived before the other's next one.
    a.send(&frame(3, 3));
    b.until_received(2);
    b.send(&frame(4, 4));
    a.until_received(2);
    assert_eq!((&a.received[1], &b.received[1]), (&frame(4, 4), &frame(3, 3)));
}

fn what_is_too_long_is_counted_and_not_sent() {
    let mut side = face(V4, "dev://va");
    let stranger = UdpSocket::bind("10.7.0.1:0").expect("free");
    stranger.send_to(&[0; MAX_PACKET_SIZE + 1], "224.0.23.170:56363").expect("sent");
    stranger.send_to(&[0xFF; 3], "224.0.23.170:56363").expect("sent");
    side.until_received(1);
    assert_eq!((side.received[0].as_slice(), side.transport.malformed()), (&[0xFF; 3][..], 1));
    assert_eq!(side.send(&[0; MAX_PACKET_SIZE + 1]), Sent::TooLong);
}

fn what_cannot_be_is_an_error() {
    let why = |group: &str, local: Option<&str>| {
        connect(&uri(group), local, Options::default()).map(|_| ()).expect_err(group).to_string()
    };
    assert!(why(V4, None).contains("dev://eth0"));
    assert!(why(V4, Some("udp4://127.0.0.1")).contains("dev://eth0"));
    assert!(why(V4, Some("dev://nosuch")).contains("nosuch"));
    assert!(why("udp6://[ff02::1234%eth7]", Some("dev://va")).contains("not on the link of va"));
    std::process::Command::new("ip").args(["addr", "flush", "dev", "va"]).status().expect("iproute2");
    for (group, family) in [(V4, "IPv4"), (V6, "IPv6")] {
        let why = why(group, Some("dev://va"));
        assert!(why.contains(family) && why.contains("va"), "{why}");
    }
}
