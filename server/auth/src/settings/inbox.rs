//! The inbox: a page that shows mails that are stored instead of sent, while no mail server is set.

use ::settings::{Invalid, Reader};

/// The Supabase CLI's `local_smtp.port`.
const DEFAULT_PORT: u16 = 54324;

/// Reads the port of the inbox; `None` if it is switched off.
///
/// Errors: [`Invalid`] for a value that cannot be used.
pub fn read_inbox_port(reader: &mut Reader<'_>) -> Result<Option<u16>, Invalid> {
    let enabled = reader.get("local_smtp.enabled", &[])?.unwrap_or(true);
    let port = reader.get("local_smtp.port", &["BASALT_INBOX_PORT"])?;
    Ok(enabled.then(|| port.unwrap_or(DEFAULT_PORT)))
}
