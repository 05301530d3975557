//! The parameters of commands and responses: ControlParameters and ControlResponse.

use weir_packet::tlv::{Element, Reader, put_header, put_nni_element, types};
use weir_packet::{Name, NameRef};

use crate::status::{FaceChange, FaceFlags, FaceNumber, FacePersistency, FaceStatus};
use crate::tlv::{
    BASE_CONGESTION_MARKING_INTERVAL, COST, DEFAULT_CONGESTION_THRESHOLD, EXPIRATION_PERIOD, FACE_ID, FLAGS,
    LOCAL_URI, MASK, MTU, Malformed, ORIGIN, STRATEGY, URI, choice, inner_name, put_inner_name, put_nested,
    put_text, text,
};

/// TLV-TYPE of ControlParameters.
pub const CONTROL_PARAMETERS: u32 = 104;
/// TLV-TYPE of ControlResponse.
pub const CONTROL_RESPONSE: u32 = 101;
const STATUS_CODE: u32 = 102;
const STATUS_TEXT: u32 = 103;
const CAPACITY: u32 = 131;
const COUNT: u32 = 132;
const FACE_PERSISTENCY: u32 = 133;

/// The MTU in a command that resets an earlier MTU: the face uses its own MTU again.
pub const OWN_MTU: u64 = u64::MAX;

/// ControlParameters: the parameters of a command or of its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlParameters {
    /// A prefix.
    pub name: Option<Name>,
    /// A face; 0 is the face on which the command arrived.
    pub face: Option<FaceNumber>,
    /// Remote URI of a face.
    pub uri: Option<String>,
    /// Local URI of a face.
    pub local_uri: Option<String>,
    /// Origin of a route: see [`origin`](crate::origin).
    pub origin: Option<u64>,
    /// Cost of a route or next hop.
    pub cost: Option<u64>,
    /// Capacity of the content store, packets.
    pub capacity: Option<u64>,
    /// Number of packets.
    pub count: Option<u64>,
    /// Flags; their meaning depends on the command.
    pub flags: Option<u64>,
    /// The bits of `flags` that the command changes.
    pub mask: Option<u64>,
    /// Name of a strategy.
    pub strategy: Option<Name>,
    /// Lifetime of a route, ms.
    pub expiration_period_ms: Option<u64>,
    /// Persistency of a face.
    pub persistency: Option<FacePersistency>,
    /// Time between congestion marks, ns.
    pub base_congestion_marking_interval_ns: Option<u64>,
    /// Queue length above which packets are marked, bytes.
    pub default_congestion_threshold: Option<u64>,
    /// Maximum length of a frame, bytes; [`OWN_MTU`]: what the face's path carries.
    pub mtu: Option<u64>,
}

impl ControlParameters {
    /// The URIs and settings of a face.
    pub fn of_face(face: &FaceStatus) -> ControlParameters {
        ControlParameters {
            face: Some(face.number),
            uri: Some(face.remote.clone()),
            local_uri: Some(face.local.clone()),
            ..ControlParameters::of_properties(face)
        }
    }

    /// The settings of a face.
    pub fn of_properties(face: &FaceStatus) -> ControlParameters {
        ControlParameters {
            face: Some(face.number),
            flags: Some(face.flags.bits()),
            persistency: Some(face.persistency),
            base_congestion_marking_interval_ns: face.base_congestion_marking_interval_ns,
            default_congestion_threshold: face.default_congestion_threshold,
            mtu: face.mtu,
            ..ControlParameters::default()
        }
    }

    /// The flags `now` with the bits of `mask` replaced by those of `flags`. `None` unless both are given.
    pub fn merged_flags(&self, now: FaceFlags) -> Option<FaceFlags> {
        let (flags, mask) = (self.flags?, self.mask?);
        Some(FaceFlags::from_bits(now.bits() & !mask | flags & mask))
    }

    /// The requested state of link reliability. `None` if `mask` does not contain its bit.
    pub fn asked_reliability(&self) -> Option<bool> {
        let is_asked = self.mask.is_some_and(|mask| FaceFlags::from_bits(mask).reliability);
        self.flags.filter(|_| is_asked).map(|flags| FaceFlags::from_bits(flags).reliability)
    }

    /// The requested change of a face; `now` are its current flags.
    pub fn face_change(&self, now: FaceFlags) -> FaceChange {
        FaceChange {
            persistency: self.persistency,
            flags: self.merged_flags(now),
            reliability: self.asked_reliability(),
            mtu: self.mtu,
            base_congestion_marking_interval_ns: self.base_congestion_marking_interval_ns,
            default_congestion_threshold: self.default_congestion_threshold,
        }
    }

    /// Decodes exactly one ControlParameters element.
    ///
    /// Fields may be in any order, because clients differ in the order.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the element is malformed or has an unknown critical field.
    pub fn decode(wire: &[u8]) -> Result<ControlParameters, Malformed> {
        let mut reader = Reader::new(wire);
        let outer = reader.expect(CONTROL_PARAMETERS)?;
        reader.finish()?;
        ControlParameters::from_element(&outer)
    }

    fn from_element(outer: &Element<'_>) -> Result<ControlParameters, Malformed> {
        let mut found = ControlParameters::default();
        let mut reader = outer.reader();
        while let Some(field) = reader.element()? {
            match field.typ {
                types::NAME => found.name = Some(NameRef::from_element(&field)?.to_name()),
                FACE_ID => found.face = Some(field.nni()?),
                URI => found.uri = Some(text(&field)?),
                LOCAL_URI => found.local_uri = Some(text(&field)?),
                ORIGIN => found.origin = Some(field.nni()?),
                COST => found.cost = Some(field.nni()?),
                CAPACITY => found.capacity = Some(field.nni()?),
                COUNT => found.count = Some(field.nni()?),
                FLAGS => found.flags = Some(field.nni()?),
                MASK => found.mask = Some(field.nni()?),
                STRATEGY => found.strategy = Some(inner_name(&field)?),
                EXPIRATION_PERIOD => found.expiration_period_ms = Some(field.nni()?),
                FACE_PERSISTENCY => found.persistency = Some(choice(&field, FacePersistency::from_value)?),
                BASE_CONGESTION_MARKING_INTERVAL => {
                    found.base_congestion_marking_interval_ns = Some(field.nni()?);
                }
                DEFAULT_CONGESTION_THRESHOLD => found.default_congestion_threshold = Some(field.nni()?),
                MTU => found.mtu = Some(field.nni()?),
                _ => field.ignore()?,
            }
        }
        Ok(found)
    }

    /// Appends the ControlParameters element.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, CONTROL_PARAMETERS, |out| self.encode_fields(out));
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        if let Some(name) = &self.name {
            name.view().encode(out);
        }
        put_number(out, FACE_ID, self.face);
        for (typ, uri) in [(URI, &self.uri), (LOCAL_URI, &self.local_uri)] {
            if let Some(uri) = uri {
                put_text(out, typ, uri);
            }
        }
        put_number(out, ORIGIN, self.origin);
        put_number(out, COST, self.cost);
        put_number(out, CAPACITY, self.capacity);
        put_number(out, COUNT, self.count);
        put_number(out, FLAGS, self.flags);
        put_number(out, MASK, self.mask);
        if let Some(strategy) = &self.strategy {
            put_inner_name(out, STRATEGY, strategy);
        }
        put_number(out, EXPIRATION_PERIOD, self.expiration_period_ms);
        put_number(out, FACE_PERSISTENCY, self.persistency.map(|persistency| persistency as u64));
        put_number(out, BASE_CONGESTION_MARKING_INTERVAL, self.base_congestion_marking_interval_ns);
        put_number(out, DEFAULT_CONGESTION_THRESHOLD, self.default_congestion_threshold);
        put_number(out, MTU, self.mtu);
    }
}

/// Appends a number field if `number` is given.
pub fn put_number(out: &mut Vec<u8>, typ: u32, number: Option<u64>) {
    if let Some(number) = number {
        put_nni_element(out, typ, number);
    }
}

/// ControlResponse: the result of a command, or the reason why there is no dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlResponse {
    /// Status code: 200 if the command succeeded. The protocol defines the other codes.
    pub code: u64,
    /// The result as text.
    pub text: String,
    /// The resulting parameters, or those of the error.
    pub body: Option<ControlParameters>,
}

impl ControlResponse {
    /// Creates a response without a body.
    pub fn new(code: u64, text: impl Into<String>) -> ControlResponse {
        ControlResponse { code, text: text.into(), body: None }
    }

    /// Creates a response with code 200 and the resulting parameters.
    pub fn ok(body: ControlParameters) -> ControlResponse {
        ControlResponse { code: 200, text: "OK".to_owned(), body: Some(body) }
    }

    /// Returns the response with this body.
    #[must_use]
    pub fn with(mut self, body: ControlParameters) -> ControlResponse {
        self.body = Some(body);
        self
    }

    /// Decodes exactly one ControlResponse element.
    ///
    /// # Errors
    /// Returns [`Malformed`] if it is malformed.
    pub fn decode(wire: &[u8]) -> Result<ControlResponse, Malformed> {
        let mut reader = Reader::new(wire);
        let outer = reader.expect(CONTROL_RESPONSE)?;
        reader.finish()?;
        let mut fields = outer.reader();
        let code = fields.expect(STATUS_CODE)?.nni()?;
        let mut response = ControlResponse::new(code, text(&fields.expect(STATUS_TEXT)?)?);
        while let Some(field) = fields.element()? {
            match field.typ {
                CONTROL_PARAMETERS => response.body = Some(ControlParameters::from_element(&field)?),
                // The command defines what else a body may be.
                _ => field.ignore()?,
            }
        }
        Ok(response)
    }

    /// Appends the ControlResponse element.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        put_nni_element(&mut value, STATUS_CODE, self.code);
        put_text(&mut value, STATUS_TEXT, &self.text);
        if let Some(body) = &self.body {
            body.encode(&mut value);
        }
        put_header(out, CONTROL_RESPONSE, value.len());
        out.extend_from_slice(&value);
    }
}
