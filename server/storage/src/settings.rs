//! What an operator may decide about the service.

use std::path::PathBuf;
use std::time::Duration;

use ::settings::Bytes;

::settings::settings! {
    /// Settings of the storage service.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        /// Folder that holds the objects' bytes. Where it is not set, it is `objects` in the data folder.
        #[setting(variables = ["STORAGE_FILE_BACKEND_PATH", "FILE_STORAGE_BACKEND_PATH"])]
        pub path: PathBuf = PathBuf::new(),
        /// Bytes that one object may have, unless its bucket says less.
        #[setting(variables = ["UPLOAD_FILE_SIZE_LIMIT", "FILE_SIZE_LIMIT"], key = "storage.file_size_limit")]
        pub file_size_limit: Bytes = Bytes(50 << 20),
        /// Milliseconds after which a resumable upload that is not finished is given up.
        #[setting(variables = ["TUS_URL_EXPIRY_MS"])]
        pub resumable_expiry_ms: u64 = 24 * 3600 * 1000,
        /// How long a signed URL for an upload is good.
        #[setting(variables = ["UPLOAD_SIGNED_URL_EXPIRATION_TIME", "SIGNED_UPLOAD_URL_EXPIRATION_TIME"])]
        pub signed_upload_expiry: Duration = Duration::from_secs(7200),
    }
}
