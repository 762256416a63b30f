//! Why a join is refused.

use crate::token::TokenError;

/// A join that is refused. The texts are upstream's, which clients show and compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The topic has no name.
    #[error("TopicNameRequired: You must provide a topic name")]
    TopicNameRequired,
    /// The server ends.
    #[error("RealtimeRestarting: Realtime is restarting, please standby")]
    Restarting,
    /// Channels have to be private.
    #[error("PrivateOnly: This project only allows private channels")]
    PrivateOnly,
    /// There are enough sockets with channels.
    #[error("ConnectionRateLimitReached: Too many connected users")]
    TooManyUsers,
    /// There are enough joins.
    #[error("ClientJoinRateLimitReached: Too many joins per second")]
    TooManyJoins,
    /// The socket has enough channels.
    #[error("ChannelRateLimitReached: Too many channels")]
    TooManyChannels,
    /// The payload is larger than any that could be meant.
    #[error("InvalidJoinPayload: The payload of the join is too large")]
    TooLarge,
    /// The channel asks for more row changes than may be.
    #[error("ChannelRateLimitReached: Too many postgres_changes bindings")]
    TooManyBindings,
    /// The token is not good.
    #[error("{code}: {0}", code = .0.code())]
    Token(#[from] TokenError),
    /// No policy lets the caller read.
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
    /// It is not said which earlier messages.
    #[error("UnableToReplayMessages: Replay params are not valid")]
    InvalidReplay,
    /// Earlier messages could not be read.
    #[error("UnableToReplayMessages: Realtime was unable to replay messages")]
    ReplayFailed,
}
