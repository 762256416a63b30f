//! The minimal relay between a client and a server: it copies bytes without parsing them.

use std::io;
use std::path::{Path, PathBuf};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpStream, UnixStream};

use crate::proxy;

/// Does the same as [`proxy::serve`], but copies bytes instead of forwarding requests.
///
/// Errors: there is no free port.
pub(crate) fn serve(socket: &Path) -> io::Result<()> {
    proxy::listen("http", |stream| copy(stream, socket.to_owned()))
}

async fn copy(mut stream: TcpStream, socket: PathBuf) -> Result<(), proxy::Failure> {
    stream.set_nodelay(true)?;
    let mut behind = UnixStream::connect(socket).await?;
    copy_bidirectional(&mut stream, &mut behind).await?;
    Ok(())
}
