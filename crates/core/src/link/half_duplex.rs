//! A half-duplex link: its two directions share its time, one packet at a time.
//!
//! Each direction offers its next packet ([`HalfDuplex::offer`]) and waits until that packet has left. If
//! both directions wait, they take turns. No time is lost between packets: there are no collisions and no
//! gaps.

use crate::packet::PacketId;
use crate::units::{Bytes, Rate, Time};

/// The state of a half-duplex link.
#[derive(Clone, Debug)]
pub struct HalfDuplex {
    rate: [Rate; 2],
    waiting: [Option<(PacketId, Bytes)>; 2],
    sending: Option<Sending>,
    /// The direction that sends first if both wait.
    turn: usize,
}

/// A packet in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Its direction, 0 or 1.
    pub direction: usize,
    /// The packet.
    pub packet: PacketId,
    /// When its last bit leaves.
    pub until: Time,
}

impl HalfDuplex {
    /// A free link with a rate for each direction.
    pub fn new(rate: [Rate; 2]) -> HalfDuplex {
        HalfDuplex { rate, waiting: [None; 2], sending: None, turn: 0 }
    }

    /// Changes the rate of a direction, from the next packet on. At rate 0 the direction sends nothing.
    pub fn set_rate(&mut self, direction: usize, rate: Rate) {
        self.rate[direction] = rate;
    }

    /// Offers the next packet of a direction and its length. Call it again when this packet has left.
    pub fn offer(&mut self, direction: usize, packet: PacketId, len: Bytes) {
        debug_assert!(self.waiting[direction].is_none());
        self.waiting[direction] = Some((packet, len));
    }

    /// Starts the next packet at `now`, if the link is free and one waits.
    pub fn begin(&mut self, now: Time) -> Option<Sending> {
        if self.sending.is_some() {
            return None;
        }
        let may_send =
            |direction: &usize| self.waiting[*direction].is_some() && self.rate[*direction] > Rate::ZERO;
        let direction = [self.turn, 1 - self.turn].into_iter().find(may_send)?;
        let (packet, len) = self.waiting[direction].take()?;
        let until = now + self.rate[direction].time_for(len);
        self.turn = 1 - direction;
        self.sending = Some(Sending { direction, packet, until });
        self.sending
    }

    /// When the current packet has left.
    pub fn next_deadline(&self) -> Time {
        self.sending.map_or(Time::NEVER, |sending| sending.until)
    }

    /// Takes the packet that has left by `now`.
    pub fn end(&mut self, now: Time) -> Option<Sending> {
        if self.next_deadline() > now {
            return None;
        }
        self.sending.take()
    }

    /// Removes the packet that a direction is sending and the one that it offers.
    pub fn clear(&mut self, direction: usize) -> [Option<PacketId>; 2] {
        let sending = self.sending.filter(|sending| sending.direction == direction);
        if sending.is_some() {
            self.sending = None;
        }
        [sending.map(|sending| sending.packet), self.waiting[direction].take().map(|(packet, _)| packet)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketPool;
    use crate::units::Span;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// 1000 bytes take 8 ms in one direction and 4 ms in the other.
    #[test]
    fn directions_take_turns_and_never_send_at_the_same_time() {
        let mut pool = PacketPool::new();
        let mut link = HalfDuplex::new([Rate::from_mbps(1), Rate::from_mbps(2)]);
        let kilobyte = Bytes::new(1000);
        let mut sent = Vec::new();
        let mut now = at(0);
        [0, 1].into_iter().for_each(|direction| link.offer(direction, pool.take(), kilobyte));
        while sent.len() < 6 {
            assert_eq!(link.begin(now).map(|sending| sending.until), Some(link.next_deadline()));
            assert_eq!(link.begin(now), None, "one at a time");
            assert_eq!(link.end(now), None);
            now = link.next_deadline();
            let ended = link.end(now).unwrap();
            sent.push((ended.direction, now));
            link.offer(ended.direction, pool.take(), kilobyte);
        }
        let expected = [(0, 8), (1, 12), (0, 20), (1, 24), (0, 32), (1, 36)];
        assert_eq!(sent, expected.map(|(direction, millis)| (direction, at(millis))));
    }

    #[test]
    fn a_direction_alone_has_all_of_it_and_one_without_a_rate_has_nothing() {
        let mut pool = PacketPool::new();
        let mut link = HalfDuplex::new([Rate::ZERO, Rate::from_mbps(2)]);
        [0, 1].into_iter().for_each(|direction| link.offer(direction, pool.take(), Bytes::new(1000)));
        for turn in 0..3 {
            assert_eq!(link.begin(at(4 * turn)).map(|sending| sending.direction), Some(1));
            assert!(link.end(at(4 * turn + 4)).is_some());
            link.offer(1, pool.take(), Bytes::new(1000));
        }
        link.set_rate(0, Rate::from_mbps(1));
        assert_eq!(link.begin(at(12)).map(|sending| sending.direction), Some(0));
        let [sending, waiting] = link.clear(0);
        assert!(sending.is_some() && waiting.is_none());
        assert_eq!(link.begin(at(13)).map(|sending| sending.until), Some(at(17)));
    }
}
