//! Multipart uploads of the S3 protocol, and what becomes of those that do not end well.

use poem::http::Method;
use storage::Sweeper;

use crate::s3_client::Signer;
use crate::support::{Response, Server};

struct Fixture {
    server: Server,
    signer: Signer,
}

impl Fixture {
    async fn start() -> Self {
        let server = Server::start().await;
        server.bucket("files", true).await;
        let signer = Signer::service(&server);
        Self { server, signer }
    }

    async fn send(&self, method: Method, query: &str, body: &str) -> Response {
        let length = body.len().to_string();
        let path = format!("/s3/files/a?{query}");
        self.server.s3(&self.signer, method, &path, &[("content-length", &length)], body.to_owned()).await
    }

    async fn begin(&self) -> String {
        let response = self.send(Method::POST, "uploads=", "").await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.element("UploadId")
    }

    async fn part(&self, id: &str, number: u32, body: &str) -> Response {
        self.send(Method::PUT, &format!("partNumber={number}&uploadId={id}"), body).await
    }

    async fn complete(&self, id: &str, parts: &[(u32, &str)]) -> Response {
        let parts: String = parts
            .iter()
            .map(|(number, tag)| format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"))
            .collect();
        let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        self.send(Method::POST, &format!("uploadId={id}"), &body).await
    }

    async fn counts(&self) -> [String; 2] {
        let query = "select (select count(*)::text from storage.s3_multipart_uploads), \
                     (select count(*)::text from storage.s3_multipart_uploads_parts)";
        self.server.row(query).await.try_into().unwrap()
    }
}

#[tokio::test]
async fn parts_become_one_object_and_nothing_is_left() {
    let on = Fixture::start().await;
    let id = on.begin().await;
    let tags = [
        on.part(&id, 2, "two ").await.header("etag").to_owned(),
        on.part(&id, 9, "nine").await.header("etag").to_owned(),
        on.part(&id, 1, "one ").await.header("etag").to_owned(),
    ];
    // The second of that number replaces the first, whose bytes go away.
    let replacement = on.part(&id, 1, "uno ").await.header("etag").to_owned();
    assert_eq!(on.server.stored_files(), 3);
    assert_eq!(
        on.server.row("select in_progress_size::text from storage.s3_multipart_uploads").await,
        ["12"]
    );
    for (parts, code) in [
        (&[(1, &*tags[2]), (2, &*tags[0])][..], "InvalidPart"),
        (&[(1, &*replacement), (3, &*tags[0])], "InvalidPart"),
        (&[(2, &*tags[0]), (1, &*replacement)], "InvalidPartOrder"),
        (&[(1, &*replacement), (1, &*replacement)], "InvalidPartOrder"),
    ] {
        assert_eq!(on.complete(&id, parts).await.s3_code(), (400, code.into()), "{parts:?}");
    }
    let done = on.complete(&id, &[(1, &*replacement), (9, &*tags[1])]).await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(done.element("Location"), "files/a");
    assert_eq!(on.server.get("/object/public/files/a").await.text(), "uno nine");
    assert_eq!(on.counts().await, ["0", "0"]);
    assert_eq!(on.server.stored_files(), 1);
    assert_eq!(
        on.complete(&id, &[]).await.s3_refusal(),
        (404, "NoSuchUpload".into(), "Upload not found".into())
    );
    assert_eq!(on.part(&id, 1, "late").await.s3_code(), (404, "NoSuchUpload".into()));
    assert_eq!(on.server.stored_files(), 1);
}

#[tokio::test]
async fn an_upload_is_of_one_key() {
    let on = Fixture::start().await;
    let id = on.begin().await;
    let path = format!("/s3/files/b?partNumber=1&uploadId={id}");
    let response = on.server.s3(&on.signer, Method::PUT, &path, &[("content-length", "1")], "b").await;
    assert_eq!(response.s3_code(), (404, "NoSuchUpload".into()));
    assert_eq!(on.part("unknown", 1, "a").await.s3_code(), (404, "NoSuchUpload".into()));
    for number in [0, 10_001] {
        assert_eq!(on.part(&id, number, "a").await.s3_code(), (400, "InvalidRequest".into()), "{number}");
    }
    assert_eq!(on.server.stored_files(), 0);
}

#[tokio::test]
async fn all_parts_together_have_the_buckets_limit() {
    let on = Fixture::start().await;
    on.server.json(Method::PUT, "/bucket/files", &serde_json::json!({ "file_size_limit": 10 })).await;
    let id = on.begin().await;
    assert_eq!(on.part(&id, 1, "123456").await.status, 200);
    assert_eq!(on.part(&id, 2, "12345").await.s3_code(), (413, "EntityTooLarge".into()));
    assert_eq!(
        on.part(&id, 1, "1234567890").await.status,
        200,
        "an earlier one of that number does not count"
    );
    assert_eq!(on.part(&id, 2, "1").await.s3_code(), (413, "EntityTooLarge".into()));
    assert_eq!(on.server.stored_files(), 1);
    // A limit that was lowered meanwhile is obeyed, too.
    on.server.json(Method::PUT, "/bucket/files", &serde_json::json!({ "file_size_limit": 5 })).await;
    assert_eq!(on.complete(&id, &[]).await.s3_code(), (413, "EntityTooLarge".into()));
    assert_eq!(on.server.stored_files(), 1);
    assert_eq!(on.counts().await, ["1", "1"]);
}

#[tokio::test]
async fn an_upload_that_is_given_up_leaves_nothing() {
    let on = Fixture::start().await;
    let id = on.begin().await;
    on.part(&id, 1, "one").await;
    let pending = on.server.s3(&on.signer, Method::DELETE, "/s3/files", &[], "").await;
    assert_eq!(pending.s3_code(), (409, "ResourceReferenced".into()));
    assert_eq!(on.send(Method::DELETE, &format!("uploadId={id}"), "").await.status, 204);
    assert_eq!((on.counts().await, on.server.stored_files()), (["0".to_owned(), "0".to_owned()], 0));
    assert_eq!(
        on.send(Method::DELETE, &format!("uploadId={id}"), "").await.s3_code(),
        (404, "NoSuchUpload".into())
    );
    assert_eq!(on.server.s3(&on.signer, Method::DELETE, "/s3/files", &[], "").await.status, 204);
}

#[tokio::test]
async fn parts_are_live_until_nothing_has_come_for_a_day() {
    let on = Fixture::start().await;
    let id = on.begin().await;
    on.part(&id, 1, "one").await;
    on.server.sql("update storage.s3_multipart_uploads set created_at = now() - interval '2 days'").await;
    let mut sweeper = Sweeper::new(&on.server.handles);
    for _ in 0..3 {
        assert_eq!(sweeper.look().await.unwrap(), 0);
    }
    assert_eq!(on.server.stored_files(), 1);
    on.server
        .sql("update storage.s3_multipart_uploads_parts set created_at = now() - interval '2 days'")
        .await;
    sweeper.look().await.unwrap();
    assert_eq!((on.counts().await, on.server.stored_files()), (["0".to_owned(), "0".to_owned()], 0));
}

#[tokio::test]
async fn an_upload_whose_parts_cannot_be_read_stays_as_it_is() {
    let on = Fixture::start().await;
    let id = on.begin().await;
    on.part(&id, 1, "one").await;
    on.server.lose_stored_files();
    let failed = on.complete(&id, &[]).await;
    assert_eq!(failed.s3_refusal(), (500, "InternalError".into(), "Internal Server Error".into()));
    assert_eq!((on.counts().await, on.server.stored_files()), (["1".to_owned(), "1".to_owned()], 0));
    on.part(&id, 1, "again").await;
    assert_eq!(on.complete(&id, &[]).await.status, 200);
    assert_eq!(on.server.get("/object/public/files/a").await.text(), "again");
}

#[tokio::test]
async fn two_requests_that_complete_an_upload_make_one_object() {
    let on = Fixture::start().await;
    let id = on.begin().await;
    for number in 1..=5 {
        on.part(&id, number, "some bytes ").await;
    }
    let responses = futures_util::future::join_all((0..4).map(|_| on.complete(&id, &[]))).await;
    let done = responses.iter().filter(|response| response.status == 200).count();
    assert_eq!(done, 1, "{:?}", responses.iter().map(Response::text).collect::<Vec<_>>());
    for response in &responses {
        assert!(matches!(response.status.as_u16(), 200 | 404), "{}", response.text());
    }
    assert_eq!(on.server.get("/object/public/files/a").await.text(), "some bytes ".repeat(5));
    assert_eq!(on.server.stored_files(), 1);
}

#[tokio::test]
async fn every_part_is_asked_of_row_level_security() {
    let on = Fixture::start().await;
    let user = Signer::user(&on.server, &on.server.user("00000000-0000-4000-8000-00000000000a"));
    let on = Fixture { signer: user, ..on };
    assert_eq!(on.send(Method::POST, "uploads=", "").await.s3_code(), (403, "AccessDenied".into()));
    on.server
        .sql("create policy may on storage.objects to authenticated using (true) with check (true)")
        .await;
    let id = on.begin().await;
    assert_eq!(on.part(&id, 1, "one").await.status, 200);
    on.server.sql("drop policy may on storage.objects").await;
    assert_eq!(on.part(&id, 2, "two").await.s3_code(), (403, "AccessDenied".into()));
    assert_eq!(on.complete(&id, &[]).await.s3_code(), (403, "AccessDenied".into()));
    assert_eq!(
        on.send(Method::DELETE, &format!("uploadId={id}"), "").await.s3_code(),
        (403, "AccessDenied".into())
    );
    let list = on.send(Method::GET, &format!("uploadId={id}"), "").await;
    assert_eq!(list.s3_code(), (403, "AccessDenied".into()));
    assert_eq!(on.server.stored_files(), 1);
}

#[tokio::test]
async fn a_part_is_copied_from_a_range_within_its_source() {
    let on = Fixture::start().await;
    let id = on.begin().await;
    on.server.s3_put("/s3/files/source", "0123456789").await;
    let copy = async |range: &str| {
        let path = format!("/s3/files/a?partNumber=1&uploadId={id}");
        let headers = [
            ("content-length", "0"),
            ("x-amz-copy-source", "files/source"),
            ("x-amz-copy-source-range", range),
        ];
        on.server.s3(&on.signer, Method::PUT, &path, &headers, "").await
    };
    for range in ["bytes=-5", "bytes=5-", "bytes=4-3", "items=0-1", "0-1", "bytes=0-1,3-4", "bytes=x"] {
        let (status, code, words) = copy(range).await.s3_refusal();
        assert_eq!((status, &*code), (400, "InvalidArgument"), "{range}");
        assert!(words.contains("must be of the form bytes=first-last"), "{words}");
    }
    let beyond = copy("bytes=5-10").await.s3_refusal();
    assert_eq!((beyond.0, &*beyond.1), (400, "InvalidArgument"));
    assert_eq!(beyond.2, "Range specified is not valid for source object of size: 10");
    assert_eq!(on.counts().await[1], "0");
    assert_eq!(copy("bytes=5-9").await.status, 200);
}
