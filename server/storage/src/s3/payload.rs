//! The body of a request: decoded, and compared with everything that the request says about it, while it streams.
//!
//! A mismatch ends the stream with an error, so that nothing is stored. The refusal itself is kept separately, since
//! errors of streams do not carry it.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use fairness::HeldMemory;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use gateway::BodyMemory;
use md5::{Digest as _, Md5};
use parking_lot::Mutex;
use poem::http::{HeaderMap, StatusCode};
use s3s::checksum::ChecksumHasher;
use s3s::crypto::Checksum as _;
use s3s::{S3Error, S3ErrorCode};
use sha2::Sha256;

use super::chunked::{Decoder, Signing};
use super::sigv4::{Claim, SigningKey, UNSIGNED, header, malformed};
use super::xml_errors::refusal;

/// Hashes that a client may send along. Source: Amazon S3 User Guide, "Checking object integrity".
const CHECKSUMS: [&str; 5] = ["crc32", "crc32c", "crc64nvme", "sha1", "sha256"];
pub(super) const CHECKSUM_PREFIX: &str = "x-amz-checksum-";

/// The bytes of a body.
pub(super) type Chunks = BoxStream<'static, io::Result<Bytes>>;

/// Why a body was refused, once it was.
#[derive(Clone, Default)]
pub(super) struct Verdict(Arc<Mutex<Option<S3Error>>>);

impl Verdict {
    /// Returns the refusal, if there is one.
    pub(super) fn take(&self) -> Option<S3Error> {
        self.0.lock().take()
    }

    fn refuse(&self, error: S3Error) -> io::Error {
        let failure = io::Error::other(error.to_string());
        *self.0.lock() = Some(error);
        failure
    }
}

/// A body that is ready to be read.
pub(super) struct Payload {
    pub(super) chunks: Chunks,
    /// The number of its bytes, if the request says it.
    pub(super) length: Option<u64>,
    pub(super) verdict: Verdict,
}

impl Payload {
    /// Returns the payload of a document: what is read of it takes part of `memory` until its end. If there is too
    /// little, the request is refused with `SlowDown`.
    pub(super) fn kept_in(self, memory: BodyMemory) -> Self {
        let Self { chunks, length, verdict } = self;
        let (refusing, mut held, mut size) = (verdict.clone(), HeldMemory::default(), 0);
        let chunks = chunks.map(move |chunk| {
            let chunk = chunk?;
            size += chunk.len() as u64;
            match memory.hold(size, &mut held) {
                true => Ok(chunk),
                false => Err(refusing.refuse(crate::error::Error::SlowDown.into())),
            }
        });
        Self { chunks: chunks.boxed(), length, verdict }
    }
}

/// Returns the body of a request that was signed with `key`, decoded and checked as it is read.
///
/// Errors: for a way of signing payloads that is not known, and for hashes that cannot be read.
pub(super) fn open(
    claim: &Claim,
    key: SigningKey,
    headers: &HeaderMap,
    body: Chunks,
) -> Result<Payload, S3Error> {
    let verdict = Verdict::default();
    let mut expected = ExpectedBody::of(headers)?;
    let (has_signatures, has_trailer) = match &*claim.payload {
        UNSIGNED => return Ok(whole(headers, body, expected, verdict)),
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" => (true, false),
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" => (true, true),
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER" => (false, true),
        digest if digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            expected.content_sha256 = Some(digest.to_ascii_lowercase());
            return Ok(whole(headers, body, expected, verdict));
        }
        _ => return Err(malformed("The value of x-amz-content-sha256 is not supported")),
    };
    let length = header(headers, "x-amz-decoded-content-length").ok_or_else(missing_length)?;
    let length: u64 = length.parse().map_err(|_| missing_length())?;
    expected.length = Some(length);
    let announced = if has_trailer { header(headers, "x-amz-trailer").unwrap_or_default() } else { "" };
    let names = announced.split(',').map(|name| name.trim().to_ascii_lowercase());
    let trailers = names.filter(|name| !name.is_empty()).collect();
    let signing = has_signatures.then(|| Signing::new(claim.clone(), key, has_trailer));
    let decoder = Decoder::new(body, signing, trailers);
    Ok(Payload {
        chunks: check_chunks(Source::Chunked(Box::new(decoder)), expected, verdict.clone()),
        length: Some(length),
        verdict,
    })
}

fn whole(headers: &HeaderMap, body: Chunks, expected: ExpectedBody, verdict: Verdict) -> Payload {
    let length = header(headers, "content-length").and_then(|length| length.parse().ok());
    Payload { chunks: check_chunks(Source::Whole(body), expected, verdict.clone()), length, verdict }
}

/// Returns `chunks` checked against the hashes in `headers`.
///
/// Errors: for hashes that cannot be read.
pub(super) fn inspect(headers: &HeaderMap, chunks: Chunks) -> Result<(Chunks, Verdict), S3Error> {
    let verdict = Verdict::default();
    let expected = ExpectedBody::of(headers)?;
    Ok((check_chunks(Source::Whole(chunks), expected, verdict.clone()), verdict))
}

fn missing_length() -> S3Error {
    let message = "You must provide the Content-Length HTTP header.";
    refusal(StatusCode::BAD_REQUEST, "MissingContentLength", message)
}

enum Source {
    Whole(Chunks),
    Chunked(Box<Decoder>),
}

impl Source {
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        match self {
            Self::Whole(chunks) => chunks.next().await.transpose().map_err(Failure::Broken),
            Self::Chunked(decoder) => decoder.next().await,
        }
    }

    fn trailers(&self) -> &[(String, String)] {
        match self {
            Self::Whole(_) => &[],
            Self::Chunked(decoder) => decoder.trailers(),
        }
    }
}

/// Why reading a body has failed.
pub(super) enum Failure {
    /// The sender broke off.
    Broken(io::Error),
    /// The bytes are not those that were announced.
    Refused(S3Error),
}

fn check_chunks(source: Source, expected: ExpectedBody, verdict: Verdict) -> Chunks {
    let state = Some((source, Inspector::new(expected)));
    let chunks = stream::unfold(state, move |state| {
        let verdict = verdict.clone();
        async move {
            let (mut source, mut inspector) = state?;
            let failure = match source.next().await {
                Ok(Some(chunk)) => match inspector.take(&chunk) {
                    Ok(()) => return Some((Ok(chunk), Some((source, inspector)))),
                    Err(error) => verdict.refuse(error),
                },
                Ok(None) => verdict.refuse(inspector.finish(source.trailers()).err()?),
                Err(Failure::Refused(error)) => verdict.refuse(error),
                Err(Failure::Broken(error)) => error,
            };
            Some((Err(failure), None))
        }
    });
    chunks.boxed()
}

/// What a request says about its body.
#[derive(Debug, Default)]
struct ExpectedBody {
    length: Option<u64>,
    md5: Option<Vec<u8>>,
    content_sha256: Option<String>,
    /// Names of algorithms and their hashes in base64.
    checksums: Vec<(String, String)>,
    /// Algorithms whose hashes follow the body.
    announced: Vec<String>,
}

impl ExpectedBody {
    fn of(headers: &HeaderMap) -> Result<Self, S3Error> {
        let md5 = match header(headers, "content-md5") {
            Some(text) => {
                let digest = STANDARD.decode(text.trim()).ok().filter(|digest| digest.len() == 16);
                let message = "The Content-MD5 you specified is not valid.";
                Some(digest.ok_or_else(|| S3Error::with_message(S3ErrorCode::InvalidDigest, message))?)
            }
            None => None,
        };
        let checksum = |name: &&str| {
            header(headers, &format!("{CHECKSUM_PREFIX}{name}"))
                .map(|value| ((*name).to_owned(), value.to_owned()))
        };
        let announced = header(headers, "x-amz-trailer").unwrap_or_default().split(',');
        let announced = announced.filter_map(|name| {
            name.trim().to_ascii_lowercase().strip_prefix(CHECKSUM_PREFIX).map(str::to_owned)
        });
        Ok(Self {
            length: None,
            md5,
            content_sha256: None,
            checksums: CHECKSUMS.iter().filter_map(checksum).collect(),
            announced: announced.collect(),
        })
    }
}

/// Hashes a body and compares it with what was announced.
struct Inspector {
    expected: ExpectedBody,
    md5: Option<Md5>,
    content_sha256: Option<Sha256>,
    checksums: ChecksumHasher,
}

impl Inspector {
    fn new(expected: ExpectedBody) -> Self {
        let wants = |name: &str| {
            expected.checksums.iter().any(|(known, _)| known == name)
                || expected.announced.iter().any(|announced| announced == name)
        };
        Self {
            md5: expected.md5.is_some().then(Md5::new),
            content_sha256: expected.content_sha256.is_some().then(Sha256::new),
            checksums: ChecksumHasher {
                crc32: wants("crc32").then(s3s::crypto::Crc32::new),
                crc32c: wants("crc32c").then(s3s::crypto::Crc32c::new),
                sha1: wants("sha1").then(s3s::crypto::Sha1::new),
                sha256: wants("sha256").then(s3s::crypto::Sha256::new),
                crc64nvme: wants("crc64nvme").then(s3s::crypto::Crc64Nvme::new),
            },
            expected,
        }
    }

    /// Takes the next bytes.
    ///
    /// Errors: when more come than were announced.
    fn take(&mut self, chunk: &Bytes) -> Result<(), S3Error> {
        self.checksums.update(chunk);
        if let Some(digest) = &mut self.md5 {
            digest.update(chunk);
        }
        if let Some(digest) = &mut self.content_sha256 {
            digest.update(chunk);
        }
        if let Some(length) = &mut self.expected.length {
            *length = length.checked_sub(chunk.len() as u64).ok_or_else(incomplete)?;
        }
        Ok(())
    }

    /// Compares what came with what was announced; `trailers` are the fields that followed the body.
    fn finish(self, trailers: &[(String, String)]) -> Result<(), S3Error> {
        if self.expected.length.is_some_and(|missing| missing > 0) {
            return Err(incomplete());
        }
        if let (Some(expected), Some(digest)) = (&self.expected.md5, self.md5)
            && digest.finalize().as_slice() != expected.as_slice()
        {
            let message = "The Content-MD5 you specified did not match what we received.";
            return Err(S3Error::with_message(S3ErrorCode::BadDigest, message));
        }
        if let (Some(expected), Some(digest)) = (&self.expected.content_sha256, self.content_sha256)
            && HEXLOWER.encode(&digest.finalize()) != *expected
        {
            let message = "The provided 'x-amz-content-sha256' header does not match what was computed.";
            return Err(refusal(StatusCode::BAD_REQUEST, "XAmzContentSHA256Mismatch", message));
        }
        let found = self.checksums.finalize();
        let of_trailers = trailers.iter().filter_map(|(name, value)| {
            name.strip_prefix(CHECKSUM_PREFIX).map(|name| (name.to_owned(), value.clone()))
        });
        for (name, expected) in self.expected.checksums.into_iter().chain(of_trailers) {
            let found = match &*name {
                "crc32" => &found.checksum_crc32,
                "crc32c" => &found.checksum_crc32c,
                "crc64nvme" => &found.checksum_crc64nvme,
                "sha1" => &found.checksum_sha1,
                "sha256" => &found.checksum_sha256,
                _ => continue,
            };
            if found.as_ref() != Some(&expected) {
                let name = name.to_ascii_uppercase();
                let message = format!("The {name} you specified did not match the calculated checksum.");
                return Err(S3Error::with_message(S3ErrorCode::BadDigest, message));
            }
        }
        Ok(())
    }
}

/// Returns the refusal of a body that is longer or shorter than it was announced.
pub(super) fn incomplete() -> S3Error {
    let message = "You did not provide the number of bytes specified by the Content-Length HTTP header.";
    S3Error::with_message(S3ErrorCode::IncompleteBody, message)
}
