//! The operations of management: a table of commands and one of datasets.

use weir_core::units::{Span, Time};
use weir_keychain::Moment;
use weir_packet::tlv::Reader;
use weir_packet::{Component, ContentType, Data, Name, NameRef};

use weir_management::{Module, origin, overview};

use super::authority::Trust;
use super::lists::{Mark, Part, fill};
use super::queries::Queries;
use super::rib::{Rib, Route};
use super::{LOCALHOP, LOCALHOST, Management, NFD, Request};
use crate::control::{Control, ControlError, Owner};
use weir_management::dataset::{
    FaceQueryFilter, RouteFlags, cs_flags, cs_options, encode_channel, encode_cs_info, encode_face,
    encode_fib_entry, encode_general, encode_rib_entry, encode_strategy_choice,
};
use weir_management::parameters::{ControlParameters, ControlResponse};
use weir_management::status::{FaceNumber, FacePersistency, FaceRequest, FaceStatus};
use weir_management::tlv::EXPIRATION_PERIOD;

/// The response of a refused command.
pub(super) type Refused = Box<ControlResponse>;
pub(super) type Outcome = Result<ControlParameters, Refused>;
type Command = fn(&mut Management, &Request<'_>, ControlParameters, &mut dyn Control) -> Outcome;
/// The function that makes a dataset.
#[derive(Clone, Copy)]
pub(super) enum Dataset {
    /// A dataset that is always short.
    AtOnce(fn(&Request<'_>, &dyn Control) -> Result<Vec<u8>, Refused>),
    /// A list that may have a million entries.
    InParts(Part),
    /// A dataset that depends on the query.
    Query(MakeAnswer),
}

/// Answers a query, if its user may send one.
type MakeAnswer = fn(&mut Queries, &Request<'_>, &dyn Control) -> Result<Vec<u8>, Refused>;

use Dataset::{AtOnce, InParts, Query};

/// Commands whose parameters are a name component.
pub(super) const COMMANDS: [(Module, &str, Command); 10] = [
    (Module::Rib, "register", register),
    (Module::Rib, "unregister", unregister),
    (Module::Faces, "update", update_face),
    (Module::Faces, "destroy", destroy_face),
    (Module::Fib, "add-nexthop", add_next_hop),
    (Module::Fib, "remove-nexthop", remove_next_hop),
    (Module::StrategyChoice, "set", set_strategy),
    (Module::StrategyChoice, "unset", unset_strategy),
    (Module::Cs, "config", configure_cs),
    (Module::Cs, "erase", erase_cs),
];

/// The command whose parameters are a prefix announcement.
pub(super) const ANNOUNCE: (Module, &str) = (Module::Rib, "announce");

/// The command whose answer may be delayed.
pub(super) const CREATE: (Module, &str) = (Module::Faces, "create");

/// The name of the notification stream for faces.
pub(super) const EVENTS: (Module, &str) = (Module::Faces, "events");

/// The verb of the dataset that depends on the query.
pub(super) const QUERY: &str = "query";

pub(super) const DATASETS: [(Module, &str, Dataset); 9] = [
    (Module::Rib, "list", InParts(list_rib)),
    (Module::Faces, "list", AtOnce(list_faces)),
    (Module::Faces, QUERY, Query(query_faces)),
    (Module::Faces, "channels", AtOnce(list_channels)),
    (Module::Fib, "list", InParts(list_fib)),
    (Module::StrategyChoice, "list", AtOnce(list_strategies)),
    (Module::Cs, "info", AtOnce(cs_info)),
    (Module::Status, "general", AtOnce(general)),
    (Module::Status, overview::VERB, AtOnce(status_overview)),
];

/// Largest number of components of a prefix, as in NFD.
const MAX_DEPTH: usize = 32;
/// Largest number of Data that one `cs/erase` erases, so that it does not delay forwarding.
const ERASE_LIMIT: u64 = 256;
/// Cost of a route from a prefix announcement, as in NFD.
const ANNOUNCED_COST: u64 = 2048;

pub(super) fn refused(code: u64, text: impl Into<String>) -> Refused {
    Box::new(ControlResponse::new(code, text))
}

fn absent(field: &str) -> Refused {
    refused(400, format!("{field} is missing"))
}

/// The response to a failed command. The codes for an unknown face and for unsuitable properties depend on the command.
fn failed(error: ControlError, no_face: u64, bad_properties: u64) -> Refused {
    let text = error.to_string();
    match error {
        ControlError::NoSuchFace => refused(no_face, text),
        ControlError::BadProperties(_) => refused(bad_properties, text),
        ControlError::FaceExists(face) => {
            Box::new(ControlResponse::new(409, text).with(ControlParameters::of_face(&face)))
        }
        ControlError::BadUri(_) => refused(400, text),
        ControlError::NoSuchStrategy(_) => refused(404, text),
        ControlError::Unsupported(_) => refused(406, text),
        ControlError::Full(_) => refused(500, text),
        ControlError::Failed(_) => refused(504, text),
    }
}

fn no_such_face(error: ControlError) -> Refused {
    failed(error, 410, 409)
}

fn prefix(parameters: &ControlParameters) -> Result<Name, Refused> {
    parameters.name.clone().ok_or_else(|| absent("Name"))
}

/// The prefix of a new table entry, checked for its length.
fn short_prefix(parameters: &ControlParameters) -> Result<Name, Refused> {
    let prefix = prefix(parameters)?;
    match prefix.len() {
        0..=MAX_DEPTH => Ok(prefix),
        len => Err(refused(414, format!("the prefix has {len} components, above {MAX_DEPTH}"))),
    }
}

/// A prefix that a request may route to a face, or remove from it. The prefixes of the forwarder's own management are reserved: a
/// face behind them could answer other users' commands. An application with rights may route `/localhop/nfd` to a neighbour whose
/// management it uses; the forwarder's own management stays a next hop. An application without rights may not register a shorter
/// prefix either, because the reserved entry could inherit its route. Names under `/localhost` do not leave the host, so a
/// neighbour may not change either.
fn free_prefix(request: &Request<'_>, prefix: Name) -> Result<Name, Refused> {
    let (first, second) = (prefix.view().component(0), prefix.view().component(1));
    let is_reserved = match (first == Some(LOCALHOST), first == Some(LOCALHOP)) {
        (false, false) => false,
        _ if !request.is_local => true,
        (true, _) => second == Some(NFD),
        _ if request.is_restricted => second.is_none_or(|second| second == NFD),
        _ => second == Some(NFD) && prefix.len() > 2,
    };
    match is_reserved {
        true => {
            Err(refused(403, format!("{prefix} is reserved: no route may be registered or removed there")))
        }
        false => Ok(prefix),
    }
}

/// Flags need the mask that says which of them are valid.
fn with_mask(parameters: &ControlParameters) -> Result<(), Refused> {
    match parameters.flags.is_some() == parameters.mask.is_some() {
        true => Ok(()),
        false => Err(refused(400, "Flags and Mask go together")),
    }
}

fn until(now: Time, period_ms: Option<u64>) -> Time {
    period_ms.map_or(Time::NEVER, |ms| now + Span::from_nanos(ms.saturating_mul(1_000_000)))
}

impl Request<'_> {
    /// The face that the parameters name. If there is none, or 0, it is the face on which the command arrived. A neighbour, or an
    /// application without rights, may only change its own faces.
    fn face(&self, parameters: &ControlParameters) -> Result<FaceNumber, Refused> {
        match parameters.face.filter(|face| *face != 0) {
            None => Ok(self.incoming.number),
            Some(face) if face == self.incoming.number => Ok(face),
            Some(_) if self.is_restricted => {
                Err(refused(403, "an application without rights may register its own face only"))
            }
            Some(face) if self.is_local => Ok(face),
            Some(_) => Err(refused(403, "a neighbour may register its own face only")),
        }
    }
}

fn register(
    management: &mut Management,
    request: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    let route = Route {
        prefix: free_prefix(request, short_prefix(&parameters)?)?,
        face: request.face(&parameters)?,
        origin: parameters.origin.unwrap_or(origin::APP),
        cost: parameters.cost.unwrap_or(0),
        flags: parameters.flags.map_or_else(RouteFlags::default, RouteFlags::from_bits),
        expires: until(request.now, parameters.expiration_period_ms),
    };
    add_route(management, request, route, parameters.expiration_period_ms, control)
}

/// Checks a route of an application without rights: its names must not belong to others, and it must not have too many routes.
fn check_registration(
    management: &Management,
    owner: Owner,
    route: &Route,
    control: &dyn Control,
) -> Result<(), Refused> {
    let Management { rib, authority, .. } = management;
    if route.prefix.is_empty() {
        return Err(refused(403, "only applications with rights may register /"));
    }
    if let Some(held) = rib.held_by_others(&route.prefix, owner, control) {
        return Err(refused(403, format!("{} is not free: somebody else has {held}", route.prefix)));
    }
    let (_, most) = authority.of_applications();
    let is_new = !rib.has(&route.prefix, route.face, route.origin);
    if is_new && rib.routes_of(owner, control) >= most {
        return Err(refused(
            403,
            format!("there are {most} registrations of this user, the most without rights"),
        ));
    }
    Ok(())
}

fn add_route(
    management: &mut Management,
    request: &Request<'_>,
    route: Route,
    expiration_period_ms: Option<u64>,
    control: &mut dyn Control,
) -> Outcome {
    if request.is_restricted {
        check_registration(management, request.owner, &route, control)?;
    }
    management.rib.add(&route, control).map_err(no_such_face)?;
    Ok(ControlParameters {
        name: Some(route.prefix),
        face: Some(route.face),
        origin: Some(route.origin),
        cost: Some(route.cost),
        flags: Some(route.flags.bits()),
        expiration_period_ms,
        ..ControlParameters::default()
    })
}

fn unregister(
    management: &mut Management,
    request: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    let (prefix, face) = (prefix(&parameters)?, request.face(&parameters)?);
    let origin = parameters.origin.unwrap_or(origin::APP);
    management.rib.remove(&prefix, face, origin, control);
    Ok(ControlParameters {
        name: Some(prefix),
        face: Some(face),
        origin: Some(origin),
        ..ControlParameters::default()
    })
}

/// Registers the prefix of a prefix announcement for the face on which it arrived.
pub(super) fn announce(
    management: &mut Management,
    request: &Request<'_>,
    trust: Trust,
    control: &mut dyn Control,
) -> Outcome {
    let wire = request.interest.application_parameters.unwrap_or_default();
    let data =
        Data::decode(wire).map_err(|error| refused(400, format!("not a prefix announcement: {error}")))?;
    let announcement =
        Announcement::of(&data).ok_or_else(|| refused(400, "this is not a prefix announcement"))?;
    management
        .authority
        .admit_data(trust, &data, wire)
        .map_err(|refusal| refused(403, format!("prefix announcement: {refusal}")))?;
    if !announcement.is_valid_at(request.wall_ms) {
        return Err(refused(403, "the prefix announcement is not valid now"));
    }
    let period = Some(announcement.expiration_period_ms);
    let route = Route {
        prefix: free_prefix(
            request,
            short_prefix(&ControlParameters {
                name: Some(announcement.prefix),
                ..ControlParameters::default()
            })?,
        )?,
        face: request.incoming.number,
        origin: origin::PREFIX_ANNOUNCEMENT,
        cost: ANNOUNCED_COST,
        flags: RouteFlags::default(),
        expires: until(request.now, period),
    };
    add_route(management, request, route, period, control)
}

/// A prefix announcement: `<prefix>/32=PA/v=…/seg=0`, with an ExpirationPeriod and perhaps a ValidityPeriod as its content.
struct Announcement {
    prefix: Name,
    expiration_period_ms: u64,
    /// First and last second, `YYYYMMDDThhmmss`, UTC.
    validity: Option<([u8; 15], [u8; 15])>,
}

impl Announcement {
    fn of(data: &Data<'_>) -> Option<Announcement> {
        use weir_packet::tlv::types::{NOT_AFTER, NOT_BEFORE, VALIDITY_PERIOD};
        let len = data.name.len().checked_sub(3)?;
        let mut last = data.name.suffix(len).components();
        let is_named = last.next() == Some(Component::keyword(b"PA"))
            && last.next()?.version().is_some()
            && last.next()?.segment() == Some(0);
        if !is_named || data.content_type() != ContentType::PrefixAnnouncement {
            return None;
        }
        let mut fields = Reader::new(data.payload());
        let expiration_period_ms = fields.expect(EXPIRATION_PERIOD).ok()?.nni().ok()?;
        let mut validity = None;
        while let Some(field) = fields.element().ok()? {
            if field.typ == VALIDITY_PERIOD {
                let mut ends = field.reader();
                let not_before = *ends.expect(NOT_BEFORE).ok()?.fixed().ok()?;
                validity = Some((not_before, *ends.expect(NOT_AFTER).ok()?.fixed().ok()?));
            } else {
                field.ignore().ok()?;
            }
        }
        Some(Announcement { prefix: data.name.prefix(len).to_name(), expiration_period_ms, validity })
    }

    fn is_valid_at(&self, wall_ms: u64) -> bool {
        // These texts compare like times.
        let now = Moment::from_unix_ms(wall_ms).text();
        self.validity.is_none_or(|(first, last)| first <= now && now <= last)
    }
}

/// Creates a face. Returns the face with this address, and whether it is new.
pub(super) fn create_face(
    parameters: &ControlParameters,
    control: &mut dyn Control,
) -> Result<(FaceStatus, bool), Refused> {
    with_mask(parameters)?;
    let persistency = parameters.persistency.unwrap_or(FacePersistency::Persistent);
    if persistency == FacePersistency::OnDemand {
        return Err(refused(406, "only incoming packets of peers create on-demand faces"));
    }
    let request = FaceRequest {
        remote: parameters.uri.clone().ok_or_else(|| absent("Uri"))?,
        local: parameters.local_uri.clone(),
        persistency,
        flags: None,
        mtu: parameters.mtu,
        base_congestion_marking_interval_ns: parameters.base_congestion_marking_interval_ns,
        default_congestion_threshold: parameters.default_congestion_threshold,
    };
    let created = match control.create_face(&request) {
        Ok(created) => created,
        Err(ControlError::FaceExists(face)) => return Ok((*face, false)),
        Err(error) => return Err(failed(error, 404, 406)),
    };
    // Flags outside the mask have the defaults of the kind, which is known only now.
    let flags = parameters.merged_flags(created.flags).filter(|flags| *flags != created.flags);
    let reliability = parameters.asked_reliability();
    if flags.is_none() && reliability.is_none() {
        return Ok((created, true));
    }
    let change = weir_management::status::FaceChange { flags, reliability, ..Default::default() };
    match control.update_face(created.number, &change) {
        Ok(updated) => Ok((updated, true)),
        Err(error) => {
            control.destroy_face(created.number);
            Err(failed(error, 404, 406))
        }
    }
}

/// The answer to a command that creates a face, when the face exists.
pub(super) fn is_there(face: &FaceStatus, is_new: bool) -> Outcome {
    match is_new {
        true => Ok(ControlParameters::of_face(face)),
        false => Err(failed(ControlError::FaceExists(Box::new(face.clone())), 404, 406)),
    }
}

fn update_face(
    _: &mut Management,
    request: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    with_mask(&parameters)?;
    let face = request.face(&parameters)?;
    let now = control.face(face).ok_or_else(|| failed(ControlError::NoSuchFace, 404, 409))?;
    match control.update_face(face, &parameters.face_change(now.flags)) {
        Ok(updated) => Ok(ControlParameters::of_properties(&updated)),
        Err(error) => {
            let is_wrong = matches!(error, ControlError::BadProperties(_));
            let refused = failed(error, 404, 409);
            let asked = ControlParameters { face: Some(face), ..parameters };
            Err(if is_wrong { Box::new(refused.with(asked)) } else { refused })
        }
    }
}

fn destroy_face(
    management: &mut Management,
    _: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    let face = parameters.face.ok_or_else(|| absent("FaceId"))?;
    if face == 0 {
        return Err(refused(400, "FaceId must not be 0"));
    }
    if control.destroy_face(face) {
        management.rib.remove_face(face, control);
    } else if control.face(face).is_some() {
        return Err(refused(409, "the forwarder's internal face cannot be destroyed"));
    }
    Ok(ControlParameters { face: Some(face), ..ControlParameters::default() })
}

fn add_next_hop(
    _: &mut Management,
    request: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    let prefix = free_prefix(request, short_prefix(&parameters)?)?;
    let face = request.face(&parameters)?;
    let cost = parameters.cost.unwrap_or(0);
    control.add_next_hop(&prefix, face, cost).map_err(no_such_face)?;
    Ok(ControlParameters {
        name: Some(prefix),
        face: Some(face),
        cost: Some(cost),
        ..ControlParameters::default()
    })
}

fn remove_next_hop(
    _: &mut Management,
    request: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    let prefix = free_prefix(request, prefix(&parameters)?)?;
    let face = request.face(&parameters)?;
    control.remove_next_hop(&prefix, face);
    Ok(ControlParameters { name: Some(prefix), face: Some(face), ..ControlParameters::default() })
}

fn set_strategy(
    _: &mut Management,
    _: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    let prefix = short_prefix(&parameters)?;
    let strategy = parameters.strategy.ok_or_else(|| absent("Strategy"))?;
    let chosen = control.set_strategy(&prefix, &strategy).map_err(no_such_face)?;
    Ok(ControlParameters { name: Some(prefix), strategy: Some(chosen), ..ControlParameters::default() })
}

fn unset_strategy(
    _: &mut Management,
    _: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    let prefix = prefix(&parameters)?;
    if prefix.is_empty() {
        return Err(refused(400, "the strategy of / cannot be unset: set another"));
    }
    control.unset_strategy(&prefix);
    Ok(ControlParameters { name: Some(prefix), ..ControlParameters::default() })
}

fn configure_cs(
    _: &mut Management,
    _: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    with_mask(&parameters)?;
    let (admit, serve) =
        cs_options(parameters.flags.unwrap_or_default(), parameters.mask.unwrap_or_default());
    control.configure_cs(parameters.capacity, admit, serve);
    let info = control.cs_info();
    Ok(ControlParameters {
        capacity: Some(info.capacity),
        flags: Some(cs_flags(info.admit, info.serve)),
        ..ControlParameters::default()
    })
}

fn erase_cs(
    _: &mut Management,
    _: &Request<'_>,
    parameters: ControlParameters,
    control: &mut dyn Control,
) -> Outcome {
    let prefix = prefix(&parameters)?;
    let wanted = parameters.count.unwrap_or(u64::MAX);
    if wanted == 0 {
        return Err(refused(400, "Count must not be 0"));
    }
    let erased = control.erase_cs(&prefix, wanted.min(ERASE_LIMIT));
    // A capacity in the answer means that there may be more; it is the limit of one command.
    let more = erased == ERASE_LIMIT && wanted > ERASE_LIMIT;
    Ok(ControlParameters {
        name: Some(prefix),
        count: Some(erased),
        capacity: more.then_some(ERASE_LIMIT),
        ..ControlParameters::default()
    })
}

fn list<T>(
    entries: impl IntoIterator<Item = T>,
    encode: impl Fn(&T, &mut Vec<u8>),
) -> Result<Vec<u8>, Refused> {
    let mut content = Vec::new();
    entries.into_iter().for_each(|entry| encode(&entry, &mut content));
    Ok(content)
}

fn list_rib(rib: &Rib, _: &dyn Control, now: Time, after: Option<&Mark>, out: &mut Vec<u8>) -> Option<Mark> {
    let after = match after {
        Some(Mark::Prefix(prefix)) => Some(&prefix[..]),
        _ => None,
    };
    let last = fill(rib.entries_after(after), out, |entry, out| {
        if let Some(status) = rib.status(entry, now) {
            encode_rib_entry(&status, out);
        }
    });
    last.map(|entry| Mark::Prefix(rib.prefix(entry).to_vec()))
}

fn list_faces(_: &Request<'_>, control: &dyn Control) -> Result<Vec<u8>, Refused> {
    list(control.faces(), encode_face)
}

fn query_faces(
    queries: &mut Queries,
    request: &Request<'_>,
    control: &dyn Control,
) -> Result<Vec<u8>, Refused> {
    let filter = request.suffix.component(0).ok_or_else(|| absent("FaceQueryFilter"))?;
    let filter = FaceQueryFilter::decode(filter.value)
        .map_err(|error| refused(400, format!("FaceQueryFilter: {error}")))?;
    // A single face needs no search.
    if let Some(number) = filter.face {
        return list(control.face(number).filter(|face| filter.matches(face)), encode_face);
    }
    let &Request { now, owner, is_restricted, .. } = request;
    if is_restricted && !queries.admits(now, owner) {
        return Err(refused(503, "too many queries of this user: wait a little, or ask for faces/list"));
    }
    let faces = control.faces();
    let looked_at = faces.len();
    let found = list(faces.into_iter().filter(|face| filter.matches(face)), encode_face)?;
    if is_restricted {
        queries.charge(now, owner, looked_at, found.len());
    }
    Ok(found)
}

fn list_channels(_: &Request<'_>, control: &dyn Control) -> Result<Vec<u8>, Refused> {
    list(control.channels(), |uri, out| encode_channel(uri, out))
}

fn list_fib(
    _: &Rib,
    control: &dyn Control,
    _: Time,
    after: Option<&Mark>,
    out: &mut Vec<u8>,
) -> Option<Mark> {
    let first = match after {
        Some(Mark::Number(number)) => number + 1,
        _ => 0,
    };
    let last = fill(first..control.fib_bound(), out, |number, out| {
        if let Some(entry) = control.fib_entry(number) {
            encode_fib_entry(&entry, out);
        }
    });
    last.map(Mark::Number)
}

fn list_strategies(_: &Request<'_>, control: &dyn Control) -> Result<Vec<u8>, Refused> {
    list(control.strategies(), encode_strategy_choice)
}

fn cs_info(_: &Request<'_>, control: &dyn Control) -> Result<Vec<u8>, Refused> {
    list([control.cs_info()], encode_cs_info)
}

fn general(_: &Request<'_>, control: &dyn Control) -> Result<Vec<u8>, Refused> {
    list([control.general()], encode_general)
}

fn status_overview(_: &Request<'_>, control: &dyn Control) -> Result<Vec<u8>, Refused> {
    serde_json::to_vec(&control.overview()).map_err(|error| refused(500, error.to_string()))
}

/// Whether a name ends like the name of an existing dataset: with a version, or with a version and a segment number.
pub(super) fn asks_for_version(suffix: NameRef<'_>) -> bool {
    let is_version = |name: NameRef<'_>| name.last().is_some_and(|last| last.version().is_some());
    let has_segment = suffix.last().is_some_and(|last| last.segment().is_some());
    is_version(suffix) || has_segment && is_version(suffix.parent())
}
