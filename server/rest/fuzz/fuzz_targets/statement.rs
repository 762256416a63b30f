//! Any bytes as a request: it is refused as a client's mistake, or it becomes SQL that says only what we mean.
//!
//! From the folder above, with a nightly toolchain and `cargo install cargo-fuzz`:
//!
//! ```text
//! mkdir -p fuzz/corpus/statement
//! cargo +nightly fuzz run --sanitizer none statement fuzz/corpus/statement fuzz/seeds -- -dict=fuzz/words.dict
//! ```
//!
//! All code under test is safe Rust, so the address sanitizer would only cost time. What the fuzzer finds goes to
//! `seeds`, which the crate's tests check too.
#![no_main]

#[path = "../src/oracle.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|input: &[u8]| oracle::check(input));
