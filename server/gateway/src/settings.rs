//! What an operator may decide about all faces.

use ::settings::Bytes;

use crate::ExternalUrl;

::settings::settings! {
    /// What the gateway allows. The defaults suit a server that clients reach directly.
    #[derive(Debug, Clone)]
    pub struct Settings {
        /// Requests that an address may make in a minute, to all services and nodes together; of IPv6 the network counts. 0
        /// for any number. Programs on this machine are not limited. Upstream leaves this to what stands in front.
        #[setting(variables = ["BASALT_REQUESTS_PER_ADDRESS"], key = "basalt.requests_per_address")]
        pub requests_per_address: u32 = 0,
        /// Requests that may be made with an API key in a minute, by all who have it. 0 for any number.
        #[setting(variables = ["BASALT_REQUESTS_PER_KEY"], key = "basalt.requests_per_key")]
        pub requests_per_key: u32 = 0,
        /// Whether a network (an address of IPv4, a /64 network of IPv6) gets only its share of what callers hold at their own
        /// speed: connections to Postgres, calls and sockets of functions, sockets of realtime, uploads, connections to this
        /// server, memory for bodies. One alone gets three quarters. Turn it off if most callers come from one address. Programs on this machine
        /// are not limited.
        #[setting(variables = ["BASALT_NETWORK_SHARES"], key = "basalt.network_shares")]
        pub network_shares: bool = true,
        /// How many proxies of yours a request passes before it arrives here, each of which adds the address it saw to
        /// `X-Forwarded-For`. The caller's address is the entry that the outermost of them wrote. With 0 this header and all
        /// others that only proxies may send are removed, because then anybody could write them.
        #[setting(variables = ["BASALT_TRUSTED_PROXIES"], key = "basalt.trusted_proxies")]
        pub trusted_proxies: usize = 0,
        /// Largest request body; larger ones get 413. Storage has a limit of its own.
        #[setting(variables = ["BASALT_BODY_LIMIT"], key = "basalt.body_limit")]
        pub body_limit: Bytes = Bytes(16 << 20),
        /// How much memory the bodies of all requests may take that are under way, storage's uploads not counted; a request
        /// for which nothing is left gets 503. A network gets three quarters (`network_shares`).
        #[setting(variables = ["BASALT_BODY_MEMORY"], key = "basalt.body_memory")]
        pub body_memory: Bytes = Bytes(256 << 20),
        /// Whether everybody who has the publishable key may read the description of the REST interface at `/rest/v1/`, which
        /// names all tables and functions that its role may use. Hosted Supabase has shown it to secret keys alone since 2026.
        #[setting(variables = ["BASALT_PUBLIC_OPENAPI"], key = "basalt.public_openapi")]
        pub public_openapi: bool = false,
        /// The URL under which clients reach the API, if it is not the origin that a request names.
        pub external_url: Option<ExternalUrl> = None,
    }
}
