//! Certificates for HTTPS: those of the operator, and those that an ACME server issues (RFC 8555).
//!
//! [`keep_issued`] gets a certificate, keeps it in a [`Storage`] and renews it; [`keep_own`] follows the files of an
//! operator. [`Certificates`] is what connections are encrypted with; it also has the answers to the challenges of orders
//! that are under way: TLS-ALPN-01 (RFC 8737) on the port of HTTPS, and HTTP-01 on that of HTTP.

mod answer;
mod certificate;
mod certificates;
mod directory;
mod order;
mod renewal;
mod settings;
mod storage;
mod task;

pub use certificate::Certificate;
pub use certificates::{ACME_PROTOCOL, Certificates, Failure};
pub use settings::{Settings, domains};
pub use storage::{Storage, load_own};
pub use task::{keep_issued, keep_own};
