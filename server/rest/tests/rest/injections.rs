//! Attempts to have SQL run that is not ours, in every place of a request that a client can write to.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::harness::{League, percent_encode, send, token, token_of};

const ATTEMPTS: &[&str] = &[
    "'; drop table league.clubs; --",
    "\" union select note from league.secrets --",
    "1) or (1=1",
    "$1",
    "$$; delete from league.lineups; $$",
    "\\'; select set_config('role', 'postgres', false); --",
    "/**/ returning (select note from league.secrets)",
    "id\" = \"id\"); truncate league.lineups cascade; --",
];

/// Returns `text` in double quotes, as the grammar of names and values has it.
fn quoted(text: &str) -> String {
    percent_encode(&format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// Returns URLs with the attempt in every place, both as it is and in quotes.
fn urls(attempt: &str) -> Vec<String> {
    let in_either_form = [percent_encode(attempt), quoted(attempt)];
    in_either_form
        .iter()
        .flat_map(|x| {
            [
                // Names of relations, functions and arguments.
                format!("/{x}"),
                format!("/rpc/{x}"),
                format!("/rpc/add?{x}=1"),
                format!("/rpc/add?a={x}"),
                format!("/rpc/many?names={x}&names={x}"),
                format!("/rpc/sum_of?numbers={{{x}}}"),
                // select: columns, aliases, casts, paths, aggregates, embeds, hints, spreads.
                format!("/clubs?select={x}"),
                format!("/clubs?select={x}:id"),
                format!("/clubs?select=id::{x}"),
                format!("/clubs?select=id.{x}()"),
                format!("/clubs?select=id.max()::{x}"),
                format!("/players?select=id,data-%3E{x}"),
                format!("/players?select=id,data-%3E%3E{x}::text"),
                format!("/players?select={x}:data-%3E{x}-%3E0"),
                format!("/clubs?select=id,{x}(id)"),
                format!("/clubs?select=id,{x}:teams(id)"),
                format!("/clubs?select=id,teams!{x}(id)"),
                format!("/clubs?select=id,teams({x})"),
                format!("/teams?select=id,...clubs({x}:name)"),
                // Filters: columns, paths, operators, values, lists, languages, quantifiers.
                format!("/clubs?{x}=eq.1"),
                format!("/clubs?name={x}"),
                format!("/clubs?name={x}.x"),
                format!("/clubs?name=eq.{x}"),
                format!("/clubs?id=eq.{x}"),
                format!("/clubs?name=in.({x},{x})"),
                format!("/clubs?name=eq(any).{{{x}}}"),
                format!("/clubs?name=like.{x}"),
                format!("/clubs?name=match.{x}"),
                format!("/clubs?name=isdistinct.{x}"),
                format!("/clubs?founded=is.{x}"),
                format!("/players?biography=fts({x}).a"),
                format!("/players?biography=wfts(english).{x}"),
                format!("/players?tags=cs.{{{x}}}"),
                format!("/players?shirt=adj.{x}"),
                format!("/players?data-%3E%3E{x}=eq.{x}"),
                format!("/players?data-%3E{x}=is.null"),
                // Logic trees.
                format!("/clubs?or=(name.eq.{x},name.like.{x})"),
                format!("/clubs?and=({x}.eq.1,not.or(id.in.({x}),name.is.{x}))"),
                format!("/clubs?{x}.or=(id.eq.1)"),
                // Order and ranges.
                format!("/clubs?order={x}"),
                format!("/clubs?order=id.{x}"),
                format!("/players?order=data-%3E{x}.desc.nullslast"),
                format!("/teams?select=id,clubs(id)&order=clubs({x})"),
                format!("/clubs?limit={x}&offset={x}"),
                format!("/clubs?select=id,teams(id)&teams.{x}=eq.1&teams.order={x}&teams.limit={x}"),
            ]
        })
        .collect()
}

/// Changes with the attempt in every place that only they have.
fn changes(league: &League, attempt: &str) -> Vec<RequestBuilder> {
    let forms = [percent_encode(attempt), quoted(attempt)];
    let urls = forms.iter().flat_map(|x| {
        [
            ("POST", format!("/clubs?columns={x}"), r#"{"name":"x"}"#),
            ("POST", format!("/clubs?columns=name,{x}"), r#"[{"name":"x"}]"#),
            ("POST", format!("/clubs?on_conflict={x}"), r#"{"id":1,"name":"Harbour Row"}"#),
            ("POST", format!("/clubs?on_conflict=id,{x}"), r#"{"id":1,"name":"Harbour Row"}"#),
            ("POST", format!("/clubs?select={x}"), r#"{"id":1,"name":"Harbour Row"}"#),
            ("PUT", format!("/clubs?id=eq.{x}"), r#"{"id":1,"name":"Harbour Row"}"#),
            ("PUT", format!("/clubs?{x}=eq.1"), r#"{"id":1,"name":"Harbour Row"}"#),
            ("PATCH", format!("/clubs?name=eq.{x}&select={x}"), r#"{"name":"x"}"#),
            ("PATCH", format!("/clubs?{x}=eq.1&columns={x}"), r#"{"name":"x"}"#),
            ("DELETE", format!("/clubs?name=eq.{x}"), ""),
            ("DELETE", format!("/clubs?or=(name.eq.{x},{x}.eq.1)&order={x}"), ""),
        ]
    });
    let json = |method: &str, url: &str, body: String| {
        let request = league.request(method, url).bearer_auth(token_of("authenticated"));
        let prefer = "resolution=merge-duplicates, return=representation";
        request.header("content-type", "application/json").header("prefer", prefer).body(body)
    };
    let mut requests: Vec<_> = urls.map(|(method, url, body)| json(method, &url, body.to_owned())).collect();
    // Keys and values of bodies, whatever form they have.
    requests.extend([
        json("POST", "/clubs", json!({ attempt: 1 }).to_string()),
        json("POST", "/clubs", json!([{ "name": "x", attempt: attempt }]).to_string()),
        json("POST", "/clubs", json!({ "id": attempt, "name": "x" }).to_string()),
        json("PATCH", "/clubs?id=eq.99", json!({ "name": attempt }).to_string()),
        json("PATCH", "/clubs?id=eq.99", json!({ attempt: attempt }).to_string()),
        json("POST", "/rpc/add", json!({ attempt: 1 }).to_string()),
        json("POST", "/rpc/add", json!({ "a": attempt }).to_string()),
        json("POST", "/rpc/sum_of", json!({ "numbers": [attempt] }).to_string()),
        json("POST", "/rpc/many", json!({ "names": [attempt] }).to_string()),
        json("POST", "/rpc/echo", json!({ attempt: [attempt] }).to_string()),
        json("POST", "/rpc/refuse", json!({ "how": attempt }).to_string()),
    ]);
    for (content_type, body) in [
        ("text/csv", format!("\"{}\"\nx", attempt.replace('"', "\"\""))),
        ("text/csv", format!("id\n\"{}\"", attempt.replace('"', "\"\""))),
        ("application/x-www-form-urlencoded", format!("{}=x", percent_encode(attempt))),
        ("application/x-www-form-urlencoded", format!("id={}", percent_encode(attempt))),
    ] {
        for url in ["/clubs", "/rpc/add"] {
            let request = league.request("POST", url).bearer_auth(token_of("authenticated"));
            requests.push(request.header("content-type", content_type).body(body.clone()));
        }
    }
    requests
}

/// Reads with the attempt in every header that is looked into.
fn headers(league: &League, attempt: &str) -> Vec<RequestBuilder> {
    let mut requests = Vec::new();
    for url in ["/clubs?select=id", "/rpc/context"] {
        for (name, value) in [
            ("prefer", format!("timezone={attempt}")),
            ("prefer", attempt.to_owned()),
            ("prefer", format!("count={attempt}, return={attempt}, handling=strict, max-affected={attempt}")),
            ("accept-profile", attempt.to_owned()),
            ("range", attempt.to_owned()),
            ("range", format!("0-{attempt}")),
            ("accept", attempt.to_owned()),
            ("accept", format!("application/vnd.pgrst.plan; for=\"{attempt}\"; options={attempt}")),
            ("cookie", format!("flavour={attempt}; {attempt}=x")),
            ("x-probe", attempt.to_owned()),
            ("authorization", format!("Bearer {attempt}")),
            ("authorization", format!("Bearer {}", token(&json!({ "role": attempt })))),
            ("authorization", format!("Bearer {}", token(&json!({ "role": "anon", "sub": attempt })))),
        ] {
            requests.push(league.request("GET", url).header(name, value));
        }
        let body = league.request("POST", url).header("content-type", attempt);
        requests.push(body.header("content-profile", attempt).body("{}"));
    }
    requests
}

#[tokio::test]
async fn attempts_stay_values_and_names() {
    let league = League::with(|settings| {
        settings.db_plan_enabled = true;
        settings.db_aggregates_enabled = true;
        settings.db_tx_end = rest::TxEnd::Rollback;
    })
    .await;
    let superuser = league.database.client().await;
    let state = "select json_build_array((select json_agg(c order by id) from league.clubs c),
        (select json_agg(s order by id) from league.secrets s), (select count(*) from league.lineups),
        (select count(*) from pg_class), (select count(*) from pg_roles))::text";
    let before: String = superuser.query_one(state, &[]).await.unwrap().get(0);
    let mut count = 0;
    for attempt in ATTEMPTS {
        let reads = urls(attempt).into_iter().map(|url| league.request("GET", &url));
        for request in reads.chain(changes(&league, attempt)).chain(headers(&league, attempt)) {
            let what = format!("{request:?}");
            let response = send(request).await;
            count += 1;
            // An unknown case of a function's own `CASE` is that function's failure.
            let is_own = response.text.contains("case not found");
            assert!(response.status < 500 || is_own, "{what}: {response:?}");
            let is_leak = response.text.contains("theirs") || response.text.contains("\"mine\"");
            assert!(!is_leak, "{what}: {response:?}");
            // Values may be refused, but never read as SQL.
            let code = serde_json::from_str::<Value>(&response.text).unwrap_or_default()["code"].clone();
            assert!(code != "42601" || response.text.contains("tsquery"), "{what}: {response:?}");
        }
    }
    assert!(count > 1000, "{count}");
    let after: String = superuser.query_one(state, &[]).await.unwrap().get(0);
    assert_eq!(after, before);
    let context =
        league.get_with("/rpc/context", &[("x-probe", ATTEMPTS[0]), ("cookie", "flavour=$1")]).await;
    assert_eq!((&context.json()["header"], &context.json()["cookie"]), (&json!(ATTEMPTS[0]), &json!("$1")));
}
