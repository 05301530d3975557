//! Which flow a packet belongs to.

use weir_packet::ServiceClass;

use super::{Forwarder, LinkFace, Out};
use crate::ids::PrefixId;
use crate::packet::{FlowKey, PacketId};
use crate::seam::PrefixRemoved;
use crate::tables::fib::FibId;
use crate::tables::pit::PitEntry;

impl Forwarder {
    /// The flow of an Interest that has no PIT entry.
    pub(super) fn set_flow(&mut self, id: PacketId, out: &mut Out<'_>) {
        let prefix = self.flow_prefix(id, self.fib.lookup(&out.pool[id].name), out);
        let class = out.pool[id].class();
        out.pool[id].flow = FlowKey { prefix, class };
    }

    /// The prefix of an Interest's flow. Where another is forgotten for it, so are its flows.
    #[inline]
    pub(super) fn flow_prefix(&mut self, id: PacketId, entry: Option<FibId>, out: &mut Out<'_>) -> PrefixId {
        let (prefix, forgotten) = self.prefixes.of(&out.pool[id].name, entry);
        if let Some(forgotten) = forgotten {
            self.forget_prefix(forgotten, out);
        }
        prefix
    }

    pub(super) fn forget_prefix(&mut self, prefix: PrefixId, out: &mut Out<'_>) {
        self.round_trips.forget(prefix);
        self.strategies.each().for_each(|strategy| strategy.on_prefix_removed(prefix));
        for LinkFace { face, link, .. } in &mut self.links {
            let (now, dropped) = (out.now, &mut self.dropped);
            link.on_prefix_removed(&mut PrefixRemoved { now, prefix, pool: out.pool, dropped });
            self.to_report.extend(self.dropped.drain(..).map(|dropped| (*face, dropped)));
        }
    }
}

pub(super) fn entry_flow(entry: &PitEntry) -> FlowKey {
    FlowKey { prefix: entry.prefix, class: ServiceClass::from_value(u64::from(entry.class)) }
}
