//! A cache of the statements that set a transaction's settings, since most requests set the same names.

use std::sync::Arc;

use crate::transaction::Transaction;
use crate::transaction::settings_sql;

/// How many statements are kept: reads, writes and calls have one each, and a few functions have settings of their own.
const CAPACITY: usize = 8;

/// Statements by the names that they set and by whether they run in an explicit block, the most recently used first.
#[derive(Default)]
pub(crate) struct SettingsStatements(Vec<(Vec<String>, bool, Arc<str>)>);

impl SettingsStatements {
    /// Returns the statement that sets the settings of `transaction`, with a parameter for each value; `None` if it has
    /// no settings. The statement also sets isolation level and access mode, unless the opening of an explicit block
    /// does (`is_in_block`).
    pub(crate) fn get(&mut self, transaction: &Transaction<'_>, is_in_block: bool) -> Option<Arc<str>> {
        let names = || transaction.settings().iter().map(|(name, _)| *name);
        if transaction.settings().is_empty() {
            return None;
        }
        let is_known = |(known, within, _): &(Vec<String>, bool, Arc<str>)| {
            *within == is_in_block && names().eq(known.iter().map(String::as_str))
        };
        if let Some(known) = self.0.iter().position(is_known) {
            self.0.swap(0, known);
        } else {
            self.0.truncate(CAPACITY - 1);
            let text = settings_sql(names(), is_in_block);
            self.0.insert(0, (names().map(str::to_owned).collect(), is_in_block, text.into()));
        }
        self.0.first().map(|(_, _, text)| Arc::clone(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_names_share_a_statement() {
        let mut statements = SettingsStatements::default();
        assert_eq!(statements.get(&Transaction::anonymous(), false), None);
        let first = statements.get(&Transaction::new("anon"), true).unwrap();
        assert_eq!(&*first, "select where set_config('role', $1, true) is null");
        assert!(Arc::ptr_eq(&first, &statements.get(&Transaction::new("authenticated"), true).unwrap()));
        assert_ne!(first, statements.get(&Transaction::new("anon"), false).unwrap());
    }

    #[test]
    fn other_names_get_other_statements_and_few_are_kept() {
        let mut statements = SettingsStatements::default();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            let text = statements.get(&Transaction::new("anon").setting(name, "1"), true).unwrap();
            assert!(text.contains(&format!("set_config('{name}', $2, true)")), "{text}");
        }
        assert_eq!(statements.0.len(), CAPACITY);
    }
}
