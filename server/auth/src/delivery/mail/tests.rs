//! Mails as a mail server or a reader gets them.

mod server;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use fairness::{Network, on_behalf_of};
use mail_parser::MessageParser;
use serde_json::json;
use tokio::net::TcpListener;

use super::*;
use crate::testing::{self, Mock, MockResponse};
use crate::{MailHeaders, MailSettings, Secret, SmtpSettings};
use server::{MailServer, Traits};

fn variables() -> Value {
    Value::from(&json!({
        "SiteURL": "https://row.example", "Email": "ann@row.example", "Token": "123456", "TokenHash": "pkce_abc",
        "ConfirmationURL": "https://row.example/auth/v1/verify?token=pkce_abc&type=signup&redirect_to=https://row.example",
        "RedirectTo": "https://row.example", "Data": { "name": "Ann <b>" }, "NewEmail": "new@row.example",
        "SendingTo": "new@row.example", "OldEmail": "old@row.example", "Phone": "4915", "OldPhone": "4916",
        "Provider": "github", "FactorType": "totp",
    }))
}

fn smtp(port: u16) -> SmtpSettings {
    SmtpSettings {
        host: "localhost".to_owned(),
        port,
        user: String::new(),
        password: Secret::default(),
        admin_email: "club@row.example".to_owned(),
        sender_name: "Harbour Row FC".to_owned(),
        headers: MailHeaders::default(),
        root_certificate: None,
    }
}

fn mailer(adjust: impl FnOnce(&mut MailSettings)) -> Result<Mailer, String> {
    mailer_with(MailQueue::default(), adjust)
}

fn mailer_with(queue: MailQueue, adjust: impl FnOnce(&mut MailSettings)) -> Result<Mailer, String> {
    let mut settings = Settings::default();
    adjust(&mut settings.mail);
    Mailer::new(&settings, HttpClient::new().unwrap(), queue)
}

async fn send(mailer: &Mailer) -> Result<(), MailError> {
    mailer.send(MailKind::Confirmation, "ann@row.example", &variables()).await
}

#[tokio::test]
async fn every_kind_has_a_text_of_its_own_and_keeps_no_blanks() {
    let templates =
        Templates::new(&MailSettings::default(), "https://row.example", HttpClient::new().unwrap());
    let mut all = String::new();
    for kind in MailKind::ALL {
        let (subject, html) = templates.render(kind, &variables()).await;
        assert!(!html.contains("{{") && !html.contains("ZgotmplZ"), "{html}");
        all += &format!("=== {}\nSubject: {subject}\n\n{}\n", kind.name(), plain::text(&html));
    }
    insta::assert_snapshot!(all);
    let (_, html) = templates.render(MailKind::Confirmation, &variables()).await;
    insta::assert_snapshot!(html);
}

#[tokio::test]
async fn a_mail_has_sender_headers_and_both_forms() {
    let server = MailServer::start(Traits::default()).await;
    let headers = [("X-Kind".to_owned(), vec!["$messageType".to_owned(), "b".to_owned()])];
    let headers = MailHeaders(headers.into());
    let mailer = mailer(|mail| mail.smtp = Some(SmtpSettings { headers, ..smtp(server.port) })).unwrap();
    send(&mailer).await.unwrap();
    let got = server.only();
    assert_eq!((got.from.as_str(), got.to.as_str()), ("club@row.example", "ann@row.example"));
    let mail = MessageParser::default().parse(&got.data).unwrap();
    let from = mail.from().unwrap().first().unwrap();
    assert_eq!((from.name(), from.address()), (Some("Harbour Row FC"), Some("club@row.example")));
    assert_eq!(mail.to().unwrap().first().unwrap().address(), Some("ann@row.example"));
    assert_eq!(mail.subject(), Some("Confirm your email address"));
    assert_eq!(mail.header_raw("X-Kind").unwrap().trim(), "confirmation, b");
    assert!(mail.message_id().unwrap().ends_with("@127.0.0.1") && mail.date().is_some());
    let link = "https://row.example/auth/v1/verify?token=pkce_abc&amp;type=signup&amp;redirect_to=https://row.example";
    assert!(mail.body_html(0).unwrap().contains(link));
    assert!(mail.body_text(0).unwrap().contains(&link.replace("&amp;", "&")));
}

#[tokio::test]
async fn connections_are_encrypted_if_possible_and_reused() {
    let server = MailServer::start(Traits { starttls: true, auth: true, ..Traits::default() }).await;
    let settings = SmtpSettings {
        user: "club".to_owned(),
        password: "geheim".into(),
        root_certificate: Some(server.certificate.path().to_owned()),
        ..smtp(server.port)
    };
    let mailer = mailer(|mail| mail.smtp = Some(settings)).unwrap();
    for _ in 0..3 {
        send(&mailer).await.unwrap();
    }
    let got = server.mails();
    assert_eq!(got.len(), 3);
    assert!(got.iter().all(|mail| mail.encrypted && mail.login.as_deref() == Some("\0club\0geheim")));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn implicit_tls_sends_nothing_unencrypted() {
    let server = MailServer::start(Traits { implicit_tls: true, auth: true, ..Traits::default() }).await;
    let settings = SmtpSettings {
        user: "club".to_owned(),
        password: "geheim".into(),
        root_certificate: Some(server.certificate.path().to_owned()),
        ..smtp(server.port)
    };
    let mut smtp = Smtp::new(&settings, "https://row.example/auth/v1", MailQueue::default()).unwrap();
    assert!(!smtp.implicit_tls);
    // Only administrators may listen on the port that says so.
    smtp.implicit_tls = true;
    let message = lettre::Message::builder()
        .from("club@row.example".parse().unwrap())
        .to("ann@row.example".parse().unwrap())
        .body("hello".to_owned())
        .unwrap();
    smtp.send(&message).await.unwrap();
    let got = server.only();
    assert!(got.encrypted && got.login.as_deref() == Some("\0club\0geheim"));
    let settings = SmtpSettings { port: 465, ..settings };
    assert!(Smtp::new(&settings, "", MailQueue::default()).unwrap().implicit_tls);
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let server = MailServer::start(Traits { starttls: true, ..Traits::default() }).await;
    let mailer = mailer(|mail| mail.smtp = Some(smtp(server.port))).unwrap();
    let error = send(&mailer).await.unwrap_err().to_string();
    assert!(error.contains("localhost") && error.to_lowercase().contains("certificate"), "{error}");
    assert!(server.mails().is_empty());
}

#[tokio::test]
async fn a_server_that_asks_for_no_login_gets_none() {
    let server = MailServer::start(Traits::default()).await;
    let settings = SmtpSettings { user: "fake".to_owned(), password: "fake".into(), ..smtp(server.port) };
    let mailer = mailer(|mail| mail.smtp = Some(settings)).unwrap();
    send(&mailer).await.unwrap();
    assert_eq!(server.only().login, None);
}

#[tokio::test]
async fn refusals_say_who_and_why_and_the_next_mail_goes_out() {
    let server = MailServer::start(Traits { refuses_first: true, ..Traits::default() }).await;
    let mailer = mailer(|mail| mail.smtp = Some(smtp(server.port))).unwrap();
    let error = send(&mailer).await.unwrap_err().to_string();
    assert!(
        error.contains(&format!("localhost:{}", server.port)) && error.contains("mailbox full"),
        "{error}"
    );
    send(&mailer).await.unwrap();
    assert_eq!(server.mails().len(), 1);
}

#[tokio::test]
async fn nothing_in_a_name_or_address_becomes_a_header_or_recipient() {
    let server = MailServer::start(Traits::default()).await;
    let mailer = mailer(|mail| {
        mail.smtp = Some(smtp(server.port));
        mail.subjects.insert(MailKind::Confirmation, "Hi {{ .Data.name }}".to_owned());
    })
    .unwrap();
    let hostile = Value::from(&json!({ "Data": { "name": "x\r\nBcc: eve@evil.example\r\n\r\nbody" } }));
    mailer.send(MailKind::Confirmation, "ann@row.example", &hostile).await.unwrap();
    let data = server.only().data;
    let mail = MessageParser::default().parse(&data).unwrap();
    assert!(mail.bcc().is_none());
    assert_eq!(mail.subject(), Some("Hi x  Bcc: eve@evil.example    body"));
    for address in ["ann@row.example\r\nRCPT TO:<eve@evil.example>", "ann@row.example>", "no address", ""] {
        let refused = mailer.send(MailKind::Confirmation, address, &variables()).await;
        assert!(matches!(refused, Err(MailError::Address(_))), "{address}");
    }
}

#[test]
fn senders_and_headers_are_checked_at_the_start() {
    let bad = SmtpSettings { admin_email: "nobody".to_owned(), ..smtp(25) };
    let error = mailer(|mail| mail.smtp = Some(bad)).err().unwrap();
    assert!(error.starts_with("GOTRUE_SMTP_ADMIN_EMAIL: expected a mail address"), "{error}");
    let headers = MailHeaders([("X Y".to_owned(), vec!["z".to_owned()])].into());
    let error = mailer(|mail| mail.smtp = Some(SmtpSettings { headers, ..smtp(25) })).err().unwrap();
    assert!(error.starts_with("GOTRUE_SMTP_HEADERS"), "{error}");
}

#[tokio::test]
async fn a_network_leaves_connections_to_others() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let queue = MailQueue::default();
    let mailer = Arc::new(mailer_with(queue.clone(), |mail| mail.smtp = Some(smtp(port))).unwrap());
    let send_for = |last| {
        let (mailer, network) = (Arc::clone(&mailer), Network::of([192, 0, 2, last].into()));
        tokio::spawn(on_behalf_of(network, async move { send(&mailer).await }))
    };
    let next = |limit| tokio::time::timeout(limit, listener.accept());
    let (long, short) = (Duration::from_secs(20), Duration::from_millis(300));
    let greedy: Vec<_> = (0..100).map(|_| send_for(1)).collect();
    // A server that says nothing: whoever has a connection to it waits.
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(next(long).await.unwrap().unwrap());
    }
    assert!(next(short).await.is_err(), "a network has three connections");
    let refused = greedy.iter().filter(|sending| sending.is_finished()).count();
    assert_eq!((refused, queue.pending()), (25, 75), "some room to wait is left, too");
    let other = send_for(2);
    silent.push(next(long).await.expect("another network has a connection").unwrap());
    assert!(!other.is_finished());
}

#[tokio::test]
async fn without_a_server_mails_are_files_that_only_the_owner_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/mail");
    let mailer = mailer(|mail| mail.folder = Some(path.clone())).unwrap();
    for _ in 0..KEPT + 3 {
        send(&mailer).await.unwrap();
    }
    let files: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(files.len(), KEPT);
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(file.file_name().to_str().unwrap().ends_with(".eml"));
    }
}

#[tokio::test]
async fn operators_templates_come_from_files_and_urls() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("invite.html");
    std::fs::write(&file, "<p>Welcome {{ .Data.name }}</p>").unwrap();
    let page = MockResponse { status: 200, headers: Vec::new(), body: "<p>{{ .Token }}</p>".to_owned() };
    let mock = Mock::start(vec![page]).await;
    let settings = MailSettings {
        subjects: BTreeMap::from([(MailKind::Invite, "Join {{ .Email }}".to_owned())]),
        templates: BTreeMap::from([
            (MailKind::Invite, format!("file:{}", file.display())),
            (MailKind::Recovery, "/mails/recovery.html".to_owned()),
            (MailKind::MagicLink, format!("{}/magic.html", mock.url)),
        ]),
        ..MailSettings::default()
    };
    let templates = Templates::new(&settings, &format!("{}/", mock.url), HttpClient::new().unwrap());
    let mail = async |kind| templates.render(kind, &variables()).await;
    let (subject, html) = mail(MailKind::Invite).await;
    assert_eq!((subject.as_str(), html.as_str()), ("Join ann@row.example", "<p>Welcome Ann &lt;b&gt;</p>"));
    std::fs::write(&file, "<p>edited</p>").unwrap();
    assert_eq!(mail(MailKind::Invite).await.1, "<p>edited</p>");
    for _ in 0..3 {
        assert_eq!(
            mail(MailKind::Recovery).await,
            ("Reset your password".to_owned(), "<p>123456</p>".to_owned())
        );
        assert_eq!(mail(MailKind::MagicLink).await.1, "<p>123456</p>");
    }
    let paths: Vec<_> = mock.received().into_iter().map(|received| received.path).collect();
    assert_eq!(paths, ["/mails/recovery.html", "/magic.html"]);
}

/// Programs read such a description and show the link beside the subject.
#[tokio::test]
async fn a_template_may_describe_its_link_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("confirm.html");
    let template = r#"<script type="application/ld+json">{"name": {{ .Data.name }}, "url": "{{ .ConfirmationURL }}"}</script>"#;
    std::fs::write(&file, template).unwrap();
    let settings = MailSettings {
        templates: BTreeMap::from([(MailKind::Confirmation, format!("file:{}", file.display()))]),
        ..MailSettings::default()
    };
    let templates = Templates::new(&settings, "", HttpClient::new().unwrap());
    let (_, html) = templates.render(MailKind::Confirmation, &variables()).await;
    let json = html.split('>').nth(1).and_then(|rest| rest.split('<').next()).unwrap();
    let read: serde_json::Value = serde_json::from_str(json).unwrap();
    let link =
        "https://row.example/auth/v1/verify?token=pkce_abc&type=signup&redirect_to=https://row.example";
    assert_eq!(read, json!({ "name": "Ann <b>", "url": link }));
}

#[tokio::test]
async fn a_template_that_is_missing_broken_or_too_large_gives_way_to_the_built_in_one() {
    let page = |status, body: &str| MockResponse { status, headers: Vec::new(), body: body.to_owned() };
    for response in [
        page(404, "gone"),
        page(200, "{{ .Broken"),
        page(200, &"x".repeat(2000)),
        page(200, "{{ .Email.x }}"),
        testing::json(500, json!({})),
    ] {
        let mock = Mock::start(vec![response.clone()]).await;
        let settings = MailSettings {
            templates: BTreeMap::from([(MailKind::Recovery, format!("{}/x.html", mock.url))]),
            template_max_size: 1000,
            ..MailSettings::default()
        };
        let templates = Templates::new(&settings, "", HttpClient::new().unwrap());
        for _ in 0..2 {
            let (subject, html) = templates.render(MailKind::Recovery, &variables()).await;
            assert_eq!(subject, "Reset your password");
            assert!(html.contains("Choose a new password"), "{response:?}");
        }
        assert_eq!(mock.received().len(), 1);
    }
}
