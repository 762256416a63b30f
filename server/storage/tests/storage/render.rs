//! Pictures in another size and format.

use std::io::Cursor;
use std::time::Duration;

use crate::support::{Response, Server};
use image::{DynamicImage, ImageDecoder as _, ImageFormat, Rgb, RgbImage};
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};

const ANNA: &str = "8f9b2c1e-0000-4000-8000-00000000000a";
const UNSUPPORTED: &str = "The source image is invalid or unsupported for rendering";
const TOO_MANY_PIXELS: &str = "The source image resolution is too large to process";

/// Returns a picture of four quarters: red, green, blue, white.
pub(crate) fn quarters(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, y| {
        Rgb(match (x < width / 2, y < height / 2) {
            (true, true) => [250, 0, 0],
            (false, true) => [0, 250, 0],
            (true, false) => [0, 0, 250],
            (false, false) => [250, 250, 250],
        })
    }))
}

pub(crate) fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

pub(crate) async fn put(server: &Server, path: &str, kind: &str, bytes: &[u8]) {
    let service = server.service_role().to_owned();
    let headers = [("content-type", kind), ("cache-control", "max-age=60"), ("x-upsert", "true")];
    let put = server.upload(&service, path, &headers, bytes).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.text());
}

/// Starts a server with a public bucket, which holds `quarters.png`, 400 by 200, and `quarters.jpg`.
pub(crate) async fn server_with(change: impl FnOnce(&mut storage::Settings)) -> Server {
    let server = Server::start_with(change).await;
    server.bucket("pictures", true).await;
    let picture = quarters(400, 200);
    put(&server, "pictures/quarters.png", "image/png", &encoded(&picture, ImageFormat::Png)).await;
    put(&server, "pictures/quarters.jpg", "image/jpeg", &encoded(&picture, ImageFormat::Jpeg)).await;
    server
}

pub(crate) async fn server() -> Server {
    server_with(|_| {}).await
}

pub(crate) async fn render(server: &Server, query: &str) -> Response {
    render_as(server, "quarters.png", query, "*/*").await
}

async fn render_as(server: &Server, name: &str, query: &str, accept: &str) -> Response {
    let path = format!("/render/image/public/pictures/{name}?{query}");
    server.ask(Method::GET, &path, &[("accept", accept)]).await
}

pub(crate) fn picture(response: &Response) -> DynamicImage {
    assert_eq!(response.status, StatusCode::OK, "{}", response.text());
    assert_eq!(response.header("content-length"), response.body.len().to_string());
    image::load_from_memory(&response.body).unwrap()
}

/// Returns the names of the colours in the four corners, clockwise from the upper left.
fn corners(picture: &DynamicImage) -> [&'static str; 4] {
    let pixels = picture.to_rgb8();
    let (right, bottom) = (pixels.width() - 3, pixels.height() - 3);
    [(2, 2), (right, 2), (right, bottom), (2, bottom)].map(|(x, y)| {
        let [red, green, blue] = pixels.get_pixel(x, y).0.map(|channel| channel > 128);
        match (red, green, blue) {
            (true, false, false) => "red",
            (false, true, false) => "green",
            (false, false, true) => "blue",
            (true, true, true) => "white",
            _ => "other",
        }
    })
}

fn refusal(response: &Response) -> (u16, [String; 4]) {
    assert_eq!(response.header("content-type"), "application/json; charset=utf-8");
    response.refusal()
}

fn refused(status: &str, message: &str) -> (u16, [String; 4]) {
    (400, [status, "InvalidRequest", message, "InvalidRequest"].map(str::to_owned))
}

#[tokio::test]
async fn options_say_how_large_a_picture_becomes() {
    let server = server().await;
    for (query, width, height, list) in [
        ("width=100", 100, 50, "width:100,resizing_type:fill"),
        ("height=100", 200, 100, "height:100,resizing_type:fill"),
        ("width=100&height=100", 100, 100, "height:100,width:100,resizing_type:fill"),
        ("width=100&height=100&resize=cover", 100, 100, "height:100,width:100,resizing_type:fill"),
        ("width=100&height=100&resize=contain", 100, 50, "height:100,width:100,resizing_type:fit"),
        ("width=100&height=100&resize=fill", 100, 100, "height:100,width:100,resizing_type:force"),
        ("width=0&height=0", 400, 200, ""),
        ("quality=50", 400, 200, "quality:50"),
        ("width=5000", 400, 200, "width:2000,resizing_type:fill"),
        ("", 400, 200, ""),
    ] {
        let response = render(&server, query).await;
        let picture = picture(&response);
        assert_eq!((picture.width(), picture.height()), (width, height), "{query}");
        assert_eq!(response.header("x-transformations"), list, "{query}");
        assert_eq!(response.header("content-type"), "image/png", "{query}");
        let whole = ["red", "green", "white", "blue"];
        let is_cut = width == height && !query.ends_with("=fill");
        assert!(is_cut || corners(&picture) == whole, "{query}: {:?}", corners(&picture));
    }
}

#[tokio::test]
async fn gravity_says_what_stays() {
    let server = server().await;
    let left = ["red", "red", "blue", "blue"];
    let right = ["green", "green", "white", "white"];
    let middle = ["red", "green", "white", "blue"];
    for (query, expected, list) in [
        ("", middle, ""),
        ("&gravity=we", left, "gravity:we"),
        ("&gravity=ea", right, "gravity:ea"),
        ("&gravity=nowe", left, "gravity:nowe"),
        ("&gravity=soea", right, "gravity:soea"),
        ("&gravity=ce&x_offset=-0.5", left, "gravity:ce:-0.5:0"),
        ("&gravity=we&x_offset=500", right, "gravity:we:500:0"),
        ("&gravity=fp&x_offset=0&y_offset=1", left, "gravity:fp:0:1"),
        ("&gravity=fp&x_offset=0.75&y_offset=0.5", right, "gravity:fp:0.75:0.5"),
    ] {
        let response = render(&server, &format!("width=100&height=100&format=origin{query}")).await;
        assert_eq!(corners(&picture(&response)), expected, "{query}");
        assert!(response.header("x-transformations").ends_with(list), "{query}");
    }
    let smart = render(&server, "width=100&height=100&gravity=sm").await;
    assert_eq!((picture(&smart).width(), picture(&smart).height()), (100, 100));
}

#[tokio::test]
async fn options_that_make_no_sense_are_refused_in_upstreams_words() {
    let server = server().await;
    for (query, message) in [
        ("width=-1", "querystring/width must be >= 0"),
        ("height=wide", "querystring/height must be integer"),
        ("width=1.5", "querystring/width must be integer"),
        ("width=", "querystring/width must be integer"),
        ("quality=19", "querystring/quality must be >= 20"),
        ("quality=101", "querystring/quality must be <= 100"),
        ("resize=stretch", "querystring/resize must be equal to one of the allowed values"),
        ("format=jpeg", "querystring/format must be equal to one of the allowed values"),
        ("gravity=up", "querystring/gravity must be equal to one of the allowed values"),
        ("x_offset=left", "querystring/x_offset must be number"),
        (
            "gravity=fp&x_offset=0.5",
            "querystring must have required property 'y_offset', querystring must match \"then\" schema",
        ),
        (
            "gravity=fp&x_offset=2&y_offset=0",
            "querystring/x_offset must be <= 1, querystring must match \"then\" schema",
        ),
    ] {
        let response = render(&server, query).await;
        let expected = ["400", "Error", message, "InvalidRequest"].map(str::to_owned);
        assert_eq!(refusal(&response), (400, expected), "{query}");
    }
    let body = json!({ "expiresIn": 60, "transform": { "width": -1 } });
    let signed = server.json(Method::POST, "/object/sign/pictures/quarters.png", &body).await;
    assert_eq!(signed.json()["message"], "body/transform/width must be >= 0");
}

#[tokio::test]
async fn the_format_is_the_one_asked_for_or_the_best_that_is_accepted() {
    let server = server().await;
    let webp = encoded(&quarters(400, 200), ImageFormat::WebP);
    put(&server, "pictures/quarters.webp", "image/webp", &webp).await;
    let gif = encoded(&quarters(400, 200), ImageFormat::Gif);
    put(&server, "pictures/quarters.gif", "image/gif", &gif).await;
    let chrome = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";
    for (name, query, accept, kind, varies) in [
        ("quarters.png", "width=50", chrome, "image/avif", "Accept"),
        ("quarters.png", "width=50", "image/webp,*/*", "image/webp", "Accept"),
        ("quarters.png", "width=50", "image/avif;q=0,image/webp", "image/webp", "Accept"),
        ("quarters.jpg", "width=50", "*/*", "image/jpeg", "Accept"),
        ("quarters.gif", "width=50", "*/*", "image/gif", "Accept"),
        ("quarters.webp", "width=50", "*/*", "image/webp", "Accept"),
        ("quarters.webp", "width=50", "image/png,image/jpeg", "image/jpeg", "Accept"),
        ("quarters.png", "width=50&format=origin", chrome, "image/png", ""),
        ("quarters.webp", "width=50&format=origin", "image/png", "image/webp", ""),
        ("quarters.png", "width=50&format=webp", "*/*", "image/webp", ""),
        ("quarters.png", "width=50&format=avif", "*/*", "image/avif", ""),
    ] {
        let response = render_as(&server, name, query, accept).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.text());
        assert_eq!(response.header("content-type"), kind, "{name}?{query} {accept}");
        assert_eq!(response.header("vary"), varies, "{name}?{query} {accept}");
        let format = image::guess_format(&response.body).unwrap();
        assert_eq!(format.to_mime_type(), kind, "{name}?{query} {accept}");
        match format {
            // There is no decoder here: the size is in the box `ispe`. Source: ISO/IEC 23008-12, section 6.5.3.
            ImageFormat::Avif => {
                let at = response.body.windows(4).position(|name| name == b"ispe").unwrap() + 8;
                assert_eq!(response.body[at..at + 8], [0, 0, 0, 50, 0, 0, 0, 25]);
            }
            _ => assert_eq!(corners(&picture(&response)), ["red", "green", "white", "blue"], "{name}"),
        }
    }
    let large = encoded(&quarters(800, 500), ImageFormat::Jpeg);
    put(&server, "pictures/large.jpg", "image/jpeg", &large).await;
    let response = render_as(&server, "large.jpg", "", chrome).await;
    assert_eq!(response.header("content-type"), "image/webp", "AVIF would take too long");
    let noise =
        RgbImage::from_fn(200, 100, |x, y| Rgb([x, y, x * y].map(|value| (value * value % 251) as u8)));
    put(&server, "pictures/noise.png", "image/png", &encoded(&noise.into(), ImageFormat::Png)).await;
    for format in ["webp", "avif"] {
        let sizes = [20, 60, 100].map(|quality| format!("format={format}&quality={quality}"));
        let mut before = 0;
        for query in sizes {
            let size = render_as(&server, "noise.png", &query, "*/*").await.body.len();
            assert!(size > before * 5 / 4, "{query}: {size} after {before}");
            before = size;
        }
    }
}

/// Puts EXIF data with an orientation into a JPEG. Source: TIFF 6.0, section 2; CIPA DC-008, section 4.7.2.
fn turned(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let mut exif = b"\xff\xe1\0\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    [&jpeg[..2], &exif, &jpeg[2..]].concat()
}

#[tokio::test]
async fn pictures_are_turned_as_their_camera_was_held() {
    let server = server().await;
    let upright = quarters(400, 200);
    for orientation in 1..=8 {
        // What a camera that was held so would have stored.
        let mut stored = upright.clone();
        let undone = match orientation {
            6 => 8,
            8 => 6,
            other => other,
        };
        stored.apply_orientation(image::metadata::Orientation::from_exif(undone).unwrap());
        let jpeg = turned(&encoded(&stored, ImageFormat::Jpeg), orientation);
        let mut decoder = image::codecs::jpeg::JpegDecoder::new(Cursor::new(&jpeg)).unwrap();
        assert_eq!(decoder.orientation().unwrap().to_exif(), orientation);
        put(&server, "pictures/turned.jpg", "image/jpeg", &jpeg).await;
        let whole = picture(&render_as(&server, "turned.jpg", "width=100", "*/*").await);
        assert_eq!((whole.width(), whole.height()), (100, 50), "{orientation}");
        assert_eq!(corners(&whole), ["red", "green", "white", "blue"], "{orientation}");
        let part = render_as(&server, "turned.jpg", "width=60&height=90&gravity=we", "*/*").await;
        assert_eq!((picture(&part).width(), picture(&part).height()), (60, 90), "{orientation}");
        assert_eq!(corners(&picture(&part)), ["red", "red", "blue", "blue"], "{orientation}");
        let decoder = image::codecs::jpeg::JpegDecoder::new(Cursor::new(&part.body[..]));
        assert_eq!(decoder.unwrap().orientation().unwrap().to_exif(), 1, "not turned twice");
    }
}

#[tokio::test]
async fn headers_are_those_of_the_object() {
    let server = server().await;
    let original = server.get("/object/public/pictures/quarters.png").await;
    let response = render(&server, "width=20&download=small%20one.png").await;
    for name in ["etag", "cache-control", "last-modified", "x-robots-tag"] {
        assert_eq!(response.header(name), original.header(name), "{name}");
        assert!(!response.header(name).is_empty(), "{name}");
    }
    assert!(response.header("content-disposition").contains("filename=small%20one.png"));
    let path = "/render/image/public/pictures/quarters.png?width=20";
    let etag = original.header("etag");
    let fresh = server.ask(Method::GET, path, &[("if-none-match", etag)]).await;
    assert_eq!((fresh.status, fresh.body.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(fresh.header("etag"), etag);
    let stale = server.ask(Method::GET, path, &[("if-none-match", "\"other\"")]).await;
    assert_eq!(stale.status, StatusCode::OK);
    assert_eq!(stale.header("cache-control"), "max-age=60, stale-while-revalidate=30");
    let head = server.ask(Method::HEAD, path, &[]).await;
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
    assert_eq!(head.header("content-type"), "image/png");
    let posted = server.ask(Method::POST, path, &[]).await;
    assert_eq!(posted.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn only_who_may_read_an_object_sees_what_is_made_of_it() {
    let server = server().await;
    server.bucket("private", false).await;
    let png = encoded(&quarters(40, 20), ImageFormat::Png);
    put(&server, &format!("private/{ANNA}/a.png"), "image/png", &png).await;
    let path = format!("/render/image/authenticated/private/{ANNA}/a.png?width=20");
    let service = server.service_role().to_owned();
    let warm = server.json_as(&service, Method::GET, &path, &json!(null)).await;
    assert_eq!(picture(&warm).width(), 20);

    let anna = server.user(ANNA);
    let hidden = server.json_as(&anna, Method::GET, &path, &json!(null)).await;
    assert_eq!(hidden.json()["code"], "NoSuchKey");
    server
        .sql(
            "create policy own on storage.objects for select to authenticated \
             using ((storage.foldername(name))[1] = auth.uid()::text \
             and storage.operation() = 'storage.render.image_authenticated')",
        )
        .await;
    let seen = server.json_as(&anna, Method::GET, &path, &json!(null)).await;
    assert_eq!(picture(&seen).width(), 20);
    let stranger = server.user("8f9b2c1e-0000-4000-8000-00000000000b");
    let hidden = server.json_as(&stranger, Method::GET, &path, &json!(null)).await;
    assert_eq!(hidden.json()["code"], "NoSuchKey");
    let nobody = server.get(&path).await;
    assert_eq!(nobody.json()["message"], "headers must have required property 'authorization'");
    let public = server.get(&path.replace("authenticated", "public")).await;
    assert_eq!(public.json()["code"], "NoSuchBucket");
    let missing = server.get("/render/image/public/pictures/none.png").await;
    assert_eq!(missing.json()["code"], "NoSuchKey");
    let in_public = "/render/image/authenticated/pictures/quarters.png?width=20";
    let hidden = server.json_as(&anna, Method::GET, in_public, &json!(null)).await;
    assert_eq!(hidden.json()["code"], "NoSuchKey", "policies decide in public buckets, too");
}

async fn sign(server: &Server, transform: Value) -> String {
    let body = json!({ "expiresIn": 60, "transform": transform });
    let signed = server.json(Method::POST, "/object/sign/pictures/quarters.png", &body).await;
    assert_eq!(signed.status, 200, "{}", signed.text());
    signed.json()["signedURL"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_signed_url_holds_the_options() {
    let server = server().await;
    let url =
        sign(&server, json!({ "width": 100, "height": "100", "resize": "contain", "format": "webp" })).await;
    assert!(url.starts_with("/render/image/sign/pictures/quarters.png?token="), "{url}");
    let token = url.split_once("?token=").unwrap().1;
    let claims = server.keys().verifier().verify(token).unwrap();
    assert_eq!(claims.claims["transformations"], "height:100,width:100,resize:contain,format:webp");
    assert_eq!(claims.claims["format"], "webp");
    assert_eq!(claims.claims["url"], "pictures/quarters.png");
    let response = server.get(&format!("{url}&width=7&format=avif&resize=fill")).await;
    assert_eq!(picture(&response).width(), 100, "the query is not looked at");
    assert_eq!(picture(&response).height(), 50);
    assert_eq!(response.header("content-type"), "image/webp");
    assert_eq!(response.header("cache-control"), "");
    assert!(response.header("expires").ends_with(" GMT"));
    let list = "height:100,width:100,resizing_type:fit,format:webp";
    assert_eq!(response.header("x-transformations"), list);
    let plain = server.get(&url.replacen("render/image", "object", 1)).await;
    assert_eq!(picture(&plain).width(), 400, "the same token opens the object itself, as upstream");

    let other = server.get(&url.replace("quarters.png", "quarters.jpg")).await;
    assert_eq!(other.json()["message"], "Invalid signature");
    let forged = server.get(&format!("{url}x")).await;
    assert_eq!(forged.json()["code"], "InvalidJWT");
    let none = server.get("/render/image/sign/pictures/quarters.png").await;
    assert_eq!(none.json()["message"], "querystring must have required property 'token'");
    for nothing in [json!({}), json!({ "format": "origin" }), json!({ "width": 0 })] {
        assert!(sign(&server, nothing.clone()).await.starts_with("/object/sign/"), "{nothing}");
    }
    let origin = sign(&server, json!({ "width": 50, "format": "origin" })).await;
    let response = server.ask(Method::GET, &origin, &[("accept", "image/webp")]).await;
    assert_eq!(response.header("content-type"), "image/png");
}

#[tokio::test]
async fn tokens_of_upstream_are_good_here() {
    let server = server().await;
    let now = time::OffsetDateTime::now_utc().unix_timestamp();
    let claims = json!({
        "transformations": "height:60,width:60,resize:undefined,quality:30,gravity:fp:0:0",
        "url": "pictures/quarters.png", "scope": "download", "iat": now, "exp": now + 60,
    });
    let token = server.keys().sign_with_secret(&claims).unwrap();
    let response = server.get(&format!("/render/image/sign/pictures/quarters.png?token={token}")).await;
    assert_eq!(corners(&picture(&response)), ["red", "red", "blue", "blue"]);
    assert_eq!(picture(&response).width(), 60);
}

/// Returns a PNG whose head declares another size than it has.
fn lying_png(width: u32, height: u32) -> Vec<u8> {
    let mut png = encoded(&DynamicImage::new_luma8(1, 1), ImageFormat::Png);
    png[16..20].copy_from_slice(&width.to_be_bytes());
    png[20..24].copy_from_slice(&height.to_be_bytes());
    let crc = png[12..29].iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 },
        )
    });
    png[29..33].copy_from_slice(&(!crc).to_be_bytes());
    png
}

#[tokio::test]
async fn bombs_are_refused_and_never_sent() {
    let server = server().await;
    let png = encoded(&quarters(300, 300), ImageFormat::Png);
    let mut gif = encoded(&DynamicImage::new_rgb8(4, 4), ImageFormat::Gif);
    gif[6..10].copy_from_slice(&[0xff; 4]);
    let mut jpeg = encoded(&quarters(16, 16), ImageFormat::Jpeg);
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff; 4]);
    let blank = encoded(&DynamicImage::new_luma8(12_000, 5000), ImageFormat::Png);
    assert!(blank.len() < 1_000_000, "60 megapixels in a few bytes");
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    for (name, bytes, message) in [
        ("blank.png", &blank[..], TOO_MANY_PIXELS),
        ("lying.png", &lying_png(u32::MAX >> 1, u32::MAX >> 1), TOO_MANY_PIXELS),
        ("wide.png", &lying_png(60_000_000, 1), TOO_MANY_PIXELS),
        ("short.png", &lying_png(5000, 5000), UNSUPPORTED),
        ("lying.gif", &gif, TOO_MANY_PIXELS),
        ("lying.jpg", &jpeg, TOO_MANY_PIXELS),
        ("cut.png", &png[..png.len() / 2], UNSUPPORTED),
        ("picture.svg", svg, UNSUPPORTED),
        ("text.png", b"this is a text", UNSUPPORTED),
        ("empty.png", b"", UNSUPPORTED),
    ] {
        put(&server, &format!("pictures/{name}"), "image/png", bytes).await;
        let response = render_as(&server, name, "width=10", "*/*").await;
        assert_eq!(refusal(&response), refused("400", message), "{name}");
        assert_eq!(response.header("cache-control"), "no-store", "{name}");
        assert_eq!(response.header("etag"), "", "{name}");
    }
    assert_eq!(server.rendered_files().len(), 0, "refusals are not kept");
    assert_eq!(picture(&render(&server, "width=10").await).width(), 10, "the service goes on");
}

#[tokio::test]
async fn files_are_read_up_to_a_limit() {
    let server = server_with(|settings| settings.image_max_source_size = settings::Bytes(5000)).await;
    let large = encoded(&quarters(400, 300), ImageFormat::Png);
    assert!(large.len() < 5000);
    let padded = [&large[..], &[0; 5000]].concat();
    put(&server, "pictures/padded.png", "image/png", &padded).await;
    let message = "The source image file is too large to process";
    let response = render_as(&server, "padded.png", "width=10", "*/*").await;
    assert_eq!(refusal(&response), refused("400", message));
    server
        .sql("update storage.objects set metadata = metadata || '{\"size\":10}' where name = 'padded.png'")
        .await;
    let response = render_as(&server, "padded.png", "width=10", "*/*").await;
    assert_eq!(refusal(&response), refused("400", message), "whatever its row says");
}

#[tokio::test]
async fn many_requests_succeed_or_are_refused_in_order() {
    let server = server_with(|settings| {
        settings.image_workers = 1;
        settings.image_queue_size = 1;
        settings.image_timeout = Duration::from_secs(60);
    })
    .await;
    let same = futures_util::future::join_all((0..20).map(|_| render(&server, "width=301"))).await;
    assert!(same.iter().all(|response| response.status == StatusCode::OK), "they share the work");
    assert_eq!(server.rendered_files().len(), 1);
    let queries: Vec<String> = (100..120).map(|width| format!("width={width}")).collect();
    let others = futures_util::future::join_all(queries.iter().map(|query| render(&server, query))).await;
    let (succeeded, rest): (Vec<_>, Vec<_>) =
        others.iter().partition(|response| response.status == StatusCode::OK);
    assert!(!succeeded.is_empty() && !rest.is_empty(), "{} succeeded", succeeded.len());
    for response in rest {
        assert_eq!(refusal(response), refused("429", "Too many requests"));
    }
}

#[tokio::test]
async fn time_is_limited() {
    let server = server_with(|settings| settings.image_timeout = Duration::from_millis(1)).await;
    let large = encoded(&quarters(2000, 2000), ImageFormat::Png);
    put(&server, "pictures/large.png", "image/png", &large).await;
    let response = render_as(&server, "large.png", "format=avif", "*/*").await;
    assert_eq!(refusal(&response), refused("408", "Image request timed out"));
}

#[tokio::test]
async fn it_can_be_switched_off() {
    let server = server_with(|settings| settings.image_transformation = false).await;
    let response = render(&server, "width=10").await;
    let message = "Route GET:/render/image/public/pictures/quarters.png?width=10 not found";
    let expected = ["404", "Not Found", message, "InvalidRequest"].map(str::to_owned);
    assert_eq!(response.refusal(), (404, expected));
    assert!(sign(&server, json!({ "width": 10 })).await.starts_with("/object/sign/"));
    let unknown = self::server().await.get("/render/image/secret/pictures/quarters.png").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}
