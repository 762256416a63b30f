//! Bringing a store's bytes to another one.

use std::path::Path;

use storage::{BackendKind, Settings, Transfer, transfer};
use url::Url;

use crate::s3_store;
use crate::support::walk;

/// Settings of a store of files in `folder`, and of an S3 store beside it.
async fn settings(folder: &Path) -> Settings {
    let s3 = s3_store::start(&folder.join("store")).await;
    Settings { path: folder.join("objects"), s3, ..Settings::default() }
}

/// Writes `count` objects of different sizes as a store of files has them, one of them larger than a part.
fn fill(folder: &Path, count: usize) {
    for index in 0..count {
        let version = format!("{:02x}000000-0000-4000-8000-{index:012}", index % 7);
        let path = folder.join("objects").join(&version[..2]).join(&version);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let size = if index == 3 { 12 << 20 } else { index * 100 };
        std::fs::write(path, vec![u8::try_from(index).unwrap(); size]).unwrap();
    }
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut contents: Vec<_> = walk(folder)
        .into_iter()
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    contents.sort();
    contents
}

#[tokio::test]
async fn a_store_of_files_goes_to_s3_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path()).await;
    fill(folder.path(), 20);
    let target: Url = "s3://objects".parse().unwrap();
    let moved = transfer(&settings, &target, |_, _| ()).await.unwrap();
    assert_eq!((moved.objects, moved.copied), (20, 20));
    let before = contents(&folder.path().join("objects"));
    assert_eq!(contents(&s3_store::objects(&folder.path().join("store"))), before);

    let settings = Settings { backend: BackendKind::S3, ..settings };
    let back = Url::from_directory_path(folder.path().join("back")).unwrap();
    let moved = transfer(&settings, &back, |_, _| ()).await.unwrap();
    assert_eq!(moved.bytes, before.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>());
    assert_eq!(contents(&folder.path().join("back")), before);
}

#[tokio::test]
async fn a_transfer_that_was_stopped_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path()).await;
    fill(folder.path(), 20);
    let target: Url = "s3://objects".parse().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let mut stop = Some(stop);
    tokio::select! {
        _ = transfer(&settings, &target, |folder, _| if folder == 3 { stop.take().unwrap().send(()).unwrap() }) => {
            panic!("it was not stopped");
        }
        _ = stopped => {}
    }
    let mut first = None;
    let moved = transfer(&settings, &target, |_, progress| {
        first.get_or_insert(progress);
    })
    .await
    .unwrap();
    assert_eq!(first, Some(Transfer { objects: 3, copied: 0, bytes: 0 }));
    assert!(moved.copied < 20, "{moved:?}");
    let stored = contents(&s3_store::objects(&folder.path().join("store")));
    assert_eq!(stored, contents(&folder.path().join("objects")));
}

#[tokio::test]
async fn other_targets_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path()).await;
    for target in ["https://example.com/", "s3://bucket/below"] {
        let error = transfer(&settings, &target.parse().unwrap(), |_, _| ()).await.unwrap_err();
        assert!(error.to_string().contains("neither"), "{error}");
    }
}

#[tokio::test]
async fn a_store_that_does_not_respond_is_an_error_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(folder.path()).await;
    settings.s3.endpoint = "http://127.0.0.1:1".to_owned();
    settings.backend = BackendKind::S3;
    let target = Url::from_directory_path(folder.path().join("back")).unwrap();
    let error = transfer(&settings, &target, |_, _| ()).await.unwrap_err();
    assert!(!error.to_string().contains("test-secret"), "{error}");
}
