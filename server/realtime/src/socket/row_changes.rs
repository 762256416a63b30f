//! What a channel asks for of the changes of rows.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::context::SocketContext;
use crate::changes::{Bindings, FeedState, Prepared, Principal, Subscriber, Subscription};
use crate::channel::Channel;
use crate::ids::ChannelId;
use crate::notice::Notice;
use crate::outbox::Outbox;
use crate::protocol::Version;
use crate::refusal::Refusal;
use crate::token::Access;

/// How long a channel that asks for broadcasts of the database waits for the replication stream.
const REPLICATION_LIMIT: Duration = Duration::from_secs(60);

impl SocketContext {
    /// Returns the row changes that a join asked for, as soon as they can be delivered.
    ///
    /// Errors: the refusal of the join, also if that takes longer than `limit`.
    pub(super) async fn prepare(
        &self,
        access: &Access,
        bindings: &Bindings,
        limit: Duration,
    ) -> Result<Prepared, Refusal> {
        let _waiting = self.hub.wait();
        self.changes.prepare(access, &bindings.0, fairness::caller(), limit).await
    }

    /// Subscribes a channel to the row changes that it asked for, if any. They are `prepared` if its join has waited
    /// for them.
    pub(super) fn subscribe(
        &self,
        channel: &Channel,
        bindings: Arc<Bindings>,
        prepared: Option<Prepared>,
        outbox: &Arc<Outbox>,
        version: Version,
    ) -> Option<Subscription> {
        if bindings.0.is_empty() {
            return None;
        }
        let subscriber = Subscriber {
            outbox: Arc::clone(outbox),
            version,
            topic: channel.topic.wire_name().into(),
            access: channel.access.clone(),
            principal: Principal::of(&channel.access),
            bindings,
            network: fairness::caller(),
        };
        Some(self.changes.subscribe(channel.id, subscriber, prepared))
    }

    /// Tells a channel when the replication stream is live, or ends the channel if that takes too long.
    pub(super) fn announce_replication(
        &self,
        channel: ChannelId,
        outbox: &Arc<Outbox>,
    ) -> AbortOnDropHandle<()> {
        let (mut state, outbox) = (self.changes.state(), Arc::clone(outbox));
        AbortOnDropHandle::new(self.tasks.spawn(async move {
            let live = state.wait_for(|state| *state == FeedState::Live);
            let notice = match tokio::time::timeout(REPLICATION_LIMIT, live).await {
                Ok(_) => Notice::System {
                    channel,
                    extension: "system",
                    is_ok: true,
                    message: "Replication connection established".to_owned(),
                },
                Err(_) => {
                    let message = "Replication connection was not established in time".to_owned();
                    Notice::Shut { channel, message }
                }
            };
            outbox.notify(notice);
        }))
    }
}
