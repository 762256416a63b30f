//! Origins: where clients reach a server.

/// Checks that `url` is `http(s)://host[:port]` and takes the slash off its end.
///
/// Errors: what was expected.
pub fn origin(url: &str) -> Result<String, &'static str> {
    let trimmed = url.trim_end_matches('/');
    let host = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    match host {
        Some(host) if is_host(host) => Ok(trimmed.to_owned()),
        _ => Err("an origin such as https://example.org"),
    }
}

/// Reports whether `text` is a host with or without a port, made of nothing that means something in a URL, a policy or
/// a page.
pub fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}
