//! What an operator may decide about all faces.

use ::settings::Bytes;

::settings::settings! {
    /// What the gateway allows. The defaults suit a server that clients reach directly.
    #[derive(Debug, Clone)]
    pub struct Settings {
        /// How many proxies of yours a request passes before it arrives here, each of which adds the address it saw to
        /// `X-Forwarded-For`. The caller's address is the entry that the outermost of them wrote. With 0 the header is
        /// ignored, because then anybody could write it.
        #[setting(variables = ["BASALT_TRUSTED_PROXIES"], key = "basalt.trusted_proxies")]
        pub trusted_proxies: usize = 0,
        /// Largest request body; larger ones get 413. Storage has a limit of its own.
        #[setting(variables = ["BASALT_BODY_LIMIT"], key = "basalt.body_limit")]
        pub body_limit: Bytes = Bytes(16 << 20),
    }
}
