//! Where the account, the certificate and the answers to challenges are kept: in the data folder, or, for several nodes
//! on one database, there.

mod files;
mod shared;

use std::path::Path;
use std::time::Duration;

use postgres::Database;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokens::ValueSeal;

use crate::answer::Answer;
use crate::{Certificates, Settings};
use files::Files;
use shared::Shared;

pub use files::load_own;

/// Where the account, the certificate and the answers to challenges are kept.
pub struct Storage(Kind);

enum Kind {
    Folder { files: Files, is_read: bool },
    Shared(Box<Shared>),
}

/// What is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item {
    Account,
    Certificate,
}

/// An issued certificate. Chain and key are one document, so that they never belong to different certificates.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Issued {
    /// The directory of the ACME server that has issued it.
    pub(crate) directory: String,
    /// The names that it is for.
    pub(crate) domains: Vec<String>,
    /// The certificate with its chain, in PEM.
    pub(crate) chain: String,
    /// The private key, in PEM.
    pub(crate) key: String,
}

impl Issued {
    /// Reports whether it is what `settings` ask for.
    fn is_for(&self, settings: &Settings) -> bool {
        self.directory == settings.acme_directory && self.domains == settings.domains
    }
}

impl Storage {
    /// Keeps everything in the folder `tls` of `data_dir`, which only this user may read.
    ///
    /// Errors: a sentence if the folder cannot be made.
    pub fn in_folder(data_dir: &Path) -> Result<Self, String> {
        let files = Files::open(data_dir)
            .map_err(|error| format!("there is no folder for the certificate of HTTPS: {error}"))?;
        Ok(Self(Kind::Folder { files, is_read: false }))
    }

    /// Shares everything with the other nodes on `database`, sealed with `seal`.
    pub fn shared(database: Database, seal: ValueSeal, settings: &Settings) -> Self {
        Self(Kind::Shared(Box::new(Shared::new(database, seal, settings))))
    }

    /// Puts in force what was stored, or what other nodes have stored since the last call.
    ///
    /// Errors: a sentence; what was in force stays so.
    pub async fn refresh(&mut self, settings: &Settings, certificates: &Certificates) -> Result<(), String> {
        let stored: Option<Issued> = match &mut self.0 {
            Kind::Folder { is_read: true, .. } => return Ok(()),
            Kind::Folder { files, is_read } => {
                *is_read = true;
                files.read(Item::Certificate)?
            }
            Kind::Shared(shared) => shared.refresh(certificates).await?,
        };
        match stored.filter(|stored| stored.is_for(settings)) {
            Some(stored) => certificates.use_issued(&stored),
            None => Ok(()),
        }
    }

    /// Returns the number of failures in a row if this node may order a certificate now; `None` if another one does, or
    /// has to wait after a failure.
    pub(crate) async fn claim(&self) -> Result<Option<u32>, String> {
        match &self.0 {
            Kind::Folder { .. } => Ok(Some(0)),
            Kind::Shared(shared) => shared.claim().await,
        }
    }

    /// Ends what [`claim`](Self::claim) has begun, after `failures` in a row. No node orders before `wait` has passed.
    pub(crate) async fn release(&self, wait: Duration, failures: u32) -> Result<(), String> {
        match &self.0 {
            Kind::Folder { .. } => Ok(()),
            Kind::Shared(shared) => shared.release(wait, failures).await,
        }
    }

    /// Reads `item`; `None` if it is not there.
    pub(crate) async fn read<T: DeserializeOwned>(&self, item: Item) -> Result<Option<T>, String> {
        match &self.0 {
            Kind::Folder { files, .. } => files.read(item),
            Kind::Shared(shared) => shared.read(item).await,
        }
    }

    /// Writes `item` as a whole or not at all.
    pub(crate) async fn write(&self, item: Item, value: &(impl Serialize + Sync)) -> Result<(), String> {
        match &self.0 {
            Kind::Folder { files, .. } => files.write(item, value),
            Kind::Shared(shared) => shared.write(item, value).await,
        }
    }

    /// Makes `answers` those that this node has asked for, and waits until all nodes give them.
    pub(crate) async fn answer(&self, answers: &[Answer], certificates: &Certificates) -> Result<(), String> {
        certificates.answer(answers)?;
        match &self.0 {
            Kind::Folder { .. } => Ok(()),
            Kind::Shared(shared) => shared.answer(answers).await,
        }
    }
}
