//! A small league, as the catalog query would describe it, for tests of plans and statements.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

use super::{Catalog, SchemaCache};
use crate::error::Error;
use crate::plan::Plan;
use crate::request::{Incoming, Request};
use crate::settings::Settings;

/// Returns the cache of the league.
pub(crate) fn cache() -> SchemaCache {
    let catalog: Catalog = serde_json::from_value(json!({
        "tables": [
            table("clubs", &["id"], &[("id", "integer"), ("name", "text"), ("founded", "date")]),
            table("teams", &["id"], &[("id", "integer"), ("club_id", "integer"), ("name", "text")]),
            table("players", &["id"], &[
                ("id", "integer"), ("team_id", "integer"), ("name", "text"), ("data", "jsonb"), ("tags", "text[]"),
                ("words", "tsvector"),
            ]),
            table("matches", &["id"], &[
                ("id", "integer"), ("home_id", "integer"), ("away_id", "integer"), ("day", "date"),
            ]),
            table("lineups", &["match_id", "player_id"], &[("match_id", "integer"), ("player_id", "integer")]),
            table("passports", &["player_id"], &[("player_id", "integer"), ("number", "character varying(20)")]),
            table("staff", &["id"], &[("id", "integer"), ("manager_id", "integer"), ("name", "text")]),
            {
                "schema": "public", "name": "kits", "insertable": true, "updatable": true, "deletable": true,
                "primary_key": ["id"],
                "columns": [
                    { "name": "id", "type": "integer", "base_type": "integer", "default": null },
                    { "name": "main", "type": "public.colour", "base_type": "integer", "default": "255", "casts": {
                        "to_json": "public.show", "from_json": "public.read", "from_text": "public.read",
                    } },
                ],
            },
            table("standings", &[], &[("team", "text"), ("points", "bigint")]),
        ],
        "foreign_keys": [
            key("teams", "club_id", "clubs", "id", "teams_club_id_fkey", false),
            key("players", "team_id", "teams", "id", "players_team_id_fkey", false),
            key("matches", "home_id", "teams", "id", "matches_home_id_fkey", false),
            key("matches", "away_id", "teams", "id", "matches_away_id_fkey", false),
            key("lineups", "match_id", "matches", "id", "lineups_match_id_fkey", false),
            key("lineups", "player_id", "players", "id", "lineups_player_id_fkey", false),
            key("passports", "player_id", "players", "id", "passports_player_id_fkey", true),
            key("staff", "manager_id", "staff", "id", "staff_manager_id_fkey", false),
        ],
        "functions": [
            function("add", &[("a", "integer", true), ("b", "integer", true)], scalar("int4"), false),
            function("add", &[("a", "integer", true)], scalar("int4"), false),
            function("greet", &[("name", "text", true), ("greeting", "text", false)], scalar("text"), false),
            function("near", &[("points", "integer[]", true)], rows("clubs", true), false),
            function("best_club", &[], rows("clubs", false), false),
            function("forget", &[], scalar("void"), true),
            function("echo", &[("", "json", true)], scalar("json"), true),
            function("twice", &[("x", "integer", true)], scalar("int4"), false),
            function("twice", &[("x", "text", true)], scalar("text"), false),
            function("numbers", &[], json!({
                "schema": "pg_catalog", "name": "int4", "is_set": true, "is_composite": false
            }), false),
        ],
        "media_handlers": [
            { "function": { "schema": "public", "name": "squad" }, "media_type": "application/vnd.squad",
              "relation": { "schema": "public", "name": "players" } },
            { "function": { "schema": "public", "name": "lines" }, "media_type": "text/x-lines", "relation": null },
        ],
        "geojson": { "schema": "gis", "name": "st_asgeojson" },
        "row_functions": [
            row_function("captain", "teams", "players", true), row_function("rivals", "teams", "teams", false),
        ],
        "role_settings": { "anon": [["statement_timeout", "3s"]] },
    }))
    .unwrap();
    SchemaCache::new(catalog, &["public".to_owned()])
}

fn table(name: &str, primary_key: &[&str], columns: &[(&str, &str)]) -> Value {
    let columns: Vec<Value> = columns
        .iter()
        .map(|(name, kind)| {
            let default = (*name == "id").then_some("nextval('public.ids'::regclass)");
            json!({ "name": name, "type": kind, "base_type": kind, "default": default })
        })
        .collect();
    json!({
        "schema": "public", "name": name, "insertable": true, "updatable": true, "deletable": true,
        "primary_key": primary_key, "columns": columns,
    })
}

fn key(table: &str, column: &str, foreign: &str, referred: &str, name: &str, is_one_to_one: bool) -> Value {
    json!({
        "table": { "schema": "public", "name": table },
        "foreign_table": { "schema": "public", "name": foreign },
        "constraint": name, "columns": [[column, referred]], "is_one_to_one": is_one_to_one,
    })
}

fn function(name: &str, parameters: &[(&str, &str, bool)], returns: Value, is_volatile: bool) -> Value {
    let parameters: Vec<Value> = parameters
        .iter()
        .map(|(name, kind, required)| {
            json!({
                "name": name, "type": kind, "is_required": required, "is_variadic": false,
                "is_scalar": !kind.ends_with("[]"),
            })
        })
        .collect();
    json!({
        "schema": "public", "name": name, "parameters": parameters, "returns": returns,
        "is_volatile": is_volatile,
    })
}

fn row_function(name: &str, table: &str, foreign: &str, is_to_one: bool) -> Value {
    json!({
        "function": { "schema": "public", "name": name }, "table": { "schema": "public", "name": table },
        "foreign_table": { "schema": "public", "name": foreign }, "is_to_one": is_to_one,
    })
}

fn scalar(name: &str) -> Value {
    json!({ "schema": "pg_catalog", "name": name, "is_set": false, "is_composite": false })
}

fn rows(name: &str, is_set: bool) -> Value {
    json!({ "schema": "public", "name": name, "is_set": is_set, "is_composite": true })
}

/// Returns a request as the service would parse it. `headers` are `name: value` lines.
pub(crate) fn request(method: &str, url: &str, headers: &[&str], body: &str) -> Result<Request, Error> {
    let mut map = HeaderMap::new();
    for line in headers {
        let (name, value) = line.split_once(": ").unwrap();
        map.append(HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap());
    }
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let body = Bytes::copy_from_slice(body.as_bytes());
    Request::parse(
        &Incoming { method: &method, path, query, headers: &map, body },
        &Settings { db_anon_role: Some("anon".into()), ..Settings::default() },
    )
}

/// Returns the plan of a request on the league.
pub(crate) fn plan(request: &Request) -> Result<Plan, Error> {
    Plan::new(request, &cache(), &Settings::default())
}
