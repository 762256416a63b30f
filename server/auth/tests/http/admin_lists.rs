//! Lists for administrators: users and the audit log.

use auth::Settings;
use http::Method;
use serde_json::json;

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
async fn numbers_and_texts_that_lists_cannot_use_are_refused() {
    let server = Server::start().await;
    for query in ["page=-1", "per_page=0", "per_page=1e3", "sort=", "filter=%00"] {
        let response = list(&server, &format!("/admin/users?{query}")).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{query}");
    }
    let far = list(&server, "/admin/users?page=18446744073709551615&per_page=18446744073709551615").await;
    assert_eq!(emails(&far).len(), 0);
    for query in ["page=x", "per_page=0", "query=author", "query=author:%00"] {
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
