//! The header fields of Sluice, and the encoding of a grant.

use weir_core::ids::{NO_PREFIX, PrefixId};
use weir_core::packet::{FlowKey, Packet};
use weir_packet::Signal;

use crate::flow_index::FlowIndex;

pub(super) use crate::round_trip::ROUND_TRIP;
pub(super) use crate::rtt_measure::RTT_MEASURE;

/// The rate that a flow may request, and the load of the link that limits it; a [`Grant`].
const GRANT: Signal = Signal::new(
    952,
    "Grant",
    16,
    "rate that the flow may ask for: 2 bits load, 9 bits mantissa, 5 bits exponent of two, on Data",
)
.of_routers();

/// The rate of the link by which the packet comes.
const LINK_RATE: Signal =
    Signal::new(956, "LinkRate", 64, "rate of the link by which the packet comes, bit/s; 0: unknown")
        .of_routers();

/// All header fields of the scheme.
pub(super) const SIGNALS: &[Signal] = &[GRANT, LINK_RATE, RTT_MEASURE, ROUND_TRIP];

/// The number of bits of the mantissa below its leading one.
const MANTISSA: u32 = 9;
/// The largest rate, bit/s, with 5 bits of exponent.
pub(super) const MOST: f64 = (((2_u64 << MANTISSA) - 1) << 31) as f64;

/// The load of the link that limits a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Load {
    /// In between, or unknown.
    #[default]
    Usual,
    /// Above 95 % of the offered rate.
    Full,
    /// Below 90 % of the offered rate.
    Free,
}

/// The grant of a Data: a rate, and the load of the link that limits it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grant {
    /// The rate, bit/s; infinite if nothing limits the flow.
    pub(super) rate: f64,
    pub(super) load: Load,
}

impl Grant {
    /// The grant of a flow without a limit.
    pub(super) const UNLIMITED: Grant = Grant { rate: f64::INFINITY, load: Load::Free };

    /// Returns the grant with the smaller rate.
    pub(super) fn min(self, other: Grant) -> Grant {
        if other.rate < self.rate { other } else { self }
    }

    /// Encodes the grant in 16 bits. The rate is exact to 0.1 %, from 512 bit/s on.
    pub(super) fn code(self) -> u16 {
        let least = 1_u64 << MANTISSA;
        let bits = if self.rate < MOST { (self.rate.round() as u64).max(least) } else { MOST as u64 };
        let exponent = bits.ilog2() - MANTISSA;
        let half = if exponent > 0 { 1 << (exponent - 1) } else { 0 };
        // Rounding up may carry into the exponent, which is then correct too.
        let rounded = ((bits + half) >> exponent) as u16;
        let code = ((exponent as u16) << MANTISSA) + (rounded - least as u16);
        (code.min(u16::MAX >> 2) << 2) | self.load as u16
    }

    /// Decodes a grant.
    pub(super) fn of_code(code: u16) -> Grant {
        let (exponent, mantissa) = (code >> (MANTISSA + 2), code >> 2 & ((1 << MANTISSA) - 1));
        let rate = ((1 << MANTISSA | u64::from(mantissa)) << exponent) as f64;
        let load = match code & 3 {
            1 => Load::Full,
            2 => Load::Free,
            _ => Load::Usual,
        };
        if rate < MOST { Grant { rate, load } } else { Grant::UNLIMITED }
    }

    /// Returns the grant of a Data, if it has one.
    pub(super) fn of(data: &Packet) -> Option<Grant> {
        let code = data.header().signals.value(&GRANT)?;
        Some(Grant::of_code(u16::try_from(code).unwrap_or(u16::MAX)))
    }

    /// Writes the grant into a Data.
    pub(super) fn write(self, data: &mut Packet) {
        data.header_mut().signals.set(&GRANT, u64::from(self.code()));
    }

    /// Removes the grant of a Data.
    pub(super) fn remove(data: &mut Packet) {
        data.header_mut().signals.clear(&GRANT);
    }
}

/// A grant is repeated if its code differs by more than this number of steps of 0.1 %, and at this period of
/// Data. Repetitions come in runs, the first of which begins with the change.
const STEPS: u16 = 2;
const SAID_EACH: u32 = 8;

/// The grants that a neighbour has received. A Data without a grant repeats the previous one.
#[derive(Debug, Default)]
pub(super) struct Said {
    index: FlowIndex,
    /// For each flow: the code that was sent last, and the number of Data since without it.
    last: Vec<(u16, u32)>,
    free: Vec<u32>,
}

impl Said {
    /// Returns whether the neighbour has received a grant for a flow.
    pub(super) fn knows(&self, key: FlowKey) -> bool {
        self.index.find(key).is_some()
    }

    /// Removes the grant of a leaving Data if the neighbour knows it.
    pub(super) fn leave_out(&mut self, data: &mut Packet) {
        let Some(grant) = Grant::of(data) else { return };
        if data.flow.prefix == NO_PREFIX {
            return;
        }
        let code = grant.code();
        let place = self.index.find(data.flow).unwrap_or_else(|| {
            let place = self.free.pop().unwrap_or_else(|| {
                self.last.push((0, 0));
                self.last.len() as u32 - 1
            });
            self.last[place as usize] = (0, 0);
            self.index.insert(data.flow, place);
            place
        });
        let (said, since) = &mut self.last[place as usize];
        let is_known = (code >> 2).abs_diff(*said >> 2) <= STEPS && code & 3 == *said & 3;
        *since = if is_known { since.wrapping_add(1) } else { 0 };
        if is_known && !is_said(*since, SAID_EACH) {
            Grant::remove(data);
        } else {
            *said = code;
        }
    }

    /// Removes the state of a prefix.
    pub(super) fn forget(&mut self, prefix: PrefixId) {
        for place in self.index.of_prefix(prefix) {
            self.free.push(place);
        }
        self.index.remove_prefix(prefix);
    }
}

/// The largest rate of a link that is accepted from a neighbour, bit/s.
const MOST_LINK: f64 = 1e12;

/// Removes the link's rate from a packet and returns it, bit/s; 0 if the neighbour does not know it.
pub(super) fn take_link_rate(packet: &mut Packet) -> Option<f64> {
    let rate = packet.header().signals.value(&LINK_RATE)?;
    packet.header_mut().signals.clear(&LINK_RATE);
    Some((rate as f64).min(MOST_LINK))
}

/// Writes the rate of the link by which a packet leaves, bit/s; 0 if it is not known.
pub(super) fn write_link_rate(packet: &mut Packet, rate: f64) {
    packet.header_mut().signals.set(&LINK_RATE, rate as u64);
}

/// Returns whether the packet with this number carries a periodic report. `each` successive packets do, then
/// as many do not. A host sends successive packets of the same length with one system call.
pub(super) fn is_said(number: u32, each: u32) -> bool {
    const ROW: u32 = 4;
    number % (ROW * each) < ROW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_keeps_its_rate_to_a_thousandth_and_its_load() {
        let rates = (0..400).map(|n| 6e4 * 1.057_f64.powi(n)).take_while(|rate| *rate < 0.99 * MOST);
        for (n, rate) in rates.enumerate() {
            let load = [Load::Usual, Load::Full, Load::Free][n % 3];
            let read = Grant::of_code(Grant { rate, load }.code());
            assert!((read.rate / rate - 1.0).abs() < 0.001, "{rate} {}", read.rate);
            assert_eq!(read.load, load);
        }
    }

    #[test]
    fn codes_grow_with_rates_and_the_ends_are_ends() {
        let code = |rate| Grant { rate, load: Load::Usual }.code();
        let mut before = 0;
        for n in 0..2000 {
            let now = code(1.02_f64.powi(n));
            assert!(now >= before);
            before = now;
        }
        assert_eq!(Grant::of_code(code(0.0)).rate, 512.0);
        assert_eq!(Grant::of_code(code(f64::INFINITY)), Grant::UNLIMITED);
        assert_eq!(Grant::of_code(u16::MAX).rate, f64::INFINITY);
    }
}
