//! Shared code of the commands that are applications of a forwarder.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use weir_app::App;
use weir_core::units::Span;
use weir_management::client::Endpoint;
use weir_net::codec::MOST_DELEGATIONS;
use weir_packet::{Component, MAX_PACKET_SIZE, Name};

use crate::{Failure, manage};

const LOCALHOST: Component<'static> = Component::generic(b"localhost");
const LOCALHOP: Component<'static> = Component::generic(b"localhop");

/// Interval at which a command checks whether it should end.
pub const LOOK_AROUND: Span = Span::from_millis(100);

/// Options that select the forwarder.
#[derive(Debug, clap::Args)]
pub struct Connection {
    /// The forwarder's address: unix:///path or tcp://host:port; by default the one in NDN_CLIENT_TRANSPORT or
    /// client.conf, or else unix:///run/nfd/nfd.sock
    #[arg(long, value_name = "URI")]
    socket: Option<Endpoint>,
}

impl Connection {
    /// The forwarder's address.
    pub fn endpoint(&self) -> Result<Endpoint, Failure> {
        Ok(match &self.socket {
            Some(endpoint) => endpoint.clone(),
            None => Endpoint::of_environment()?,
        })
    }

    /// Connects to the forwarder.
    pub fn open(&self) -> Result<App, Failure> {
        App::connect(&self.endpoint()?).map_err(|error| match error {
            weir_app::AppError::Forwarder(error) => manage::with_advice(error),
            other => other.into(),
        })
    }
}

/// Options for forwarding hints.
#[derive(Debug, clap::Args)]
pub struct Hint {
    /// A forwarding hint: the name of a network that leads to the producer. Forwarders send the Interests there instead of
    /// where the names lead. May be repeated, up to 8 times: the first one with a route counts
    #[arg(long = "hint", value_name = "NAME", value_parser = delegation)]
    delegations: Vec<Name>,
}

/// Parses the name of a network. Delegations to a host's own scopes are refused: they lead nowhere.
fn delegation(text: &str) -> Result<Name, String> {
    let name: Name = text.parse().map_err(|error| format!("{error}"))?;
    match name.view().component(0) {
        Some(first) if [LOCALHOST, LOCALHOP].contains(&first) => {
            Err("a network's name does not begin with /localhost or /localhop".to_owned())
        }
        _ => Ok(name),
    }
}

/// Maximum length of a name and hints in an Interest, bytes. The rest takes fewer than 256 bytes: a version and a
/// segment, or a ping's number, and the other fields.
const ROOM_OF_NAMES: usize = MAX_PACKET_SIZE - 256;

impl Hint {
    /// The delegations, most preferred first, for Interests whose names begin with `prefix`.
    pub fn delegations(&self, prefix: &Name) -> Result<Vec<Name>, Failure> {
        let count = self.delegations.len();
        if count > MOST_DELEGATIONS {
            return Err(
                format!("--hint is given {count} times: forwarders read {MOST_DELEGATIONS} at most").into()
            );
        }
        let names = self.delegations.iter().chain([prefix]);
        let bytes: usize = names.map(|name| name.view().wire_len()).sum();
        if count > 0 && bytes > ROOM_OF_NAMES {
            let error = format!(
                "the name and its hints take {bytes} bytes together: an Interest has room for {ROOM_OF_NAMES}"
            );
            return Err(error.into());
        }
        Ok(self.delegations.clone())
    }
}

static COUNTS_ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Whether SIGINT or SIGTERM has arrived. A second signal ends the process at once.
#[derive(Clone, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Installs the signal handlers.
    pub fn new() -> io::Result<Stop> {
        let stop = Arc::new(AtomicBool::new(false));
        Stop::listen(Arc::clone(&stop))?;
        Ok(Stop(stop))
    }

    /// Another process counts the signals and forwards them repeatedly, so any number of them counts as one here.
    pub fn counts_elsewhere() {
        COUNTS_ELSEWHERE.store(true, Ordering::Relaxed);
    }

    /// Sets a flag when a signal arrives.
    pub fn listen(flag: Arc<AtomicBool>) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            if !COUNTS_ELSEWHERE.load(Ordering::Relaxed) {
                signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))?;
            }
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(())
    }

    /// Returns whether the command should end.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
