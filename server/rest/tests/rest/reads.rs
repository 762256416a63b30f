//! GET and HEAD: select, filters, logic, order, pages, counts, media types.

use serde_json::json;

use crate::harness::{League, send};

#[tokio::test]
async fn columns_are_selected_renamed_cast_and_stepped_into() {
    let league = League::start().await;
    assert_eq!(
        league
            .rows("/players?select=id,called:name,id::text,data->phones->-1->>no,data->level&id=eq.1")
            .await,
        json!([{ "id": "1", "called": "Ada", "no": "12", "level": 3 }])
    );
    assert_eq!(league.rows("/players?select=label&id=eq.2").await, json!([{ "label": "Bea #2" }]));
    assert_eq!(
        league.rows("/players?select=tags->1,first:tags->>0&id=eq.1").await,
        json!([{ "tags": "left", "first": "captain" }])
    );
    assert_eq!(
        league.rows("/odd%20%22names%22?select=id,%22a%20%5C%22column%5C%22,%20or%20two%22&%22na%C3%AFve.%E5%88%97%22=eq.y").await,
        json!([{ "id": 1, "a \"column\", or two": "x" }])
    );
    assert_eq!(league.rows("/clubs?select=id&id=eq.1").await, json!([{ "id": 1 }]));
    assert_eq!(
        league.rows("/adults?select=name&order=id").await,
        json!([{ "name": "Ada" }, { "name": "Dot, \"the wall\" (x)" }])
    );
}

#[tokio::test]
async fn every_filter_means_what_postgres_means() {
    let league = League::start().await;
    for (filter, expected) in [
        ("id=eq.1", vec![1]),
        ("id=neq.1", vec![2, 3, 4]),
        ("id=gt.3", vec![4]),
        ("id=gte.3", vec![3, 4]),
        ("id=lt.2", vec![1]),
        ("id=lte.2", vec![1, 2]),
        ("id=not.eq.1", vec![2, 3, 4]),
        ("name=like.A*", vec![1]),
        ("name=ilike.*A", vec![1, 2]),
        ("name=like(any).{A*,B*}", vec![1, 2]),
        ("name=ilike(all).{*a,b*}", vec![2]),
        ("id=eq(any).{1,3}", vec![1, 3]),
        ("name=match.^[AB]", vec![1, 2]),
        ("name=imatch.^[ab]", vec![1, 2]),
        ("id=in.(1,4)", vec![1, 4]),
        ("id=not.in.(1,4)", vec![2, 3]),
        ("id=in.()", vec![]),
        ("name=in.(%22Dot,%20%5C%22the%20wall%5C%22%20(x)%22,Ada)", vec![1, 4]),
        ("name=eq.Dot,%20%22the%20wall%22%20(x)", vec![4]),
        // As stock clients send a name with quotes in it.
        ("name=in.(Ada,%22Dot,%20%22the%20wall%22%20(x)%22)", vec![1]),
        ("born=is.null", vec![3]),
        ("born=is.not_null", vec![1, 2, 4]),
        ("active=is.true", vec![1, 4]),
        ("active=is.false", vec![2]),
        ("active=is.unknown", vec![3]),
        ("active=not.is.true", vec![2, 3]),
        ("height=isdistinct.1.75", vec![2, 3, 4]),
        ("tags=cs.{left}", vec![1, 2]),
        ("tags=cd.{left,right}", vec![2, 3, 4]),
        ("tags=ov.{captain,right}", vec![1, 4]),
        ("shirt=sl.[6,7)", vec![1]),
        ("shirt=sr.[1,9)", vec![4]),
        ("shirt=nxr.[1,9)", vec![1, 2]),
        ("shirt=nxl.[5,9)", vec![2, 4]),
        ("shirt=adj.[9,20)", vec![2, 4]),
        ("biography=fts.keeper", vec![2, 4]),
        ("biography=fts(english).keepers%20%26%20strikers", vec![4]),
        ("biography=plfts(english).patient%20keeper", vec![2]),
        ("biography=phfts(english).fast%20striker", vec![1]),
        ("biography=wfts(english).keepers%20-strikers", vec![2]),
        ("name=fts(english).wall", vec![4]),
        ("data->>level=eq.5", vec![2]),
        ("data->level=gt.2", vec![1, 2]),
        ("data->phones->0->>no=eq.11", vec![1]),
        ("born=gte.1990-01-01&active=is.true", vec![1]),
    ] {
        let url = format!("/players?select=id&order=id&{filter}");
        assert_eq!(league.ids(&url).await, expected, "{filter}");
    }
}

#[tokio::test]
async fn logic_trees_join_conditions() {
    let league = League::start().await;
    for (filter, expected) in [
        ("or=(id.eq.1,id.eq.3)", vec![1, 3]),
        ("and=(id.gt.1,id.lt.4)", vec![2, 3]),
        ("not.or=(id.eq.1,id.eq.3)", vec![2, 4]),
        ("or=(and(id.gt.1,id.lt.3),not.and(id.gt.0,id.lt.4))", vec![2, 4]),
        ("or=(name.eq.%22Dot,%20%5C%22the%20wall%5C%22%20(x)%22,tags.cs.{captain,left})", vec![1, 4]),
        ("or=(id.in.(1,2),data->>level.eq.1)&id=not.eq.2", vec![1, 4]),
        ("or=(id.eq.1,name.eq.a(b))", vec![1]),
    ] {
        let url = format!("/players?select=id&order=id&{filter}");
        assert_eq!(league.ids(&url).await, expected, "{filter}");
    }
}

#[tokio::test]
async fn rows_are_ordered_and_paged() {
    let league = League::start().await;
    for (query, expected) in [
        ("order=born.desc", vec![3, 2, 1, 4]),
        ("order=born.desc.nullslast", vec![2, 1, 4, 3]),
        ("order=born.nullsfirst", vec![3, 4, 1, 2]),
        ("order=active.asc.nullslast,id.desc", vec![2, 4, 1, 3]),
        ("order=data->level.desc.nullslast", vec![2, 1, 4, 3]),
        ("order=id&limit=2", vec![1, 2]),
        ("order=id&limit=2&offset=1", vec![2, 3]),
        ("order=id&limit=2000&offset=3", vec![4]),
        ("order=id&limit=0", vec![]),
        ("order=label.desc", vec![4, 3, 2, 1]),
        // Of two orders the first counts, of two limits the last.
        ("order=id.desc&order=name", vec![4, 3, 2, 1]),
        ("order=id&limit=1&limit=2", vec![1, 2]),
    ] {
        assert_eq!(league.ids(&format!("/players?select=id&{query}")).await, expected, "{query}");
    }
}

#[tokio::test]
async fn pages_tell_where_they_are() {
    let league = League::start().await;
    let page = |url: &'static str, range: &'static str, prefer: &'static str| {
        let league = &league;
        async move {
            let headers = [("range", range), ("prefer", prefer)];
            let headers: Vec<_> = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
            let response = league.get_with(url, &headers).await;
            (response.status, response.header("content-range").to_owned())
        }
    };
    let url = "/players?select=id&order=id";
    assert_eq!(page(url, "", "").await, (200, "0-3/*".to_owned()));
    assert_eq!(page(url, "0-1", "").await, (200, "0-1/*".to_owned()));
    assert_eq!(page(url, "1-2", "count=exact").await, (206, "1-2/4".to_owned()));
    assert_eq!(page(url, "0-9", "count=exact").await, (200, "0-3/4".to_owned()));
    assert_eq!(page(url, "", "count=exact").await, (200, "0-3/4".to_owned()));
    assert_eq!(page("/players?id=eq.99", "", "count=exact").await, (200, "*/0".to_owned()));
    assert_eq!(page("/players?limit=0", "", "count=exact").await, (206, "*/4".to_owned()));
    let (status, range) = page("/players?id=gt.2&limit=1", "", "count=planned").await;
    assert!(status == 200 || status == 206, "{status}");
    assert!(range.starts_with("0-0/") && !range.ends_with('*'), "{range}");

    let nowhere = league.get("/players?limit=0&offset=1").await;
    assert_eq!((nowhere.status, nowhere.code()), (416, "PGRST103".to_owned()));
    let beyond = league.get_with("/players?offset=10", &[("prefer", "count=exact")]).await;
    assert_eq!((beyond.status, beyond.code()), (416, "PGRST103".to_owned()));
    assert_eq!(beyond.header("content-range"), "*/4");
    assert_eq!(beyond.json()["details"], "An offset of 10 was requested, but there are only 4 rows.");
    let backwards = league.get_with("/players", &[("range", "3-1")]).await;
    assert_eq!((backwards.status, backwards.code()), (416, "PGRST103".to_owned()));
}

#[tokio::test]
async fn a_most_number_of_rows_is_enforced() {
    let league = League::with(|settings| settings.db_max_rows = Some(2)).await;
    assert_eq!(league.ids("/players?select=id&order=id").await, [1, 2]);
    let counted = league.get_with("/players", &[("prefer", "count=exact")]).await;
    assert_eq!((counted.status, counted.header("content-range")), (206, "0-1/4"));
    let estimated = league.get_with("/players?id=lt.3", &[("prefer", "count=estimated")]).await;
    assert_eq!(estimated.header("content-range"), "0-1/2");
    // What is embedded is limited, too; a limit of one's own can only be lower.
    assert_eq!(
        league.rows("/clubs?select=id,teams(players(id))&order=id&limit=9&teams.order=id").await,
        json!([
            { "id": 1, "teams": [{ "players": [{ "id": 1 }, { "id": 2 }] }, { "players": [] }] },
            { "id": 2, "teams": [{ "players": [{ "id": 3 }] }] },
        ])
    );
    assert_eq!(league.ids("/matches?select=id,players(id)&order=id&limit=1").await, [1]);
    assert_eq!(league.rows("/rpc/numbers").await, json!([1, 2]));
    let all = league.change("PATCH", "/players", &[("prefer", "return=representation")], r#"{"height":2}"#);
    assert_eq!(all.await.json().as_array().map(Vec::len), Some(4), "changes are not limited");
}

#[tokio::test]
async fn totals_beyond_the_most_rows_are_estimated() {
    let sql = "create table league.visits as select id from generate_series(1, 500) id;
               grant select on league.visits to anon; analyze league.visits";
    let league = League::extended(sql, |settings| settings.db_max_rows = Some(20)).await;
    let total = async |url: &str, count: &str| {
        let response = league.get_with(url, &[("prefer", count)]).await;
        response.header("content-range").to_owned()
    };
    assert_eq!(total("/visits?id=lte.10", "count=estimated").await, "0-9/10");
    assert_eq!(total("/visits", "count=estimated").await, "0-19/500");
    assert_eq!(total("/visits", "count=planned").await, "0-19/500");
    assert_eq!(total("/visits?limit=5&offset=3", "count=estimated").await, "3-7/500");
    let head = send(league.request("HEAD", "/visits").header("prefer", "count=planned")).await;
    assert_eq!((head.status, head.header("content-range")), (206, "0-19/500"));
    assert_eq!(head.header("preference-applied"), "count=planned");
    let unknown = league.get_with("/visits?nope=eq.1", &[("prefer", "count=planned")]).await;
    assert_eq!((unknown.status, unknown.code()), (400, "42703".to_owned()));
}

#[tokio::test]
async fn nothing_selected_is_everything() {
    let league = League::start().await;
    let club = json!({ "id": 2, "name": "Mill Lane", "founded": "1923-08-12" });
    assert_eq!(league.rows("/clubs?select=&id=eq.2").await, json!([club]));
    assert_eq!(league.rows("/clubs?select=*&id=eq.2").await, json!([club]));
    assert_eq!(league.rows("/rpc/oldest_club?select=").await["name"], "Harbour Row");
    let made =
        league.change("POST", "/clubs?select=", &[("prefer", "return=representation")], r#"{"name":"X"}"#);
    assert_eq!(made.await.json()[0]["name"], "X");
    let csv = league.get_with("/clubs?select=&id=eq.2", &[("accept", "text/csv")]).await;
    assert_eq!(csv.text, "id,name,founded\n2,\"Mill Lane\",1923-08-12");
    let embedded = league.rows("/teams?select=id,clubs()&id=eq.1").await;
    assert_eq!(embedded, json!([{ "id": 1 }]), "an embed of which nothing is selected is not shown");
    // A relation's name is none of its columns, as it is for Postgres after a dot.
    let row = league.get("/clubs?select=clubs").await;
    assert_eq!((row.status, row.code()), (400, "42703".to_owned()));
}

#[tokio::test]
async fn what_cannot_be_selected_or_ordered_by_is_refused() {
    let league = League::start().await;
    for (query, code) in [
        ("select=nope", "42703"),
        ("select=id,nope->a", "42703"),
        ("select=id::nope", "42704"),
        ("select=name::int", "22P02"),
        ("select=id->a->", "PGRST100"),
        ("select=%22id", "PGRST100"),
        ("select=id,,name", "PGRST100"),
        ("select=id)", "PGRST100"),
        ("order=nope", "42703"),
        ("order=id.up", "PGRST100"),
        ("order=", "PGRST100"),
        ("order=teams(name)", "PGRST108"),
        ("select=id,teams(name)&order=teams(nope)", "42703"),
        ("select=id,matches(id)&order=matches(id)", "PGRST118"),
        ("select=id,teams(name)&teams.order=nope", "42703"),
        ("matches.limit=1", "PGRST108"),
        ("matches.order=id", "PGRST108"),
        ("matches.or=(id.eq.1)", "PGRST108"),
        ("limit=-1", "PGRST103"),
        ("id=eq", "PGRST100"),
        ("id=in.1", "PGRST100"),
        ("active=is.perhaps", "PGRST100"),
        ("name=match.[", "2201B"),
        ("tags=cs.left", "22P02"),
        ("shirt=sl.x", "22P02"),
        ("biography=fts.a%20b", "42601"),
        ("height=cs.1", "42883"),
        ("or=()", "PGRST100"),
        ("or=(id.eq.1", "PGRST100"),
        ("or=(id.eq.1,not.id.eq.2)", "PGRST100"),
    ] {
        let response = league.get(&format!("/players?{query}")).await;
        assert_eq!(response.code(), code, "{query}: {response:?}");
        assert!((400..500).contains(&response.status), "{query}: {response:?}");
    }
}

#[tokio::test]
async fn head_has_the_headers_of_get() {
    let league = League::start().await;
    let response = send(league.request("HEAD", "/players").header("prefer", "count=exact")).await;
    assert_eq!((response.status, response.text.as_str()), (200, ""));
    assert_eq!(response.header("content-range"), "0-3/4");
    assert_eq!(response.header("content-type"), "application/json; charset=utf-8");
}

#[tokio::test]
async fn one_row_can_be_asked_for() {
    let league = League::start().await;
    let object = [("accept", "application/vnd.pgrst.object+json")];
    let one = league.get_with("/clubs?select=id,founded&id=eq.3", &object).await;
    assert_eq!((one.status, one.json()), (200, json!({ "id": 3, "founded": null })));
    assert_eq!(one.header("content-type"), "application/vnd.pgrst.object+json; charset=utf-8");
    for (url, rows) in [("/clubs?id=eq.99", 0), ("/clubs", 3)] {
        let refused = league.get_with(url, &object).await;
        assert_eq!((refused.status, refused.code()), (406, "PGRST116".to_owned()));
        assert_eq!(refused.json()["details"], format!("The result contains {rows} rows"));
    }
    let stripped = [("accept", "application/vnd.pgrst.object+json;nulls=stripped")];
    assert_eq!(
        league.get_with("/clubs?select=id,founded&id=eq.3", &stripped).await.json(),
        json!({ "id": 3 })
    );
    let stripped = [("accept", "application/vnd.pgrst.array+json;nulls=stripped")];
    assert_eq!(
        league.get_with("/clubs?select=id,founded&id=eq.3", &stripped).await.json(),
        json!([{ "id": 3 }])
    );
}

#[tokio::test]
async fn rows_can_be_had_as_csv() {
    let league = League::start().await;
    let csv = [("accept", "text/csv")];
    let response = league.get_with("/players?select=id,name&id=gte.3&order=id", &csv).await;
    assert_eq!(response.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(response.text, "id,name\n3,Cyd\n4,\"Dot, \"\"the wall\"\" (x)\"");
    assert_eq!(league.get_with("/players?id=eq.99", &csv).await.text, "\n");
}

#[tokio::test]
async fn large_responses_are_compressed_for_those_who_take_that() {
    let league = League::start().await;
    let url = "/rpc/lines";
    let lines = "create function league.lines() returns setof text stable language sql
                   as $$ select repeat('goal ', 10) from generate_series(1, 200) $$; notify pgrst";
    league.database.client().await.batch_execute(lines).await.unwrap();
    league.until(url, 200).await;
    let plain = league.get(url).await;
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), ("", "Accept, Prefer, Range"));
    let compressed = league.get_with(url, &[("accept-encoding", "br, gzip")]).await;
    assert_eq!(compressed.header("content-encoding"), "gzip");
    assert!(compressed.bytes.starts_with(&[0x1f, 0x8b]) && compressed.bytes.len() < plain.bytes.len() / 10);
    let length = compressed.header("content-length").parse::<usize>().unwrap();
    assert_eq!(length, compressed.bytes.len());
    let vary: Vec<_> = compressed.headers.get_all("vary").iter().collect();
    assert_eq!(vary, ["Accept, Prefer, Range", "Accept-Encoding"]);
    let small = league.get_with("/clubs", &[("accept-encoding", "gzip")]).await;
    assert_eq!((small.status, small.header("content-encoding")), (200, ""));
    let refused = league.get_with(url, &[("accept-encoding", "gzip;q=0")]).await;
    assert_eq!((refused.header("content-encoding"), &refused.bytes), ("", &plain.bytes));
}

#[tokio::test]
async fn responses_say_what_they_are() {
    let league = League::start().await;
    let response = league.get("/clubs?select=id&id=eq.1").await;
    assert_eq!(response.header("content-location"), "/clubs?id=eq.1&select=id");
    assert_eq!(response.header("vary"), "Accept, Prefer, Range");
    assert_eq!(response.header("content-profile"), "league");
    let other = league.get_with("/clubs", &[("accept-profile", "archive")]).await;
    assert_eq!(
        (other.header("content-profile"), other.json()[0]["name"].as_str()),
        ("archive", Some("Ghost Town"))
    );
    let options = send(league.request("OPTIONS", "/clubs")).await;
    assert_eq!((options.status, options.header("allow")), (200, "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"));
}

#[tokio::test]
async fn a_long_query_gets_headers_that_every_client_takes() {
    let league = League::start().await;
    let ids: Vec<String> = (1..6000).map(|id| id.to_string()).collect();
    let response = league.get(&format!("/clubs?select=id&limit=1&id=in.({})", ids.join(","))).await;
    assert_eq!(response.status, 200);
    let size: usize = response.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    assert!(size < 8 * 1024, "{size} bytes of headers");
}
