//! The encoding of statements as messages of the extended query protocol.

use std::sync::Arc;

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use super::Connection;
use super::pending::PendingStatement;
use crate::error::Error;
use crate::statement_cache;
use crate::transaction::{Parameter, Statement};

impl Connection {
    /// Appends the messages for `statement` to the output buffer, and the statement to `batch`.
    pub(super) fn encode<'t>(
        &mut self,
        batch: &mut Vec<PendingStatement<'t>>,
        statement: &'t Statement<'_>,
        role: &'t str,
        is_callers: bool,
    ) -> Result<(), Error> {
        let cached = self.statements.as_mut().and_then(|cache| cache.get(role, &statement.sql));
        let mut pending = PendingStatement {
            role,
            sql: &statement.sql,
            was_cached: cached.is_some(),
            new_name: None,
            columns: None,
            as_json: statement.as_json,
            json: None,
            is_callers,
        };
        let name = match cached {
            Some(prepared) => {
                let name = Arc::clone(&prepared.name);
                pending.describe(prepared);
                name
            }
            None => {
                let name = self.prepare(batch, statement, role)?;
                pending.new_name = Some(Arc::clone(&name));
                name
            }
        };
        bind(&name, &statement.parameters, &mut self.outbound)?;
        frontend::execute("", 0, &mut self.outbound)?;
        batch.push(pending);
        Ok(())
    }

    /// Appends the messages that prepare `statement`, and returns its new name.
    fn prepare(
        &mut self,
        batch: &[PendingStatement<'_>],
        statement: &Statement<'_>,
        role: &str,
    ) -> Result<Arc<str>, Error> {
        let is_same = |other: &PendingStatement<'_>| other.role == role && other.sql == statement.sql;
        let name: Arc<str> = match self.statements {
            // Equal statements have equal names, and only one of them can be prepared under that name.
            Some(_) if !batch.iter().any(is_same) => statement_cache::name(role, &statement.sql),
            _ => "".into(),
        };
        frontend::parse(&name, &statement.sql, std::iter::empty(), &mut self.outbound)?;
        frontend::describe(b'S', &name, &mut self.outbound)?;
        if !name.is_empty() {
            self.unconfirmed.push(Arc::clone(&name));
        }
        Ok(name)
    }
}

/// Appends the message that binds the statement `name` to its parameters.
pub(crate) fn bind(name: &str, parameters: &[Parameter<'_>], outbound: &mut BytesMut) -> Result<(), Error> {
    let write_parameter = |parameter: &Parameter<'_>, buffer: &mut BytesMut| match parameter {
        Some(text) => {
            buffer.extend_from_slice(text);
            Ok(IsNull::No)
        }
        None => Ok(IsNull::Yes),
    };
    let no_formats = std::iter::empty::<i16>;
    frontend::bind("", name, no_formats(), parameters, write_parameter, no_formats(), outbound).map_err(
        |error| match error {
            frontend::BindError::Conversion(error) => Error::protocol(error.to_string()),
            frontend::BindError::Serialization(error) => error.into(),
        },
    )
}
