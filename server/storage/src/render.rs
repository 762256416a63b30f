//! Pictures in another size and format: `render/image/*`.
//!
//! The way of a picture: `options` holds the request's options, `cache` has what was made before, `work` bounds how
//! many are made at once, `decode` reads the source, `transform` brings it to its size (`geometry`, `focus`), and
//! `encode` writes it in the chosen `format`. The caller has already checked the right to read the object.

mod cache;
mod decode;
mod encode;
mod focus;
mod format;
mod geometry;
mod options;
mod transform;
mod work;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use uuid::Uuid;

use crate::backend::Backend;
use crate::error::Error;
use crate::metrics::Renderings;
use crate::refusal::Refusal;
use crate::settings::Settings;
use cache::{Cache, Key};
use decode::Source;
use work::{SharedJobs, Workers};

pub(crate) use format::{Format, FormatChoice, Target};
pub(crate) use options::{Anchor, Gravity, ListForm, Options, QUALITIES, Resize};

/// A picture as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    pub(crate) format: Format,
    pub(crate) bytes: Bytes,
}

/// Pictures that were rendered or are being rendered, and who may render. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pictures {
    cache: Arc<Cache>,
    jobs: Arc<SharedJobs<Key, Picture>>,
    workers: Arc<Workers>,
    renderings: Renderings,
}

impl std::fmt::Debug for Pictures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pictures").field("load", &self.load()).finish_non_exhaustive()
    }
}

impl Pictures {
    /// Returns the pictures of the folder that `settings` name. Nothing is read or made until one is rendered.
    pub(crate) fn open(settings: &Settings) -> Self {
        let folder = match settings.image_cache_path.as_os_str().is_empty() {
            true => settings.path.parent().unwrap_or(Path::new(".")).join("rendered"),
            false => settings.image_cache_path.clone(),
        };
        let workers = match settings.image_workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers as usize,
        };
        Self {
            cache: Arc::new(Cache::new(folder, settings.image_cache_size.0)),
            jobs: Arc::new(SharedJobs::new()),
            workers: Arc::new(Workers::new(
                workers,
                settings.image_queue_size as usize,
                settings.image_memory.0,
            )),
            renderings: Renderings::new(),
        }
    }

    /// Returns how many pictures are rendered now, and how many wait for it.
    pub(crate) fn load(&self) -> (usize, usize) {
        self.workers.load()
    }

    /// Returns the statistics of renderings.
    pub(crate) const fn renderings(&self) -> &Renderings {
        &self.renderings
    }

    /// Removes all rendered pictures of `version`.
    pub(crate) async fn forget(&self, version: Uuid) {
        let cache = Arc::clone(&self.cache);
        drop(tokio::task::spawn_blocking(move || cache.forget(version)).await);
    }
}

/// Renders pictures and keeps the results. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Renderer {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Backend,
    pictures: Pictures,
    limits: Limits,
}

#[derive(Debug, Clone)]
struct Limits {
    sizes: RangeInclusive<u32>,
    source_bytes: u64,
    source_pixels: u64,
    time: Duration,
}

impl Renderer {
    /// Returns a renderer of the objects in `backend`, within the limits of `settings`.
    pub(crate) fn new(settings: &Settings, backend: Backend, pictures: Pictures) -> Self {
        let limits = Limits {
            sizes: settings.image_min_size..=settings.image_max_size,
            source_bytes: settings.image_max_source_size.0,
            source_pixels: u64::from(settings.image_max_source_resolution) * 1_000_000,
            time: settings.image_timeout,
        };
        Self { inner: Arc::new(Inner { backend, pictures, limits }) }
    }

    /// Returns the widths and heights that can be requested.
    pub(crate) fn sizes(&self) -> &RangeInclusive<u32> {
        &self.inner.limits.sizes
    }

    /// Renders `version`, which has `size` bytes, with `options`, in one of the formats of `target`.
    ///
    /// Errors: [`Error::NoSuchKey`] if the bytes are gone; [`Error::Render`].
    pub(crate) async fn render(
        &self,
        version: Uuid,
        size: u64,
        options: Options,
        target: Target,
    ) -> Result<Picture, Error> {
        if size > self.inner.limits.source_bytes {
            return Err(Refusal::FileSize.into());
        }
        let key = Key::new(version, &format!("{};{}", options.list(ListForm::Token), target.key()));
        let inner = Arc::clone(&self.inner);
        let work = || async move { inner.look_up_or_make(key, version, options, target).await };
        Ok(self.inner.pictures.jobs.join(key, work).await?)
    }
}

impl Inner {
    async fn look_up_or_make(
        &self,
        key: Key,
        version: Uuid,
        options: Options,
        target: Target,
    ) -> Result<Picture, Refusal> {
        let cache = Arc::clone(&self.pictures.cache);
        let kept = tokio::task::spawn_blocking(move || cache.load(&key)).await;
        if let Some(rendered) = kept.map_err(|_| Refusal::Failed)? {
            return Ok(rendered);
        }
        let started = Instant::now();
        let rendered = self.make(version, options, target).await;
        self.pictures.renderings.count(rendered.is_ok());
        let rendered = rendered?;
        let (milliseconds, bytes) = (started.elapsed().as_millis(), rendered.bytes.len());
        tracing::debug!(%version, format = rendered.format.name(), milliseconds, bytes, "a picture was rendered");
        let (cache, kept) = (Arc::clone(&self.pictures.cache), rendered.clone());
        drop(tokio::task::spawn_blocking(move || cache.store(&key, &kept)).await);
        Ok(rendered)
    }

    /// Makes the picture once a worker is free.
    async fn make(&self, version: Uuid, options: Options, target: Target) -> Result<Picture, Refusal> {
        let worker = self.pictures.workers.take(self.limits.time).await?;
        let bytes = self.read(version).await?;
        let source = Source::open(bytes, self.limits.source_pixels)?;
        let deadline = Instant::now() + self.limits.time;
        worker.run(source.memory, self.limits.time, move || convert(source, &options, target, deadline)).await
    }

    /// Reads the source's bytes, up to the limit: the size in a row may be wrong.
    async fn read(&self, version: Uuid) -> Result<Bytes, Refusal> {
        let mut stream = self.backend.stream(version).await.map_err(|error| missing_or_failed(&error))?;
        let mut bytes = Vec::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| {
                tracing::error!(%version, %error, "an object cannot be read to be rendered");
                Refusal::Failed
            })?;
            if (bytes.len() + chunk.len()) as u64 > self.limits.source_bytes {
                return Err(Refusal::FileSize);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes.into())
    }
}

fn missing_or_failed(error: &Error) -> Refusal {
    match error {
        Error::NoSuchKey => Refusal::Missing,
        error => {
            tracing::error!(%error, "an object cannot be read to be rendered");
            Refusal::Failed
        }
    }
}

/// Makes the picture of `source`. A codec cannot be stopped, so the deadline is checked between two of them.
fn convert(source: Source, options: &Options, target: Target, deadline: Instant) -> Result<Picture, Refusal> {
    let in_time = || if Instant::now() < deadline { Ok(()) } else { Err(Refusal::Timeout) };
    let (original, orientation, profile) = (source.format, source.orientation, source.profile.clone());
    let decoded = source.decode()?;
    in_time()?;
    let picture = transform::apply(&decoded, options, orientation, profile.as_deref())?;
    drop(decoded);
    in_time()?;
    let pixels = u64::from(picture.width()) * u64::from(picture.height());
    let format = target.choose(original, picture.color().has_alpha(), pixels);
    let bytes = encode::encode(picture, format, options.quality)?;
    Ok(Picture { format, bytes: bytes.into() })
}
