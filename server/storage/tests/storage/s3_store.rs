//! An S3 store in this process, which keeps its objects in a folder: another implementation than the service's own.

use std::path::{Path, PathBuf};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use storage::S3Settings;

const BUCKET: &str = "objects";
const ACCESS_KEY: &str = "test-key";
const SECRET: &str = "test-secret";
/// The smallest that S3 takes, so that tests have uploads in several parts.
const PART_SIZE: u64 = 5 << 20;

/// Starts a store that keeps its bucket in `folder`, and returns how it is reached. It ends with the test's runtime.
pub(crate) async fn start(folder: &Path) -> S3Settings {
    std::fs::create_dir_all(folder.join(BUCKET)).unwrap();
    let mut service = S3ServiceBuilder::new(FileSystem::new(folder).unwrap());
    service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET));
    let service = service.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                let connection = Builder::new(TokioExecutor::new());
                // A client that leaves is no failure.
                let _ = connection.serve_connection(TokioIo::new(socket), service).await;
            });
        }
    });
    S3Settings {
        bucket: BUCKET.to_owned(),
        endpoint: format!("http://{address}"),
        force_path_style: true,
        access_key_id: ACCESS_KEY.to_owned(),
        secret_access_key: SECRET.into(),
        upload_part_size: settings::Bytes(PART_SIZE),
        ..S3Settings::default()
    }
}

/// Returns the folder of the service's objects in a store that keeps its bucket in `folder`.
pub(crate) fn objects(folder: &Path) -> PathBuf {
    folder.join(BUCKET).join("basalt")
}
