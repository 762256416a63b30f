//! The logins of the administrators of the embedded Postgres.

use embedded::POSTGRES;
use futures_util::FutureExt as _;
use postgres::conninfo::Conninfo;
use postgres::{Database, Repair};
use tokio::sync::Mutex;

use super::settings_of;
use crate::error::Error;

/// Sessions of the server itself write, whatever is the default of the database.
const WRITES: &str = "-c default_transaction_read_only=off";

/// Held while a password is set.
static TURN: Mutex<()> = Mutex::const_new(());

/// Returns `login` of the superuser with settings that keep what the project has defined from running with its rights:
/// triggers, event triggers and functions in schemas that others may write to. Where `postgres` itself is the
/// superuser, the login stays as it is: the project's migrations use it, too.
pub(super) fn superuser_session(mut login: Conninfo) -> Conninfo {
    if login.get("user") != Some(POSTGRES) {
        let options = format!("-c session_replication_role=replica -c search_path=pg_catalog {WRITES}");
        login.set("options", &options);
    }
    login
}

/// Returns `login` of the project's administrator with settings for the server's own sessions.
pub(super) fn project_session(mut login: Conninfo) -> Conninfo {
    login.set("options", WRITES);
    login
}

/// Returns what sets the password of the role of `login` again with the rights of `admin`, if somebody has changed it;
/// `None` if `login` has none.
pub(super) fn repair(admin: &Conninfo, login: &Conninfo) -> Option<Repair> {
    let (user, password) = (login.get("user")?.to_owned(), login.get("password")?.to_owned());
    let admin = admin.clone();
    Some(Repair::new(move || {
        let (admin, user, password) = (admin.clone(), user.clone(), password.clone());
        async move {
            let outcome = set_password(admin, &user, &password).await;
            match &outcome {
                // Another pool was first.
                Ok(false) => {}
                Ok(true) => tracing::warn!(
                    role = user,
                    "somebody has changed the password of this role, as which the server logs in: it has its former \
                     password again"
                ),
                Err(error) => tracing::error!(role = user, %error, "the password of the role cannot be set again"),
            }
            outcome.is_ok()
        }
        .boxed()
    }))
}

/// Sets the password of `user` if it is another one, and returns whether it was.
async fn set_password(admin: Conninfo, user: &str, password: &str) -> Result<bool, Error> {
    // Several pools notice it at the same time: all but the first find the password as it has to be.
    let _turn = TURN.lock().await;
    let database = Database::connect(settings_of(admin)).await?;
    let set = async {
        let mut client = database.client().await?;
        Ok(!migrations::set_role_passwords(&mut client, &[(user, password)]).await?.is_empty())
    };
    let outcome = set.await;
    database.close().await;
    outcome
}
