//! The face: measures the hop by which Data arrive, and marks these Data.

use weir_core::packet::PacketId;
use weir_core::seam::DropTail;
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, EnqueueEvent, FaceConfig, Next, Queue, ReceiveEvent,
};

use super::measurement::{Hop, Settings};

/// A drop-tail queue whose face measures.
#[derive(Debug)]
pub(super) struct MeasuringQueue {
    packets: DropTail,
    settings: Settings,
    hop: Hop,
}

impl MeasuringQueue {
    pub(super) fn new(settings: Settings, config: &FaceConfig) -> MeasuringQueue {
        MeasuringQueue { packets: DropTail::new(config.limit), settings, hop: Hop::new(settings) }
    }
}

impl Queue for MeasuringQueue {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.packets.enqueue(ev, packet);
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.packets.dequeue(ev)
    }

    /// Keeps a mark that the Data already has.
    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        if ev.packet.is_data()
            && self.hop.marks(ev.now, ev.packet, ev.wire_len, ev.rtt)
            && ev.packet.header().congestion_mark == 0
        {
            ev.packet.header_mut().congestion_mark = 1;
        }
    }

    /// Forgets the measurements: the face now leads to another hop.
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.packets.clear(ev);
        self.hop = Hop::new(self.settings);
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}
