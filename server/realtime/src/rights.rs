//! The rights of a channel.

::settings::words! {
    /// A kind of rights, by its name in the column `extension` of `realtime.messages` that policies test.
    pub(crate) enum Right {
        /// Broadcasts.
        Broadcast = "broadcast",
        /// Presence.
        Presence = "presence",
        /// Broadcasts that are stored, which is a right to write only.
        Persistence = "persistence",
    }
}

/// The rights of a channel. Those to read are found out at the join, those to write when they are needed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rights {
    pub(crate) reads_broadcasts: bool,
    pub(crate) reads_presence: bool,
    /// Whether `reads_presence` has been found out.
    pub(crate) knows_presence: bool,
    writes_broadcasts: Option<bool>,
    writes_presence: Option<bool>,
    stores_broadcasts: Option<bool>,
}

impl Rights {
    /// The rights of a public channel: all, except that nothing is stored.
    pub(crate) const PUBLIC: Self = Self {
        reads_broadcasts: true,
        reads_presence: true,
        knows_presence: true,
        writes_broadcasts: Some(true),
        writes_presence: Some(true),
        stores_broadcasts: Some(false),
    };

    /// Returns rights to read; `presence` is `None` if it has not been found out.
    pub(crate) fn reading(broadcasts: bool, presence: Option<bool>) -> Self {
        Self {
            reads_broadcasts: broadcasts,
            reads_presence: presence.unwrap_or_default(),
            knows_presence: presence.is_some(),
            writes_broadcasts: None,
            writes_presence: None,
            stores_broadcasts: None,
        }
    }

    /// Returns whether the channel may write; `None` if that has not been found out.
    pub(crate) const fn writes(&self, right: Right) -> Option<bool> {
        match right {
            Right::Broadcast => self.writes_broadcasts,
            Right::Presence => self.writes_presence,
            Right::Persistence => self.stores_broadcasts,
        }
    }

    /// Stores whether the channel may write.
    pub(crate) const fn note(&mut self, right: Right, may_write: bool) {
        match right {
            Right::Broadcast => self.writes_broadcasts = Some(may_write),
            Right::Presence => self.writes_presence = Some(may_write),
            Right::Persistence => self.stores_broadcasts = Some(may_write),
        }
    }
}
