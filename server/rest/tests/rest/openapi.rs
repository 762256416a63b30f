//! The root: the OpenAPI document, or what stands in its place.

use rest::OpenApiMode;
use serde_json::json;

use crate::harness::{League, send, token_of};

const COMMENTS: &str = r#"
    comment on schema league is E'The League\n\nEverything about it.';
    comment on table league.clubs is E'Clubs\n\nThe oldest first.';
    comment on column league.clubs.founded is 'When it began';
    comment on function league.add(int, int) is 'Adds up';
    create type league.foot as enum ('left', 'right');
    create domain league.short as varchar(5) default 'x';
    create function league.lace(a char[], b league.foot, c char(3), d league.foot[]) returns int immutable language sql
      as $$ select 1 $$;
    create table league.boots (
      id bigint primary key, foot league.foot not null default 'left', size numeric default 42.5,
      code league.short, brand varchar(30), club_id int references league.clubs, on_sale boolean default false
    );
    grant select on league.boots to anon;
    revoke execute on function league.many(text[]) from public;
    notify pgrst, 'reload schema';
"#;

/// Starts a league whose objects have comments, seen by the service.
#[expect(clippy::unwrap_used, reason = "a test without its comments can only fail")]
async fn commented() -> League {
    let league = League::start().await;
    league.database.client().await.batch_execute(COMMENTS).await.unwrap();
    league.until("/boots", 200).await;
    league
}

#[tokio::test]
async fn the_document_describes_the_schema() {
    let league = commented().await;
    let response = league.get("/").await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), "application/openapi+json; charset=utf-8");
    assert_eq!(response.header("content-profile"), "league");
    let document = response.json();
    assert_eq!(document["swagger"], "2.0");
    assert_eq!(document["info"]["title"], "The League");
    assert_eq!(document["info"]["description"], "Everything about it.");
    assert_eq!(document["host"], "0.0.0.0:3000");
    assert_eq!(document["basePath"], "/");
    assert!(document.get("security").is_none() && document.get("securityDefinitions").is_none());
    let boots = &document["definitions"]["boots"];
    assert_eq!(boots["required"], json!(["id", "foot"]));
    assert_eq!(
        boots["properties"],
        json!({
            "id": { "description": "Note:\nThis is a Primary Key.<pk/>", "format": "int64", "type": "integer" },
            "foot": { "default": "left", "enum": ["left", "right"], "format": "league.foot", "type": "string" },
            "size": { "default": 42.5, "format": "numeric", "type": "number" },
            "code": { "default": "x", "maxLength": 5, "format": "character varying", "type": "string" },
            "brand": { "maxLength": 30, "format": "character varying", "type": "string" },
            "club_id": {
                "description":
                    "Note:\nThis is a Foreign Key to `clubs.id`.<fk table='clubs' column='id'/>",
                "format": "int32", "type": "integer",
            },
            "on_sale": { "default": false, "format": "boolean", "type": "boolean" },
        })
    );
    let passports = &document["definitions"]["passports"]["properties"]["player_id"]["description"];
    assert_eq!(
        passports,
        "Note:\nThis is a Primary Key.<pk/>\n\
         This is a Foreign Key to `players.id`.<fk table='players' column='id'/>"
    );
    let players = &document["definitions"]["players"]["properties"]["id"]["description"];
    assert_eq!(players, "Note:\nThis is a Primary Key.<pk/>");
}

#[tokio::test]
async fn paths_say_what_can_be_asked() {
    let league = commented().await;
    let document = league.get("/").await.json();
    let clubs = &document["paths"]["/clubs"];
    assert_eq!(clubs["get"]["summary"], "Clubs");
    assert_eq!(clubs["get"]["description"], "The oldest first.");
    assert_eq!(clubs["get"]["parameters"][2], json!({ "$ref": "#/parameters/rowFilter.clubs.founded" }));
    assert_eq!(document["parameters"]["rowFilter.clubs.founded"]["description"], "When it began");
    assert_eq!(document["parameters"]["body.clubs"]["schema"], json!({ "$ref": "#/definitions/clubs" }));
    let methods = |path: &str| -> Vec<String> {
        document["paths"][path].as_object().map_or(vec![], |item| item.keys().cloned().collect())
    };
    assert_eq!(methods("/clubs"), ["get", "post", "patch", "delete"]);
    assert_eq!(methods("/rpc/add"), ["get", "post"]);
    assert_eq!(methods("/rpc/found_club"), ["post"]);
    let add = &document["paths"]["/rpc/add"];
    assert_eq!(add["post"]["summary"], "Adds up");
    assert_eq!(
        add["get"]["parameters"][1],
        json!({ "name": "b", "required": false, "in": "query", "type": "integer", "format": "int32" })
    );
    let arguments = &add["post"]["parameters"][0]["schema"];
    assert_eq!(arguments["required"], json!(["a"]));
    let lace = &document["paths"]["/rpc/lace"];
    let formats = |parameters: &serde_json::Value| -> Vec<String> {
        let parameters = parameters.as_array().unwrap().iter();
        parameters.map(|parameter| parameter["format"].as_str().unwrap().to_owned()).collect()
    };
    // Declared types, by the names that the request's search path has for them.
    assert_eq!(formats(&lace["get"]["parameters"]), ["character[]", "foot", "character", "foot[]"]);
    assert_eq!(lace["post"]["parameters"][0]["schema"]["properties"]["b"]["format"], "foot");
    let every_reference_is_defined = |text: &str| {
        for place in ["parameters", "definitions"] {
            for reference in text.split(&format!("\"#/{place}/")).skip(1) {
                let pointer = reference.split("\"}").next().unwrap().replace("\\\"", "\"");
                assert!(document.pointer(&format!("/{place}/{pointer}")).is_some(), "{place}/{pointer}");
            }
        }
    };
    every_reference_is_defined(&document.to_string());
}

#[tokio::test]
async fn only_what_the_role_may_use_is_listed() {
    let league = commented().await;
    let document = league.get("/").await.json();
    assert!(document["definitions"].get("secrets").is_none());
    assert!(document["paths"].get("/rpc/many").is_none());
    let request = league.request("GET", "/").bearer_auth(token_of("authenticated"));
    let document = send(request).await.json();
    assert!(document["definitions"].get("secrets").is_some());
    let other = league.get_with("/", &[("accept-profile", "archive")]).await;
    assert_eq!(other.header("content-profile"), "archive");
    assert_eq!(other.json()["definitions"]["clubs"]["required"], json!(["id"]));
    assert!(other.json()["definitions"].get("teams").is_none());
}

#[tokio::test]
async fn settings_change_the_document() {
    let league = League::with(|settings| {
        settings.openapi_mode = OpenApiMode::IgnorePrivileges;
        settings.openapi_security_active = true;
        settings.openapi_server_proxy_uri = Some("https://league.example/rest/v1".parse().unwrap());
    })
    .await;
    let document = league.get("/").await.json();
    assert!(document["definitions"].get("secrets").is_some());
    assert_eq!(document["security"], json!([{ "JWT": [] }]));
    assert_eq!(document["securityDefinitions"]["JWT"]["name"], "Authorization");
    assert_eq!(document["host"], "league.example:443");
    assert_eq!(document["basePath"], "/rest/v1");
    assert_eq!(document["schemes"], json!(["https"]));
    assert_eq!(document["info"]["title"], "PostgREST API");
}

#[tokio::test]
async fn the_root_can_be_disabled_or_be_a_function() {
    let league = League::with(|settings| settings.openapi_mode = OpenApiMode::Disabled).await;
    let response = league.get("/").await;
    assert_eq!((response.status, response.code()), (404, "PGRST126".to_owned()));
    let league = League::with(|settings| settings.db_root_spec = Some("totals".to_owned())).await;
    assert_eq!(league.rows("/").await, json!({ "players": 4, "teams": 4 }));
    let sql = "create domain league.\"application/openapi+json\" as json;
               create function league.root() returns league.\"application/openapi+json\" stable language sql
                 as $$ select '{\"swagger\":\"2.0\"}'::json $$;";
    let league = League::extended(sql, |settings| settings.db_root_spec = Some("root".to_owned())).await;
    let root = league.get_with("/", &[("accept", "application/openapi+json")]).await;
    assert_eq!(root.json(), json!({ "swagger": "2.0" }));
    assert_eq!(root.header("content-type"), "application/openapi+json; charset=utf-8");
}

#[tokio::test]
async fn methods_and_media_types_of_the_root() {
    let league = League::start().await;
    let head = send(league.request("HEAD", "/")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-type"), "application/openapi+json; charset=utf-8");
    let options = send(league.request("OPTIONS", "/")).await;
    assert_eq!(options.header("allow"), "OPTIONS,GET,HEAD");
    for accept in ["application/openapi+json", "application/json", "text/html, */*;q=0.1"] {
        assert_eq!(league.get_with("/", &[("accept", accept)]).await.status, 200, "{accept}");
    }
    let refused = league.get_with("/", &[("accept", "text/csv")]).await;
    assert_eq!((refused.status, refused.code()), (406, "PGRST107".to_owned()));
    let no_role = send(league.request("GET", "/").bearer_auth(token_of("nobody"))).await;
    assert_eq!(no_role.status, 401);
}
