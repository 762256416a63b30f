//! What backups need of storage: to read and write the bytes of versions, and to keep those that objects no longer have
//! until a backup has them.

use std::fmt::Debug;
use std::io;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use uuid::Uuid;

use crate::backend::Backend;
use crate::error::Error;
use crate::handles::Handles;
use crate::settings::Settings;

/// Takes the versions that no object has any more, in place of their removal.
pub trait Keeper: Debug + Send + Sync {
    /// Takes `versions`, and removes their bytes when they are not needed. It may be called again with the same ones.
    fn retire(&self, versions: &[Uuid]);
}

/// The bytes of all versions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct VersionStore(Backend);

impl VersionStore {
    /// Opens the store that `settings` name.
    ///
    /// Errors: those of [`Handles::new`].
    pub async fn open(settings: &Settings) -> Result<Self, Error> {
        Backend::open(settings).await.map(Self)
    }

    /// Returns the bytes of `version`; `None` if there are none.
    ///
    /// Errors: [`Error::Backend`].
    pub async fn read(&self, version: Uuid) -> Result<Option<BoxStream<'static, io::Result<Bytes>>>, Error> {
        match self.0.stream(version).await {
            Ok(pieces) => Ok(Some(pieces.boxed())),
            Err(Error::NoSuchKey) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores `pieces` as the bytes of `version`. Nothing is stored if they end with an error.
    ///
    /// Errors: [`Error::Backend`].
    pub async fn write(
        &self,
        version: Uuid,
        mut pieces: BoxStream<'static, io::Result<Bytes>>,
    ) -> Result<(), Error> {
        let mut writer = self.0.writer(version);
        while let Some(piece) = pieces.try_next().await.map_err(|error| Error::Backend(error.to_string()))? {
            writer.put(piece).await?;
        }
        writer.finish().await
    }

    /// Reports whether there are bytes of `version`.
    ///
    /// Errors: [`Error::Backend`].
    pub async fn contains(&self, version: Uuid) -> Result<bool, Error> {
        match self.0.size(version).await {
            Ok(_) => Ok(true),
            Err(Error::NoSuchKey) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the bytes of `version`, if there are any.
    ///
    /// Errors: [`Error::Backend`].
    pub async fn remove(&self, version: Uuid) -> Result<(), Error> {
        self.0.remove(version).await
    }
}

impl Handles {
    /// Returns the bytes of all versions.
    pub fn versions(&self) -> VersionStore {
        VersionStore(self.blobs.backend.clone())
    }

    /// Gives versions that no object has any more to `keeper` from now on. It is set once.
    pub fn set_keeper(&self, keeper: impl Keeper + 'static) {
        let _ = self.blobs.keeper.set(Box::new(keeper));
    }
}
