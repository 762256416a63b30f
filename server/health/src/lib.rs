//! Health in one list: what is wrong with a server, since when, and what to do.
//!
//! A [`Check`] looks at one thing and returns what it has found. A [`Monitor`] runs all checks every half minute, each
//! with a time limit, and remembers since when each problem is there. It logs when a problem begins and ends, has the
//! metric `basalt_problems`, and keeps the list. A [`Messenger`] sends the list to the operator.
//!
//! The rules are in [`checks`], one file each. They know no service: the program hands them what they look at.

mod check;
pub mod checks;
mod list;
mod memory;
mod messenger;
mod metrics;
mod monitor;
mod problem;
mod settings;
mod space;
mod webhook;
mod window;

pub use check::{Check, Scope};
pub use list::List;
pub use memory::Memory;
pub use messenger::{About, Delivery, Lead, Letter, MailSender, Messenger};
pub use monitor::Monitor;
pub use problem::{Finding, Problem, Severity};
pub use settings::Settings;
pub use space::Space;
