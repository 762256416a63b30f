//! What is refused, and how.

use serde_json::json;

use crate::harness::{League, send, token, token_of};

#[tokio::test]
async fn errors_have_upstreams_shape() {
    let league = League::start().await;
    let response = league.get("/player").await;
    assert_eq!(response.status, 404);
    assert_eq!(
        response.json(),
        json!({
            "code": "PGRST205", "details": null, "hint": "Perhaps you meant the table 'league.players'",
            "message": "Could not find the table 'league.player' in the schema cache",
        })
    );
    assert_eq!(response.header("proxy-status"), "PostgREST; error=PGRST205");
    assert_eq!(response.header("content-type"), "application/json; charset=utf-8");
    assert_eq!(response.headers.get_all("content-type").iter().count(), 1);
}

#[tokio::test]
async fn errors_may_tell_less() {
    let league =
        League::with(|settings| assert!(settings.set("client-error-verbosity", "minimal").unwrap())).await;
    let message = "Could not find the table 'league.player' in the schema cache";
    assert_eq!(league.get("/player").await.json(), json!({ "code": "PGRST205", "message": message }));
    let raised = league.call("refuse", &json!({ "how": "plain" })).await;
    assert_eq!((raised.status, raised.json()), (400, json!({ "code": "P0001", "message": "no" })));
}

#[tokio::test]
async fn each_mistake_has_its_code() {
    let league = League::start().await;
    for (method, url, headers, status, code) in [
        ("GET", "/players?id=foo.1", vec![], 400, "PGRST100"),
        ("GET", "/players?select=id,", vec![], 400, "PGRST100"),
        ("GET", "/players?name=eq.%00", vec![], 400, "PGRST100"),
        ("GET", "/players?name=eq.%FF", vec![], 400, "PGRST100"),
        ("DELETE", "/rpc/add", vec![], 405, "PGRST101"),
        ("POST", "/clubs", vec![], 400, "PGRST102"),
        ("GET", "/players?limit=-1", vec![], 416, "PGRST103"),
        ("GET", "/players", vec![("accept-profile", "secret")], 406, "PGRST106"),
        ("GET", "/players", vec![("accept", "image/png")], 406, "PGRST107"),
        ("GET", "/players?teams.name=eq.x", vec![], 400, "PGRST108"),
        ("PUT", "/clubs?id=eq.1&limit=1", vec![], 400, "PGRST114"),
        ("GET", "/clubs?select=*,teams(*)&order=teams(name)", vec![], 400, "PGRST118"),
        ("GET", "/players", vec![("prefer", "handling=strict, odd=1")], 400, "PGRST122"),
        ("GET", "/players?select=count()", vec![], 400, "PGRST123"),
        ("GET", "/a/b", vec![], 404, "PGRST125"),
        ("POST", "/", vec![], 405, "PGRST117"),
        ("GET", "/players?select=club(*)", vec![], 400, "PGRST200"),
        ("GET", "/rpc/nothing", vec![], 404, "PGRST202"),
        ("PATCH", "/clubs?columns=nope", vec![], 400, "PGRST204"),
        ("GET", "/players?nope=eq.1", vec![], 400, "42703"),
        ("GET", "/players?id=eq.x", vec![], 400, "22P02"),
        ("GET", "/players?select=id::nope", vec![], 400, "42704"),
        ("GET", "/players?name=fts(klingon).x", vec![], 400, "42704"),
        ("GET", "/players", vec![("prefer", "timezone=Mars/Olympus")], 400, "22023"),
    ] {
        let mut request = league.request(method, url).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = send(request).await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (status, code),
            "{method} {url}: {response:?}"
        );
    }
}

#[tokio::test]
async fn of_several_errors_the_first_is_returned() {
    let league = League::start().await;
    let (image, odd) = (("accept", "image/png"), ("prefer", "handling=strict, odd=1"));
    let (secret, other) = (("accept-profile", "secret"), ("content-profile", "secret"));
    for (method, url, headers, body, code) in [
        ("GET", "/a/b?select=(", vec![secret], "", "PGRST125"),
        ("BREW", "/clubs?select=(", vec![secret], "", "PGRST106"),
        ("BREW", "/clubs?select=(", vec![], "", "PGRST117"),
        ("POST", "/clubs?select=(", vec![other], "{", "PGRST106"),
        ("POST", "/clubs?select=(", vec![], "{", "PGRST100"),
        ("PUT", "/clubs?limit=1", vec![], "{", "PGRST114"),
        ("POST", "/nothing", vec![], "{", "PGRST102"),
        ("POST", "/nothing?columns=nope", vec![], "{", "PGRST205"),
        ("GET", "/nothing?select=nope,clubs(id)&nope=eq.1", vec![image, odd], "", "PGRST205"),
        ("GET", "/clubs?select=nope(id)", vec![image, odd], "", "PGRST200"),
        ("GET", "/clubs?select=nope", vec![image, odd], "", "PGRST107"),
        ("GET", "/clubs?select=nope", vec![odd], "", "PGRST122"),
        // The columns are looked for before the payload is looked into.
        ("POST", "/clubs?columns=nope", vec![image, odd], "{", "PGRST204"),
        ("PATCH", "/clubs", vec![image, odd], r#"{"nope":1}"#, "PGRST204"),
        ("POST", "/clubs", vec![image, odd], r#"{"name":"x"}"#, "PGRST122"),
        ("POST", "/rpc/nothing", vec![image, odd], "{}", "PGRST202"),
        ("POST", "/rpc/echo", vec![image, odd], "{}", "PGRST107"),
        // What was a preference once is none any more.
        ("POST", "/rpc/echo", vec![("prefer", "handling=strict, params=single-object")], "{}", "PGRST122"),
    ] {
        let mut request = league.request(method, url).header("content-type", "application/json");
        for (name, value) in &headers {
            request = request.header(*name, *value);
        }
        let response = send(request.body(body)).await;
        assert_eq!(response.code(), code, "{method} {url} {headers:?} {body}: {response:?}");
    }
    let request = league.request("GET", "/a/b").header("authorization", "Bearer x");
    assert_eq!(send(request).await.code(), "PGRST301", "who asks comes before what is asked");
}

#[tokio::test]
async fn tokens_are_refused_with_a_challenge() {
    let league = League::start().await;
    let with = |bearer: String| {
        let request = league.request("GET", "/clubs").header("authorization", format!("Bearer {bearer}"));
        async move { send(request).await }
    };
    let expired = with(token(&json!({ "role": "authenticated", "exp": 1000 }))).await;
    assert_eq!((expired.status, expired.code()), (401, "PGRST303".to_owned()));
    assert_eq!(
        expired.header("www-authenticate"),
        "Bearer error=\"invalid_token\", error_description=\"JWT expired\""
    );
    let nonsense = with("nonsense".to_owned()).await;
    assert_eq!((nonsense.status, nonsense.code()), (401, "PGRST301".to_owned()));
    assert_eq!(nonsense.json()["message"], "Expected 3 parts in JWT; got 1");
    let tampered = with(format!("{}x", token_of("authenticated"))).await;
    assert_eq!((tampered.status, tampered.code()), (401, "PGRST301".to_owned()));
    let empty = with(String::new()).await;
    assert_eq!((empty.status, empty.code()), (401, "PGRST301".to_owned()));
    let unknown = with(token_of("nobody")).await;
    assert_eq!((unknown.status, unknown.code()), (401, "22023".to_owned()));
}

#[tokio::test]
async fn without_an_anonymous_role_a_token_is_needed() {
    let league = League::with(|settings| settings.db_anon_role = None).await;
    let refused = league.get("/clubs").await;
    assert_eq!((refused.status, refused.code()), (401, "PGRST302".to_owned()));
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    let allowed = send(league.request("GET", "/clubs").bearer_auth(token_of("authenticated"))).await;
    assert_eq!(allowed.status, 200);
}

#[tokio::test]
async fn privileges_tell_401_from_403() {
    let league = League::start().await;
    let anonymous = league.get("/secrets").await;
    assert_eq!((anonymous.status, anonymous.code()), (401, "42501".to_owned()));
    assert_eq!(anonymous.header("www-authenticate"), "Bearer");
    let signed_in = league.change("DELETE", "/adults", &[], "").await;
    assert_eq!(signed_in.code(), "42501", "{signed_in:?}");
    assert_eq!(signed_in.status, 403);
}

#[tokio::test]
async fn row_level_security_holds() {
    let league = League::start().await;
    let mine =
        send(league.request("GET", "/secrets?select=note").bearer_auth(token_of("authenticated"))).await;
    assert_eq!(mine.json(), json!([{ "note": "mine" }]));
    let stolen = league.change("POST", "/secrets", &[], r#"{"id":3,"note":"x"}"#).await;
    assert_eq!((stolen.status, stolen.code()), (403, "42501".to_owned()));
}

#[tokio::test]
async fn oversized_requests_end_in_errors() {
    let league = League::with(|settings| settings.max_body_size = 1000).await;
    let deep = format!("/players?or=({}id.eq.1{})", "and(".repeat(1000), ")".repeat(1000));
    assert_eq!(league.get(&deep).await.code(), "PGRST100");
    let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(2000));
    let large = league.change("POST", "/clubs", &[], &body).await;
    assert_eq!((large.status, large.code()), (413, "PGRST102".to_owned()));
    let filters = format!("/players?select=id&{}", vec!["id=gt.0"; 300].join("&"));
    assert_eq!(league.get(&filters).await.status, 200);
}

#[tokio::test]
async fn deep_embeds_succeed() {
    let league = League::start().await;
    // Joining takes Postgres more time to plan than showing does; the role has three seconds.
    for (embed, depth) in [("staff(", 60), ("staff!inner(", 30), ("...manager_id(", 60)] {
        let url = format!("/staff?select={}id{}", embed.repeat(depth), ")".repeat(depth));
        let response = league.get(&url).await;
        assert_eq!(response.status, 200, "{embed}: {response:?}");
    }
}
