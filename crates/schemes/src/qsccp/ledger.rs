//! What Interests on their way were charged. Their Data settle the account: what they bring more is charged then, and what
//! they bring less is given back.
//!
//! A router knows the size of a Data when it has come. Until then it charges what the flow's Data had on average: too little
//! while the first segments follow metadata of a tenth of their size. What comes too much waits at the other end of the
//! link, in one queue for all classes, and there it stays, for the part 1 − η of the link is all that is left to drain it.

use weir_core::units::{Rate, Span};

/// Links with round trips that are no longer have room for all Data of the usual size that are on their way. Of smaller ones
/// with longer round trips the oldest are forgotten.
const ROUND_TRIP: Span = Span::from_millis(200);
/// Bounds of the memory where the link is slow, or nobody knows what it is: 1 kB, and half a megabyte.
const FEWEST: u64 = 128;
const MOST: u64 = 1 << 16;
/// Charges in a row, which is a cache line.
const ROW: usize = 8;

/// One Interest; `bits` is zero where there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    check: u32,
    bits: u32,
}

/// Names that share a row: free places first, and then the oldest.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Row([Charge; ROW]);

/// A hash table of a fixed size that forgets the oldest of a row that is full: what is never answered does not stay, and
/// a flood of Interests only makes others keep what they were charged.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Made when it is first needed.
    rows: Vec<Row>,
    size: usize,
}

impl Ledger {
    /// For a link of this rate.
    pub(super) fn new(rate: Rate, data_bits: u64) -> Ledger {
        Ledger { rows: Vec::new(), size: rows(rate, data_bits) }
    }

    /// The link has another rate: a faster one has more on its way.
    pub(super) fn fit(&mut self, rate: Rate, data_bits: u64) {
        let size = rows(rate, data_bits);
        if size > self.size {
            *self = Ledger { rows: Vec::new(), size };
        }
    }

    /// An Interest of this name leaves, and is charged so many bits.
    #[inline]
    pub(super) fn charge(&mut self, name: u64, bits: u64) {
        if self.rows.is_empty() {
            self.rows = vec![Row::default(); self.size];
        }
        let Row(row) = &mut self.rows[name as usize & (self.size - 1)];
        row.rotate_left(1);
        row[ROW - 1] = Charge { check: check(name), bits: bits as u32 };
    }

    /// The Data of this name is there: what its Interest was charged, the latest if there were several, if that is known.
    #[inline]
    pub(super) fn settle(&mut self, name: u64) -> Option<u64> {
        let Row(row) = self.rows.get_mut(name as usize & (self.size - 1))?;
        let place = row.iter().rposition(|charge| charge.check == check(name) && charge.bits > 0)?;
        let bits = core::mem::take(&mut row[place]).bits;
        row[..=place].rotate_right(1);
        Some(u64::from(bits))
    }
}

fn rows(rate: Rate, data_bits: u64) -> usize {
    // Twice as many as are on their way: few rows are full then.
    let places = 2 * rate.bits_in(ROUND_TRIP) / data_bits.max(1);
    places.clamp(FEWEST, MOST).next_power_of_two() as usize / ROW
}

fn check(name: u64) -> u32 {
    (name >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names in one row.
    fn name(number: u64) -> u64 {
        7 | number << 32
    }

    #[test]
    fn a_data_settles_what_its_interest_was_charged_once() {
        let mut ledger = Ledger::new(Rate::from_mbps(10), 9000);
        assert_eq!(ledger.settle(name(1)), None);
        ledger.charge(name(1), 9000);
        ledger.charge(name(2), 3200);
        assert_eq!(ledger.settle(name(3)), None);
        assert_eq!((ledger.settle(name(1)), ledger.settle(name(1))), (Some(9000), None));
        assert_eq!(ledger.settle(name(2)), Some(3200));
    }

    #[test]
    fn a_full_row_forgets_the_oldest() {
        let mut ledger = Ledger::new(Rate::from_mbps(10), 9000);
        (1..=8).for_each(|number| ledger.charge(name(number), 100 * number));
        assert_eq!(ledger.settle(name(4)), Some(400));
        ledger.charge(name(9), 900);
        assert_eq!(ledger.settle(name(9)), Some(900));
        (10..=12).for_each(|number| ledger.charge(name(number), 100 * number));
        let left: Vec<u64> = (1..=12).filter_map(|number| ledger.settle(name(number))).collect();
        assert_eq!(left, [300, 500, 600, 700, 800, 1000, 1100, 1200]);
    }

    #[test]
    fn what_is_on_its_way_has_room_and_what_is_never_answered_takes_no_more() {
        let mut random = weir_core::random::Random::named(1, "names");
        for (mbps, bytes) in [(0, 1 << 10), (10, 1 << 12), (100, 1 << 16), (1_000_000, 1 << 19)] {
            let mut ledger = Ledger::new(Rate::from_mbps(mbps), 9000);
            let on_their_way = Rate::from_mbps(mbps).bits_in(Span::from_millis(100)) / 9000;
            let names: Vec<u64> = (0..on_their_way.min(20_000)).map(|_| random.next_u64()).collect();
            for _ in 0..100_000 {
                ledger.charge(random.next_u64(), 1);
            }
            names.iter().for_each(|name| ledger.charge(*name, 2));
            assert_eq!(ledger.rows.len() * size_of::<Row>(), bytes, "{mbps} Mb/s");
            let kept = names.iter().filter(|name| ledger.settle(**name) == Some(2)).count();
            assert!(kept * 100 >= names.len() * 98, "{mbps} Mb/s: {kept} of {}", names.len());
        }
    }

    #[test]
    fn a_faster_link_has_more_room_and_a_slower_one_forgets_nothing() {
        let mut ledger = Ledger::new(Rate::from_mbps(10), 9000);
        ledger.charge(7, 1);
        ledger.fit(Rate::from_mbps(1), 9000);
        assert_eq!(ledger.settle(7), Some(1));
        ledger.charge(7, 1);
        ledger.fit(Rate::from_mbps(100), 9000);
        assert_eq!((ledger.settle(7), ledger.size), (None, 1024));
    }
}
