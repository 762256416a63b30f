//! News for the task of a socket.

use crate::ids::ChannelId;
use crate::refusal::Refusal;
use crate::rights::Rights;

/// News for a socket about one of its channels.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A join that needed the database is decided: its outcome is with the socket.
    Joined { topic: Box<str>, attempt: ChannelId },
    /// The rights of a channel's new token are known.
    Renewed { channel: ChannelId, found: Result<Rights, Refusal> },
    /// A channel is over, for this reason.
    Shut { channel: ChannelId, message: String },
    /// There is a message for a channel's client.
    System { channel: ChannelId, extension: &'static str, is_ok: bool, message: String },
    /// The client is to connect again.
    Disconnect,
}
