//! AWS signature version 4: reading a request's signature, and verifying it. Sources: AWS General Reference, "Create a
//! signed AWS API request"; Amazon S3 API Reference, "Authenticating Requests (AWS Signature Version 4)".
//!
//! The crate `s3s` checks signatures over the path that it routes by. Here these are two paths: clients sign the public
//! one (`/storage/v1/s3/bucket/key`), behind which the service sees `/bucket/key`.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use poem::http::header::HOST;
use poem::http::{HeaderMap, Method, StatusCode};
use s3s::{S3Error, S3ErrorCode};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime};

/// The one algorithm.
pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The payload's hash of a request whose payload is not part of the signature.
pub(super) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// How far the client's clock may be off. Source: Amazon S3, error `RequestTimeTooSkewed`.
const MAX_SKEW: Duration = Duration::minutes(15);
/// How long a presigned URL may be valid. Source: Amazon S3, `X-Amz-Expires`.
const MAX_LIFE: u64 = 7 * 24 * 3600;

/// What stays as it is in a canonical request; of a path also the slash.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const PATH: &AsciiSet = &UNRESERVED.remove(b'/');

/// Parameters of a presigned URL that are about the signature; S3 itself does not look at them.
pub(super) const QUERY_PARAMETERS: [&str; 8] = [
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
    "X-Amz-Security-Token",
    "X-Amz-Content-Sha256",
];

/// Headers whose names begin with `x-amz-` and that need not be signed: the hash is in the signature anyway, the others
/// are added on the way.
const UNSIGNED_HEADERS: [&str; 3] = ["x-amz-content-sha256", "x-amz-cf-id", "x-amz-id-2"];

/// The scope of a signing key: `<access key>/<date>/<region>/<service>/aws4_request`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Credential {
    pub(super) access_key: String,
    date: String,
    pub(super) region: String,
    pub(super) service: String,
}

impl Credential {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(5, '/');
        let mut next = || parts.next().map(str::to_owned);
        let (terminator, service, region, date, access_key) = (next()?, next()?, next()?, next()?, next()?);
        (terminator == "aws4_request").then_some(Self { access_key, date, region, service })
    }

    fn scope(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.date, self.region, self.service)
    }

    /// Returns the key that signs for this day, region and service.
    pub(super) fn signing_key(&self, secret: &str) -> SigningKey {
        let mut key = hmac(format!("AWS4{secret}").as_bytes(), self.date.as_bytes());
        for part in [&*self.region, &*self.service, "aws4_request"] {
            key = hmac(&key, part.as_bytes());
        }
        SigningKey(key)
    }
}

/// A key derived from a secret; it signs requests, chunks and policies.
#[derive(Clone)]
pub(super) struct SigningKey([u8; 32]);

impl SigningKey {
    /// Reports whether `signature`, in hexadecimal digits, is the one of `text`. The comparison takes constant time.
    pub(super) fn verifies(&self, text: &str, signature: &str) -> bool {
        let expected = HEXLOWER.encode(&hmac(&self.0, text.as_bytes()));
        expected.as_bytes().ct_eq(signature.as_bytes()).into()
    }
}

fn hmac(key: &[u8], data: &[u8]) -> [u8; 32] {
    // HMAC takes a key of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    mac.update(data);
    mac.finalize().into_bytes().into()
}

/// Returns the SHA-256 of `data` in hexadecimal digits.
pub(super) fn sha256(data: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(data))
}

/// What a request says about its signature.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) credential: Credential,
    pub(super) signature: String,
    /// The request's time, as `20260131T120000Z`.
    time: String,
    signed_headers: Vec<String>,
    /// The payload's hash, or the name of how it is signed.
    pub(super) payload: String,
    pub(super) session_token: Option<String>,
    pub(super) is_presigned: bool,
}

impl Claim {
    /// Reads the claim from the header `Authorization`, else from the query. `None` if neither has one.
    ///
    /// Errors: for a claim that is malformed or outdated, or made by another algorithm.
    pub(super) fn of(headers: &HeaderMap, query: &[(String, String)]) -> Result<Option<Self>, S3Error> {
        let authorization = header(headers, "authorization").unwrap_or_default();
        let (scheme, claim) = authorization.split_once(' ').unwrap_or((authorization, ""));
        let is_version_2 =
            ["AWSAccessKeyId", "Signature"].iter().all(|name| parameter(query, name).is_some());
        let claim = match scheme {
            ALGORITHM => Self::of_headers(headers, claim)?,
            _ if parameter(query, "X-Amz-Signature").is_some() => Self::of_query(headers, query)?,
            scheme if is_version_2 || scheme.starts_with("AWS") => return Err(unsupported()),
            _ => return Ok(None),
        };
        claim.check(headers)?;
        Ok(Some(claim))
    }

    fn of_headers(headers: &HeaderMap, claim: &str) -> Result<Self, S3Error> {
        let part = |name: &str| {
            let found =
                claim.split(',').filter_map(|part| part.trim().split_once('=')).find(|(key, _)| *key == name);
            found.map(|(_, value)| value)
        };
        let (credential, signed, signature) = part("Credential")
            .and_then(Credential::parse)
            .zip(part("SignedHeaders"))
            .zip(part("Signature"))
            .map(|((credential, signed), signature)| (credential, signed, signature))
            .ok_or_else(|| malformed("The authorization header that you provided is not valid."))?;
        let time = header(headers, "x-amz-date").ok_or_else(|| denied("No date provided"))?;
        check_clock(time)?;
        let payload = header(headers, "x-amz-content-sha256").ok_or_else(|| {
            super::xml_errors::invalid("Missing required header for this request: x-amz-content-sha256")
        })?;
        Ok(Self {
            credential,
            signature: signature.to_owned(),
            time: time.to_owned(),
            signed_headers: signed.split(';').map(str::to_ascii_lowercase).collect(),
            payload: payload.to_owned(),
            session_token: header(headers, "x-amz-security-token").map(str::to_owned),
            is_presigned: false,
        })
    }

    fn of_query(headers: &HeaderMap, query: &[(String, String)]) -> Result<Self, S3Error> {
        let required = |name: &str| {
            parameter(query, name).ok_or_else(|| {
                let message = format!("The query lacks the parameter {name}");
                S3Error::with_message(S3ErrorCode::AuthorizationQueryParametersError, message)
            })
        };
        if required("X-Amz-Algorithm")? != ALGORITHM {
            return Err(malformed("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\""));
        }
        let credential = Credential::parse(required("X-Amz-Credential")?)
            .ok_or_else(|| malformed("X-Amz-Credential is not valid"))?;
        let time = required("X-Amz-Date")?;
        let life = required("X-Amz-Expires")?.parse().ok().filter(|life| *life <= MAX_LIFE);
        check_life(time, life.ok_or_else(|| malformed("X-Amz-Expires must be a number of at most 604800"))?)?;
        let hash =
            parameter(query, "X-Amz-Content-Sha256").or_else(|| header(headers, "x-amz-content-sha256"));
        Ok(Self {
            credential,
            signature: required("X-Amz-Signature")?.to_owned(),
            time: time.to_owned(),
            signed_headers: required("X-Amz-SignedHeaders")?
                .split(';')
                .map(str::to_ascii_lowercase)
                .collect(),
            payload: hash.unwrap_or(UNSIGNED).to_owned(),
            session_token: parameter(query, "X-Amz-Security-Token").map(str::to_owned),
            is_presigned: true,
        })
    }

    /// Checks that the signature covers everything that S3 acts on. Otherwise the holder of a presigned URL for an
    /// upload could, for example, add headers that make it copy another object.
    fn check(&self, headers: &HeaderMap) -> Result<(), S3Error> {
        if !self.time.starts_with(&self.credential.date) {
            return Err(malformed("The date of the credential is not that of the request"));
        }
        let is_signed = |name: &str| self.signed_headers.iter().any(|signed| signed == name);
        if let Some(name) = self.ambiguous_header(headers) {
            return Err(denied(&format!("The header {name} can be read in two ways")));
        }
        let mut names = headers.keys().map(|name| name.as_str());
        let unsigned = names
            .find(|name| name.starts_with("x-amz-") && !UNSIGNED_HEADERS.contains(name) && !is_signed(name));
        match unsigned.or_else(|| (!is_signed("host")).then_some("host")) {
            None => Ok(()),
            Some(name) => Err(denied(&format!(
                "There were headers present in the request which were not signed: {name}"
            ))),
        }
    }

    /// Returns the name of a header that says something else to S3 than to the signature, which joins the values of a
    /// repeated header by commas and counts several spaces as one. What users note about an object is only kept.
    fn ambiguous_header<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let names = headers.keys().map(|name| name.as_str()).filter(|name| {
            name.starts_with("x-amz-") || self.signed_headers.iter().any(|signed| signed == name)
        });
        let is_ambiguous = |name: &&str| {
            let mut values = headers.get_all(*name).iter();
            let has_spaces =
                values.next().is_some_and(|value| value.as_bytes().windows(2).any(|two| two == b"  "));
            values.next().is_some() || (has_spaces && name.starts_with("x-amz-copy-source"))
        };
        names.into_iter().find(is_ambiguous)
    }

    /// Reports whether `key` has signed the request, as a client sent it to `host` with the encoded `path`.
    pub(super) fn holds(
        &self,
        key: &SigningKey,
        request: &SignedRequest<'_>,
        host: &str,
        path: &str,
    ) -> bool {
        let mut signed: Vec<&str> = self.signed_headers.iter().map(String::as_str).collect();
        signed.sort_unstable();
        let headers: String = signed
            .iter()
            .map(|name| format!("{name}:{}\n", canonical_header(request.headers, name, host)))
            .collect();
        let (query, names, scope) =
            (canonical_query(request.query), signed.join(";"), self.credential.scope());
        // Some clients sign the path as they send it, with fewer characters encoded than in the canonical form.
        [canonical_path(path), path.to_owned()].iter().any(|path| {
            let canonical =
                format!("{}\n{path}\n{query}\n{headers}\n{names}\n{}", request.method, self.payload);
            let text = format!("{ALGORITHM}\n{}\n{scope}\n{}", self.time, sha256(canonical.as_bytes()));
            key.verifies(&text, &self.signature)
        })
    }

    /// Returns the text that the signature of a chunk is over. `data` are the hashes that end it.
    pub(super) fn chunk_text(&self, algorithm: &str, previous: &str, data: &str) -> String {
        format!("{ALGORITHM}-{algorithm}\n{}\n{}\n{previous}\n{data}", self.time, self.credential.scope())
    }
}

/// The parts of a request that are signed, in addition to its address.
#[derive(Clone, Copy)]
pub(super) struct SignedRequest<'r> {
    pub(super) method: &'r Method,
    pub(super) headers: &'r HeaderMap,
    /// The decoded parameters.
    pub(super) query: &'r [(String, String)],
}

/// Returns the decoded parameters of an address's query.
pub(super) fn parse_query(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// Returns the value of a parameter.
pub(super) fn parameter<'q>(query: &'q [(String, String)], name: &str) -> Option<&'q str> {
    query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// Encodes the name of an object for an address or a list.
pub(super) fn encode_key(key: &str) -> String {
    utf8_percent_encode(key, PATH).to_string()
}

fn canonical_path(path: &str) -> String {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    percent_encoding::percent_encode(&decoded, PATH).to_string()
}

fn canonical_query(query: &[(String, String)]) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, UNRESERVED).to_string();
    let mut pairs: Vec<(String, String)> = query
        .iter()
        .filter(|(name, _)| name != "X-Amz-Signature")
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

fn canonical_header(headers: &HeaderMap, name: &str, host: &str) -> String {
    if name == HOST.as_str() {
        return host.to_owned();
    }
    let values =
        headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let values: Vec<String> = values
        .map(|value| value.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
        .collect();
    values.join(",")
}

/// Returns the first value of a header, if it is text.
pub(super) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn parse_time(text: &str) -> Result<OffsetDateTime, S3Error> {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    let time = PrimitiveDateTime::parse(text, format).map_err(|_| malformed("The date is not valid"))?;
    Ok(time.assume_utc())
}

/// Checks that a request was signed just now.
pub(super) fn check_clock(time: &str) -> Result<(), S3Error> {
    if (OffsetDateTime::now_utc() - parse_time(time)?).abs() <= MAX_SKEW {
        return Ok(());
    }
    let message = "The difference between the request time and the current time is too large.";
    Err(S3Error::with_message(S3ErrorCode::RequestTimeTooSkewed, message))
}

/// Checks that a signature made at `time` for so many seconds is still valid.
fn check_life(time: &str, life: u64) -> Result<(), S3Error> {
    let age = OffsetDateTime::now_utc() - parse_time(time)?;
    if age < -MAX_SKEW {
        return check_clock(time);
    }
    if age.whole_seconds() > i64::try_from(life).unwrap_or(i64::MAX) { Err(expired()) } else { Ok(()) }
}

/// Returns the refusal of an expired signature. Source: upstream's code and message.
pub(super) fn expired() -> S3Error {
    S3Error::with_message(S3ErrorCode::ExpiredToken, "The provided token has expired.")
}

/// Returns the refusal of a signature by another algorithm, such as version 2. Source: Amazon S3's code and message.
pub(super) fn unsupported() -> S3Error {
    super::xml_errors::invalid(
        "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.",
    )
}

pub(super) fn denied(message: &str) -> S3Error {
    S3Error::with_message(S3ErrorCode::AccessDenied, message.to_owned())
}

/// Returns the refusal of a signature that cannot be understood. Source: upstream's code.
pub(super) fn malformed(message: &str) -> S3Error {
    super::xml_errors::refusal(StatusCode::BAD_REQUEST, "InvalidSignature", message)
}

#[cfg(test)]
pub(super) mod tests;
