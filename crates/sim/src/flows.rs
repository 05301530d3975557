//! What a scenario says of its flows, in the words of the core and of the accounts: for this world and for real
//! applications alike.

use weir_core::consumer::Source;
use weir_core::name::{HashedName, TYPE_GENERIC};
use weir_core::packet::Packet;
use weir_core::packet::wire;
use weir_core::units::{Bytes, Span, Time};
use weir_measure::FlowInfo;
use weir_packet::Name;
use weir_scenario::{Flow, Scenario, SourceRate};

use crate::build::BuildError;
use crate::world::HASHER;

/// What the accounts need to know of a flow.
pub fn info(scenario: &Scenario, flow: &Flow) -> FlowInfo {
    FlowInfo {
        consumer: scenario.nodes[flow.consumer.index()].name.clone(),
        prefix: flow.prefix.clone(),
        group: flow.name.clone(),
        class: flow.class,
        start: Time::ZERO + flow.start,
    }
}

/// How much an application asks for.
pub fn source(source: SourceRate) -> Source {
    match source {
        SourceRate::Elastic => Source::Elastic,
        SourceRate::Limited(rate) => Source::Limited(rate),
        SourceRate::Unresponsive(rate) => Source::Unresponsive(rate),
    }
}

/// What an application knows of the size of its Data: that of its first segment, on the wire.
pub fn expected_size(flow: &Flow) -> Bytes {
    let mut name = name_of(&flow.prefix);
    // Cannot fail: a scenario's prefixes leave room for a segment.
    let _ = name.push(&HASHER, TYPE_GENERIC, &[0]);
    let mut data = Packet::default();
    data.name = name;
    data.content_len = flow.payload.as_u64() as u32;
    data.freshness = flow.freshness.unwrap_or(Span::ZERO);
    Bytes::new(u64::from(wire::data_len(&data)))
}

/// The scenario's measuring windows and further ones.
///
/// # Errors
/// [`BuildError::Window`]: one is not within the run.
pub fn windows(scenario: &Scenario, further: &[(Span, Span)]) -> Result<Vec<(Time, Time)>, BuildError> {
    let duration = scenario.duration;
    let own = scenario.windows.iter().map(|w| (w.from, w.to));
    let mut windows = Vec::new();
    for (from, to) in own.chain(further.iter().copied()) {
        if from >= to || to > duration {
            return Err(BuildError::Window { from, to, duration });
        }
        windows.push((Time::ZERO + from, Time::ZERO + to));
    }
    Ok(windows)
}

/// The scenario's numbers, each with where it comes from.
pub fn provenance(scenario: &Scenario) -> Vec<(String, String)> {
    let said = |setting: &weir_scenario::Setting| {
        let source = setting.source.clone()?;
        Some((format!("{} = {}", setting.path, setting.value), source))
    };
    scenario.settings.iter().filter_map(said).collect()
}

/// A prefix of a scenario: checked when the scenario was read.
pub(crate) fn name_of(uri: &str) -> HashedName {
    let name: Name = uri.parse().expect("a scenario's prefixes are checked");
    HashedName::parse(&HASHER, name.value()).expect("a scenario's prefixes are checked")
}
