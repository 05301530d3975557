//! Shared code of the commands that query and change a running forwarder.

use std::io::ErrorKind;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use weir_core::units::Span;
use weir_management::client::{Client, ClientError, Endpoint};
use weir_management::status::{FaceNumber, FaceStatus};
use weir_management::{ControlParameters, Module};
use weir_measure::to_json;
use weir_net::uri::FaceUri;

use crate::{Failure, terminal};

/// Maximum age of a list of faces. NFD's are at most a second old.
const OLDEST_LIST: Duration = Duration::from_secs(2);

/// Options that select the forwarder and the output.
#[derive(Debug, clap::Args)]
pub struct Connection {
    /// The forwarder's address: unix:///path or tcp://host:port; by default the one in NDN_CLIENT_TRANSPORT or
    /// client.conf, or else unix:///run/nfd/nfd.sock
    #[arg(long, value_name = "URI", global = true)]
    socket: Option<Endpoint>,
    /// How long to wait for each answer
    #[arg(long, value_name = "TIME", default_value = "4s", global = true)]
    timeout: Span,
    /// Print the result as JSON and nothing else
    #[arg(long, global = true)]
    json: bool,
}

impl Connection {
    /// Whether the result is printed as JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Connects to the forwarder.
    pub fn open(&self) -> Result<Forwarder<'_>, Failure> {
        let endpoint = match &self.socket {
            Some(endpoint) => endpoint.clone(),
            None => Endpoint::of_environment()?,
        };
        let timeout = Duration::from_nanos(self.timeout.as_nanos().max(1));
        let client = Client::connect(&endpoint, timeout).map_err(with_advice)?;
        Ok(Forwarder { client, connection: self })
    }
}

/// Adds advice to the error that a forwarder cannot be reached.
pub fn with_advice(error: ClientError) -> Failure {
    let advice = match &error {
        ClientError::Unreachable(_, cause) if cause.kind() == ErrorKind::PermissionDenied => {
            "this user may not open it: run the command as the forwarder's user or as root"
        }
        _ => "is a forwarder running? Set its address with --socket or NDN_CLIENT_TRANSPORT",
    };
    format!("{error}\n  {advice}").into()
}

/// A connected forwarder.
pub struct Forwarder<'a> {
    /// The client.
    pub client: Client,
    connection: &'a Connection,
}

impl Forwarder<'_> {
    /// Prints rows as JSON with --json, otherwise as text.
    pub fn print<T: serde::Serialize>(
        &self,
        rows: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        terminal::print(&if self.connection.json { to_json(rows) } else { text(rows) })
    }

    /// Sends a command.
    pub fn command(
        &mut self,
        module: Module,
        verb: &str,
        parameters: &ControlParameters,
    ) -> Result<ControlParameters, Failure> {
        Ok(self.client.command(module, verb, parameters)?)
    }

    /// All faces.
    pub fn faces(&mut self) -> Result<Vec<FaceStatus>, Failure> {
        Ok(self.client.faces()?.into_iter().map(|face| face.status).collect())
    }

    /// All faces. If none matches `is_it`, the wanted face may be newer than the list: then the list is requested again
    /// when it is no longer fresh.
    pub fn faces_with(&mut self, is_it: impl Fn(&FaceStatus) -> bool) -> Result<Vec<FaceStatus>, Failure> {
        let faces = self.faces()?;
        if faces.iter().any(is_it) {
            return Ok(faces);
        }
        wait(self.client.dataset_age().min(OLDEST_LIST));
        self.faces()
    }

    /// The number of an existing face.
    pub fn find(&mut self, face: &FaceName) -> Result<FaceNumber, Failure> {
        let uri = match face {
            FaceName::Number(number) => return Ok(*number),
            FaceName::Uri(uri) => uri,
        };
        let canonical = canonical(uri)?;
        let is_it = |face: &FaceStatus| face.remote == canonical || face.remote == *uri;
        let faces = self.faces_with(is_it)?;
        let mut found = faces.iter().filter(|face| is_it(face));
        match (found.next(), found.next()) {
            (Some(face), None) => Ok(face.number),
            (None, _) => Err(format!("there is no face to {canonical}\n  `weir face` lists them").into()),
            (Some(one), Some(other)) => Err(format!(
                "faces {} and {} both go to {canonical}: give the number of one",
                one.number, other.number
            )
            .into()),
        }
    }

    /// The number of a face. Creates the face if it does not exist.
    pub fn find_or_create(&mut self, face: &FaceName) -> Result<FaceNumber, Failure> {
        let uri = match face {
            FaceName::Number(number) => return Ok(*number),
            FaceName::Uri(uri) => uri,
        };
        let wanted = ControlParameters { uri: Some(canonical(uri)?), ..ControlParameters::default() };
        let made = match self.client.command(Module::Faces, "create", &wanted) {
            Err(ClientError::Refused(response)) if response.code == 409 && response.body.is_some() => {
                response.body.unwrap_or_default()
            }
            made => made?,
        };
        made.face.ok_or_else(|| "the forwarder did not return the number of the new face".into())
    }
}

/// Sleeps for this time.
#[expect(clippy::disallowed_methods, reason = "the command has nothing else to do")]
pub fn wait(time: Duration) {
    thread::sleep(time);
}

/// The canonical form of a face URI, which forwarders compare. A host name becomes an address.
pub fn canonical(uri: &str) -> Result<String, Failure> {
    Ok(uri.parse::<FaceUri>()?.resolve()?.to_string())
}

/// A face as the user specifies it.
#[derive(Clone, Debug)]
pub enum FaceName {
    /// Its number.
    Number(FaceNumber),
    /// Its remote URI.
    Uri(String),
}

impl FromStr for FaceName {
    type Err = String;

    fn from_str(text: &str) -> Result<FaceName, String> {
        if text.contains("://") {
            return Ok(FaceName::Uri(text.to_owned()));
        }
        let wanted = || {
            format!("{text:?} is not a face: wanted its number or URI, such as 7 or udp4://192.0.2.1:6363")
        };
        text.parse().map(FaceName::Number).map_err(|_| wanted())
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    On,
    Off,
}

/// Flags and their mask from switches that may be absent. The first switch is bit 0.
pub fn flags<const N: usize>(switches: [Option<Switch>; N]) -> (Option<u64>, Option<u64>) {
    let (mut flags, mut mask) = (0, 0);
    for (bit, switch) in switches.into_iter().enumerate() {
        mask |= u64::from(switch.is_some()) << bit;
        flags |= u64::from(switch == Some(Switch::On)) << bit;
    }
    if mask == 0 { (None, None) } else { (Some(flags), Some(mask)) }
}

/// Formats milliseconds with the two largest units: `2 h 3 min`.
pub fn duration(ms: u64) -> String {
    let (s, min, h) = (ms / 1000, ms / 60_000, ms / 3_600_000);
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{s} s"),
        60_000..3_600_000 => format!("{min} min {} s", s % 60),
        3_600_000..86_400_000 => format!("{h} h {} min", min % 60),
        _ => format!("{} d {} h", h / 24, h % 24),
    }
}

/// A line about Interests whose service classes were not accepted: remarked, refused and over their rates. `None` if
/// there are none.
pub fn not_believed(interests: [u64; 3]) -> Option<String> {
    let [remarked, refused, over_rate] = interests.map(count);
    let any = interests.iter().any(|interests| *interests > 0);
    any.then(|| format!("{remarked} Interests remarked, {refused} refused, {over_rate} over the rate"))
}

/// Formats a number for a table.
pub fn count(number: u64) -> String {
    weir_results::grouped(number)
}

/// Formats a table as text.
pub fn text(table: &comfy_table::Table) -> String {
    format!("{}\n", table.trim_fmt())
}

/// Whole milliseconds of a span.
pub fn millis(span: Span) -> u64 {
    span.as_nanos() / Span::from_millis(1).as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_the_switches_that_are_given() {
        assert_eq!(flags([None, None, None]), (None, None));
        assert_eq!(flags([Some(Switch::Off), None, Some(Switch::On)]), (Some(0b100), Some(0b101)));
    }

    #[test]
    fn a_duration_has_its_largest_two_units() {
        let written = [0, 999, 59_999, 60_000, 3_723_000, 90_000_000].map(duration);
        assert_eq!(written, ["0 ms", "999 ms", "59 s", "1 min 0 s", "1 h 2 min", "1 d 1 h"]);
    }

    #[test]
    fn a_face_is_a_number_or_a_uri() {
        assert!(matches!("7".parse(), Ok(FaceName::Number(7))));
        assert!(matches!("udp4://192.0.2.1".parse(), Ok(FaceName::Uri(_))));
        assert!("eth0".parse::<FaceName>().unwrap_err().contains("wanted its number or URI"));
    }
}
