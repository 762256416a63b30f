//! Requests to the providers of text messages, and their responses. Shapes are those of the providers' documentation.

use serde_json::{Value as Json, json};

use super::*;
use crate::testing::{self, Mock};
use crate::{Messagebird, Textlocal, Twilio, TwilioVerify, Vonage};

fn sender(provider: SmsProvider, mock: &Mock) -> SmsSender {
    let settings = SmsSettings {
        provider: Some(provider),
        base_url: Some(format!("{}/", mock.url)),
        ..SmsSettings::default()
    };
    SmsSender::new(&settings, "Factor {{ .Code }}", HttpClient::new().unwrap()).unwrap()
}

const SMS: Sms<'static> =
    Sms { phone: "4915112345", text: "Dein Code: 123456", code: "123456", channel: Channel::Sms };

fn twilio(content_sid: &str) -> SmsProvider {
    SmsProvider::Twilio(Twilio {
        account_sid: "AC1".to_owned(),
        auth_token: "secret".into(),
        message_service_sid: "+15550001111".to_owned(),
        content_sid: content_sid.to_owned(),
        ..Twilio::default()
    })
}

fn all() -> Vec<(SmsProvider, Json, &'static str)> {
    vec![
        (twilio(""), json!({ "sid": "SM1", "status": "queued", "error_code": null }), "SM1"),
        (
            SmsProvider::TwilioVerify(TwilioVerify {
                account_sid: "AC1".to_owned(),
                auth_token: "secret".into(),
                message_service_sid: "VA1".to_owned(),
                ..TwilioVerify::default()
            }),
            json!({ "sid": "VE1", "status": "pending", "valid": false }),
            "VE1",
        ),
        (
            SmsProvider::Messagebird(Messagebird {
                access_key: "secret".into(),
                originator: "Row".to_owned(),
                ..Messagebird::default()
            }),
            json!({ "id": "mb1", "recipients": { "totalSentCount": 1 } }),
            "mb1",
        ),
        (
            SmsProvider::Textlocal(Textlocal {
                api_key: "secret".into(),
                sender: "ROW".to_owned(),
                ..Textlocal::default()
            }),
            json!({ "status": "success", "messages": [{ "id": 77 }] }),
            "77",
        ),
        (
            SmsProvider::Vonage(Vonage {
                api_key: "key".to_owned(),
                api_secret: "secret".into(),
                from: "Row".to_owned(),
                ..Vonage::default()
            }),
            json!({ "messages": [{ "message-id": "v1", "status": "0" }] }),
            "v1",
        ),
    ]
}

#[tokio::test]
async fn each_provider_gets_the_message_and_tells_its_id() {
    for (provider, response, id) in all() {
        let mock = Mock::start(vec![testing::json(200, response)]).await;
        let name = provider.name();
        assert_eq!(sender(provider, &mock).send(SMS).await.unwrap(), id, "{name}");
        let received = mock.only();
        let field = |field| received.field(field).unwrap_or_default();
        match name {
            "twilio" => {
                assert_eq!(received.path, "/2010-04-01/Accounts/AC1/Messages.json");
                assert_eq!(received.header("authorization"), "Basic QUMxOnNlY3JldA==");
                assert_eq!((field("To"), field("From")), ("+4915112345".into(), "+15550001111".into()));
                assert_eq!(field("Body"), "Dein Code: 123456");
            }
            "twilio_verify" => {
                assert_eq!(received.path, "/v2/Services/VA1/Verifications");
                assert_eq!((field("To"), field("Channel")), ("+4915112345".into(), "sms".into()));
            }
            "messagebird" => {
                assert_eq!(received.path, "/messages");
                assert_eq!(received.header("authorization"), "AccessKey secret");
                assert_eq!((field("recipients"), field("originator")), ("4915112345".into(), "Row".into()));
            }
            "textlocal" => {
                assert_eq!(received.path, "/send");
                assert_eq!((field("numbers"), field("apikey")), ("4915112345".into(), "secret".into()));
            }
            _ => {
                assert_eq!(received.path, "/sms/json");
                assert_eq!((field("to"), field("api_secret")), ("4915112345".into(), "secret".into()));
            }
        }
    }
}

#[tokio::test]
async fn whatsapp_goes_through_twilio_alone() {
    let sms = Sms { channel: Channel::Whatsapp, ..SMS };
    let mock = Mock::start(vec![testing::json(201, json!({ "sid": "SM1", "status": "queued" }))]).await;
    sender(twilio("HX1"), &mock).send(sms).await.unwrap();
    let received = mock.only();
    assert_eq!(received.field("To").unwrap(), "whatsapp:+4915112345");
    assert_eq!(received.field("From").unwrap(), "whatsapp:+15550001111");
    assert_eq!(received.field("ContentSid").unwrap(), "HX1");
    assert_eq!(received.field("ContentVariables").unwrap(), r#"{"1":"123456"}"#);
    assert_eq!(received.field("Body"), None);
    let vonage = all().pop().unwrap().0;
    let error = sender(vonage, &mock).send(sms).await.unwrap_err();
    assert_eq!(error.to_string(), "channel type \"whatsapp\" is not supported for Vonage");
}

#[tokio::test]
async fn refusals_contain_the_providers_message() {
    for (status, response, expected) in [
        (400, json!({ "message": "No.", "more_info": "https://x" }), "No. More information: https://x"),
        (
            401,
            json!({ "errors": [{ "code": 2, "description": "Request not allowed" }] }),
            "Request not allowed",
        ),
        (
            200,
            json!({ "status": "failure", "errors": [{ "code": 80, "message": "Invalid template" }] }),
            "textlocal error: Invalid template (code: 80)",
        ),
        (
            200,
            json!({ "messages": [{ "status": "4", "error-text": "Bad Credentials" }] }),
            "vonage error: Bad Credentials (status: 4) for message ",
        ),
    ] {
        let index = match status {
            400 => 0,
            401 => 2,
            _ if response.get("status").is_some() => 3,
            _ => 4,
        };
        let mock = Mock::start(vec![testing::json(status, response)]).await;
        let provider = all().swap_remove(index).0;
        let error = sender(provider, &mock).send(SMS).await.unwrap_err().to_string();
        assert_eq!(error, expected);
        assert!(!error.contains("secret"));
    }
}

#[tokio::test]
async fn what_is_no_json_is_an_error_not_a_success() {
    for (provider, ..) in all() {
        let response = testing::MockResponse { status: 200, headers: Vec::new(), body: "<html>".to_owned() };
        let mock = Mock::start(vec![response]).await;
        assert!(sender(provider, &mock).send(SMS).await.is_err());
    }
}

#[tokio::test]
async fn twilio_verify_checks_its_own_codes() {
    let mock = Mock::start(vec![
        testing::json(200, json!({ "status": "approved", "valid": true })),
        testing::json(200, json!({ "status": "pending", "valid": false })),
        testing::json(404, json!({ "message": "not found", "more_info": "" })),
    ])
    .await;
    let sender = sender(all().swap_remove(1).0, &mock);
    assert!(sender.makes_codes());
    assert!(sender.check("4915112345", "123456").await.unwrap());
    assert!(!sender.check("4915112345", "000000").await.unwrap());
    assert!(sender.check("4915112345", "000000").await.is_err());
    assert_eq!(mock.received()[0].path, "/v2/Services/VA1/VerificationCheck");
    assert_eq!(mock.received()[0].field("Code").unwrap(), "123456");
}

#[test]
fn the_text_comes_from_the_template() {
    let settings = SmsSettings { template: "{{ .Code }} <b>".to_owned(), ..SmsSettings::default() };
    let sender = SmsSender::new(&settings, "Factor {{ .Code }}", HttpClient::new().unwrap()).unwrap();
    assert_eq!(sender.text("12", false).unwrap(), "12 <b>");
    assert_eq!(sender.text("12", true).unwrap(), "Factor 12");
    let broken = SmsSettings { template: "{{ .Code".to_owned(), ..SmsSettings::default() };
    let error = SmsSender::new(&broken, "", HttpClient::new().unwrap()).err().unwrap();
    assert!(error.contains("GOTRUE_SMS_TEMPLATE"), "{error}");
}
