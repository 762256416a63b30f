//! Vector buckets with large or many vectors, and under many requests at once.

use crate::vector::{about, call, done, keys, refused, server};
use poem::http::StatusCode;
use serde_json::{Value, json};

#[tokio::test]
async fn large_dimensions_and_many_vectors_are_searched_through_graphs_too() {
    let Some(server) = server().await else { return };
    done(&server, "CreateVectorBucket", json!({ "vectorBucketName": "b" })).await;
    for (dimension, graph) in [(1536, "vector_cosine_ops"), (3072, "halfvec_cosine_ops"), (4096, "")] {
        let name = format!("i{dimension}");
        let body = |more: Value| {
            let mut body = json!({ "vectorBucketName": "b", "indexName": name });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let definition = json!({ "dataType": "float32", "dimension": dimension, "distanceMetric": "cosine" });
        done(&server, "CreateIndex", body(definition)).await;
        let graphs = "select coalesce(string_agg(indexdef, ''), '') from pg_indexes \
                      where schemaname = 'storage_vectors' and indexdef like '%hnsw%'";
        let graphs = server.row(graphs).await.concat();
        assert!(graph.is_empty() || graphs.contains(graph), "{graphs}");
        // Each vector points mostly into a direction of its own.
        let vectors: Vec<Value> = (0..40)
            .map(|n| {
                let numbers: Vec<f64> = (0..dimension).map(|i| if i == n { 1.0 } else { 0.001 * (i % 7) as f64 }).collect();
                json!({ "key": format!("k{n}"), "data": { "float32": numbers }, "metadata": { "odd": n % 2 == 1 } })
            })
            .collect();
        done(&server, "PutVectors", body(json!({ "vectors": vectors }))).await;
        let numbers: Vec<f64> =
            (0..dimension).map(|i| if i == 8 { 1.0 } else { 0.001 * (i % 7) as f64 }).collect();
        let query = json!({ "queryVector": { "float32": numbers }, "topK": 5, "returnDistance": true });
        let found = done(&server, "QueryVectors", body(query.clone())).await;
        assert_eq!((keys(&found).len(), keys(&found)[0]), (5, "k8"), "{dimension}");
        assert!(found["vectors"][0]["distance"].as_f64().unwrap().abs() < 1e-6, "the distance is exact");
        let mut filtered = query;
        filtered["filter"] = json!({ "odd": true });
        filtered["topK"] = 30.into();
        assert_eq!(keys(&done(&server, "QueryVectors", body(filtered)).await).len(), 20, "{dimension}");
        done(&server, "DeleteIndex", body(json!({}))).await;
    }
    let too_large = json!({ "dataType": "float32", "dimension": 4097, "distanceMetric": "cosine" });
    assert_eq!(refused(&server, "CreateIndex", about(too_large)).await.2, "body/dimension must be <= 4096");
}

#[tokio::test]
async fn requests_at_once_make_one_index_and_write_each_vector_once() {
    let Some(server) = server().await else { return };
    done(&server, "CreateVectorBucket", json!({ "vectorBucketName": "b" })).await;
    let definition = json!({ "dataType": "float32", "dimension": 2, "distanceMetric": "cosine" });
    let creations = (0..6).map(|_| call(&server, "CreateIndex", about(definition.clone())));
    let statuses: Vec<u16> = futures_util::future::join_all(creations)
        .await
        .iter()
        .map(|response| response.status.as_u16())
        .collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
    let writes = (0..6).map(|n| {
        let mut vectors: Vec<Value> =
            (0..50).map(|k| json!({ "key": format!("k{k}"), "data": { "float32": [n + 1, k] } })).collect();
        if n % 2 == 0 {
            vectors.reverse();
        }
        call(&server, "PutVectors", about(json!({ "vectors": vectors })))
    });
    let responses = futures_util::future::join_all(writes).await;
    assert!(responses.iter().all(|response| response.status == StatusCode::OK));
    let all = done(&server, "ListVectors", about(json!({ "returnData": true }))).await;
    assert_eq!(keys(&all).len(), 50);
    let first: Vec<_> =
        all["vectors"].as_array().unwrap().iter().map(|v| v["data"]["float32"][0].clone()).collect();
    assert!(first.iter().all(|number| *number == first[0]), "one request's vectors are the last, as a whole");
}
