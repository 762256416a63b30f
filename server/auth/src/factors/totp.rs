//! Time-based one-time passwords (RFC 6238) as authenticator apps have them: SHA-1, six digits, steps of 30 s.

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use qrcode::render::svg;
use qrcode::{EcLevel, QrCode};
use sha1::Sha1;
use subtle::ConstantTimeEq;
use time::OffsetDateTime;

/// Seconds for which a code is the current one.
const STEP: u64 = 30;

/// Pixels of a module of a QR code.
const MODULE: u32 = 3;

/// What may stand in a path (RFC 3986, section 3.3).
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'@')
    .remove(b':')
    .remove(b'+')
    .remove(b'/');

/// What may stand in the value of a query parameter.
const VALUE: &AsciiSet = &PATH.add(b'+').add(b'/');

/// What a user's app and this service share.
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    /// Returns a new secret of 160 bits, the length that RFC 4226 recommends (section 4, R6).
    pub(crate) fn generate() -> Self {
        Self(rand::random::<[u8; 20]>().into())
    }

    /// Reads base32, whatever its case and padding. `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches('=').to_ascii_uppercase();
        BASE32_NOPAD.decode(text.as_bytes()).ok().map(Secret)
    }

    /// Returns the form in which users may type it into their app.
    pub(crate) fn to_base32(&self) -> String {
        BASE32_NOPAD.encode(&self.0)
    }

    /// Returns the URI that sets up an app (the Key Uri Format of Google Authenticator).
    pub(crate) fn uri(&self, issuer: &str, account: &str) -> String {
        let label = format!("{issuer}:{account}");
        format!(
            "otpauth://totp/{}?algorithm=SHA1&digits=6&issuer={}&period={STEP}&secret={}",
            utf8_percent_encode(&label, PATH),
            utf8_percent_encode(issuer, VALUE),
            self.to_base32(),
        )
    }

    /// Returns the step whose code `code` is: that of `now`, or one before or after for clocks that differ and for
    /// people who type slowly. `None` if it is the code of none of these.
    pub(crate) fn verify(&self, code: &str, now: OffsetDateTime) -> Option<u64> {
        let now = u64::try_from(now.unix_timestamp()).ok()? / STEP;
        let code = code.trim().as_bytes();
        // All three are compared, so that the time does not reveal which one matched.
        let matches = [now.saturating_sub(1), now, now + 1]
            .map(|step| (step, bool::from(self.code(step).as_bytes().ct_eq(code))));
        matches.into_iter().find_map(|(step, is_right)| is_right.then_some(step))
    }

    /// Returns the code of a step (RFC 4226, section 5.3).
    fn code(&self, step: u64) -> String {
        // HMAC takes keys of every length.
        let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(&self.0) else { return String::new() };
        mac.update(&step.to_be_bytes());
        let digest: [u8; 20] = mac.finalize().into_bytes().into();
        let offset = usize::from(digest[19] & 0xf);
        let chosen = u32::from_be_bytes([
            digest[offset] & 0x7f,
            digest[offset + 1],
            digest[offset + 2],
            digest[offset + 3],
        ]);
        format!("{:06}", chosen % 1_000_000)
    }
}

/// Returns a QR code of `text` as an SVG document. `None` if it is too long for one.
///
/// Clients put `data:image/svg+xml;utf-8,` in front without escaping anything, so the document must do without `#`.
pub(crate) fn qr_code(text: &str) -> Option<String> {
    let levels = [EcLevel::H, EcLevel::M, EcLevel::L];
    let code = levels.into_iter().find_map(|level| QrCode::with_error_correction_level(text, level).ok())?;
    let mut renderer = code.render::<svg::Color>();
    renderer.module_dimensions(MODULE, MODULE);
    Some(renderer.dark_color(svg::Color("black")).light_color(svg::Color("white")).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(seconds).unwrap()
    }

    /// Compares with the last six digits of the vectors in RFC 6238, appendix B.
    #[test]
    fn codes_are_those_of_the_standard() {
        let secret = Secret(b"12345678901234567890".to_vec());
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(secret.verify(code, at(seconds)), u64::try_from(seconds / 30).ok(), "{seconds}");
        }
    }

    #[test]
    fn a_code_works_one_step_before_and_after_its_own() {
        let secret = Secret(b"12345678901234567890".to_vec());
        let works: Vec<_> = [-31, -30, 0, 29, 30, 59, 60, 89]
            .map(|seconds| secret.verify("050471", at(1_111_111_110 + seconds)).is_some())
            .into();
        assert_eq!(works, [false, true, true, true, true, true, false, false]);
    }

    #[test]
    fn anything_but_six_digits_is_wrong() {
        let secret = Secret::generate();
        for code in ["", "1", "12345", "1234567", "abcdef", "𝟙𝟚𝟛𝟜𝟝𝟞"] {
            assert_eq!(secret.verify(code, at(1_111_111_111)), None, "{code}");
        }
    }

    #[test]
    fn secrets_are_read_back_however_they_were_typed() {
        let secret = Secret::generate();
        let text = secret.to_base32();
        assert_eq!(text.len(), 32);
        for written in [text.clone(), text.to_lowercase(), format!(" {text}== ")] {
            assert_eq!(Secret::parse(&written).unwrap().0, secret.0);
        }
        assert!(Secret::parse("not base32!").is_none());
    }

    #[test]
    fn the_uri_says_who_issued_it_and_for_whom() {
        let secret = Secret::parse("JBSWY3DPEHPK3PXP").unwrap();
        assert_eq!(
            secret.uri("localhost:3000", "ada+x@example.com"),
            "otpauth://totp/localhost:3000:ada+x@example.com?algorithm=SHA1&digits=6&issuer=localhost:3000\
             &period=30&secret=JBSWY3DPEHPK3PXP"
        );
        assert!(secret.uri("A & B?", "x").contains("totp/A%20%26%20B%3F:x?"));
        assert!(secret.uri("A&B+C", "x").contains("issuer=A%26B%2BC&"));
    }

    #[test]
    fn qr_codes_survive_in_a_data_url_without_escapes() {
        let uri = Secret::generate().uri("localhost:3000", "ada@example.com");
        let svg = qr_code(&uri).unwrap();
        assert!(svg.contains("<svg") && svg.ends_with("</svg>") && !svg.contains('#') && !svg.contains('%'));
        assert!(qr_code(&"x".repeat(2000)).is_some());
        assert!(qr_code(&"x".repeat(4000)).is_none());
    }
}
