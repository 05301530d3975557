//! The flow of a packet.

use super::next_hops::route;
use super::{Node, Out};
use crate::ids::{GroupId, PrefixId};
use crate::packet::{FlowKey, PacketId};
use crate::seam::PrefixRemoved;
use crate::tables::fib::FibId;

impl Node {
    pub(super) fn end_group(&mut self, group: GroupId, out: &mut Out<'_>) {
        for prefix in self.prefixes.forget_group(group) {
            self.forget_prefix(prefix, out);
        }
    }

    /// Sets the flow of an Interest that has no PIT entry.
    pub(super) fn set_flow(&mut self, id: PacketId, out: &mut Out<'_>) {
        let group = self.group(out.pool[id].arrived_on);
        let prefix = self.flow_prefix(id, route(&self.fib, &out.pool[id]), group, out);
        let class = out.pool[id].class();
        out.pool[id].flow = FlowKey { prefix, class, group };
    }

    /// The prefix of an Interest's flow. If other prefixes are forgotten to make room for it, their flows are
    /// forgotten too.
    #[inline]
    pub(super) fn flow_prefix(
        &mut self,
        id: PacketId,
        entry: Option<FibId>,
        group: GroupId,
        out: &mut Out<'_>,
    ) -> PrefixId {
        let name = &out.pool[id].name;
        let (prefix, forgotten) = match group {
            GroupId::NONE => self.prefixes.of(name, entry),
            _ => self.prefixes.of_group(group, name, entry.map(|id| (id, self.fib.prefix_len(id)))),
        };
        for forgotten in forgotten {
            self.forget_prefix(forgotten, out);
        }
        prefix
    }

    pub(super) fn forget_prefix(&mut self, prefix: PrefixId, out: &mut Out<'_>) {
        self.round_trips.forget(prefix);
        self.strategies.each().for_each(|strategy| strategy.on_prefix_removed(prefix));
        for place in self.links_of_prefixes.take(prefix.0) {
            let (now, dropped) = (out.now, &mut self.dropped);
            let mut ev = PrefixRemoved { now, prefix, pool: out.pool, dropped };
            self.links[place as usize].link.on_prefix_removed(&mut ev);
            self.take_dropped(place, out);
        }
    }
}
