//! Harness for the path of a frame through the forwarder: link service, decoder, core, and back.

use weir_core::ids::FaceId;
use weir_core::node::Action;
use weir_core::packet::Kind;
use weir_core::seam::QueueLimit;
use weir_core::units::{Rate, Span, Time};
use weir_forwarder::config::Config;
use weir_forwarder::wire_node::{LinkConfig, WireNode};
use weir_net::codec::{net_packet, trusted};
use weir_net::link_service::{LinkOptions, LinkService, Marking, Repair};
use weir_net::secrets::Secrets;
use weir_packet::{Data, Interest, LpPacket, Name};

const PIT_BYTES: u64 = 16_000;
const STORE_PACKETS: usize = 5;
const REASSEMBLY_BYTES: usize = 4096;
const MTU: usize = 300;
const FACES: usize = 4;
/// Possible times before a frame.
const WAITS: [Span; 8] = [
    Span::ZERO,
    Span::ZERO,
    Span::from_micros(1),
    Span::from_micros(100),
    Span::from_millis(1),
    Span::from_millis(30),
    Span::from_millis(700),
    Span::from_secs(11),
];

/// A face. The first belongs to an application, the others are links; the last one is reliable.
struct Face {
    core: FaceId,
    link: LinkService,
}

struct Forwarder {
    node: WireNode,
    faces: Vec<Face>,
    now: Time,
}

/// Frames, each after a byte for the face and the time since the previous frame, and two bytes for its length. If the
/// highest bit of the first byte is set, the face changes instead.
pub fn input(bytes: &[u8]) {
    let Some((scheme, mut rest)) = bytes.split_first() else { return };
    let mut forwarder = Forwarder::new(["fixed", "qsccp"][usize::from(scheme % 2)]);
    while let Some((&step, more)) = rest.split_first() {
        forwarder.wait(WAITS[usize::from(step >> 2 & 7)]);
        let face = usize::from(step) % FACES;
        if step & 0x80 != 0 {
            forwarder.change(face, step >> 5 & 3);
            rest = more;
        } else {
            let Some((length, more)) = more.split_first_chunk() else { return };
            let (frame, more) = more.split_at(usize::from(u16::from_be_bytes(*length)).min(more.len()));
            forwarder.receive(face, frame);
            rest = more;
        }
        forwarder.perform();
    }
    forwarder.finish();
}

impl Forwarder {
    fn new(scheme: &str) -> Forwarder {
        let text = format!(
            "[scheme]\nname = \"{scheme}\"\n[tables]\npit_bytes = \"{PIT_BYTES} B\"\ndead_nonces = 10\n\
             content_store_packets = {STORE_PACKETS}\n"
        );
        let config = Config::parse(&text, "fuzz").expect("the file is right");
        let node = WireNode::new(&config, 7, Secrets::fixed(7));
        let mut forwarder = Forwarder { node, faces: Vec::new(), now: Time::from_nanos(1) };
        for at in 0..FACES {
            let core = forwarder.add(at);
            let options = LinkOptions {
                mtu: (at > 1).then_some(MTU),
                reassembly_bytes: REASSEMBLY_BYTES,
                repair: if at == FACES - 1 { Repair::On } else { Repair::Off },
                marking: Some(Marking { threshold: 500, interval: Span::from_millis(1) }),
            };
            forwarder.faces.push(Face { core, link: LinkService::new(options, 1000) });
        }
        forwarder
    }

    /// Adds a face to the core, with a route.
    fn add(&mut self, at: usize) -> FaceId {
        let rate = (at > 1).then(|| Rate::from_bps(1_000_000));
        let link = LinkConfig { send_rate: rate, receive_rate: rate, limit: QueueLimit::Packets(4) };
        let core = match at {
            0 => self.node.add_application(self.now),
            _ => self.node.add_link(self.now, link, None),
        };
        let prefix: Name = ["/localhost/nfd", "/", "/a", "/a/b"][at].parse().expect("a name");
        let prefix = self.node.hashed(&prefix).expect("a short name");
        self.node.add_route(self.now, &prefix, core, at as u64);
        core
    }

    fn wait(&mut self, span: Span) {
        self.now += span;
        self.node.run_until(self.now);
        let now = self.now;
        for face in &mut self.faces {
            face.link.on_deadline(now, &mut |frame| check_frame(frame));
            assert!(face.link.next_deadline() > now, "what is due is done");
        }
    }

    fn change(&mut self, at: usize, what: u8) {
        let core = self.faces[at].core;
        match what {
            0 => self.node.set_up(self.now, core, false),
            1 => self.node.set_up(self.now, core, true),
            2 => {
                self.node.remove_face(self.now, core);
                self.faces[at].core = self.add(at);
            }
            _ => self.node.set_rates(self.now, core, Some(Rate::from_bps(64_000)), None),
        }
    }

    fn receive(&mut self, at: usize, frame: &[u8]) {
        let Forwarder { node, faces, now } = self;
        let Face { core, link } = &mut faces[at];
        let _ = link.receive(*now, 0, frame, &mut |header, packet| {
            let _ = node.receive(*now, *core, &trusted(*header, at == 0), packet);
        });
    }

    /// Sent frames must be valid for a neighbour, and tables must respect their limits.
    fn perform(&mut self) {
        let actions = self.node.take_actions();
        for action in &actions {
            let packet = match *action {
                Action::Transmit { face, packet, .. } | Action::Deliver { face, packet } => {
                    self.send(face, packet);
                    packet
                }
                Action::Drop { packet, .. } => packet,
            };
            self.node.free(packet);
        }
        self.node.recycle(actions);
        let core = self.node.core();
        assert!(core.pit().held() <= PIT_BYTES && core.content_store().len() <= STORE_PACKETS);
        assert!(core.next_deadline() > self.now || core.next_deadline() <= self.now + Span::from_nanos(1));
    }

    fn send(&mut self, face: FaceId, id: weir_core::packet::PacketId) {
        let packet = self.node.packet(id);
        let mut changed = Vec::new();
        let net = net_packet(packet, &mut changed);
        match packet.kind {
            Kind::Data => drop(Data::decode(net).expect("a Data leaves as it came")),
            Kind::Interest | Kind::Nack => {
                let interest = Interest::decode(net).expect("an Interest leaves as one");
                assert_eq!(interest.nonce, Some(packet.nonce));
            }
        }
        let header = *packet.header();
        let Some(face) = self.faces.iter_mut().find(|of| of.core == face) else { return };
        let _ = face.link.send(self.now, &header, net, 600, &mut |frame| check_frame(frame));
    }

    /// Everything pending ends: after the longest lifetime nothing is pending.
    fn finish(&mut self) {
        for _ in 0..4 {
            self.wait(Span::from_secs(3000));
            self.perform();
        }
        assert_eq!(self.node.core().pit().len(), 0, "Interests are pending for ever");
    }
}

fn check_frame(frame: &LpPacket<'_>) {
    let bytes = frame.to_vec();
    let read = LpPacket::decode(&bytes).expect("our own frame");
    assert_eq!(read.fragment, frame.fragment);
}
