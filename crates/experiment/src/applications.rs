//! The consumers and producers of an experiment, in the types of the core and of the counters.

use weir_core::consumer::{ConsumerConfig, REORDER_BOUND};
use weir_core::name::{HashedName, TYPE_GENERIC};
use weir_core::packet::Packet;
use weir_core::packet::wire;
use weir_core::producer::Producer;
use weir_core::seam::FlowConfig;
use weir_core::units::{Bytes, Span, Time};
use weir_measure::{FlowInfo, RequestInfo};
use weir_packet::Name;
use weir_scenario::{Flow, FlowId};

use crate::experiment::{Experiment, HASHER};

impl Experiment {
    /// Returns the data of a flow for the accounts.
    pub fn flow_info(&self, flow: FlowId) -> FlowInfo {
        let flow = &self.scenario().flows[flow.index()];
        FlowInfo {
            consumer: self.node_name(flow.consumer).to_owned(),
            prefix: flow.prefix.clone(),
            group: flow.name.clone(),
            class: flow.class,
            start: Time::ZERO + flow.start,
        }
    }

    /// Returns the data of the flows for the accounts of requests.
    pub fn request_infos(&self) -> Vec<RequestInfo> {
        let info = |flow: &Flow| RequestInfo { group: flow.name.clone(), is_source: flow.requests.is_some() };
        self.scenario().flows.iter().map(info).collect()
    }

    /// Returns the data of a flow for its flow control.
    pub fn flow_config(&self, flow: FlowId) -> FlowConfig {
        let flow = &self.scenario().flows[flow.index()];
        FlowConfig { class: flow.class, expected_size: expected_size(flow), lifetime: flow.lifetime }
    }

    /// Returns the settings of a flow's consumer.
    pub fn consumer(&self, flow: FlowId) -> ConsumerConfig {
        let early_loss = self.scheme_of_flow(flow).entry.early_loss;
        let flow = &self.scenario().flows[flow.index()];
        ConsumerConfig {
            prefix: name_of(&flow.prefix),
            hasher: HASHER,
            class: flow.class,
            first: 0,
            amount: flow.amount,
            reorder: REORDER_BOUND,
            source: flow.source,
            source_jitter: flow.source_jitter,
            lifetime: flow.lifetime,
            must_be_fresh: flow.freshness.is_some(),
            hint: None,
            expected_size: expected_size(flow),
            early_loss: flow.early_loss.unwrap_or(early_loss),
        }
    }

    /// Returns the settings of the consumer of one request, which fetches an object below the flow's prefix.
    pub fn request_consumer(&self, flow: FlowId, object: u64, amount: u64) -> ConsumerConfig {
        let mut config = ConsumerConfig { amount: Some(amount), ..self.consumer(flow) };
        add_object(&mut config.prefix, object);
        config
    }

    /// Returns the settings of a flow's producers.
    pub fn producer(&self, flow: FlowId) -> Producer {
        let flow = &self.scenario().flows[flow.index()];
        Producer {
            payload: flow.payload,
            freshness: flow.freshness.unwrap_or(Span::ZERO),
            signature: flow.signature,
        }
    }
}

/// Returns the size of Data that an application expects: that of its first segment on the wire.
fn expected_size(flow: &Flow) -> Bytes {
    let mut data = Packet::default();
    data.name = first_name(flow);
    data.content_len = flow.payload.as_u64() as u32;
    data.freshness = flow.freshness.unwrap_or(Span::ZERO);
    data.signature_len = flow.signature;
    Bytes::new(u64::from(wire::data_len(&data)))
}

/// Adds the number of an object to a name, in digits.
fn add_object(name: &mut HashedName, object: u64) {
    // This cannot fail: a scenario's prefixes leave room for an object and a segment.
    let _ = name.push(&HASHER, TYPE_GENERIC, object.to_string().as_bytes());
}

/// Returns the name of the first segment that a flow fetches, or of the first object of its requests.
fn first_name(flow: &Flow) -> HashedName {
    let mut name = name_of(&flow.prefix);
    if flow.requests.is_some() {
        add_object(&mut name, 0);
    }
    // This cannot fail: a scenario's prefixes leave room for a segment.
    let _ = name.push(&HASHER, TYPE_GENERIC, &[0]);
    name
}

/// Parses a prefix of a scenario, and hashes it with [`HASHER`]. The prefix was checked when the scenario was
/// parsed.
pub fn name_of(uri: &str) -> HashedName {
    let name: Name = uri.parse().expect("a scenario's prefixes are checked");
    HashedName::parse(&HASHER, name.value()).expect("a scenario's prefixes are checked")
}
