//! Tests of reloading the file of a running forwarder.

use std::fs;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::control::Control as _;
use crate::management::Route as RibRoute;
use weir_management::status::{FaceNumber, FacePersistency, FaceScope, FaceStatus};
use weir_management::{RouteFlags, origin};
use weir_net::transport::udp::Source;
use weir_packet::Name;

/// A forwarder and its file, which is deleted with it.
struct World {
    daemon: Daemon,
    file: PathBuf,
}

/// Listeners that do not collide with other sockets.
const SOCKETS: &str =
    "[faces.unix]\nenabled = false\n[faces.tcp]\nlisten = []\n[faces.udp]\nlisten = \"127.0.0.1:0\"\n";

fn world(text: &str) -> World {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("weir-reload-{}-{number}.toml", std::process::id()));
    fs::write(&file, format!("{SOCKETS}{text}")).unwrap();
    let config = Config::load(&file).unwrap();
    World { daemon: Daemon::start(config, Some(file.clone())).unwrap(), file }
}

impl World {
    fn reload(&mut self, text: &str) {
        fs::write(&self.file, format!("{SOCKETS}{text}")).unwrap();
        self.daemon.reload();
    }

    /// Forwards until the resolver has answered.
    fn wait_for_resolver(&mut self) {
        for _ in 0..500 {
            if self.daemon.lookup.is_none() {
                return;
            }
            let mut rounds = 0;
            let once = &mut || {
                rounds += 1;
                rounds < 2
            };
            self.daemon.run_while(Some(Duration::from_millis(20)), once).unwrap();
        }
        panic!("the resolver does not answer");
    }

    fn faces(&self) -> Vec<FaceStatus> {
        self.daemon.instance.engine.faces()
    }

    fn face_to(&self, remote: &str) -> FaceStatus {
        let found: Vec<_> = self.faces().into_iter().filter(|face| face.remote == remote).collect();
        assert_eq!(found.len(), 1, "{remote}: {:?}", self.faces());
        found[0].clone()
    }

    /// Prefixes with routes, and their faces.
    fn routes(&self) -> Vec<(String, FaceNumber)> {
        let rib = self.daemon.instance.management.rib().list(self.daemon.instance.engine.now);
        rib.flat_map(|entry| {
            let prefix = entry.prefix.to_string();
            entry.routes.into_iter().map(move |route| (prefix.clone(), route.face))
        })
        .collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn face(name: &str, remote: &str, more: &str) -> String {
    format!("[[face]]\nname = \"{name}\"\nremote = \"{remote}\"\n{more}\n")
}

fn route(prefix: &str, face: &str) -> String {
    format!("[[route]]\nprefix = \"{prefix}\"\nface = \"{face}\"\n")
}

#[test]
fn hosts_are_looked_up_beside_the_event_loop_and_their_faces_found_again() {
    let one = face("one", "udp4://localhost:7001", "") + &route("/one", "one");
    let mut world = world(&one);
    let number = world.face_to("udp4://127.0.0.1:7001").number;
    assert_eq!(world.routes(), [("/one".to_owned(), number)]);
    let two = face("two", "udp4://localhost:7002", "") + &route("/two", "two");
    world.reload(&(one.clone() + &two));
    assert!(world.daemon.lookup.is_some() && world.routes().len() == 1, "nobody waits for the resolver");
    world.wait_for_resolver();
    let second = world.face_to("udp4://127.0.0.1:7002").number;
    assert_eq!(world.routes(), [("/one".to_owned(), number), ("/two".to_owned(), second)]);
    // Known hosts are not resolved again.
    world.reload(&(one + &face("two", "udp4://localhost:7002", "")));
    assert!(world.daemon.lookup.is_none());
    assert_eq!(world.routes(), [("/one".to_owned(), number)]);
    // Only the last file counts.
    world.reload(&face("three", "udp4://localhost:7003", ""));
    world.reload("");
    world.wait_for_resolver();
    assert_eq!(world.faces().len(), 1, "{:?}", world.faces());
}

#[test]
fn of_faces_to_one_peer_each_is_that_with_its_local_end() {
    let remote = "udp4://127.0.0.1:7011";
    let east = face("east", remote, "local = \"udp4://127.0.0.2:7012\"") + &route("/east", "east");
    let west = |rate: &str| {
        face("west", remote, &format!("local = \"udp4://127.0.0.3:7013\"\n{rate}")) + &route("/west", "west")
    };
    // Routes use the names of faces in the file.
    let mut world = world(&(east.clone() + &west("")));
    let of = |world: &World, local: &str| world.faces().into_iter().find(|face| face.local == local);
    let [east_is, west_is] =
        ["udp4://127.0.0.2:7012", "udp4://127.0.0.3:7013"].map(|local| of(&world, local).unwrap().number);
    assert_eq!(world.routes(), [("/east".to_owned(), east_is), ("/west".to_owned(), west_is)]);
    world.reload(&(east.clone() + &west("rate = \"5 Mb/s\"")));
    assert_eq!(of(&world, "udp4://127.0.0.3:7013").unwrap().send_rate_bps, Some(5_000_000));
    assert_eq!(of(&world, "udp4://127.0.0.2:7012").unwrap().send_rate_bps, None);
    world.reload(&east);
    assert_eq!(world.routes(), [("/east".to_owned(), east_is)]);
    assert!(of(&world, "udp4://127.0.0.3:7013").is_none());
}

#[test]
fn what_could_not_be_made_is_tried_again() {
    let mut world = world("");
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let local = format!("local = \"udp4://{}\"", taken.local_addr().unwrap());
    let text = face("a", "udp4://127.0.0.1:7021", &local) + &route("/a", "a");
    for _ in 0..2 {
        world.reload(&text);
        assert_eq!((world.faces().len(), world.routes().len()), (1, 0), "the address is in use");
    }
    drop(taken);
    world.reload(&text);
    let number = world.face_to("udp4://127.0.0.1:7021").number;
    assert_eq!(world.routes(), [("/a".to_owned(), number)]);
    world.reload("");
    assert_eq!((world.faces().len(), world.routes().len()), (1, 0));
}

#[test]
fn a_neighbour_that_has_spoken_first_gets_the_options_of_its_face_in_the_file() {
    let mut world = world("");
    for host in [[192, 0, 2, 7], [127, 0, 0, 1]] {
        let source = Source { from: (host, 7031).into(), to: None };
        let local = world.daemon.udp_addresses()[0];
        world.daemon.instance.engine.add_udp_peer(0, local, source).unwrap();
        let remote = format!("udp4://{}:7031", source.from.ip());
        let before = world.face_to(&remote);
        assert_eq!(before.persistency, FacePersistency::OnDemand);
        assert!(before.expires_in_ms.is_some());
        world.reload(&(face("a", &remote, "rate = \"3 Mb/s\"") + &route("/a", "a")));
        let after = world.face_to(&remote);
        assert_eq!((after.persistency, after.expires_in_ms), (FacePersistency::Permanent, None));
        assert_eq!((after.send_rate_bps, after.scope), (Some(3_000_000), FaceScope::NonLocal));
        assert_eq!(after.number == before.number, before.scope == FaceScope::NonLocal);
        assert_eq!(world.routes(), [("/a".to_owned(), after.number)]);
        world.reload("");
        assert_eq!(world.faces().len(), 1);
    }
}

#[test]
fn routes_of_a_face_that_goes_do_not_keep_out_those_of_one_that_comes() {
    let bound = "[tables]\nfib_entries = 4\n";
    let mut world = world(&(bound.to_owned() + &face("a", "udp4://127.0.0.1:7041", "")));
    let number = world.face_to("udp4://127.0.0.1:7041").number;
    for by in [origin::APP, origin::AUTOREG, origin::CLIENT, origin::NLSR] {
        let flags = RouteFlags { child_inherit: true, capture: false };
        let prefix: Name = "/x".parse().unwrap();
        let route = RibRoute { prefix, face: number, origin: by, cost: 0, flags, expires: Time::NEVER };
        world.daemon.instance.management.add_route(&route, &mut world.daemon.instance.engine).unwrap();
    }
    world.reload(&(bound.to_owned() + &face("b", "udp4://127.0.0.1:7042", "") + &route("/b", "b")));
    let number = world.face_to("udp4://127.0.0.1:7042").number;
    assert_eq!(world.routes(), [("/b".to_owned(), number)]);
}

#[test]
fn an_mtu_that_is_no_longer_given_is_that_of_the_transport() {
    let remote = "udp4://127.0.0.1:7051";
    let mut world = world(&face("a", remote, "mtu = \"1000 B\""));
    assert_eq!(world.face_to(remote).mtu, Some(1000));
    world.reload(&face("a", remote, ""));
    assert_eq!(world.face_to(remote).mtu, Some(8800));
}

#[test]
fn faces_of_groups_get_the_options_of_their_kind() {
    let text = "[faces.multicast]\ninterfaces = \"lo\"\n";
    let mut world = world(text);
    world.reload(&format!("{text}rate = \"2 Mb/s\"\n"));
    let groups: Vec<_> = world.faces().into_iter().filter(|face| face.local == "dev://lo").collect();
    assert!(!groups.is_empty());
    assert!(groups.iter().all(|face| face.send_rate_bps == Some(2_000_000)), "{groups:?}");
}

#[test]
fn an_address_in_use_is_an_error_that_says_how_to_change_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let file = |listen: &str| {
        let text = format!(
            "[faces.unix]\nenabled = false\n[faces.udp]\nlisten = []\n{listen}\n[tables]\nfib_entries = 40\n"
        );
        Daemon::start(Config::parse(&text, "weir.toml").unwrap(), None).map(drop).unwrap_err().to_string()
    };
    let said = file(&format!("[faces.tcp]\nlisten = \"{address}\""));
    let wanted = format!(
        "weir.toml:6: faces.tcp.listen: cannot listen on {address} (TCP): another process uses this address ("
    );
    let help = "stop the other process, or set another one: listen = \"127.0.0.1:7000\" in [faces.tcp]";
    assert!(said.starts_with(&wanted) && said.ends_with(help), "{said}");
    // The default is not a line of the file. If the port cannot be bound here, another process holds it.
    let _taken = std::net::TcpListener::bind("127.0.0.1:6363");
    let said = file("");
    let wanted = "cannot listen on 127.0.0.1:6363 (TCP): another process uses this address (";
    let help = "this is the default; stop the other process, or set another one in the file of --config: listen = \"127.0.0.1:7000\" in [faces.tcp]";
    assert!(said.starts_with(wanted) && said.ends_with(help), "{said}");
}
