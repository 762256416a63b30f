//! One order of a certificate.

use instant_acme::{
    Account, AccountCredentials, AuthorizationHandle, AuthorizationStatus, ChallengeHandle, ChallengeType,
    Error, Identifier, NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::directory::Directory;
use crate::storage::{Issued, Item, Storage};
use crate::{Certificates, Settings};

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The ACME server has answered with a problem, or not at all.
    #[error("{0}")]
    Acme(#[from] Error),
    /// The reason is a sentence: the ACME server has refused the names, or something cannot be stored.
    #[error("{0}")]
    Other(String),
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Other(reason)
    }
}

impl Failure {
    /// Reports whether the ACME server has said that there were too many requests.
    pub(crate) fn is_limit(&self) -> bool {
        matches!(self, Self::Acme(error) if is_problem(error, "rateLimited"))
    }
}

/// Reports whether `error` is the problem `kind` (RFC 8555, section 6.7).
fn is_problem(error: &Error, kind: &str) -> bool {
    let Error::Api(problem) = error else { return false };
    problem.r#type.as_deref().and_then(|urn| urn.rsplit(':').next()) == Some(kind)
}

/// The account at an ACME server.
#[derive(Serialize, Deserialize)]
struct Stored {
    directory: String,
    credentials: AccountCredentials,
}

/// Orders a certificate. Challenges of the kind `preferred` are taken, or of the other one where the ACME server does
/// not offer these.
pub(crate) async fn order(
    settings: &Settings,
    storage: &Storage,
    certificates: &Certificates,
    preferred: ChallengeType,
) -> Result<Issued, Failure> {
    let names: Vec<_> = settings.domains.iter().cloned().map(Identifier::Dns).collect();
    let new = NewOrder::new(&names);
    let mut order = match stored_account(settings, storage).await? {
        None => new_account(settings, storage).await?.new_order(&new).await?,
        Some(account) => match account.new_order(&new).await {
            // The server has lost or removed the account.
            Err(error) if is_problem(&error, "accountDoesNotExist") => {
                new_account(settings, storage).await?.new_order(&new).await?
            }
            ordered => ordered?,
        },
    };
    answer_challenges(&mut order, storage, certificates, &preferred).await?;
    match order.poll_ready(&RetryPolicy::default()).await {
        Ok(OrderStatus::Ready) => {}
        Ok(_) => return Err(Failure::Other(reason(&mut order).await)),
        // Of an order that the ACME server says more about, it is an error.
        Err(instant_acme::Error::Api(_)) if order.state().status == OrderStatus::Invalid => {
            return Err(Failure::Other(reason(&mut order).await));
        }
        Err(error) => return Err(error.into()),
    }
    let key = order.finalize().await?;
    let chain = order.poll_certificate(&RetryPolicy::default()).await?;
    let (directory, domains) = (settings.acme_directory.clone(), settings.domains.clone());
    Ok(Issued { directory, domains, chain, key })
}

/// Makes the answers to the challenges of `order` available, and says so to the ACME server.
async fn answer_challenges(
    order: &mut Order,
    storage: &Storage,
    certificates: &Certificates,
    preferred: &ChallengeType,
) -> Result<(), Failure> {
    let mut answers = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if authorization.status != AuthorizationStatus::Valid {
            answers.push(Answer::to(&challenge(&mut authorization, preferred)?));
        }
    }
    storage.answer(&answers, certificates).await?;
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if authorization.status != AuthorizationStatus::Valid {
            challenge(&mut authorization, preferred)?.set_ready().await?;
        }
    }
    Ok(())
}

/// Returns the challenge of `authorization` that is answered.
fn challenge<'a>(
    authorization: &'a mut AuthorizationHandle<'a>,
    preferred: &ChallengeType,
) -> Result<ChallengeHandle<'a>, Failure> {
    let other = match preferred {
        ChallengeType::Http01 => ChallengeType::TlsAlpn01,
        _ => ChallengeType::Http01,
    };
    let has_preferred = authorization.challenges.iter().any(|offer| offer.r#type == *preferred);
    let kind = if has_preferred { preferred.clone() } else { other };
    let challenge = authorization.challenge(kind);
    challenge.ok_or_else(|| "the ACME server offers neither TLS-ALPN-01 nor HTTP-01".to_owned().into())
}

/// Returns what the ACME server says about the names that it has refused.
async fn reason(order: &mut Order) -> String {
    let mut reasons = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let Ok(state) = authorization.refresh().await else { continue };
        let errors = state.challenges.iter().filter_map(|challenge| challenge.error.as_ref());
        reasons.extend(errors.map(ToString::to_string));
    }
    format!("the ACME server cannot reach this server under its names: {}", reasons.join("; "))
}

/// Returns the stored account; `None` if there is none at this ACME server.
async fn stored_account(settings: &Settings, storage: &Storage) -> Result<Option<Account>, Failure> {
    let stored: Option<Stored> = storage.read(Item::Account).await?;
    let Some(stored) = stored.filter(|stored| stored.directory == settings.acme_directory) else {
        return Ok(None);
    };
    let directory = Directory::new(settings.acme_root.as_deref())?;
    let builder = Account::builder_with_http(Box::new(directory));
    Ok(Some(builder.from_credentials(stored.credentials).await?))
}

/// Makes an account and stores it.
async fn new_account(settings: &Settings, storage: &Storage) -> Result<Account, Failure> {
    let directory = Directory::new(settings.acme_root.as_deref())?;
    let builder = Account::builder_with_http(Box::new(directory));
    let contact = settings.acme_contact.as_ref().map(|address| format!("mailto:{address}"));
    let contact: Vec<_> = contact.as_deref().into_iter().collect();
    let new = NewAccount { contact: &contact, terms_of_service_agreed: true, only_return_existing: false };
    let (account, credentials) = builder.create(&new, settings.acme_directory.clone(), None).await?;
    let stored = Stored { directory: settings.acme_directory.clone(), credentials };
    storage.write(Item::Account, &stored).await?;
    Ok(account)
}
