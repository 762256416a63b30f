//! Which plans requests become, and which requests are refused while planning.

use super::*;
use crate::schema_cache::fixture;

#[test]
fn targets_under_an_alias_may_have_to_be_named_by_it() {
    let request = fixture::request("GET", "/teams?select=club:clubs(*)&clubs.name=eq.x", &[], "").unwrap();
    assert!(fixture::plan(&request).is_ok());
    let settings = Settings { url_use_legacy_target_names: false, ..Settings::default() };
    let error = Plan::new(&request, &fixture::cache(), &settings).unwrap_err();
    assert_eq!(error.code(), "PGRST108");
    assert_eq!(error.hint().unwrap(), "Change 'clubs' to 'club' in filters, orders or limits.");
}

fn plan(url: &str) -> Result<Plan, Error> {
    fixture::plan(&fixture::request("GET", url, &[], "").unwrap())
}

fn refusal(url: &str) -> Error {
    plan(url).unwrap_err()
}

fn tree(url: &str) -> Node {
    match plan(url).unwrap() {
        Plan::Read(plan) => plan.tree,
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_relations_are_refused_with_the_nearest_name() {
    let error = refusal("/player");
    assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST205", 404));
    assert_eq!(error.message(), "Could not find the table 'public.player' in the schema cache");
    assert_eq!(error.hint().unwrap(), "Perhaps you meant the table 'public.players'");
    assert_eq!(refusal("/nothing_like_it").hint(), None);
}

#[test]
fn embeds_follow_foreign_keys_both_ways_and_through_junctions() {
    let root = tree("/teams?select=*,clubs(*),players(*,matches(*))");
    assert!(root.embeds[0].relationship.is_to_one());
    assert!(!root.embeds[1].relationship.is_to_one());
    assert!(root.embeds[1].node.embeds[0].junction_alias.is_some());
    assert!(tree("/players?select=passports(*)").embeds[0].relationship.is_to_one());
    assert!(tree("/passports?select=players(*)").embeds[0].relationship.is_to_one());
}

#[test]
fn an_embed_may_be_named_by_key_or_column() {
    for url in [
        "/matches?select=home:matches_home_id_fkey(name)",
        "/matches?select=home:home_id(name)",
        "/matches?select=home:teams!home_id(name)",
        "/matches?select=home:teams!matches_home_id_fkey(name)",
    ] {
        let embed = &tree(url).embeds[0];
        assert_eq!(
            (embed.key.as_str(), embed.relationship.constraint()),
            ("home", Some("matches_home_id_fkey"))
        );
    }
    assert!(!tree("/staff?select=staff(name)").embeds[0].relationship.is_to_one());
    assert!(tree("/staff?select=manager_id(name)").embeds[0].relationship.is_to_one());
}

#[test]
fn ambiguous_embeds_name_their_candidates() {
    let error = refusal("/matches?select=teams(*)");
    assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST201", 300));
    assert_eq!(error.details().unwrap().as_array().unwrap().len(), 2);
    assert_eq!(
        error.hint().unwrap(),
        "Try changing 'teams' to one of the following: 'teams!matches_away_id_fkey', \
         'teams!matches_home_id_fkey'. Find the desired relationship in the 'details' key."
    );
}

#[test]
fn impossible_embeds_suggest_a_name() {
    let error = refusal("/teams?select=player(*)");
    assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST200", 400));
    assert_eq!(error.hint().unwrap(), "Perhaps you meant 'players' instead of 'player'.");
    assert_eq!(
        error.details().unwrap(),
        "Searched for a foreign key relationship between 'teams' and 'player' in the schema 'public', but no \
         matches were found."
    );
}

#[test]
fn filters_and_orders_need_their_embed() {
    assert_eq!(refusal("/teams?clubs.name=eq.x").code(), "PGRST108");
    assert_eq!(refusal("/teams?clubs.order=name").code(), "PGRST108");
    assert_eq!(refusal("/teams?clubs.limit=1").code(), "PGRST108");
    assert_eq!(refusal("/teams?order=clubs(name)").code(), "PGRST108");
    assert_eq!(refusal("/teams?select=*,players(*)&order=players(name)").code(), "PGRST118");
    assert!(plan("/teams?select=*,club:clubs(*)&club.name=eq.x&clubs.founded=is.null").is_ok());
}

#[test]
fn aggregates_are_off() {
    assert_eq!(refusal("/teams?select=count()").code(), "PGRST123");
    assert_eq!(refusal("/teams?select=...clubs(id.max())").code(), "PGRST123");
}

#[test]
fn aggregates_are_lifted_out_of_to_one_spreads_alone() {
    let settings = Settings { db_aggregates_enabled: true, ..Settings::default() };
    let plan = |url| {
        let request = fixture::request("GET", url, &[], "").unwrap();
        Plan::new(&request, &fixture::cache(), &settings)
    };
    for url in ["/clubs?select=...teams(id.max())", "/clubs?select=...teams(...clubs(count()))"] {
        assert_eq!(plan(url).unwrap_err().code(), "PGRST127", "{url}");
    }
    let Plan::Read(read) = plan("/players?select=...teams(...clubs(founded.max(),name))").unwrap() else {
        panic!()
    };
    let teams = &read.tree.embeds[0];
    assert_eq!(read.tree.grouping, Grouping::Grouped);
    assert_eq!(teams.node.grouping, Grouping::Compared);
    let lifted: Vec<_> = teams.spread.iter().flatten().map(|c| (&*c.name, c.aggregation.is_some())).collect();
    assert_eq!(lifted, [("max", true), ("name", false)]);
}

#[test]
fn computed_relationships_replace_keys() {
    let root = tree("/teams?select=captain(*),rivals(rivals(*),captain(*)),matches!home_id(*)");
    assert!(root.embeds[0].relationship.is_to_one());
    assert!(!root.embeds[1].relationship.is_to_one());
    assert_eq!(refusal("/players?select=captain(*)").code(), "PGRST200");
}

#[test]
fn no_alias_hides_one_around_it() {
    let root = tree("/staff?select=staff(staff(manager_id(*)))");
    let mut aliases = vec![root.alias.clone()];
    let mut node = &root;
    while let Some(embed) = node.embeds.first() {
        assert!(!aliases.contains(&embed.node.alias));
        aliases.push(embed.node.alias.clone());
        node = &embed.node;
    }
    assert_eq!(aliases, ["staff", "staff_1", "staff_2", "staff_3"]);
}

fn call(url: &str, body: &str) -> Result<Plan, Error> {
    fixture::plan(&fixture::request("POST", url, &[], body).unwrap())
}

#[test]
fn sets_of_plain_rows_are_not_written_by_postgres() {
    let writer = |plan: Result<Plan, Error>| match plan {
        Ok(Plan::Call(plan)) => plan.body.writer,
        other => panic!("{other:?}"),
    };
    let points = r#"{"points":[1]}"#;
    assert_eq!(writer(call("/rpc/near", points)), BodyWriter::Server(vec![PlainColumn::Bare]));
    assert_eq!(
        writer(call("/rpc/near?select=name,teams(name)", points)),
        BodyWriter::Server(vec![PlainColumn::Bare])
    );
    assert_eq!(
        writer(plan("/rpc/near?points=%7B1%7D&select=name,founded::mood")),
        BodyWriter::Server(vec![PlainColumn::Bare, PlainColumn::Json])
    );
    assert_eq!(writer(call("/rpc/best_club", "")), BodyWriter::Postgres, "one row is shown as an object");
    assert_eq!(writer(call("/rpc/numbers", "")), BodyWriter::Postgres, "values have no columns");
}

#[test]
fn rows_of_mutations_are_cast_to_their_types() {
    let writer = |method: &str, url: &str, prefer: &str, body: &str| {
        let prefer = format!("prefer: {prefer}");
        match fixture::plan(&fixture::request(method, url, &[&prefer], body).unwrap()) {
            Ok(Plan::Mutate(plan)) => plan.body.writer,
            other => panic!("{other:?}"),
        }
    };
    let full = "return=representation";
    let cast = |name: &str| PlainColumn::Cast(name.to_owned());
    let name = r#"{"name":"x"}"#;
    assert_eq!(
        writer("POST", "/clubs", full, name),
        BodyWriter::Server(vec![cast("integer"), cast("text"), PlainColumn::Json]),
        "a date's text depends on the session"
    );
    assert_eq!(
        writer("DELETE", "/clubs?id=eq.1&select=n:name", full, ""),
        BodyWriter::Server(vec![cast("text")])
    );
    for (method, url, prefer) in [
        ("POST", "/clubs", "return=minimal"),
        ("POST", "/clubs", "return=representation,resolution=merge-duplicates"),
        ("POST", "/teams?select=id,clubs(name)", full),
        ("POST", "/clubs?select=name::text", full),
        ("POST", "/clubs?select=name,name", full),
        ("PATCH", "/clubs?id=eq.1", "return=representation,max-affected=1,handling=strict"),
    ] {
        assert_eq!(writer(method, url, prefer, name), BodyWriter::Postgres, "{url} {prefer}");
    }
    assert_eq!(writer("PATCH", "/clubs?id=eq.1", full, "{}"), BodyWriter::Postgres, "nothing is changed");
}

#[test]
fn functions_are_found_by_their_arguments() {
    assert!(call("/rpc/add", r#"{"a":1,"b":2}"#).is_ok());
    assert!(call("/rpc/add", r#"{"a":1}"#).is_ok());
    assert!(call("/rpc/greet", r#"{"name":"x"}"#).is_ok());
    assert!(call("/rpc/echo", r#"{"anything":[1]}"#).is_ok());
    assert!(call("/rpc/best_club", "").is_ok());
}

#[test]
fn missing_functions_suggest_a_call() {
    let error = call("/rpc/ad", r#"{"a":1}"#).unwrap_err();
    assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST202", 404));
    assert_eq!(error.message(), "Could not find the function public.ad(a) in the schema cache");
    let error = call("/rpc/greet", r#"{"nam":"x"}"#).unwrap_err();
    assert_eq!(
        error.details().unwrap(),
        "Searched for the function public.greet with parameter nam or with a single unnamed json/jsonb parameter, \
         but no matches were found in the schema cache."
    );
    let error = call("/rpc/add", r#"{"a":1,"bb":2}"#).unwrap_err();
    assert_eq!(error.hint().unwrap(), "Perhaps you meant to call the function public.add(a, b)");
    let error = call("/rpc/twice", r#"{"x":1}"#).unwrap_err();
    assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST203", 300));
}

#[test]
fn payload_columns_must_exist() {
    let request = fixture::request("POST", "/clubs", &[], r#"{"nam":"x"}"#).unwrap();
    let error = fixture::plan(&request).unwrap_err();
    assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST204", 400));
    assert_eq!(error.message(), "Could not find the 'nam' column of 'clubs' in the schema cache");
}

#[test]
fn put_needs_the_whole_key() {
    let put =
        |url| fixture::plan(&fixture::request("PUT", url, &[], r#"{"match_id":1,"player_id":2}"#).unwrap());
    assert!(put("/lineups?match_id=eq.1&player_id=eq.2").is_ok());
    for url in ["/lineups", "/lineups?match_id=eq.1", "/lineups?match_id=eq.1&player_id=gt.2"] {
        let error = put(url).unwrap_err();
        assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST105", 405), "{url}");
    }
}

#[test]
fn only_known_media_types_are_given() {
    let accept = |media: &str| {
        fixture::plan(&fixture::request("GET", "/clubs", &[&format!("accept: {media}")], "").unwrap())
    };
    let error = accept("image/png, text/html").unwrap_err();
    assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST107", 406));
    assert_eq!(error.message(), "None of these media types are available: image/png, text/html");
    assert!(accept("image/png, */*").is_ok());
}

#[test]
fn relations_say_what_they_allow() {
    let options = |url| fixture::plan(&fixture::request("OPTIONS", url, &[], "").unwrap()).unwrap();
    assert_eq!(options("/clubs"), Plan::Info("OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE".into()));
    assert_eq!(options("/standings"), Plan::Info("OPTIONS,GET,HEAD,POST,PATCH,DELETE".into()));
}

#[test]
fn short_requests_stay_short_statements() {
    let plan_of = |times: usize| {
        let url = (1..=8).map(|depth| {
            let path = "staff.".repeat(depth - 1);
            format!("&{path}or=({})", vec!["staff.is.null"; times].join(","))
        });
        plan(&format!("/staff?select={}id{}{}", "staff(".repeat(8), ")".repeat(8), url.collect::<String>()))
    };
    assert!(plan_of(2).is_ok());
    let error = plan_of(9).unwrap_err();
    assert_eq!((error.code().as_ref(), error.status().as_u16()), ("PGRST100", 400));
}
