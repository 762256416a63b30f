//! Verification of codes and links that were sent.
//!
//! The user's row is locked from reading the code until it is used up, so that of several uses of one code exactly one
//! wins.

pub(crate) mod effects;

use std::time::Duration;

use http::StatusCode;
use uuid::Uuid;

use super::access_token::Session;
use super::session::{self, SignIn};
use super::{Context, pkce};
use crate::error::refusals;
use crate::flows::services::Accounts;
use crate::store::model::address::{self, Address};
use crate::store::one_time_tokens::{self, Kind};
use crate::store::users::{self, Account};
use crate::store::{self, Work, flow_states};
use crate::{Code, Error};

::settings::words! {
    /// The purpose of a code or link, by its name in redirects.
    pub(crate) enum Purpose {
        SignUp = "signup",
        Invite = "invite",
        Recovery = "recovery",
        MagicLink = "magiclink",
        EmailChange = "email_change",
        /// Sign-up or magic link, whichever it turns out to be.
        Email = "email",
        Sms = "sms",
        PhoneChange = "phone_change",
    }
}

impl Purpose {
    /// Returns the method of flows with PKCE that end in such a link.
    const fn flow_method(self) -> &'static str {
        match self {
            Self::SignUp | Self::Email => "email/signup",
            other => other.name(),
        }
    }

    /// Returns which codes may serve.
    const fn kinds(self) -> &'static [Kind] {
        match self {
            Self::SignUp | Self::Invite | Self::Sms => &[Kind::Confirmation],
            Self::Recovery | Self::MagicLink => &[Kind::Recovery],
            Self::EmailChange => &[Kind::EmailChangeCurrent, Kind::EmailChangeNew],
            Self::Email => &[Kind::Confirmation, Kind::Recovery],
            Self::PhoneChange => &[Kind::PhoneChange],
        }
    }
}

/// The code of a request.
pub(crate) enum Proof {
    /// Digits, and the address that they were sent to.
    Code { code: String, address: Address },
    /// The hash in a link, with its prefix if the flow uses PKCE.
    Hash(String),
}

impl Proof {
    /// Returns the proof of a request to verify, in which absent fields are empty.
    ///
    /// Errors: `validation_failed` for none or two of code and hash, a code without exactly one address and a hash
    /// with anything else; 422 for a wrong e-mail address.
    pub(crate) fn from_fields(
        (code, hash): (&str, &str),
        (email, phone): (&str, &str),
        redirect_to: &str,
    ) -> Result<Self, Error> {
        match (code, hash) {
            ("", "") => Err(Error::validation("Verify requires either a token or a token hash")),
            ("", hash) if email.is_empty() && phone.is_empty() && redirect_to.is_empty() => {
                Ok(Self::Hash(hash.to_owned()))
            }
            ("", _) => Err(Error::validation("Only the token_hash and type should be provided")),
            (code, "") => {
                let address = match (email, phone) {
                    (email, "") if !email.is_empty() => {
                        let invalid = |_| {
                            Code::ValidationFailed
                                .at(StatusCode::UNPROCESSABLE_ENTITY, "Invalid email format")
                        };
                        Address::Email(address::email(email).map_err(invalid)?)
                    }
                    ("", phone) if !phone.is_empty() => Address::Phone(address::phone(phone)?),
                    _ => {
                        return Err(Error::validation(
                            "Only an email address or phone number should be provided on verify",
                        ));
                    }
                };
                Ok(Self::Code { code: code.to_owned(), address })
            }
            _ => Err(Error::validation("Verify requires either a token or a token hash")),
        }
    }

    /// Returns the refusal of a proof that is wrong, used, too old or unknown.
    fn refusal(&self) -> Error {
        Code::OtpExpired.because(match self {
            Self::Hash(_) => "Email link is invalid or has expired",
            Self::Code { .. } => "Token has expired or is invalid",
        })
    }
}

/// The result of a verification.
pub(crate) enum VerificationResult {
    /// The user is signed in.
    Session(Box<Session>),
    /// The user is to exchange this for a session.
    Code(String),
    /// One of two addresses has confirmed the change.
    PartialConfirmation,
}

/// The message when one of two addresses has confirmed a change.
pub(crate) const HALF_CONFIRMED: &str =
    "Confirmation link accepted. Please proceed to confirm link sent to the other email";

/// Uses a code up and signs its user in.
///
/// Errors: `otp_expired` for one that is wrong, used, too old or unknown; `user_banned`; `validation_failed`.
pub(crate) async fn verify(
    context: &Context<'_, Accounts>,
    purpose: &str,
    proof: &Proof,
) -> Result<VerificationResult, Error> {
    let purpose = parse(purpose, proof)?;
    let work = store::begin(&context.services.database).await?;
    let Some(verified) = consume(context, &work, purpose, proof).await? else {
        work.commit().await?;
        return Err(proof.refusal());
    };
    let outcome = match verified.account {
        None => VerificationResult::PartialConfirmation,
        Some(account) => {
            let session = sign_in(context, &work, &account).await?;
            VerificationResult::Session(Box::new(session))
        }
    };
    work.commit().await?;
    Ok(outcome)
}

/// Uses the `hash` of a link up. A flow with PKCE ends in a code, others in a session; also returns what the link was
/// for.
///
/// Errors: as [`verify`].
pub(crate) async fn follow(
    context: &Context<'_, Accounts>,
    purpose: &str,
    hash: &str,
) -> Result<(VerificationResult, &'static str), Error> {
    let proof = Proof::Hash(hash.to_owned());
    let requested = parse(purpose, &proof)?;
    let work = store::begin(&context.services.database).await?;
    let verified = consume(context, &work, requested, &proof).await?;
    let verified = verified.ok_or_else(|| proof.refusal())?;
    let outcome = match verified.account {
        None => VerificationResult::PartialConfirmation,
        Some(account) if hash.starts_with(pkce::PREFIX) => {
            VerificationResult::Code(issue_code(&work, &account, requested, verified.purpose).await?)
        }
        Some(account) => VerificationResult::Session(Box::new(sign_in(context, &work, &account).await?)),
    };
    work.commit().await?;
    Ok((outcome, verified.purpose.name()))
}

fn parse(purpose: &str, proof: &Proof) -> Result<Purpose, Error> {
    let unknown = || Error::validation("Invalid email verification type");
    let purpose = Purpose::of_name(purpose);
    match proof {
        Proof::Hash(_) => purpose
            .filter(|purpose| !matches!(purpose, Purpose::Sms | Purpose::PhoneChange))
            .ok_or_else(unknown),
        Proof::Code { .. } => purpose.ok_or_else(|| Error::validation("Unsupported verification type")),
    }
}

async fn sign_in(context: &Context<'_, Accounts>, work: &Work, account: &Account) -> Result<Session, Error> {
    let sign_in = SignIn { method: "otp", ..SignIn::default() };
    session::begin(&context.services.sessions, work, account.id(), sign_in, &context.client).await
}

/// Returns the code of the newest flow that such a link may end.
async fn issue_code(
    work: &Work,
    account: &Account,
    requested: Purpose,
    found: Purpose,
) -> Result<String, Error> {
    let missing = || {
        let message = "No associated flow state found. No valid flow state found for user.";
        Code::FlowStateNotFound.at(StatusCode::BAD_REQUEST, message)
    };
    let mut flow = flow_states::find_newest(work, account.id(), found.flow_method()).await?;
    if flow.is_none() && requested != found {
        flow = flow_states::find_newest(work, account.id(), requested.flow_method()).await?;
    }
    let flow = flow.ok_or_else(missing)?;
    let code = flow.auth_code.ok_or_else(missing)?;
    flow_states::complete(work, flow.id, account.id(), ("", "")).await?;
    Ok(code)
}

struct VerifiedCode {
    /// `None` while another address has to confirm, too.
    account: Option<Account>,
    purpose: Purpose,
}

/// Uses the code of `proof` up; `None` for one that is wrong, used, too old or unknown, and when codes were tried too
/// often: deliberately the same. Then the transaction is to be committed, too, since it counts tries.
async fn consume(
    context: &Context<'_, Accounts>,
    work: &Work,
    requested: Purpose,
    proof: &Proof,
) -> Result<Option<VerifiedCode>, Error> {
    let (mut accounts, hashes) = match proof {
        Proof::Hash(hash) => (find_by_hash(work, requested, hash).await?, vec![hash.clone()]),
        Proof::Code { code, address } => {
            let accounts = find_by_address(context, work, requested, address).await?;
            (accounts, context.services.delivery.codes.typed(address.text(), code))
        }
    };
    let comparable = comparable(context, work, requested, proof, &accounts).await?;
    let expiry = expiry(context, requested);
    let matching = |account: &Account| {
        let own = comparable.iter().filter(|(user, _)| *user == account.id());
        own.map(|(_, kind)| *kind).find(|kind| account.pending(*kind).is(&hashes, expiry))
    };
    // Several users may be about to change to one address: the code tells which of them it is.
    let index = match &accounts[..] {
        [_] if !matches!(requested, Purpose::EmailChange) => Some(0),
        several => several.iter().position(|account| matching(account).is_some()),
    };
    let Some(index) = index else { return Ok(None) };
    let account = &accounts[index];
    if account.banned {
        return Err(refusals::user_banned());
    }
    let kind = match matching(account) {
        Some(kind) => kind,
        None if !comparable.is_empty() && is_accepted_elsewhere(context, requested, proof).await? => {
            requested.kinds()[0]
        }
        None => return Ok(None),
    };
    if matches!(proof, Proof::Code { .. }) {
        // Of a change of address, the code at one address says nothing of who has guessed at the other.
        let is_whole = !matches!(requested, Purpose::EmailChange);
        let tried =
            comparable.iter().filter(|(user, tried)| *user == account.id() && (is_whole || *tried == kind));
        for (user, kind) in tried {
            context.services.limits.forget_code_tries(work, *user, *kind).await?;
        }
    }
    let purpose = match (requested, kind) {
        (Purpose::Email, Kind::Recovery) => Purpose::MagicLink,
        (Purpose::Email, _) => Purpose::SignUp,
        (requested, _) => requested,
    };
    let account = effects::apply(context, work, accounts.swap_remove(index), purpose, kind).await?;
    Ok(Some(VerifiedCode { account, purpose }))
}

/// Returns the codes of `accounts` that `proof` may be compared with, by user and kind. Each typed code takes one try
/// of every open code that it could be; there are few for each user and kind, however many codes are sent. Hashes may
/// be compared as often as one likes, since nobody can guess one: so a link is good also when codes are not.
async fn comparable(
    context: &Context<'_, Accounts>,
    work: &Work,
    requested: Purpose,
    proof: &Proof,
    accounts: &[Account],
) -> Result<Vec<(Uuid, Kind)>, Error> {
    let expiry = expiry(context, requested);
    let mut comparable = Vec::new();
    for account in accounts {
        for &kind in requested.kinds() {
            let is_open = match proof {
                Proof::Hash(_) => true,
                Proof::Code { address, .. } => {
                    let pending = account.pending(kind);
                    // Who else accepts codes of text messages does not ask for their age.
                    let may_be_right = matches!(address, Address::Phone(_)) || pending.is_fresh(expiry);
                    let limits = &context.services.limits;
                    !pending.hash.is_empty()
                        && may_be_right
                        && limits.take_code_try_within(work, account.id(), kind).await?
                }
            };
            if is_open {
                comparable.push((account.id(), kind));
            }
        }
    }
    Ok(comparable)
}

async fn find_by_hash(work: &Work, requested: Purpose, hash: &str) -> Result<Vec<Account>, Error> {
    // No text in Postgres contains a NUL.
    if hash.contains('\0') {
        return Ok(Vec::new());
    }
    Ok(one_time_tokens::find_user(work, requested.kinds(), hash).await?.into_iter().collect())
}

/// Returns the users whose codes may have been sent to `address`, locked: several only for a change of address.
async fn find_by_address(
    context: &Context<'_, Accounts>,
    work: &Work,
    requested: Purpose,
    address: &Address,
) -> Result<Vec<Account>, Error> {
    let audience = &context.audience;
    let found = match (requested, address) {
        (Purpose::PhoneChange, Address::Phone(phone)) => {
            users::find_by_phone_change(work, phone, audience).await?
        }
        (Purpose::Sms, Address::Phone(_)) => users::find_by_address(work, address, audience).await?,
        (Purpose::Sms | Purpose::PhoneChange, _) | (_, Address::Phone(_)) => None,
        // The address that the code was sent to may be one that no user has yet.
        (Purpose::EmailChange, Address::Email(email)) => {
            let kinds = requested.kinds();
            return one_time_tokens::find_users_by_address(work, kinds, email, audience).await;
        }
        _ => users::find_by_address(work, address, audience).await?,
    };
    Ok(found.into_iter().collect())
}

/// Returns how long codes for this purpose are valid.
fn expiry(context: &Context<'_, Accounts>, requested: Purpose) -> Duration {
    let settings = &context.services.settings;
    match requested {
        Purpose::Sms | Purpose::PhoneChange => settings.sms.otp_expiry,
        _ => settings.mail.otp_expiry,
    }
}

/// Returns whether a code sent by text message is right by another rule than its hash: as a test code of the settings,
/// or according to a provider that generates the codes itself. Such codes, too, are valid only after one was sent and
/// until codes were tried too often.
async fn is_accepted_elsewhere(
    context: &Context<'_, Accounts>,
    requested: Purpose,
    proof: &Proof,
) -> Result<bool, Error> {
    let (Purpose::Sms | Purpose::PhoneChange, Proof::Code { code, address: Address::Phone(phone) }) =
        (requested, proof)
    else {
        return Ok(false);
    };
    if context.services.settings.sms.test_otp(phone).is_some_and(|test| test == code) {
        return Ok(true);
    }
    context.services.delivery.messages.provider_accepts(phone, code).await
}
