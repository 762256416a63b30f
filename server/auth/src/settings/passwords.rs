/// What passwords must be like, and how they are hashed.
#[derive(Debug, Clone)]
pub struct PasswordSettings {
    /// Fewest characters (`PASSWORD_MIN_LENGTH`), at least 6. Default 6.
    pub min_length: usize,
    /// Sets of characters, each of which must be represented (`PASSWORD_REQUIRED_CHARACTERS`). Default none.
    pub required_characters: Vec<String>,
    /// Refuses passwords that are known to have leaked (`PASSWORD_HIBP_ENABLED`). Default false.
    pub leaked_check: bool,
    /// Refuses passwords that cannot be checked for a leak right now (`PASSWORD_HIBP_FAIL_CLOSED`). Default false.
    pub leaked_check_fails_closed: bool,
    /// Where leaked passwords are looked up by the first five hex digits of their SHA-1.
    /// Default `https://api.pwnedpasswords.com/range/`.
    pub leaked_check_url: String,
    /// bcrypt's cost: 2 to this power rounds. Default 10, as upstream.
    pub bcrypt_cost: u32,
    /// Hashes computed at the same time, each on a thread of its own that lets others go first. Default: the number of
    /// processors.
    pub parallel_hashes: usize,
    /// Sign-ins whose hash may be under way or waiting; more get 429. Default 100.
    pub queue_length: usize,
}

impl Default for PasswordSettings {
    fn default() -> PasswordSettings {
        PasswordSettings {
            min_length: 6,
            required_characters: Vec::new(),
            leaked_check: false,
            leaked_check_fails_closed: false,
            leaked_check_url: "https://api.pwnedpasswords.com/range/".to_owned(),
            bcrypt_cost: 10,
            parallel_hashes: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            queue_length: 100,
        }
    }
}
