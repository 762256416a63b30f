//! What Basalt and Supabase Storage leave each other in a database that they take turns on.

use crate::support::Server;
use poem::http::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn rows_are_what_supabase_storage_writes() {
    let server = Server::start().await;
    server.bucket("b", false).await;
    let owner = "8f9b2c1e-0000-4000-8000-00000000000a";
    server
        .sql("create policy all_of_it on storage.objects to authenticated using (true) with check (true)")
        .await;
    // {"a":"b"}
    let headers =
        [("content-type", "text/plain"), ("cache-control", "max-age=60"), ("x-metadata", "eyJhIjoiYiJ9")];
    server.upload(&server.user(owner), "b/d/a.txt", &headers, b"hello b.txt").await;
    let row = server
        .row(
            "select json_build_object('name', name, 'owner', owner, 'owner_id', owner_id, 'tokens', path_tokens, \
               'version', version ~ '^[0-9a-f-]{36}$', 'metadata', metadata - 'lastModified', 'user', user_metadata, \
               'modified', metadata ->> 'lastModified' ~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$', \
               'others', (archived_at is null) and not is_delete_marker and not is_versioned)::text \
             from storage.objects",
        )
        .await;
    assert_eq!(
        serde_json::from_str::<Value>(&row[0]).unwrap(),
        json!({
            "name": "d/a.txt", "owner": owner, "owner_id": owner, "tokens": ["d", "a.txt"], "version": true,
            "metadata": {
                "eTag": "\"74298d14feab74d688d58ce4cf74e8f3\"", "size": 11, "mimetype": "text/plain",
                "cacheControl": "max-age=60", "contentLength": 11, "httpStatusCode": 200,
            },
            "user": { "a": "b" }, "modified": true, "others": true,
        })
    );
}

#[tokio::test]
async fn databases_of_supabase_storage_are_listed_too() {
    let server = Server::start().await;
    server.bucket("b", false).await;
    // As it writes rows; and it has none of the helpers of Basalt's own listing.
    server
        .sql(
            "insert into storage.objects (bucket_id, name, version, metadata)
             select 'b', name, gen_random_uuid(), '{\"size\": 1}' from unnest(array['a', 'p/a', 'p/b', 'p/c/d', 'q']) name;
             drop function storage.prefix_successor, storage.list_level;",
        )
        .await;
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut body = json!({ "prefix": "p/", "with_delimiter": false, "limit": 2 });
        if !cursor.is_null() {
            body["cursor"] = cursor;
        }
        let page = server.json(Method::POST, "/object/list-v2/b", &body).await.json();
        names.extend(page["objects"].as_array().unwrap().iter().map(|object| object["name"].clone()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(Value::from(names), json!(["p/a", "p/b", "p/c/d"]));
}

#[tokio::test]
async fn pages_with_folders_show_each_entry_once() {
    let server = Server::start().await;
    server.bucket("b", false).await;
    server
        .sql(
            "insert into storage.objects (bucket_id, name, created_at)
             select 'b', name, '2026-01-01'::timestamptz + (number % 3) * interval '1 hour'
               from unnest(array['/x', '/y', '!', 'dir', 'dir-2', 'dir/a', 'dir/b', 'dir2/c', 'e/f/g', 'tail/', 'z'])
                 with ordinality names (name, number)",
        )
        .await;
    for column in ["name", "created_at", "updated_at"] {
        for order in ["asc", "desc"] {
            for limit in 1..4 {
                let mut body = json!({
                    "prefix": "", "with_delimiter": true, "limit": limit, "sortBy": { "column": column, "order": order },
                });
                let mut seen = Vec::new();
                loop {
                    let page = server.json(Method::POST, "/object/list-v2/b", &body).await.json();
                    for kind in ["folders", "objects"] {
                        let entries = page[kind].as_array().unwrap().iter();
                        seen.extend(entries.map(|entry| entry["name"].as_str().unwrap().to_owned()));
                    }
                    assert!(seen.len() <= 9, "{column} {order} {limit}: {seen:?}");
                    if page["hasNext"] == json!(false) {
                        break;
                    }
                    body["cursor"] = page["nextCursor"].clone();
                }
                seen.sort();
                let expected = ["!", "/", "dir", "dir-2", "dir/", "dir2/", "e/", "tail/", "z"];
                assert_eq!(seen, expected, "{column} {order} {limit}");
            }
        }
    }
}
