//! The texts of the statements that set a transaction's settings. Requests set the same names again and again.

use std::sync::Arc;

use crate::Transaction;
use crate::transaction::settings_sql;

/// More are not kept: reads, writes and calls have one each, and a few functions have settings of their own.
const KEPT: usize = 8;

/// Texts by the names that they set and whether that is within a block, the most recently used first.
#[derive(Default)]
pub(crate) struct SettingsTexts(Vec<(Vec<String>, bool, Arc<str>)>);

impl SettingsTexts {
    /// The statement that sets the settings of `transaction`, with a parameter for each value; `None` without any.
    /// Unless an explicit block names them (`is_in_block`), isolation level and access mode are among them.
    pub(crate) fn of(&mut self, transaction: &Transaction<'_>, is_in_block: bool) -> Option<Arc<str>> {
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
            self.0.truncate(KEPT - 1);
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
    fn the_same_names_have_the_same_text() {
        let mut texts = SettingsTexts::default();
        assert_eq!(texts.of(&Transaction::anonymous(), false), None);
        let first = texts.of(&Transaction::new("anon"), true).unwrap();
        assert_eq!(&*first, "select where set_config('role', $1, true) is null");
        assert!(Arc::ptr_eq(&first, &texts.of(&Transaction::new("authenticated"), true).unwrap()));
        assert_ne!(first, texts.of(&Transaction::new("anon"), false).unwrap());
    }

    #[test]
    fn other_names_have_other_texts_and_few_are_kept() {
        let mut texts = SettingsTexts::default();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            let text = texts.of(&Transaction::new("anon").setting(name, "1"), true).unwrap();
            assert!(text.contains(&format!("set_config('{name}', $2, true)")), "{text}");
        }
        assert_eq!(texts.0.len(), KEPT);
    }
}
