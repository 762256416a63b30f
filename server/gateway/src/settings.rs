/// What the gateway allows. The defaults suit a server that clients reach directly.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many proxies of yours a request passes before it arrives here, each of which adds the address it saw
    /// to `X-Forwarded-For`. The caller's address is the entry that the outermost of them wrote. 0 (the default)
    /// ignores the header, because then anybody could write it.
    pub trusted_proxies: usize,
    /// Largest request body in bytes; larger ones get 413. A face may have a limit of its own. Default 16 MiB.
    pub body_limit: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { trusted_proxies: 0, body_limit: 16 << 20 }
    }
}
