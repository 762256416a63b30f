//! How often codes of a few digits may be tried. Tries are counted for each user or factor, since a limit per address
//! does not stop an attacker who has many addresses, and one per code none who has new codes sent.

use std::time::Duration;

use uuid::Uuid;

use super::Limits;
use crate::Error;
use crate::store::Work;
use crate::store::one_time_tokens::Kind;

/// How often codes may be tried before those of a user are not accepted any more or a factor has to rest.
const MAX_TRIES: u32 = 10;
/// How long a user's codes are not accepted, counted from the first try.
const CODE_WINDOW: Duration = Duration::from_secs(3600);
/// How long a factor rests, counted from the first try.
const FACTOR_WINDOW: Duration = Duration::from_secs(900);
const CODES: &str = "code tries";
const FACTORS: &str = "factor tries";

impl Limits {
    /// Takes one of the tries that `user` has for codes of `kind`, whichever of them it is, before it is compared.
    /// Returns whether there was one.
    pub(crate) async fn take_code_try(&self, user: Uuid, kind: Kind) -> Result<bool, Error> {
        self.count_for(CODES, &code_name(user, kind), f64::from(MAX_TRIES), CODE_WINDOW).await
    }

    /// As [`take_code_try`](Self::take_code_try), when `work` is committed.
    pub(crate) async fn take_code_try_within(
        &self,
        work: &Work,
        user: Uuid,
        kind: Kind,
    ) -> Result<bool, Error> {
        let (name, number) = (code_name(user, kind), f64::from(MAX_TRIES));
        match self.shared() {
            Some(shared) => shared.count_within(work, CODES, &name, number, CODE_WINDOW).await,
            None => self.count_for(CODES, &name, number, CODE_WINDOW).await,
        }
    }

    /// Forgets the tries of a user's codes of `kind`, since one was right, when `work` is committed.
    pub(crate) async fn forget_code_tries(&self, work: &Work, user: Uuid, kind: Kind) -> Result<(), Error> {
        self.forget(work, CODES, &code_name(user, kind)).await
    }

    /// Takes one of the tries of a factor, before a code is compared. Returns whether there was one.
    pub(crate) async fn take_factor_try(&self, factor: Uuid) -> Result<bool, Error> {
        self.count_for(FACTORS, &factor.to_string(), f64::from(MAX_TRIES), FACTOR_WINDOW).await
    }

    /// Forgets the tries of a factor, since its code was right, when `work` is committed.
    pub(crate) async fn forget_factor_tries(&self, work: &Work, factor: Uuid) -> Result<(), Error> {
        self.forget(work, FACTORS, &factor.to_string()).await
    }

    async fn forget(&self, work: &Work, bucket: &str, name: &str) -> Result<(), Error> {
        match self.shared() {
            Some(shared) => shared.forget_within(work, bucket, name).await,
            None => {
                self.counters.memory.forget(bucket, name);
                Ok(())
            }
        }
    }
}

fn code_name(user: Uuid, kind: Kind) -> String {
    format!("{user} {}", kind.name())
}
