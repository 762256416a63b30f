//! The texts of the statements that set a transaction's settings. Requests set the same names again and again.

use std::sync::Arc;

use crate::Transaction;
use crate::transaction::settings_sql;

/// More are not kept: reads, writes and calls have one each, and a few functions have settings of their own.
const KEPT: usize = 8;

/// Texts by the names that they set, the most recently used first.
#[derive(Default)]
pub(crate) struct SettingsTexts(Vec<(Vec<String>, Arc<str>)>);

impl SettingsTexts {
    /// The statement that sets the settings of `transaction`, with a parameter for each value; `None` without any.
    pub(crate) fn of(&mut self, transaction: &Transaction<'_>) -> Option<Arc<str>> {
        let names = || transaction.settings().iter().map(|(name, _)| *name);
        if transaction.settings().is_empty() {
            return None;
        }
        if let Some(known) = self.0.iter().position(|(known, _)| names().eq(known.iter().map(String::as_str)))
        {
            self.0.swap(0, known);
        } else {
            self.0.truncate(KEPT - 1);
            self.0.insert(0, (names().map(str::to_owned).collect(), settings_sql(names()).into()));
        }
        self.0.first().map(|(_, text)| Arc::clone(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_names_have_the_same_text() {
        let mut texts = SettingsTexts::default();
        assert_eq!(texts.of(&Transaction::anonymous()), None);
        let first = texts.of(&Transaction::new("anon")).unwrap();
        assert_eq!(&*first, "select where set_config('role', $1, true) is null");
        assert!(Arc::ptr_eq(&first, &texts.of(&Transaction::new("authenticated")).unwrap()));
    }

    #[test]
    fn other_names_have_other_texts_and_few_are_kept() {
        let mut texts = SettingsTexts::default();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
            let text = texts.of(&Transaction::new("anon").setting(name, "1")).unwrap();
            assert!(text.contains(&format!("set_config('{name}', $2, true)")), "{text}");
        }
        assert_eq!(texts.0.len(), KEPT);
    }
}
