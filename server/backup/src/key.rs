//! The key of a target: a private key of age, with which everything in the target is encrypted.
//!
//! It lies in the target itself, encrypted with the operator's passphrase or to the operator's public key, so that a new
//! machine needs nothing else; and in the data folder, so that the server needs neither to go on. All files are in the
//! format of age (<https://age-encryption.org/v1>), which the program of that name opens, too. pgBackRest's passphrase
//! is the text of the key.

use std::io::{self, Read as _};
use std::iter;
use std::path::Path;

use age::secrecy::{ExposeSecret as _, SecretString};
use age::x25519;
use age::{Decryptor, Encryptor};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use object_store::buffered::BufWriter;
use object_store::path::Path as StorePath;
use settings::Secret;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio_util::io::{StreamReader, SyncIoBridge};

use crate::error::Error;
use crate::target::Target;

/// The key in the target, for the passphrase.
const FOR_PASSPHRASE: &str = "key-passphrase.age";
/// The key in the target, for the operator's public key.
const FOR_RECIPIENT: &str = "key-recipient.age";

/// The logarithm of scrypt's cost for a passphrase: 128 MiB of memory, and some 0.3 s. Each start of the server pays it once,
/// also on a machine with 1 GiB.
///
/// Source: OWASP Password Storage Cheat Sheet, "scrypt".
const WORK_FACTOR: u8 = 17;
/// The greatest such cost that is paid to open a key, 4 GiB: earlier releases took what their machine computed in a second.
const GREATEST_WORK_FACTOR: u8 = 22;

/// Bytes that are decrypted at a time, and how many such pieces wait to be read.
const PIECE: usize = 256 << 10;
const PIECES: usize = 4;

/// The key of a target. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Key(x25519::Identity);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// What opens the key in a target.
#[derive(Debug, Clone)]
pub enum Unlock {
    /// The operator's passphrase.
    Passphrase(Secret),
    /// The text of a file with the operator's private key, as `age-keygen` writes it.
    Identity(Secret),
}

impl Key {
    fn generate() -> Self {
        Self(x25519::Identity::generate())
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().map(str::trim).find(|line| line.starts_with("AGE-SECRET-KEY-"))?;
        line.parse().ok().map(Self)
    }

    /// Returns the text of the key, which is pgBackRest's passphrase and must not be logged.
    pub(crate) fn text(&self) -> Secret {
        self.0.to_string().expose_secret().to_owned().into()
    }

    /// Reads the key that the data folder has; `None` if it has none.
    pub(crate) fn read(file: &Path) -> Result<Option<Self>, Error> {
        match std::fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(format!("read {}", file.display()))(error)),
            Ok(text) => {
                Self::parse(&text).map(Some).ok_or_else(|| Error::Damaged(file.display().to_string()))
            }
        }
    }

    /// Keeps the key in the data folder, readable for the owner alone.
    pub(crate) fn keep(&self, file: &Path) -> Result<(), Error> {
        let text =
            format!("# The key of the backups. Whoever has it can read them.\n{}\n", self.text().expose());
        let written = atomic_file::write(file, text.as_bytes(), 0o600);
        written.map_err(Error::io(format!("write {}", file.display())))
    }

    /// Opens the key in `target`; `None` if there is none.
    ///
    /// Errors: [`Error::Advice`] if `unlock` does not open it.
    pub(crate) async fn open(target: &Target, unlock: &Unlock) -> Result<Option<Self>, Error> {
        let path = match unlock {
            Unlock::Passphrase(_) => FOR_PASSPHRASE,
            Unlock::Identity(_) => FOR_RECIPIENT,
        };
        let Some(sealed) = target.read(path).await? else {
            let others = [FOR_PASSPHRASE, FOR_RECIPIENT].into_iter().filter(|other| *other != path);
            for other in others {
                if target.read(other).await?.is_some() {
                    let wants = if other == FOR_PASSPHRASE { "a passphrase" } else { "a private key of age" };
                    return Err(Error::Advice(format!("these backups are opened with {wants}")));
                }
            }
            return Ok(None);
        };
        let unlock = unlock.clone();
        let opened = tokio::task::spawn_blocking(move || match unlock {
            Unlock::Passphrase(passphrase) => {
                let mut identity =
                    age::scrypt::Identity::new(SecretString::from(passphrase.expose().to_owned()));
                identity.set_max_work_factor(GREATEST_WORK_FACTOR);
                age::decrypt(&identity, &sealed).ok()
            }
            Unlock::Identity(text) => {
                let identity = Self::parse(text.expose())?.0;
                age::decrypt(&identity, &sealed).ok()
            }
        });
        let opened = opened.await.ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
        let key = opened.and_then(|text| Self::parse(&text));
        key.map(Some).ok_or_else(|| {
            Error::Advice("the passphrase or private key is not that of these backups".to_owned())
        })
    }

    /// Makes a key for `target`, which has none, and puts it there, for the passphrase and for the public key
    /// `recipient`.
    pub(crate) async fn create(
        target: &Target,
        passphrase: Option<Secret>,
        recipient: Option<&str>,
    ) -> Result<Self, Error> {
        let key = Self::generate();
        let has_passphrase = passphrase.is_some();
        let in_use = || Error::Advice("another server has just begun to write to this target".to_owned());
        if let Some(passphrase) = passphrase
            && !target.create(FOR_PASSPHRASE, key.sealed_with(passphrase).await?).await?
        {
            return Err(in_use());
        }
        if let Some(recipient) = recipient
            && !target.create(FOR_RECIPIENT, key.sealed_to(recipient)?).await?
            && !has_passphrase
        {
            return Err(in_use());
        }
        Ok(key)
    }

    /// Has the passphrase and the public key `recipient` open the key in `target`, if those of before did: the operator has
    /// changed them.
    pub(crate) async fn renew_locks(
        &self,
        target: &Target,
        passphrase: Option<Secret>,
        recipient: Option<&str>,
    ) -> Result<(), Error> {
        if let Some(passphrase) = passphrase {
            let opened = Self::open(target, &Unlock::Passphrase(passphrase.clone())).await;
            let is_known = match opened {
                Ok(found) => found.is_some_and(|found| found.text() == self.text()),
                Err(Error::Advice(_)) => false,
                Err(error) => return Err(error),
            };
            let sealed = target.read(FOR_PASSPHRASE).await?;
            let is_cheap = sealed.is_some_and(|sealed| work_factor(&sealed) <= Some(WORK_FACTOR));
            if !is_known || !is_cheap {
                target.write(FOR_PASSPHRASE, self.sealed_with(passphrase).await?).await?;
            }
            if !is_known {
                tracing::warn!(
                    "the backups are opened with another passphrase from now on, also the earlier ones"
                );
            }
        }
        if let Some(recipient) = recipient {
            target.write(FOR_RECIPIENT, self.sealed_to(recipient)?).await?;
        }
        Ok(())
    }

    async fn sealed_with(&self, passphrase: Secret) -> Result<Vec<u8>, Error> {
        let text = self.text();
        let sealed = tokio::task::spawn_blocking(move || {
            let mut recipient =
                age::scrypt::Recipient::new(SecretString::from(passphrase.expose().to_owned()));
            recipient.set_work_factor(WORK_FACTOR);
            age::encrypt(&recipient, text.expose().as_bytes())
        });
        let sealed = sealed.await.map_err(|error| Error::Io(error.to_string()))?;
        sealed.map_err(|error| Error::Io(error.to_string()))
    }

    fn sealed_to(&self, recipient: &str) -> Result<Vec<u8>, Error> {
        let recipient: x25519::Recipient = recipient
            .parse()
            .map_err(|reason| Error::Advice(format!("basalt.backup.recipient is no public key: {reason}")))?;
        let sealed = age::encrypt(&recipient, self.text().expose().as_bytes());
        sealed.map_err(|error| Error::Io(error.to_string()))
    }

    /// Encrypts `bytes`.
    pub(crate) fn encrypt(&self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        age::encrypt(&self.0.to_public(), bytes).map_err(|error| Error::Io(error.to_string()))
    }

    /// Decrypts the content of `path`.
    ///
    /// Errors: [`Error::Damaged`].
    pub(crate) fn decrypt(&self, path: &str, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        age::decrypt(&self.0, bytes).map_err(|_| Error::Damaged(path.to_owned()))
    }

    /// Encrypts `source` into `path` of `target`, and returns its length. If it fails, nothing is at `path`.
    pub(crate) async fn encrypt_to(
        &self,
        source: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
        target: &Target,
        path: &str,
    ) -> Result<u64, Error> {
        let recipient = self.0.to_public();
        let mut reader = SyncIoBridge::new(StreamReader::new(source.boxed()));
        let writer = BufWriter::new(target.store.clone(), StorePath::from(path));
        let mut writer = SyncIoBridge::new(writer);
        let written = tokio::task::spawn_blocking(move || {
            let mut write = || {
                let encryptor =
                    Encryptor::with_recipients(iter::once(&recipient as _)).map_err(io::Error::other)?;
                let mut output = encryptor.wrap_output(&mut writer)?;
                let length = io::copy(&mut reader, &mut output)?;
                output.finish()?;
                Ok(length)
            };
            let written: io::Result<u64> = write();
            (written, writer.into_inner())
        });
        let (written, mut writer) = written.await.map_err(|error| Error::Io(error.to_string()))?;
        let finished = match written {
            Ok(length) => writer.shutdown().await.map(|()| length),
            Err(error) => {
                // Best effort: a lifecycle rule of the bucket ends what is left of it.
                let _ = writer.abort().await;
                Err(error)
            }
        };
        finished.map_err(Error::io(format!("write {path} to the target of backups")))
    }

    /// Returns the decrypted content of `path` in `target`, piece by piece; `None` if there is none. A damaged file ends
    /// with an error.
    pub(crate) async fn decrypt_from(
        &self,
        target: &Target,
        path: &str,
    ) -> Result<Option<impl Stream<Item = io::Result<Bytes>> + Send + use<>>, Error> {
        use object_store::ObjectStoreExt as _;
        let found = match target.store.get(&StorePath::from(path)).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let source = found.into_stream().map(|piece| piece.map_err(io::Error::other)).boxed();
        let identity = self.0.clone();
        let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(PIECES);
        let reader = SyncIoBridge::new(StreamReader::new(source));
        tokio::task::spawn_blocking(move || {
            let read = || -> io::Result<()> {
                let decryptor = Decryptor::new(reader).map_err(io::Error::other)?;
                let mut input = decryptor.decrypt(iter::once(&identity as _)).map_err(io::Error::other)?;
                loop {
                    let mut piece = vec![0; PIECE];
                    let length = input.read(&mut piece)?;
                    piece.truncate(length);
                    if length == 0 || sender.blocking_send(Ok(piece.into())).is_err() {
                        return Ok(());
                    }
                }
            };
            if let Err(error) = read() {
                let _ = sender.blocking_send(Err(error));
            }
        });
        Ok(Some(stream::unfold(receiver, async |mut receiver| {
            receiver.recv().await.map(|piece| (piece, receiver))
        })))
    }
}

/// Returns the logarithm of the cost at which the passphrase opens `sealed`; `None` if the file has no such line.
///
/// Source: <https://age-encryption.org/v1>, "The scrypt recipient type".
fn work_factor(sealed: &[u8]) -> Option<u8> {
    let line = sealed.split(|byte| *byte == b'\n').nth(1)?;
    str::from_utf8(line).ok()?.strip_prefix("-> scrypt ")?.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;

    use super::*;
    use crate::settings::Settings;

    fn target() -> (tempfile::TempDir, Target) {
        let folder = tempfile::tempdir().unwrap();
        let target = Target::open(&Settings::default(), &folder.path().to_string_lossy()).unwrap();
        (folder, target)
    }

    #[tokio::test]
    async fn the_passphrase_or_the_private_key_opens_the_key() {
        let (_folder, target) = target();
        let own = x25519::Identity::generate();
        let passphrase = Unlock::Passphrase("correct horse".into());
        assert!(Key::open(&target, &passphrase).await.unwrap().is_none());
        let recipient = own.to_public().to_string();
        let key = Key::create(&target, Some("correct horse".into()), Some(&recipient)).await.unwrap();
        let identity = Unlock::Identity(own.to_string().expose_secret().into());
        for unlock in [passphrase, identity] {
            let opened = Key::open(&target, &unlock).await.unwrap().unwrap();
            assert_eq!(opened.text().expose(), key.text().expose());
        }
        assert!(Key::open(&target, &Unlock::Passphrase("wrong".into())).await.is_err());
        assert!(Key::create(&target, Some("other".into()), None).await.is_err());
        key.renew_locks(&target, Some("other".into()), None).await.unwrap();
        assert!(Key::open(&target, &Unlock::Passphrase("correct horse".into())).await.is_err());
        let renewed = Key::open(&target, &Unlock::Passphrase("other".into())).await.unwrap().unwrap();
        assert_eq!(renewed.text().expose(), key.text().expose());
    }

    #[tokio::test]
    async fn a_key_that_takes_much_memory_to_open_is_written_anew() {
        let (_folder, target) = target();
        let key = Key::create(&target, Some("correct horse".into()), None).await.unwrap();
        let cost = async || work_factor(&target.read(FOR_PASSPHRASE).await.unwrap().unwrap());
        assert_eq!(cost().await, Some(WORK_FACTOR));
        let mut recipient = age::scrypt::Recipient::new(SecretString::from("correct horse".to_owned()));
        recipient.set_work_factor(WORK_FACTOR + 1);
        let sealed = age::encrypt(&recipient, key.text().expose().as_bytes()).unwrap();
        target.write(FOR_PASSPHRASE, sealed).await.unwrap();
        assert_eq!(cost().await, Some(WORK_FACTOR + 1));
        key.renew_locks(&target, Some("correct horse".into()), None).await.unwrap();
        assert_eq!(cost().await, Some(WORK_FACTOR));
        let opened = Key::open(&target, &Unlock::Passphrase("correct horse".into())).await.unwrap().unwrap();
        assert_eq!(opened.text().expose(), key.text().expose());
    }

    #[tokio::test]
    async fn a_changed_byte_is_noticed() {
        let (folder, target) = target();
        let key = Key::generate();
        let source = stream::iter((0..40_u8).map(|piece| Ok(Bytes::from(vec![piece; 10_000]))));
        assert_eq!(key.encrypt_to(source, &target, "objects/one").await.unwrap(), 400_000);
        let read = async || -> io::Result<usize> {
            let pieces = key.decrypt_from(&target, "objects/one").await.unwrap().unwrap();
            Ok(pieces.try_collect::<Vec<_>>().await?.iter().map(Bytes::len).sum())
        };
        assert_eq!(read().await.unwrap(), 400_000);
        let file = folder.path().join("objects/one");
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        assert!(read().await.is_err());
        assert!(key.decrypt_from(&target, "objects/two").await.unwrap().is_none());
    }
}
