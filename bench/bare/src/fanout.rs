//! Fans messages out with tokio-tungstenite and nothing else: each one goes to all sockets but its sender's.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{Error, Message};

/// Messages that may wait for one socket.
const QUEUE: usize = 16_384;

type Sockets = Arc<Mutex<HashMap<u64, mpsc::Sender<Message>>>>;

/// Prints `{"url": …}` of a free port and serves sockets there, as long as the process lives.
///
/// Errors: if there is no free port.
pub(crate) fn serve() -> io::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("ws://{}", listener.local_addr()?);
        writeln!(io::stdout(), "{}", serde_json::json!({ "url": url }))?;
        let sockets = Sockets::default();
        for number in 0.. {
            let (stream, _) = listener.accept().await?;
            let sockets = Arc::clone(&sockets);
            tokio::spawn(async move {
                // A client that is gone is the end of the measurement.
                let _ = carry(stream, number, &sockets).await;
                sockets.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
            });
        }
        Ok(())
    })
}

async fn carry(stream: TcpStream, number: u64, sockets: &Sockets) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let (mut sink, mut source) = tokio_tungstenite::accept_async(stream).await?.split();
    let (sender, mut queue) = mpsc::channel(QUEUE);
    sockets.lock().unwrap_or_else(PoisonError::into_inner).insert(number, sender);
    let send = async {
        while let Some(message) = queue.recv().await {
            sink.feed(message).await?;
            // What waits goes with one write.
            while let Ok(message) = queue.try_recv() {
                sink.feed(message).await?;
            }
            sink.flush().await?;
        }
        Ok(())
    };
    let receive = async {
        while let Some(message) = source.next().await {
            let message = message?;
            for (other, sender) in sockets.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                if *other != number {
                    let _ = sender.try_send(message.clone());
                }
            }
        }
        Ok(())
    };
    tokio::select! {
        ended = send => ended,
        ended = receive => ended,
    }
}
