//! What Postgres and functions raise: each SQLSTATE has its HTTP status.
//!
//! Source: PostgREST's documentation, "Errors", the table of status codes.

use serde_json::json;

use crate::harness::{League, send};

const RAISE: &str = "
  create function league.raise(state text) returns void immutable language plpgsql as $$ begin
    raise exception using errcode = state, message = 'm', detail = 'd', hint = 'h';
  end $$";

/// SQLSTATE, status for the signed in, and status for the anonymous.
const STATUSES: &[(&str, u16, u16)] = &[
    ("01000", 400, 400),
    ("08006", 503, 503),
    ("09000", 500, 500),
    ("0A000", 400, 400),
    ("0L000", 403, 403),
    ("0P000", 403, 403),
    ("21000", 500, 500),
    ("22023", 400, 400),
    ("22P02", 400, 400),
    ("23502", 400, 400),
    ("23503", 409, 409),
    ("23505", 409, 409),
    ("23514", 400, 400),
    ("25000", 500, 500),
    ("25006", 405, 405),
    ("28000", 403, 403),
    ("2D000", 500, 500),
    ("38000", 500, 500),
    ("39000", 500, 500),
    ("3B000", 500, 500),
    ("40001", 500, 500),
    ("40P01", 500, 500),
    ("42501", 403, 401),
    ("42601", 400, 400),
    ("42703", 400, 400),
    ("42883", 404, 404),
    ("42P01", 404, 404),
    ("42P17", 500, 500),
    ("44000", 400, 400),
    ("53300", 503, 503),
    ("53400", 500, 500),
    ("54001", 500, 500),
    ("55006", 500, 500),
    ("57014", 500, 500),
    ("58000", 500, 500),
    ("F0000", 500, 500),
    ("HV000", 500, 500),
    ("P0001", 400, 400),
    ("P0002", 500, 500),
    ("PT402", 402, 402),
    ("PTABC", 500, 500),
    ("XX000", 500, 500),
    ("ZZZZZ", 400, 400),
];

#[tokio::test]
async fn each_has_its_status_and_keeps_its_words() {
    let league = League::extended(RAISE, |_| {}).await;
    for (state, signed_in, anonymous) in STATUSES {
        let response = league.call("raise", &json!({ "state": state })).await;
        assert_eq!(response.status, *signed_in, "{state}: {response:?}");
        assert_eq!(response.json(), json!({ "code": state, "message": "m", "details": "d", "hint": "h" }));
        assert_eq!(response.header("proxy-status"), format!("PostgREST; error={state}"));
        assert_eq!(response.header("content-type"), "application/json; charset=utf-8");
        let response = send(league.request("GET", &format!("/rpc/raise?state={state}"))).await;
        assert_eq!(response.status, *anonymous, "{state}: {response:?}");
        let challenge = if *anonymous == 401 { "Bearer" } else { "" };
        assert_eq!(response.header("www-authenticate"), challenge, "{state}");
    }
}
