//! `fixed`: no congestion control. Consumers have a fixed window or a fixed rate, nodes use the cheapest next hop, and
//! queues are drop-tail. It is the baseline for the other schemes, and the smallest example of one.

use weir_core::parameters;
use weir_core::seam::{
    DataReceived, FlowConfig, FlowControl, Gauge, LossEvent, Permit, PermitEvent, Scheme, SendEvent,
};
use weir_core::units::{Rate, Time};

use crate::registry::Entry;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "fixed",
    title: "fixed window or rate, best route, drop-tail: no congestion control",
    citation: "none: the defaults of the core",
    parameters: Fixed::PARAMETERS,
    signals: &[],
    early_loss: false,
    sharing: None,
    build: |params| Box::new(Fixed::new(params)),
};

parameters! {
    /// The plug-in without congestion control.
    #[derive(Clone, Copy, Debug)]
    pub struct Fixed {
        /// number of pending Interests of a flow, if `rate` is 0
        window: u32 = integer("window", 1..=1 << 20) default "32"
            from "assumed: fills 10 Mb/s over 25 ms with 1 kB segments";
        /// rate of Data that a flow requests; 0: the fixed window limits it instead
        rate: Option<Rate> = rate("rate", Rate::ZERO..=Rate::from_bps(1_000_000_000_000)) default "0 b/s"
            from "assumed: off";
    }
}

impl Scheme for Fixed {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(FixedFlow { window: self.window, rate: self.rate, last_sent: None })
    }
}

#[derive(Debug)]
struct FixedFlow {
    window: u32,
    rate: Option<Rate>,
    last_sent: Option<Time>,
}

impl FlowControl for FixedFlow {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        match (self.rate, self.last_sent) {
            (Some(rate), Some(last)) => Permit::At(last + rate.time_for(ev.expected_size)),
            (Some(_), None) => Permit::Now,
            (None, _) if ev.pending < self.window => Permit::Now,
            (None, _) => Permit::Blocked,
        }
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        self.last_sent = Some(ev.now);
        0
    }

    fn on_data(&mut self, _ev: &mut DataReceived<'_>) {}

    fn on_timeout(&mut self, _ev: &mut LossEvent<'_>) {}

    fn gauge(&self) -> Gauge {
        self.rate.map_or(Gauge::Window(f64::from(self.window)), Gauge::Rate)
    }
}
