//! Content codings that a client accepts. Source: RFC 9110, section 12.5.3.

use http::HeaderMap;
use http::header::ACCEPT_ENCODING;

/// Reports whether `headers` list the content coding `coding` as one that the client accepts. A quality of 0 excludes
/// it, and `x-gzip` is another name of `gzip` (section 8.4.1.3). `*` does not count: clients that accept gzip list it.
///
/// The crate `headers` has no type for `Accept-Encoding`.
pub fn accepts_coding(headers: &HeaderMap, coding: &str) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_named = name.eq_ignore_ascii_case(coding)
            || (name.eq_ignore_ascii_case("x-gzip") && coding.eq_ignore_ascii_case("gzip"));
        let quality = parts.find_map(|part| part.strip_prefix(['q', 'Q'])?.strip_prefix('='));
        is_named && quality.is_none_or(|quality| quality.parse::<f32>().is_ok_and(|quality| quality > 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_list_the_codings_that_they_accept() {
        for (header, gzip, br) in [
            ("gzip, deflate, br, zstd", true, true),
            ("gzip;q=0.5, br;q=0", true, false),
            ("br, GZIP;q=0.5", true, true),
            ("x-gzip", true, false),
            ("identity", false, false),
            ("gzip; q=0, br; Q=0.000", false, false),
            ("gzip;q=many", false, false),
            ("*", false, false),
            ("", false, false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, header.parse().unwrap())]);
            let accepted = ["gzip", "br"].map(|coding| accepts_coding(&headers, coding));
            assert_eq!(accepted, [gzip, br], "{header}");
        }
        assert!(!accepts_coding(&HeaderMap::new(), "gzip"));
    }
}
