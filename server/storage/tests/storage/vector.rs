//! Vector buckets. What needs pgvector is skipped where `BASALT_TEST_EXTENSIONS` does not name `vector`.

use crate::support::{Response, Server};
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};

/// Starts a server, if its Postgres has pgvector.
pub(crate) async fn server() -> Option<Server> {
    if testkit::has_extension("vector").await { Some(Server::start().await) } else { None }
}

pub(crate) async fn call(server: &Server, operation: &str, body: Value) -> Response {
    server.json(Method::POST, &format!("/vector/{operation}"), &body).await
}

/// Returns the body of a response that has to be a success.
pub(crate) async fn done(server: &Server, operation: &str, body: Value) -> Value {
    let response = call(server, operation, body).await;
    assert_eq!(response.status, StatusCode::OK, "{operation}: {}", response.text());
    if response.body.is_empty() { Value::Null } else { response.json() }
}

/// Returns status, code and message of a response that has to be a refusal.
pub(crate) async fn refused(server: &Server, operation: &str, body: Value) -> (u16, String, String) {
    let (status, [status_code, _, message, code]) = call(server, operation, body).await.refusal();
    assert_eq!(status.to_string(), status_code, "the status is the true one");
    (status, code, message)
}

/// Returns the fields of a request about index `idx` of bucket `b`, and those of `more`.
pub(crate) fn about(more: Value) -> Value {
    let mut body = json!({ "vectorBucketName": "b", "indexName": "idx" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn index(server: &Server, dimension: usize, metric: &str) {
    done(server, "CreateVectorBucket", json!({ "vectorBucketName": "b" })).await;
    let definition = json!({
        "dataType": "float32", "dimension": dimension, "distanceMetric": metric,
        "metadataConfiguration": { "nonFilterableMetadataKeys": ["text"] },
    });
    assert_eq!(done(server, "CreateIndex", about(definition)).await, Value::Null);
}

/// Writes vectors of two numbers with metadata.
async fn put(server: &Server, vectors: &[(&str, [f64; 2], Value)]) {
    let vectors: Vec<Value> = vectors
        .iter()
        .map(|(key, data, metadata)| json!({ "key": key, "data": { "float32": data }, "metadata": metadata }))
        .collect();
    assert_eq!(done(server, "PutVectors", about(json!({ "vectors": vectors }))).await, Value::Null);
}

pub(crate) fn keys(response: &Value) -> Vec<&str> {
    response["vectors"].as_array().unwrap().iter().map(|vector| vector["key"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn only_the_service_role_gets_in_and_statuses_are_true() {
    let server = Server::start().await;
    let body = json!({});
    for token in [server.anon().to_owned(), server.user("8f9b2c1e-0000-4000-8000-00000000000a")] {
        let response = server.json_as(&token, Method::POST, "/vector/ListVectorBuckets", &body).await;
        let expected = ["403", "AccessDenied", "Access denied: Invalid role", "AccessDenied"];
        let (status, [code, _, message, name]) = response.refusal();
        assert_eq!((status, [&*code, &name, &message, &name]), (403, expected));
    }
    let nobody = server.send(Method::POST, "/vector/ListVectorBuckets", &[], "{}").await;
    assert_eq!((nobody.refusal().0, &*nobody.refusal().1[2]), (403, "Missing signature"));
    let forged = server.json_as("x.y.z", Method::POST, "/vector/ListVectorBuckets", &body).await;
    assert_eq!(forged.refusal().0, 403);
    for (method, path) in [(Method::GET, "/vector/ListVectorBuckets"), (Method::POST, "/vector/Nothing")] {
        let response = server.json(method.clone(), path, &body).await;
        assert_eq!(response.status, StatusCode::NOT_FOUND);
        assert_eq!(response.json()["message"], format!("Route {method}:{path} not found"));
    }
}

#[tokio::test]
async fn what_is_switched_off_or_cannot_be_had_is_refused() {
    let off = Server::start_with(|settings| settings.vectors_enabled = false).await;
    let response = call(&off, "ListVectorBuckets", json!({})).await;
    assert_eq!((response.status.as_u16(), response.refusal().1[3].as_str()), (404, "InvalidRequest"));

    let message = "The feature Vector service not configured is not enabled for this resource".to_owned();
    let refusal = (409, "FeatureNotEnabled".to_owned(), message);
    let Some(server) = server().await else {
        let server = Server::start().await;
        assert_eq!(refused(&server, "ListVectorBuckets", json!({})).await, refusal);
        return;
    };
    // Nobody may make the extension here.
    let of_storage = "alter function basalt.prepare_vectors() reset session_replication_role;
        alter function basalt.prepare_vectors() owner to supabase_storage_admin";
    server.sql(of_storage).await;
    done(&server, "CreateVectorBucket", json!({ "vectorBucketName": "b" })).await;
    let definition = json!({ "dataType": "float32", "dimension": 2, "distanceMetric": "cosine" });
    assert_eq!(refused(&server, "CreateIndex", about(definition)).await, refusal);
    let listed = done(&server, "ListIndexes", json!({ "vectorBucketName": "b" })).await;
    assert_eq!(listed, json!({ "indexes": [] }), "a row without a table is not left");
}

#[tokio::test]
async fn tables_that_somebody_else_owns_are_written_too() {
    let Some(server) = server().await else { return };
    // As a Supabase Storage leaves them that logs in as an administrator.
    server
        .sql(
            "alter table storage.buckets_vectors owner to postgres; alter table storage.vector_indexes owner to postgres;
             revoke all on storage.buckets_vectors, storage.vector_indexes from supabase_storage_admin",
        )
        .await;
    let denied = refused(&server, "CreateVectorBucket", json!({ "vectorBucketName": "b" })).await;
    assert_eq!((denied.0, &*denied.1), (403, "AccessDenied"));
    let platform = include_str!("../../../../schema/platform/0021_vectors.sql");
    let (_, rows) = platform.split_once("-- The service's login owns the rows").unwrap();
    server.sql(&format!("--{rows}")).await;
    index(&server, 2, "cosine").await;
    put(&server, &[("k", [1.0, 0.0], json!({}))]).await;
    done(&server, "DeleteIndex", about(json!({}))).await;
    done(&server, "DeleteVectorBucket", json!({ "vectorBucketName": "b" })).await;
}

#[tokio::test]
async fn buckets_are_made_listed_and_deleted() {
    let Some(server) = server().await else { return };
    for name in ["b1", "b2", "c_"] {
        let response = call(&server, "CreateVectorBucket", json!({ "vectorBucketName": name })).await;
        assert_eq!((response.status, response.body.len()), (StatusCode::OK, 0));
    }
    let second = refused(&server, "CreateVectorBucket", json!({ "vectorBucketName": "b1" })).await;
    let message = "vector bucket \"b1\" already exists";
    assert_eq!(second, (409, "ConflictException".to_owned(), message.to_owned()));
    let found = done(&server, "GetVectorBucket", json!({ "vectorBucketName": "b1" })).await;
    assert_eq!(found["vectorBucket"]["vectorBucketName"], "b1");
    let age = time::OffsetDateTime::now_utc().unix_timestamp()
        - found["vectorBucket"]["creationTime"].as_i64().unwrap();
    assert!((0..60).contains(&age));
    let first = done(&server, "ListVectorBuckets", json!({ "maxResults": 2 })).await;
    assert_eq!(first["nextToken"], "b2");
    let second = done(&server, "ListVectorBuckets", json!({ "nextToken": "b2" })).await;
    assert_eq!(second["vectorBuckets"].as_array().unwrap().len(), 1);
    assert!(second.get("nextToken").is_none());
    let wildcard = done(&server, "ListVectorBuckets", json!({ "prefix": "c%" })).await;
    assert_eq!(wildcard["vectorBuckets"], json!([]), "a prefix is no pattern");
    done(&server, "DeleteVectorBucket", json!({ "vectorBucketName": "c_" })).await;
    let missing = refused(&server, "GetVectorBucket", json!({ "vectorBucketName": "c_" })).await;
    assert_eq!(missing, (404, "NotFoundException".to_owned(), "resource \"c_\" not found".to_owned()));
    let unnamed = refused(&server, "CreateVectorBucket", json!({ "vectorBucketName": "" })).await;
    assert_eq!((unnamed.0, &*unnamed.1), (400, "InvalidBucketName"));
    let wrong = refused(&server, "CreateVectorBucket", json!({ "vectorBucketName": 7 })).await;
    assert_eq!(wrong.2, "body/vectorBucketName must be string");
    for number in 0..8 {
        done(&server, "CreateVectorBucket", json!({ "vectorBucketName": format!("n{number}") })).await;
    }
    let eleventh = refused(&server, "CreateVectorBucket", json!({ "vectorBucketName": "more" })).await;
    assert_eq!((eleventh.0, &*eleventh.1), (400, "S3VectorMaxBucketsExceeded"));
    let second = refused(&server, "CreateVectorBucket", json!({ "vectorBucketName": "b1" })).await;
    assert_eq!(second.0, 409, "a name that is taken is said to be so");
}

#[tokio::test]
async fn indexes_are_made_described_and_deleted_with_their_vectors() {
    let Some(server) = server().await else { return };
    index(&server, 2, "cosine").await;
    let found = done(&server, "GetIndex", about(json!({}))).await["index"].clone();
    assert!(found["creationTime"].is_i64());
    assert_eq!(
        found,
        json!({
            "indexName": "idx", "dataType": "float32", "dimension": 2, "distanceMetric": "cosine",
            "metadataConfiguration": { "nonFilterableMetadataKeys": ["text"] }, "vectorBucketName": "b",
            "creationTime": found["creationTime"],
        })
    );
    let definition = json!({ "dataType": "float32", "dimension": 3, "distanceMetric": "euclidean" });
    let second = refused(&server, "CreateIndex", about(definition.clone())).await;
    assert_eq!((second.0, &*second.2), (409, "vector index \"idx\" already exists"));
    let mut elsewhere = about(definition.clone());
    elsewhere["vectorBucketName"] = "none".into();
    assert_eq!(refused(&server, "CreateIndex", elsewhere).await.2, "resource \"none\" not found");
    let listed = done(&server, "ListIndexes", json!({ "vectorBucketName": "b", "prefix": "i" })).await;
    assert_eq!(listed["indexes"][0]["indexName"], "idx");
    let full = refused(&server, "DeleteVectorBucket", json!({ "vectorBucketName": "b" })).await;
    let message = "Vector Bucket \"b\" not empty".to_owned();
    assert_eq!(full, (400, "VectorBucketNotEmpty".to_owned(), message));

    put(&server, &[("k", [1.0, 0.0], json!({}))]).await;
    done(&server, "DeleteIndex", about(json!({}))).await;
    let tables = "select count(*)::text from pg_tables where schemaname = 'storage_vectors'";
    assert_eq!(server.row(tables).await, ["0"]);
    for operation in ["GetIndex", "DeleteIndex", "ListVectors"] {
        assert_eq!(refused(&server, operation, about(json!({}))).await.0, 404, "{operation}");
    }
    assert_eq!(refused(&server, "GetVectors", about(json!({ "keys": ["k"] }))).await.1, "NotFoundException");
    for number in 0..20 {
        let mut more = definition.clone();
        more["vectorBucketName"] = "b".into();
        more["indexName"] = format!("i{number:02}").into();
        done(&server, "CreateIndex", more).await;
    }
    let one_more = refused(&server, "CreateIndex", about(definition)).await;
    assert_eq!((one_more.0, &*one_more.1), (400, "S3VectorMaxIndexesExceeded"));
    let page = done(&server, "ListIndexes", json!({ "vectorBucketName": "b", "maxResults": 19 })).await;
    assert_eq!(page["nextToken"], "i18");
}

#[tokio::test]
async fn vectors_are_kept_as_they_came_and_replaced_by_key() {
    let Some(server) = server().await else { return };
    index(&server, 2, "euclidean").await;
    put(
        &server,
        &[("ä/1", [0.1, -3e38], json!({ "n": 1.5, "tags": ["x", 2, true] })), ("z", [0.0, 0.0], json!({}))],
    )
    .await;
    let wanted = about(json!({ "keys": ["z", "ä/1", "none"], "returnData": true, "returnMetadata": true }));
    let got = done(&server, "GetVectors", wanted).await;
    let expected = json!({ "vectors": [
        { "key": "z", "data": { "float32": [0, 0] }, "metadata": {} },
        { "key": "ä/1", "data": { "float32": [0.1, -3e38] }, "metadata": { "n": 1.5, "tags": ["x", 2, true] } },
    ] });
    assert_eq!(got, expected);
    put(&server, &[("z", [1.0, 2.0], json!({ "n": 2 }))]).await;
    let bare = done(&server, "GetVectors", about(json!({ "keys": ["z"] }))).await;
    assert_eq!(bare, json!({ "vectors": [{ "key": "z" }] }));
    let replaced = done(&server, "GetVectors", about(json!({ "keys": ["z"], "returnData": true }))).await;
    assert_eq!(replaced["vectors"][0]["data"]["float32"][1].as_f64(), Some(2.0));
    assert_eq!(done(&server, "DeleteVectors", about(json!({ "keys": ["z", "none"] }))).await, Value::Null);
    assert_eq!(keys(&done(&server, "ListVectors", about(json!({}))).await), ["ä/1"]);
}

#[tokio::test]
async fn what_an_index_cannot_hold_is_refused_and_nothing_is_written() {
    let Some(server) = server().await else { return };
    index(&server, 2, "cosine").await;
    let good = json!({ "key": "good", "data": { "float32": [1, 1] } });
    let long = "x".repeat(2000);
    for (bad, reason) in [
        (
            json!({ "key": "k", "data": { "float32": [1, 2, 3] } }),
            "vector must have length 2, but has length 3",
        ),
        (json!({ "key": "k", "data": { "float32": [0, 0] } }), "must not be zero"),
        (json!({ "key": "k", "data": { "float32": [1e39, 1] } }), "finite numbers of 32 bits"),
        (
            json!({ "key": "k", "data": { "float32": ["1", 1] } }),
            "body/vectors/1/data/float32/0 must be number",
        ),
        (json!({ "key": "good", "data": { "float32": [1, 2] } }), "Request must not contain duplicate keys"),
        (json!({ "key": "", "data": { "float32": [1, 2] } }), "must NOT have fewer than 1 characters"),
        (json!({ "key": "k" }), "body/vectors/1 must have required property 'data'"),
        (json!({ "key": "k\u{0}", "data": { "float32": [1, 2] } }), "unsupported Unicode escape sequence"),
        (
            json!({ "key": "\u{10000}".repeat(1000), "data": { "float32": [1, 2] } }),
            "Key must have at most 2600 bytes",
        ),
        (
            json!({ "key": "k", "data": { "float32": [1, 2] }, "metadata": { "a": long, "b": "x".repeat(60) } }),
            "Invalid record for key 'k': Filterable metadata must have at most 2048 bytes",
        ),
        (
            json!({ "key": "k", "data": { "float32": [1, 2] }, "metadata": { "text": "x".repeat(40960) } }),
            "Total metadata must have at most 40960 bytes",
        ),
        (
            json!({ "key": "k", "data": { "float32": [1, 2] }, "metadata": { "a": { "b": 1 } } }),
            "body/vectors/1/metadata/a must match a schema in anyOf",
        ),
    ] {
        let (status, _, message) =
            refused(&server, "PutVectors", about(json!({ "vectors": [good, bad] }))).await;
        assert!(status == 400 && message.contains(reason), "{reason}: {message}");
    }
    let fifty: serde_json::Map<String, Value> = (0..51).map(|n| (format!("k{n}"), n.into())).collect();
    let many = json!({ "vectors": [{ "key": "k", "data": { "float32": [1, 2] }, "metadata": fifty }] });
    assert!(refused(&server, "PutVectors", about(many)).await.2.contains("at most 50 keys"));
    let vectors: Vec<&Value> = std::iter::repeat_n(&good, 501).collect();
    let (_, _, message) = refused(&server, "PutVectors", about(json!({ "vectors": vectors }))).await;
    assert_eq!(message, "body/vectors must NOT have more than 500 items");
    assert!(keys(&done(&server, "ListVectors", about(json!({}))).await).is_empty());
    let text =
        json!({ "vectors": [{ "key": "k", "data": { "float32": [1, 2] }, "metadata": { "text": long } }] });
    done(&server, "PutVectors", about(text)).await;
}

#[tokio::test]
async fn the_nearest_come_first_by_either_metric() {
    let Some(server) = server().await else { return };
    index(&server, 2, "cosine").await;
    let far = json!({ "vectorBucketName": "b", "indexName": "euclid", "dataType": "float32", "dimension": 2,
        "distanceMetric": "euclidean" });
    done(&server, "CreateIndex", far).await;
    let vectors = [("east", [9.0, 0.0]), ("north", [0.0, 1.0]), ("north-east", [5.0, 5.0])];
    let vectors: Vec<Value> =
        vectors.iter().map(|(key, data)| json!({ "key": key, "data": { "float32": data } })).collect();
    for name in ["idx", "euclid"] {
        let body = json!({ "vectorBucketName": "b", "indexName": name, "vectors": vectors });
        done(&server, "PutVectors", body).await;
    }
    let query = json!({ "queryVector": { "float32": [1, 0.1] }, "topK": 2, "returnDistance": true });
    let by_angle = done(&server, "QueryVectors", about(query.clone())).await;
    assert_eq!(
        (keys(&by_angle), by_angle["distanceMetric"].as_str()),
        (vec!["east", "north-east"], Some("cosine"))
    );
    let distance = by_angle["vectors"][0]["distance"].as_f64().unwrap();
    assert!((distance - 0.004_962).abs() < 1e-5, "{distance}");
    let mut body = about(query);
    body["indexName"] = "euclid".into();
    let by_length = done(&server, "QueryVectors", body).await;
    assert_eq!(keys(&by_length), ["north", "north-east"]);
    assert!((by_length["vectors"][0]["distance"].as_f64().unwrap() - 1.345_362).abs() < 1e-5);
    for (body, reason) in [
        (
            json!({ "queryVector": { "float32": [1] }, "topK": 1 }),
            "vector must have length 2, but has length 1",
        ),
        (json!({ "queryVector": { "float32": [0, 0] }, "topK": 1 }), "must not be zero"),
        (json!({ "queryVector": { "float32": [1, 0] }, "topK": 101 }), "body/topK must be <= 100"),
        (json!({ "queryVector": { "float32": [1, 0] }, "topK": "1" }), "body/topK must be integer"),
        (json!({ "queryVector": { "float32": [1, 0] } }), "body must have required property 'topK'"),
        (
            json!({ "queryVector": { "float32": [1, 0] }, "topK": 1, "x": 1 }),
            "body must NOT have additional properties",
        ),
    ] {
        let (status, _, message) = refused(&server, "QueryVectors", about(body)).await;
        assert!(status == 400 && message.contains(reason), "{reason}: {message}");
    }
}

#[tokio::test]
async fn filters_choose_by_metadata_with_its_types() {
    let Some(server) = server().await else { return };
    index(&server, 2, "euclidean").await;
    put(
        &server,
        &[
            ("a", [1.0, 0.0], json!({ "genre": "drama", "year": 1990, "tags": ["x", "y"], "text": "t" })),
            ("b", [2.0, 0.0], json!({ "genre": "comedy", "year": 2020.5, "seen": true })),
            ("c", [3.0, 0.0], json!({ "genre": "drama", "year": "2020.5", "a'b\"c": "x'y" })),
            ("d", [4.0, 0.0], json!({})),
        ],
    )
    .await;
    for (filter, expected) in [
        (json!({ "genre": "drama" }), "a c"),
        (json!({ "genre": { "$eq": "drama" }, "year": 1990.0 }), "a"),
        (json!({ "genre": { "$ne": "drama" } }), "b"),
        (json!({ "year": { "$gt": 1990 } }), "b"),
        (json!({ "year": { "$gte": 1990, "$lt": 2020.5 } }), "a"),
        (json!({ "year": { "$lte": 2020.5 } }), "a b"),
        (json!({ "year": 2020.5 }), "b"),
        (json!({ "year": { "$in": ["2020.5", 1990] } }), "a c"),
        (json!({ "year": { "$nin": ["2020.5", 1990] } }), "b"),
        (json!({ "tags": "y" }), "a"),
        (json!({ "tags": { "$in": ["z", "x"] } }), "a"),
        (json!({ "tags": { "$nin": ["x"] } }), ""),
        (json!({ "tags": { "$ne": "z" } }), "a"),
        (json!({ "seen": { "$exists": false } }), "a c d"),
        (json!({ "seen": { "$exists": true } }), "b"),
        (json!({ "seen": true }), "b"),
        (json!({ "a'b\"c": "x'y" }), "c"),
        (
            json!({ "$or": [{ "genre": "comedy" }, { "$and": [{ "genre": "drama" }, { "year": { "$exists": true } }] }] }),
            "a b c",
        ),
        (json!({ "$and": [{ "genre": "drama" }, { "tags": "x" }] }), "a"),
        (json!({ "x') or true --": 1 }), ""),
    ] {
        let query = json!({ "queryVector": { "float32": [0, 0] }, "topK": 10, "filter": filter });
        assert_eq!(keys(&done(&server, "QueryVectors", about(query)).await).join(" "), expected, "{filter}");
    }
    for (filter, reason) in [
        (json!({ "$and": [{ "text": "t" }] }), "Metadata key \"text\" is configured as non-filterable"),
        (json!({ "year": { "$gt": "1" } }), "body/filter/year/$gt must be number"),
        (json!({ "$nor": [] }), "body/filter must match a schema in anyOf"),
        (json!({}), "Filter must contain at least one clause"),
    ] {
        let query = json!({ "queryVector": { "float32": [0, 0] }, "topK": 1, "filter": filter });
        let (status, _, message) = refused(&server, "QueryVectors", about(query)).await;
        assert_eq!((status, &*message), (400, reason));
    }
    let all = json!({ "queryVector": { "float32": [0, 0] }, "topK": 1, "returnMetadata": true });
    let nearest = done(&server, "QueryVectors", about(all)).await;
    assert_eq!(nearest["vectors"][0]["metadata"]["text"], "t");
    assert!(nearest["vectors"][0].get("distance").is_none());
}

#[tokio::test]
async fn listings_go_page_by_page_and_in_segments() {
    let Some(server) = server().await else { return };
    index(&server, 2, "euclidean").await;
    let vectors: Vec<Value> = (0..25)
        .map(|n| json!({ "key": format!("k{n:02}"), "data": { "float32": [n, 0] }, "metadata": { "n": n } }))
        .collect();
    done(&server, "PutVectors", about(json!({ "vectors": vectors }))).await;
    let mut seen = Vec::new();
    let mut next = Value::Null;
    loop {
        let mut body = about(json!({ "maxResults": 10, "returnData": true, "returnMetadata": true }));
        if !next.is_null() {
            body["nextToken"] = next;
        }
        let page = done(&server, "ListVectors", body).await;
        assert_eq!(
            page["vectors"][0]["metadata"]["n"].as_f64(),
            page["vectors"][0]["data"]["float32"][0].as_f64()
        );
        seen.extend(keys(&page).into_iter().map(str::to_owned));
        next = page["nextToken"].clone();
        if next.is_null() {
            break;
        }
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.is_sorted());
    let mut parts = Vec::new();
    for segment in 0..3 {
        let body = about(json!({ "segmentCount": 3, "segmentIndex": segment }));
        let part = done(&server, "ListVectors", body).await;
        assert!(!keys(&part).is_empty());
        parts.extend(keys(&part).into_iter().map(str::to_owned));
    }
    parts.sort();
    assert_eq!(parts, seen);
    for (body, reason) in [
        (json!({ "segmentCount": 2 }), "segmentCount and segmentIndex must be provided together"),
        (json!({ "segmentCount": 2, "segmentIndex": 2 }), "segmentIndex must be less than segmentCount"),
        (json!({ "segmentCount": 17, "segmentIndex": 0 }), "body/segmentCount must be <= 16"),
        (json!({ "maxResults": 1001 }), "body/maxResults must be <= 1000"),
    ] {
        assert_eq!(refused(&server, "ListVectors", about(body)).await.2, reason);
    }
}
