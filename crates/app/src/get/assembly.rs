//! The segments of an object, in the order of their arrival: verified, and delivered in order. Without sockets and
//! clocks.
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

/// What came of an object. After the first error nothing more is delivered.
#[derive(Debug)]
pub struct Assembly {
    object: Name,
    reorder: ReorderBuffer,
    end: FinalSegment,
    /// What came before its certificate; of a segment the first.
    unverified: BTreeMap<u64, Vec<u8>>,
    /// A certificate that is wanted or sought.
    wanted: Option<Step>,
    /// Segments that came and are not to be believed, and why.
    refused: BTreeMap<u64, Reason>,
    /// Whether any came.
    has_refused: bool,
    /// The first segment that the producer says is not there.
    absent: Option<u64>,
    has_failed: bool,
    failure: Option<GetError>,
    bytes: u64,
    signature: Option<SignatureType>,
}

impl Assembly {
    /// Of an object, from its segment `first` on; `last` is its last one, if that is known.
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

    /// The segment that is to be delivered next.
    pub fn next(&self) -> u64 {
        self.reorder.next()
    }

    /// The last segment, once it is known.
    pub fn last(&self) -> Option<u64> {
        self.end.last()
    }

    /// The segment to ask for none from on, as far as it is known from what is to be believed: the one behind the last,
    /// or until that is known the first that the producer says is not there.
    pub fn amount(&self) -> Option<u64> {
        self.end.last().map(|last| last.saturating_add(1)).or(self.absent)
    }

    /// Whether Data came that are not to be believed: what they said of the end may be believed elsewhere.
    pub fn has_refused(&self) -> bool {
        self.has_refused
    }

    /// Bytes of content that were delivered.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How the content is signed that came until now: [`SignatureType::DigestSha256`] only if all of it has a digest.
    pub fn signature(&self) -> Option<SignatureType> {
        self.signature
    }

    /// Segments that are held: they came before their turn, or before their certificate.
    pub fn held(&self) -> usize {
        self.reorder.held() + self.unverified.len()
    }

    /// Whether everything was delivered.
    pub fn is_complete(&self) -> bool {
        self.end.last().is_some_and(|last| self.reorder.next() > last)
    }

    /// Whether there was an error.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The error, once.
    ///
    /// # Errors
    /// [`GetError`]: of what a Data is or says.
    pub fn failure(&mut self) -> Result<(), GetError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Whether it waits for a certificate, or for a segment that was not to be believed.
    pub fn wants_more(&self) -> bool {
        self.wanted.is_some() || !self.refused.is_empty() && !self.is_complete()
    }

    /// The first segment that came and is not to be believed, and why: it may be asked for again.
    pub fn take_refused(&mut self) -> Option<(u64, Reason)> {
        self.refused.pop_first()
    }

    /// The certificate that is wanted or sought: a [`Step::Wants`] or [`Step::Seeks`].
    pub fn take_wanted(&mut self) -> Option<Step> {
        self.wanted.take()
    }

    /// Takes a Data as this segment; what its turn has come for is delivered.
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
            // What was right before stays so.
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

    /// Keeps a Data until its certificate is there, unless its segment came before.
    pub fn keep(&mut self, segment: u64, wire: &[u8]) {
        if !self.reorder.has(segment) && !self.has_failed {
            self.unverified.entry(segment).or_insert_with(|| wire.to_vec());
        }
    }

    /// Has what was kept its turn.
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

    /// A segment is to be believed.
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

    /// Whether a segment is wanted that the producer says is not there. Until the end is known, segments behind it
    /// may have been asked for.
    fn miss_absent(&self) -> Result<(), GetError> {
        let Some(absent) = self.absent else { return Ok(()) };
        let is_wanted = match self.end.last() {
            Some(last) => absent <= last,
            None => absent == self.reorder.next(),
        };
        if is_wanted { Err(GetError::Absent(self.object.clone().with_segment(absent))) } else { Ok(()) }
    }
}
