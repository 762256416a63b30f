//! The files of a function as `multipart/form-data`, the form in which tools send and read them.

use serde_json::Value;

/// Returns the content type and the body with a part `metadata`, and a part `file` for each file: its path, and its
/// content.
pub(crate) fn write<'f>(
    metadata: &Value,
    files: impl IntoIterator<Item = (&'f str, &'f [u8])>,
) -> (String, Vec<u8>) {
    let boundary = format!("basalt-{}", uuid::Uuid::new_v4().simple());
    let mut body = Vec::new();
    let mut part = |head: &str, content: &[u8]| {
        body.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    };
    let head = "Content-Disposition: form-data; name=\"metadata\"\r\nContent-Type: application/json";
    part(head, metadata.to_string().as_bytes());
    for (path, content) in files {
        let shown = path.replace(['"', '\r', '\n'], "_");
        let head = format!(
            "Content-Disposition: form-data; name=\"file\"; filename=\"{shown}\"\r\nSupabase-Path: {shown}\r\n\
             Content-Type: application/octet-stream"
        );
        part(&head, content);
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}
