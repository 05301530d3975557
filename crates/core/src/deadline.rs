//! Deadlines of a fixed set of entities, with fast access to the next one.
//!
//! The structure is an 8-ary tournament tree. Every entity has one deadline. An inner node holds the earliest
//! deadline of each of its eight children. A node is one cache line, so changing a deadline touches one line
//! per level: three levels for 512 entities, six for 100 000. There is no removal and no insertion, so
//! nothing is allocated. An entity without a deadline is never due.
//!
//! A key is `time << 3 | place in its line`. The minimum of a line therefore names its winner: the lowest
//! place among equal times. Times from 2^61 ns on (73 years) count as never.

use crate::Time;
use crate::prefetch::prefetch;

/// Eight keys, one for each child of a node.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; 8]);

const PLACE: u64 = 7;
/// The key of "never" in place 0.
const NEVER: u64 = !PLACE;

impl Line {
    const NEVER: Line =
        Line([NEVER, NEVER | 1, NEVER | 2, NEVER | 3, NEVER | 4, NEVER | 5, NEVER | 6, NEVER | 7]);

    /// The smallest key, found by a tree of comparisons without branches.
    #[inline]
    fn min(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        (a.min(b)).min(c.min(d)).min((e.min(f)).min(g.min(h)))
    }
}

/// The deadlines of entities 0, 1, 2, …
///
/// Among equal times the lowest id comes first, so the order never depends on history.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// The nodes, root first. The children of node `i` are nodes `8 i + 1` to `8 i + 8`. The last level holds
    /// the entities' own keys, in only as many lines as the entities need.
    lines: Vec<Line>,
    /// The first line of the last level.
    base: usize,
    /// Number of lines that the last level can have: a power of eight.
    wide: usize,
    len: u32,
    /// The smallest key of the root.
    root: u64,
}

impl Deadlines {
    /// Makes deadlines for `n` entities; none is due.
    pub fn new(n: usize) -> Deadlines {
        let mut new = Deadlines { lines: Vec::new(), base: 0, wide: 1, len: 0, root: NEVER };
        new.resize(n);
        new
    }

    /// Adds an entity that is not due and returns its id.
    pub fn push(&mut self) -> u32 {
        let id = self.len;
        if (id as usize) < (self.lines.len() - self.base) * 8 {
            self.len += 1;
        } else if self.lines.len() - self.base < self.wide {
            self.lines.push(Line::NEVER);
            self.len += 1;
        } else {
            self.resize(id as usize + 1);
        }
        id
    }

    /// Rebuilds the tree for `n` entities, at least as many as before. Deadlines do not change.
    fn resize(&mut self, n: usize) {
        let leaves: Vec<Line> = self.lines.drain(self.base..).collect();
        let leaf_lines = n.div_ceil(8).max(1);
        while self.wide < leaf_lines {
            self.base += self.wide;
            self.wide *= 8;
        }
        self.lines.clear();
        self.lines.resize(self.base, Line::NEVER);
        self.lines.extend(leaves);
        self.lines.resize(self.base + leaf_lines, Line::NEVER);
        self.len = n as u32;
        for line in (1..self.lines.len()).rev() {
            let place = (line - 1) as u64 & PLACE;
            let key = self.lines[line].min() & !PLACE | place;
            self.lines[(line - 1) >> 3].0[place as usize] = key;
        }
        self.root = self.lines[0].min();
    }

    /// The number of entities.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether there are no entities.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Sets the deadline of an entity; [`Time::NEVER`] removes it.
    ///
    /// # Panics
    /// Panics if there is no such entity.
    #[inline]
    pub fn set(&mut self, id: u32, at: Time) {
        assert!(id < self.len, "entity {id} of {}", self.len);
        let mut time = at.as_nanos().min(NEVER >> 3) << 3;
        let mut place = u64::from(id) & PLACE;
        let mut line = self.base + (id as usize >> 3);
        loop {
            let node = &mut self.lines[line];
            let key = &mut node.0[place as usize];
            // The levels above depend only on the times of this node.
            if *key == time | place {
                return;
            }
            *key = time | place;
            let min = node.min();
            if line == 0 {
                self.root = min;
                return;
            }
            time = min & !PLACE;
            place = (line as u64 - 1) & PLACE;
            line = (line - 1) >> 3;
        }
    }

    /// The deadline of an entity; [`Time::NEVER`] if it has none or does not exist.
    #[inline]
    pub fn get(&self, id: u32) -> Time {
        let line = self.lines.get(self.base + (id as usize >> 3));
        line.map_or(Time::NEVER, |line| time_of(line.0[id as usize & 7]))
    }

    /// Prefetches the root.
    #[inline]
    pub(crate) fn prefetch_root(&self) {
        if let Some(line) = self.lines.first() {
            prefetch(line);
        }
    }

    /// Appends the deadlines before `end`, in no order, until there are about `most`. They show what is
    /// needed soon.
    pub fn before(&self, end: Time, most: usize, out: &mut Vec<(Time, u32)>) {
        self.before_in(0, end.as_nanos().min(NEVER >> 3) << 3, most, out);
    }

    fn before_in(&self, line: usize, end: u64, most: usize, out: &mut Vec<(Time, u32)>) {
        let Some(Line(keys)) = self.lines.get(line) else { return };
        for &key in keys {
            if key >= end || out.len() >= most {
                continue;
            }
            let place = (key & PLACE) as usize;
            if line >= self.base {
                out.push((Time::from_nanos(key >> 3), ((line - self.base) * 8 + place) as u32));
            } else {
                self.before_in(8 * line + 1 + place, end, most, out);
            }
        }
    }

    /// The earliest deadline, or [`Time::NEVER`].
    #[inline]
    pub fn next(&self) -> Time {
        time_of(self.root)
    }

    /// The earliest deadline and its entity, the lowest id among equals. On the way down from the root, each
    /// node names the child.
    #[inline]
    pub fn next_id(&self) -> Option<(Time, u32)> {
        if self.root >= NEVER {
            return None;
        }
        let (mut line, mut min) = (0, self.root);
        while line < self.base {
            line = 8 * line + 1 + (min & PLACE) as usize;
            min = self.lines[line].min();
        }
        let id = (line - self.base) as u32 * 8 + (min & PLACE) as u32;
        Some((Time::from_nanos(self.root >> 3), id))
    }
}

/// The time in a key.
#[inline]
fn time_of(key: u64) -> Time {
    if key >= NEVER { Time::NEVER } else { Time::from_nanos(key >> 3) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn nothing_is_due_at_first() {
        for n in [0, 1, 8, 9, 64, 65, 1000] {
            let deadlines = Deadlines::new(n);
            assert_eq!((deadlines.len(), deadlines.is_empty()), (n, n == 0));
            assert_eq!(deadlines.next(), Time::NEVER);
            assert_eq!(deadlines.next_id(), None);
            assert_eq!(deadlines.get(n as u32 + 99), Time::NEVER);
        }
    }

    #[test]
    fn the_lowest_id_wins_among_equal_times_whatever_came_first() {
        let mut deadlines = Deadlines::new(1000);
        for id in [900, 64, 70, 7, 8, 500] {
            deadlines.set(id, ns(5));
        }
        let mut order = Vec::new();
        for _ in 0..6 {
            let (at, id) = deadlines.next_id().unwrap();
            assert_eq!(at, ns(5));
            order.push(id);
            deadlines.set(id, Time::NEVER);
        }
        assert_eq!(deadlines.next_id(), None);
        assert_eq!(order, [7, 8, 64, 70, 500, 900]);
    }

    #[test]
    fn a_deadline_beyond_73_years_is_never() {
        let mut deadlines = Deadlines::new(1);
        deadlines.set(0, ns((1 << 61) - 2));
        assert_eq!(deadlines.next_id(), Some((ns((1 << 61) - 2), 0)));
        deadlines.set(0, ns((1 << 61) - 1));
        assert_eq!(
            (deadlines.next(), deadlines.next_id(), deadlines.get(0)),
            (Time::NEVER, None, Time::NEVER)
        );
    }

    #[test]
    fn deadlines_survive_growth() {
        let mut deadlines = Deadlines::new(0);
        for id in 0..600 {
            assert_eq!(deadlines.push(), id);
            assert_eq!(deadlines.get(id), Time::NEVER);
            deadlines.set(id, ns(1000 - u64::from(id)));
            assert_eq!(deadlines.next_id(), Some((ns(1000 - u64::from(id)), id)));
        }
        for id in 0..600 {
            assert_eq!(deadlines.get(id), ns(1000 - u64::from(id)));
        }
    }

    #[test]
    #[should_panic(expected = "entity 3 of 3")]
    fn there_is_no_deadline_for_a_stranger() {
        Deadlines::new(3).set(3, ns(1));
    }

    #[derive(Clone, Debug)]
    enum Op {
        Set(usize, u64),
        Never(usize),
        Push,
        Reschedule(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (any::<usize>(), 0u64..50).prop_map(|(id, at)| Op::Set(id, at)),
            2 => any::<usize>().prop_map(Op::Never),
            1 => Just(Op::Push),
            4 => (0u64..20).prop_map(Op::Reschedule),
        ]
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_list(n in 0usize..200, ops in prop::collection::vec(op(), 0..300)) {
            let mut deadlines = Deadlines::new(n);
            let mut model = vec![Time::NEVER; n];
            let set = |deadlines: &mut Deadlines, model: &mut Vec<Time>, id: usize, at: Time| {
                deadlines.set(id as u32, at);
                model[id] = at;
            };
            for op in ops {
                let len = model.len().max(1);
                match op {
                    Op::Push => {
                        prop_assert_eq!(deadlines.push() as usize, model.len());
                        model.push(Time::NEVER);
                    }
                    _ if model.is_empty() => {}
                    Op::Set(id, at) => set(&mut deadlines, &mut model, id % len, ns(at)),
                    Op::Never(id) => set(&mut deadlines, &mut model, id % len, Time::NEVER),
                    Op::Reschedule(later) => if let Some((at, id)) = deadlines.next_id() {
                        set(&mut deadlines, &mut model, id as usize, at + crate::Span::from_nanos(later));
                    }
                }
                let earliest = model.iter().enumerate().filter(|(_, at)| **at != Time::NEVER).map(|(id, at)| (*at, id as u32)).min();
                prop_assert_eq!(deadlines.next_id(), earliest);
                prop_assert_eq!(deadlines.next(), earliest.map_or(Time::NEVER, |(at, _)| at));
                for (id, at) in model.iter().enumerate() {
                    prop_assert_eq!(deadlines.get(id as u32), *at);
                }
            }
        }
    }
}
