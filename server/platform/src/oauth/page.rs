//! The page on which an operator agrees that an agent gets access.

use gateway::escape_html;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_FRAME_OPTIONS};
use poem::Response;

use crate::store::oauth::Client;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:10vh auto;padding:0 1.25rem;color:#16181d;background:#fff}\
h1{font-size:1.5rem;line-height:1.25}label{display:block;margin:1rem 0}input[type=password]{display:block;width:100%;\
box-sizing:border-box;font:inherit;padding:.6rem;border:1px solid #70757f;border-radius:.4rem;margin-top:.25rem}\
button{font:inherit;padding:.6rem 1.2rem;border-radius:.4rem;border:1px solid #16181d;background:#16181d;color:#fff;\
margin-right:.5rem;cursor:pointer}button.other{background:#fff;color:#16181d}.wrong{color:#a1121f}code{background:#eef0f3;\
padding:.1em .3em;border-radius:.2em}fieldset{border:0;padding:0;margin:1rem 0}:focus-visible{outline:3px solid #2563eb;\
outline-offset:2px}@media(prefers-color-scheme:dark){body{background:#16181d;color:#f2f3f5}code{background:#2a2e36}\
button{background:#f2f3f5;color:#16181d}button.other{background:#16181d;color:#f2f3f5;border-color:#f2f3f5}\
input[type=password]{background:#0e1013;color:inherit}.wrong{color:#ff8d97}}";

/// The fields of the request that the form sends again.
const CARRIED: [&str; 8] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "state",
    "scope",
    "resource",
    "code_challenge",
    "code_challenge_method",
];

/// Returns the page. `fields` are those of the request; `host` is where the client is called back.
pub(super) fn consent(
    client: &Client,
    fields: &[(String, String)],
    host: String,
    wrong: Option<&str>,
) -> Response {
    let hidden: String = fields
        .iter()
        .filter(|(name, _)| CARRIED.contains(&name.as_str()))
        .map(|(name, value)| {
            format!("<input type=\"hidden\" name=\"{}\" value=\"{}\">", escape_html(name), escape_html(value))
        })
        .collect();
    let wrong = wrong
        .map(|text| format!("<p class=\"wrong\" role=\"alert\">{}</p>", escape_html(text)))
        .unwrap_or_default();
    let body = format!(
        "<h1>{name} wants to manage this server</h1>\
         <p>It is called back at <code>{host}</code>. Agree only if you have just asked it to connect.</p>{wrong}\
         <form method=\"post\">{hidden}\
         <fieldset><legend>It may</legend>\
         <label><input type=\"radio\" name=\"access\" value=\"read\" checked> read: all data, settings and functions</label>\
         <label><input type=\"radio\" name=\"access\" value=\"all\"> do everything that your access token may</label></fieldset>\
         <label>Your access token (<code>basalt token create</code> makes one)\
         <input type=\"password\" name=\"token\" autocomplete=\"off\" spellcheck=\"false\"></label>\
         <button name=\"answer\" value=\"allow\">Allow</button>\
         <button name=\"answer\" value=\"deny\" class=\"other\">Refuse</button></form>",
        name = escape_html(&client.name),
        host = escape_html(&host),
    );
    page(StatusCode::OK, &body)
}

/// Returns a page that says why nothing can be granted.
pub(super) fn refusal(reason: &str) -> Response {
    page(StatusCode::BAD_REQUEST, &format!("<h1>This does not work</h1><p>{}</p>", escape_html(reason)))
}

fn page(status: StatusCode, body: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\">\
         <title>Access to this server</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>"
    );
    // The form ends with a redirect to the client, so its target is not limited.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";
    Response::builder()
        .status(status)
        .content_type("text/html; charset=utf-8")
        .header(CONTENT_SECURITY_POLICY, policy)
        .header(X_FRAME_OPTIONS, "DENY")
        .header(REFERRER_POLICY, "no-referrer")
        .header(CACHE_CONTROL, "no-store")
        .body(html)
}
