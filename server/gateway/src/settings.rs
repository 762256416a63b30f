//! What an operator may decide about the layers of all services.

use ::settings::Bytes;

use crate::ExternalUrl;

::settings::settings! {
    /// Settings of the gateway. The defaults are for a server that clients reach directly.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        /// How many requests an address may make in a minute, to all services and nodes together. For IPv6 the whole
        /// network is counted. 0: no limit. Programs on this machine are not limited. Upstream has no such setting and
        /// leaves this to a proxy.
        #[setting(variables = ["BASALT_REQUESTS_PER_ADDRESS"], key = "basalt.requests_per_address")]
        pub requests_per_address: u32 = 0,
        /// How many requests may be made with one API key in a minute, by all clients together. 0: no limit.
        #[setting(variables = ["BASALT_REQUESTS_PER_KEY"], key = "basalt.requests_per_key")]
        pub requests_per_key: u32 = 0,
        /// Whether each network (an address of IPv4, a /64 network of IPv6) gets only its share of what callers can
        /// hold for a long time: connections to Postgres, calls and sockets of functions, sockets of realtime, uploads,
        /// connections to this server, memory for bodies. If there is only one network, it gets three quarters. Turn it
        /// off if most callers come from one address. Programs on this machine are not limited.
        #[setting(variables = ["BASALT_NETWORK_SHARES"], key = "basalt.network_shares")]
        pub network_shares: bool = true,
        /// How many of your proxies a request passes before it arrives here. Each of them must add the address that it
        /// saw to `X-Forwarded-For`; the caller's address is the entry of the outermost proxy. With 0, this header and
        /// all others that only proxies may send are removed, because without a proxy anybody could write them.
        #[setting(variables = ["BASALT_TRUSTED_PROXIES"], key = "basalt.trusted_proxies")]
        pub trusted_proxies: usize = 0,
        /// The maximum size of a request's body; larger ones get 413. Storage has a limit of its own.
        #[setting(variables = ["BASALT_BODY_LIMIT"], key = "basalt.body_limit")]
        pub body_limit: Bytes = Bytes(16 << 20),
        /// How much memory the bodies of all running requests may take together, without storage's uploads. If nothing
        /// is left for a request, it gets 503. One network gets at most three quarters (`network_shares`).
        #[setting(variables = ["BASALT_BODY_MEMORY"], key = "basalt.body_memory")]
        pub body_memory: Bytes = Bytes(256 << 20),
        /// How many requests of each service (REST, auth, storage and so on) the server may work on at the same time;
        /// further ones get 503 at once. Calls of functions are limited by `basalt.functions.concurrency`. 0: no limit.
        /// One network gets at most three quarters (`network_shares`).
        #[setting(variables = ["BASALT_MAX_REQUESTS"], key = "basalt.max_requests")]
        pub max_requests: u32 = 0,
        /// How many connections of clients may be open at the same time, if the limit of open files allows as many.
        #[setting(variables = ["BASALT_MAX_CONNECTIONS"], key = "basalt.max_connections", check = at_least_one)]
        pub max_connections: u32 = 20_000,
        /// Whether everybody who has the publishable key may read the description of the REST interface at `/rest/v1/`.
        /// It names all tables and functions that the role of this key may use. On hosted Supabase, only secret keys
        /// may read it since 2026.
        #[setting(variables = ["BASALT_PUBLIC_OPENAPI"], key = "basalt.public_openapi")]
        pub public_openapi: bool = false,
        /// The URL under which clients reach the API, if it is not the origin that a request names.
        pub external_url: Option<ExternalUrl> = None,
    }
}

fn at_least_one(number: u32) -> Result<u32, &'static str> {
    if number == 0 { Err("at least 1") } else { Ok(number) }
}

/// Returns the names of the settings in which `old` and `new` differ and that [`Gateway::with_settings`] leaves as they
/// were: they need a restart.
///
/// [`Gateway::with_settings`]: crate::Gateway::with_settings
pub fn settings_that_need_a_restart(old: &Settings, new: &Settings) -> Vec<&'static str> {
    ::settings::changed_names([
        ("basalt.network_shares", old.network_shares != new.network_shares),
        ("basalt.body_memory", old.body_memory != new.body_memory),
        ("basalt.max_requests", old.max_requests != new.max_requests),
        ("basalt.max_connections", old.max_connections != new.max_connections),
    ])
}
