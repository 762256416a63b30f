//! Tables of settings, and the sources that they are read from: the environment, `.env` files, `config.toml`.
//!
//! A service declares its settings with [`settings!`]: a struct whose fields have the names under which operators set
//! them. From such a table the crate derives the struct's `Default`, the reading of all sources ([`Reader::apply`]),
//! setting by name ([`set`]), the text of a configuration file ([`text_values`]) and the reference for operators
//! ([`reference()`]).

mod dotenv;
mod environment;
mod invalid;
mod known;
mod managed;
mod reader;
mod reference;
mod secret;
mod table;
mod value;
mod words;

pub use environment::{Environment, Variables, process_variables};
pub use invalid::Invalid;
pub use known::KnownKeys;
pub use managed::Managed;
pub use reader::{Implied, Reader, unknown};
pub use reference::{reference, reference_of};
pub use secret::Secret;
pub use table::{RawValue, Setting, Table, changed_names, read, set, text_values};
pub use value::{Bytes, Value, time_of_day};
