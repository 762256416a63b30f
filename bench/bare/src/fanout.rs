//! Fans messages out with tokio-tungstenite alone: each message goes to all sockets except its sender's.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::proxy;

/// The maximum number of messages that wait for one socket.
const QUEUE_SIZE: usize = 16_384;

type Sockets = Arc<Mutex<HashMap<u64, mpsc::Sender<Message>>>>;

/// Prints `{"url": …}` with a free port and serves sockets there until the process ends.
///
/// Errors: there is no free port.
pub(crate) fn serve() -> io::Result<()> {
    let (sockets, mut last) = (Sockets::default(), 0);
    proxy::listen("ws", |stream| {
        last += 1;
        let (sockets, number) = (Arc::clone(&sockets), last);
        async move {
            // A client that disconnects ends the measurement.
            let _ = relay(stream, number, &sockets).await;
            sockets.lock().remove(&number);
            Ok(())
        }
    })
}

/// Delivers the messages of one socket to all others, and their messages to this socket.
async fn relay(stream: TcpStream, number: u64, sockets: &Sockets) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let (mut sink, mut source) = tokio_tungstenite::accept_async(stream).await?.split();
    let (sender, mut queue) = mpsc::channel(QUEUE_SIZE);
    sockets.lock().insert(number, sender);
    let send = async {
        while let Some(message) = queue.recv().await {
            sink.feed(message).await?;
            // All waiting messages are written together.
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
            for (other, sender) in sockets.lock().iter() {
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
