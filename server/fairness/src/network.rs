//! The networks of callers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// An address of IPv4, or a /64 network of IPv6: there, a customer has at least 2^64 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// An address.
    V4(Ipv4Addr),
    /// The first 64 bits of an address.
    V6(u64),
    /// The first 48 bits of an address, which a site gets at most, with all their networks. Source: RFC 6177.
    Site(u64),
}

impl Network {
    /// Returns the network of `address`; `None` if it is an address of this machine (loopback, or none at all).
    pub fn of(address: IpAddr) -> Option<Self> {
        match address.to_canonical() {
            address if address.is_loopback() || address.is_unspecified() => None,
            IpAddr::V4(address) => Some(Self::V4(address)),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Some(Self::V6([a, b, c, d].iter().fold(0, |bits, &part| bits << 16 | u64::from(part))))
            }
        }
    }
}

impl Network {
    /// Returns the site of a network of IPv6.
    pub const fn site(self) -> Option<Self> {
        match self {
            Self::V6(bits) => Some(Self::Site(bits >> 16)),
            Self::V4(_) | Self::Site(_) => None,
        }
    }

    /// Returns the network and its site, if it has one.
    pub(crate) fn with_site(self) -> impl Iterator<Item = Self> {
        std::iter::once(self).chain(self.site())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => address.fmt(f),
            Self::V6(bits) => {
                let part = |index: u32| bits >> (48 - 16 * index) & 0xffff;
                write!(f, "{:x}:{:x}:{:x}:{:x}::/64", part(0), part(1), part(2), part(3))
            }
            Self::Site(bits) => {
                let part = |index: u32| bits >> (32 - 16 * index) & 0xffff;
                write!(f, "{:x}:{:x}:{:x}::/48", part(0), part(1), part(2))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_ipv6_are_one_and_this_machine_is_none() {
        let shown = |address: &str| Network::of(address.parse().unwrap()).map(|network| network.to_string());
        assert_eq!(shown("2001:db8:1:2:3::4").as_deref(), Some("2001:db8:1:2::/64"));
        assert_eq!(shown("::ffff:192.0.2.7").as_deref(), Some("192.0.2.7"));
        for local in ["127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1"] {
            assert_eq!(shown(local), None, "{local}");
        }
    }
}
