//! Templates of mails: the operator's, if it can be read, else the built-in one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use tokio::sync::Mutex;

use super::defaults;
use crate::MailSettings;
use crate::http_client::{HttpClient, Reach};
use crate::settings::MailKind;
use gotemplate::{Format, Template, TemplateError, Value};

/// Subject and body of a kind of mail.
struct Pair {
    subject: Template,
    body: Template,
}

/// The templates of one kind of mail, and where they are loaded from.
struct KindTemplates {
    /// The operator's subject.
    subject: Option<String>,
    /// The operator's text.
    content: Option<String>,
    /// A file or URL, if there is no such text.
    source: Option<String>,
    /// What was read last, and when to read again. Held while reading, so that one request reads for all.
    cached: Mutex<Option<(Arc<Pair>, Instant)>>,
}

/// The templates of all kinds.
pub(super) struct Templates {
    slots: BTreeMap<MailKind, KindTemplates>,
    client: HttpClient,
    max_size: usize,
    max_age: Duration,
    retry_interval: Duration,
}

impl Templates {
    /// Reads nothing yet. URLs without a host lie below `site_url`.
    pub(super) fn new(settings: &MailSettings, site_url: &str, client: HttpClient) -> Self {
        let slot = |kind: MailKind| KindTemplates {
            subject: settings.subjects.get(&kind).filter(|subject| !subject.is_empty()).cloned(),
            content: settings.contents.get(&kind).cloned(),
            source: settings.templates.get(&kind).filter(|source| !source.is_empty()).map(|source| {
                let relative = !source.starts_with("http") && !source.starts_with(FILE);
                if relative { format!("{}{source}", site_url.trim_end_matches('/')) } else { source.clone() }
            }),
            cached: Mutex::new(None),
        };
        Self {
            slots: MailKind::ALL.into_iter().map(|kind| (kind, slot(kind))).collect(),
            client,
            max_size: settings.template_max_size,
            max_age: settings.template_max_age,
            retry_interval: settings.template_retry_interval,
        }
    }

    /// Returns subject and HTML of a mail. A template that cannot be read or filled in is logged, and the built-in one
    /// takes its place: no sign-in fails because of a mistake in a template.
    pub(super) async fn render(&self, kind: MailKind, variables: &Value) -> (String, String) {
        if let Some(pair) = self.pair(kind).await {
            match pair.render(variables) {
                Ok(rendered) => return rendered,
                Err(error) => {
                    tracing::error!(kind = kind.name(), %error, "a mail's template cannot be filled in")
                }
            }
        }
        Pair::built_in(kind).and_then(|pair| pair.render(variables)).unwrap_or_else(|error| {
            // Tests fill in every built-in template.
            tracing::error!(kind = kind.name(), %error, "a built-in template is broken");
            (defaults::subject(kind).to_owned(), String::new())
        })
    }

    /// Returns the operator's templates for `kind`, if there are any that can be read.
    async fn pair(&self, kind: MailKind) -> Option<Arc<Pair>> {
        let slot = self.slots.get(&kind)?;
        let mut cached = slot.cached.lock().await;
        if let Some((pair, until)) = &*cached
            && Instant::now() < *until
        {
            return Some(Arc::clone(pair));
        }
        let (pair, lifetime) = match self.read(kind, slot).await {
            Ok(pair) => (Arc::new(pair), self.max_age),
            Err(reason) => {
                tracing::error!(kind = kind.name(), reason, "a mail's template cannot be read");
                // What was read before is better than nothing.
                let before = cached.take().map(|(pair, _)| pair);
                let built_in = || Pair::built_in(kind).ok().map(Arc::new);
                (before.or_else(built_in)?, self.retry_interval)
            }
        };
        // Files are cheap to read, so that changes take effect at once.
        if !slot.source.as_ref().is_some_and(|source| source.starts_with(FILE)) {
            *cached = Some((Arc::clone(&pair), Instant::now() + lifetime));
        }
        Some(pair)
    }

    async fn read(&self, kind: MailKind, slot: &KindTemplates) -> Result<Pair, String> {
        let subject = slot.subject.as_deref().unwrap_or(defaults::subject(kind));
        let body = match (&slot.content, &slot.source) {
            (Some(content), _) => content.clone(),
            (None, None) => defaults::body(kind),
            (None, Some(source)) => match source.strip_prefix(FILE) {
                Some(path) => {
                    tokio::fs::read_to_string(path).await.map_err(|error| format!("{path}: {error}"))?
                }
                None => self.fetch(source).await?,
            },
        };
        Pair::parse(subject, &body).map_err(|error| error.to_string())
    }

    async fn fetch(&self, url: &str) -> Result<String, String> {
        let request = self.client.request(Method::GET, url, Reach::Anywhere);
        let response = match request {
            Ok(request) => self.client.send(request).await,
            Err(error) => Err(error),
        };
        let response = response.map_err(|error| format!("{url}: {error}"))?;
        if !response.status.is_success() {
            return Err(format!("{url}: status {}", response.status));
        }
        if response.body.len() > self.max_size {
            return Err(format!("{url}: larger than {} bytes", self.max_size));
        }
        String::from_utf8(response.body.to_vec()).map_err(|_| format!("{url}: not UTF-8"))
    }
}

/// What marks a source as a path, which `config.toml` names, rather than a URL.
pub(super) const FILE: &str = "file:";

impl Pair {
    fn parse(subject: &str, body: &str) -> Result<Self, TemplateError> {
        // Upstream escapes subjects as HTML, too.
        Ok(Self {
            subject: Template::parse(subject, Format::Html)?,
            body: Template::parse(body, Format::Html)?,
        })
    }

    fn built_in(kind: MailKind) -> Result<Self, TemplateError> {
        Self::parse(defaults::subject(kind), &defaults::body(kind))
    }

    fn render(&self, variables: &Value) -> Result<(String, String), TemplateError> {
        Ok((self.subject.render(variables)?, self.body.render(variables)?))
    }
}
