//! Rendered pictures that are kept, until their object is replaced or there is no more room.

use crate::render::{encoded, picture, put, quarters, render, server, server_with};
use image::ImageFormat;
use poem::http::{Method, StatusCode};
use serde_json::json;

#[tokio::test]
async fn a_picture_is_made_once() {
    let server = server().await;
    let first = render(&server, "width=30").await;
    let [file] = &server.rendered_files()[..] else { panic!("one file") };
    let written = std::fs::metadata(file).unwrap().len();
    assert_eq!(written, first.body.len() as u64 + 33, "the picture, its format and its checksum");
    // The source is gone, so that the response can only come from the cache.
    server.lose_stored_files();
    assert_eq!(render(&server, "width=30").await.body, first.body);
    assert_eq!(render(&server, "width=31").await.json()["code"], "NoSuchKey");
    std::fs::write(file, vec![1; 100]).unwrap();
    assert_eq!(
        render(&server, "width=30").await.json()["code"],
        "NoSuchKey",
        "a damaged file counts as none"
    );
    assert!(server.rendered_files().is_empty());
}

#[tokio::test]
async fn a_replaced_object_has_new_pictures_and_leaves_none_behind() {
    let server = server().await;
    let before = picture(&render(&server, "width=30").await);
    assert_eq!((before.height(), server.rendered_files().len()), (15, 1));
    put(&server, "pictures/quarters.png", "image/png", &encoded(&quarters(200, 200), ImageFormat::Png)).await;
    assert_eq!(server.rendered_files().len(), 0);
    assert_eq!(picture(&render(&server, "width=30").await).height(), 30);
    server.ask(Method::DELETE, "/object/pictures/quarters.png", &[]).await;
    let service = server.service_role().to_owned();
    let path = "/object/pictures/quarters.png";
    assert_eq!(server.json_as(&service, Method::DELETE, path, &json!({})).await.status, StatusCode::OK);
    assert_eq!(server.rendered_files().len(), 0);
}

#[tokio::test]
async fn what_is_kept_has_a_bound() {
    let server = server_with(|settings| settings.image_cache_size = settings::Bytes(10 * 4096)).await;
    for width in 10..40 {
        render(&server, &format!("width={width}")).await;
        assert!(server.rendered_files().len() <= 10);
    }
    assert!(server.rendered_files().len() >= 9);
}
