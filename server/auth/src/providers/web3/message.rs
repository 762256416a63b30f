//! Sign-in messages of wallets (ERC-4361), for Ethereum and Solana: parsing and checks.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Url;

use super::Chain;

impl Chain {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Ethereum => "siwe",
            Self::Solana => "siws",
        }
    }

    const fn header(self) -> &'static str {
        match self {
            Self::Ethereum => " wants you to sign in with your Ethereum account:",
            Self::Solana => " wants you to sign in with your Solana account:",
        }
    }

    fn check_address(self, address: &str) -> Result<(), &'static str> {
        match self {
            Self::Ethereum => {
                let digits = address.strip_prefix("0x").unwrap_or_default();
                let valid = digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                valid.then_some(()).ok_or("wallet address is not a valid Ethereum address")
            }
            Self::Solana => {
                let valid = (32..=44).contains(&address.len())
                    && address.bytes().all(|byte| byte.is_ascii_alphanumeric());
                valid.then_some(()).ok_or("wallet address is not in base58 format")
            }
        }
    }

    /// Checks the name of a network. Ethereum's networks have numbers (EIP-155), Solana's have names, and its messages
    /// may do without.
    fn check_network(self, network: &str) -> Result<(), &'static str> {
        let valid = match self {
            Self::Ethereum => network.parse::<i64>().is_ok_and(|number| number > 0),
            Self::Solana => matches!(
                network,
                "" | "solana:mainnet" | "solana:devnet" | "solana:testnet" | "solana:localnet"
            ),
        };
        valid.then_some(()).ok_or("Chain ID is not valid")
    }
}

/// A sign-in message (ERC-4361).
#[derive(Debug)]
pub(crate) struct Message<'a> {
    /// The whole text, which is what was signed.
    pub(crate) raw: &'a str,
    /// Host and port of the application that asked for the sign-in.
    pub(crate) domain: &'a str,
    pub(crate) address: &'a str,
    pub(crate) statement: Option<&'a str>,
    pub(crate) uri: Url,
    /// `uri` as it is written.
    pub(crate) uri_text: &'a str,
    /// Empty if it names none.
    pub(crate) network: &'a str,
    pub(crate) issued_at: OffsetDateTime,
    pub(crate) expires_at: Option<OffsetDateTime>,
    pub(crate) not_before: Option<OffsetDateTime>,
}

/// The fields as they are read, line by line.
#[derive(Default)]
struct Fields<'a> {
    uri: Option<(Url, &'a str)>,
    version: &'a str,
    network: &'a str,
    issued_at: Option<OffsetDateTime>,
    expires_at: Option<OffsetDateTime>,
    not_before: Option<OffsetDateTime>,
}

impl<'a> Message<'a> {
    /// Reads the text form. Unknown fields are ignored, the last of repeated ones counts.
    ///
    /// Errors: a sentence that says which line is wrong, as upstream's.
    pub(crate) fn parse(raw: &'a str, chain: Chain) -> Result<Self, String> {
        let fail = |reason: &str| format!("{}: {reason}", chain.prefix());
        let lines: Vec<&str> = raw.split('\n').collect();
        let &[header, address, empty, fourth, fifth, _, ..] = lines.as_slice() else {
            return Err(fail("message needs at least 6 lines"));
        };
        let domain = header
            .strip_suffix(chain.header())
            .ok_or_else(|| fail(&format!("message first line does not end in \"{}\"", chain.header())))?;
        let (domain, address) = (domain.trim(), address.trim());
        if !is_domain(domain) {
            return Err(fail("domain in first line of message is not valid"));
        }
        chain.check_address(address).map_err(fail)?;
        if !empty.is_empty() {
            return Err(fail("third line must be empty"));
        }
        let statement = Some(fourth).filter(|line| !line.is_empty() && fifth.is_empty());
        let start = if statement.is_some() { 5 } else { 3 };
        let fields = Fields::parse(&lines, start, chain).map_err(|reason| fail(&reason))?;
        fields.complete(raw, domain, address, statement).map_err(|reason| fail(&reason))
    }

    /// Returns host and port of the URI, as they are written there.
    pub(crate) fn authority(&self) -> &'a str {
        let rest = self.uri_text.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        authority.rsplit_once('@').map_or(authority, |(_, host)| host)
    }
}

impl<'a> Fields<'a> {
    fn parse(lines: &[&'a str], start: usize, chain: Chain) -> Result<Self, String> {
        let mut fields = Fields::default();
        let mut resources = None;
        for (index, line) in lines.iter().enumerate().skip(start) {
            let line = line.trim();
            if let (Some(position), Some(resource)) = (resources, line.strip_prefix("- ")) {
                if !is_request_uri(resource.trim()) {
                    return Err(format!("Resource at position {position} has invalid URI"));
                }
                resources = Some(position + 1);
                continue;
            }
            resources = (line == "Resources:").then_some(0);
            if line.is_empty() || resources.is_some() {
                continue;
            }
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| format!("encountered unparsable line at index {index}"))?;
            fields.set(name, value.trim(), chain)?;
        }
        Ok(fields)
    }

    fn set(&mut self, name: &str, value: &'a str, chain: Chain) -> Result<(), &'static str> {
        let moment = |message| OffsetDateTime::parse(value, &Rfc3339).map(Some).map_err(|_| message);
        match name {
            "URI" => self.uri = Some((Url::parse(value).map_err(|_| "URI is not valid")?, value)),
            "Version" => self.version = value,
            "Chain ID" => {
                chain.check_network(value)?;
                self.network = value;
            }
            "Issued At" => self.issued_at = moment("Issued At is not a valid ISO8601 timestamp")?,
            "Expiration Time" => {
                self.expires_at = moment("Expiration Time is not a valid ISO8601 timestamp")?
            }
            "Not Before" => self.not_before = moment("Not Before is not a valid ISO8601 timestamp")?,
            _ => {}
        }
        Ok(())
    }

    fn complete(
        self,
        raw: &'a str,
        domain: &'a str,
        address: &'a str,
        statement: Option<&'a str>,
    ) -> Result<Message<'a>, String> {
        if self.version != "1" {
            return Err(format!("Version value is not supported, expected 1 got {:?}", self.version));
        }
        let issued_at = self.issued_at.ok_or("Issued At is not specified")?;
        let (uri, uri_text) = self.uri.ok_or("URI is not specified")?;
        let after = |start: Option<OffsetDateTime>| {
            start.zip(self.expires_at).is_some_and(|(start, end)| start > end)
        };
        if after(Some(issued_at)) {
            return Err("Issued At is after Expiration Time".to_owned());
        }
        if after(self.not_before) {
            return Err("Not Before is after Expiration Time".to_owned());
        }
        Ok(Message {
            raw,
            domain,
            address,
            statement,
            uri,
            uri_text,
            network: self.network,
            issued_at,
            expires_at: self.expires_at,
            not_before: self.not_before,
        })
    }
}

/// Returns whether `text` is an absolute URI or an absolute path, without white space.
fn is_request_uri(text: &str) -> bool {
    (Url::parse(text).is_ok() || text.starts_with('/')) && !text.contains(char::is_whitespace)
}

/// Returns whether `text` is `localhost` or a name of at least two labels whose last is of letters only, with or
/// without a port.
fn is_domain(text: &str) -> bool {
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let is_port =
        |port: &str| (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    if !port.is_none_or(is_port) {
        return false;
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name == "localhost"
        || name.rsplit_once('.').is_some_and(|(labels, last)| {
            labels.split('.').all(is_label)
                && last.len() >= 2
                && last.bytes().all(|byte| byte.is_ascii_alphabetic())
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ETHEREUM: &str = "example.com wants you to sign in with your Ethereum account:\n\
        0x196DEd3b9C6a3D2b8c64E2B9Bb4b9D0cF8eC4a0E\n\
        \n\
        Welcome back\n\
        \n\
        URI: https://example.com/login?next=1\n\
        Version: 1\n\
        Chain ID: 1\n\
        Nonce: 32891757\n\
        Issued At: 2026-01-02T03:04:05.678Z\n\
        Expiration Time: 2026-01-02T04:04:05+01:00\n\
        Not Before: 2026-01-02T02:00:00Z\n\
        Request ID: some:id\n\
        Resources:\n\
        - https://example.com/a\n\
        - /b\n\
        Unknown: ignored";

    fn error(text: &str) -> String {
        Message::parse(text, Chain::Ethereum).unwrap_err()
    }

    #[test]
    fn a_full_message_is_read() {
        let text = ETHEREUM.replace("04:04:05+01:00", "05:04:05+01:00");
        let message = Message::parse(&text, Chain::Ethereum).unwrap();
        assert_eq!(message.domain, "example.com");
        assert_eq!(message.address, "0x196DEd3b9C6a3D2b8c64E2B9Bb4b9D0cF8eC4a0E");
        assert_eq!(message.statement, Some("Welcome back"));
        assert_eq!(message.uri_text, "https://example.com/login?next=1");
        assert_eq!(message.authority(), "example.com");
        assert_eq!(message.network, "1");
        assert_eq!(message.issued_at.unix_timestamp(), 1_767_323_045);
        assert_eq!(message.expires_at.unwrap().unix_timestamp(), 1_767_326_645 - 3_600 + 3_600);
        assert!(message.not_before.is_some());
    }

    #[test]
    fn every_wrong_line_is_named() {
        let text = ETHEREUM.replace("04:04:05+01:00", "05:04:05+01:00");
        for (from, to, expected) in [
            ("Ethereum account:", "Solana account:", "first line"),
            ("example.com wants", "exa mple.com wants", "siwe: domain in first line of message is not valid"),
            ("0x196", "0x19", "siwe: wallet address is not a valid Ethereum address"),
            ("\n\nWelcome", "\n \nWelcome", "siwe: third line must be empty"),
            ("Version: 1", "Version: 2", "siwe: Version value is not supported, expected 1 got \"2\""),
            ("Version: 1\n", "", "siwe: Version value is not supported, expected 1 got \"\""),
            ("Chain ID: 1", "Chain ID: 0", "siwe: Chain ID is not valid"),
            ("Chain ID: 1", "Chain ID:", "siwe: Chain ID is not valid"),
            ("Chain ID: 1", "Chain", "siwe: encountered unparsable line at index 7"),
            ("URI: https://example.com/login?next=1", "URI: nonsense", "siwe: URI is not valid"),
            ("URI: https://example.com/login?next=1\n", "", "siwe: URI is not specified"),
            ("Issued At: 2026-01-02T03:04:05.678Z", "Issued At: 2026", "siwe: Issued At is not a valid"),
            ("Issued At: 2026-01-02T03:04:05.678Z\n", "", "siwe: Issued At is not specified"),
            (
                "Issued At: 2026-01-02T03",
                "Issued At: 2026-01-02T05",
                "siwe: Issued At is after Expiration Time",
            ),
            ("Not Before: 2026-01-02T02", "Not Before: 2026-01-02T05", "siwe: Not Before is after"),
            ("- /b", "- b c", "siwe: Resource at position 1 has invalid URI"),
        ] {
            let found = error(&text.replacen(from, to, 1));
            assert!(found.contains(expected), "{expected}: {found}");
        }
        assert_eq!(error("a\nb\nc"), "siwe: message needs at least 6 lines");
    }

    #[test]
    fn domains() {
        for domain in ["localhost", "localhost:3000", "example.com", "a-b.example.co:65535", "1.example.com"]
        {
            assert!(is_domain(domain), "{domain}");
        }
        for domain in
            ["", "example", "example.c", "-a.com", "a-.com", "a..com", "a.com:", "a.com:123456", "a.c0m"]
        {
            assert!(!is_domain(domain), "{domain}");
        }
    }

    #[test]
    fn solana_messages_may_do_without_a_network() {
        let text = "localhost:3000 wants you to sign in with your Solana account:\n\
            2gaVZ7fmQbhWTtm2gHpGJqPgkwBkBTTBpWaFrXcrrzbD\n\n\
            URI: http://localhost:3000/\nVersion: 1\nIssued At: 2026-01-02T03:04:05Z";
        let message = Message::parse(text, Chain::Solana).unwrap();
        assert_eq!((message.network, message.statement), ("", None));
        let named = format!("{text}\nChain ID: solana:mainnet");
        assert_eq!(Message::parse(&named, Chain::Solana).unwrap().network, "solana:mainnet");
        assert!(Message::parse(&format!("{text}\nChain ID: mainnet"), Chain::Solana).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in any::<String>()) {
            let _ = Message::parse(&text, Chain::Ethereum);
            let _ = Message::parse(&text, Chain::Solana);
        }

        #[test]
        fn any_lines_are_parsed_without_panic(lines in prop::collection::vec(
            prop_oneof![
                Just(String::new()), Just("Resources:".to_owned()), "- [ -~]{0,20}",
                "(URI|Version|Chain ID|Nonce|Issued At|Not Before|Expiration Time): [ -~]{0,30}", "[ -~]{0,20}",
            ],
            0..20,
        )) {
            let text = format!(
                "example.com{}\n0x{}\n\n{}", Chain::Ethereum.header(), "a".repeat(40), lines.join("\n")
            );
            let _ = Message::parse(&text, Chain::Ethereum);
        }

        #[test]
        fn what_is_written_is_read(
            domain in "[a-z]{1,10}\\.[a-z]{2,5}",
            digits in "[0-9a-fA-F]{40}",
            statement in prop::option::of("[A-Za-z][ -~]{0,60}"),
            path in "[a-z0-9/]{0,20}",
            network in 1_i64..,
            seconds in 0_i64..4_000_000_000,
        ) {
            let issued = OffsetDateTime::from_unix_timestamp(seconds).unwrap().format(&Rfc3339).unwrap();
            let said = statement.as_ref().map_or(String::new(), |text| format!("{text}\n\n"));
            let uri = format!("https://{domain}/{path}");
            let text = format!(
                "{domain}{}\n0x{digits}\n\n{said}URI: {uri}\nVersion: 1\nChain ID: {network}\nNonce: x\nIssued At: {issued}",
                Chain::Ethereum.header()
            );
            let message = Message::parse(&text, Chain::Ethereum).unwrap();
            prop_assert_eq!(message.domain, domain.as_str());
            prop_assert_eq!(message.authority(), domain.as_str());
            prop_assert_eq!(message.address, format!("0x{digits}"));
            prop_assert_eq!(message.statement, statement.as_deref());
            prop_assert_eq!(message.uri_text, uri.as_str());
            prop_assert_eq!(message.network, network.to_string());
            prop_assert_eq!(message.issued_at.unix_timestamp(), seconds);
        }
    }
}
