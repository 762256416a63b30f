//! Lists for administrators: users and the audit log.

use auth::Settings;
use http::Method;
use serde_json::{Value, json};

use crate::harness::{Response, Server};
use crate::upstream::allow_unreadable_rows;

async fn list(server: &Server, path: &str) -> Response {
    server.administer(Method::GET, path, json!({})).await
}

fn emails(response: &Response) -> Vec<&str> {
    assert_eq!(response.status, 200, "{}", response.body);
    response.body["users"].as_array().unwrap().iter().map(|user| user["email"].as_str().unwrap()).collect()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
}

/// Creates users a to e, in this order; d and e at the same time.
async fn five_users(settings: Settings) -> Server {
    let server = Server::with(settings).await;
    for (age, name) in [(5, "a"), (4, "b"), (3, "c"), (2, "d"), (2, "e")] {
        let email = format!("{name}@example.com");
        server.user(&email).await;
        server
            .sql(&format!(
                "update auth.users set created_at = date_trunc('day', now()) - interval '{age} days'
                 where email = '{email}'"
            ))
            .await;
    }
    server
}

#[tokio::test]
async fn users_come_in_pages_newest_first() {
    let server = five_users(Settings::default()).await;
    let all = list(&server, "/admin/users").await;
    assert_eq!(emails(&all)[2..], ["c@example.com", "b@example.com", "a@example.com"]);
    assert_eq!(header(&all, "x-total-count"), "5");
    assert_eq!(header(&all, "link"), "</admin/users?page=1>; rel=\"last\"");
    assert_eq!(all.body["aud"], json!("authenticated"));
    let user = &all.body["users"][0];
    assert_eq!(user.get("identities"), Some(&Value::Null));
    assert!(user.get("factors").is_none() && user.get("encrypted_password").is_none());

    let first = list(&server, "/admin/users?per_page=2&sort=created_at+asc").await;
    assert_eq!(emails(&first), ["a@example.com", "b@example.com"]);
    assert_eq!(
        header(&first, "link"),
        "</admin/users?page=2&per_page=2&sort=created_at+asc>; rel=\"next\", \
         </admin/users?page=3&per_page=2&sort=created_at+asc>; rel=\"last\""
    );
    let last = list(&server, "/admin/users?per_page=2&page=3&sort=created_at+ASC").await;
    assert_eq!(emails(&last).len(), 1);
    assert!(!header(&last, "link").contains("next"));
    let beyond = list(&server, "/admin/users?page=9").await;
    assert_eq!((emails(&beyond).len(), header(&beyond, "x-total-count")), (0, "5"));
}

#[tokio::test]
async fn users_are_filtered_by_address_name_and_audience() {
    let server = five_users(Settings::default()).await;
    server.sql("update auth.users set raw_user_meta_data = '{\"full_name\": \"Grace Hopper\"}' where email like 'b@%'").await;
    server.sql("update auth.users set aud = 'staff' where email like 'c@%'").await;
    for (query, expected) in [
        ("filter=a%40ex", vec!["a@example.com"]),
        ("filter=hopper", vec!["b@example.com"]),
        ("filter=A%40EX", vec![]),
        ("filter=c%40", vec![]),
        ("filter='%3B--", vec![]),
        ("filter=%5C", vec![]),
    ] {
        let response = list(&server, &format!("/admin/users?{query}")).await;
        assert_eq!(emails(&response), expected, "{query}");
        assert_eq!(header(&response, "x-total-count"), expected.len().to_string(), "{query}");
    }
    let bearer = format!("Bearer {}", server.keys.api_keys().service_role());
    let headers = [("authorization", bearer.as_str()), ("x-jwt-aud", "staff")];
    let staff = server.send(Method::GET, "/admin/users", &headers, ()).await;
    assert_eq!((emails(&staff), &staff.body["aud"]), (vec!["c@example.com"], &json!("staff")));
}

#[tokio::test]
async fn bad_parameters_of_lists_are_refused() {
    let server = Server::start().await;
    for query in [
        "page=x",
        "page=-1",
        "per_page=0",
        "per_page=1e3",
        "sort=email",
        "sort=created_at+up",
        "sort=",
        "filter=%00",
    ] {
        let response = list(&server, &format!("/admin/users?{query}")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{query}");
    }
    let far = list(&server, "/admin/users?page=18446744073709551615&per_page=18446744073709551615").await;
    assert_eq!(emails(&far).len(), 0);
    for query in ["page=x", "per_page=0", "query=author", "query=payload:x", "query=author:%00"] {
        let response = list(&server, &format!("/admin/audit?{query}")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{query}");
    }
}

#[tokio::test]
async fn cursors_visit_every_user_once_where_settings_offer_them() {
    let server = five_users(Settings { cursor_pagination: true, ..Settings::default() }).await;
    let of_another = "update auth.users set created_at = null where email like 'a@%'";
    server.sql(&(allow_unreadable_rows() + of_another)).await;
    for direction in ["asc", "desc"] {
        let mut seen = Vec::new();
        let mut path = format!("/admin/users?limit=2&sort=created_at+{direction}");
        loop {
            let response = list(&server, &path).await;
            seen.extend(emails(&response).into_iter().map(str::to_owned));
            assert!(response.headers.get("x-total-count").is_none());
            let pagination = &response.body["pagination"];
            let Some(cursor) = pagination["next_cursor"].as_str() else {
                assert_eq!((pagination, header(&response, "link")), (&json!({ "has_more": false }), ""));
                break;
            };
            path = format!("/admin/users?cursor={cursor}&limit=2&sort=created_at+{direction}");
            assert_eq!(header(&response, "link"), format!("<{path}>; rel=\"next\""));
        }
        assert_eq!(seen.len(), 5, "{direction}");
        let oldest = if direction == "asc" { &seen[0] } else { &seen[4] };
        assert_eq!(oldest, "a@example.com");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 5, "{direction}");
    }
    for query in ["limit=0", "limit=x", "cursor=x", "cursor=e30"] {
        let response = list(&server, &format!("/admin/users?{query}")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{query}");
    }
    let by_number = list(&server, "/admin/users?page=1&per_page=2").await;
    assert_eq!((by_number.body.get("pagination"), header(&by_number, "x-total-count")), (None, "5"));
}

#[tokio::test]
async fn the_audit_log_is_searched_and_paged() {
    let server = Server::start().await;
    server.user("ada@example.com").await;
    server.user("eve@example.com").await;
    server.sql("update auth.users set raw_user_meta_data = '{}' where email like 'eve%'").await;
    let session = server.sign_in("ada@example.com").await;
    server.sign_in("eve@example.com").await;
    server.refresh(session.text("refresh_token")).await;
    let created = server.post_as_admin("/admin/users", json!({ "email": "new@example.com" })).await;
    assert_eq!(created.status, 200);

    let all = list(&server, "/admin/audit").await;
    let entries = all.body.as_array().unwrap().clone();
    assert_eq!(header(&all, "x-total-count"), entries.len().to_string());
    assert_eq!(entries[0]["payload"]["action"], json!("user_signedup"), "newest first");
    assert_eq!(entries[0]["payload"]["log_type"], json!("team"));
    assert!(entries[0]["created_at"].as_str().unwrap().ends_with('Z'));
    assert!(
        entries.iter().all(|entry| entry["ip_address"].is_string() && entry.get("instance_id").is_none())
    );

    for (query, field, value, count) in [
        ("author:EVE@", "actor_username", "eve@example.com", 1),
        // Ada's sign-in, and what her refresh has written.
        ("author:ada@", "actor_username", "ada@example.com", 3),
        ("action:login", "action", "login", 2),
        ("type:team", "log_type", "team", 1),
    ] {
        let found = list(&server, &format!("/admin/audit?query={query}")).await;
        let found = found.body.as_array().unwrap();
        assert_eq!(found.len(), count, "{query}");
        assert!(found.iter().all(|entry| entry["payload"][field] == value), "{query}");
    }
    // "Ada" is the full name of the user whose address was asked for above.
    let by_name = list(&server, "/admin/audit?query=author:Ada").await;
    assert_eq!(by_name.body.as_array().unwrap().len(), 3);
    let everything = list(&server, "/admin/audit?query=author:").await;
    assert_eq!(everything.body.as_array().unwrap().len(), entries.len());

    let second = list(&server, "/admin/audit?query=action:login&per_page=1&page=2").await;
    assert_eq!(second.body.as_array().unwrap().len(), 1);
    assert_eq!(
        header(&second, "link"),
        "</admin/audit?page=2&per_page=1&query=action%3Alogin>; rel=\"last\""
    );
}
