//! Who may connect to the database from other machines, as the platform interface sees it.

use std::net::IpAddr;

/// The rules for connections from other machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateRules {
    /// The networks that may connect; `None` for all.
    allowed: Option<Vec<(IpAddr, u8)>>,
    /// Whether connections have to be encrypted.
    pub needs_tls: bool,
}

/// What decides about connections from other machines.
pub trait DatabaseGate: Send + Sync + 'static {
    /// Puts rules in force for new connections.
    fn set_rules(&self, rules: GateRules);

    /// Reports whether connections have to be encrypted.
    fn is_tls_needed(&self) -> bool;

    /// Reports whether they have to be, whatever the rules say, since other machines reach the port.
    fn is_tls_always_needed(&self) -> bool;

    /// Returns the addresses that are banned because their logins have failed too often.
    fn banned(&self) -> Vec<IpAddr>;

    /// Lifts the bans of addresses.
    fn lift(&self, addresses: &[IpAddr]);
}

impl GateRules {
    /// Returns the rules that allow these networks of IPv4 and IPv6, in CIDR notation, and nobody else.
    ///
    /// Errors: the first that is no network.
    pub fn parse(v4: &[String], v6: &[String], needs_tls: bool) -> Result<Self, String> {
        let mut networks = Vec::new();
        for text in v4.iter().chain(v6) {
            networks.push(network(text).ok_or_else(|| text.clone())?);
        }
        let is_all =
            |is_v4: bool| networks.iter().any(|(address, length)| *length == 0 && address.is_ipv4() == is_v4);
        let everybody = is_all(true) && is_all(false);
        Ok(Self { allowed: (!everybody).then_some(networks), needs_tls })
    }

    /// Reports whether `address` may connect.
    pub fn allow(&self, address: IpAddr) -> bool {
        let Some(allowed) = &self.allowed else { return true };
        allowed.iter().any(|network| contains(*network, address.to_canonical()))
    }
}

/// Reads a network, or an address as one of its own.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.trim().parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = length.map_or(Some(most), |length| length.trim().parse().ok())?;
    (length <= most).then_some((address, length))
}

fn contains((network, length): (IpAddr, u8), address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, true),
        IpAddr::V6(address) => (address.to_bits(), false),
    };
    let ((own, own_is_v4), (other, other_is_v4)) = (bits(network), bits(address));
    let differing = (own ^ other).leading_zeros();
    own_is_v4 == other_is_v4 && differing >= u32::from(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_in_cidr_notation() {
        let rules = |v4: &[&str], v6: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            GateRules::parse(&owned(v4), &owned(v6), false)
        };
        let allows = |rules: &GateRules, address: &str| rules.allow(address.parse().unwrap());
        let some = rules(&["10.1.0.0/16", "192.0.2.7"], &["2001:db8::/32"]).unwrap();
        assert!(allows(&some, "10.1.255.1") && allows(&some, "192.0.2.7") && allows(&some, "2001:db8:1::2"));
        assert!(!allows(&some, "10.2.0.1") && !allows(&some, "192.0.2.8") && !allows(&some, "2001:db9::1"));
        let all = rules(&["0.0.0.0/0"], &["::/0"]).unwrap();
        assert_eq!(all, GateRules::default());
        let only_v4 = rules(&["0.0.0.0/0"], &[]).unwrap();
        assert!(allows(&only_v4, "192.0.2.8") && !allows(&only_v4, "2001:db8::1"));
        let none = rules(&[], &[]).unwrap();
        assert!(!allows(&none, "127.0.0.1") && !allows(&none, "::1"));
        assert_eq!(rules(&["10.0.0.0/33"], &[]), Err("10.0.0.0/33".to_owned()));
    }
}
