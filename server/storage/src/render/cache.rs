//! Rendered pictures on the local disk, within a bound: those used least recently go first.
//!
//! It is a folder of files, each with its own checksum, and there is no other state: it may be deleted at any time, and
//! files that are missing or broken are rendered again. So nothing is flushed to the disk either.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::Picture;
use super::format::Format;

/// Part of every key: to be raised when the same options give other pictures than before.
const REVISION: u32 = 1;
/// File systems give out whole blocks.
const BLOCK: u64 = 4096;
const CHECKSUM: usize = 32;
/// Begins the names of files that are being written.
const UNFINISHED: &str = "unfinished-";

/// The key of a rendered picture: a version of an object, and the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    version: Uuid,
    options: u128,
}

impl Key {
    /// Returns the key of the picture that is rendered from `version` with `options`, a text.
    pub(crate) fn new(version: Uuid, options: &str) -> Self {
        let digest = Sha256::digest(format!("{REVISION}:{options}"));
        let options = digest.iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte));
        Self { version, options }
    }

    fn of_name(name: &str) -> Option<Self> {
        let (version, options) = name.split_at_checked(36)?;
        let options = options.strip_prefix('-').filter(|options| options.len() == 32)?;
        Some(Self {
            version: Uuid::try_parse(version).ok()?,
            options: u128::from_str_radix(options, 16).ok()?,
        })
    }

    fn path(&self, folder: &Path) -> PathBuf {
        let name = format!("{}-{:032x}", self.version.hyphenated(), self.options);
        folder.join(&name[..2]).join(name)
    }
}

/// The folder. Its methods block.
pub(crate) struct Cache {
    folder: PathBuf,
    bound: u64,
    index: OnceLock<Mutex<Index>>,
}

/// What is known of the files.
#[derive(Default)]
struct Index {
    entries: HashMap<Key, Entry>,
    total: u64,
    /// Counts uses; a clock could go backwards.
    uses: u64,
}

struct Entry {
    size: u64,
    used: u64,
}

impl Cache {
    /// Returns a cache of `bound` bytes in `folder`, which is made when it is first needed; 0 keeps nothing.
    pub(crate) fn new(folder: PathBuf, bound: u64) -> Self {
        Self { folder, bound, index: OnceLock::new() }
    }

    /// Returns the picture that is stored under `key`, if it is undamaged.
    pub(crate) fn load(&self, key: &Key) -> Option<Picture> {
        if self.bound == 0 {
            return None;
        }
        let path = key.path(&self.folder);
        let read = fs::read(&path).ok();
        let rendered = read.as_ref().and_then(|file| from_file(file));
        match (&read, &rendered) {
            (Some(file), Some(_)) => {
                self.index().touch(*key, file.len() as u64);
                // So that the order survives a restart. A failure does not matter: it is only an order.
                let touched = fs::File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                drop(touched);
            }
            (Some(_), None) => {
                tracing::warn!(path = %path.display(), "a rendered picture is damaged and made anew");
                self.remove(key);
            }
            (None, _) => self.index().remove(key),
        }
        rendered
    }

    /// Keeps `rendered` under `key`, and removes others if there is no room. A failure is logged.
    pub(crate) fn store(&self, key: &Key, rendered: &Picture) {
        let file = to_file(rendered);
        if on_disk(file.len() as u64) > self.bound {
            return;
        }
        let path = key.path(&self.folder);
        let unfinished = self.folder.join(format!("{UNFINISHED}{}", Uuid::new_v4()));
        if let Err(error) = write(&unfinished, &path, &file) {
            let folder = self.folder.display();
            tracing::warn!(%error, %folder, "a rendered picture cannot be kept, and is made anew each time");
            drop(fs::remove_file(&unfinished));
            return;
        }
        let leaving = {
            let mut index = self.index();
            index.touch(*key, file.len() as u64);
            index.evict(self.bound)
        };
        for key in leaving {
            drop(fs::remove_file(key.path(&self.folder)));
        }
    }

    /// Removes all rendered pictures of `version`.
    pub(crate) fn forget(&self, version: Uuid) {
        let keys: Vec<Key> =
            self.index().entries.keys().filter(|key| key.version == version).copied().collect();
        for key in keys {
            self.remove(&key);
        }
    }

    fn remove(&self, key: &Key) {
        self.index().remove(key);
        drop(fs::remove_file(key.path(&self.folder)));
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        let index = self.index.get_or_init(|| {
            let mut index = self.scan();
            let leaving = index.evict(self.bound);
            for key in leaving {
                drop(fs::remove_file(key.path(&self.folder)));
            }
            Mutex::new(index)
        });
        index.lock()
    }

    /// Reads what an earlier process left, the one used least recently first.
    fn scan(&self) -> Index {
        let mut found = Vec::new();
        for entry in entries(&self.folder) {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED)) {
                drop(fs::remove_file(entry.path()));
                continue;
            }
            for file in entries(&entry.path()) {
                let key = file.file_name().to_str().and_then(Key::of_name);
                if let (Some(key), Ok(metadata)) = (key, file.metadata()) {
                    let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.push((used, key, metadata.len()));
                }
            }
        }
        found.sort_by_key(|(used, ..)| *used);
        let mut index = Index::default();
        for (_, key, size) in found {
            index.touch(key, size);
        }
        index
    }
}

impl Index {
    fn touch(&mut self, key: Key, size: u64) {
        self.uses += 1;
        let entry = Entry { size: on_disk(size), used: self.uses };
        self.total += entry.size;
        if let Some(before) = self.entries.insert(key, entry) {
            self.total -= before.size;
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.total -= entry.size;
        }
    }

    /// Takes out what was used least recently until the rest fits, with some room so that this is not needed for each
    /// new picture.
    fn evict(&mut self, bound: u64) -> Vec<Key> {
        if self.total <= bound {
            return Vec::new();
        }
        let mut by_use: Vec<(u64, Key)> =
            self.entries.iter().map(|(key, entry)| (entry.used, *key)).collect();
        by_use.sort_unstable_by_key(|(used, _)| *used);
        let mut leaving = Vec::new();
        // The newest, which is being sent now, stays.
        for (_, key) in &by_use[..by_use.len() - 1] {
            if self.total <= bound - bound / 10 {
                break;
            }
            self.remove(key);
            leaving.push(*key);
        }
        leaving
    }
}

fn on_disk(size: u64) -> u64 {
    size.div_ceil(BLOCK) * BLOCK
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok)
}

fn write(unfinished: &Path, path: &Path, file: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(unfinished, file)?;
    fs::rename(unfinished, path)
}

/// Returns the file of a picture: the checksum of the rest, the format, the bytes.
fn to_file(rendered: &Picture) -> Vec<u8> {
    let mut file = vec![0; CHECKSUM];
    file.push(rendered.format.code());
    file.extend_from_slice(&rendered.bytes);
    let checksum = Sha256::digest(&file[CHECKSUM..]);
    file[..CHECKSUM].copy_from_slice(&checksum);
    file
}

fn from_file(file: &[u8]) -> Option<Picture> {
    let (checksum, content) = file.split_at_checked(CHECKSUM)?;
    let (code, picture) = content.split_first()?;
    let format = Format::of_code(*code)?;
    (Sha256::digest(content).as_slice() == checksum)
        .then(|| Picture { format, bytes: Bytes::copy_from_slice(picture) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(size: usize) -> Picture {
        Picture { format: Format::Webp, bytes: vec![7; size].into() }
    }

    fn key(options: usize) -> Key {
        Key::new(Uuid::from_u128(9), &options.to_string())
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        entries(folder).flat_map(|folder| entries(&folder.path())).map(|file| file.path()).collect()
    }

    #[test]
    fn pictures_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned(), 1 << 20);
        assert!(cache.load(&key(1)).is_none());
        cache.store(&key(1), &rendered(100));
        fs::write(folder.path().join("unfinished-x"), "").unwrap();
        let later = Cache::new(folder.path().to_owned(), 1 << 20);
        let found = later.load(&key(1)).unwrap();
        assert_eq!((found.format, &found.bytes[..]), (Format::Webp, &[7; 100][..]));
        assert!(later.load(&key(2)).is_none());
        assert_eq!(later.index().total, BLOCK);
        assert!(!folder.path().join("unfinished-x").exists());
    }

    #[test]
    fn damaged_files_count_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned(), 1 << 20);
        for damage in [&b""[..], b"short", &[1; 200]] {
            cache.store(&key(1), &rendered(100));
            let path = key(1).path(folder.path());
            fs::write(&path, damage).unwrap();
            assert!(cache.load(&key(1)).is_none());
            assert!(!path.exists());
        }
        assert_eq!(cache.index().total, 0);
    }

    #[test]
    fn what_was_used_least_recently_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned(), 10 * BLOCK);
        for number in 0..10 {
            cache.store(&key(number), &rendered(100));
        }
        assert!(cache.load(&key(0)).is_some());
        cache.store(&key(10), &rendered(100));
        assert!(cache.load(&key(0)).is_some() && cache.load(&key(10)).is_some());
        assert!(cache.load(&key(1)).is_none() && cache.load(&key(2)).is_none());
        assert_eq!(files(folder.path()).len(), 9);
        let smaller = Cache::new(folder.path().to_owned(), 3 * BLOCK);
        assert!(smaller.load(&key(10)).is_some());
        assert_eq!(files(folder.path()).len(), 2, "with some room left");
        smaller.store(&key(11), &rendered(4 * BLOCK as usize));
        assert!(smaller.load(&key(11)).is_none(), "larger than all there is room for");
        let none = Cache::new(folder.path().to_owned(), 0);
        assert!(none.load(&key(10)).is_none());
    }

    #[test]
    fn a_version_is_forgotten_with_all_that_was_made_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned(), 1 << 20);
        let other = Key::new(Uuid::from_u128(8), "1");
        cache.store(&key(1), &rendered(1));
        cache.store(&key(2), &rendered(1));
        cache.store(&other, &rendered(1));
        cache.forget(Uuid::from_u128(9));
        assert_eq!(files(folder.path()), [other.path(folder.path())]);
    }
}
