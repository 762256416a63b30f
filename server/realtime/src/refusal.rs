//! Refusals of joins.

use crate::token::TokenError;

/// The reason why a join is refused. The texts are upstream's, which clients show and compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The topic has no name.
    #[error("TopicNameRequired: You must provide a topic name")]
    TopicNameRequired,
    /// The server shuts down.
    #[error("RealtimeRestarting: Realtime is restarting, please standby")]
    Restarting,
    /// Channels have to be private.
    #[error("PrivateOnly: This project only allows private channels")]
    PrivateOnly,
    /// The limit of sockets with channels is reached.
    #[error("ConnectionRateLimitReached: Too many connected users")]
    TooManyUsers,
    /// The limit of joins per second is reached.
    #[error("ClientJoinRateLimitReached: Too many joins per second")]
    TooManyJoins,
    /// The socket's limit of channels is reached.
    #[error("ChannelRateLimitReached: Too many channels")]
    TooManyChannels,
    /// The payload is too large.
    #[error("InvalidJoinPayload: The payload of the join is too large")]
    TooLarge,
    /// There is no memory for what the client joins with.
    #[error("ConnectionRateLimitReached: Too many large joins")]
    NoMemory,
    /// The channel has too many bindings.
    #[error("ChannelRateLimitReached: Too many postgres_changes bindings")]
    TooManyBindings,
    /// The token is invalid.
    #[error("{code}: {0}", code = .0.code())]
    Token(#[from] TokenError),
    /// No policy lets the caller read, or not the broadcasts whose replay it asks for.
    #[error("Unauthorized: You do not have permissions to read from this Channel topic: {0}")]
    Unauthorized(String),
    /// The database cannot be reached.
    #[error("UnableToConnectToProject: Realtime was unable to connect to the project database")]
    NoDatabase,
    /// All connections to the database are in use.
    #[error("IncreaseConnectionPool: Please increase your connection pool size")]
    PoolTooSmall,
    /// The policies took too long.
    #[error("QueryCanceled: Realtime was unable to check the policies in time")]
    QueryCanceled,
    /// There is no partition for today's messages.
    #[error("MissingPartition: Realtime was unable to find the expected messages partition")]
    MissingPartition,
    /// A public channel asked for earlier messages.
    #[error("UnableToReplayMessages: Replay is not allowed for public channels")]
    PublicReplay,
    /// The request for earlier messages is malformed.
    #[error("UnableToReplayMessages: Replay params are not valid")]
    InvalidReplay,
    /// Earlier messages could not be read.
    #[error("UnableToReplayMessages: Realtime was unable to replay messages")]
    ReplayFailed,
    /// A client that waits for its row changes cannot get them.
    #[error("RealtimeDisabledForConfiguration: {0}")]
    NoSubscription(String),
    /// A client has waited so many milliseconds for its row changes.
    #[error(
        "PostgresChangesSubscribeTimeout: Timed out after {0}ms waiting for the postgres_changes subscription"
    )]
    SubscriptionTimeout(u128),
}
