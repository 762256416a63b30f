//! Settings of the service, named as PostgREST names them.

/// What the service may be told. Upstream's environment variable is `PGRST_` and the field's name in capitals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Schemas whose relations and functions are exposed; the first is the default. Default: `public`.
    pub db_schemas: Vec<String>,
    /// Schemas that are searched for unqualified names inside SQL, after the request's own. Default: `public`.
    pub db_extra_search_path: Vec<String>,
    /// The role of requests without a token; `None` refuses them with `PGRST302`. Default: none.
    pub db_anon_role: Option<String>,
    /// The most rows that a read or call gives, per embed too; `None` is no limit. Default: none.
    pub db_max_rows: Option<i64>,
    /// A function (`name` or `schema.name`) that is called before every request's statement. Default: none.
    pub db_pre_request: Option<String>,
    /// Functions' own settings that are applied to the whole transaction.
    /// Default: `statement_timeout`, `plan_filter.statement_cost_limit`, `default_transaction_isolation`.
    pub db_hoisted_tx_settings: Vec<String>,
    /// How transactions end. Default: `commit`.
    pub db_tx_end: TxEnd,
    /// Whether embeds may still be addressed by their relation's name though they have an alias. Default: true.
    pub url_use_legacy_target_names: bool,
    /// How much an error tells. Default: `verbose`.
    pub client_error_verbosity: Verbosity,
    /// The largest body that is read, in bytes; larger ones answer 413. Default: 50 MiB.
    pub max_body_size: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            db_schemas: vec!["public".to_owned()],
            db_extra_search_path: vec!["public".to_owned()],
            db_anon_role: None,
            db_max_rows: None,
            db_pre_request: None,
            db_hoisted_tx_settings: ["statement_timeout", "plan_filter.statement_cost_limit"]
                .into_iter()
                .chain(["default_transaction_isolation"])
                .map(str::to_owned)
                .collect(),
            db_tx_end: TxEnd::Commit,
            url_use_legacy_target_names: true,
            client_error_verbosity: Verbosity::Verbose,
            max_body_size: 50 * 1024 * 1024,
        }
    }
}

/// How transactions end (`db-tx-end`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxEnd {
    /// `commit`.
    Commit,
    /// `commit-allow-override`: unless the client prefers `tx=rollback`.
    CommitAllowOverride,
    /// `rollback`.
    Rollback,
    /// `rollback-allow-override`: unless the client prefers `tx=commit`.
    RollbackAllowOverride,
}

impl TxEnd {
    /// Whether the client may choose.
    pub const fn may_override(self) -> bool {
        matches!(self, Self::CommitAllowOverride | Self::RollbackAllowOverride)
    }

    /// Whether a transaction is rolled back when the client did not choose.
    pub const fn is_rollback(self) -> bool {
        matches!(self, Self::Rollback | Self::RollbackAllowOverride)
    }
}

impl std::str::FromStr for TxEnd {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "commit" => Ok(Self::Commit),
            "commit-allow-override" => Ok(Self::CommitAllowOverride),
            "rollback" => Ok(Self::Rollback),
            "rollback-allow-override" => Ok(Self::RollbackAllowOverride),
            other => Err(format!(
                "expected commit, commit-allow-override, rollback or rollback-allow-override, found `{other}`"
            )),
        }
    }
}

/// How much an error tells (`client-error-verbosity`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// `verbose`: code, message, details and hint.
    Verbose,
    /// `minimal`: code and message.
    Minimal,
}
