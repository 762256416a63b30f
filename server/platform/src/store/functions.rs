//! Deployed functions: their versions, and the files of each version.

use postgres::{Database, text};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Changes, bytes, document_of, documents, json, optional};
use crate::Error;

/// A version of a function.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct FunctionRow {
    /// The function's id, which all its versions share.
    pub(crate) id: Uuid,
    pub(crate) slug: String,
    pub(crate) name: String,
    pub(crate) version: i32,
    /// Milliseconds since 1970.
    pub(crate) created_at: i64,
    /// The same, of the version.
    pub(crate) updated_at: i64,
    pub(crate) verify_jwt: bool,
    pub(crate) entrypoint_path: String,
    pub(crate) import_map_path: Option<String>,
    pub(crate) static_patterns: Vec<String>,
    /// SHA-256 over the files and what belongs to them, hexadecimal.
    pub(crate) digest: String,
}

/// What a version consists of, besides its files.
#[derive(Debug, Clone)]
pub(crate) struct VersionFields {
    pub(crate) name: String,
    pub(crate) verify_jwt: bool,
    pub(crate) entrypoint_path: String,
    pub(crate) import_map_path: Option<String>,
    pub(crate) static_patterns: Vec<String>,
}

impl FunctionRow {
    /// Returns what the version consists of, besides its files.
    pub(crate) fn fields(&self) -> VersionFields {
        VersionFields {
            name: self.name.clone(),
            verify_jwt: self.verify_jwt,
            entrypoint_path: self.entrypoint_path.clone(),
            import_map_path: self.import_map_path.clone(),
            static_patterns: self.static_patterns.clone(),
        }
    }
}

const COLUMNS: &str = "pg_catalog.json_build_object('id', f.id, 'slug', f.slug, 'name', v.name, \
     'version', v.version, 'created_at', (extract(epoch from f.created_at) * 1000)::bigint, \
     'updated_at', (extract(epoch from f.updated_at) * 1000)::bigint, 'verify_jwt', v.verify_jwt, \
     'entrypoint_path', v.entrypoint_path, 'import_map_path', v.import_map_path, \
     'static_patterns', v.static_patterns, 'digest', v.digest)";

/// Returns the versions that take calls, by the functions' slugs.
pub(crate) async fn list(database: &Database, project: &str) -> Result<Vec<FunctionRow>, Error> {
    let sql = format!(
        "select {COLUMNS} from basalt_platform.functions f \
           join basalt_platform.function_versions v on v.function = f.id and v.version = f.version \
          where f.project = $1 order by f.slug"
    );
    documents(database, &sql, vec![text(project)]).await
}

/// Returns a version of a function: `version`, or without it the one that takes calls.
pub(crate) async fn find(
    database: &Database,
    project: &str,
    slug: &str,
    version: Option<i32>,
) -> Result<Option<FunctionRow>, Error> {
    let sql = format!(
        "select {COLUMNS} from basalt_platform.functions f \
           join basalt_platform.function_versions v \
             on v.function = f.id and v.version = coalesce($3::integer, f.version) \
          where f.project = $1 and f.slug = $2"
    );
    let version = version.map(|version| version.to_string());
    document_of(database, &sql, vec![text(project), text(slug), optional(version.as_deref())]).await
}

/// A file: its path, and its content.
pub(crate) type File = (String, bytes::Bytes);

/// Returns the files of a version, by their paths, and its lock.
pub(crate) async fn files(
    database: &Database,
    function: Uuid,
    version: i32,
) -> Result<(Vec<File>, Option<String>), Error> {
    #[derive(Deserialize)]
    struct Row {
        path: String,
        content: String,
    }
    let sql = "select pg_catalog.json_build_object('path', f.path, \
                 'content', pg_catalog.translate(pg_catalog.encode(c.content, 'base64'), E'\\n', '')) \
                from basalt_platform.function_files f join basalt_platform.file_contents c using (hash) \
               where f.function = $1::uuid and f.version = $2::integer order by f.path";
    let (id, number) = (function.to_string(), version.to_string());
    let rows: Vec<Row> = documents(database, sql, vec![text(&id), text(&number)]).await?;
    let lock = "select pg_catalog.to_json(lock) from basalt_platform.function_versions \
                 where function = $1::uuid and version = $2::integer";
    let lock: Option<Option<String>> = document_of(database, lock, vec![text(&id), text(&number)]).await?;
    let decode = |row: Row| {
        let content = data_encoding::BASE64.decode(row.content.as_bytes());
        let content = content.map_err(|error| Error::Internal(format!("the file {}: {error}", row.path)))?;
        Ok((row.path, content.into()))
    };
    Ok((rows.into_iter().map(decode).collect::<Result<_, Error>>()?, lock.flatten()))
}

/// Takes the next number of a version of the function `slug`, which is made if it is new. Returns the function's id and
/// the number.
pub(crate) async fn next_version(
    database: &Database,
    project: &str,
    slug: &str,
) -> Result<(Uuid, i32), Error> {
    let sql = "insert into basalt_platform.functions (project, slug, last_version) values ($1, $2, 1) \
               on conflict (project, slug) do update set last_version = functions.last_version + 1 \
               returning pg_catalog.json_build_array(id, last_version)";
    let taken = document_of(database, sql, vec![text(project), text(slug)]).await?;
    taken.ok_or_else(|| Error::Internal("no number of a version was taken".to_owned()))
}

/// The SQLSTATE of a row that refers to one that is gone.
const MISSING: &str = "23503";

/// Keeps a version that [`next_version`] has numbered, with its files. It takes no calls yet.
///
/// Errors: 409 if the function was deleted since.
pub(crate) async fn keep(
    database: &Database,
    (function, version): (Uuid, i32),
    fields: &VersionFields,
    files: &[File],
    lock: Option<&str>,
    digest: &str,
) -> Result<(), Error> {
    use sha2::Digest as _;
    let (function, version) = (function.to_string(), version.to_string());
    let hashes: Vec<[u8; 32]> =
        files.iter().map(|(_, content)| sha2::Sha256::digest(content).into()).collect();
    let verify_jwt = fields.verify_jwt.to_string();
    let mut changes = Changes::new().and(ALONE, Vec::new()).and(
        "insert into basalt_platform.function_versions \
           (function, version, name, verify_jwt, entrypoint_path, import_map_path, static_patterns, lock, digest) \
         values ($1::uuid, $2::integer, $9, $3::boolean, $4, $5, \
           array(select pg_catalog.jsonb_array_elements_text($6::jsonb)), $7, $8)",
        vec![
            text(&function),
            text(&version),
            text(&verify_jwt),
            text(&fields.entrypoint_path),
            optional(fields.import_map_path.as_deref()),
            json(&fields.static_patterns),
            optional(lock),
            text(digest),
            text(&fields.name),
        ],
    );
    for ((path, content), hash) in files.iter().zip(&hashes) {
        changes = changes
            .and(
                "insert into basalt_platform.file_contents (hash, content) values ($1::bytea, $2::bytea) \
                 on conflict (hash) do nothing",
                vec![bytes(hash), bytes(content)],
            )
            .and(
                "insert into basalt_platform.function_files (function, version, path, hash) \
                 values ($1::uuid, $2::integer, $3, $4::bytea)",
                vec![text(&function), text(&version), text(path), bytes(hash)],
            );
    }
    changes.commit::<Value>(database).await.map(drop).map_err(|error| match error {
        Error::Database(postgres::Error::Postgres(refusal)) if refusal.code == MISSING => {
            Error::Refused(http::StatusCode::CONFLICT, "The function was deleted in the meantime".into())
        }
        other => other,
    })
}

/// Gives the calls of functions to other versions, all at once. Each is the function's id and the version's number.
/// Versions that are older than the one before are removed, with the files that no other version has. With
/// `only_newer`, a function whose version is newer already keeps it. Returns the ids of the functions that got another
/// version.
pub(crate) async fn activate(
    database: &Database,
    versions: &[(Uuid, i32)],
    only_newer: bool,
) -> Result<Vec<Uuid>, Error> {
    let rows: Vec<Value> =
        versions.iter().map(|(id, version)| serde_json::json!({ "id": id, "version": version })).collect();
    let only_newer = only_newer.to_string();
    let given = "pg_catalog.jsonb_to_recordset($1::jsonb) as n (id uuid, version integer)";
    let remove = format!(
        "delete from basalt_platform.function_versions v using basalt_platform.functions f, {given} \
          where f.id = n.id and v.function = f.id and v.version < coalesce(f.version, 0) and v.version < n.version"
    );
    let update = format!(
        "update basalt_platform.functions f set version = n.version, updated_at = now() from {given} \
          where f.id = n.id and (not $2::boolean or coalesce(f.version, 0) < n.version) \
          returning pg_catalog.to_json(f.id)"
    );
    Changes::new()
        .and(ALONE, Vec::new())
        .and(&remove, vec![json(&rows)])
        .and(SWEEP, Vec::new())
        .and(&update, vec![json(&rows), text(&only_newer)])
        .commit(database)
        .await
}

/// Makes other changes of contents wait: a content must not be removed while a new version takes it over.
const ALONE: &str =
    "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('basalt_platform.file_contents'))";

/// Removes contents that no version has any more.
const SWEEP: &str = "delete from basalt_platform.file_contents c where not exists ( \
     select from basalt_platform.function_files f where f.hash = c.hash)";

/// Deletes a function with all its versions; reports whether there was one.
pub(crate) async fn delete(database: &Database, project: &str, slug: &str) -> Result<bool, Error> {
    let found = find(database, project, slug, None).await?.is_some();
    let sql = "delete from basalt_platform.functions where project = $1 and slug = $2";
    let changes = Changes::new()
        .and(ALONE, Vec::new())
        .and(sql, vec![text(project), text(slug)])
        .and(SWEEP, Vec::new());
    changes.commit::<Value>(database).await?;
    Ok(found)
}
