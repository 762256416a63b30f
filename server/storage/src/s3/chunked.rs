//! The encoding `aws-chunked`: chunks with or without signatures, and fields that follow them. Source: Amazon S3 API
//! Reference, "Signature Calculations for the Authorization Header: Transferring Payload in Multiple Chunks".
//!
//! Clients may send all of an object as one chunk (the SDK for Go does), so a chunk is never held as a whole: its bytes
//! are returned before its signature, which covers all of them, has been checked. The reader must not commit them
//! before the end.

use bytes::{Bytes, BytesMut};
use data_encoding::HEXLOWER;
use futures_util::StreamExt as _;
use poem::http::StatusCode;
use sha2::{Digest as _, Sha256};

use super::payload::{Chunks, Failure, incomplete};
use super::signer::mismatch;
use super::sigv4::{Claim, SigningKey, sha256};
use super::xml_errors::{invalid, refusal};

/// Bytes of a chunk's head: its size and signature.
const MAX_HEAD: usize = 1024;
/// Bytes of the fields that follow the chunks.
const MAX_TRAILERS: usize = 16 * 1024;
const SIGNATURE: &str = "chunk-signature=";
const TRAILER_SIGNATURE: &str = "x-amz-trailer-signature";

/// The signatures of a body's chunks, each of which is over the one before.
pub(super) struct Signing {
    claim: Claim,
    key: SigningKey,
    /// The signature before this chunk's, at first the request's.
    previous: String,
    /// That of the chunk that is being read.
    current: String,
    digest: Sha256,
    has_trailer: bool,
}

impl Signing {
    pub(super) fn new(claim: Claim, key: SigningKey, has_trailer: bool) -> Self {
        let previous = claim.signature.clone();
        Self { claim, key, previous, current: String::new(), digest: Sha256::new(), has_trailer }
    }

    /// Checks the chunk that has been read.
    fn finish_chunk(&mut self) -> Result<(), Failure> {
        let digest = HEXLOWER.encode(&std::mem::take(&mut self.digest).finalize());
        let data = format!("{}\n{digest}", sha256(b""));
        let text = self.claim.chunk_text("PAYLOAD", &self.previous, &data);
        if !self.key.verifies(&text, &self.current) {
            return Err(Failure::Refused(mismatch(self.claim.session_token.is_some())));
        }
        self.previous = std::mem::take(&mut self.current);
        Ok(())
    }

    /// Checks the fields that followed the chunks.
    fn check_trailers(&self, trailers: &[(String, String)], signature: Option<&str>) -> Result<(), Failure> {
        if !self.has_trailer {
            return Ok(());
        }
        let canonical: String = trailers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let text = self.claim.chunk_text("TRAILER", &self.previous, &sha256(canonical.as_bytes()));
        match signature.is_some_and(|signature| self.key.verifies(&text, signature)) {
            true => Ok(()),
            false => Err(Failure::Refused(mismatch(self.claim.session_token.is_some()))),
        }
    }
}

enum Phase {
    /// A chunk's head comes next.
    Head,
    /// So many bytes of a chunk come next.
    Data(u64),
    /// A chunk's line break comes next.
    Break,
    End,
}

/// Decodes a body with this encoding.
pub(super) struct Decoder {
    source: Chunks,
    buffer: BytesMut,
    phase: Phase,
    signing: Option<Signing>,
    /// Names of the fields that were announced to follow.
    announced: Vec<String>,
    trailers: Vec<(String, String)>,
}

impl Decoder {
    pub(super) fn new(source: Chunks, signing: Option<Signing>, announced: Vec<String>) -> Self {
        Self { source, buffer: BytesMut::new(), phase: Phase::Head, signing, announced, trailers: Vec::new() }
    }

    /// Returns the fields that followed the chunks, their names in lower case.
    pub(super) fn trailers(&self) -> &[(String, String)] {
        &self.trailers
    }

    /// Returns the next bytes, `None` after all of them.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            match self.phase {
                Phase::Head => self.head().await?,
                Phase::Data(missing) => return self.data(missing).await.map(Some),
                Phase::Break => {
                    if !self.line(2).await?.is_empty() {
                        return Err(broken());
                    }
                    if let Some(signing) = &mut self.signing {
                        signing.finish_chunk()?;
                    }
                    self.phase = Phase::Head;
                }
                Phase::End => return Ok(None),
            }
        }
    }

    async fn head(&mut self) -> Result<(), Failure> {
        let line = self.line(MAX_HEAD).await?;
        let (size, extension) =
            line.split_once(';').map_or((&*line, None), |(size, rest)| (size, Some(rest)));
        let is_size = (1..=16).contains(&size.len()) && size.bytes().all(|byte| byte.is_ascii_hexdigit());
        let size = u64::from_str_radix(size, 16).ok().filter(|_| is_size).ok_or_else(broken)?;
        if let Some(signing) = &mut self.signing {
            let signature = extension.and_then(|extension| extension.trim().strip_prefix(SIGNATURE));
            signature.ok_or_else(broken)?.clone_into(&mut signing.current);
        }
        self.phase = Phase::Data(size);
        if size == 0 {
            if let Some(signing) = &mut self.signing {
                signing.finish_chunk()?;
            }
            self.read_trailers().await?;
            self.phase = Phase::End;
        }
        Ok(())
    }

    async fn data(&mut self, missing: u64) -> Result<Bytes, Failure> {
        if self.buffer.is_empty() && !self.fill().await? {
            return Err(Failure::Refused(incomplete()));
        }
        let length = usize::try_from(missing).unwrap_or(usize::MAX).min(self.buffer.len());
        let data = self.buffer.split_to(length).freeze();
        if let Some(signing) = &mut self.signing {
            signing.digest.update(&data);
        }
        let missing = missing - length as u64;
        self.phase = if missing == 0 { Phase::Break } else { Phase::Data(missing) };
        Ok(data)
    }

    /// Reads the next bytes into the buffer; false if there are none.
    async fn fill(&mut self) -> Result<bool, Failure> {
        match self.source.next().await.transpose().map_err(Failure::Broken)? {
            // Usually the buffer is empty, and the chunk need not be copied.
            Some(chunk) if self.buffer.is_empty() => self.buffer = BytesMut::from(chunk),
            Some(chunk) => self.buffer.extend_from_slice(&chunk),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the next line, without its end, of at most `most` bytes.
    async fn line(&mut self, most: usize) -> Result<String, Failure> {
        loop {
            if let Some(end) = self.buffer.iter().take(most).position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                let line = std::str::from_utf8(&line).map_err(|_| broken())?;
                return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
            }
            if self.buffer.len() >= most {
                return Err(broken());
            }
            if !self.fill().await? {
                return Err(Failure::Refused(incomplete()));
            }
        }
    }

    async fn read_trailers(&mut self) -> Result<(), Failure> {
        while self.fill().await? {
            if self.buffer.len() > MAX_TRAILERS {
                return Err(malformed_trailer());
            }
        }
        let text = std::mem::take(&mut self.buffer);
        let text = std::str::from_utf8(&text).map_err(|_| malformed_trailer())?;
        let mut signature = None;
        for line in text.split(['\r', '\n']).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(malformed_trailer)?;
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
            match name == TRAILER_SIGNATURE {
                true => signature = Some(value),
                false => self.trailers.push((name, value)),
            }
        }
        self.trailers.sort();
        let has_come = |name: &String| self.trailers.iter().any(|(known, _)| known == name);
        if !self.announced.iter().all(has_come) || self.trailers.len() > self.announced.len() {
            return Err(malformed_trailer());
        }
        match &self.signing {
            Some(signing) => signing.check_trailers(&self.trailers, signature.as_deref()),
            None => Ok(()),
        }
    }
}

fn broken() -> Failure {
    Failure::Refused(invalid("The body is not aws-chunked as the request says"))
}

fn malformed_trailer() -> Failure {
    let message =
        "The request contained trailing data that was not well-formed or did not conform to our schema.";
    Failure::Refused(refusal(StatusCode::BAD_REQUEST, "MalformedTrailerError", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::s3::sigv4::tests::example;
    use futures_util::stream;

    const SEED: &str = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
    const FIRST: &str = "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648";
    const SECOND: &str = "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497";
    const LAST: &str = "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9";

    fn signing(seed: &str, has_trailer: bool) -> Signing {
        let (claim, key) = example(seed, "host", "");
        Signing::new(claim, key, has_trailer)
    }

    /// Decodes `body`, which comes in pieces of so many bytes; the refusal's code if there is one.
    async fn decode(
        body: &[u8],
        piece: usize,
        signing: Option<Signing>,
        announced: &[&str],
    ) -> Result<(Vec<u8>, Vec<(String, String)>), String> {
        let pieces: Vec<_> = body.chunks(piece).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let announced = announced.iter().map(|name| (*name).to_owned()).collect();
        let mut decoder = Decoder::new(stream::iter(pieces).boxed(), signing, announced);
        let mut bytes = Vec::new();
        loop {
            match decoder.next().await {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => return Ok((bytes, decoder.trailers().to_vec())),
                Err(Failure::Refused(error)) => return Err(error.code().as_str().to_owned()),
                Err(Failure::Broken(error)) => return Err(error.to_string()),
            }
        }
    }

    fn body(first: &str, second: &str, last: &str) -> Vec<u8> {
        let (one, two) = ("a".repeat(65536), "a".repeat(1024));
        format!(
            "10000;chunk-signature={first}\r\n{one}\r\n400;chunk-signature={second}\r\n{two}\r\n\
             0;chunk-signature={last}\r\n\r\n"
        )
        .into_bytes()
    }

    #[tokio::test]
    async fn the_documentations_example_is_decoded() {
        let whole = body(FIRST, SECOND, LAST);
        for piece in [1, 7, 4096, whole.len()] {
            let decoded = decode(&whole, piece, Some(signing(SEED, false)), &[]).await.unwrap();
            assert_eq!(decoded.0, vec![b'a'; 66560], "in pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn every_chunks_signature_counts() {
        let wrong = "0".repeat(64);
        for body in [body(&wrong, SECOND, LAST), body(FIRST, &wrong, LAST), body(FIRST, SECOND, &wrong)] {
            let refused = decode(&body, 4096, Some(signing(SEED, false)), &[]).await;
            assert_eq!(refused.unwrap_err(), "SignatureDoesNotMatch");
        }
        let unsigned = decode(b"1\r\na\r\n0\r\n\r\n", 4096, Some(signing(SEED, false)), &[]).await;
        assert_eq!(unsigned.unwrap_err(), "InvalidRequest");
    }

    #[tokio::test]
    async fn fields_follow_as_announced() {
        let seed = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e";
        let (one, two) = ("a".repeat(65536), "a".repeat(1024));
        let signed = |trailer: &str| {
            format!(
                "10000;chunk-signature=b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2\r\n{one}\r\n\
                 400;chunk-signature=1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7\r\n{two}\r\n\
                 0;chunk-signature=2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992\r\n{trailer}"
            )
        };
        let field = "x-amz-checksum-crc32c:sOO8/Q==";
        let signature =
            "x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435";
        let names = ["x-amz-checksum-crc32c"];
        let whole = signed(&format!("{field}\r\n{signature}\r\n\r\n"));
        let (_, trailers) = decode(whole.as_bytes(), 999, Some(signing(seed, true)), &names).await.unwrap();
        assert_eq!(trailers, [("x-amz-checksum-crc32c".to_owned(), "sOO8/Q==".to_owned())]);
        for (trailer, code) in [
            (format!("{field}\r\n\r\n"), "SignatureDoesNotMatch"),
            (format!("x-amz-checksum-crc32c:AAAAAA==\r\n{signature}\r\n\r\n"), "SignatureDoesNotMatch"),
            (format!("{signature}\r\n\r\n"), "MalformedTrailerError"),
            ("\r\n".to_owned(), "MalformedTrailerError"),
        ] {
            let refused = decode(signed(&trailer).as_bytes(), 999, Some(signing(seed, true)), &names).await;
            assert_eq!(refused.unwrap_err(), code, "{trailer}");
        }
    }

    #[tokio::test]
    async fn broken_bodies_are_refused() {
        let names = ["x-amz-checksum-crc32"];
        for (body, code) in [
            ("3\r\nabc\r\n0\r\n\r\n", "MalformedTrailerError"),
            ("3\r\nabc\r\n0\r\nx-amz-checksum-crc32:a\r\nx-amz-meta-a:b\r\n\r\n", "MalformedTrailerError"),
            ("3\r\nabcd\r\n0\r\n\r\n", "InvalidRequest"),
            ("x\r\nabc", "InvalidRequest"),
            ("+3\r\nabc", "InvalidRequest"),
            ("\r\n", "InvalidRequest"),
            ("3\r\nab", "IncompleteBody"),
            ("3\r\nabc\r\n", "IncompleteBody"),
            ("", "IncompleteBody"),
        ] {
            assert_eq!(decode(body.as_bytes(), 2, None, &names).await.unwrap_err(), code, "{body:?}");
        }
        let endless = "1".repeat(2000);
        assert_eq!(decode(endless.as_bytes(), 100, None, &[]).await.unwrap_err(), "InvalidRequest");
    }

    #[tokio::test]
    async fn a_chunk_is_given_on_before_it_has_come_as_a_whole() {
        let pieces: Vec<std::io::Result<Bytes>> = vec![Ok("ffffffff\r\nabc".into()), Ok("def".into())];
        let mut decoder = Decoder::new(stream::iter(pieces).boxed(), None, Vec::new());
        for piece in ["abc", "def"] {
            assert_eq!(decoder.next().await.ok().flatten().unwrap(), piece);
        }
    }
}
