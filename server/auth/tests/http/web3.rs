//! Sign-in with messages that wallets sign.

use auth::Settings;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::harness::{Response, Server};

fn settings() -> Settings {
    let mut settings = Settings { site_url: "https://site.example".to_owned(), ..Settings::default() };
    settings.providers.ethereum.enabled = true;
    settings.providers.solana.enabled = true;
    settings
}

/// A wallet.
enum Wallet {
    Ethereum(k256::ecdsa::SigningKey),
    Solana(SigningKey),
}

impl Wallet {
    fn ethereum() -> Self {
        Self::Ethereum(k256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap())
    }

    fn solana() -> Self {
        Self::Solana(SigningKey::from_bytes(&[7; 32]))
    }

    fn chain(&self) -> &'static str {
        match self {
            Self::Ethereum(_) => "ethereum",
            Self::Solana(_) => "solana",
        }
    }

    fn address(&self) -> String {
        match self {
            Self::Ethereum(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                let hash = Keccak256::digest(&point.as_bytes()[1..]);
                hash[12..].iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
            }
            Self::Solana(key) => bs58::encode(key.verifying_key().as_bytes()).into_string(),
        }
    }

    fn sign(&self, text: &str) -> String {
        match self {
            Self::Ethereum(key) => {
                let prefixed = format!("\x19Ethereum Signed Message:\n{}{text}", text.len());
                let digest = Keccak256::digest(prefixed);
                let (numbers, recovery) = key.sign_prehash_recoverable(&digest);
                let bytes = [numbers.to_bytes().as_slice(), &[recovery.to_byte() + 27]].concat();
                bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
            }
            Self::Solana(key) => BASE64_STANDARD.encode(key.sign(text.as_bytes()).to_bytes()),
        }
    }

    /// Returns a message for `uri` at `domain` that was issued `age` ago.
    fn message(&self, domain: &str, uri: &str, age: Duration) -> String {
        let title = if self.chain() == "ethereum" { "Ethereum" } else { "Solana" };
        let network = if self.chain() == "ethereum" { "1" } else { "solana:mainnet" };
        let issued = (OffsetDateTime::now_utc() - age).format(&Rfc3339).unwrap();
        let address = self.address();
        format!(
            "{domain} wants you to sign in with your {title} account:\n{address}\n\nWelcome\n\n\
             URI: {uri}\nVersion: 1\nChain ID: {network}\nNonce: 1234567890\nIssued At: {issued}"
        )
    }

    fn now(&self) -> String {
        self.message("site.example", "https://site.example/login", Duration::ZERO)
    }

    async fn show(&self, server: &Server, text: &str) -> Response {
        self.show_with(server, text, &self.sign(text)).await
    }

    async fn show_with(&self, server: &Server, text: &str, signature: &str) -> Response {
        let fields = json!({ "chain": self.chain(), "message": text, "signature": signature });
        server.post("/token?grant_type=web3", fields).await
    }
}

fn moment(offset: Duration) -> String {
    (OffsetDateTime::now_utc() + offset).format(&Rfc3339).unwrap()
}

#[tokio::test]
async fn wallets_sign_in() {
    let server = Server::with(settings()).await;
    for wallet in [Wallet::ethereum(), Wallet::solana()] {
        let session = wallet.show(&server, &wallet.now()).await;
        assert_eq!(session.status, 200, "{}", session.body);
        let identity = &session.body["user"]["identities"][0];
        let (chain, address) = (wallet.chain(), wallet.address());
        assert_eq!(identity["id"], format!("web3:{chain}:{address}"));
        assert_eq!(identity["provider"], "web3");
        let network = if chain == "ethereum" { "1" } else { "solana:mainnet" };
        assert_eq!(
            identity["identity_data"]["custom_claims"],
            json!({
                "address": address, "chain": chain, "network": network, "domain": "site.example", "statement": "Welcome",
            })
        );
        assert_eq!(session.body["user"]["email"], "");
        let second = wallet.show(&server, &wallet.now()).await;
        assert_eq!(second.body["user"]["id"], session.body["user"]["id"]);
        let payload = session.text("access_token").split('.').nth(1).unwrap().to_owned();
        let payload = base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(payload).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&payload).unwrap()["amr"][0]["method"], "web3");
    }
}

#[tokio::test]
async fn what_is_off_or_no_signature_is_refused() {
    let server = Server::start().await;
    let wallet = Wallet::ethereum();
    assert_eq!(wallet.show(&server, &wallet.now()).await.refusal(), (422, "web3_provider_disabled"));
    let mut one = settings();
    one.providers.ethereum.enabled = false;
    let server = Server::with(one).await;
    assert_eq!(wallet.show(&server, &wallet.now()).await.refusal(), (422, "web3_provider_disabled"));
    let server = Server::with(settings()).await;
    for signature in ["", "0x12", &"a".repeat(131)] {
        let response = wallet.show_with(&server, &wallet.now(), signature).await;
        assert_eq!(response.refusal(), (400, "validation_failed"));
    }
    let solana = Wallet::solana();
    for signature in ["", "!", &"!".repeat(88)] {
        let response = solana.show_with(&server, &solana.now(), signature).await;
        assert_eq!(response.refusal(), (400, "validation_failed"));
    }
}

#[tokio::test]
async fn only_the_wallets_own_signature_counts() {
    let server = Server::with(settings()).await;
    for wallet in [Wallet::ethereum(), Wallet::solana()] {
        let text = wallet.now();
        let other = wallet.sign(&text.replace("Welcome", "Hello"));
        let response = wallet.show_with(&server, &text, &other).await;
        assert_eq!((response.status.as_u16(), response.text("error")), (400, "invalid_grant"));
        assert_eq!(response.text("error_description"), "Signature does not match address in message");
    }
    let wallet = Wallet::ethereum();
    let response = wallet.show_with(&server, &wallet.now(), &format!("0x{}", "00".repeat(65))).await;
    assert_eq!(response.text("error"), "invalid_grant");
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
}

#[tokio::test]
async fn messages_for_other_places_and_times_are_refused() {
    let server = Server::with(settings()).await;
    for wallet in [Wallet::ethereum(), Wallet::solana()] {
        let now = wallet.now();
        let bad = [
            (wallet.message("site.example", "http://site.example/", Duration::ZERO), "HTTPS"),
            (
                wallet.message("evil.example", "https://evil.example/", Duration::ZERO),
                "not allowed on this server",
            ),
            (
                wallet.message("evil.example", "https://site.example/", Duration::ZERO),
                "Domain that does not match",
            ),
            (wallet.message("site.example", "https://site.example/", Duration::minutes(11)), "too long ago"),
            (
                wallet.message("site.example", "https://site.example/", Duration::minutes(-11)),
                "too far in the future",
            ),
            (format!("{now}\nNot Before: {}", moment(Duration::minutes(1))), "becomes valid in the future"),
        ];
        for (text, expected) in bad {
            let response = wallet.show(&server, &text).await;
            assert_eq!((response.status.as_u16(), response.text("error")), (400, "invalid_grant"), "{text}");
            assert!(response.text("error_description").contains(expected), "{expected}: {}", response.body);
        }
        let issued = wallet.message("site.example", "https://site.example/", Duration::minutes(2));
        let expired = format!("{issued}\nExpiration Time: {}", moment(Duration::minutes(-1)));
        assert!(wallet.show(&server, &expired).await.text("error_description").contains("is expired"));
        let valid = format!("{issued}\nExpiration Time: {}", moment(Duration::minutes(1)));
        assert_eq!(wallet.show(&server, &valid).await.status, 200);
    }
}

#[tokio::test]
async fn this_machine_needs_no_tls() {
    let mut local = settings();
    local.site_url = "http://localhost:3000".to_owned();
    let server = Server::with(local).await;
    let wallet = Wallet::solana();
    let text = wallet.message("localhost:5173", "http://localhost:5173/", Duration::ZERO);
    assert_eq!(wallet.show(&server, &text).await.status, 200);
}
