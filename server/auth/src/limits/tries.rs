//! How often codes of a few digits may be tried. They are counted for each code or factor, since a limit per address
//! does not stop an attacker who has many addresses.

use std::time::Duration;

use uuid::Uuid;

use super::Limits;
use crate::Error;
use crate::store::Work;

/// Wrong codes that may be tried before a code is invalid or a factor has to rest.
const MAX_WRONG: u32 = 10;
/// How long a factor rests, counted from the first try.
const FACTOR_WINDOW: Duration = Duration::from_secs(900);
const CODES: &str = "wrong codes";
const FACTORS: &str = "factor tries";

impl Limits {
    /// Counts a wrong try of the code with `hash`, which is valid for `expiry`, when `work` is committed. Returns whether
    /// it was the last one, after which the code has to become invalid.
    ///
    /// Of parallel tries none is forgotten if `work` has locked the code before it was compared.
    pub(crate) async fn count_wrong_code(
        &self,
        work: &Work<'_>,
        hash: &str,
        expiry: Duration,
    ) -> Result<bool, Error> {
        let others = f64::from(MAX_WRONG - 1);
        let may_go_on = match &self.shared {
            Some(shared) => shared.count_within(work, CODES, hash, others, expiry).await?,
            None => self.count_for(CODES, hash, others, expiry).await?,
        };
        Ok(!may_go_on)
    }

    /// Takes one of the tries of the code with `hash`, before it is compared. Returns whether there was one.
    pub(crate) async fn take_code_try(&self, hash: &str, expiry: Duration) -> Result<bool, Error> {
        self.count_for(CODES, hash, f64::from(MAX_WRONG), expiry).await
    }

    /// Takes one of the tries of a factor, before a code is compared. Returns whether there was one.
    pub(crate) async fn take_factor_try(&self, factor: Uuid) -> Result<bool, Error> {
        self.count_for(FACTORS, &factor.to_string(), f64::from(MAX_WRONG), FACTOR_WINDOW).await
    }

    /// Forgets the tries of a factor, since its code was right, when `work` is committed.
    pub(crate) async fn forget_factor_tries(&self, work: &Work<'_>, factor: Uuid) -> Result<(), Error> {
        let factor = factor.to_string();
        match &self.shared {
            Some(shared) => shared.forget_within(work, FACTORS, &factor).await,
            None => {
                self.memory.forget(FACTORS, &factor);
                Ok(())
            }
        }
    }
}
