//! Tests of the heads that crawlers read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use poem::{EndpointExt as _, Response};
use serde_json::json;

use super::*;

const LOCATION: Location<'_> = Location {
    origin: "https://club.example",
    storage: "https://club.example/files",
    images: "https://club.example/images",
    path: "/",
};

fn description() -> Description {
    let page = |title: &str, path: &str| {
        json!({
            "title": title,
            "isListed": path != "/members",
            "elements": [
                {"tag": "meta", "attributes": {"name": "description", "content": "{{about}}"}},
                {"tag": "link", "attributes": {"rel": "icon", "href": "{{icon}}"}},
                {"tag": "link", "attributes": {"rel": "canonical", "href": "{{origin}}{{path}}"}},
            ],
        })
    };
    let mut home = page("{{name}}", "/");
    home["screen"] = json!("<h1 title=\"{{about}}\">{{name}}</h1>");
    home["jsonLd"] = json!({"@graph": [
        {"@type": "Organization", "name": "{{name}}"},
        {"@type": "FAQPage", "mainEntity": [{"@type": "Question", "name": "{{faqs[].question}}"}]},
    ]});
    let mut news = page("{{headline}} | {{name}}", "/news/cup");
    news["screen"] = json!("<h1>{{headline}}</h1>");
    news["requires"] = json!("news");
    news["modified"] = json!("changed");
    news["values"] = json!({
        "headline": {"query": "news", "column": "title", "default": "The cup"},
        "about": {"query": "news", "column": "text", "steps": [{"excerpt": 12}], "otherwise": "All about {{name}}"},
        "changed": {"query": "news", "column": "updated_at"},
    });
    let setting = |key: &str, steps: serde_json::Value, default: &str| json!({"query": "settings", "where": {"key": key}, "column": "value", "steps": steps, "default": default});
    let described = json!({
        "queries": {
            "settings": "settings?select=key,value",
            "faqs": "faqs?select=question",
            "news": "news?link=eq.{{path}}",
        },
        "values": {
            "name": setting("name", json!(["unquote"]), "The club"),
            "about": setting("about", json!([]), "A club"),
            "icon": setting("icons", json!(["unquote", {"member": "small"}, {"file": {"bucket": "app", "own": true}}]),
                "{\"small\": \"/favicon.ico\"}"),
            "door": setting("door", json!([]), "open"),
        },
        "pages": {"/": home, "/news/cup": news, "/members": page("Members", "/members")},
        "notFound": page("Nothing here | {{name}}", "/404"),
        "closed": {"value": "door", "is": "closed", "page": "/members"},
        "documents": {"/site.webmanifest": {"type": "application/manifest+json", "body": {"name": "{{name}}", "display": "browser"}}},
    });
    Description::parse(described.to_string().as_bytes()).unwrap()
}

fn heads(limits: Limits, respond: impl Fn(&str) -> String + Send + Sync + 'static) -> Heads {
    let api = poem::endpoint::make_sync(move |request: poem::Request| {
        let target = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        respond(&target)
    });
    Heads {
        rows: Rows::new(Some(Arc::new(api.map_to_response().boxed())), limits),
        current: Mutex::default(),
    }
}

/// Returns the API of a project that has stored only `settings`.
fn with_settings(settings: serde_json::Value) -> Heads {
    heads(Limits::default(), move |target| match target.starts_with("/settings") {
        true => settings.to_string(),
        false => "[]".to_owned(),
    })
}

async fn at(heads: &Heads, path: &str) -> Head {
    heads.page(&description(), &Location { path, ..LOCATION }).await
}

async fn document(heads: &Heads, path: &str) -> Option<String> {
    let file = heads.document(&description(), &Location { path, ..LOCATION }).await?;
    Some(String::from_utf8(file.body.to_vec()).unwrap())
}

#[tokio::test]
async fn stored_texts_fill_the_head_and_cannot_leave_it() {
    let attack = "</title></script><script>alert(\"'1'\")</script>&";
    let quoted = format!("\"{attack}\"");
    let heads = heads(Limits::default(), move |target| match target {
        "/settings?select=key,value" => json!([
            {"key": "name", "value": quoted}, {"key": "icons", "value": "'{\"small\": \"fav icon.png\"}'"},
        ])
        .to_string(),
        "/faqs?select=question" => json!([{"question": attack}, {"question": "Why?"}]).to_string(),
        other => panic!("{other}"),
    });
    let head = at(&heads, "/").await;
    assert_eq!(head.status, StatusCode::OK);
    let screen = head.screen.unwrap();
    assert!(screen.starts_with("<h1 title=\"A club\">&lt;/title&gt;"), "{screen}");
    assert_eq!(screen.matches('<').count(), 2, "{screen}");
    let html = head.html;
    assert_eq!(html.matches("<script").count(), 1, "{html}");
    assert_eq!(html.matches("</script").count(), 1, "{html}");
    assert!(
        html.contains("<title>&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(&quot;&#39;1&#39;&quot;)"),
        "{html}"
    );
    assert!(html.contains("href=\"https://club.example/files/app/fav%20icon.png\""), "{html}");
    let (_, json) = html.split_once("<script id=\"json-ld\" type=\"application/ld+json\">").unwrap();
    let json: serde_json::Value = serde_json::from_str(json.strip_suffix("</script>").unwrap()).unwrap();
    assert_eq!(json["@graph"][0]["name"], attack);
    assert_eq!(json["@graph"][1]["mainEntity"][0]["name"], attack);
    assert_eq!(json["@graph"][1]["mainEntity"][1]["name"], "Why?");
}

#[tokio::test]
async fn missing_values_have_their_defaults_and_empty_lists_are_left_out() {
    let heads = with_settings(json!([{"key": "icons", "value": "no JSON"}, {"key": "about", "value": null}]));
    let html = at(&heads, "/").await.html;
    assert!(html.starts_with("<title>The club</title>"), "{html}");
    assert!(html.contains("<meta content=\"A club\" name=\"description\">"), "{html}");
    assert!(html.contains("href=\"/favicon.ico\""), "{html}");
    assert!(html.contains("Organization") && !html.contains("FAQPage"), "{html}");
}

#[tokio::test]
async fn a_page_without_its_row_is_not_found() {
    let row = json!([{"title": "Cup won", "text": "Won at last, again\n\nMore", "updated_at": "2026-05-01T12:00:00+00:00"}]);
    let stored = heads(Limits::default(), move |target| match target {
        "/news?link=eq.%2Fnews%2Fcup" => row.to_string(),
        _ => "[]".to_owned(),
    });
    let found = at(&stored, "/news/cup").await;
    assert_eq!(found.status, StatusCode::OK);
    assert!(found.html.contains("<title>Cup won | The club</title>"), "{}", found.html);
    assert_eq!(found.screen.as_deref(), Some("<h1>Cup won</h1>"));
    assert!(found.html.contains("content=\"Won at…\""), "{}", found.html);
    assert!(found.html.contains("href=\"https://club.example/news/cup\""), "{}", found.html);
    let map = document(&stored, "/sitemap.xml").await.unwrap();
    assert!(
        map.contains("<loc>https://club.example/news/cup</loc><lastmod>2026-05-01T12:00:00+00:00</lastmod>"),
        "{map}"
    );
    assert!(map.contains("<loc>https://club.example/</loc></url>") && !map.contains("/members"), "{map}");

    let hidden = with_settings(json!([]));
    let missing = at(&hidden, "/news/cup").await;
    assert_eq!((missing.status, missing.screen), (StatusCode::NOT_FOUND, None));
    assert!(missing.html.contains("<title>The cup | The club</title>"), "{}", missing.html);
    let map = document(&hidden, "/sitemap.xml").await.unwrap();
    assert!(!map.contains("/news/cup"), "{map}");

    let unknown = at(&stored, "/a\"b").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert!(unknown.html.contains("<title>Nothing here | The club</title>"), "{}", unknown.html);
    assert!(unknown.html.contains("href=\"https://club.example/a&quot;b\""), "{}", unknown.html);
}

#[tokio::test]
async fn a_closed_site_has_only_the_head_of_its_gate() {
    let heads = with_settings(json!([{"key": "door", "value": "closed"}]));
    let head = at(&heads, "/").await;
    assert_eq!(head.status, StatusCode::OK);
    assert!(head.html.contains("<title>Members</title>") && !head.html.contains("json-ld"), "{}", head.html);
    assert_eq!(head.screen, None);
    assert!(document(&heads, "/robots.txt").await.unwrap().contains("Disallow: /\n"));
    assert!(!document(&heads, "/sitemap.xml").await.unwrap().contains("<url>"));
    let manifest: serde_json::Value =
        serde_json::from_str(&document(&heads, "/site.webmanifest").await.unwrap()).unwrap();
    assert_eq!(manifest, json!({"name": "The club", "display": "browser"}));
    assert!(document(&heads, "/other.txt").await.is_none());
}

#[tokio::test]
async fn an_api_that_fails_or_hangs_leaves_the_defaults() {
    let failing =
        poem::endpoint::make_sync(|_| Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).finish());
    let hanging = poem::endpoint::make(|_| std::future::pending::<String>());
    let limits = || Limits { first: Duration::from_millis(20), ..Limits::default() };
    let apis: [Option<Api>; 3] = [
        None,
        Some(Arc::new(failing.map_to_response().boxed())),
        Some(Arc::new(hanging.map_to_response().boxed())),
    ];
    for api in apis {
        let heads = Heads { rows: Rows::new(api, limits()), current: Mutex::default() };
        let head = at(&heads, "/news/cup").await;
        // It is not known whether the row exists.
        assert_eq!(head.status, StatusCode::OK);
        assert!(head.html.contains("<title>The cup | The club</title>"), "{}", head.html);
        assert!(head.html.contains("content=\"All about The club\""), "{}", head.html);
    }
}

#[tokio::test]
async fn rows_are_cached_briefly_and_kept_after_a_failure() {
    let requests = Arc::new(AtomicUsize::new(0));
    let api = |fresh, requests: Arc<AtomicUsize>| {
        heads(Limits { fresh, ..Limits::default() }, move |target| {
            let is_first = !target.starts_with("/settings") || requests.fetch_add(1, Ordering::SeqCst) == 0;
            if is_first { json!([{"key": "name", "value": "Rovers"}]).to_string() } else { "down".to_owned() }
        })
    };
    let kept = api(Duration::from_secs(3600), Arc::clone(&requests));
    at(&kept, "/members").await;
    at(&kept, "/members").await;
    assert_eq!(requests.load(Ordering::SeqCst), 1);

    let requests = Arc::new(AtomicUsize::new(0));
    let renewed = api(Duration::ZERO, Arc::clone(&requests));
    at(&renewed, "/").await;
    let html = at(&renewed, "/").await.html;
    assert_eq!(requests.load(Ordering::SeqCst), 2);
    assert!(html.contains("<title>Rovers</title>"), "{html}");
}

#[test]
fn descriptions_name_nothing_that_they_do_not_describe() {
    let parse = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut described = json!({
            "queries": {"a": "a"}, "values": {"x": {"query": "a", "column": "c"}}, "pages": {},
            "notFound": {"title": "{{x}}", "elements": [], "isListed": false},
        });
        change(&mut described);
        Description::parse(described.to_string().as_bytes()).map(|_| ())
    };
    assert_eq!(parse(&|_| ()), Ok(()));
    let says = |change: &dyn Fn(&mut serde_json::Value), reason: &str| {
        let error = parse(change).unwrap_err();
        assert!(error.contains(reason), "{error}");
    };
    says(&|described| described["notFound"]["title"] = json!("{{y}}"), "there is no value \"y\"");
    says(&|described| described["notFound"]["title"] = json!("{{b[].c}}"), "there is no query \"b\"");
    says(&|described| described["values"]["x"]["otherwise"] = json!("{{x}}"), "stands in for itself");
    says(
        &|described| described["closed"] = json!({"value": "x", "is": "1", "page": "/no"}),
        "there is no page \"/no\"",
    );
    says(&|described| described["more"] = json!(1), "unknown field");
}
