//! Search by similarity with pgvector, as Supabase's documentation builds it.

use serde_json::json;
use testkit::Database;

use crate::harness::League;

const DOCUMENTS: &str = "
    create extension vector with schema extensions;
    create table league.documents (id int primary key, embedding extensions.vector(3) not null);
    create index on league.documents using hnsw (embedding extensions.vector_cosine_ops);
    create function league.match_documents(query_embedding extensions.vector(3), match_count int)
    returns table (id int, similarity float)
    language sql stable
    as $$
      select documents.id, 1 - (documents.embedding operator(extensions.<=>) query_embedding)
      from league.documents
      order by documents.embedding operator(extensions.<=>) query_embedding
      limit match_count
    $$;
    grant all on league.documents to authenticated;
    grant usage on schema extensions to anon, authenticated;";

#[tokio::test]
async fn documents_are_stored_and_found_by_similarity() {
    if !testkit::has_extension("vector").await {
        return;
    }
    let league = League::on(Database::create().await, DOCUMENTS, |_| {}, |_| {}).await;
    let rows = json!([
        { "id": 1, "embedding": [1, 0, 0] },
        { "id": 2, "embedding": "[0.9,0.1,0]" },
        { "id": 3, "embedding": [0, 0, 1] },
    ]);
    let stored = league.change("POST", "/documents", &[], &rows.to_string()).await;
    assert_eq!(stored.status, 201, "{stored:?}");
    let found =
        league.call("match_documents", &json!({ "query_embedding": [1, 0.05, 0], "match_count": 2 })).await;
    assert_eq!(found.status, 200, "{found:?}");
    let ids: Vec<_> = found.json().as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2)]);
    let wrong = league.call("match_documents", &json!({ "query_embedding": [1, 2], "match_count": 2 })).await;
    assert_eq!((wrong.status, wrong.code()), (400, "22000".to_owned()), "{wrong:?}");
}
