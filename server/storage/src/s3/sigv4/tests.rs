//! The examples of Amazon's documentation: Amazon S3 API Reference, "Authenticating Requests (AWS Signature Version
//! 4)".

use poem::http::HeaderValue;

use super::*;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const CREDENTIAL: &str = "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request";
const HOST_NAME: &str = "examplebucket.s3.amazonaws.com";
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A claim of the examples' credential, and the key that signs with it.
pub(in crate::s3) fn example(signature: &str, signed: &str, payload: &str) -> (Claim, SigningKey) {
    let credential = Credential::parse(CREDENTIAL).unwrap();
    let key = credential.signing_key(SECRET);
    let claim = Claim {
        credential,
        signature: signature.to_owned(),
        time: "20130524T000000Z".to_owned(),
        signed_headers: signed.split(';').map(str::to_owned).collect(),
        payload: payload.to_owned(),
        session_token: None,
        is_presigned: false,
    };
    (claim, key)
}

fn holds(
    signature: &str,
    payload: &str,
    method: Method,
    (path, query): (&str, &str),
    headers: &[(&'static str, &'static str)],
) -> bool {
    let mut names = vec!["host"];
    names.extend(headers.iter().map(|(name, _)| *name));
    let (claim, key) = example(signature, &names.join(";"), payload);
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (poem::http::HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
    let query = parse_query(query);
    let request = SignedRequest { method: &method, headers: &headers, query: &query };
    claim.holds(&key, &request, HOST_NAME, path)
}

#[test]
fn the_examples_signatures_hold() {
    let basic = [("x-amz-content-sha256", EMPTY), ("x-amz-date", "20130524T000000Z")];
    let get = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
    let ranged = [basic[0], basic[1], ("range", "bytes=0-9")];
    assert!(holds(get, EMPTY, Method::GET, ("/test.txt", ""), &ranged));
    assert!(!holds(get, EMPTY, Method::HEAD, ("/test.txt", ""), &ranged), "the method is signed");
    assert!(!holds(get, EMPTY, Method::GET, ("/test2.txt", ""), &ranged), "the path is signed");
    assert!(!holds(get, EMPTY, Method::GET, ("/test.txt", "acl"), &ranged), "the query is signed");
    assert!(!holds(get, UNSIGNED, Method::GET, ("/test.txt", ""), &ranged), "the payload's hash is signed");

    let body = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    let put = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd";
    let headers = [
        ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        ("x-amz-content-sha256", body),
        ("x-amz-date", "20130524T000000Z"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
    ];
    for path in ["/test$file.text", "/test%24file.text"] {
        assert!(holds(put, body, Method::PUT, (path, ""), &headers), "{path}");
    }

    let lifecycle = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543";
    assert!(holds(lifecycle, EMPTY, Method::GET, ("/", "lifecycle"), &basic));
    let list = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
    assert!(holds(list, EMPTY, Method::GET, ("/", "prefix=J&max-keys=2"), &basic));
}

#[test]
fn the_example_of_a_presigned_address_holds() {
    let signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
    let query = format!(
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400\
         &X-Amz-SignedHeaders=host&X-Amz-Signature={signature}",
        CREDENTIAL.replace('/', "%2F")
    );
    assert!(holds(signature, UNSIGNED, Method::GET, ("/test.txt", &query), &[]));
    let claim = Claim::of(&HeaderMap::new(), &parse_query(&query));
    assert_eq!(claim.unwrap_err().code().as_str(), "ExpiredToken");
}

#[test]
fn everything_that_s3_acts_on_is_signed() {
    let check = |signed: &str, header: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(header, HeaderValue::from_static("a"));
        example("", signed, UNSIGNED).0.check(&headers).is_ok()
    };
    assert!(check("host;x-amz-acl", "x-amz-acl"));
    assert!(check("host", "content-type"));
    assert!(check("host", "x-amz-content-sha256"));
    assert!(!check("host", "x-amz-copy-source"));
    assert!(!check("range", "range"), "the host is signed always");
}

#[test]
fn an_access_key_may_contain_slashes() {
    let credential = Credential::parse("a/b/20130524/auto/s3/aws4_request").unwrap();
    assert_eq!((&*credential.access_key, &*credential.region), ("a/b", "auto"));
    assert_eq!(Credential::parse("a/20130524//s3/aws4_request").unwrap().region, "");
    for text in ["", "a/20130524/s3/aws4_request", "a/20130524/auto/s3/aws5_request"] {
        assert_eq!(Credential::parse(text), None, "{text}");
    }
}
