//! Largest frames to peers, by the peers' networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network, such as `192.0.2.0/24`: all addresses with the same first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its first address.
    first: IpAddr,
    /// Length of the common prefix, bits.
    bits: u32,
}

impl Network {
    /// Whether the network contains an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        first(address.to_canonical(), self.bits) == Some(self.first)
    }
}

/// The first address with the same first bits; `None` if `bits` exceeds the address length.
fn first(address: IpAddr, bits: u32) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(ip) => {
            let others = 32_u32.checked_sub(bits)?;
            Ipv4Addr::from_bits(ip.to_bits() & u32::MAX.checked_shl(others).unwrap_or(0)).into()
        }
        IpAddr::V6(ip) => {
            let others = 128_u32.checked_sub(bits)?;
            Ipv6Addr::from_bits(ip.to_bits() & u128::MAX.checked_shl(others).unwrap_or(0)).into()
        }
    })
}

impl FromStr for Network {
    type Err = ();

    /// A plain address is a network with one address. Bits after the common prefix must be 0.
    fn from_str(text: &str) -> Result<Network, ()> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| ())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let bits = bits.unwrap_or(if address.is_ipv4() { 32 } else { 128 });
        let network = Network { first: first(address, bits).ok_or(())?, bits };
        if network.first == address && address.to_canonical() == address { Ok(network) } else { Err(()) }
    }
}

/// Frame sizes by network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MtuByNetwork(Vec<(Network, u64)>);

impl MtuByNetwork {
    /// Adds a network with its size. Returns whether the network is new.
    pub(super) fn add(&mut self, network: Network, mtu: u64) -> bool {
        let is_new = self.0.iter().all(|(known, _)| *known != network);
        if is_new {
            self.0.push((network, mtu));
        }
        is_new
    }

    /// The frame size for a peer, bytes, from the smallest network that contains the peer.
    pub fn of(&self, peer: IpAddr) -> Option<u64> {
        let networks = self.0.iter().filter(|(network, _)| network.contains(peer));
        networks.max_by_key(|(network, _)| network.bits).map(|(_, mtu)| *mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_with_its_bits() {
        for (network, inside, outside) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.128/25", "::ffff:192.0.2.128", "192.0.2.127"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("2001:db8::1/128", "2001:db8::1", "2001:db8::2"),
            ("::/0", "fe80::1", "10.0.0.1"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.contains(ip(inside)) && !network.contains(ip(outside)), "{network:?}");
        }
        for wrong in [
            "",
            "192.0.2.0/33",
            "192.0.2.1/24",
            "192.0.2.0/",
            "2001:db8::/129",
            "::ffff:192.0.2.0/120",
            "a/8",
        ] {
            assert_eq!(wrong.parse::<Network>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn the_smallest_network_counts() {
        let mut networks = MtuByNetwork::default();
        for (network, mtu) in [("192.0.2.8/29", 8800), ("192.0.2.0/24", 1280), ("192.0.2.9", 1400)] {
            assert!(networks.add(network.parse().unwrap(), mtu));
        }
        assert!(!networks.add("192.0.2.0/24".parse().unwrap(), 1));
        for (peer, mtu) in [
            ("192.0.2.9", Some(1400)),
            ("192.0.2.10", Some(8800)),
            ("192.0.2.16", Some(1280)),
            ("192.0.3.9", None),
        ] {
            assert_eq!(networks.of(ip(peer)), mtu, "{peer}");
        }
    }
}
