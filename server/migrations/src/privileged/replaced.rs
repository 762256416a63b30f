//! Text that is sent to Postgres as a whole, with the statements that the session may not run itself replaced.

use postgres::quote_literal;
use tokio_postgres::Client;

use super::Privileged;
use crate::error::Error;
use crate::split::split;

/// One of these words is in each statement that [`Privileged`] recognizes.
const WORDS: [&[u8]; 4] = [b"event", b"extension", b"publication", b"session_preload_libraries"];

/// Returns `sql` with the statements that the session may not run itself replaced by calls that carry them out. What
/// cannot be split into statements stays as it is: Postgres says what is wrong.
///
/// Errors: [`Error::Database`].
pub async fn with_privileges(client: &Client, sql: &str) -> Result<String, Error> {
    let mut replaced = Replaced::new(sql);
    for statement in &split(sql).unwrap_or_default() {
        let Some(privileged) = Privileged::recognize(statement) else { continue };
        if privileged.is_needed(client).await? {
            replaced.put(
                statement.offset,
                statement.text,
                &block(&format!("begin {} end", privileged.step())),
            );
        }
    }
    Ok(replaced.finish().unwrap_or_else(|| sql.to_owned()))
}

/// Returns `sql` with statements replaced as by [`with_privileges`], for a session about which nothing is known: each
/// block that takes a statement's place finds out by itself whether the session may run it. `None` if none is replaced.
///
/// `create extension` stays as it is: in the Postgres that Basalt starts, `postgres` may run it.
pub fn with_privileges_or_as_it_is(sql: &str) -> Option<String> {
    if !has_any_word(sql.as_bytes()) {
        return None;
    }
    let mut replaced = Replaced::new(sql);
    for statement in &split(sql).ok()? {
        match Privileged::recognize(statement) {
            None | Some(Privileged::CreateExtension { .. }) => {}
            Some(privileged) => {
                let (condition, step) = (privileged.condition(), privileged.step());
                let itself = quote_literal(statement.text);
                let body = format!("begin if {condition} then {step} else execute {itself}; end if; end");
                replaced.put(statement.offset, statement.text, &block(&body));
            }
        }
    }
    replaced.finish()
}

impl Privileged {
    /// Returns the statement of PL/pgSQL that carries the statement out.
    fn step(&self) -> String {
        self.call().map_or_else(|| "null;".to_owned(), |call| format!("perform {call};"))
    }
}

/// Returns the statement that runs `body` and returns no row.
fn block(body: &str) -> String {
    format!("do {}", quote_literal(body))
}

fn has_any_word(sql: &[u8]) -> bool {
    let begins = |(at, byte): (usize, &u8)| {
        matches!(byte.to_ascii_lowercase(), b'e' | b'p' | b's')
            && WORDS
                .iter()
                .any(|word| sql.get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word)))
    };
    sql.iter().enumerate().any(begins)
}

/// A text of which parts are replaced, from its beginning to its end.
struct Replaced<'a> {
    sql: &'a str,
    text: String,
    /// How much of `sql` is in `text`.
    done: usize,
}

impl<'a> Replaced<'a> {
    const fn new(sql: &'a str) -> Self {
        Self { sql, text: String::new(), done: 0 }
    }

    /// Puts `new` in the place of `old`, which begins at `offset`.
    fn put(&mut self, offset: usize, old: &str, new: &str) {
        self.text.push_str(&self.sql[self.done..offset]);
        self.text.push_str(new);
        self.done = offset + old.len();
    }

    /// Returns the whole text; `None` if nothing was replaced.
    fn finish(mut self) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        self.text.push_str(&self.sql[self.done..]);
        Some(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_replaced_by_blocks_that_find_out_who_runs_them() {
        let sql = "select 'event'; drop event trigger \"a'b$basalt$\" ;\nselect 2";
        let replaced = with_privileges_or_as_it_is(sql).unwrap();
        let block = replaced.strip_prefix("select 'event'; do '").unwrap();
        let block = block.strip_suffix("' ;\nselect 2").unwrap();
        let body = block.replace("''", "'");
        assert!(body.starts_with("begin if (select not rolsuper "), "{body}");
        assert!(
            body.contains(" then perform basalt.change_event_trigger('a''b$basalt$'::text, 'drop'::text)"),
            "{body}"
        );
        assert!(
            body.ends_with("; else execute 'drop event trigger \"a''b$basalt$\"'; end if; end"),
            "{body}"
        );
    }

    #[test]
    fn what_postgres_may_run_itself_stays_as_it_is() {
        for sql in [
            "create extension if not exists vector",
            "select event from events",
            "create publication p for table t",
            "select 'drop event trigger a'",
            "drop event trigger",
            "create event trigger 'never ends",
            "",
        ] {
            assert_eq!(with_privileges_or_as_it_is(sql), None, "{sql}");
        }
    }
}
