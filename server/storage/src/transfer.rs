//! Copies the objects' bytes from one store to another, for `basalt storage move`.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use url::Url;
use uuid::Uuid;

use crate::backend::Backend;
use crate::error::Error;
use crate::settings::Settings;

/// Objects that are copied at the same time.
const CONCURRENT: usize = 8;

/// How far a transfer is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Objects that the target has now.
    pub objects: u64,
    /// Those of them that this transfer has copied.
    pub copied: u64,
    /// Bytes that it has copied.
    pub bytes: u64,
}

/// Copies all bytes of the store that `settings` name to the store at `target`, `s3://bucket` or `file:///folder`, and
/// tells `progress` after each of the store's 256 folders, whose number goes along. The other settings of an S3 store
/// are those of `settings`.
///
/// Objects that the target already has in the same size are not copied again, so a stopped transfer continues where it
/// was. The origin is not changed.
///
/// Errors: [`Error::Backend`] when a store cannot be read or written, or `target` is neither of the two.
pub async fn transfer(
    settings: &Settings,
    target: &Url,
    mut progress: impl FnMut(u8, Transfer),
) -> Result<Transfer, Error> {
    let origin = Backend::open(settings).await?;
    let target = open(settings, target).await?;
    let mut transfer = Transfer::default();
    for folder in 0..=u8::MAX {
        let stored = origin.list(folder).await?;
        if stored.is_empty() {
            continue;
        }
        let present: std::collections::HashSet<(Uuid, u64)> =
            target.list(folder).await?.into_iter().collect();
        transfer.objects += stored.len() as u64;
        let missing = stored.into_iter().filter(|entry| !present.contains(entry));
        let copies = stream::iter(missing).map(|(version, size)| {
            let (origin, target) = (&origin, &target);
            async move {
                match target.copy_from(origin, version, version).await {
                    // It was removed meanwhile.
                    Err(Error::NoSuchKey) => Ok(None),
                    copied => copied.map(|()| Some(size)),
                }
            }
        });
        let sizes: Vec<Option<u64>> = copies.buffer_unordered(CONCURRENT).try_collect().await?;
        transfer.copied += sizes.iter().flatten().count() as u64;
        transfer.bytes += sizes.iter().flatten().sum::<u64>();
        progress(folder, transfer);
    }
    Ok(transfer)
}

async fn open(settings: &Settings, target: &Url) -> Result<Backend, Error> {
    let unusable = || Error::Backend(format!("{target} is neither s3://BUCKET nor file:///FOLDER"));
    match target.scheme() {
        "s3" if matches!(target.path(), "" | "/") => {
            let bucket = target.host_str().ok_or_else(unusable)?.to_owned();
            Backend::s3(&crate::S3Settings { bucket, ..settings.s3.clone() })
        }
        "file" => Backend::local(&target.to_file_path().map_err(|()| unusable())?).await,
        _ => Err(unusable()),
    }
}
