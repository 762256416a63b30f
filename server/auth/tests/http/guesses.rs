//! Guesses of codes of a few digits: however many addresses they come from, few are possible.

use auth::{ProviderSettings, SecuritySettings, Settings, SmsSettings};
use data_encoding::HEXLOWER;
use futures_util::future::join_all;
use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha224};

use crate::harness::{PASSWORD, Response, Server};

const EMAIL: &str = "ada@example.com";
const NEW: &str = "new@example.com";
const PHONE: &str = "41791234567";
const RIGHT: &str = "123456";
const EXPIRED: (u16, &str) = (403, "otp_expired");

fn settings() -> Settings {
    Settings {
        providers: ProviderSettings { phone: true, ..Default::default() },
        sms: SmsSettings { test_otps: [(PHONE.to_owned(), RIGHT.to_owned())].into(), ..Default::default() },
        ..Default::default()
    }
}

/// Has a code sent: the way to ask for it, the column of its hash, its address, and the types that it is verified as.
struct Sent {
    what: &'static str,
    column: &'static str,
    address: &'static str,
    types: &'static [&'static str],
}

const SENT: [Sent; 6] = [
    Sent { what: "signup", column: "confirmation_token", address: EMAIL, types: &["signup", "email"] },
    Sent { what: "recover", column: "recovery_token", address: EMAIL, types: &["recovery", "magiclink"] },
    Sent { what: "change", column: "email_change_token_current", address: EMAIL, types: &["email_change"] },
    Sent { what: "change", column: "email_change_token_new", address: NEW, types: &["email_change"] },
    Sent { what: "phone", column: "confirmation_token", address: PHONE, types: &["sms"] },
    Sent { what: "phone_change", column: "phone_change_token", address: PHONE, types: &["phone_change"] },
];

impl Sent {
    /// Starts a server that has sent the code `RIGHT`.
    async fn start(&self) -> Server {
        let server = Server::with(settings()).await;
        match self.what {
            "signup" => {
                server.post("/signup", json!({ "email": EMAIL, "password": PASSWORD })).await;
            }
            "phone" => {
                server.post("/signup", json!({ "phone": PHONE, "password": PASSWORD })).await;
            }
            _ => {
                server.user(EMAIL).await;
            }
        }
        self.send(&server).await;
        server
    }

    /// Sends the code, again if it was sent long ago.
    async fn send(&self, server: &Server) {
        let change = match self.what {
            "recover" => return self.planted(server, "/recover", json!({ "email": EMAIL })).await,
            "signup" => {
                let body = json!({ "type": "signup", "email": EMAIL });
                server.post("/resend", body).await;
                return server.plant(self.column, self.address, RIGHT).await;
            }
            "phone" => {
                server.post("/otp", json!({ "phone": PHONE })).await;
                return;
            }
            "phone_change" => json!({ "phone": PHONE }),
            _ => json!({ "email": NEW }),
        };
        let token = server.sign_in(EMAIL).await.text("access_token").to_owned();
        let response = server.put_as("/user", &token, change).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.body);
        if self.what == "change" {
            server.plant(self.column, self.address, RIGHT).await;
        }
    }

    async fn planted(&self, server: &Server, path: &str, body: Value) {
        let response = server.post(path, body).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.body);
        server.plant(self.column, self.address, RIGHT).await;
    }

    async fn guess(&self, server: &Server, number: usize, code: &str) -> Response {
        let field = if self.address == PHONE { "phone" } else { "email" };
        let kind = self.types[number % self.types.len()];
        server.post("/verify", json!({ "type": kind, field: self.address, "token": code })).await
    }
}

fn wrong(number: usize) -> String {
    format!("{:06}", 200_000 + number)
}

/// Lets the hour pass for which tries are counted.
async fn let_an_hour_pass(server: &Server) {
    server.sql("update basalt.rate_limits set full_at = now() - interval '1 second'").await;
}

#[tokio::test]
async fn after_ten_wrong_codes_none_of_any_kind_is_accepted() {
    for sent in SENT {
        let server = sent.start().await;
        let node = server.second_node().await;
        for number in 0..10 {
            let server = if number % 2 == 0 { &server } else { &node };
            let response = sent.guess(server, number, &wrong(number)).await;
            assert_eq!(response.refusal(), EXPIRED, "{}", sent.what);
        }
        assert_eq!(sent.guess(&server, 0, RIGHT).await.refusal(), EXPIRED, "{} {}", sent.what, sent.column);
        let_an_hour_pass(&server).await;
        let right = sent.guess(&server, 0, RIGHT).await;
        assert_eq!(right.status, StatusCode::OK, "an hour later: {} {}", sent.what, right.body);
    }
}

#[tokio::test]
async fn a_new_code_brings_no_new_tries() {
    for sent in SENT {
        let server = sent.start().await;
        let renew = async |code: &str| {
            server.let_time_pass().await;
            sent.send(&server).await;
            server.plant(sent.column, sent.address, code).await;
        };
        for number in 0..10 {
            if number % 3 == 2 {
                renew(&format!("{:06}", 300_000 + number)).await;
            }
            sent.guess(&server, number, &wrong(number)).await;
        }
        renew("400000").await;
        let right = sent.guess(&server, 0, "400000").await;
        assert_eq!(right.refusal(), EXPIRED, "{} {}", sent.what, sent.column);
    }
}

#[tokio::test]
async fn a_right_code_brings_new_tries() {
    let (server, recovery) = (SENT[1].start().await, &SENT[1]);
    for _ in 0..3 {
        for number in 0..9 {
            recovery.guess(&server, number, &wrong(number)).await;
        }
        let right = recovery.guess(&server, 0, RIGHT).await;
        assert_eq!(right.status, StatusCode::OK, "{}", right.body);
        server.let_time_pass().await;
        recovery.send(&server).await;
    }
}

/// Who has taken over a session knows the code that is sent to an address of theirs.
#[tokio::test]
async fn a_right_code_at_the_new_address_brings_no_new_tries_at_the_current_one() {
    let [_, _, current, new, ..] = &SENT;
    let server = current.start().await;
    for number in 0..9 {
        current.guess(&server, 0, &wrong(number)).await;
    }
    server.plant(new.column, new.address, RIGHT).await;
    assert_eq!(new.guess(&server, 0, RIGHT).await.text("code"), "200");
    server.let_time_pass().await;
    current.send(&server).await;
    current.guess(&server, 0, &wrong(9)).await;
    assert_eq!(current.guess(&server, 0, RIGHT).await.refusal(), EXPIRED);
}

#[tokio::test]
async fn guesses_leave_the_link_and_other_codes_to_their_user() {
    let (server, recovery) = (SENT[1].start().await, &SENT[1]);
    for number in 0..20 {
        recovery.guess(&server, number, &wrong(number)).await;
    }
    SENT[2].send(&server).await;
    let change = SENT[2].guess(&server, 0, RIGHT).await;
    assert_eq!(change.text("code"), "200", "codes of another kind: {}", change.body);
    let hash = server.hash(recovery.column).await;
    let followed = server.post("/verify", json!({ "type": "recovery", "token_hash": hash })).await;
    assert_eq!(followed.status, StatusCode::OK, "{}", followed.body);
}

/// Test codes of the settings never change, and do not age.
#[tokio::test]
async fn guesses_at_old_codes_of_text_messages_count() {
    let (server, phone) = (SENT[4].start().await, &SENT[4]);
    server.sql("update auth.users set confirmation_sent_at = now() - interval '2 days'").await;
    for number in 0..10 {
        assert_eq!(phone.guess(&server, number, &wrong(number)).await.refusal(), EXPIRED);
    }
    assert_eq!(phone.guess(&server, 0, RIGHT).await.refusal(), EXPIRED);
}

#[tokio::test]
async fn nine_wrong_codes_do_not() {
    for sent in SENT {
        let server = sent.start().await;
        for number in 0..9 {
            sent.guess(&server, number, &wrong(number)).await;
        }
        let right = sent.guess(&server, 0, RIGHT).await;
        assert_eq!(right.status, StatusCode::OK, "{} {}: {}", sent.what, sent.column, right.body);
        assert_eq!(server.value("select count(*) from basalt.rate_limits where tokens < 0").await, 0);
    }
}

#[tokio::test]
async fn parallel_guesses_on_two_nodes_are_no_more_than_others() {
    for sent in [&SENT[0], &SENT[3]] {
        let server = sent.start().await;
        let responses = server
            .at_once(100, async |node, number| {
                let code = if number == 99 { RIGHT.to_owned() } else { wrong(number) };
                sent.guess(node, number, &code).await
            })
            .await;
        assert!(responses.iter().all(|response| response.refusal() == EXPIRED), "{}", sent.what);
        let left = "select count(*) from basalt.rate_limits where bucket = 'code tries' and tokens <> 0";
        assert_eq!(server.value(left).await, 0, "no try is left");
    }
}

#[tokio::test]
async fn guesses_at_one_users_code_leave_anothers_alone() {
    let server = Server::with(settings()).await;
    server.user(EMAIL).await;
    server.user("eve@example.com").await;
    for email in [EMAIL, "eve@example.com"] {
        let token = server.sign_in(email).await.text("access_token").to_owned();
        server.put_as("/user", &token, json!({ "email": NEW })).await;
    }
    // Eve, too, says that this is her new address, and knows the code that was sent to her own one.
    server
        .sql(&format!(
            "update auth.users set email_change_token_new = encode(sha224('{NEW}{RIGHT}'), 'hex') where email = '{EMAIL}'"
        ))
        .await;
    for number in 0..3 {
        assert_eq!(SENT[3].guess(&server, 0, &wrong(number)).await.refusal(), EXPIRED);
    }
    let half = SENT[3].guess(&server, 0, RIGHT).await;
    assert_eq!(half.text("code"), "200", "{}", half.body);
    let status =
        "select count(*) from auth.users where email_change_confirm_status = 1 and email = 'ada@example.com'";
    assert_eq!(server.value(status).await, 1);
}

#[tokio::test]
async fn the_link_does_not_follow_from_the_code() {
    let server = Server::start().await;
    server.user(EMAIL).await;
    let body = json!({ "type": "magiclink", "email": EMAIL });
    let link = server.post_as_admin("/admin/generate_link", body).await;
    let (code, hash) = (link.text("email_otp"), link.text("hashed_token"));
    // Who may try links without limit, may otherwise try codes so.
    let computed = HEXLOWER.encode(&Sha224::digest(format!("{EMAIL}{code}")));
    let guess = server.post("/verify", json!({ "type": "magiclink", "token_hash": computed })).await;
    assert_eq!(guess.refusal(), EXPIRED);
    assert_eq!(hash.len(), computed.len());
    let typed = server.post("/verify", json!({ "type": "email", "email": EMAIL, "token": code })).await;
    assert_eq!(typed.status, StatusCode::OK, "{}", typed.body);
}

#[tokio::test]
async fn after_ten_wrong_nonces_none_is_accepted() {
    let security = SecuritySettings { password_change_requires_reauthentication: true, ..Default::default() };
    let server = Server::with(Settings { security, ..Settings::default() }).await;
    server.user(EMAIL).await;
    let token = server.sign_in(EMAIL).await.text("access_token").to_owned();
    server.sql("update auth.sessions set created_at = now() - interval '25 hours'").await;
    server.get_as("/reauthenticate", &token).await;
    server.plant("reauthentication_token", EMAIL, RIGHT).await;
    let change = |nonce: &str| json!({ "password": "yet another secret", "nonce": nonce });
    let guesses = (0..30).map(|number| server.put_as("/user", &token, change(&wrong(number))));
    for response in join_all(guesses).await {
        assert_eq!(response.refusal(), (422, "reauthentication_not_valid"));
    }
    assert_eq!(
        server.put_as("/user", &token, change(RIGHT)).await.refusal(),
        (422, "reauthentication_not_valid")
    );
    server.let_time_pass().await;
    server.get_as("/reauthenticate", &token).await;
    server.plant("reauthentication_token", EMAIL, "654321").await;
    assert_eq!(
        server.put_as("/user", &token, change("654321")).await.refusal(),
        (422, "reauthentication_not_valid"),
        "a new one brings no new tries"
    );
    let_an_hour_pass(&server).await;
    assert_eq!(server.put_as("/user", &token, change("654321")).await.status, StatusCode::OK);
    let tries = "select count(*) from basalt.rate_limits where bucket = 'code tries'";
    assert_eq!(server.value(tries).await, 0, "a right one brings new tries");
}

#[tokio::test]
async fn ten_wrong_codes_make_a_factor_rest() {
    let server = Server::start().await;
    server.user(EMAIL).await;
    let (token, _) = server.tokens(EMAIL).await;
    let app = server.enroll_app(&token, "app").await;
    let other = server.enroll_app(&token, "other").await;
    let challenge = server.challenged(&token, &app.factor).await;
    let responses = server
        .at_once(60, async |node, _| node.show_code(&token, &app.factor, &challenge, &app.wrong_code()).await)
        .await;
    let compared =
        responses.iter().filter(|response| response.refusal() == (422, "mfa_verification_failed")).count();
    assert_eq!(compared, 10);
    let refused = responses.iter().filter(|response| response.refusal() == (429, "over_request_rate_limit"));
    assert_eq!(refused.count(), 50);
    let right = server.show_code(&token, &app.factor, &challenge, &app.code()).await;
    assert_eq!(right.refusal(), (429, "over_request_rate_limit"));
    let challenge_of_other = server.challenged(&token, &other.factor).await;
    let wrong = server.show_code(&token, &other.factor, &challenge_of_other, &other.wrong_code()).await;
    assert_eq!(wrong.refusal(), (422, "mfa_verification_failed"), "another factor does not rest");
    server.sql("update basalt.rate_limits set full_at = now() - interval '1 second'").await;
    let right = server.show_code(&token, &app.factor, &challenge, &app.code()).await;
    assert_eq!(right.status, StatusCode::OK, "{}", right.body);
}

#[tokio::test]
async fn a_right_code_forgives_the_wrong_ones_before_it() {
    let server = Server::start().await;
    server.user(EMAIL).await;
    let (token, _) = server.tokens(EMAIL).await;
    let app = server.enroll_app(&token, "app").await;
    for _ in 0..3 {
        let challenge = server.challenged(&token, &app.factor).await;
        for _ in 0..6 {
            let wrong = server.show_code(&token, &app.factor, &challenge, &app.wrong_code()).await;
            assert_eq!(wrong.refusal(), (422, "mfa_verification_failed"));
        }
        server.rise(&token, &app).await;
    }
}
