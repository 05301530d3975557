//! Requests of random traffic: consumers that come, fetch one object and leave.
//!
//! A consumer of a request has a face of its own, like an application. The face serves the next request after
//! this one has ended. So memory grows with the number of live requests, not with the total number.

use std::collections::BTreeMap;
use std::iter::Peekable;

use weir_core::consumer::{Consumer, ConsumerCounters, Source};
use weir_core::ids::FaceId;
use weir_core::random::Random;
use weir_core::seam::{FlowControl, Scheme};
use weir_core::units::Time;
use weir_experiment::{Arrival, Experiment, RequestStream, Unloaded};
use weir_scenario::{FlowId, Software};

use crate::build::{add_application, drop_signals, set_group};
use crate::world::{FaceKind, FlowApp, World};

/// A flow that is a source of requests.
pub(crate) struct RequestSource {
    stream: Peekable<RequestStream>,
    unloaded: Option<Unloaded>,
    /// Consumers whose requests have ended.
    idle: Vec<u32>,
    /// All its consumers, in the order in which they got their faces.
    apps: Vec<u32>,
    /// Counters of the consumers of ended requests.
    pub(crate) ended: ConsumerCounters,
    /// How much the application requests, if an event has changed it.
    source: Option<Source>,
    number: u64,
}

impl RequestSource {
    pub(crate) fn new(stream: RequestStream, unloaded: Option<Unloaded>) -> RequestSource {
        RequestSource {
            stream: stream.peekable(),
            unloaded,
            idle: Vec::new(),
            apps: Vec::new(),
            ended: ConsumerCounters::default(),
            source: None,
            number: 0,
        }
    }

    fn next_at(&mut self) -> Time {
        self.stream.peek().map_or(Time::NEVER, |arrival| arrival.at)
    }

    /// All its consumers: those of live requests, and idle ones.
    pub(crate) fn apps(&self) -> &[u32] {
        &self.apps
    }
}

/// The request that a consumer serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveRequest {
    came: Time,
    amount: u64,
}

/// Makes the flow controls of requests.
pub(crate) struct FlowSchemes {
    of_run: Box<dyn Scheme>,
    /// The schemes of flows that have their own, by flow.
    own: BTreeMap<u32, Box<dyn Scheme>>,
}

impl FlowSchemes {
    pub(crate) fn new(
        of_run: Box<dyn Scheme>,
        experiment: &Experiment,
        sources: impl Iterator<Item = FlowId>,
    ) -> FlowSchemes {
        let own = sources
            .filter_map(|flow| Some((flow.index() as u32, experiment.own_scheme_of_flow(flow)?.build())));
        FlowSchemes { own: own.collect(), of_run }
    }

    fn flow_control(&self, experiment: &Experiment, flow: FlowId) -> Box<dyn FlowControl> {
        let scheme = self.own.get(&(flow.index() as u32)).unwrap_or(&self.of_run);
        scheme.flow_control(&experiment.flow_config(flow))
    }
}

impl World {
    /// Returns whether a flow is a source of requests.
    #[inline]
    pub(crate) fn is_source(&self, flow: u32) -> bool {
        self.sources.get(flow as usize).is_some_and(Option::is_some)
    }

    fn source(&mut self, flow: u32) -> &mut RequestSource {
        self.sources[flow as usize].as_mut().expect("the flow is a source of requests")
    }

    pub(crate) fn schedule_source(&mut self, flow: u32) {
        let at = self.source(flow).next_at();
        self.events.set(self.flows[flow as usize].event, at);
    }

    /// Starts the next request of a source.
    pub(crate) fn request_comes(&mut self, flow: u32) {
        let source = self.source(flow);
        let Some(Arrival { at, object, amount }) = source.stream.next() else { return };
        debug_assert_eq!(at, self.now, "a request comes at its time");
        let source = self.source(flow);
        source.number += 1;
        let (number, changed) = (source.number, source.source);
        let app = self.app_of_request(flow);
        let id = FlowId(self.part.flows.number(flow));
        let mut config = self.experiment.request_consumer(id, object, amount);
        config.source = changed.unwrap_or(config.source);
        let control = self.schemes.flow_control(&self.experiment, id);
        let random = format!("request {number} of flow {}", id.index());
        let random = Random::named(self.experiment.seed(), &random);
        self.flows[app as usize].consumer = Consumer::new(config, control, random);
        self.flows[app as usize].request = Some(LiveRequest { came: self.now, amount });
        self.flows[app as usize].consumer.start(self.now);
        self.measure.on_request(flow, self.now, amount);
        self.schedule_source(flow);
        self.send_interests(app);
        self.settle(self.flows[app as usize].node);
    }

    /// A consumer for a request: an idle one, or a new one with a face of its own.
    fn app_of_request(&mut self, flow: u32) -> u32 {
        if let Some(app) = self.source(flow).idle.pop() {
            return app;
        }
        let app = self.flows.len() as u32;
        let node = self.flows[flow as usize].node;
        let at = &mut self.nodes[node as usize];
        let face = FaceId(at.faces.len() as u32);
        at.faces.push(FaceKind::Consumer(app));
        // A failed node gets all its faces when it starts again.
        if at.up {
            let added = add_application(&mut at.forwarder, self.now);
            debug_assert_eq!(face, added, "faces follow each other, since none is removed");
            let scenario = &self.experiment.scenario().nodes[self.part.nodes.number(node)];
            if scenario.software != Software::Weir {
                drop_signals(&mut at.forwarder, self.now, face);
            }
            if scenario.share_by_face {
                set_group(&mut at.forwarder, self.now, face);
            }
        }
        let event = self.events.push();
        let id = FlowId(self.part.flows.number(flow));
        // A placeholder, which the request replaces at once.
        let consumer = Consumer::new(
            self.experiment.consumer(id),
            self.schemes.flow_control(&self.experiment, id),
            Random::named(0, ""),
        );
        self.flows.push(FlowApp { consumer, node, face, event, flow, request: None });
        self.source(flow).apps.push(app);
        app
    }

    /// Handles the last Data of a request.
    pub(crate) fn request_ends(&mut self, app: u32, request: LiveRequest) {
        let FlowApp { consumer, flow, .. } = &self.flows[app as usize];
        let (counters, flow) = (*consumer.counters(), *flow);
        let took = self.now - request.came;
        let source = self.source(flow);
        add(&mut source.ended, &counters);
        source.idle.push(app);
        let alone = source.unloaded.map(|unloaded| unloaded.time(request.amount));
        self.flows[app as usize].request = None;
        self.measure.on_request_end(flow, request.came, request.amount, took, alone);
        self.events.set(self.flows[app as usize].event, Time::NEVER);
    }

    /// Stops a source. Data that its consumers wait for may still come.
    pub(crate) fn stop_requests(&mut self, flow: u32) {
        self.events.set(self.flows[flow as usize].event, Time::NEVER);
        for at in 0..self.source(flow).apps.len() {
            let app = self.source(flow).apps[at];
            self.flows[app as usize].consumer.stop();
            self.schedule_flow(app);
        }
    }

    /// Changes how much the application of a source requests, for its live requests and later ones.
    pub(crate) fn set_request_source(&mut self, flow: u32, source: Source) {
        self.source(flow).source = Some(source);
        for at in 0..self.source(flow).apps.len() {
            let app = self.source(flow).apps[at];
            if self.flows[app as usize].request.is_some() {
                self.flows[app as usize].consumer.set_source(self.now, source);
                self.schedule_flow(app);
            }
        }
    }
}

/// Adds the counters of a consumer to a sum.
pub(crate) fn add(sum: &mut ConsumerCounters, other: &ConsumerCounters) {
    sum.sent += other.sent;
    sum.delivered += other.delivered;
    sum.retransmitted += other.retransmitted;
    sum.timeouts += other.timeouts;
    sum.nacks += other.nacks;
    sum.duplicates += other.duplicates;
}
