use crate::error::Error;
use crate::settings::Flags;
pub(super) async fn run(_flags: Flags) -> Result<(), Error> { Ok(()) }
