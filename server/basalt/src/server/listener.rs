//! The addresses and Unix sockets that a server listens on, in the forms that PostgREST and Supabase Auth know.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use poem::listener::{AcceptorExt as _, BoxAcceptor, Listener as _, UnixListener};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::console;
use crate::error::Error;
use crate::ports::{self, Connections};
use crate::settings::ListenAddress;

/// The address or socket on which a server listens.
pub(crate) enum BoundEndpoint {
    Port(SocketAddr),
    /// A Unix socket, which is removed when this is dropped.
    Socket(PathBuf),
}

impl BoundEndpoint {
    /// Reports whether it accepts connections.
    pub(crate) async fn is_open(&self) -> bool {
        match self {
            Self::Port(address) if address.ip().is_unspecified() => {
                let own: IpAddr = match address {
                    SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                    SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
                };
                TcpStream::connect((own, address.port())).await.is_ok()
            }
            Self::Port(address) => TcpStream::connect(address).await.is_ok(),
            Self::Socket(path) => UnixStream::connect(path).await.is_ok(),
        }
    }
}

impl Drop for BoundEndpoint {
    fn drop(&mut self) {
        if let Self::Socket(path) = self {
            // A socket that cannot be removed is removed by the next start.
            let _ = remove_stale(path);
        }
    }
}

/// A listener.
pub(crate) struct BoundListener {
    pub(crate) acceptor: BoxAcceptor,
    /// Must be kept while the acceptor is used.
    pub(crate) endpoint: BoundEndpoint,
}

/// Listens on `address` and prints it. With `reuse_port` other processes may listen on the same port.
pub(crate) async fn listen(
    what: &str,
    address: &ListenAddress,
    reuse_port: bool,
) -> Result<BoundListener, Error> {
    match address {
        ListenAddress::Port(host, port) => {
            let listener = bind(host, *port, reuse_port).await;
            let listener = listener.map_err(Error::io(format!("listen on {host}:{port}")))?;
            let connections = Connections::new(listener)?;
            console::note(format_args!("{what} listening on {}", connections.address()));
            let endpoint = BoundEndpoint::Port(connections.address());
            Ok(BoundListener { acceptor: connections.boxed(), endpoint })
        }
        ListenAddress::Socket(path, mode) => {
            let doing = || format!("listen on {}", path.display());
            remove_stale(path).map_err(Error::io(doing()))?;
            let permissions = std::fs::Permissions::from_mode(*mode);
            let listener = UnixListener::bind(path.clone()).with_permissions(permissions);
            let acceptor = listener.into_acceptor().await.map_err(Error::io(doing()))?;
            console::note(format_args!("{what} listening on {}", path.display()));
            Ok(BoundListener { acceptor: acceptor.boxed(), endpoint: BoundEndpoint::Socket(path.clone()) })
        }
    }
}

/// Binds `host`, which is one of upstream's names for all addresses of a family, or a host's name or address.
async fn bind(host: &str, port: u16, reuse_port: bool) -> std::io::Result<TcpListener> {
    let (any4, any6) = ((Ipv4Addr::UNSPECIFIED, port).into(), (Ipv6Addr::UNSPECIFIED, port).into());
    let bind = |address| ports::bind(address, reuse_port);
    match host {
        "!4" | "*4" => bind(any4),
        "!6" => bind(any6),
        // On most systems an IPv6 socket accepts IPv4, too; some systems have no IPv6.
        "*" | "*6" => bind(any6).or_else(|_| bind(any4)),
        host => {
            let mut refused = std::io::ErrorKind::AddrNotAvailable.into();
            for address in tokio::net::lookup_host((host, port)).await? {
                match bind(address) {
                    Ok(listener) => return Ok(listener),
                    Err(error) => refused = error,
                }
            }
            Err(refused)
        }
    }
}

/// Removes a socket that an earlier process has left; other files stay.
fn remove_stale(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        _ => Ok(()),
    }
}
