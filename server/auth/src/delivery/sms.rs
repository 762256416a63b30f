//! Text messages, sent by HTTP interfaces of providers.

mod messagebird;
mod textlocal;
mod twilio;
mod vonage;

use reqwest::{Method, RequestBuilder};

use crate::http_client::{HttpClient, HttpError, HttpResponse, Reach};
use crate::{SmsProvider, SmsSettings};
use gotemplate::{Format, Template, Value};

/// Why a message did not go out, in the provider's words or ours.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SmsError {
    /// No provider is configured.
    #[error("no SMS provider is set")]
    NoProvider,
    /// The provider sends none of that kind.
    #[error("channel type {0:?} is not supported for {1}")]
    Channel(String, &'static str),
    /// The provider did not take it.
    #[error("{0}")]
    Refused(String),
    /// The provider could not be asked.
    #[error(transparent)]
    Http(#[from] HttpError),
}

/// A message that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sms<'a> {
    /// Digits only.
    pub(crate) phone: &'a str,
    /// The whole text.
    pub(crate) text: &'a str,
    /// The digits in it.
    pub(crate) code: &'a str,
    pub(crate) channel: Channel,
}

::settings::words! {
    /// By which way messages go.
    pub(crate) enum Channel {
        Sms = "sms",
        Whatsapp = "whatsapp",
    }
}

impl Channel {
    /// Returns the channel of this name; `None` for an unknown one.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if name.is_empty() { Some(Self::Sms) } else { Self::of_name(name) }
    }
}

/// Sends text messages.
pub(crate) struct SmsSender {
    provider: Option<SmsProvider>,
    /// Replaces the host that the provider has.
    base_url: Option<String>,
    template: Template,
    factor_template: Template,
    client: HttpClient,
}

impl SmsSender {
    /// Prepares the messages. `factor_template` is the text of codes that are a second factor.
    ///
    /// Errors: a sentence for a template that cannot be read.
    pub(crate) fn new(
        settings: &SmsSettings,
        factor_template: &str,
        client: HttpClient,
    ) -> Result<Self, String> {
        let parse = |name: &str, source: &str| {
            Template::parse(source, Format::Text).map_err(|error| format!("{name}: {error}"))
        };
        Ok(Self {
            provider: settings.provider.clone(),
            base_url: settings.base_url.as_ref().map(|url| url.trim_end_matches('/').to_owned()),
            template: parse("GOTRUE_SMS_TEMPLATE", &settings.template)?,
            factor_template: parse("GOTRUE_MFA_PHONE_TEMPLATE", factor_template)?,
            client,
        })
    }

    /// Returns whether the provider makes, sends and checks codes of its own, so that those made here count for
    /// nothing.
    pub(crate) fn makes_codes(&self) -> bool {
        matches!(self.provider, Some(SmsProvider::TwilioVerify { .. }))
    }

    /// Returns the text of the message with `code`. Errors: a sentence for a template that cannot be filled in.
    pub(crate) fn text(&self, code: &str, is_factor: bool) -> Result<String, String> {
        let template = if is_factor { &self.factor_template } else { &self.template };
        template.render(&Value::map([("Code", code.into())])).map_err(|error| error.to_string())
    }

    /// Sends `sms`; returns its id at the provider.
    pub(crate) async fn send(&self, sms: Sms<'_>) -> Result<String, SmsError> {
        let provider = self.provider.as_ref().ok_or(SmsError::NoProvider)?;
        let whatsapp = matches!(provider, SmsProvider::Twilio { .. } | SmsProvider::TwilioVerify { .. });
        if sms.channel == Channel::Whatsapp && !whatsapp {
            return Err(SmsError::Channel(sms.channel.name().to_owned(), title(provider)));
        }
        match provider {
            SmsProvider::Twilio(account) => twilio::send(self, account, sms).await,
            SmsProvider::TwilioVerify(account) => twilio::send_verification(self, account, sms).await,
            SmsProvider::Messagebird(account) => messagebird::send(self, account, sms).await,
            SmsProvider::Textlocal(account) => textlocal::send(self, account, sms).await,
            SmsProvider::Vonage(account) => vonage::send(self, account, sms).await,
        }
    }

    /// Returns whether the provider has sent `code` to `phone`; false where it makes no codes.
    pub(crate) async fn check(&self, phone: &str, code: &str) -> Result<bool, SmsError> {
        match &self.provider {
            Some(SmsProvider::TwilioVerify(account)) => {
                twilio::check_verification(self, account, phone, code).await
            }
            _ => Ok(false),
        }
    }

    /// Returns a request to `path` at the provider, or at what stands in for it, with `form` as its body.
    fn form(&self, host: &str, path: &str, form: &[(&str, &str)]) -> Result<RequestBuilder, HttpError> {
        let url = format!("{}{path}", self.base_url.as_deref().unwrap_or(host));
        Ok(self.client.request(Method::POST, &url, Reach::Anywhere)?.form(form))
    }

    async fn response_to(&self, request: RequestBuilder) -> Result<HttpResponse, HttpError> {
        self.client.send(request).await
    }
}

const fn title(provider: &SmsProvider) -> &'static str {
    match provider {
        SmsProvider::Twilio { .. } | SmsProvider::TwilioVerify { .. } => "Twilio",
        SmsProvider::Messagebird { .. } => "Messagebird",
        SmsProvider::Textlocal { .. } => "TextLocal",
        SmsProvider::Vonage { .. } => "Vonage",
    }
}

#[cfg(test)]
mod tests;
