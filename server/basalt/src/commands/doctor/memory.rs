//! Whether the memory that there is goes with the setting.

use embedded::Memory;

use super::Verdict;

/// With less memory than this, `basalt.memory` should be `small`.
const LITTLE_MEMORY: u64 = 3 << 29;

/// Compares the setting with the memory that is `available`.
pub(super) fn memory(setting: Memory, available: Option<u64>) -> Verdict {
    let Some(available) = available else {
        return Verdict::Fine(format!("basalt.memory is {:?}", setting.name()));
    };
    let found = format!("{} MiB", available >> 20);
    match setting {
        Memory::Normal if available < LITTLE_MEMORY => Verdict::Note(format!(
            "{found} here: basalt.memory = \"small\" lets all parts fit into 1 GiB; without it, the system may end \
             processes when many requests come at once"
        )),
        _ => Verdict::Fine(format!("{found}, basalt.memory is {:?}", setting.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_that_a_small_machine_has_a_setting() {
        let is_note = |setting, mebibytes: u64| matches!(memory(setting, Some(mebibytes << 20)), Verdict::Note(text) if text.contains("\"small\""));
        assert!(is_note(Memory::Normal, 1024));
        assert!(!is_note(Memory::Normal, 1536), "enough");
        assert!(!is_note(Memory::Small, 1024), "set");
        assert!(matches!(memory(Memory::Normal, None), Verdict::Fine(_)), "not known");
    }
}
