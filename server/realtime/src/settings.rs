//! What an operator may decide about the service.

::settings::settings! {
    /// Settings of the realtime service.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        /// Bytes that one request header may have, its name included.
        #[setting(variables = ["MAX_HEADER_LENGTH"], key = "realtime.max_header_length")]
        pub max_header_length: usize = 4096,
    }
}
