//! The folder that mails are written to where no mail server is set.

use std::path::{Path, PathBuf};

use lettre::Message;
use tokio::io::AsyncWriteExt as _;
use uuid::Uuid;

use super::MailError;

/// How many mails are kept; older ones make room.
pub(crate) const KEPT: usize = 200;

/// A folder of files `<time-ordered id>.eml`.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes `message` into a file that only this user may read.
    pub(super) async fn keep(&self, message: &Message) -> Result<(), MailError> {
        let kept = self.write(&message.formatted()).await;
        let name = kept.map_err(|error| MailError::Folder(self.path.clone(), error))?;
        tracing::info!(file = %self.path.join(name).display(), "a mail is kept in a file");
        Ok(())
    }

    async fn write(&self, message: &[u8]) -> std::io::Result<String> {
        tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path).await?;
        let id = Uuid::now_v7();
        let (name, part) = (format!("{id}.eml"), self.path.join(format!(".{id}.part")));
        let mut file =
            tokio::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part).await?;
        file.write_all(message).await?;
        file.flush().await?;
        drop(file);
        // A reader sees whole mails only.
        tokio::fs::rename(&part, self.path.join(&name)).await?;
        self.make_room().await?;
        Ok(name)
    }

    async fn make_room(&self) -> std::io::Result<()> {
        for old in files(&self.path).await?.into_iter().skip(KEPT) {
            match tokio::fs::remove_file(self.path.join(old)).await {
                // Another request makes room, too.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the names of the mails in `folder`, the newest first; none if there is no such folder.
pub(crate) async fn files(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut entries = match tokio::fs::read_dir(folder).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    while let Some(entry) = entries.next_entry().await? {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_suffix(".eml").is_some_and(|id| Uuid::try_parse(id).is_ok()) {
            names.push(name);
        }
    }
    names.sort_unstable_by(|a, b| b.cmp(a));
    Ok(names)
}
