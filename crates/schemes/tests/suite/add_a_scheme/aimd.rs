//! `aimd`: routers mark Data while many packets wait. Consumers halve their window at a mark, at most once in
//! a round trip, and otherwise increase it by one Interest a round trip.
//!
//! # Deviations from the paper
//! There is no paper. It is the example of `docs/develop/add-a-scheme.md`.

use weir_core::packet::PacketId;
use weir_core::parameters;
use weir_core::seam::DropTail;
use weir_core::seam::{
    Backlog, ClearEvent, DataReceived, DequeueEvent, EnqueueEvent, FaceConfig, FlowConfig, FlowControl,
    Gauge, LossEvent, Next, Permit, PermitEvent, Queue, Scheme,
};

use crate::registry::Entry;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "aimd",
    title: "marks from long queues, additive increase, multiplicative decrease",
    citation: "none: an example",
    parameters: Aimd::PARAMETERS,
    signals: &[],
    early_loss: true,
    sharing: None,
    build: |params| Box::new(Aimd::new(params)),
};

parameters! {
    /// The plug-in, with its parameters.
    #[derive(Clone, Copy, Debug)]
    pub struct Aimd {
        /// packets waiting above which Data are marked
        mark_above: u32 = integer("mark_above", 1..=1 << 20) default "10"
            from "assumed: half of a queue of 20 packets";
        /// the part of the window that a mark leaves
        decrease: f64 = number("decrease", 0.1..=0.99) default "0.5" from "assumed: as Reno";
    }
}

impl Scheme for Aimd {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(AimdFlow { decrease: self.decrease, window: 2.0, cut_at: None })
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(MarkingQueue { packets: DropTail::new(face.limit), mark_above: self.mark_above })
    }
}

/// The flow control of a consumer.
#[derive(Debug)]
struct AimdFlow {
    decrease: f64,
    /// The largest number of pending Interests.
    window: f64,
    /// The newest segment at the last decrease. Earlier ones met the same congestion.
    cut_at: Option<u64>,
}

impl AimdFlow {
    fn cut(&mut self, segment: u64, highest_sent: u64) {
        if self.cut_at.is_none_or(|cut_at| segment > cut_at) {
            self.window = (self.window * self.decrease).max(2.0);
            self.cut_at = Some(highest_sent);
        }
    }
}

impl FlowControl for AimdFlow {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if f64::from(ev.pending) < self.window { Permit::Now } else { Permit::Blocked }
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        if ev.data.header().congestion_mark != 0 {
            self.cut(ev.segment, ev.highest_sent);
        } else if self.cut_at.is_none() {
            // Until the first mark the window doubles every round trip.
            self.window += 1.0;
        } else {
            self.window += 1.0 / self.window;
        }
    }

    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        self.cut(ev.segment, ev.highest_sent);
    }

    fn gauge(&self) -> Gauge {
        Gauge::Window(self.window)
    }
}

/// The queue of a face: drop-tail that marks.
#[derive(Debug)]
struct MarkingQueue {
    packets: DropTail,
    mark_above: u32,
}

impl Queue for MarkingQueue {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.packets.enqueue(ev, packet);
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let is_long = self.packets.backlog().packets > self.mark_above;
        let next = self.packets.dequeue(ev);
        if let Next::Packet(id) = next
            && is_long
            && ev.pool[id].is_data()
        {
            ev.pool[id].header_mut().congestion_mark = 1;
        }
        next
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.packets.clear(ev);
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}
