//! HTTPS without a proxy: a port that encrypts, and one beside it that redirects to it and answers an ACME server.

mod encrypted;
mod redirects;

use std::io;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use acme::{ACME_PROTOCOL, Certificates, Storage};
use poem::http::HeaderValue;
use poem::http::header::STRICT_TRANSPORT_SECURITY;
use poem::{Endpoint, Request, Response};
use postgres::Database;
use rustls::ServerConfig;
use tokens::Keys;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::accept::{self, Limits};
use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::ports::{self, Connections};
use crate::settings::Settings;
use encrypted::Encrypted;
use redirects::Redirects;

/// Both ports, which are open.
pub(crate) struct Https {
    secure: Connections,
    plain: Connections,
    certificates: Arc<Certificates>,
    settings: acme::Settings,
    source: Source,
}

/// Where the certificate comes from.
enum Source {
    /// The operator's files.
    Own { chain: PathBuf, key: PathBuf },
    /// An ACME server; it is kept here.
    Issued(Storage),
}

impl Https {
    /// Listens where `settings` say; `None` if HTTPS is off.
    ///
    /// Errors: if a port cannot be had, or the operator's certificate cannot be used.
    pub(crate) async fn listen(
        settings: &Settings,
        backend: &Backend,
        keys: &Keys,
    ) -> Result<Option<Self>, Error> {
        let tls = &settings.tls;
        if !tls.is_on() || settings.functions_api.is_some() {
            return Ok(None);
        }
        let certificates = Arc::new(Certificates::default());
        let source = match (&tls.certificate, &tls.key) {
            (Some(chain), Some(key)) => {
                certificates.replace(acme::load_own(chain, key).map_err(Error::Advice)?);
                Source::Own { chain: chain.clone(), key: key.clone() }
            }
            _ => {
                let mut storage = storage(settings, backend, keys).await?;
                // Before the first connection needs it.
                if let Err(error) = storage.refresh(tls, &certificates).await {
                    tracing::error!(%error, "the stored certificate of HTTPS is not in use");
                }
                Source::Issued(storage)
            }
        };
        let secure = bind(SocketAddr::new(tls.host, tls.port))?;
        let plain = bind(SocketAddr::new(tls.host, tls.http_port))?;
        let (at, redirects) = (secure.address(), plain.address());
        console::note(format_args!("HTTPS on {at}; {redirects} redirects to it."));
        Ok(Some(Self { secure, plain, certificates, settings: tls.clone(), source }))
    }

    /// Returns the sockets of both ports, as long as they accept connections.
    pub(crate) fn listeners(&self) -> [Weak<TcpListener>; 2] {
        [self.secure.listener(), self.plain.listener()]
    }

    /// Returns what connections are encrypted with.
    pub(crate) fn certificates(&self) -> Arc<Certificates> {
        Arc::clone(&self.certificates)
    }

    /// Serves `routes` over HTTPS until `stop`, and keeps the certificate; see [`accept::serve`].
    pub(crate) async fn serve(
        self,
        routes: impl Endpoint + 'static,
        must_finish: fn(&Request) -> bool,
        limits: Limits,
        stop: &CancellationToken,
    ) {
        let Self { secure, plain, certificates, settings, source } = self;
        let mut config =
            ServerConfig::builder().with_no_client_auth().with_cert_resolver(Arc::clone(&certificates) as _);
        config.alpn_protocols = [b"h2".as_slice(), b"http/1.1", ACME_PROTOCOL].map(<[u8]>::to_vec).into();
        let tls = TlsAcceptor::from(Arc::new(config));
        let encrypted = Encrypted::new(secure, tls);
        let redirects = Redirects::new(&settings, Arc::clone(&certificates));
        let routes = Strict { routes, header: strict(settings.hsts_seconds) };
        tokio::join!(
            accept::serve(encrypted, routes, must_finish, stop.clone(), limits),
            accept::serve(plain, redirects, accept::may_write, stop.clone(), limits),
            stop.run_until_cancelled(async {
                match source {
                    Source::Own { chain, key } => acme::keep_own("HTTPS", &chain, &key, &certificates).await,
                    Source::Issued(storage) => acme::keep_issued(&settings, storage, &certificates).await,
                }
            }),
        );
    }
}

/// Returns where the issued certificate is kept. Other nodes can share a database that is not this program's.
async fn storage(settings: &Settings, backend: &Backend, keys: &Keys) -> Result<Storage, Error> {
    if backend.cluster.is_some() {
        return Storage::in_folder(&settings.data_dir).map_err(Error::Advice);
    }
    let small = postgres::Settings {
        client_pool_size: 1,
        pool_size: 1,
        application_name: "basalt-https".to_owned(),
        ..backend.admin_settings()
    };
    let database = Database::connect(small).await?;
    Ok(Storage::shared(database, keys.value_seal("certificates of HTTPS"), &settings.tls))
}

/// Listens on `address`. A machine without IPv6 has only addresses of IPv4.
///
/// Errors: those of the system.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    match ports::take_or_bind(address) {
        Err(error)
            if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED)
                && !matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::AddrInUse) =>
        {
            ports::take_or_bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()))
        }
        listener => listener,
    }
}

fn bind(address: SocketAddr) -> Result<Connections, Error> {
    let listener = listen(address).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Error::Advice(format!("cannot listen on {address}: {PRIVILEGED}")),
        _ => Error::io(format!("listen on {address} for HTTPS"))(error),
    })?;
    Connections::new(listener)
}

/// How a user that is not root gets a port below 1024.
pub(crate) const PRIVILEGED: &str = "this user may not use ports below 1024. Under systemd, \
     AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit allows it, or a socket unit with ListenStream=443; elsewhere \
     `setcap cap_net_bind_service=+ep` on the program, or basalt.tls.port and basalt.tls.http_port with a router in front";

/// Returns the header that tells browsers to use only HTTPS.
fn strict(seconds: u32) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("max-age={seconds}")).ok().filter(|_| seconds > 0)
}

/// Routes whose responses may have the header `Strict-Transport-Security` (RFC 6797).
struct Strict<E> {
    routes: E,
    header: Option<HeaderValue>,
}

impl<E: Endpoint> Endpoint for Strict<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let mut response = self.routes.get_response(request).await;
        if let Some(header) = &self.header {
            response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, header.clone());
        }
        Ok(response)
    }
}
