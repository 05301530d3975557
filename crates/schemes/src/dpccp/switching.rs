//! The node: path switching, hop counts, and the flags of RTT probing.
//!
//! ```text
//!   Interest, RTT probing --> [face is labelled for a while] --> next hop: of the label, drawn, or by name
//!   Data, drain           <-- [face is labelled]             <-- label and hop count of the link it came by
//! ```

use weir_core::ids::FaceId;
use weir_core::packet::Packet;
use weir_core::seam::best_route::is_suppressed;
use weir_core::seam::{
    Answer, BestRoute, CachedEvent, DataOutEvent, Decision, InterestEvent, NackEvent, Strategy,
};
use weir_core::units::{Span, Time};

use super::label::Label;
use super::signals::HopsAndFlags;

/// A Data came by a face: the link adds itself to label and hop count.
#[inline]
pub(super) fn note_arrival(data: &mut Packet, face: FaceId) {
    Label::of(data).extended(face).write(data);
    HopsAndFlags::of(data).hop_added().write(data);
}

/// A node's strategy.
#[derive(Debug)]
pub(super) struct Switching {
    /// How long a face stays labelled.
    lasting: Span,
    /// Until when each face is labelled RTT-probing.
    labelled_until: Vec<Time>,
    by_name: BestRoute,
}

impl Switching {
    pub(super) fn new(lasting: Span) -> Switching {
        Switching { lasting, labelled_until: Vec::new(), by_name: BestRoute::default() }
    }

    /// An Interest came: one of RTT probing labels its face, but for that of an application, which has no queue.
    #[inline]
    fn note_probing(&mut self, interest: &Packet, local: bool, now: Time) {
        if local || !HopsAndFlags::of(interest).is_probing() {
            return;
        }
        let face = interest.arrived_on.0 as usize;
        if face >= self.labelled_until.len() {
            self.labelled_until.resize(face + 1, Time::ZERO);
        }
        self.labelled_until[face] = now + self.lasting;
    }

    #[inline]
    fn is_labelled(&self, face: FaceId, now: Time) -> bool {
        self.labelled_until.get(face.0 as usize).is_some_and(|until| *until > now)
    }
}

/// Where the label of an Interest leads, if that is one of its prefix's next hops. The hop is taken off the label; one that
/// leads nowhere is taken off as a whole, since the rest of it is of another path.
fn switched(ev: &mut InterestEvent<'_>) -> Option<FaceId> {
    let label = Label::of(ev.interest);
    if label == Label::NONE {
        return None;
    }
    let next = ev.next_hops.iter().map(|hop| hop.face).find(|face| label.names(*face));
    let rest = if next.is_some() { label.rest() } else { Label::NONE };
    rest.write(ev.interest);
    next
}

impl Strategy for Switching {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        self.note_probing(ev.interest, ev.local, ev.now);
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        if HopsAndFlags::of(ev.interest).is_exploring() && !ev.next_hops.is_empty() {
            let drawn = ev.random.below(ev.next_hops.len() as u32);
            return Decision::Forward(ev.next_hops[drawn as usize].face);
        }
        match switched(ev) {
            Some(face) => Decision::Forward(face),
            None => self.by_name.on_interest(ev),
        }
    }

    fn on_aggregated(&mut self, ev: &mut InterestEvent<'_>) {
        self.note_probing(ev.interest, ev.local, ev.now);
    }

    fn on_cached(&mut self, ev: &mut CachedEvent<'_>) {
        self.note_probing(ev.interest, ev.local, ev.now);
    }

    fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
        let mut octet = HopsAndFlags::of(ev.data);
        if !ev.local && self.is_labelled(ev.face, ev.now) {
            octet = octet.with_drain();
        }
        if ev.answer == Answer::Aggregated {
            octet = octet.with_aggregated();
        }
        if octet != HopsAndFlags::of(ev.data) {
            octet.write(ev.data);
        }
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        self.by_name.on_nack(ev)
    }

    fn on_face(&mut self, face: FaceId, _up: bool, _now: Time) {
        if let Some(until) = self.labelled_until.get_mut(face.0 as usize) {
            *until = Time::ZERO;
        }
    }
}
