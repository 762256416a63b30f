//! The text form of Postgres' arrays.
//!
//! Source: PostgreSQL documentation, section 8.15.6.

/// Returns `values` as an array.
pub(crate) fn encode(values: &[String]) -> Vec<u8> {
    let mut array = vec![b'{'];
    for value in values {
        push_element(&mut array, Some(value));
    }
    array.push(b'}');
    array
}

/// Appends an element to an array's text that begins with its brace; `None` is null.
pub(crate) fn push_element(array: &mut Vec<u8>, value: Option<&str>) {
    if array.len() > 1 {
        array.push(b',');
    }
    let Some(value) = value else { return array.extend_from_slice(b"NULL") };
    array.push(b'"');
    let mut rest = value.as_bytes();
    while let Some(index) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        array.extend_from_slice(&rest[..index]);
        array.extend_from_slice(&[b'\\', rest[index]]);
        rest = &rest[index + 1..];
    }
    array.extend_from_slice(rest);
    array.push(b'"');
}
