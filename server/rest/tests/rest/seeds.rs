//! The fuzzer's seeds as tests: each becomes SQL that says only what we mean, or is refused as the client's mistake.

#[path = "../../fuzz/src/oracle.rs"]
mod oracle;

use std::path::Path;

#[test]
fn every_seed_keeps_what_must_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let input = std::fs::read(entry.unwrap().path()).unwrap();
        oracle::check(&input);
        checked += 1;
    }
    assert!(checked > 30, "only {checked} seeds were found");
}
