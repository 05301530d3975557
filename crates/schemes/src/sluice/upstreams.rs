//! The next hops of a flow: what they grant, and which of them is next.
//!
//! Next hops get Interests in proportion to v_u·g_u (smooth weighted round robin). v_u is 1 unless the flow needs less than
//! it may have: then it leaves the links that others need (Kelly and Voice 2005).

use smallvec::SmallVec;
use weir_core::ids::FaceId;
use weir_core::units::{Span, Time};

use super::signals::{Grant, Load};

/// A next hop that gave nothing for so long, while others did, has no part in S.
const MEMORY: Span = Span::from_secs(10);
/// After so many losses in a row a next hop grants nothing.
const LOSSES: u8 = 3;
/// A flow needs less than it may have below this part of S; a next hop has room for all of it below this part of its grant.
const NEEDS_LESS: f64 = 0.85;
const ROOM: f64 = 0.8;
/// How fast v_u moves, and its least.
const STEP: f64 = 0.1;
const LEAST_WEIGHT: f64 = 0.001;

/// A next hop.
#[derive(Clone, Copy, Debug)]
struct Upstream {
    face: FaceId,
    /// g_u; `None` if nothing came.
    grant: Option<Grant>,
    heard: Time,
    /// Of the round robin.
    credit: f64,
    losses: u8,
    rtt: Option<Span>,
    /// v_u.
    weight: f64,
}

/// The next hops of a flow.
#[derive(Debug, Default)]
pub(super) struct Upstreams(SmallVec<[Upstream; 2]>);

impl Upstreams {
    fn of(&mut self, face: FaceId) -> &mut Upstream {
        let place = self.0.iter().position(|up| up.face == face).unwrap_or_else(|| {
            let (grant, heard, credit, losses, rtt, weight) = (None, Time::ZERO, 0.0, 0, None, 1.0);
            self.0.push(Upstream { face, grant, heard, credit, losses, rtt, weight });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// S, what they grant together, bit/s: 0 if nothing came, infinite if one limits nothing.
    pub(super) fn granted(&self) -> f64 {
        let latest = self.0.iter().map(|up| up.heard).max().unwrap_or(Time::ZERO);
        let counts = |up: &&Upstream| latest.since(up.heard) <= MEMORY;
        self.0.iter().filter(counts).filter_map(|up| up.grant).map(|grant| grant.rate).sum()
    }

    /// Whether some were asked, and none has answered.
    pub(super) fn is_waiting(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|up| up.heard == Time::ZERO)
    }

    /// How full the links are that limit them.
    pub(super) fn load(&self) -> Load {
        let is = |load| move |up: &Upstream| up.grant.is_some_and(|grant| grant.load == load);
        if self.0.iter().any(is(Load::Free)) {
            Load::Free
        } else if self.0.iter().all(is(Load::Full)) {
            Load::Full
        } else {
            Load::Usual
        }
    }

    /// When a next hop last gave a Data.
    pub(super) fn heard(&mut self, face: FaceId) -> Time {
        self.of(face).heard
    }

    /// A Data came from a next hop, with a grant or as before.
    pub(super) fn on_data(&mut self, now: Time, face: FaceId, granted: Option<Grant>, rtt: Option<Span>) {
        let up = self.of(face);
        up.grant = granted.or(up.grant.filter(|grant| grant.rate > 0.0)).or(Some(Grant::UNLIMITED));
        (up.heard, up.losses) = (now, 0);
        if let Some(rtt) = rtt {
            let smooth = |before: Span| Span::from_nanos((15 * before.as_nanos() + rtt.as_nanos()) / 16);
            up.rtt = Some(up.rtt.map_or(rtt, smooth));
        }
    }

    /// An Interest that was sent to a next hop at this time brought nothing.
    pub(super) fn on_loss(&mut self, face: FaceId, sent: Time) {
        let up = self.of(face);
        if up.heard < sent {
            up.losses = up.losses.saturating_add(1);
            if up.losses >= LOSSES {
                up.grant = Some(Grant { rate: 0.0, load: Load::Usual });
            }
        }
    }

    pub(super) fn forget(&mut self, face: FaceId) {
        self.0.retain(|up| up.face != face);
    }

    /// The next hop for an Interest: of several, by weights.
    pub(super) fn choose(&mut self, faces: &[FaceId]) -> FaceId {
        if let [only] = faces {
            self.of(*only);
            return *only;
        }
        let ups: SmallVec<[Upstream; 8]> = faces.iter().map(|&face| *self.of(face)).collect();
        let rate = |up: &Upstream| up.grant.map(|grant| grant.rate);
        if let Some(up) = ups.iter().find(|up| rate(up) == Some(f64::INFINITY)) {
            return up.face;
        }
        let (known, sum) = ups.iter().filter_map(rate).fold((0, 0.0), |(n, sum), rate| (n + 1, sum + rate));
        let mean = if sum > 0.0 { sum / f64::from(known) } else { 1.0 };
        // One of which nothing is known counts as the mean; if none grants anything, all are alike.
        let weigh = |up: &Upstream| if sum > 0.0 { up.weight * rate(up).unwrap_or(mean) } else { 1.0 };
        let all: f64 = ups.iter().map(weigh).sum();
        let mut best = (faces[0], f64::NEG_INFINITY);
        for up in &ups {
            let part = weigh(up) / all;
            let credit = (up.credit + part).clamp(-1.0, 1.0);
            self.of(up.face).credit = credit;
            if part > 0.0 && credit > best.1 {
                best = (up.face, credit);
            }
        }
        self.charge(best.0);
        best.0
    }

    /// An Interest goes to a next hop.
    pub(super) fn charge(&mut self, face: FaceId) {
        self.of(face).credit -= 1.0;
    }

    /// Moves v_u, where `used` bit/s of S are asked for. A flow that needs less than it may have keeps to its nearest next hop
    /// that has room for all of it, or else leaves those whose links are full. A flow that needs all never shifts: then S
    /// would not be reached.
    pub(super) fn coordinate(&mut self, used: f64) {
        if self.0.len() < 2 {
            return;
        }
        let needs_less = used < NEEDS_LESS * self.granted();
        let has_room = |up: &&Upstream| {
            up.grant.is_some_and(|grant| grant.load != Load::Full && used < ROOM * grant.rate)
        };
        let nearest = self.0.iter().filter(has_room).filter_map(|up| Some((up.rtt?, up.face))).min();
        let nearest = nearest.filter(|_| needs_less).map(|(_, face)| face);
        let any = |load| self.0.iter().any(|up| up.grant.is_some_and(|grant| grant.load == load));
        let shifts = needs_less && any(Load::Full) && any(Load::Free);
        for up in &mut self.0 {
            let leaves = match nearest {
                Some(nearest) => up.face != nearest,
                None => shifts && up.grant.is_some_and(|grant| grant.load == Load::Full),
            };
            if leaves {
                up.weight = ((1.0 - STEP) * up.weight).max(LEAST_WEIGHT);
            } else if !needs_less || nearest.is_some() || shifts {
                up.weight += STEP * (1.0 - up.weight);
            }
        }
    }
}
