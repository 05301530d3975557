//! The link model, without sockets and clocks. Times are since the beginning of the run.
//!
//! ```text
//!   frame ----> [ queue ] ----> wire ----> on its way ----> due at the other end
//!          (a paced sender has its own)
//! ```
//!
//! Every event happens at its due time, not when the thread looks: a frame begins to leave when the one before it has
//! left, however late the thread is. So a link has exactly its rate, and lateness does not add up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use weir_core::deadline::Deadlines;
use weir_core::link::{Opportunities, Way};
use weir_core::seam::{DropReason, QueueLimit};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_measure::{FlowAccounts, LinkAccounts};

use super::port::Frame;
use super::{Change, Direction, Live, Observe, Pace, counted};

/// The links, with all frames on them.
pub(super) struct Model {
    lanes: Vec<Lane>,
    wires: Vec<Wire>,
    /// Deadlines: first the arrival of the next frame of each lane, then the start of the next frame on each wire.
    deadlines: Deadlines,
    script: VecDeque<(Time, Change)>,
    /// Accounts without flows. They determine when steps and intervals end.
    steps: FlowAccounts,
    accounts: LinkAccounts,
    until: Time,
    is_over: bool,
    live: Arc<[Live]>,
    observe: Option<Box<dyn Observe>>,
    least_delay: Span,
    /// Buffers of frames that have left their links.
    freed: Vec<Box<[u8]>>,
}

/// A direction of a link.
struct Lane {
    wire: usize,
    line: Line,
    limit: QueueLimit,
    way: Way,
    up: bool,
    /// Waiting frames, with arrival times and counted bytes.
    queue: VecDeque<(Time, u64, Frame)>,
    queued: u64,
    /// No frame begins to leave before this time. `NEVER` at rate 0.
    free_from: Time,
    /// The time when the last frame has left.
    busy_until: Time,
    /// Frames in flight, in order of their arrival times.
    in_flight: VecDeque<(Time, Frame)>,
}

enum Line {
    Sender(Rate),
    Link(Rate),
    Trace(Box<Opportunities>),
}

/// The medium on which frames are sent one after another: one direction, or both directions of a half-duplex link.
#[derive(Clone, Copy)]
struct Wire {
    /// The lanes. Both are the same if there is only one direction.
    lanes: [usize; 2],
    busy_until: Time,
    /// The direction that sent last.
    last: usize,
}

impl Model {
    pub(super) fn new(
        directions: Vec<Direction>,
        mut script: Vec<(Time, Change)>,
        (steps, accounts): (FlowAccounts, LinkAccounts),
        until: Time,
        live: Arc<[Live]>,
        observe: Option<Box<dyn Observe>>,
    ) -> Model {
        script.sort_by_key(|(at, _)| *at);
        let (mut lanes, mut wires) = (Vec::<Lane>::new(), Vec::<Wire>::new());
        for (number, Direction { pace, limit, way, shares_with, .. }) in directions.into_iter().enumerate() {
            let wire = match shares_with.filter(|other| *other < number) {
                Some(other) => {
                    let wire = lanes[other].wire;
                    wires[wire].lanes[1] = number;
                    wire
                }
                None => {
                    wires.push(Wire { lanes: [number; 2], busy_until: Time::ZERO, last: number });
                    wires.len() - 1
                }
            };
            let line = match pace {
                Pace::Sender(rate) => Line::Sender(rate),
                Pace::Link(rate) => Line::Link(rate),
                Pace::Trace(trace) => Line::Trace(Box::new(Opportunities::new(trace))),
            };
            let free_from = if matches!(line, Line::Link(Rate::ZERO)) { Time::NEVER } else { Time::ZERO };
            lanes.push(Lane {
                wire,
                line,
                limit,
                way,
                up: true,
                queue: VecDeque::new(),
                queued: 0,
                free_from,
                busy_until: Time::ZERO,
                in_flight: VecDeque::new(),
            });
        }
        let mut model = Model {
            deadlines: Deadlines::new(lanes.len() + wires.len()),
            lanes,
            wires,
            script: script.into(),
            steps,
            accounts,
            until,
            is_over: false,
            live,
            observe,
            least_delay: Span::ZERO,
            freed: Vec::new(),
        };
        model.note_least_delay();
        model
    }

    // ---- Frames

    /// Passes a frame at once, before the run.
    pub(super) fn pass(&mut self, lane: usize, frame: Frame) {
        self.put_in_flight(lane, Time::ZERO, frame);
    }

    /// Takes a frame with `size` counted bytes.
    pub(super) fn take(&mut self, lane: usize, at: Time, size: u64, frame: Frame) {
        let Lane { up, wire, ref line, .. } = self.lanes[lane];
        if !up {
            return self.drop_frame(lane, DropReason::FaceDown, frame);
        }
        if let Line::Sender(rate) = *line {
            // A frame at rate 0 was sent before its node learned of the rate.
            let took = if rate == Rate::ZERO { Span::ZERO } else { rate.time_for(Bytes::new(size)) };
            return self.leave(lane, at, at + took, Span::ZERO, size, frame);
        }
        self.serve(wire, at);
        let Lane { limit, queue, queued, .. } = &mut self.lanes[lane];
        let fits = match *limit {
            QueueLimit::Packets(limit) => queue.len() < limit as usize,
            QueueLimit::Bytes(limit) => Bytes::new(*queued + size) <= limit,
        };
        if !fits {
            return self.drop_frame(lane, DropReason::QueueFull, frame);
        }
        queue.push_back((at, size, frame));
        *queued += size;
        self.live[lane].queued.store(queue.len() as u64, Relaxed);
        self.serve(wire, at);
    }

    /// Counts a frame for which there was no room.
    pub(super) fn refuse(&mut self, lane: usize) {
        self.count_drop(lane, DropReason::QueueFull);
    }

    /// Starts the frames of a wire that can start by `now`.
    fn serve(&mut self, number: usize, now: Time) {
        loop {
            let Wire { lanes: [first, second], busy_until, last } = self.wires[number];
            let begin = |lane: usize| {
                let Lane { queue, free_from, .. } = &self.lanes[lane];
                queue.front().map_or(Time::NEVER, |(since, ..)| (*since).max(busy_until).max(*free_from))
            };
            // If both directions of a half-duplex link could send, they take turns.
            let turns = if first == last { [second, first] } else { [first, second] };
            let [one, other] = turns.map(|lane| (begin(lane), lane));
            let (begin, lane) = if other.0 < one.0 { other } else { one };
            if begin > now || begin == Time::NEVER {
                let id = self.lanes.len() + number;
                return self.deadlines.set(id as u32, begin);
            }
            let Lane { queue, queued, line, .. } = &mut self.lanes[lane];
            let (since, size, frame) = queue.pop_front().expect("a frame begins to leave");
            *queued -= size;
            let until = match line {
                Line::Link(rate) | Line::Sender(rate) => begin + rate.time_for(Bytes::new(size)),
                Line::Trace(opportunities) => opportunities.send(begin, Bytes::new(size)),
            };
            self.live[lane].queued.store(queue.len() as u64, Relaxed);
            let wire = &mut self.wires[number];
            (wire.busy_until, wire.last) = (until, lane);
            self.leave(lane, begin, until, begin.since(since), size, frame);
        }
    }

    /// Sends a frame in a direction from `begin` to `until`.
    fn leave(&mut self, lane: usize, begin: Time, until: Time, waited: Span, size: u64, frame: Frame) {
        // A sender's frames may be slightly closer together than their transmission times. They use the link one after
        // another.
        let from = begin.max(self.lanes[lane].busy_until);
        let used_until = from + until.since(begin);
        self.accounts.on_use(lane, from, used_until);
        self.lanes[lane].busy_until = used_until;
        self.accounts.on_sent(lane, 8 * size, waited);
        if let Some(observe) = self.observe.as_mut().filter(|_| !self.is_over) {
            observe.on_frame(lane, counted(frame.ethernet()).unwrap_or_default(), &self.accounts);
        }
        self.live[lane].bytes.fetch_add(size, Relaxed);
        self.live[lane].frames.fetch_add(1, Relaxed);
        match self.lanes[lane].way.pass(until) {
            Some(arrival) => self.put_in_flight(lane, arrival, frame),
            None => self.drop_frame(lane, DropReason::LinkLoss, frame),
        }
    }

    fn put_in_flight(&mut self, lane: usize, arrival: Time, frame: Frame) {
        let Lane { way, in_flight, .. } = &mut self.lanes[lane];
        if way.reorders() {
            let place = in_flight.partition_point(|(at, _)| *at <= arrival);
            in_flight.insert(place, (arrival, frame));
        } else {
            in_flight.push_back((arrival, frame));
        }
        self.schedule(lane);
    }

    fn schedule(&mut self, lane: usize) {
        let next = self.lanes[lane].in_flight.front().map_or(Time::NEVER, |(at, _)| *at);
        self.deadlines.set(lane as u32, next);
    }

    fn drop_frame(&mut self, lane: usize, reason: DropReason, frame: Frame) {
        self.count_drop(lane, reason);
        self.freed.push(frame.buffer);
    }

    fn count_drop(&mut self, lane: usize, reason: DropReason) {
        self.accounts.on_drop(lane, reason);
        self.live[lane].drops.fetch_add(1, Relaxed);
    }

    /// Returns a direction with frames due by `now`.
    pub(super) fn next_due(&mut self, now: Time) -> Option<usize> {
        loop {
            let (at, id) = self.deadlines.next_id()?;
            if at > now {
                return None;
            }
            match (id as usize).checked_sub(self.lanes.len()) {
                Some(wire) => self.serve(wire, now),
                None => return Some(id as usize),
            }
        }
    }

    /// Returns the frames of a direction due by `now`, the oldest first, at most `most`, with their due times.
    pub(super) fn due(
        &self,
        lane: usize,
        now: Time,
        most: usize,
    ) -> impl ExactSizeIterator<Item = &(Time, Frame)> {
        let in_flight = &self.lanes[lane].in_flight;
        let count = in_flight.iter().take(most).take_while(|(at, _)| *at <= now).count();
        in_flight.range(..count)
    }

    /// Removes this many delivered frames of a direction.
    pub(super) fn delivered(&mut self, lane: usize, count: usize) {
        let Model { lanes, freed, .. } = self;
        freed.extend(lanes[lane].in_flight.drain(..count).map(|(_, frame)| frame.buffer));
        self.schedule(lane);
    }

    /// Removes the next frame of a direction, which the other end refused.
    pub(super) fn undeliverable(&mut self, lane: usize) {
        if let Some((_, frame)) = self.lanes[lane].in_flight.pop_front() {
            self.drop_frame(lane, DropReason::FaceDown, frame);
            self.schedule(lane);
        }
    }

    /// Returns a buffer that is no longer needed.
    pub(super) fn freed(&mut self) -> Option<Box<[u8]>> {
        self.freed.pop()
    }

    // ---- Time

    /// Minimum delay of frames that arrive from now on.
    pub(super) fn least_delay(&self) -> Span {
        self.least_delay
    }

    fn note_least_delay(&mut self) {
        self.least_delay = self.lanes.iter().map(|lane| lane.way.delay()).min().unwrap_or(Span::ZERO);
    }

    /// The time of the next event.
    pub(super) fn next_deadline(&self) -> Time {
        self.deadlines.next().min(self.next_scripted())
    }

    fn next_scripted(&self) -> Time {
        let change = self.script.front().map_or(Time::NEVER, |(at, _)| *at);
        if self.is_over { change } else { change.min(self.steps.next_step()).min(self.until) }
    }

    /// Ends the run at `until`, if that is before its planned end. Frames still pass after it.
    pub(super) fn end_at(&mut self, until: Time) {
        self.until = until.min(self.until);
    }

    /// Applies the script's changes up to `now`, and ends steps of the accounts.
    pub(super) fn advance(&mut self, now: Time) {
        while self.next_scripted() <= now {
            let at = self.next_scripted();
            (0..self.wires.len()).for_each(|wire| self.serve(wire, at));
            if !self.is_over && self.until <= at {
                self.finish();
            } else if !self.is_over && self.steps.next_step() <= at {
                self.end_step();
            }
            while self.script.front().is_some_and(|(time, _)| *time <= at) {
                let (_, change) = self.script.pop_front().expect("there is a first");
                self.carry_out(at, change);
            }
        }
    }

    fn end_step(&mut self) {
        if let Some(observe) = &mut self.observe {
            observe.at_step(self.steps.next_step(), &mut self.accounts);
        }
        self.accounts.end_step(self.steps.next_step(), self.steps.is_sample());
        self.steps.end_step();
    }

    /// Ends the run.
    fn finish(&mut self) {
        while self.steps.next_step() < self.until {
            self.end_step();
        }
        self.steps.end_at(self.until);
        self.accounts.end_at(self.until);
        self.end_step();
        self.is_over = true;
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn into_accounts(self) -> LinkAccounts {
        self.accounts
    }

    // ---- Changes

    fn carry_out(&mut self, at: Time, change: Change) {
        match change {
            Change::Rate(lane, rate) => self.set_rate(lane, at, rate),
            Change::Delay(lane, delay) => {
                self.lanes[lane].way.set_delay(delay);
                self.note_least_delay();
            }
            Change::Loss(lane, loss) => self.lanes[lane].way.set_loss(loss),
            Change::LossBurst(lane, length) => self.lanes[lane].way.set_burst(Some(length)),
            Change::Jitter(lane, bound) => self.lanes[lane].way.set_jitter(bound),
            Change::Up(lane, up) => self.set_up(lane, at, up),
        }
    }

    /// Sets the rate from the next frame on. At rate 0 none begins to leave.
    fn set_rate(&mut self, lane: usize, at: Time, new: Rate) {
        let Lane { ref mut line, ref mut free_from, wire, .. } = self.lanes[lane];
        match line {
            Line::Sender(rate) => *rate = new,
            Line::Link(_) | Line::Trace(_) => {
                *line = Line::Link(new);
                *free_from = if new == Rate::ZERO { Time::NEVER } else { at };
            }
        }
        // Other changes at this time come before the next frame.
        let id = self.lanes.len() + wire;
        self.deadlines.set(id as u32, at);
        self.accounts.set_rate(lane, new);
    }

    /// A failing direction loses the frames on it. Those that have arrived stay.
    fn set_up(&mut self, lane: usize, at: Time, up: bool) {
        self.lanes[lane].up = up;
        if up {
            return;
        }
        let Lane { queue, queued, way, .. } = &mut self.lanes[lane];
        *queued = 0;
        way.clear();
        for (_, _, frame) in std::mem::take(queue) {
            self.drop_frame(lane, DropReason::FaceDown, frame);
        }
        let arrived = self.lanes[lane].in_flight.partition_point(|(arrival, _)| *arrival <= at);
        for (_, frame) in self.lanes[lane].in_flight.split_off(arrived) {
            self.drop_frame(lane, DropReason::FaceDown, frame);
        }
        self.live[lane].queued.store(0, Relaxed);
        self.schedule(lane);
    }
}
