//! Encodes and signs commands, and decodes the forwarder's responses.

use std::hash::{BuildHasher, Hasher, RandomState};

use weir_core::units::Span;
use weir_net::clock::wall_ms;
use weir_packet::{Component, Data, Interest, Name, SignatureInfo, SignatureType, Signer, Verifier};

use super::ClientError;
use crate::{ControlParameters, ControlResponse, Malformed, Module};

/// If the clock is behind by this much, it was set back, not adjusted. Assumed: well within the 120 s that forwarders
/// permit (NFD, ndn-cxx's ValidationPolicyCommandInterest).
const SET_BACK_MS: u64 = 10_000;

/// Creates commands, each with its own nonce and time.
#[derive(Debug, Default)]
pub struct Commands {
    /// Keys that are random in every process. Nonces must differ, but need not be secret.
    nonces: RandomState,
    count: u64,
    last_ms: u64,
}

impl Commands {
    /// Returns the name of a command and its Interest, signed with a digest.
    ///
    /// # Errors
    /// Returns [`ClientError::TooLong`] if the command does not fit in a packet.
    pub fn encode(
        &mut self,
        module: Module,
        verb: &str,
        parameters: &ControlParameters,
        lifetime: Span,
    ) -> Result<(Name, Vec<u8>), ClientError> {
        let mut component = Vec::new();
        parameters.encode(&mut component);
        let name = verb_name(module, verb).with(Component::generic(&component));
        let nonce = self.nonce().to_be_bytes();
        self.last_ms = time_of_next(wall_ms(), self.last_ms);
        let info = SignatureInfo {
            nonce: Some(&nonce),
            time_ms: Some(self.last_ms),
            ..SignatureInfo::new(SignatureType::DigestSha256)
        };
        let interest = Interest { must_be_fresh: true, ..self.interest(&name, lifetime) };
        let mut wire = Vec::new();
        interest.sign(&Signer::digest(), info, &mut wire).map_err(|_| ClientError::TooLong)?;
        Ok((name, wire))
    }

    pub(super) fn interest<'a>(&mut self, name: &'a Name, lifetime: Span) -> Interest<'a> {
        Interest {
            nonce: Some(self.nonce() as u32),
            lifetime: Some(lifetime.as_nanos() / 1_000_000),
            ..Interest::new(name.view())
        }
    }

    fn nonce(&mut self) -> u64 {
        self.count += 1;
        let mut hasher = self.nonces.build_hasher();
        hasher.write_u64(self.count);
        hasher.finish()
    }
}

/// The time of the next command, ms since 1970. It is later than that of the last command, so that none looks like a
/// replay. If the clock was set back, the new time counts, because forwarders refuse times far from their own.
fn time_of_next(now_ms: u64, last_ms: u64) -> u64 {
    let next = now_ms.max(last_ms + 1);
    if next - now_ms > SET_BACK_MS { now_ms } else { next }
}

/// The parameters in the response to a command. `data` is the received Data.
///
/// # Errors
/// Returns [`ClientError::Refused`] for every code other than 200, and [`ClientError::BadReply`].
pub fn accepted(data: &[u8]) -> Result<ControlParameters, ClientError> {
    let response = ControlResponse::decode(verified(data)?.payload())?;
    match response.code {
        200 => Ok(response.body.unwrap_or_default()),
        _ => Err(ClientError::Refused(Box::new(response))),
    }
}

/// Decodes the Data of a reply. If it has a digest, the digest must be correct.
pub(super) fn verified(wire: &[u8]) -> Result<Data<'_>, ClientError> {
    let data = Data::decode(wire).map_err(Malformed::from)?;
    if data.signature.info.typ == SignatureType::DigestSha256 {
        Verifier::digest().verify_data(wire).map_err(|error| ClientError::BadReply(error.to_string()))?;
    }
    Ok(data)
}

/// The name of a dataset, or the prefix of a command's name.
pub(super) fn verb_name(module: Module, verb: &str) -> Name {
    let parts = ["localhost", "nfd", module.name(), verb];
    parts.iter().fold(Name::new(), |name, part| name.with(Component::generic(part.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_commands_increase_unless_the_clock_is_set_back() {
        let now = 1_795_315_881_501;
        assert_eq!(time_of_next(now, 0), now);
        assert_eq!(time_of_next(now, now), now + 1);
        assert_eq!(time_of_next(now - 5000, now), now + 1);
        assert_eq!(time_of_next(now - 3_600_000, now), now - 3_600_000);
        assert_eq!(time_of_next(now - 3_600_000, now - 3_600_000), now - 3_599_999);
    }
}
