//! The statements of a transaction in the order in which they are sent, and their results by name.

use std::borrow::Cow;

use postgres::{Reply, Row, Rows, Transaction, quote_identifier};

use crate::error::Error;
use crate::statement::{MainResult, Statement, Statements};

/// What a transaction runs after its settings.
pub(super) struct Batch<'s> {
    /// The call of the function that runs before every request (`db-pre-request`).
    pre_request: Option<String>,
    /// The request's own statements.
    statements: &'s Statements<'s>,
    /// Their [`Statements::response`], if it is run.
    response: Option<&'s Statement<'s>>,
}

/// What the statements of a [`Batch`] gave.
pub(super) struct Results<'a> {
    /// The result of [`Statements::main`].
    pub(super) main: &'a Rows,
    /// The row that [`Statements::response`] gave, with the columns of [`crate::statement::ResponseColumn`].
    pub(super) response: Option<&'a Row>,
    /// The row that [`Statements::estimate`] gave.
    pub(super) estimate: Option<&'a Row>,
}

impl<'s> Batch<'s> {
    /// Returns the batch of `statements`, after a call of the function `pre_request`. What the database set for the
    /// response is read only if code could have set it (`is_seen`), or if that statement returns something else, too.
    pub(super) fn new(statements: &'s Statements<'s>, is_seen: bool, pre_request: Option<&str>) -> Self {
        Self {
            pre_request: pre_request.map(call),
            statements,
            response: statements.response.as_ref().filter(|_| is_seen || statements.needs_response),
        }
    }

    /// Appends the statements to `transaction`. [`Self::results`] takes their results apart in the same order.
    pub(super) fn append_to<'t>(&'t self, mut transaction: Transaction<'t>) -> Transaction<'t> {
        if let Some(sql) = &self.pre_request {
            transaction = transaction.statement(sql.as_str(), Vec::new());
        }
        let Statements { main, main_result, estimate, .. } = self.statements;
        transaction = match main_result {
            MainResult::PlainRows => transaction.json_statement(&*main.sql, parameters(main)),
            MainResult::Page | MainResult::RowCount => append(transaction, main),
        };
        for statement in self.response.into_iter().chain(estimate) {
            transaction = append(transaction, statement);
        }
        transaction
    }

    /// Returns the results of the statements, of which `reply` has one for each in the order in which they were
    /// appended.
    ///
    /// Errors: `PGRST001` where one is missing.
    pub(super) fn results<'a>(&self, reply: &'a Reply) -> Result<Results<'a>, Error> {
        let mut results = reply.statements().iter().skip(usize::from(self.pre_request.is_some()));
        let main = results.next().ok_or_else(no_row)?;
        let mut row_of = |statement: Option<&Statement<'_>>| match statement {
            Some(_) => results.next().and_then(Rows::first).map(Some).ok_or_else(no_row),
            None => Ok(None),
        };
        let response = row_of(self.response)?;
        let estimate = row_of(self.statements.estimate.as_ref())?;
        Ok(Results { main, response, estimate })
    }
}

impl<'a> Results<'a> {
    /// Returns the one row that a main statement gives that writes a body itself.
    ///
    /// Errors: `PGRST001` without one.
    pub(super) fn page(&self) -> Result<&'a Row, Error> {
        self.main.first().ok_or_else(no_row)
    }
}

fn no_row() -> Error {
    Error::Client("the statement gave no row".to_owned())
}

fn append<'t>(transaction: Transaction<'t>, statement: &'t Statement<'_>) -> Transaction<'t> {
    transaction.statement(&*statement.sql, parameters(statement))
}

fn parameters<'t>(statement: &'t Statement<'_>) -> Vec<Option<Cow<'t, [u8]>>> {
    statement.parameters.iter().map(|value| value.as_deref().map(Cow::Borrowed)).collect()
}

/// Returns `SELECT` of a function called `name` or `schema.name`.
fn call(name: &str) -> String {
    let parts: Vec<String> = name.splitn(2, '.').map(quote_identifier).collect();
    format!("SELECT {}()", parts.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pre_request_function_is_quoted() {
        assert_eq!(call("api.check it"), "SELECT \"api\".\"check it\"()");
    }
}
