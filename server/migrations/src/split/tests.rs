//! Tests of the splitting of SQL files into statements.

use super::{SplitError, line_at, split};

fn texts(sql: &str) -> Vec<&str> {
    split(sql).unwrap().into_iter().map(|statement| statement.text).collect()
}

fn refusal(sql: &str) -> SplitError {
    split(sql).unwrap_err()
}

#[test]
fn semicolons_end_statements_and_blanks_are_trimmed() {
    assert_eq!(texts(" select 1 ;\n\nselect 2\n;; ;select 3"), ["select 1", "select 2", "select 3"]);
    assert_eq!(texts(""), Vec::<&str>::new());
    assert_eq!(texts("\u{feff}select 1;\r\nselect 2;\r\n"), ["select 1", "select 2"]);
}

#[test]
fn a_carriage_return_ends_a_comment_as_for_postgres() {
    let statements = split("-- a comment\rcommit; select 1").unwrap();
    assert_eq!(statements.len(), 2);
    assert_eq!(statements[0].words, ["COMMIT"]);
}

#[test]
fn a_comment_belongs_to_the_statement_that_follows() {
    let sql = "-- first; still a comment\nselect 1;\n/* a /* nested; */ one; */ select 2; -- the end";
    assert_eq!(
        texts(sql),
        ["-- first; still a comment\nselect 1", "/* a /* nested; */ one; */ select 2", "-- the end"]
    );
}

#[test]
fn semicolons_inside_quotes_do_not_count() {
    for sql in [
        "select 'a;b'",
        "select 'it''s; fine'",
        "select 'a\\'",
        "select E'a\\';b'",
        "select e'\\\\' || ';'",
        "select \"a;\"\"b\"",
        "select U&'\\0061;'",
        "select $$a;b$$",
        "select $tag$ $$;$$ ; $tag$",
        "select $größe$;$größe$",
        "do $body$ begin perform 1; end; $body$",
    ] {
        assert_eq!(texts(&format!("{sql};select 2")), [sql, "select 2"], "{sql}");
    }
}

#[test]
fn a_backslash_does_not_escape_a_quote_in_a_plain_string() {
    assert_eq!(texts("select 'c:\\'; select 2"), ["select 'c:\\'", "select 2"]);
}

#[test]
fn dollars_in_names_and_parameters_are_not_quotes() {
    assert_eq!(texts("select a$b$c; select 2"), ["select a$b$c", "select 2"]);
    assert_eq!(texts("prepare p as select $1; select $2"), ["prepare p as select $1", "select $2"]);
    assert_eq!(texts("select 1 $ 2; select 3"), ["select 1 $ 2", "select 3"]);
}

#[test]
fn semicolons_in_parentheses_do_not_count() {
    let rule = "create rule r as on insert to t do also (insert into a values (1); insert into b values (2))";
    assert_eq!(texts(&format!("{rule}; select 1")), [rule, "select 1"]);
}

#[test]
fn a_standard_body_is_one_statement() {
    let function = "create or replace function f(x int) returns int language sql\n\
                    begin atomic\n  select 1;\n  select case when x > 0 then 1 else 2 end;\nend";
    assert_eq!(texts(&format!("{function};\nselect 1;")), [function, "select 1"]);
    let comment = "create procedure p() begin /* now */ atomic insert into t values (1); end";
    assert_eq!(texts(&format!("{comment}; select 1")), [comment, "select 1"]);
}

#[test]
fn begin_and_end_elsewhere_are_plain_words() {
    assert_eq!(texts("begin; select case when a then b end; end;").len(), 3);
    assert_eq!(texts("create table atomic (begin int); select 1").len(), 2);
    assert_eq!(
        texts("create function f() returns int as $$ begin return 1; end $$ language plpgsql; select 1")
            .len(),
        2
    );
}

#[test]
fn words_and_offsets_describe_the_statement() {
    let sql = "-- one\n\n/* two */ Create Table \"T\" (a int, b text)\n inherits (x);";
    let statements = split(sql).unwrap();
    assert_eq!(statements.len(), 1);
    assert_eq!(statements[0].words, ["CREATE", "TABLE", "INHERITS"]);
    assert_eq!(statements[0].offset, 0);
    assert_eq!(line_at(sql, statements[0].first_token), 3);
}

#[test]
fn commands_of_psql_are_refused_with_their_line() {
    for (sql, line, found) in [
        ("select 1;\n\\connect other\nselect 2;", 2, "\\connect"),
        ("select 1\n\\restrict abc\n", 2, "\\restrict"),
    ] {
        let refused = refusal(sql);
        assert_eq!(line_at(sql, refused.offset), line);
        assert!(refused.problem.contains(found), "{}", refused.problem);
    }
}

#[test]
fn output_of_pg_dump_for_psql_is_supported() {
    let sql = "-- PostgreSQL database dump\n\\restrict abc\n\nselect 1;\n\\unrestrict abc\n";
    assert_eq!(texts(sql), ["select 1"]);

    let sql = "copy public.t (a, b) from stdin;\n1\t'x;\n\\N\ty\n\\.\n;\r\nselect 2;\nCOPY t FROM STDIN\n;\r\n\\.\r\nselect 3";
    let statements = split(sql).unwrap();
    let found: Vec<_> = statements.iter().map(|statement| (statement.text, statement.data)).collect();
    assert_eq!(
        found,
        [
            ("copy public.t (a, b) from stdin", Some("1\t'x;\n\\N\ty\n")),
            ("select 2", None),
            ("COPY t FROM STDIN", Some("")),
            ("select 3", None),
        ]
    );
    assert_eq!(statements[0].source(), "copy public.t (a, b) from stdin;\n1\t'x;\n\\N\ty\n\\.");
    for (unfinished, rows) in
        [("copy t from stdin", ""), ("copy t from stdin;", ""), ("copy t from stdin;\n1", "1")]
    {
        assert_eq!(split(unfinished).unwrap()[0].data, Some(rows), "{unfinished}");
    }
    assert_eq!(texts("copy t to stdout; copy t from '/file'").len(), 2);
}

#[test]
fn unterminated_tokens_are_refused_with_the_line_of_their_beginning() {
    for (sql, line) in [
        ("select 1;\nselect 'abc", 2),
        ("select 1;\n\nselect \"abc;", 3),
        ("/* a /* b */", 1),
        ("select 1;\ndo $x$ begin end; $$", 2),
        ("select E'\\", 1),
    ] {
        let refused = refusal(sql);
        assert_eq!(line_at(sql, refused.offset), line, "{sql}");
        assert!(refused.problem.contains("never ends"), "{}", refused.problem);
    }
}

/// Splits statements made of every kind of token, so that each token's end is found next to each other token.
#[test]
fn any_sequence_of_tokens_is_split_only_at_its_semicolons() {
    let tokens = [
        "select",
        "'a;''b'",
        "E'\\';'",
        "\"x;\"",
        "$$;$$",
        "$t$;$x$;$t$",
        "-- c;\n",
        "/* ; /* ; */ */",
        "(1;2)",
        "$1",
        "a$b",
        "E",
        "1e5",
        "-",
        "/",
        "é",
        "::",
        "end",
        "case",
        "begin",
    ];
    // A linear congruential generator: the same sequences on every run.
    let mut state = 0x2545_f491_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    for _ in 0..5_000 {
        let expected: Vec<String> = (0..1 + next(4))
            .map(|_| {
                let words: Vec<&str> = (0..1 + next(6)).map(|_| tokens[next(tokens.len())]).collect();
                format!("x {} y", words.join(" "))
            })
            .collect();
        let sql = expected.join(" ;\n");
        assert_eq!(texts(&sql), expected, "{sql}");
    }
}

/// For any bytes, splitting ends, and every statement is at its offset.
#[test]
fn garbage_causes_no_panic_and_no_wrong_offset() {
    let alphabet = ['\'', '"', '$', 'a', 'E', '\\', ';', '(', ')', '-', '/', '*', '\n', 'é', ' ', '\0', '1'];
    let mut state = 0x9e37_79b9_u64;
    for _ in 0..20_000 {
        let mut sql = String::new();
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sql.push(alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()]);
        }
        match split(&sql) {
            Ok(statements) => {
                for statement in statements {
                    assert!(sql[statement.offset..].starts_with(statement.text), "{sql:?}");
                    assert!(statement.first_token <= sql.len(), "{sql:?}");
                }
            }
            Err(refused) => assert!(refused.offset < sql.len(), "{sql:?}"),
        }
    }
}
