//! What an operator may decide about the service.

use std::path::PathBuf;
use std::time::Duration;

use ::settings::{Bytes, KnownKeys, Secret, Setting, Table};

/// What the service knows of names that no setting has.
pub const KNOWN_KEYS: KnownKeys = KnownKeys {
    silent: &["storage.analytics.**", "storage.vector.buckets.**"],
    without_effect: &[("storage.analytics.enabled", "false", "there are no analytics buckets")],
    ..KnownKeys::NONE
};

::settings::words! {
    /// Where the objects' bytes are.
    pub enum BackendKind: "file or s3" {
        /// In files of a folder.
        File = "file",
        /// In a bucket of an S3 store.
        S3 = "s3",
    }
}

::settings::settings! {
    /// Settings of the storage service.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        /// Where the bytes of objects are stored: `file` (in a folder) or `s3` (in a bucket of an S3 store).
        #[setting(variables = ["STORAGE_BACKEND"])]
        pub backend: BackendKind = BackendKind::File,
        /// The S3 store, for `s3`.
        pub s3: S3Settings = S3Settings::default(),
        /// The folder for the bytes of objects, with `file`. The default is `objects` in the data folder.
        #[setting(variables = ["STORAGE_FILE_BACKEND_PATH", "FILE_STORAGE_BACKEND_PATH"])]
        pub path: PathBuf = PathBuf::new(),
        /// The maximum size of an object in bytes. A bucket may have a lower limit.
        #[setting(variables = ["UPLOAD_FILE_SIZE_LIMIT", "FILE_SIZE_LIMIT"], key = "storage.file_size_limit")]
        pub file_size_limit: Bytes = Bytes(50 << 20),
        /// How many uploads may be received at the same time; further ones get 503. One network gets at most three
        /// quarters of them (`basalt.network_shares`).
        #[setting(variables = ["BASALT_STORAGE_MAX_UPLOADS"], key = "basalt.storage.max_uploads")]
        pub max_uploads: usize = 1000,
        /// How many downloads of objects above 1 MiB may run at the same time, because each of them has an open file;
        /// further ones get 503. One network gets at most three quarters of them (`basalt.network_shares`).
        #[setting(variables = ["BASALT_STORAGE_MAX_DOWNLOADS"], key = "basalt.storage.max_downloads")]
        pub max_downloads: usize = 1000,
        /// After how many milliseconds an unfinished resumable upload is deleted.
        #[setting(variables = ["TUS_URL_EXPIRY_MS"])]
        pub resumable_expiry_ms: u64 = 24 * 3600 * 1000,
        /// An origin that serves only objects, such as `https://files.example.org`. The API's origin then redirects
        /// public and signed URLs of objects to it.
        #[setting(variables = ["BASALT_STORAGE_ORIGIN"], key = "basalt.storage_origin", check = origin)]
        pub origin: Option<String> = None,
        /// How long a signed URL for an upload is valid.
        #[setting(variables = ["UPLOAD_SIGNED_URL_EXPIRATION_TIME", "SIGNED_UPLOAD_URL_EXPIRATION_TIME"])]
        pub signed_upload_expiry: Duration = Duration::from_secs(7200),
        /// Whether the S3 protocol is served, at `/storage/v1/s3`.
        #[setting(variables = ["S3_PROTOCOL_ENABLED"], key = "storage.s3_protocol.enabled")]
        pub s3_enabled: bool = true,
        /// The access key of the service role for the S3 protocol. If it and its secret are not set, both are derived
        /// from the project's secret; `basalt status` shows them.
        #[setting(variables = ["S3_PROTOCOL_ACCESS_KEY_ID"])]
        pub s3_access_key: String = String::new(),
        /// The secret of that access key.
        #[setting(variables = ["S3_PROTOCOL_ACCESS_KEY_SECRET"])]
        pub s3_secret: Secret = Secret::default(),
        /// The region that S3 clients must use in signatures. `us-east-1`, `auto` and an empty region are also
        /// accepted.
        #[setting(variables = ["STORAGE_S3_REGION", "REGION"])]
        pub s3_region: String = "local".to_owned(),
        /// The project's reference. S3 clients with a user's session token use it as their access key.
        #[setting(variables = ["PROJECT_REF", "TENANT_ID"], key = "project_id")]
        pub project: String = "basalt".to_owned(),
        /// Whether `render/image/*` serves pictures in other sizes and formats.
        #[setting(
            variables = ["IMAGE_TRANSFORMATION_ENABLED", "ENABLE_IMAGE_TRANSFORMATION"],
            key = "storage.image_transformation.enabled"
        )]
        pub image_transformation: bool = true,
        /// The minimum width and height of a rendered picture in pixels. Smaller values in a request count as this one.
        #[setting(variables = ["IMAGE_TRANSFORMATION_LIMIT_MIN_SIZE", "IMG_LIMITS_MIN_SIZE"])]
        pub image_min_size: u32 = 1,
        /// The maximum width and height of a rendered picture in pixels. Larger values in a request count as this one.
        #[setting(variables = ["IMAGE_TRANSFORMATION_LIMIT_MAX_SIZE", "IMG_LIMITS_MAX_SIZE"])]
        pub image_max_size: u32 = 2000,
        /// How many megapixels a picture may have to be rendered.
        #[setting(variables = ["IMGPROXY_MAX_SRC_RESOLUTION"])]
        pub image_max_source_resolution: u32 = 50,
        /// How many bytes a picture may have to be rendered.
        #[setting(variables = ["IMGPROXY_MAX_SRC_FILE_SIZE"])]
        pub image_max_source_size: Bytes = Bytes(25 << 20),
        /// How long a picture may wait until its rendering begins, and how long its rendering may take.
        #[setting(variables = ["IMGPROXY_REQUEST_TIMEOUT"])]
        pub image_timeout: Duration = Duration::from_secs(15),
        /// How many pictures are rendered at the same time. 0: one for each processor.
        #[setting(variables = ["IMGPROXY_WORKERS"])]
        pub image_workers: u32 = 0,
        /// How many pictures may wait to be rendered; further ones are refused.
        #[setting(variables = ["IMGPROXY_REQUESTS_QUEUE_SIZE"])]
        pub image_queue_size: u32 = 64,
        /// How much memory all pictures that are rendered at the same time may take. One that needs more is rendered
        /// alone.
        #[setting(variables = ["BASALT_IMAGE_MEMORY"], key = "basalt.storage.image_memory")]
        pub image_memory: Bytes = Bytes(384 << 20),
        /// The folder in which rendered pictures are cached, on a local disk. The default is `rendered` in the data
        /// folder.
        #[setting(variables = ["BASALT_IMAGE_CACHE_PATH"], key = "basalt.storage.image_cache_path")]
        pub image_cache_path: PathBuf = PathBuf::new(),
        /// The maximum size of that cache in bytes. 0: nothing is cached.
        #[setting(variables = ["BASALT_IMAGE_CACHE_SIZE"], key = "basalt.storage.image_cache_size")]
        pub image_cache_size: Bytes = Bytes(512 << 20),
        /// Whether there are vector buckets. They need the extension `vector` of Postgres.
        #[setting(variables = ["VECTOR_ENABLED"], key = "storage.vector.enabled")]
        pub vectors_enabled: bool = true,
        /// How many vector buckets there may be.
        #[setting(variables = ["VECTOR_MAX_BUCKETS"], key = "storage.vector.max_buckets")]
        pub max_vector_buckets: u64 = 10,
        /// How many indexes a vector bucket may have.
        #[setting(variables = ["VECTOR_MAX_INDEXES"], key = "storage.vector.max_indexes")]
        pub max_vector_indexes: u64 = 20,
    }
}

::settings::settings! {
    /// The S3 store that holds the objects' bytes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct S3Settings {
        /// The bucket. Objects are stored below `basalt/` in it; no other program may write there.
        #[setting(variables = ["STORAGE_S3_BUCKET", "GLOBAL_S3_BUCKET"])]
        pub bucket: String = String::new(),
        /// The URL of the store. The default is Amazon's.
        #[setting(variables = ["STORAGE_S3_ENDPOINT", "GLOBAL_S3_ENDPOINT"])]
        pub endpoint: String = String::new(),
        /// Whether the bucket's name is in the path (`https://host/bucket`) and not in the host's name.
        #[setting(variables = ["STORAGE_S3_FORCE_PATH_STYLE", "GLOBAL_S3_FORCE_PATH_STYLE"])]
        pub force_path_style: bool = false,
        /// The region of the store.
        #[setting(variables = ["STORAGE_S3_REGION", "REGION"])]
        pub region: String = "us-east-1".to_owned(),
        /// The access key. Without one, credentials are taken from the environment, as AWS' own tools do it.
        #[setting(variables = ["AWS_ACCESS_KEY_ID"])]
        pub access_key_id: String = String::new(),
        /// The secret of the access key.
        #[setting(variables = ["AWS_SECRET_ACCESS_KEY"])]
        pub secret_access_key: Secret = Secret::default(),
        /// The token of temporary credentials.
        #[setting(variables = ["AWS_SESSION_TOKEN"])]
        pub session_token: Secret = Secret::default(),
        /// The size of one part of a large object in bytes. An object can have 10,000 parts, and an upload keeps up to
        /// three of them in memory.
        #[setting(variables = ["STORAGE_S3_UPLOAD_PART_SIZE"])]
        pub upload_part_size: Bytes = Bytes(8 << 20),
        /// How many milliseconds to wait for the store's response, and for each further piece of it.
        #[setting(variables = ["STORAGE_S3_CLIENT_TIMEOUT"])]
        pub client_timeout_ms: u64 = 30_000,
    }
}

/// The variables of settings that have an effect only when the server is started anew, besides those of the S3 store:
/// what was opened with them holds objects, caches and permits.
const FIXED: [&str; 9] = [
    "STORAGE_BACKEND",
    "STORAGE_FILE_BACKEND_PATH",
    "BASALT_STORAGE_MAX_UPLOADS",
    "BASALT_STORAGE_MAX_DOWNLOADS",
    "IMGPROXY_WORKERS",
    "IMGPROXY_REQUESTS_QUEUE_SIZE",
    "BASALT_IMAGE_MEMORY",
    "BASALT_IMAGE_CACHE_PATH",
    "BASALT_IMAGE_CACHE_SIZE",
];

/// Returns the settings that differ and have an effect only when the server is started anew, by their names in
/// `config.toml`, or by those of their variables where that has none.
pub fn settings_that_need_a_restart(old: &Settings, new: &Settings) -> Vec<&'static str> {
    let of_service =
        changed(old, new).filter(|setting| setting.variables.iter().any(|name| FIXED.contains(name)));
    // The text form of a secret does not tell it from another.
    let secrets = [
        ("AWS_SECRET_ACCESS_KEY", old.s3.secret_access_key != new.s3.secret_access_key),
        ("AWS_SESSION_TOKEN", old.s3.session_token != new.s3.session_token),
    ];
    let is_secret = |name: &&str| secrets.iter().any(|(secret, _)| secret == name);
    let of_s3 = changed(&old.s3, &new.s3).map(name).filter(|name| !is_secret(name));
    of_service.map(name).chain(of_s3).chain(::settings::changed_names(secrets)).collect()
}

fn changed<'a, T: Table>(old: &'a T, new: &'a T) -> impl Iterator<Item = &'static Setting<T>> + 'a {
    T::settings().filter(|setting| (setting.show)(old) != (setting.show)(new))
}

fn name<T>(setting: &Setting<T>) -> &'static str {
    match setting.key {
        "" => setting.variables.first().copied().unwrap_or_default(),
        key => key,
    }
}

fn origin(url: Option<String>) -> Result<Option<String>, &'static str> {
    url.map(|url| gateway::origin(&url)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_what_was_opened_need_a_restart() {
        let old = Settings::default();
        assert!(settings_that_need_a_restart(&old, &old.clone()).is_empty());
        let mut new = old.clone();
        new.file_size_limit = Bytes(1);
        new.origin = Some("https://files.example.org".to_owned());
        new.image_max_size = 7;
        new.image_timeout = Duration::from_secs(1);
        new.s3_enabled = false;
        new.vectors_enabled = false;
        new.image_transformation = false;
        assert!(settings_that_need_a_restart(&old, &new).is_empty());
        new.backend = BackendKind::S3;
        new.path = PathBuf::from("elsewhere");
        new.max_uploads += 1;
        new.image_workers = 3;
        new.s3.bucket = "objects".to_owned();
        new.s3.secret_access_key = "another".to_owned().into();
        assert_eq!(
            settings_that_need_a_restart(&old, &new),
            [
                "STORAGE_BACKEND",
                "STORAGE_FILE_BACKEND_PATH",
                "basalt.storage.max_uploads",
                "IMGPROXY_WORKERS",
                "STORAGE_S3_BUCKET",
                "AWS_SECRET_ACCESS_KEY",
            ]
        );
    }

    #[test]
    fn fixed_settings_are_in_the_table() {
        for name in FIXED {
            assert!(Settings::settings().any(|setting| setting.variables.contains(&name)), "{name}");
        }
    }
}
