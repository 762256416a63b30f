//! The page that shows mails which are kept instead of being sent.

use ::settings::{Invalid, Reader};

/// The Supabase CLI's `inbucket.port`.
const DEFAULT_PORT: u16 = 54324;

/// Reads the port of the inbox; `None` if it is switched off. The CLI's name of the table was `inbucket` and is now
/// `local_smtp`.
///
/// Errors: [`Invalid`] for a value that cannot be used.
pub fn read_inbox_port(reader: &mut Reader<'_>) -> Result<Option<u16>, Invalid> {
    let (mut enabled, mut port) = (true, None);
    for table in ["inbucket", "local_smtp"] {
        enabled &= reader.get(&format!("{table}.enabled"), &[])?.unwrap_or(true);
        port = port.or(reader.get(&format!("{table}.port"), &["BASALT_INBOX_PORT"])?);
    }
    Ok(enabled.then(|| port.unwrap_or(DEFAULT_PORT)))
}
