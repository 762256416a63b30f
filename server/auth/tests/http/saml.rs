//! Responses of identity providers that do not count, and those that count once.

use auth::Settings;
use bergshamra::core::algorithm;
use http::Method;
use serde_json::json;
use time::Duration;

use crate::harness::{Response, Server};
use crate::identity_provider::{
    ENTITY, EXPIRED, Encryption, OTHER, OWN, PERSISTENT, SamlResponse, Signed, USUAL, encrypt, metadata, read,
};
use crate::sign_in_at::{SITE, location, query};
use crate::sso::{KEY, arrive, depart, session, settings, sign_in, start};

/// Returns the code of the error that the site is told about.
fn refusal(response: &Response) -> String {
    assert_eq!(response.status, 303, "{:?} {}", response.headers.get("location"), response.body);
    let url = location(response);
    assert!(url.as_str().starts_with(SITE) && url.fragment().is_none(), "{url}");
    let members = query(&url);
    assert!(!members["error"].is_empty() && !members["error_description"].is_empty());
    members["error_code"].clone()
}

/// Holds that `say` makes nothing that counts.
async fn refuse(server: &Server, what: &str, say: impl FnOnce(SamlResponse) -> String) {
    let response = sign_in(server, say).await;
    assert_eq!(refusal(&response), "validation_failed", "{what}");
    let description = &query(&location(&response))["error_description"];
    assert_eq!(description, "SAML Assertion is not valid", "{what}");
}

async fn nobody_came(server: &Server) {
    assert_eq!(server.value("select count(*) from auth.users").await, 0);
    assert_eq!(server.value("select count(*) from auth.sessions").await, 0);
}

#[tokio::test]
async fn what_the_provider_has_not_signed_does_not_count() {
    let (server, _) = start(settings()).await;
    refuse(&server, "unsigned", |said| said.signed(Signed::Nothing)).await;
    for what in [Signed::Response, Signed::Assertion, Signed::Both] {
        refuse(&server, "another key", |said| said.signed_by(what, &OTHER)).await;
        refuse(&server, "tampered", |said| said.signed(what).replace("user-1", "user-2")).await;
        refuse(&server, "another address", |said| said.signed(what).replace("Ada@", "Eve@")).await;
        refuse(&server, "a signature of nothing", |said| {
            let text = said.signed(what);
            let (before, rest) = text.split_once("<ds:SignatureValue>").unwrap();
            let (_, after) = rest.split_once("</ds:SignatureValue>").unwrap();
            format!("{before}<ds:SignatureValue></ds:SignatureValue>{after}")
        })
        .await;
    }
    refuse(&server, "a response by somebody else around a good assertion", |said| {
        said.response(&said.assertion(Some(&OWN)), Some(&OTHER))
    })
    .await;
    refuse(&server, "a good response around somebody else's assertion", |said| {
        said.response(&said.assertion(Some(&OTHER)), Some(&OWN))
    })
    .await;
    nobody_came(&server).await;
}

#[tokio::test]
async fn a_signature_counts_for_what_it_stands_in() {
    let (server, _) = start(settings()).await;
    let evil = |said: &SamlResponse| SamlResponse {
        name: "admin".to_owned(),
        id: "_evil".to_owned(),
        ..said.clone()
    };
    refuse(&server, "a forged assertion beside the signed one", |said| {
        said.response(&format!("{}{}", evil(&said).assertion(None), said.assertion(Some(&OWN))), None)
    })
    .await;
    refuse(&server, "the signed one before a forged one", |said| {
        said.response(&format!("{}{}", said.assertion(Some(&OWN)), evil(&said).assertion(None)), None)
    })
    .await;
    refuse(&server, "a forged one that holds the signed one", |said| {
        let forged = evil(&said).assertion(None);
        let content = format!("<saml:Advice>{}</saml:Advice></saml:Assertion>", said.assertion(Some(&OWN)));
        said.response(&forged.replace("</saml:Assertion>", &content), None)
    })
    .await;
    refuse(&server, "a forged one with the signature of another", |said| {
        let signed = said.assertion(Some(&OWN));
        let start = signed.find("<ds:Signature ").unwrap();
        let end = signed.find("</ds:Signature>").unwrap();
        let bare = format!("{}{}", &signed[..start], &signed[end + "</ds:Signature>".len()..]);
        let signature = format!("{}<ds:Object>{bare}</ds:Object></ds:Signature>", &signed[start..end]);
        let forged = evil(&said).assertion(None);
        said.response(&forged.replacen("</saml:Issuer>", &format!("</saml:Issuer>{signature}"), 1), None)
    })
    .await;
    refuse(&server, "the signed one hidden in an extension, its id taken", |said| {
        let forged = evil(&said).assertion(None).replace("_evil", &said.id);
        let hidden = format!("<samlp:Extensions>{}</samlp:Extensions>{forged}", said.assertion(Some(&OWN)));
        said.response(&hidden, None)
    })
    .await;
    refuse(&server, "the whole signed response within a forged one", |said| {
        let inner = said.signed(Signed::Response);
        SamlResponse { id: "_outer".to_owned(), ..said.clone() }.response(&inner, None)
    })
    .await;
    refuse(&server, "two signed assertions", |said| {
        let second = evil(&said).assertion(Some(&OWN));
        said.response(&format!("{}{second}", said.assertion(Some(&OWN))), None)
    })
    .await;
    refuse(&server, "no assertion at all", |said| said.response("", Some(&OWN))).await;
    nobody_came(&server).await;
}

#[tokio::test]
async fn nothing_is_done_that_saml_has_no_use_for() {
    let (server, _) = start(settings()).await;
    let xslt = "http://www.w3.org/TR/1999/REC-xslt-19991116";
    for (what, before, after) in [
        ("a transform", algorithm::ENVELOPED_SIGNATURE, xslt),
        ("a keyed hash", algorithm::RSA_SHA256, algorithm::HMAC_SHA256),
        ("a weak hash", algorithm::SHA256, algorithm::MD5),
        ("no canonical form", algorithm::EXC_C14N, "urn:none"),
    ] {
        refuse(&server, what, |said| said.signed(Signed::Assertion).replace(before, after)).await;
    }
    for uri in ["", "#_other", "file:///etc/passwd", "cid:x", "#xpointer(/)"] {
        refuse(&server, uri, |said| {
            let text = said.signed(Signed::Assertion);
            text.replace(&format!("URI=\"#{}\"", said.id), &format!("URI=\"{uri}\""))
        })
        .await;
    }
    let declared = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>";
    refuse(&server, "a document type", |said| format!("{declared}{}", said.signed(Signed::Response))).await;
    refuse(&server, "endless nesting", |said| {
        let deep = format!("{}{}", "<saml:Advice>".repeat(5000), "</saml:Advice>".repeat(5000));
        said.response(&format!("{deep}{}", said.assertion(Some(&OWN))), None)
    })
    .await;
    refuse(&server, "many signatures", |said| {
        let one = said.assertion(Some(&OWN));
        let start = one.find("<ds:Signature ").unwrap();
        let end = one.find("</ds:Signature>").unwrap() + "</ds:Signature>".len();
        said.response(&format!("{}{one}", one[start..end].repeat(50)), None)
    })
    .await;
    for text in ["", "no XML", "<a/>", "<samlp:Response/>"] {
        let response = sign_in(&server, |_| text.to_owned()).await;
        assert_eq!(refusal(&response), "validation_failed", "{text}");
    }
    nobody_came(&server).await;
}

#[tokio::test]
async fn a_response_is_for_us_now_and_for_what_we_asked() {
    type Change = fn(&mut SamlResponse);
    let (server, _) = start(settings()).await;
    let changes: [(&str, Change); 14] = [
        ("another destination", |said| said.destination = "https://other.example/acs".to_owned()),
        ("no destination, though signed", |said| said.destination = String::new()),
        ("another recipient", |said| said.recipient = "https://other.example/acs".to_owned()),
        ("another audience", |said| said.audience = "https://other.example/metadata".to_owned()),
        ("another issuer", |said| said.issuer = "https://evil.example".to_owned()),
        ("an assertion by another issuer", |said| said.assertion_issuer = "https://evil.example".to_owned()),
        ("another request", |said| said.in_response_to = "id-0".to_owned()),
        ("no request", |said| said.in_response_to = String::new()),
        ("a failure", |said| said.status = "urn:oasis:names:tc:SAML:2.0:status:Responder".to_owned()),
        ("too old", |said| said.issued -= Duration::seconds(120)),
        ("from the future", |said| said.issued += Duration::seconds(600)),
        ("expired", |said| said.not_after -= Duration::minutes(15)),
        ("not yet valid", |said| said.not_before += Duration::minutes(15)),
        ("confirmed for the past", |said| said.confirmed_until -= Duration::minutes(15)),
    ];
    for (what, change) in changes {
        refuse(&server, what, |mut said| {
            change(&mut said);
            said.signed(Signed::Both)
        })
        .await;
    }
    for (what, before, after) in [
        ("no conditions", "saml:Conditions", "saml:Advice"),
        ("no confirmation", "saml:SubjectConfirmation ", "saml:Confirmation "),
        ("no end", "NotOnOrAfter", "NotOnOrBefore"),
        ("no subject", "saml:Subject>", "saml:Object>"),
        ("an unknown confirmation", "cm:bearer", "cm:sender-vouches"),
    ] {
        refuse(&server, what, |said| {
            let assertion = said.assertion(None).replace(before, after);
            let assertion = assertion.replace(
                "</saml:SubjectConfirmation>",
                match what {
                    "no confirmation" => "</saml:Confirmation>",
                    _ => "</saml:SubjectConfirmation>",
                },
            );
            said.response(&assertion, Some(&OWN))
        })
        .await;
    }
    nobody_came(&server).await;
    session(&sign_in(&server, |said| said.signed(Signed::Both)).await);
}

#[tokio::test]
async fn keys_count_as_the_metadata_has_them() {
    let (server, _) = start(settings()).await;
    let set = async |signers: &[_]| {
        let sql = format!("update auth.saml_providers set metadata_xml = '{}'", metadata(ENTITY, signers));
        server.sql(&sql).await;
    };
    set(&[&EXPIRED]).await;
    refuse(&server, "an expired certificate", |said| said.signed(Signed::Response)).await;
    set(&[]).await;
    refuse(&server, "no certificate", |said| said.signed(Signed::Response)).await;
    set(&[&OTHER, &EXPIRED]).await;
    refuse(&server, "an expired certificate beside another", |said| said.signed(Signed::Response)).await;
    set(&[&OTHER, &OWN]).await;
    session(&sign_in(&server, |said| said.signed(Signed::Response)).await);
    session(&sign_in(&server, |said| said.signed_by(Signed::Response, &OTHER)).await);
}

#[tokio::test]
async fn encrypted_assertions_are_judged_like_others() {
    let (server, _) = start(settings()).await;
    let mut taking = settings();
    taking.saml.allow_encrypted_assertions = true;
    let taking = server.second_node_with(taking).await;
    let document = taking.get("/sso/saml/metadata").await.body.as_str().unwrap().to_owned();
    let certificate =
        document.split("<X509Certificate>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    let usual = |said: &SamlResponse, signer| encrypt(&said.assertion(signer), &certificate, USUAL);
    refuse(&server, "not allowed", |said| said.response(&usual(&said, Some(&OWN)), None)).await;
    refuse(&taking, "unsigned", |said| said.response(&usual(&said, None), None)).await;
    refuse(&taking, "by somebody else", |said| said.response(&usual(&said, Some(&OTHER)), None)).await;
    refuse(&taking, "another audience", |mut said| {
        said.audience = "https://other.example".to_owned();
        said.response(&usual(&said, Some(&OWN)), None)
    })
    .await;
    refuse(&taking, "two in one", |said| {
        let both = format!("{}{}", usual(&said, Some(&OWN)), said.assertion(Some(&OWN)));
        said.response(&both, None)
    })
    .await;
    refuse(&taking, "no assertion", |said| said.response(&encrypt("<a/>", &certificate, USUAL), Some(&OWN)))
        .await;
    refuse(&taking, "no XML", |said| said.response(&encrypt("x", &certificate, USUAL), Some(&OWN))).await;
    refuse(&taking, "broken", |said| {
        let text = said.response(&usual(&said, Some(&OWN)), None);
        text.replacen("<xenc:CipherValue>", "<xenc:CipherValue>AAAA", 1)
    })
    .await;
    refuse(&taking, "a weak cipher", |said| {
        let how = Encryption { cipher: algorithm::AES128_CBC, ..USUAL };
        let text = said.response(&encrypt(&said.assertion(Some(&OWN)), &certificate, how), None);
        text.replace(algorithm::AES128_CBC, algorithm::TRIPLEDES_CBC)
    })
    .await;
    nobody_came(&taking).await;
}

#[tokio::test]
async fn a_relay_state_is_good_for_one_response_on_any_node() {
    let (server, _) = start(settings()).await;
    let other = server.second_node().await;
    let request = read(&depart(&server, json!({ "domain": "example.com" })).await);
    let response = || SamlResponse::to(&request.id).signed(Signed::Response);
    let (first, second) = (response(), response());
    let (one, two) = tokio::join!(
        arrive(&server, &request.relay_state, &first),
        arrive(&other, &request.relay_state, &second)
    );
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [302, 303], "one of them wins");
    let loser = if one.status == 303 { one } else { two };
    assert_eq!(refusal(&loser), "saml_relay_state_not_found");
    let unknown = uuid::Uuid::new_v4().to_string();
    assert_eq!(refusal(&arrive(&other, &unknown, &first).await), "saml_relay_state_not_found");
    // A response that does not count uses the state up, too.
    let request = read(&depart(&server, json!({ "domain": "example.com" })).await);
    let bad = SamlResponse::to(&request.id).signed(Signed::Nothing);
    assert_eq!(refusal(&arrive(&server, &request.relay_state, &bad).await), "validation_failed");
    let good = SamlResponse::to(&request.id).signed(Signed::Response);
    assert_eq!(refusal(&arrive(&server, &request.relay_state, &good).await), "saml_relay_state_not_found");
    let request = read(&depart(&server, json!({ "domain": "example.com" })).await);
    server.sql("update auth.saml_relay_states set created_at = now() - interval '121 seconds'").await;
    let late = SamlResponse::to(&request.id).signed(Signed::Response);
    assert_eq!(refusal(&arrive(&server, &request.relay_state, &late).await), "saml_relay_state_expired");
}

#[tokio::test]
async fn the_provider_may_begin() {
    let (server, _) = start(settings()).await;
    let unsolicited = || SamlResponse::to("").signed(Signed::Response);
    let target =
        |response: &Response| location(response).as_str().split('#').next().unwrap_or_default().to_owned();
    for (relay_state, end) in [
        ("", SITE),
        ("https://app.example/from-idp", "https://app.example/from-idp"),
        ("https://evil.example/", SITE),
        ("/dashboard", SITE),
    ] {
        let response = arrive(&server, relay_state, &unsolicited()).await;
        session(&response);
        assert_eq!(target(&response), end, "{relay_state}");
    }
    // Some name a request that nobody has made.
    session(&arrive(&server, "", &SamlResponse::to("id-of-theirs").signed(Signed::Assertion)).await);
    assert_eq!(refusal(&arrive(&server, "nowhere", &unsolicited()).await), "validation_failed");
    let nil = uuid::Uuid::nil().to_string();
    assert_eq!(refusal(&arrive(&server, &nil, &unsolicited()).await), "validation_failed");
    assert_eq!(server.value("select count(*) from auth.users").await, 1);
}

#[tokio::test]
async fn an_assertion_counts_once_on_any_node() {
    let (server, _) = start(settings()).await;
    let other = server.second_node().await;
    let said = SamlResponse::to("");
    session(&arrive(&server, "", &said.signed(Signed::Response)).await);
    for server in [&server, &other] {
        for what in [Signed::Response, Signed::Assertion] {
            assert_eq!(refusal(&arrive(server, "", &said.signed(what)).await), "validation_failed");
        }
    }
    assert_eq!(server.value("select count(*) from auth.sessions").await, 1);
    // What does not count leaves the name of the assertion to the one that does.
    let said = SamlResponse::to("");
    arrive(&server, "", &said.signed_by(Signed::Response, &OTHER)).await;
    session(&arrive(&server, "", &said.signed(Signed::Response)).await);
}

#[tokio::test]
async fn only_providers_that_are_known_and_not_disabled_count() {
    let (server, _) = start(settings()).await;
    let stranger = SamlResponse { issuer: "https://stranger.example".to_owned(), ..SamlResponse::to("") };
    assert_eq!(refusal(&arrive(&server, "", &stranger.signed(Signed::Response)).await), "saml_idp_not_found");
    let nameless = SamlResponse::to("").signed(Signed::Assertion).replacen(ENTITY, "", 1);
    assert_eq!(refusal(&arrive(&server, "", &nameless).await), "saml_idp_not_found");
    let request = read(&depart(&server, json!({ "domain": "example.com" })).await);
    server.sql("update auth.sso_providers set disabled = true").await;
    let response = SamlResponse::to(&request.id).signed(Signed::Response);
    assert_eq!(refusal(&arrive(&server, &request.relay_state, &response).await), "sso_provider_disabled");
    let response = SamlResponse::to("").signed(Signed::Response);
    assert_eq!(refusal(&arrive(&server, "", &response).await), "sso_provider_disabled");
    nobody_came(&server).await;
}

#[tokio::test]
async fn what_is_posted_has_to_be_a_response() {
    let (server, _) = start(settings()).await;
    for body in [
        "",
        "RelayState=&SAMLResponse=",
        "SAMLResponse=%25%25",
        "SAMLResponse=/w==",
        "SAMLResponse=bm8gWE1M",
        "SAMLart=AAQAAA",
        "SAMLResponse=bm8gWE1M&RelayState=nowhere",
    ] {
        let response = server.send(Method::POST, "/sso/saml/acs", &[], body).await;
        assert_eq!(refusal(&response), "validation_failed", "{body}");
    }
    let huge = format!("SAMLResponse={}", "A".repeat(1 << 20));
    let response = server.send(Method::POST, "/sso/saml/acs", &[], huge).await;
    assert_eq!(response.refusal(), (413, "request_entity_too_large"));
    let wrong = server.send(Method::GET, "/sso/saml/acs", &[], ()).await;
    assert_eq!(wrong.status, 405);
}

#[tokio::test]
async fn users_need_a_lasting_name_and_an_address() {
    let (server, _) = start(settings()).await;
    let transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
    let response = sign_in(&server, |mut said| {
        said.name_format = transient.to_owned();
        said.signed(Signed::Response)
    });
    assert_eq!(refusal(&response.await), "saml_assertion_no_user_id");
    let response = sign_in(&server, |mut said| {
        said.attributes.clear();
        said.signed(Signed::Response)
    });
    assert_eq!(refusal(&response.await), "saml_assertion_no_email");
    nobody_came(&server).await;
    // A comment does not end a name.
    let response = sign_in(&server, |mut said| {
        said.name = "user-1<!-- -->.evil".to_owned();
        said.signed(Signed::Response)
    });
    session(&response.await);
    assert_eq!(server.text("select provider_id from auth.identities").await, "user-1.evil");
    let response = sign_in(&server, |said| {
        said.signed(Signed::Response)
            .replace("<saml:NameID", "<!-- --><saml:NameID")
            .replace(PERSISTENT, transient)
    });
    assert_eq!(refusal(&response.await), "validation_failed");
}

#[tokio::test]
async fn accounts_are_refused_as_elsewhere() {
    let (server, _) = start(settings()).await;
    let closed = server.second_node_with(Settings { disable_signup: true, ..settings() }).await;
    let come = |server| sign_in(server, |said: SamlResponse| said.signed(Signed::Response));
    let response = come(&closed).await;
    assert_eq!(refusal(&response), "signup_disabled");
    assert_eq!(query(&location(&response))["error"], "access_denied");
    session(&come(&server).await);
    session(&come(&closed).await);
    server.sql("update auth.users set banned_until = now() + interval '1 day'").await;
    assert_eq!(refusal(&come(&server).await), "user_banned");
}

#[tokio::test]
async fn unusable_private_keys_are_refused() {
    for (key, next, part) in [
        ("%", "", "GOTRUE_SAML_PRIVATE_KEY: expected an RSA key of at least 2048 bits"),
        ("AAAA", "", "found no PKCS#1 key"),
        (KEY, "AAAA", "GOTRUE_SAML_PRIVATE_KEY_NEXT: expected"),
        (include_str!("keys/short.b64"), "", "found 1024 bits"),
    ] {
        let mut settings = settings();
        settings.saml.private_key = key.into();
        settings.saml.private_key_next = next.into();
        let error = Server::refused(settings).await;
        assert!(error.contains(part), "{error}");
    }
}
