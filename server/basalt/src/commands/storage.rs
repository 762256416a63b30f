//! `basalt storage move`: copies the objects' bytes to another store.

use clap::Subcommand;
use url::Url;

use crate::console;
use crate::error::Error;
use crate::settings::Settings;

/// The number of bytes of a mebibyte, for the output.
const MEBIBYTE: u64 = 1 << 20;

/// The subcommands of `storage`.
#[derive(Debug, Subcommand)]
pub(super) enum Arguments {
    /// Copy the objects' bytes from the store in use to another one
    ///
    /// Run it while the server runs, which takes the most time. Then stop the server, run it again for what has come
    /// since, and start the server with the settings of the new store. A run that was stopped goes on where it was.
    /// The old store stays as it is.
    ///
    /// An S3 store's address and keys are those of STORAGE_S3_ENDPOINT, STORAGE_S3_REGION,
    /// STORAGE_S3_FORCE_PATH_STYLE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
    Move {
        /// The new store: s3://BUCKET or file:///FOLDER
        #[arg(long, value_name = "URL")]
        to: Url,
    },
}

/// Runs the subcommand.
pub(super) async fn run(settings: &Settings, arguments: &Arguments) -> Result<(), Error> {
    let Arguments::Move { to } = arguments;
    let Some(storage) = &settings.services.storage else {
        return Err(Error::Advice("storage is switched off, so it has no objects".to_owned()));
    };
    let progress = |folder: u8, transfer: storage::Transfer| {
        if folder % 16 == 15 {
            let share = (u32::from(folder) + 1) * 100 / 256;
            console::step(format_args!("{share} %: {} objects are at {to}", transfer.objects));
        }
    };
    let done = storage::transfer(storage, to, progress).await.map_err(Error::service("the transfer"))?;
    console::print(format_args!(
        "{} objects are at {to}; {} of them ({} MiB) came now.",
        done.objects,
        done.copied,
        done.bytes / MEBIBYTE
    ));
    Ok(())
}
