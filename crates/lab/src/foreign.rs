//! Foreign forwarders as nodes of the lab: [ndnd](https://github.com/named-data/ndnd) and
//! [NFD](https://github.com/named-data/NFD).
//!
//! They get a configuration file, then faces to their neighbours and routes through NFD's management protocol, which
//! both implement. The code for NFD follows its documentation and has not been run.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use weir_management::client::{Client, ClientError, Endpoint};
use weir_management::module::Module;
use weir_management::origin;
use weir_management::parameters::ControlParameters;
use weir_management::status::{FaceNumber, FacePersistency};
use weir_scenario::Software;

use crate::error::LabError;
use crate::isolation::in_path;
use crate::network::{FRAME, Node, PORT};

/// Maximum time for an answer. Assumed: the machine may be busy starting many others.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of ndnd's content store, packets.
const MOST_CACHED: u64 = u16::MAX as u64;
/// Routes also apply to longer prefixes.
const CHILD_INHERIT: u64 = 1;

/// Returns the program of a forwarder: from the environment variable with its name, or else from `PATH`.
///
/// # Errors
/// Returns an error if there is no such program.
pub fn find(software: Software) -> Result<PathBuf, LabError> {
    let name = software.name();
    let variable = name.to_uppercase();
    if let Some(path) = env::var_os(&variable) {
        let path = PathBuf::from(path);
        let whole = path.canonicalize();
        return whole.map_err(LabError::system(format!("{}, from the variable {variable}", path.display())));
    }
    in_path(Path::new(name)).ok_or_else(|| {
        let how = match software {
            Software::Ndnd => "`go install github.com/named-data/ndnd/cmd/ndnd@latest` installs it",
            _ => "https://docs.named-data.net/NFD says how to install it",
        };
        LabError::Invalid(format!(
            "a node has `forwarder = \"{name}\"`, but there is no {name} in PATH\n  = {how}; or give its path in the variable {variable}"
        ))
    })
}

/// A command that runs the forwarder with this configuration.
pub fn command(software: Software, program: &Path, file: &Path) -> Command {
    let mut command = Command::new(program);
    match software {
        Software::Nfd => command.arg("--config").arg(file),
        _ => command.args(["fw", "run"]).arg(file),
    };
    command
}

/// The configuration of a node's forwarder, with a content store of `cached` packets.
pub fn file(node: &Node, cached: u64) -> String {
    let socket = node.socket.display();
    match node.software {
        Software::Nfd => format!(
            "general {{ }}
log {{ default_level WARN }}
tables {{ cs_max_packets {cached} strategy_choice {{ / /localhost/nfd/strategy/best-route }} }}
face_system {{
  general {{ enable_congestion_marking no }}
  unix {{ path {socket} }}
  udp {{ listen yes port {PORT} enable_v6 no unicast_mtu {FRAME} mcast no }}
}}
authorizations {{ authorize {{ certfile any privileges {{ faces fib cs strategy-choice }} }} }}
rib {{ localhost_security {{ trust-anchor {{ type any }} }} }}
"
        ),
        _ => format!(
            "core: {{log_level: WARN}}
faces:
  congestion_marking: false
  udp: {{enabled_unicast: true, enabled_multicast: false, port_unicast: {PORT}, default_mtu: {FRAME}}}
  tcp: {{enabled: false}}
  unix: {{enabled: true, socket_path: \"{socket}\"}}
  websocket: {{enabled: false}}
fw: {{threads: 1}}
tables:
  content_store: {{capacity: {}, admit: {has}, serve: {has}}}
  rib: {{readvertise_nlsr: false}}
",
            cached.clamp(1, MOST_CACHED),
            has = cached > 0,
        ),
    }
}

/// The routes of a forwarder: prefixes and faces.
pub type Routes = BTreeSet<(String, FaceNumber)>;

/// Creates the forwarder's faces, and replaces the routes `given` by these.
///
/// # Errors
/// Returns an error if the forwarder refuses, or does not answer.
pub fn tell(node: &Node, routes: &[(&str, usize, u64)], given: &mut Routes) -> Result<(), LabError> {
    let failed = |error: ClientError| {
        LabError::Application(format!("the forwarder of {}, {}: {error}", node.name, node.software.name()))
    };
    let endpoint = Endpoint::Unix(node.socket.clone());
    let mut client = Client::connect(&endpoint, PATIENCE).map_err(failed)?;
    let mut faces = Vec::new();
    for end in &node.ends {
        faces.push(face(&mut client, &format!("udp4://{}:{PORT}", end.neighbour.0)).map_err(failed)?);
    }
    let mut register = |verb: &str, prefix: &str, face: FaceNumber, cost: Option<u64>| {
        let name = prefix.parse().map_err(LabError::application)?;
        let parameters = ControlParameters {
            name: Some(name),
            face: Some(face),
            origin: Some(origin::STATIC),
            flags: cost.map(|_| CHILD_INHERIT),
            cost,
            ..ControlParameters::default()
        };
        client.command(Module::Rib, verb, &parameters).map(|_| ()).map_err(failed)
    };
    let wanted: Routes = routes.iter().map(|&(prefix, end, _)| (prefix.to_owned(), faces[end])).collect();
    for (prefix, face) in given.difference(&wanted) {
        register("unregister", prefix, *face, None)?;
    }
    for &(prefix, end, cost) in routes {
        register("register", prefix, faces[end], Some(cost))?;
    }
    *given = wanted;
    Ok(())
}

/// Returns the face to a neighbour. Creates it if there is none.
fn face(client: &mut Client, uri: &str) -> Result<FaceNumber, ClientError> {
    let wanted = ControlParameters {
        uri: Some(uri.to_owned()),
        persistency: Some(FacePersistency::Permanent),
        mtu: Some(u64::from(FRAME)),
        ..ControlParameters::default()
    };
    let made = match client.command(Module::Faces, "create", &wanted) {
        // The neighbour has created the face already.
        Err(ClientError::Refused(response)) if response.code == 409 && response.body.is_some() => {
            response.body.unwrap_or_default()
        }
        made => made?,
    };
    made.face.ok_or_else(|| ClientError::BadReply("it lacks the face's number".to_owned()))
}
