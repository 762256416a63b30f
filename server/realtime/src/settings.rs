//! What an operator may decide about the service.

/// Settings of the realtime service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Bytes that one request header may have, its name included. Upstream's `MAX_HEADER_LENGTH`,
    /// `realtime.max_header_length` in `config.toml`. Default: 4096.
    pub max_header_length: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_header_length: 4096 }
    }
}
