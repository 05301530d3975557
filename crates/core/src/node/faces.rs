//! Adding and removing faces.

use super::expiry::ENDED_AT_ONCE;
use super::{FIRST_LINK_TIMER, Face, FaceKind, LONGEST_LIFETIME, LinkFace, Node, Out};
use crate::ids::{FaceId, GroupId, PitId};
use crate::link::Link;
use crate::seam::{Backlog, DropReason};
use crate::units::{Rate, Time};

impl Node {
    /// The number that the next new face gets.
    pub fn next_face(&self, now: Time) -> FaceId {
        self.reusable(now).unwrap_or(FaceId(self.faces.len() as u32))
    }

    /// Adds a face to a link.
    pub(super) fn attach(&mut self, now: Time, link: Link) -> FaceId {
        let place = self.free_links.pop().unwrap_or(self.links.len() as u32);
        let face = self.add_face(now, FaceKind::Link(place));
        let state = LinkFace { face, link, timer: Time::NEVER, charged: 0 };
        if place as usize == self.links.len() {
            self.links.push(state);
            self.deadlines.push();
        } else {
            self.links[place as usize] = state;
        }
        self.set_link_timer(place);
        face
    }

    /// Returns whether a face of this number was ever added.
    pub fn has_had(&self, face: FaceId) -> bool {
        (face.0 as usize) < self.faces.len()
    }

    /// Number of faces, without removed ones.
    pub fn face_count(&self) -> usize {
        self.faces.len() - self.leaving.len() - self.gone.len() - self.unused.len()
    }

    /// A face number that may be reused, because no table refers to it any more.
    fn reusable(&self, now: Time) -> Option<FaceId> {
        let rested = || self.gone.front().filter(|(since, _)| now.since(*since) > LONGEST_LIFETIME);
        self.unused.last().copied().or_else(|| rested().map(|(_, face)| *face))
    }

    pub(super) fn add_face(&mut self, now: Time, kind: FaceKind) -> FaceId {
        let face = self.next_face(now);
        let state = Face { kind, up: true, since: now, asked: false, answered: 0 };
        if face.0 as usize == self.faces.len() {
            self.faces.push(state);
        } else {
            if self.unused.pop().is_none() {
                self.gone.pop_front();
            }
            self.faces[face.0 as usize] = state;
            if let Some(guard) = &mut self.guard {
                guard.set_group(face, GroupId::NONE);
            }
            self.strategies.each().for_each(|strategy| strategy.on_face(face, true, now));
        }
        face
    }

    /// Drops all packets of the node.
    pub(super) fn fail(&mut self, out: &mut Out<'_>) {
        let mut cleared = Vec::new();
        for LinkFace { face, link, charged, .. } in &mut self.links {
            link.clear(out.now, out.pool, &mut cleared);
            if let Some(guard) = &mut self.guard {
                guard.waiting.clear(charged);
            }
            cleared.drain(..).for_each(|packet| out.drop(*face, packet, DropReason::FaceDown));
        }
        let pending: Vec<PitId> = self.pit.iter().map(|(pit, _)| pit).collect();
        for pit in pending {
            let entry = self.pit.entry_mut(pit).expect("just found");
            if let Some(held) = entry.held.take() {
                out.drop(out.pool[held].arrived_on, held, DropReason::FaceDown);
            }
            entry.kept.take().into_iter().for_each(|kept| out.pool.free(kept));
        }
        self.set_store_limits(0, 0, out);
    }

    /// Detaches a face. The strategy was told that the face is down, and may need a call.
    pub(super) fn detach(&mut self, face: FaceId, out: &mut Out<'_>) {
        let (kind, now) = (self.faces[face.0 as usize].kind, out.now);
        if kind == FaceKind::Gone {
            return;
        }
        self.on_face(face, false, out);
        let mut left = ENDED_AT_ONCE;
        let is_done = self.end_for(face, &mut left, out);
        if let FaceKind::Link(place) = kind {
            let state = &mut self.links[place as usize];
            let mut link = core::mem::replace(&mut state.link, Link::closed());
            if let Some(guard) = &mut self.guard {
                guard.waiting.clear(&mut state.charged);
            }
            let mut cleared = Vec::new();
            link.clear(now, out.pool, &mut cleared);
            cleared.into_iter().for_each(|packet| out.drop(face, packet, DropReason::FaceDown));
            self.set_link_timer(place);
            self.free_links.push(place);
        }
        self.faces[face.0 as usize].kind = FaceKind::Gone;
        if let Some(guard) = &mut self.guard {
            guard.forget_ingress(face);
        }
        self.report_drops(out);
        self.set_strategy_timer();
        if is_done {
            return self.rest_number(face, now);
        }
        self.leaving.push_back(face);
        self.rest_from_ending(left, now);
    }

    /// Releases the number of a removed face whose routes and pending Interests have ended. The number is
    /// reused at once, or later if tables still refer to it.
    pub(super) fn rest_number(&mut self, face: FaceId, now: Time) {
        if self.faces[face.0 as usize].asked {
            self.gone.push_back((now, face));
        } else {
            self.unused.push(face);
        }
    }

    pub(super) fn on_face(&mut self, face: FaceId, up: bool, out: &mut Out<'_>) {
        let state = &mut self.faces[face.0 as usize];
        if state.kind == FaceKind::Gone {
            return;
        }
        state.up = up;
        self.strategies.each().for_each(|strategy| strategy.on_face(face, up, out.now));
    }

    /// Returns whether the face leads to an application on this node.
    #[inline]
    pub fn is_local(&self, face: FaceId) -> bool {
        self.faces[face.0 as usize].kind == FaceKind::Application
    }

    /// The link behind a face, and its index.
    #[inline]
    pub(super) fn link_of(&mut self, face: FaceId) -> Option<(u32, &mut Link)> {
        match self.faces[face.0 as usize].kind {
            FaceKind::Link(place) => Some((place, &mut self.links[place as usize].link)),
            FaceKind::Application | FaceKind::Gone => None,
        }
    }

    pub(super) fn change_send_rate(&mut self, now: Time, face: FaceId, rate: Option<Rate>) {
        if let Some((place, link)) = self.link_of(face) {
            link.set_rate(now, rate);
            self.set_link_timer(place);
        }
    }

    pub(super) fn change_receive_rate(&mut self, now: Time, face: FaceId, rate: Option<Rate>) {
        if let Some((place, link)) = self.link_of(face) {
            link.set_receive_rate(now, rate);
            self.set_link_timer(place);
        }
    }

    pub(super) fn change_fair_rate(&mut self, now: Time, face: FaceId, rate: Rate) {
        if let Some((_, link)) = self.link_of(face) {
            link.set_fair_rate(now, rate);
        }
    }

    /// The packets in the queue of a face's link; zero for an application.
    pub fn backlog(&self, face: FaceId) -> Backlog {
        match self.faces[face.0 as usize].kind {
            FaceKind::Link(place) => self.links[place as usize].link.backlog(),
            FaceKind::Application | FaceKind::Gone => Backlog::default(),
        }
    }

    #[inline]
    pub(super) fn set_link_timer(&mut self, place: u32) {
        let state = &mut self.links[place as usize];
        let wanted = state.link.next_deadline();
        if wanted != state.timer {
            state.timer = wanted;
            self.deadlines.set(FIRST_LINK_TIMER + place, wanted);
        }
    }
}
