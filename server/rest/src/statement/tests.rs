//! The SQL of requests, as snapshots, and that no value of a client becomes part of it.

use proptest::prelude::*;

use super::*;
use crate::schema_cache::fixture;

/// Returns the statement of a request, with its parameters below.
fn sql_of(method: &str, url: &str, headers: &[&str], body: &str) -> String {
    let request = fixture::request(method, url, headers, body).unwrap();
    let settings = Settings { db_aggregates_enabled: true, ..Settings::default() };
    let plan = Plan::new(&request, &fixture::cache(), &settings).unwrap();
    let statements = Statements::new(&plan, &request, &settings).unwrap().unwrap();
    let mut out = statements.main.sql.to_string();
    for (index, value) in statements.main.parameters.iter().enumerate() {
        let value = value.as_deref().map_or("null".into(), String::from_utf8_lossy);
        out.push_str(&format!("\n${}: {value}", index + 1));
    }
    if let Some(response) = &statements.response {
        out.push_str("\n\n");
        out.push_str(&response.sql);
    }
    if let Some(estimate) = &statements.estimate {
        out.push_str("\n\n");
        out.push_str(&estimate.sql);
    }
    out
}

/// Keeps the SQL of a request in a snapshot that is named after the test.
macro_rules! snapshot {
    ($($test:ident: $method:literal $url:literal $headers:expr, $body:expr;)*) => {$(
        #[test]
        fn $test() {
            insta::assert_snapshot!(sql_of($method, $url, &$headers, $body));
        }
    )*};
}

snapshot! {
    read_all: "GET" "/clubs" [], "";
    read_by_key: "GET" "/clubs?select=id,name&id=eq.1" ["accept: application/vnd.pgrst.object+json"], "";
    read_with_every_comparison: "GET" "/players?select=id&id=gte.1&id=not.lt.2&name=like.*a*&name=ilike(any).{a*,b*}\
        &name=match.^a&id=in.(1,2)&id=in.()&team_id=is.not_null&team_id=isdistinct.3&tags=cs.{a}&name=fts(english).x\
        &words=plfts.x&data->>a=eq.b&data->a->-1=eq.1&tags->0=eq.x" [], "";
    read_with_logic: "GET" "/players?or=(id.eq.1,not.and(name.eq.a,name.neq.b))&not.and=(id.eq.3)" [], "";
    read_with_order_and_page: "GET" "/players?order=name.desc.nullslast,data->>a&limit=20&offset=40" [], "";
    read_with_a_large_limit: "GET" "/players?limit=5000" [], "";
    read_with_casts_and_paths: "GET" "/players?select=id::text,x:name::Double Precision,data->a->>b,data->0,y:tags" [], "";
    read_with_exact_count: "GET" "/players?limit=5&name=eq.a" ["prefer: count=exact"], "";
    read_with_planned_count: "GET" "/players?name=eq.a" ["prefer: count=planned"], "";
    read_head: "HEAD" "/players" ["prefer: count=exact"], "";
    read_stripped: "GET" "/players" ["accept: application/vnd.pgrst.array+json;nulls=stripped"], "";
    read_csv: "GET" "/clubs" ["accept: text/csv"], "";
    describe_schema: "GET" "/" [], "";
    read_features: "GET" "/clubs?select=id" ["accept: application/geo+json"], "";
    read_by_a_handler_of_whole_rows: "GET" "/players?limit=2" ["accept: application/vnd.squad"], "";
    read_by_a_handler_of_any_rows: "GET" "/players?select=id" ["accept: text/x-lines"], "";
    read_domains: "GET" "/kits?main=eq.x&main=in.(a,b)&main=like.c&main->a=eq.1&order=main" [], "";
    insert_domains: "POST" "/kits?select=main" ["prefer: return=representation, missing=default"],
        r#"[{"id":1,"main":"x"}]"#;
    embed_to_one_and_to_many: "GET" "/teams?select=name,clubs(name),players(id,name)&players.name=eq.x\
        &players.order=id.desc&players.limit=3" [], "";
    embed_many_to_many: "GET" "/matches?select=id,players(name)" [], "";
    embed_inner: "GET" "/teams?select=name,clubs!inner(name)&clubs.name=eq.x" ["prefer: count=exact"], "";
    embed_only_to_filter: "GET" "/teams?select=name,players()&players=not.is.null&or=(players.is.null,name.eq.a)" [], "";
    embed_ordered_by: "GET" "/teams?select=name,clubs(name)&order=clubs(name).desc" [], "";
    spread_to_one: "GET" "/players?select=id,...teams(team:name,...clubs(club:name))" [], "";
    spread_to_many: "GET" "/clubs?select=id,...teams(*,players(name))&teams.order=name" [], "";
    embed_recursive: "GET" "/staff?select=name,boss:manager_id(name),staff(name)" [], "";
    embed_computed: "GET" "/teams?select=name,captain(name),rivals!inner(name,...captain(captain:name))\
        &rivals.name=eq.x&order=captain(name)" [], "";
    aggregate_all: "GET" "/players?select=count(),id.max(),data->>level::int.sum()::text" ["prefer: count=exact"], "";
    aggregate_by_columns: "GET" "/players?select=team_id,name::text,kind:data->>kind,count()&order=team_id&limit=2"
        ["prefer: count=exact"], "";
    aggregate_by_embeds: "GET" "/players?select=count(),teams(name,clubs(name)),...passports(*)" [], "";
    aggregate_in_embeds: "GET" "/clubs?select=name,teams(name.max(),count())" [], "";
    aggregate_lifted: "GET" "/players?select=name,...teams(id.max()::text,count(),...clubs(club:name,founded.min()),\
        matches!home_id(id))&order=teams(club)" [], "";
    aggregate_deleted: "DELETE" "/players?select=count()" ["prefer: return=representation, handling=strict, \
        max-affected=3"], "";
    insert_and_compute: "POST" "/teams?select=*,captain(name)" ["prefer: return=representation"], r#"{"name":"x"}"#;
    insert_object: "POST" "/clubs" [], r#"{"name":"x","founded":null}"#;
    insert_array_and_show: "POST" "/teams?select=id,clubs(name)" ["prefer: return=representation"],
        r#"[{"name":"x","club_id":1},{"club_id":2,"name":"y"}]"#;
    insert_nothing_given: "POST" "/clubs" [], "{}";
    insert_and_locate: "POST" "/lineups" ["prefer: return=headers-only"], r#"{"match_id":1,"player_id":2}"#;
    insert_with_defaults: "POST" "/clubs?columns=id,name" ["prefer: missing=default"], r#"[{"name":"x"}]"#;
    upsert_merging: "POST" "/clubs?on_conflict=name" ["prefer: resolution=merge-duplicates"], r#"{"name":"x"}"#;
    upsert_ignoring: "POST" "/clubs" ["prefer: resolution=ignore-duplicates"], r#"[{"id":1,"name":"x"}]"#;
    put_one: "PUT" "/clubs?id=eq.1" [], r#"{"id":1,"name":"x"}"#;
    update_some: "PATCH" "/clubs?name=eq.x&or=(id.eq.1,id.eq.2)" ["prefer: return=representation"], r#"{"name":"y"}"#;
    update_nothing: "PATCH" "/clubs?id=eq.1" [], "{}";
    update_a_single_one: "PATCH" "/clubs?id=eq.1" ["prefer: return=representation",
        "accept: application/vnd.pgrst.object+json"], r#"{"name":"y"}"#;
    delete_at_most: "DELETE" "/clubs?name=eq.x" ["prefer: handling=strict, max-affected=5"], "";
    call_scalar: "POST" "/rpc/add" [], r#"{"b":2,"a":"1"}"#;
    call_by_get: "GET" "/rpc/greet?name=eq&greeting=" [], "";
    call_for_rows: "POST" "/rpc/near?select=name,teams(name)&name=eq.x&order=founded&limit=2" ["prefer: count=exact"],
        r#"{"points":[1,2]}"#;
    call_for_one_row: "POST" "/rpc/best_club" [], "";
    call_for_values: "GET" "/rpc/numbers" [], "";
    call_for_a_handled_value: "POST" "/rpc/add" ["accept: text/x-lines"], r#"{"a":1,"b":2}"#;
    call_for_nothing: "POST" "/rpc/forget" [], "";
    call_with_the_whole_body: "POST" "/rpc/echo" [], r#"{"a":1}"#;
}

#[test]
fn the_number_of_values_is_bounded() {
    let filters = vec!["id=eq."; 70_000].join("&");
    let request = fixture::request("GET", &format!("/players?{filters}"), &[], "").unwrap();
    let plan = fixture::plan(&request).unwrap();
    assert_eq!(Statements::new(&plan, &request, &Settings::default()).unwrap_err().code(), "PGRST100");
}

/// Returns everything outside quotes, which is all that a client must not be able to write.
fn skeleton(sql: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    for character in sql.chars() {
        match quote {
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None => out.push(character),
            Some(open) if open == character => quote = None,
            Some(_) => {}
        }
    }
    assert_eq!(quote, None, "unbalanced quotes: {sql}");
    out
}

fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Returns `text` as a quoted name of the grammar.
fn quoted_name(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

proptest! {
    #[test]
    fn any_value_is_a_parameter(value in "[^\0]*") {
        let url = format!("/players?name=eq.{}", encode(&value));
        let request = fixture::request("GET", &url, &[], "").unwrap();
        let plan = fixture::plan(&request).unwrap();
        let statement = Statements::new(&plan, &request, &Settings::default()).unwrap().unwrap().main;
        prop_assert_eq!(statement.parameters[0].as_deref(), Some(value.as_bytes()));
        prop_assert!(statement.sql.contains("\"players\".\"name\" = $1"));
    }

    #[test]
    fn any_list_element_survives(value in "[^\0]+") {
        let url = format!("/players?name=in.({})", encode(&quoted_name(&value)));
        let request = fixture::request("GET", &url, &[], "").unwrap();
        let plan = fixture::plan(&request).unwrap();
        let statement = Statements::new(&plan, &request, &Settings::default()).unwrap().unwrap().main;
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        let expected = format!("{{\"{escaped}\"}}");
        prop_assert_eq!(statement.parameters[0].as_deref(), Some(expected.as_bytes()));
    }

    #[test]
    fn no_name_leaves_its_quotes(name in "[^\0]+", key in "[^\0\\\\]+") {
        let (column, key) = (quoted_name(&name), quoted_name(&key));
        let select = encode(&format!("{column}:{column}->{key},b:clubs(a:{column})"));
        let filter = encode(&column);
        let url = format!("/teams?select={select}&{filter}=eq.1&clubs.{filter}=is.null&order={filter}.desc");
        let sql = sql_of("GET", &url, &[], "");
        let plain = sql_of("GET", "/teams?select=a:a->k,b:clubs(a:a)&a=eq.1&clubs.a=is.null&order=a.desc", &[], "");
        prop_assert_eq!(skeleton(&sql), skeleton(&plain));
    }

    #[test]
    fn nothing_makes_the_parser_panic(
        path in "/[ -~]{0,12}", query in "[ -~]{0,60}", body in "[ -~]{0,30}",
    ) {
        for method in ["GET", "POST", "PATCH", "PUT"] {
            let url = format!("{}?{query}", path.replace('?', "/"));
            if let Ok(request) = fixture::request(method, &url, &[], &body)
                && let Ok(plan) = fixture::plan(&request)
            {
                let _ = Statements::new(&plan, &request, &Settings::default());
            }
        }
    }

    #[test]
    fn nothing_on_a_known_relation_makes_the_parser_panic(
        select in "[a-z0-9_:.()!,*>\"-]{0,40}", key in "[a-z.>\"-]{1,12}", value in "[a-z0-9.(){},\"\\\\]{0,40}",
    ) {
        let url = format!("/players?select={}&{}={}", encode(&select), encode(&key), encode(&value));
        for method in ["GET", "DELETE"] {
            if let Ok(request) = fixture::request(method, &url, &[], "")
                && let Ok(plan) = fixture::plan(&request)
            {
                let _ = Statements::new(&plan, &request, &Settings::default());
            }
        }
    }
}
