//! The segments of an object, received in any order, verified, and delivered in order. Without sockets and clocks.
//!
//! ```text
//!   segment --> verify -- valid --> end -- agrees --> order ----> deliver
//!                 |  \                 \
//!                 |   invalid: asked    does not: error
//!                 |   for again
//!                 v
//!               waits for a certificate
//! ```

use std::collections::BTreeMap;

use weir_keychain::{Moment, Reason, Step, Validator};
use weir_packet::{ContentType, Data, Name, SignatureType};

use super::final_segment::FinalSegment;
use super::reorder_buffer::ReorderBuffer;
use super::{Each, GetError, Progress, weakest};

/// State of an object's segments. After the first error nothing more is delivered.
#[derive(Debug)]
pub struct Assembly {
    object: Name,
    reorder: ReorderBuffer,
    end: FinalSegment,
    /// Data that arrived before their certificate; for each segment the first Data.
    unverified: BTreeMap<u64, Vec<u8>>,
    /// A certificate that is needed or searched for.
    wanted: Option<Step>,
    /// Segments whose Data were rejected, and why.
    refused: BTreeMap<u64, Reason>,
    /// Whether any Data was rejected.
    has_refused: bool,
    /// The first segment that the producer declared absent.
    absent: Option<u64>,
    has_failed: bool,
    failure: Option<GetError>,
    bytes: u64,
    signature: Option<SignatureType>,
}

impl Assembly {
    /// Creates the state for an object from segment `first` on. `last` is its last segment, if known.
    pub fn new(object: Name, first: u64, last: Option<u64>) -> Assembly {
        Assembly {
            object,
            reorder: ReorderBuffer::new(first),
            end: FinalSegment::new(last),
            unverified: BTreeMap::new(),
            wanted: None,
            refused: BTreeMap::new(),
            has_refused: false,
            absent: None,
            has_failed: false,
            failure: None,
            bytes: 0,
            signature: None,
        }
    }

    /// The object.
    pub fn object(&self) -> &Name {
        &self.object
    }

    /// The next segment to deliver.
    pub fn next(&self) -> u64 {
        self.reorder.next()
    }

    /// The last segment, if known.
    pub fn last(&self) -> Option<u64> {
        self.end.last()
    }

    /// The segment from which on nothing should be requested, as far as valid Data tell: the one after the last, or,
    /// while that is unknown, the first that the producer declared absent.
    pub fn amount(&self) -> Option<u64> {
        self.end.last().map(|last| last.saturating_add(1)).or(self.absent)
    }

    /// Returns whether Data were rejected. The consumer may have believed their FinalBlockId.
    pub fn has_refused(&self) -> bool {
        self.has_refused
    }

    /// Number of delivered bytes of content.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Signature type of the content received so far: [`SignatureType::DigestSha256`] only if all of it has a digest.
    pub fn signature(&self) -> Option<SignatureType> {
        self.signature
    }

    /// Number of held segments: those that arrived out of order, or before their certificate.
    pub fn held(&self) -> usize {
        self.reorder.held() + self.unverified.len()
    }

    /// Returns whether everything has been delivered.
    pub fn is_complete(&self) -> bool {
        self.end.last().is_some_and(|last| self.reorder.next() > last)
    }

    /// Returns whether an error occurred.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Returns the error once.
    ///
    /// # Errors
    /// Returns [`GetError`] if a Data was inconsistent or the callback stopped the fetch.
    pub fn failure(&mut self) -> Result<(), GetError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Returns whether a certificate is needed, or a rejected segment must be requested again.
    pub fn wants_more(&self) -> bool {
        self.wanted.is_some() || !self.refused.is_empty() && !self.is_complete()
    }

    /// Removes and returns the first rejected segment and the reason. It may be requested again.
    pub fn take_refused(&mut self) -> Option<(u64, Reason)> {
        self.refused.pop_first()
    }

    /// Removes and returns the certificate that is needed or searched for: a [`Step::Wants`] or [`Step::Seeks`].
    pub fn take_wanted(&mut self) -> Option<Step> {
        self.wanted.take()
    }

    /// Takes a Data for this segment, and delivers all content that is now in order.
    pub fn take(
        &mut self,
        segment: u64,
        wire: &[u8],
        (validator, now): (&mut Validator, Moment),
        deliver: &mut Each<'_>,
    ) {
        if self.has_failed {
            return;
        }
        match validator.check(wire, now) {
            Step::Valid => {
                self.unverified.remove(&segment);
                self.refused.remove(&segment);
                if let Err(error) = self.hand_on(segment, wire, deliver) {
                    self.fail(error);
                }
            }
            // A valid segment stays valid.
            Step::Invalid(reason) if !self.reorder.has(segment) => {
                self.refused.insert(segment, reason);
                self.has_refused = true;
            }
            Step::Invalid(_) => {}
            wanted @ (Step::Wants(_) | Step::Seeks(_)) => {
                self.keep(segment, wire);
                self.wanted.get_or_insert(wanted);
            }
        }
    }

    /// Keeps a Data until its certificate arrives. Does nothing if the segment has already arrived.
    pub fn keep(&mut self, segment: u64, wire: &[u8]) {
        if !self.reorder.has(segment) && !self.has_failed {
            self.unverified.entry(segment).or_insert_with(|| wire.to_vec());
        }
    }

    /// Verifies the kept Data again.
    pub fn verify_kept(&mut self, validator: &mut Validator, now: Moment, deliver: &mut Each<'_>) {
        for (segment, wire) in core::mem::take(&mut self.unverified) {
            self.take(segment, &wire, (validator, now), deliver);
        }
    }

    fn fail(&mut self, error: GetError) {
        self.has_failed = true;
        self.failure = Some(error);
        self.unverified.clear();
        self.refused.clear();
    }

    /// Takes a valid segment.
    fn hand_on(&mut self, segment: u64, wire: &[u8], deliver: &mut Each<'_>) -> Result<(), GetError> {
        let data = Data::decode(wire).expect("a Data that was verified can be read");
        if data.meta.content_type == Some(ContentType::Nack) {
            self.absent = self.absent.map_or(Some(segment), |absent| Some(absent.min(segment)));
            return self.miss_absent();
        }
        let signature = weakest(self.signature, data.signature.info.typ);
        self.signature = Some(signature);
        self.end.hear(&self.object, segment, &data)?;
        let mut stopped = false;
        self.reorder.put(segment, data.payload(), &mut |segment, content| {
            if !stopped {
                self.bytes += content.len() as u64;
                stopped = deliver(Progress::Content { segment, content, signature }).is_break();
            }
        });
        if stopped { Err(GetError::Stopped) } else { self.miss_absent() }
    }

    /// Fails if a segment is needed that the producer declared absent. While the end is unknown, segments beyond it may
    /// have been requested.
    fn miss_absent(&self) -> Result<(), GetError> {
        let Some(absent) = self.absent else { return Ok(()) };
        let is_wanted = match self.end.last() {
            Some(last) => absent <= last,
            None => absent == self.reorder.next(),
        };
        if is_wanted { Err(GetError::Absent(self.object.clone().with_segment(absent))) } else { Ok(()) }
    }
}
