//! Names of buckets and objects: which are allowed, and how they are decoded from URLs.

use percent_encoding::percent_decode_str;

use crate::error::Error;

/// Bytes that an object's name may have.
pub(crate) const MAX_KEY_LENGTH: usize = 1024;
/// Characters that a bucket's name may have.
const MAX_BUCKET_LENGTH: usize = 100;

/// The name of the empty object that keeps a folder without other objects.
pub(crate) const FOLDER_MARKER: &str = ".emptyFolderPlaceholder";

/// Marks allowed in names besides letters and digits. Source: Amazon S3, "Safe characters" and "Characters that
/// might require special handling".
const MARKS: &[u8] = b"_!.*'() &$@=;:+,?-";

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || MARKS.contains(&byte)
}

/// Checks an object's name.
///
/// `.` and `..` as a whole segment are refused although their characters are allowed: clients resolve them before
/// they ask, so that such an object could never be fetched (decision 77).
///
/// Errors: [`Error::InvalidKey`].
pub(crate) fn check_key(key: &str) -> Result<(), Error> {
    let allowed = !key.is_empty()
        && key.len() <= MAX_KEY_LENGTH
        && key.bytes().all(|byte| byte == b'/' || is_name_byte(byte))
        && !key.split('/').any(|segment| matches!(segment, "." | ".."));
    if allowed { Ok(()) } else { Err(Error::InvalidKey(key.to_owned())) }
}

/// Checks a bucket's name.
///
/// Errors: [`Error::InvalidBucketName`].
pub(crate) fn check_bucket(name: &str) -> Result<(), Error> {
    let allowed = !name.is_empty()
        && name.len() <= MAX_BUCKET_LENGTH
        && name.trim() == name
        && name.bytes().all(is_name_byte)
        && !name.ends_with("--table-s3");
    if allowed { Ok(()) } else { Err(Error::InvalidBucketName) }
}

/// Splits the still encoded rest of a path, `bucket/key…`, and decodes both once. Slashes of the key are kept as
/// they are, also doubled ones and those at its ends.
///
/// Errors: [`Error::InvalidKey`] when no name of an object follows the bucket, or none that one can have.
pub(crate) fn split_path(raw: &str) -> Result<(String, String), Error> {
    let (bucket, key) = raw.split_once('/').unwrap_or((raw, ""));
    decode_name(bucket, key)
}

/// Decodes the names of a bucket and of an object in it.
///
/// Errors: [`Error::InvalidKey`] when no object can have the name.
pub(crate) fn decode_name(bucket: &str, key: &str) -> Result<(String, String), Error> {
    let (bucket, key) = (decode(bucket)?, decode(key)?);
    check_key(&key)?;
    Ok((bucket, key))
}

/// Does what [`split_path`] does for the path of a URL that clients have made of a response or of a name: storage-js
/// applies `encodeURI` to it, which encodes a percent sign once more. No name has one, so that what still has one is
/// decoded again.
///
/// Errors: as [`split_path`].
pub(crate) fn split_url_path(raw: &str) -> Result<(String, String), Error> {
    let (bucket, key) = raw.split_once('/').unwrap_or((raw, ""));
    let decode_all = |raw: &str| {
        let decoded = decode(raw)?;
        if decoded.contains('%') { decode(&decoded) } else { Ok(decoded) }
    };
    let (bucket, key) = (decode_all(bucket)?, decode_all(key)?);
    check_key(&key)?;
    Ok((bucket, key))
}

/// Returns `object` (`bucket/key`) for the path of a URL that clients encode themselves, or not. Only what would end
/// the path is encoded.
pub(crate) fn url_path(object: &str) -> String {
    object.replace('?', "%3F")
}

/// Decodes a part of a path once.
///
/// Errors: [`Error::InvalidKey`] when it is not UTF-8.
pub(crate) fn decode(raw: &str) -> Result<String, Error> {
    let decoded = percent_decode_str(raw).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| Error::InvalidKey(raw.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_follow_the_contract() {
        for key in ["a", "a/b c.txt", "a//b", "/a", "a/", "x!-_*'()&$@=;:+,?", "...", "a/.b"] {
            assert!(check_key(key).is_ok(), "{key}");
        }
        for key in ["", "..", "a/../b", "./a", "a#b", "a%b", "ä", "a\\b", "a\nb", "[x]", "\"", "a|b"] {
            assert!(check_key(key).is_err(), "{key}");
        }
        assert!(check_key(&"k".repeat(1024)).is_ok());
        assert!(check_key(&"k".repeat(1025)).is_err());
    }

    #[test]
    fn bucket_names_follow_the_contract() {
        assert!(check_bucket("blog-images").is_ok());
        assert!(check_bucket(&"b".repeat(100)).is_ok());
        for name in ["", " a", "a ", "a/b", "é", "x--table-s3", &"b".repeat(101)] {
            assert!(check_bucket(name).is_err(), "{name}");
        }
    }

    #[test]
    fn paths_of_urls_survive_the_encoding_of_clients() {
        let name = ("b".to_owned(), "a b?c+d&e=f".to_owned());
        let path = url_path("b/a b?c+d&e=f");
        assert_eq!(path, "b/a b%3Fc+d&e=f");
        // As it is, by `encodeURI`, and by `encodeURIComponent`.
        for encoded in ["b/a%20b%3Fc+d&e=f", "b/a%20b%253Fc+d&e=f", "b/a%2520b%253Fc%252Bd%2526e%253Df"] {
            assert_eq!(split_url_path(encoded).unwrap(), name, "{encoded}");
        }
        for refused in ["b/%252e%252e/c", "b/a%2523", "b/a%25253F", "b/%25", "b/%25ff", "b"] {
            assert!(split_url_path(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn paths_are_decoded_once() {
        assert_eq!(split_path("b/a%20b/c").unwrap(), ("b".to_owned(), "a b/c".to_owned()));
        assert_eq!(split_path("b/a//c/").unwrap().1, "a//c/");
        assert!(split_path("b/%2e%2e/c").is_err());
        assert!(split_path("b/%ff").is_err());
        assert!(split_path("b/%252e").is_err(), "a percent sign is not part of a name");
        assert!(split_path("b").is_err());
    }
}
