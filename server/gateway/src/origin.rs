//! Origins, as in `https://example.org`.

/// Checks that `url` is `http(s)://host[:port]` and removes slashes from its end.
///
/// Errors: the expected form.
pub fn origin(url: &str) -> Result<String, &'static str> {
    let trimmed = url.trim_end_matches('/');
    let host = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    match host {
        Some(host) if is_host(host) => Ok(trimmed.to_owned()),
        _ => Err("an origin such as https://example.org"),
    }
}

/// Reports whether `text` is a host, with or without a port, that is safe to insert into a URL, a policy or a page:
/// none of its characters has a special meaning there.
pub fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}
