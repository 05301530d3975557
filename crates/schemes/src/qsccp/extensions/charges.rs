//! The charges of Interests. A router pays for a Data when its Interest leaves, and then knows neither its size nor whether
//! it comes.
//!
//! *Sizes.* The charge is the average size of the flow's Data. This is too little for the first segments
//! after metadata of a tenth of their size. The surplus waits at the other end of the link, in one queue for
//! all classes. It drains slowly, because only the part 1 − η of the link is free. So each Data settles its
//! charge, unless the last 32 had one size: the total limiter pays the excess of a larger Data, and gets back
//! the rest of a smaller one ([`Ledger`]).
//!
//! *Answers.* Interests without an answer bring no Data. If they counted in full, a flood of them would leave
//! the link idle. So if less than half of a flow's Interests are answered, their charge in the total limiter
//! and in the demand is multiplied by the answered part ([`Answers`]). In turns of the scheduler and in other
//! limiters they count in full.
//!
//! Parameter: `exact_charges`.

use weir_core::ids::PitId;
use weir_core::units::{Rate, Span, Time};

/// The time over which the answered part of a flow's Interests is measured. It is longer than round trips.
const ANSWERED_OVER: Span = Span::from_secs(2);

/// Below this part, Interests are not answered because there are no Data. Above it, Data may be lost on an
/// overloaded link, and smaller charges would overload it more.
const UNANSWERED: f32 = 0.5;

/// The part of a flow's Interests that are answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    since: Time,
    /// The Interests that left in this window and in the previous one, and the Data that came in this one.
    sent: u32,
    sent_before: u32,
    came: u32,
    part: f32,
}

impl Answers {
    /// Returns the state of a new flow.
    pub(crate) fn new(now: Time) -> Answers {
        Answers { since: now, sent: 0, sent_before: 0, came: 0, part: 1.0 }
    }

    /// Counts an Interest that leaves.
    #[inline]
    pub(crate) fn note_sent(&mut self) {
        self.sent += 1;
    }

    /// Counts a Data that came.
    #[inline]
    pub(crate) fn note_came(&mut self) {
        self.came += 1;
    }

    /// Ends a period. Answers may come one window later, so they are compared with the smaller number of
    /// Interests of the two windows.
    pub(crate) fn end_period(&mut self, now: Time) {
        if now.since(self.since) < ANSWERED_OVER {
            return;
        }
        let Answers { sent, sent_before, came, .. } = *self;
        let asked = sent.min(sent_before);
        let answered = came as f32 / asked.max(1) as f32;
        let part = if asked > 0 && answered < UNANSWERED { answered } else { 1.0 };
        *self = Answers { since: now, sent: 0, sent_before: sent, came: 0, part };
    }

    /// Returns the part of the requested bits that is expected to come.
    #[inline]
    pub(crate) fn part_of(&self, bits: u64) -> u64 {
        if self.part >= 1.0 { bits } else { (f64::from(self.part) * bits as f64) as u64 }
    }
}

/// The longest round-trip time for which a table has room for all pending Data of the usual size. With
/// smaller Data and longer round trips, the oldest charges are forgotten.
const ROUND_TRIP: Span = Span::from_millis(200);
/// The number of rows at first, half a kilobyte. The most on any link are a quarter of a megabyte. A table is
/// only as large as necessary, to stay in the processor's caches.
const FIRST: usize = 8;
const MOST: usize = 1 << 12;
/// A table grows if it has forgotten more than one in this many charges.
const FORGETS: u32 = 8;
/// The number of charges in a row. With the index of the next one they fill a cache line.
const ROW: usize = 15;
/// A charge is less than 2^17 bits, 16 kB. The 15 bits above distinguish entries.
const CHARGE: u32 = (1 << 17) - 1;

/// The latest charges of entries that share the row; zero for none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Row {
    charges: [u32; ROW],
    next: u32,
}

/// A hash table of a bounded size. A full row forgets its oldest charge, so charges of Interests without Data
/// do not stay. After a flood of Interests the charges of others may be missing; then they are not corrected.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// The rows; allocated when first needed.
    rows: Vec<Row>,
    /// The largest number of rows.
    most: usize,
    /// Since the last check of the size: the number of charges, and the number of others forgotten for them.
    taken: u32,
    forgotten: u32,
}

impl Ledger {
    /// Returns a table for a link of this rate.
    pub(crate) fn new(rate: Rate, data_bits: u64) -> Ledger {
        Ledger { rows: Vec::new(), most: most_rows(rate, data_bits), taken: 0, forgotten: 0 }
    }

    /// Adapts the table to another rate of the link.
    pub(crate) fn fit(&mut self, rate: Rate, data_bits: u64) {
        self.most = most_rows(rate, data_bits);
    }

    /// Records the charge of an Interest of this PIT entry that leaves, bits.
    #[inline]
    pub(crate) fn charge(&mut self, pit: PitId, bits: u64) {
        if self.taken as usize >= ROW * self.rows.len() {
            self.look();
        }
        let row = self.row(pit);
        let Row { charges, next } = &mut self.rows[row];
        let place = &mut charges[*next as usize];
        self.taken += 1;
        self.forgotten += u32::from(*place != 0);
        *place = check(pit) | (bits as u32).min(CHARGE);
        *next = (*next + 1) % ROW as u32;
    }

    /// Allocates the table, or a larger one without the charges of the old one.
    #[cold]
    fn look(&mut self) {
        let rows = self.rows.len();
        if rows == 0 || self.forgotten > self.taken / FORGETS && rows < self.most {
            self.rows = vec![Row::default(); (2 * rows).max(FIRST)];
        }
        (self.taken, self.forgotten) = (0, 0);
    }

    fn row(&self, pit: PitId) -> usize {
        pit.index() & (self.rows.len() - 1)
    }

    /// Returns and removes the charge of the Interest of this PIT entry, whose Data has come, if it is known.
    #[inline]
    pub(crate) fn settle(&mut self, pit: PitId) -> Option<u64> {
        if self.rows.is_empty() {
            return None;
        }
        let (row, check) = (self.row(pit), check(pit));
        let is_its = |charge: &&mut u32| **charge != 0 && **charge & !CHARGE == check;
        let charge = self.rows[row].charges.iter_mut().find(is_its)?;
        Some(u64::from(core::mem::take(charge) & CHARGE))
    }
}

/// Returns the largest number of rows: twice as many places as pending Data, so that few rows are full.
fn most_rows(rate: Rate, data_bits: u64) -> usize {
    let places = 2 * rate.bits_in(ROUND_TRIP) / data_bits.max(1);
    ((places as usize).div_ceil(ROW)).clamp(FIRST, MOST).next_power_of_two()
}

/// Returns the bits that distinguish entries of a row: of a multiplicative hash of slot and generation.
fn check(pit: PitId) -> u32 {
    (pit.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 & !CHARGE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pit(index: u64, generation: u64) -> PitId {
        PitId::from_token(&(index << 16 | generation).to_be_bytes()[2..]).unwrap()
    }

    #[test]
    fn a_data_settles_what_its_interest_was_charged_once() {
        let mut ledger = Ledger::new(Rate::from_mbps(10), 9000);
        assert_eq!(ledger.settle(pit(1, 0)), None);
        ledger.charge(pit(1, 0), 9000);
        ledger.charge(pit(2, 0), 70_400);
        assert_eq!(ledger.settle(pit(3, 0)), None);
        assert_eq!(ledger.settle(pit(1, 1)), None, "another entry in its place");
        assert_eq!((ledger.settle(pit(1, 0)), ledger.settle(pit(1, 0))), (Some(9000), None));
        assert_eq!(ledger.settle(pit(2, 0)), Some(70_400));
        assert_eq!(ledger.settle(pit(0, 0)), None, "no entry is that of an empty place");
    }

    #[test]
    fn a_full_row_forgets_the_oldest() {
        let mut ledger = Ledger::new(Rate::from_mbps(10), 9000);
        (1..=17).for_each(|generation| ledger.charge(pit(3, generation), 100 * generation));
        let left: Vec<u64> = (1..=17).filter_map(|generation| ledger.settle(pit(3, generation))).collect();
        assert_eq!(left, (3..=17).map(|generation| 100 * generation).collect::<Vec<_>>());
    }

    /// Returns the number of rows, and how many of a hundred Data find the charge of their Interest,
    /// `on_their_way` Interests later.
    fn settled(mbps: u64, on_their_way: usize) -> (usize, usize) {
        let mut random = weir_core::random::Random::named(1, "entries");
        let mut ledger = Ledger::new(Rate::from_mbps(mbps), 9000);
        let entries: Vec<PitId> =
            (0..400_000).map(|at| pit(u64::from(random.below(1 << 20)), at & 0xffff)).collect();
        let mut settled = 0;
        for (at, entry) in entries.iter().enumerate() {
            ledger.charge(*entry, 2);
            if at >= 300_000 {
                settled += usize::from(ledger.settle(entries[at - on_their_way]) == Some(2));
            } else if at >= on_their_way {
                ledger.settle(entries[at - on_their_way]);
            }
        }
        (ledger.rows.len(), settled / 1000)
    }

    #[test]
    fn it_grows_with_what_is_on_its_way_and_to_twice_what_the_link_holds_at_most() {
        assert_eq!(settled(100, 1), (8, 100));
        assert_eq!(settled(100, 50), (8, 99));
        assert_eq!(settled(100, 500), (64, 98));
        assert_eq!(settled(100, 2222), (256, 96));
        assert_eq!(settled(1000, 22_222).0, 4096);
        assert!(settled(1000, 22_222).1 >= 99);
        assert_eq!(settled(10, 20_000), (32, 0), "of Data of 90 bytes, or that are not answered at all");
    }

    #[test]
    fn a_faster_link_may_have_more_rows_and_another_rate_forgets_nothing() {
        let mut ledger = Ledger::new(Rate::from_mbps(10), 9000);
        ledger.charge(pit(7, 0), 1);
        ledger.fit(Rate::from_mbps(1000), 9000);
        assert_eq!((ledger.settle(pit(7, 0)), ledger.most), (Some(1), 4096));
    }

    /// Returns the charge of 10 000 bits after windows of two seconds, with these numbers of Interests and
    /// Data.
    fn charged(windows: &[(u32, u32)]) -> u64 {
        let mut answers = Answers::new(Time::ZERO);
        for (n, (sent, came)) in windows.iter().enumerate() {
            (0..*sent).for_each(|_| answers.note_sent());
            (0..*came).for_each(|_| answers.note_came());
            answers.end_period(Time::ZERO + ANSWERED_OVER * (n as u64 + 1));
        }
        answers.part_of(10_000)
    }

    #[test]
    fn interests_count_with_the_part_of_them_that_is_answered() {
        assert_eq!(charged(&[]), 10_000, "in full while nothing is known");
        assert_eq!(charged(&[(100, 0)]), 10_000, "answers may be on their way");
        assert_eq!(charged(&[(100, 0), (100, 0)]), 0);
        assert_eq!(charged(&[(100, 90), (100, 25)]), 2500);
        assert_eq!(charged(&[(100, 0), (100, 0), (100, 100)]), 10_000, "answered again");
    }

    #[test]
    fn a_flow_whose_rate_grows_or_falls_is_answered_in_full() {
        assert_eq!(charged(&[(10, 5), (1000, 10)]), 10_000);
        assert_eq!(charged(&[(1000, 990), (10, 10)]), 10_000);
    }
}
