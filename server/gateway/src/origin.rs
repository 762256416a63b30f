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
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address, port),
        None => text.find(':').map_or((text, ""), |colon| text.split_at(colon)),
    };
    let is_address = text.starts_with('[');
    let may_be_in_host =
        |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte) || (is_address && byte == b':');
    let is_port = |port: &str| {
        let number =
            port.strip_prefix(':').filter(|number| number.bytes().all(|digit| digit.is_ascii_digit()));
        number.is_some_and(|number| number.parse::<u16>().is_ok())
    };
    !host.is_empty()
        && text.len() <= 255
        && host.bytes().all(may_be_in_host)
        && (port.is_empty() || port == ":" || is_port(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses_with_at_most_one_port() {
        for host in ["a", "a.example:8080", "127.0.0.1:80", "[::1]", "[2001:db8::1]:443", "a_b:"] {
            assert!(is_host(host), "{host}");
        }
        for other in ["", ":80", "][:::", "[::1", "x:99999999", "a:b", "a:1:2", "a/b", "[]", "[::1]x", "a:+1"]
        {
            assert!(!is_host(other), "{other}");
        }
    }
}
