//! The extension pg_jsonschema.

use testkit::Database;
use tokio_postgres::Client;

use crate::support::text;

/// Returns a database with the extension, and a connection; `None` if the environment says that there is none.
async fn with_extension() -> Option<(Database, Client)> {
    if !testkit::has_extension("pg_jsonschema").await {
        return None;
    }
    let database = Database::create().await;
    let client = database.client().await;
    let create = "set role postgres; create extension pg_jsonschema with schema extensions";
    client.batch_execute(create).await.unwrap();
    Some((database, client))
}

/// Checks which of `values`, JSON after "+" for valid or "-", the schema takes.
async fn check(client: &Client, schema: &str, values: &[&str]) {
    for value in values {
        let (sign, json) = value.split_at(1);
        let sql = "select json_matches_schema($1::text::json, $2::text::json), \
                   jsonb_matches_schema($1::text::json, $2::text::jsonb)";
        let row = client.query_one(sql, &[&schema, &json]).await;
        let row = row.unwrap_or_else(|error| panic!("{schema} {json}: {error:?}"));
        let (by_json, by_jsonb): (bool, bool) = (row.get(0), row.get(1));
        assert_eq!((by_json, by_jsonb), (sign == "+", sign == "+"), "{schema}: {json}");
    }
}

async fn check_all(client: &Client, cases: &[(&str, &[&str])]) {
    for (schema, values) in cases {
        check(client, schema, values).await;
    }
}

#[tokio::test]
async fn single_values_are_validated() {
    let Some((_database, client)) = with_extension().await else { return };
    check_all(
        &client,
        &[
            ("true", &["+1"]),
            ("false", &["-1"]),
            (r#"{"type": "integer"}"#, &["+1", "+1.0", "-1.5", "-\"1\"", "-true"]),
            (r#"{"type": ["string", "null"]}"#, &["+\"\"", "+null", "-0", "-[]"]),
            (r#"{"enum": [1, {"a": [null]}]}"#, &["+1.0", "+{\"a\": [null]}", "-\"1\"", "-[1]"]),
            (r#"{"const": false}"#, &["+false", "-0", "-null"]),
            (r#"{"minimum": 1, "exclusiveMaximum": 3}"#, &["+1", "+2.9", "-3", "-0.9", "+\"9\""]),
            (r#"{"multipleOf": 0.01}"#, &["+4.02", "+0", "-4.025"]),
            (r#"{"minLength": 2, "maxLength": 3}"#, &["+\"éé\"", "-\"é\"", "-\"abcd\"", "+\"💩💩\"", "+5"]),
            (r#"{"pattern": "^\\d{3}-[\\w.]+$"}"#, &["+\"123-a_1.b\"", "-\"123-é\"", "-\"12-a\""]),
            (
                r#"{"pattern": "^[\\w-\\.]+@([\\w-]+\\.)+[\\w-]{2,4}$"}"#,
                &["+\"a@b.com\"", "+\"a-b.c@d-e.org\"", "-\"a@b\"", "-\"a b@c.com\""],
            ),
            (r#"{"pattern": "^[\\w-z]$"}"#, &["+\"-\"", "+\"_\"", "+\"A\"", "-\"{\"", "-\"`\""]),
            (r#"{"pattern": "^[+-\\d]$"}"#, &["+\"-\"", "+\"+\"", "+\"7\"", "-\",\"", "-\"\\\\\""]),
            (
                r#"{"pattern": "^[\\s-\\d-a]$"}"#,
                &["+\"-\"", "+\" \"", "+\"0\"", "+\"a\"", "-\"B\"", "-\"\\\\\""],
            ),
            (r#"{"pattern": "^[a-c-]$"}"#, &["+\"b\"", "+\"-\"", "-\"d\""]),
            (r#"{"pattern": "^.{2,400}$"}"#, &["+\"ab\"", "-\"a\"", "-\"a\\nb\""]),
            (r#"{"format": "email"}"#, &["+\"a.b@c.example\"", "-\"a@\"", "-\"x\"", "+1"]),
            (r#"{"format": "date-time"}"#, &["+\"2024-02-29T23:59:60Z\"", "-\"2023-02-29T00:00:00Z\""]),
            (r#"{"format": "ipv4"}"#, &["+\"10.0.0.255\"", "-\"10.0.0.256\"", "-\"10.0.0\""]),
            (r#"{"format": "ipv6"}"#, &["+\"::1\"", "-\"1\"", "-\"::1/64\""]),
            (r#"{"format": "uri"}"#, &["+\"https://a.example/b?c#d\"", "-\"/b\"", "-\"a b:c\""]),
            (r#"{"format": "no such format"}"#, &["+\"x\""]),
        ],
    )
    .await;
    let long = format!("+{:?}", "a".repeat(400));
    let longer = format!("-{:?}", "a".repeat(401));
    check(&client, r#"{"pattern": "^.{2,400}$"}"#, &[&long, &longer]).await;
}

#[tokio::test]
async fn arrays_and_objects_are_validated() {
    let Some((_database, client)) = with_extension().await else { return };
    check_all(
        &client,
        &[
            (r#"{"items": {"type": "string"}}"#, &["+[]", "+[\"a\"]", "-[\"a\", 1]", "+{}"]),
            (r#"{"items": [{"type": "string"}], "additionalItems": false}"#, &["+[\"a\"]", "-[1]", "-[\"a\", 1]"]),
            (r#"{"prefixItems": [{"type": "string"}], "items": {"type": "number"}}"#, &["+[\"a\", 1]", "-[1]", "-[\"a\", \"b\"]"]),
            (r#"{"minItems": 1, "maxItems": 2}"#, &["-[]", "+[1]", "-[1, 2, 3]"]),
            (r#"{"uniqueItems": true}"#, &["+[1, true, \"1\"]", "-[1, 1.0]", "-[{\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1}]"]),
            (r#"{"contains": {"minimum": 5}}"#, &["+[1, 5]", "-[1]", "-[]"]),
            (r#"{"contains": {"minimum": 5}, "minContains": 2, "maxContains": 3}"#, &["-[5]", "+[5, 6, 1]", "-[5, 6, 7, 8]"]),
            (r#"{"contains": false, "minContains": 0}"#, &["+[1]"]),
            (r#"{"properties": {"a": {"type": "string"}, "b": false}}"#, &["+{}", "+{\"a\": \"\"}", "-{\"a\": 1}", "-{\"b\": 1}"]),
            (
                r#"{"properties": {"a": {}}, "patternProperties": {"^x-": {"type": "number"}}, "additionalProperties": false}"#,
                &["+{\"a\": 1, \"x-b\": 2}", "-{\"x-b\": \"\"}", "-{\"c\": 1}"],
            ),
            (r#"{"additionalProperties": {"type": "number"}}"#, &["+{\"a\": 1}", "-{\"a\": \"\"}"]),
            (r#"{"propertyNames": {"maxLength": 2}}"#, &["+{\"ab\": 1}", "-{\"abc\": 1}"]),
            (r#"{"required": ["a", "b"]}"#, &["+{\"a\": 1, \"b\": null}", "-{\"a\": 1}", "+[]"]),
            (r#"{"minProperties": 1, "maxProperties": 1}"#, &["-{}", "+{\"a\": 1}", "-{\"a\": 1, \"b\": 2}"]),
            (r#"{"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}"#, &["+{}", "-{\"a\": 1}", "-{\"c\": 1}", "+{\"c\": 1, \"d\": 1}"]),
            (r#"{"dependentRequired": {"a": ["b"]}}"#, &["-{\"a\": 1}", "+{\"a\": 1, \"b\": 1}"]),
            (r#"{"dependentSchemas": {"a": {"maxProperties": 1}}}"#, &["+{\"a\": 1}", "-{\"a\": 1, \"b\": 1}"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn schemas_are_combined_and_referred_to() {
    let Some((_database, client)) = with_extension().await else { return };
    let newest = r#""$schema": "https://json-schema.org/draft/2020-12/schema""#;
    let unevaluated = format!(
        r#"{{{newest}, "allOf": [{{"properties": {{"a": true}}}}], "anyOf": [{{"properties": {{"b": {{"const": 1}}}}, "required": ["b"]}}, true],
            "unevaluatedProperties": false}}"#
    );
    let items = format!(
        r#"{{{newest}, "prefixItems": [true], "contains": {{"type": "string"}}, "unevaluatedItems": false}}"#
    );
    let sibling = format!(
        r##"{{{newest}, "$ref": "#/$defs/text", "maxLength": 1, "$defs": {{"text": {{"type": "string"}}}}}}"##
    );
    let dynamic = format!(
        r##"{{{newest}, "$id": "https://a.example/strict", "$ref": "tree", "$dynamicAnchor": "node", "unevaluatedProperties": false,
            "$defs": {{"tree": {{"$id": "tree", "$dynamicAnchor": "node", "properties": {{"data": true,
              "children": {{"type": "array", "items": {{"$dynamicRef": "#node"}}}}}}}}}}}}"##
    );
    check_all(
        &client,
        &[
            (r#"{"allOf": [{"type": "number"}, {"minimum": 1}]}"#, &["+1", "-0", "-\"a\""]),
            (r#"{"anyOf": [{"type": "string"}, {"minimum": 1}]}"#, &["+\"a\"", "+1", "-0"]),
            (r#"{"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}"#, &["+2", "+3", "-6", "-1"]),
            (r#"{"not": {"type": "null"}}"#, &["+1", "-null"]),
            (r#"{"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"maximum": 5}}"#, &["+20", "-15", "+3", "-7"]),
            (r##"{"properties": {"next": {"$ref": "#"}}, "required": ["a"]}"##, &["+{\"a\": 1, \"next\": {\"a\": 1}}", "-{\"a\": 1, \"next\": {}}"]),
            (r##"{"$ref": "#/definitions/a~1b%25/items/0", "definitions": {"a/b%": {"items": [{"type": "string"}]}}}"##, &["+\"\"", "-1"]),
            (r##"{"$ref": "#name", "definitions": {"a": {"$id": "#name", "type": "string"}}}"##, &["+\"\"", "-1"]),
            (r##"{"$ref": "#/definitions/a", "type": "string", "definitions": {"a": {"type": "number"}}}"##, &["+1", "-\"\""]),
            (
                r##"{"$id": "https://a.example/b/root.json", "$ref": "../c/other.json#/items", "definitions": {"x": {"$id": "/c/other.json", "items": {"type": "null"}}}}"##,
                &["+null", "-1"],
            ),
            (r#"{"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true, "const": 7}"#, &["+2", "-1"]),
            (r#"{"$ref": "http://json-schema.org/draft-07/schema#"}"#, &["+{\"type\": \"string\"}", "-{\"type\": \"text\"}"]),
            (&unevaluated, &["+{\"a\": 1, \"b\": 1}", "-{\"b\": 2}", "-{\"c\": 1}"]),
            (&items, &["+[1, \"a\"]", "-[\"a\", 1]"]),
            (&sibling, &["+\"a\"", "-\"ab\"", "-1"]),
            (&dynamic, &["+{\"children\": [{\"data\": 1}]}", "-{\"children\": [{\"daat\": 1}]}"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn errors_have_the_texts_of_upstream() {
    let Some((_database, client)) = with_extension().await else { return };
    for (schema, value, expected) in [
        (r#"{"type": "number"}"#, "\"a\"", r#"{"\"a\" is not of type \"number\""}"#),
        (r#"{"type": ["string", "number"]}"#, "null", r#"{"null is not of types \"number\", \"string\""}"#),
        (r#"{"enum": [1, "a"]}"#, "2", r#"{"2 is not one of [1,\"a\"]"}"#),
        (r#"{"minLength": 1}"#, "\"\"", r#"{"\"\" is shorter than 1 character"}"#),
        (r#"{"maxItems": 2}"#, "[1, 2, 3]", r#"{"[1,2,3] has more than 2 items"}"#),
        (r#"{"required": ["b"]}"#, r#"{"z": 1, "a": 2}"#, r#"{"\"b\" is a required property"}"#),
        (
            r#"{"properties": {"a": {"type": "string"}}, "additionalProperties": false}"#,
            r#"{"a": 1, "b": 2, "c": 3}"#,
            r#"{"Additional properties are not allowed ('b', 'c' were unexpected)","1 is not of type \"string\""}"#,
        ),
        (r#"{"not": {"type": "number"}}"#, "1", r#"{"{\"type\":\"number\"} is not allowed for 1"}"#),
        (
            r#"{"anyOf": [false]}"#,
            "1",
            r#"{"1 is not valid under any of the schemas listed in the 'anyOf' keyword"}"#,
        ),
        (
            r#"{"type": "text"}"#,
            "1",
            r#"{"\"text\" is not valid under any of the schemas listed in the 'anyOf' keyword"}"#,
        ),
        (r##"{"$ref": "#/a"}"##, "1", "{\"Pointer '/a' does not exist\"}"),
        (
            r#"{"$ref": "https://a.example/b"}"#,
            "1",
            "{\"Resource 'https://a.example/b' is not present in a registry and retrieving it failed: only this schema is read\"}",
        ),
        (r#"{"type": "number"}"#, "1", "{}"),
    ] {
        let sql = "select jsonschema_validation_errors($1::text::json, $2::text::json)::text";
        let errors: String = client.query_one(sql, &[&schema, &value]).await.unwrap().get(0);
        assert_eq!(errors, expected, "{schema} {value}");
    }
}

#[tokio::test]
async fn invalid_schemas_and_endless_ones_are_refused() {
    let Some((_database, client)) = with_extension().await else { return };
    for (schema, is_valid) in [
        (r#"{"type": "object", "properties": {"a": {"minimum": 1}}}"#, true),
        (r#"{"unknown": {"type": 1}, "enum": []}"#, true),
        ("true", true),
        ("1", false),
        (r#"{"properties": {"a": {"minimum": "1"}}}"#, false),
        (r#"{"minLength": -1}"#, false),
        (r#"{"required": ["a", "a"]}"#, false),
        (r#"{"allOf": []}"#, false),
        (r#"{"pattern": "("}"#, false),
        (r#"{"patternProperties": {"[": true}}"#, false),
        (
            r#"{"$schema": "http://json-schema.org/draft-04/schema#", "additionalProperties": false, "not": true}"#,
            false,
        ),
    ] {
        let row = client.query_one("select jsonschema_is_valid($1::text::json)", &[&schema]).await.unwrap();
        assert_eq!(row.get::<_, bool>(0), is_valid, "{schema}");
        let used = client.query_one("select json_matches_schema($1::text::json, 'null')", &[&schema]).await;
        assert_eq!(used.is_ok(), is_valid, "{schema}");
    }
    let deep = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
    for (schema, value) in
        [(r##"{"$ref": "#"}"##, "1"), (r##"{"properties": {"a": {"$ref": "#"}}}"##, deep.as_str())]
    {
        let sql = "select json_matches_schema($1::text::json, $2::text::json)";
        let error = client.query_one(sql, &[&schema, &value]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "54000", "{schema}");
    }
    let error = client
        .query_one(r#"select json_matches_schema('{"pattern": "\\p{Script=Greek}"}', '"a"')"#, &[])
        .await;
    assert_eq!(error.unwrap_err().code().unwrap().code(), "0A000");
}

/// The example of Supabase's documentation.
#[tokio::test]
async fn check_constraints_use_it_for_every_role() {
    let Some((_database, client)) = with_extension().await else { return };
    client
        .batch_execute(
            r#"create table public.customer (
                 id serial primary key,
                 metadata json,
                 check (
                   extensions.json_matches_schema(
                     '{"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string", "maxLength": 16}}}}',
                     metadata
                   )
                 )
               );
               set role anon; set search_path = '';
               insert into public.customer (metadata) values ('{"tags": ["vip", "darkmode-ui"]}'), (null);"#,
        )
        .await
        .unwrap();
    let refused =
        client.batch_execute(r#"insert into public.customer (metadata) values ('{"tags": [1]}')"#).await;
    assert_eq!(refused.unwrap_err().code().unwrap().code(), "23514");
    client.batch_execute("reset role; set role postgres; drop table public.customer").await.unwrap();
    let properties = "select string_agg(distinct format('%s %s %s', provolatile, proisstrict, proparallel), ',') \
        from pg_proc where proname ~ '^json(b_matches|_matches|schema_)'";
    assert_eq!(text(&client, properties).await, "i t s");
    client.batch_execute("drop extension pg_jsonschema").await.unwrap();
}
