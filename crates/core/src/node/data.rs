//! Handling of a Data: the PIT entries that it satisfies, and its copies to the downstreams.
//!
//! A Data satisfies only entries of which its face is an upstream. That is: this node sent an Interest of the
//! entry's name by the face on which the Data arrives, for this entry or for an earlier one of the same hint
//! that ended less than six seconds ago. The members of a multicast group share one face. Any other Data is
//! unsolicited. It is dropped before a queue, a strategy or the content store sees it.

use super::{Answerer, FaceKind, Node, Out};
use crate::ids::{FaceId, PitId};
use crate::packet::{Packet, PacketId};
use crate::seam::{Answer, DataEvent, DataOutEvent, DropReason};
use crate::tables::pit::{InRecord, OutRecord};
use crate::units::Time;

impl Node {
    pub(super) fn on_data(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let token = PitId::from_token(out.pool[id].header().pit_token.bytes());
        let mut matches = core::mem::take(&mut self.matches);
        matches.clear();
        let data = &mut out.pool[id];
        let digest = self.pit.wants_digest(&data.name).then(|| self.digest_of(data)).flatten();
        self.pit.matches(&data.name, token, digest.as_ref(), &mut matches);
        // Only an upstream that was asked may answer. Otherwise any face could have its Data believed, stored
        // and measured.
        matches.retain(|&mut pit| self.was_asked(pit, face, out.now));
        if matches.is_empty() {
            self.on_late_data(face, id, out);
            let is_late = self.expired.contains(out.pool[id].name.hash(), face, out.now);
            let reason = if is_late { DropReason::OutOfLifetime } else { DropReason::Unsolicited };
            out.drop(face, id, reason);
        } else {
            self.satisfy(face, id, &matches, out);
        }
        self.matches = matches;
    }

    /// Returns whether a face was sent the Interest of an entry: by this entry or by an earlier one of its
    /// name and hint.
    #[inline]
    fn was_asked(&self, pit: PitId, face: FaceId, now: Time) -> bool {
        self.pit.entry(pit).is_some_and(|entry| {
            entry.was_sent_to(face, self.faces[face.0 as usize].since)
                || self.asked.contains(entry.asked_for(), face, now)
        })
    }

    pub(super) fn satisfy(&mut self, face: FaceId, id: PacketId, matches: &[PitId], out: &mut Out<'_>) {
        let now = out.now;
        let local = self.is_local(face);
        let answered = answered_entry(&out.pool[id], matches);
        for (index, &pit) in matches.iter().enumerate() {
            let entry = self.pit.entry(pit).expect("just matched");
            let flow = entry.flow();
            let record = entry.out_records.iter().find(|record| record.face == face);
            let record = record.filter(|_| answered == Some(pit));
            let rtt = record.and_then(|record| record.rtt(now));
            let departed = record.and_then(OutRecord::departed);
            out.pool[id].flow = flow;
            self.note_answered(pit, face, rtt, now);
            if let Some(rtt) = rtt {
                self.round_trips.sample(flow.prefix, rtt);
            }
            if index == 0 {
                out.pool[id].pit = pit;
                self.receive(face, id, rtt, departed, out);
            }
            let entry = self.pit.entry(pit).expect("just matched");
            let (data, random) = (&mut out.pool[id], &mut self.random);
            let strategy = self.strategies.get(entry.strategy);
            strategy.on_data(&mut DataEvent { now, data, face, local, flow, entry, rtt, random });
        }
        let hint = self.may_answer(face, &out.pool[id], matches);
        match &mut self.placing {
            None => self.store(id, hint, out),
            Some(placing) => {
                let has_store = self.cs.is_on();
                let is_kept = has_store && placing.stores(id, matches, out.pool);
                placing.on_data(&mut out.pool[id], has_store);
                if is_kept {
                    self.store(id, hint, out);
                }
            }
        }
        self.data_seen += 1;
        for (index, &pit) in matches.iter().enumerate() {
            self.answer_downstreams(face, id, pit, index + 1 == matches.len(), out);
        }
        for &pit in matches {
            self.forget(pit, Some(face), out);
            self.satisfied += 1;
        }
    }

    /// Sends a copy to each downstream of the entries; the last downstream gets the packet itself.
    pub(super) fn answer_downstreams(
        &mut self,
        from: FaceId,
        id: PacketId,
        pit: PitId,
        is_last: bool,
        out: &mut Out<'_>,
    ) {
        let entry = self.pit.entry(pit).expect("just matched");
        let by = Answerer { flow: entry.flow(), strategy: entry.strategy };
        let mut previous: Option<InRecord> = None;
        let mut index = 0;
        while let Some(record) = self.pit.entry(pit).and_then(|e| e.in_records.get(index).copied()) {
            index += 1;
            if record.expires < out.now || record.face == from || !self.is_to_be_answered(record.face) {
                continue;
            }
            if let Some(previous) = previous.replace(record) {
                let copy = out.pool.duplicate(id);
                self.send_data(copy, &previous, by, out);
            }
        }
        match (previous, is_last) {
            (Some(record), true) => self.send_data(id, &record, by, out),
            (Some(record), false) => {
                let copy = out.pool.duplicate(id);
                self.send_data(copy, &record, by, out);
            }
            (None, true) => out.pool.free(id),
            (None, false) => {}
        }
    }

    /// Returns whether a downstream gets the Data for this entry. A neighbour gets it once. An application
    /// gets it for each of its Interests, because it may distinguish them by their tokens.
    #[inline]
    pub(super) fn is_to_be_answered(&mut self, face: FaceId) -> bool {
        let state = &mut self.faces[face.0 as usize];
        let is_first = core::mem::replace(&mut state.answered, self.data_seen) != self.data_seen;
        match state.kind {
            FaceKind::Application => true,
            FaceKind::Link(_) => is_first,
            FaceKind::Gone => false,
        }
    }

    pub(super) fn send_data(&mut self, id: PacketId, to: &InRecord, by: Answerer, out: &mut Out<'_>) {
        let answer = if to.aggregated { Answer::Aggregated } else { Answer::Forwarded };
        self.send_answer(id, to, by, answer, out);
    }

    pub(super) fn send_answer(
        &mut self,
        id: PacketId,
        to: &InRecord,
        by: Answerer,
        answer: Answer,
        out: &mut Out<'_>,
    ) {
        let now = out.now;
        let Answerer { flow, strategy } = by;
        let local = self.is_local(to.face);
        let data = &mut out.pool[id];
        data.flow = flow;
        data.set_pit_token(to.token);
        let (face, random) = (to.face, &mut self.random);
        self.strategies.get(strategy).on_data_out(&mut DataOutEvent {
            now,
            data,
            face,
            local,
            flow,
            in_record: to,
            answer,
            random,
        });
        if let Some(guard) = &mut self.guard {
            guard.charge(face, to.class, &out.pool[id], now);
        }
        self.send(face, id, out);
    }
}

/// The entry whose Interest a Data answers; `None` if unknown. The Data gives no RTT sample for the other
/// entries that it satisfies, because it may have been sent before their Interests. If the entry of its token
/// is gone, it answers none of them.
fn answered_entry(data: &Packet, matches: &[PitId]) -> Option<PitId> {
    match (data.header().pit_token.bytes(), matches) {
        ([], [one]) => Some(*one),
        ([], _) => None,
        (token, _) => PitId::from_token(token).filter(|named| matches.contains(named)),
    }
}
