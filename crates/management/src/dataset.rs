//! Status datasets, and the filter of `faces/query`.

use weir_packet::tlv::{Element, Reader, put_nni_element, types};
use weir_packet::{Name, NameRef};

use crate::parameters::put_number;
use crate::status::{
    CsInfo, FaceCounters, FaceEventKind, FaceFlags, FaceNumber, FacePersistency, FaceScope, FaceStatus,
    FibStatus, GeneralStatus, LinkType, NextHopStatus, StrategyStatus,
};
use crate::tlv::{
    BASE_CONGESTION_MARKING_INTERVAL, COST, DEFAULT_CONGESTION_THRESHOLD, EXPIRATION_PERIOD, FACE_ID, FLAGS,
    LOCAL_URI, MTU, Malformed, ORIGIN, STRATEGY, URI, choice, inner_name, missing, put_inner_name,
    put_nested, put_text, text,
};

/// TLV-TYPE of FaceStatus, of ForwarderStatus's first field, and of CsInfo, FibEntry, RibEntry and StrategyChoice.
const ENTRY: u32 = 128;

/// Decodes every element of a dataset whose entries have the type `typ`.
fn entries<T>(
    content: &[u8],
    typ: u32,
    each: impl Fn(&Element<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut reader = Reader::new(content);
    let mut found = Vec::new();
    while let Some(element) = reader.element()? {
        if element.typ == typ {
            found.push(each(&element)?);
        } else {
            element.ignore()?;
        }
    }
    Ok(found)
}

fn name(field: &Element<'_>) -> Result<Name, Malformed> {
    Ok(NameRef::from_element(field)?.to_name())
}

mod face_types {
    pub const FACE_SCOPE: u32 = 132;
    pub const FACE_PERSISTENCY: u32 = 133;
    pub const LINK_TYPE: u32 = 134;
    pub const IN_INTERESTS: u32 = 144;
    pub const IN_DATA: u32 = 145;
    pub const OUT_INTERESTS: u32 = 146;
    pub const OUT_DATA: u32 = 147;
    pub const IN_BYTES: u32 = 148;
    pub const OUT_BYTES: u32 = 149;
    pub const IN_NACKS: u32 = 151;
    pub const OUT_NACKS: u32 = 152;
    /// Weir's own fields follow the others and are in the range for applications. Their numbers are even, so other
    /// software ignores them.
    pub const UP: u32 = 40_000;
    pub const SEND_RATE: u32 = 40_002;
    pub const QUEUED_PACKETS: u32 = 40_004;
    pub const QUEUED_BYTES: u32 = 40_006;
    pub const IN_MALFORMED: u32 = 40_008;
    pub const OUT_DROPPED: u32 = 40_010;
    pub const IN_REMARKED: u32 = 40_012;
    pub const IN_REFUSED: u32 = 40_014;
    pub const IN_OVER_RATE: u32 = 40_016;
}
use face_types as ft;

/// A face in a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedFace {
    /// The face. Values that the forwarder does not report are 0 or `None`. If it does not report whether the face is
    /// up, the face counts as up.
    pub status: FaceStatus,
    /// Whether the forwarder reported Weir's own fields: up or down, rate, queue, malformed and dropped packets.
    pub has_queue: bool,
}

/// Appends an entry of `faces/list`.
pub fn encode_face(face: &FaceStatus, out: &mut Vec<u8>) {
    put_nested(out, ENTRY, |out| {
        put_nni_element(out, FACE_ID, face.number);
        put_text(out, URI, &face.remote);
        put_text(out, LOCAL_URI, &face.local);
        put_number(out, EXPIRATION_PERIOD, face.expires_in_ms);
        put_kind(out, face);
        put_number(out, BASE_CONGESTION_MARKING_INTERVAL, face.base_congestion_marking_interval_ns);
        put_number(out, DEFAULT_CONGESTION_THRESHOLD, face.default_congestion_threshold);
        put_number(out, MTU, face.mtu);
        put_packets(out, &face.counters);
        put_nni_element(out, ft::IN_BYTES, face.counters.in_bytes);
        put_nni_element(out, ft::OUT_BYTES, face.counters.out_bytes);
        put_nni_element(out, FLAGS, face.flags.bits());
        put_nni_element(out, ft::UP, u64::from(face.up));
        put_number(out, ft::SEND_RATE, face.send_rate_bps);
        put_nni_element(out, ft::QUEUED_PACKETS, face.queued_packets);
        put_nni_element(out, ft::QUEUED_BYTES, face.queued_bytes);
        put_nni_element(out, ft::IN_MALFORMED, face.counters.in_malformed);
        put_nni_element(out, ft::OUT_DROPPED, face.counters.out_dropped);
        put_policy(out, &face.counters);
    });
}

/// Appends FaceScope, FacePersistency and LinkType.
fn put_kind(out: &mut Vec<u8>, face: &FaceStatus) {
    put_nni_element(out, ft::FACE_SCOPE, face.scope as u64);
    put_nni_element(out, ft::FACE_PERSISTENCY, face.persistency as u64);
    put_nni_element(out, ft::LINK_TYPE, face.link_type as u64);
}

fn put_packets(out: &mut Vec<u8>, counters: &FaceCounters) {
    put_nni_element(out, ft::IN_INTERESTS, counters.in_interests);
    put_nni_element(out, ft::IN_DATA, counters.in_data);
    put_nni_element(out, ft::IN_NACKS, counters.in_nacks);
    put_nni_element(out, ft::OUT_INTERESTS, counters.out_interests);
    put_nni_element(out, ft::OUT_DATA, counters.out_data);
    put_nni_element(out, ft::OUT_NACKS, counters.out_nacks);
}

/// Appends counters of the policies on service classes, in Weir's own fields.
fn put_policy(out: &mut Vec<u8>, counters: &FaceCounters) {
    put_nni_element(out, ft::IN_REMARKED, counters.in_remarked);
    put_nni_element(out, ft::IN_REFUSED, counters.in_refused);
    put_nni_element(out, ft::IN_OVER_RATE, counters.in_over_rate);
}

/// Reads a counter of packets. Returns whether the field is one.
fn take_packets(counters: &mut FaceCounters, field: &Element<'_>) -> Result<bool, Malformed> {
    let counter = match field.typ {
        ft::IN_INTERESTS => &mut counters.in_interests,
        ft::IN_DATA => &mut counters.in_data,
        ft::IN_NACKS => &mut counters.in_nacks,
        ft::OUT_INTERESTS => &mut counters.out_interests,
        ft::OUT_DATA => &mut counters.out_data,
        ft::OUT_NACKS => &mut counters.out_nacks,
        ft::IN_REMARKED => &mut counters.in_remarked,
        ft::IN_REFUSED => &mut counters.in_refused,
        ft::IN_OVER_RATE => &mut counters.in_over_rate,
        _ => return Ok(false),
    };
    *counter = field.nni()?;
    Ok(true)
}

/// A face of which only the number is known.
fn blank_face(number: FaceNumber) -> FaceStatus {
    FaceStatus {
        number,
        remote: String::new(),
        local: String::new(),
        scope: FaceScope::NonLocal,
        persistency: FacePersistency::Persistent,
        link_type: LinkType::PointToPoint,
        flags: FaceFlags::from_bits(0),
        up: true,
        mtu: None,
        base_congestion_marking_interval_ns: None,
        default_congestion_threshold: None,
        expires_in_ms: None,
        send_rate_bps: None,
        queued_packets: 0,
        queued_bytes: 0,
        counters: FaceCounters::default(),
    }
}

/// Decodes `faces/list` or `faces/query`.
///
/// # Errors
/// Returns [`Malformed`] if the content is malformed.
pub fn decode_faces(content: &[u8]) -> Result<Vec<ListedFace>, Malformed> {
    entries(content, ENTRY, |entry| {
        let mut number = None;
        let mut found = ListedFace { status: blank_face(0), has_queue: false };
        let mut reader = entry.reader();
        while let Some(field) = reader.element()? {
            match field.typ {
                FACE_ID => number = Some(field.nni()?),
                _ => take_face_field(&mut found, &field)?,
            }
        }
        found.status.number = number.ok_or_else(|| missing(FACE_ID, entry))?;
        Ok(found)
    })
}

fn take_face_field(found: &mut ListedFace, field: &Element<'_>) -> Result<(), Malformed> {
    let face = &mut found.status;
    match field.typ {
        URI => face.remote = text(field)?,
        LOCAL_URI => face.local = text(field)?,
        EXPIRATION_PERIOD => face.expires_in_ms = Some(field.nni()?),
        ft::FACE_SCOPE => face.scope = choice(field, FaceScope::from_value)?,
        ft::FACE_PERSISTENCY => face.persistency = choice(field, FacePersistency::from_value)?,
        ft::LINK_TYPE => face.link_type = choice(field, LinkType::from_value)?,
        BASE_CONGESTION_MARKING_INTERVAL => face.base_congestion_marking_interval_ns = Some(field.nni()?),
        DEFAULT_CONGESTION_THRESHOLD => face.default_congestion_threshold = Some(field.nni()?),
        MTU => face.mtu = Some(field.nni()?),
        ft::IN_BYTES => face.counters.in_bytes = field.nni()?,
        ft::OUT_BYTES => face.counters.out_bytes = field.nni()?,
        FLAGS => face.flags = FaceFlags::from_bits(field.nni()?),
        ft::UP => {
            face.up = field.nni()? != 0;
            found.has_queue = true;
        }
        ft::SEND_RATE => face.send_rate_bps = Some(field.nni()?),
        ft::QUEUED_PACKETS => face.queued_packets = field.nni()?,
        ft::QUEUED_BYTES => face.queued_bytes = field.nni()?,
        ft::IN_MALFORMED => face.counters.in_malformed = field.nni()?,
        ft::OUT_DROPPED => face.counters.out_dropped = field.nni()?,
        _ if take_packets(&mut face.counters, field)? => {}
        _ => field.ignore()?,
    }
    Ok(())
}

const CHANNEL_STATUS: u32 = 130;

/// Appends an entry of `faces/channels`.
pub fn encode_channel(local: &str, out: &mut Vec<u8>) {
    put_nested(out, CHANNEL_STATUS, |out| put_text(out, LOCAL_URI, local));
}

/// Decodes `faces/channels`: local URIs.
///
/// # Errors
/// Returns [`Malformed`] if the content is malformed.
pub fn decode_channels(content: &[u8]) -> Result<Vec<String>, Malformed> {
    entries(content, CHANNEL_STATUS, |entry| text(&entry.reader().expect(LOCAL_URI)?))
}

const FACE_QUERY_FILTER: u32 = 150;
const URI_SCHEME: u32 = 131;

/// The filter of `faces/query`. It selects the faces that match all given fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaceQueryFilter {
    /// Number.
    pub face: Option<FaceNumber>,
    /// Scheme of either URI, such as `udp4`.
    pub scheme: Option<String>,
    /// Remote URI.
    pub uri: Option<String>,
    /// Local URI.
    pub local_uri: Option<String>,
    /// Scope.
    pub scope: Option<FaceScope>,
    /// Persistency.
    pub persistency: Option<FacePersistency>,
    /// Link type.
    pub link_type: Option<LinkType>,
}

impl FaceQueryFilter {
    /// Returns whether a face matches the filter.
    pub fn matches(&self, face: &FaceStatus) -> bool {
        fn admits<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        let has_scheme = |scheme: &String| {
            let ends = [&face.remote, &face.local];
            ends.iter().any(|uri| uri.split_once("://").is_some_and(|(found, _)| found == scheme))
        };
        admits(self.face.as_ref(), &face.number)
            && self.scheme.as_ref().is_none_or(has_scheme)
            && admits(self.uri.as_ref(), &face.remote)
            && admits(self.local_uri.as_ref(), &face.local)
            && admits(self.scope.as_ref(), &face.scope)
            && admits(self.persistency.as_ref(), &face.persistency)
            && admits(self.link_type.as_ref(), &face.link_type)
    }

    /// Decodes exactly one FaceQueryFilter element.
    ///
    /// # Errors
    /// Returns [`Malformed`] if it is malformed.
    pub fn decode(wire: &[u8]) -> Result<FaceQueryFilter, Malformed> {
        let mut reader = Reader::new(wire);
        let outer = reader.expect(FACE_QUERY_FILTER)?;
        reader.finish()?;
        let mut filter = FaceQueryFilter::default();
        let mut reader = outer.reader();
        while let Some(field) = reader.element()? {
            match field.typ {
                FACE_ID => filter.face = Some(field.nni()?),
                URI_SCHEME => filter.scheme = Some(text(&field)?),
                URI => filter.uri = Some(text(&field)?),
                LOCAL_URI => filter.local_uri = Some(text(&field)?),
                ft::FACE_SCOPE => filter.scope = Some(choice(&field, FaceScope::from_value)?),
                ft::FACE_PERSISTENCY => {
                    filter.persistency = Some(choice(&field, FacePersistency::from_value)?);
                }
                ft::LINK_TYPE => filter.link_type = Some(choice(&field, LinkType::from_value)?),
                _ => field.ignore()?,
            }
        }
        Ok(filter)
    }

    /// Appends the FaceQueryFilter element.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, FACE_QUERY_FILTER, |out| {
            put_number(out, FACE_ID, self.face);
            for (typ, value) in [(URI_SCHEME, &self.scheme), (URI, &self.uri), (LOCAL_URI, &self.local_uri)] {
                if let Some(value) = value {
                    put_text(out, typ, value);
                }
            }
            put_number(out, ft::FACE_SCOPE, self.scope.map(|scope| scope as u64));
            put_number(out, ft::FACE_PERSISTENCY, self.persistency.map(|persistency| persistency as u64));
            put_number(out, ft::LINK_TYPE, self.link_type.map(|link_type| link_type as u64));
        });
    }
}

const FACE_EVENT_NOTIFICATION: u32 = 192;
const FACE_EVENT_KIND: u32 = 193;

/// A notification about a face.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceEvent {
    /// The event.
    pub kind: FaceEventKind,
    /// The face: number, URIs, scope, persistency, link type and flags. Other fields are empty.
    pub face: FaceStatus,
}

/// Appends a FaceEventNotification.
pub fn encode_face_event(kind: FaceEventKind, face: &FaceStatus, out: &mut Vec<u8>) {
    put_nested(out, FACE_EVENT_NOTIFICATION, |out| {
        put_nni_element(out, FACE_EVENT_KIND, kind as u64);
        put_nni_element(out, FACE_ID, face.number);
        put_text(out, URI, &face.remote);
        put_text(out, LOCAL_URI, &face.local);
        put_kind(out, face);
        put_nni_element(out, FLAGS, face.flags.bits());
    });
}

/// Decodes a FaceEventNotification.
///
/// # Errors
/// Returns [`Malformed`] if it is malformed.
pub fn decode_face_event(content: &[u8]) -> Result<FaceEvent, Malformed> {
    let mut reader = Reader::new(content);
    let outer = reader.expect(FACE_EVENT_NOTIFICATION)?;
    let mut fields = outer.reader();
    let kind = choice(&fields.expect(FACE_EVENT_KIND)?, FaceEventKind::from_value)?;
    let number = fields.expect(FACE_ID)?.nni()?;
    let mut found = ListedFace { status: blank_face(number), has_queue: false };
    while let Some(field) = fields.element()? {
        take_face_field(&mut found, &field)?;
    }
    Ok(FaceEvent { kind, face: found.status })
}

const NEXT_HOP_RECORD: u32 = 129;
/// Weir's own field: the next hop is silent.
const SILENT: u32 = 40_026;

/// Appends an entry of `fib/list`.
pub fn encode_fib_entry(entry: &FibStatus, out: &mut Vec<u8>) {
    put_nested(out, ENTRY, |out| {
        entry.prefix.view().encode(out);
        for &NextHopStatus { face, cost, silent } in &entry.next_hops {
            put_nested(out, NEXT_HOP_RECORD, |out| {
                put_nni_element(out, FACE_ID, face);
                put_nni_element(out, COST, cost);
                if silent {
                    put_nested(out, SILENT, |_| {});
                }
            });
        }
    });
}

/// Decodes `fib/list`.
///
/// # Errors
/// Returns [`Malformed`] if the content is malformed.
pub fn decode_fib(content: &[u8]) -> Result<Vec<FibStatus>, Malformed> {
    entries(content, ENTRY, |entry| {
        let mut fields = entry.reader();
        let prefix = name(&fields.expect(types::NAME)?)?;
        let next_hops = entries(fields.rest(), NEXT_HOP_RECORD, |record| {
            let mut fields = record.reader();
            let (face, cost) = (fields.expect(FACE_ID)?.nni()?, fields.expect(COST)?.nni()?);
            let mut silent = false;
            while let Some(field) = fields.element()? {
                match field.typ {
                    SILENT => silent = true,
                    _ => field.ignore()?,
                }
            }
            Ok(NextHopStatus { face, cost, silent })
        })?;
        Ok(FibStatus { prefix, next_hops })
    })
}

/// A route of a RIB entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteStatus {
    /// Next hop.
    pub face: FaceNumber,
    /// Origin: see [`origin`](crate::origin).
    pub origin: u64,
    /// Cost.
    pub cost: u64,
    /// Options.
    pub flags: RouteFlags,
    /// Time until the route is removed, ms; `None` if it stays.
    pub expires_in_ms: Option<u64>,
}

/// Options of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteFlags {
    /// Child-inherit: longer prefixes with their own routes also use this one.
    pub child_inherit: bool,
    /// Capture: this prefix and longer ones do not use routes of shorter prefixes.
    pub capture: bool,
}

/// The protocol's default: child-inherit.
impl Default for RouteFlags {
    fn default() -> RouteFlags {
        RouteFlags { child_inherit: true, capture: false }
    }
}

impl RouteFlags {
    /// The bits of the Flags field.
    pub const fn bits(self) -> u64 {
        self.child_inherit as u64 | (self.capture as u64) << 1
    }

    /// The options for these bits. Other bits are ignored.
    pub const fn from_bits(bits: u64) -> RouteFlags {
        RouteFlags { child_inherit: bits & 1 != 0, capture: bits & 2 != 0 }
    }
}

/// A RIB entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RibStatus {
    /// The prefix.
    pub prefix: Name,
    /// Its routes.
    pub routes: Vec<RouteStatus>,
}

const ROUTE: u32 = 129;

/// Appends an entry of `rib/list`.
pub fn encode_rib_entry(entry: &RibStatus, out: &mut Vec<u8>) {
    put_nested(out, ENTRY, |out| {
        entry.prefix.view().encode(out);
        for route in &entry.routes {
            put_nested(out, ROUTE, |out| {
                put_nni_element(out, FACE_ID, route.face);
                put_nni_element(out, ORIGIN, route.origin);
                put_nni_element(out, COST, route.cost);
                put_nni_element(out, FLAGS, route.flags.bits());
                put_number(out, EXPIRATION_PERIOD, route.expires_in_ms);
            });
        }
    });
}

/// Decodes `rib/list`.
///
/// # Errors
/// Returns [`Malformed`] if the content is malformed.
pub fn decode_rib(content: &[u8]) -> Result<Vec<RibStatus>, Malformed> {
    entries(content, ENTRY, |entry| {
        let mut fields = entry.reader();
        let prefix = name(&fields.expect(types::NAME)?)?;
        Ok(RibStatus { prefix, routes: entries(fields.rest(), ROUTE, decode_route)? })
    })
}

fn decode_route(element: &Element<'_>) -> Result<RouteStatus, Malformed> {
    let mut fields = element.reader();
    let face = fields.expect(FACE_ID)?.nni()?;
    let origin = fields.expect(ORIGIN)?.nni()?;
    let cost = fields.expect(COST)?.nni()?;
    let flags = RouteFlags::from_bits(fields.expect(FLAGS)?.nni()?);
    let mut route = RouteStatus { face, origin, cost, flags, expires_in_ms: None };
    while let Some(field) = fields.element()? {
        match field.typ {
            EXPIRATION_PERIOD => route.expires_in_ms = Some(field.nni()?),
            _ => field.ignore()?,
        }
    }
    Ok(route)
}

/// Appends an entry of `strategy-choice/list`.
pub fn encode_strategy_choice(choice: &StrategyStatus, out: &mut Vec<u8>) {
    put_nested(out, ENTRY, |out| {
        choice.prefix.view().encode(out);
        put_inner_name(out, STRATEGY, &choice.strategy);
    });
}

/// Decodes `strategy-choice/list`.
///
/// # Errors
/// Returns [`Malformed`] if the content is malformed.
pub fn decode_strategy_choices(content: &[u8]) -> Result<Vec<StrategyStatus>, Malformed> {
    entries(content, ENTRY, |entry| {
        let mut fields = entry.reader();
        let prefix = name(&fields.expect(types::NAME)?)?;
        Ok(StrategyStatus { prefix, strategy: inner_name(&fields.expect(STRATEGY)?)? })
    })
}

mod cs_types {
    pub const HITS: u32 = 129;
    pub const MISSES: u32 = 130;
    pub const CAPACITY: u32 = 131;
    pub const ENTRIES: u32 = 135;
    pub const ADMIT: u64 = 1;
    pub const SERVE: u64 = 2;
}
use cs_types as ct;

/// The bits of a content store's options.
pub const fn cs_flags(admit: bool, serve: bool) -> u64 {
    (if admit { ct::ADMIT } else { 0 }) | (if serve { ct::SERVE } else { 0 })
}

/// The requested changes of the options admit and serve.
pub const fn cs_options(flags: u64, mask: u64) -> (Option<bool>, Option<bool>) {
    const fn option(flags: u64, mask: u64, bit: u64) -> Option<bool> {
        if mask & bit == 0 { None } else { Some(flags & bit != 0) }
    }
    (option(flags, mask, ct::ADMIT), option(flags, mask, ct::SERVE))
}

/// Appends `cs/info`.
pub fn encode_cs_info(info: &CsInfo, out: &mut Vec<u8>) {
    put_nested(out, ENTRY, |out| {
        put_nni_element(out, ct::CAPACITY, info.capacity);
        put_nni_element(out, FLAGS, cs_flags(info.admit, info.serve));
        put_nni_element(out, ct::ENTRIES, info.entries);
        put_nni_element(out, ct::HITS, info.hits);
        put_nni_element(out, ct::MISSES, info.misses);
    });
}

/// Decodes `cs/info`.
///
/// # Errors
/// Returns [`Malformed`] if the content is malformed.
pub fn decode_cs_info(content: &[u8]) -> Result<CsInfo, Malformed> {
    let outer = Reader::new(content).expect(ENTRY)?;
    let mut info = CsInfo::default();
    let mut fields = outer.reader();
    while let Some(field) = fields.element()? {
        match field.typ {
            ct::CAPACITY => info.capacity = field.nni()?,
            FLAGS => {
                let flags = field.nni()?;
                (info.admit, info.serve) = (flags & ct::ADMIT != 0, flags & ct::SERVE != 0);
            }
            ct::ENTRIES => info.entries = field.nni()?,
            ct::HITS => info.hits = field.nni()?,
            ct::MISSES => info.misses = field.nni()?,
            _ => field.ignore()?,
        }
    }
    Ok(info)
}

mod general_types {
    pub const VERSION: u32 = 128;
    pub const STARTED: u32 = 129;
    pub const NOW: u32 = 130;
    pub const NAME_TREE_ENTRIES: u32 = 131;
    pub const FIB_ENTRIES: u32 = 132;
    pub const PIT_ENTRIES: u32 = 133;
    pub const MEASUREMENTS_ENTRIES: u32 = 134;
    pub const CS_ENTRIES: u32 = 135;
    pub const SATISFIED: u32 = 153;
    pub const UNSATISFIED: u32 = 154;
    /// Weir's own fields, like those of faces.
    pub const LOST_DATAGRAMS: u32 = 40_018;
    pub const REFUSED_CONNECTIONS: u32 = 40_020;
    pub const FILE_ERRORS: u32 = 40_022;
    pub const REASSEMBLY_FAILURES: u32 = 40_024;
}
use general_types as gt;

/// Appends `status/general`. The numbers of entries in tables that Weir does not have (name tree, measurements) are 0.
pub fn encode_general(general: &GeneralStatus, out: &mut Vec<u8>) {
    put_text(out, gt::VERSION, &general.version);
    put_nni_element(out, gt::STARTED, general.started_ms);
    put_nni_element(out, gt::NOW, general.now_ms);
    put_nni_element(out, gt::NAME_TREE_ENTRIES, 0);
    put_nni_element(out, gt::FIB_ENTRIES, general.fib_entries);
    put_nni_element(out, gt::PIT_ENTRIES, general.pit_entries);
    put_nni_element(out, gt::MEASUREMENTS_ENTRIES, 0);
    put_nni_element(out, gt::CS_ENTRIES, general.cs_entries);
    put_packets(out, &general.counters);
    put_nni_element(out, gt::SATISFIED, general.satisfied_interests);
    put_nni_element(out, gt::UNSATISFIED, general.unsatisfied_interests);
    put_policy(out, &general.counters);
    put_nni_element(out, gt::LOST_DATAGRAMS, general.losses.datagrams);
    put_nni_element(out, gt::REFUSED_CONNECTIONS, general.losses.connections);
    put_nni_element(out, gt::FILE_ERRORS, general.losses.files);
    put_nni_element(out, gt::REASSEMBLY_FAILURES, general.losses.reassembly);
}

/// Decodes `status/general`. It does not contain bytes, malformed and dropped packets: these are 0.
///
/// # Errors
/// Returns [`Malformed`] if the content is malformed.
pub fn decode_general(content: &[u8]) -> Result<GeneralStatus, Malformed> {
    let mut fields = Reader::new(content);
    let version = text(&fields.expect(gt::VERSION)?)?;
    let mut general = GeneralStatus { version, ..GeneralStatus::default() };
    while let Some(field) = fields.element()? {
        match field.typ {
            gt::STARTED => general.started_ms = field.nni()?,
            gt::NOW => general.now_ms = field.nni()?,
            gt::FIB_ENTRIES => general.fib_entries = field.nni()?,
            gt::PIT_ENTRIES => general.pit_entries = field.nni()?,
            gt::CS_ENTRIES => general.cs_entries = field.nni()?,
            gt::SATISFIED => general.satisfied_interests = field.nni()?,
            gt::UNSATISFIED => general.unsatisfied_interests = field.nni()?,
            gt::LOST_DATAGRAMS => general.losses.datagrams = field.nni()?,
            gt::REFUSED_CONNECTIONS => general.losses.connections = field.nni()?,
            gt::FILE_ERRORS => general.losses.files = field.nni()?,
            gt::REASSEMBLY_FAILURES => general.losses.reassembly = field.nni()?,
            gt::NAME_TREE_ENTRIES | gt::MEASUREMENTS_ENTRIES => {}
            _ if take_packets(&mut general.counters, &field)? => {}
            _ => field.ignore()?,
        }
    }
    Ok(general)
}
