//! Transfers the bytes of a WebSocket between its caller and its function, and closes it at both ends when it has to
//! end.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::frames::{self, Frames};

/// The number of bytes that are transferred at a time, in each direction.
const BUFFER: usize = 8 * 1024;
/// How long the ends may take to finish their current frame and to respond to the close frame.
const GRACE: Duration = Duration::from_secs(2);

/// The content of a close frame to an end that did not close the socket itself: a code of RFC 6455, section 7.4.1, and
/// the reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct Close(u16, &'static str);

impl Close {
    /// The call has reached its time limit.
    pub(super) const LATE: Self = Self(1001, "the time limit of the call was reached");
    /// The server is stopping.
    pub(super) const STOPPING: Self = Self(1001, "the server is shutting down");
    const SILENT: Self = Self(1001, "nothing was said for too long");
    const GONE: Self = Self(1011, "the function has ended");
}

/// Copies bytes from either end to the other, until both have ended, one of them breaks, no bytes come for `silence`,
/// or `ending` completes with the reason to close. `early` holds the bytes that the function has already sent.
pub(super) async fn transfer(
    caller: impl AsyncRead + AsyncWrite,
    (function, early): (impl AsyncRead + AsyncWrite, Bytes),
    silence: Duration,
    ending: impl Future<Output = Close>,
) {
    let (caller, function) = (split(caller), split(function));
    let mut up = Direction::new(caller.0, function.1, Bytes::new(), true);
    let mut down = Direction::new(function.0, caller.1, early, false);
    let moved = Notify::new();
    let talk = async {
        let upwards = async {
            if up.run(&moved).await == End::Source {
                let _ = up.to.shutdown().await;
            }
            // The function may still send; the end of its direction ends both directions.
            std::future::pending().await
        };
        tokio::select! {
            never = upwards => never,
            end = down.run(&moved) => end,
        }
    };
    let silent = async { while timeout(silence, moved.notified()).await.is_ok() {} };
    let close = tokio::select! {
        biased;
        close = ending => close,
        end = talk => match end {
            End::Sink => return,
            End::Source => Close::GONE,
        },
        () = silent => Close::SILENT,
    };
    let goodbye = async {
        tokio::join!(up.close(close), down.close(close));
        // A socket that is closed with unread bytes is reset, and the close frame may be lost.
        while up.from.read(&mut up.buffer).await.is_ok_and(|length| length > 0) {}
    };
    let _ = timeout(GRACE, goodbye).await;
}

/// Which side has ended one direction.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The sender has.
    Source,
    /// The receiver has.
    Sink,
}

/// One direction of a socket. Its futures can be dropped at any point; the next one continues from there.
struct Direction<From, To> {
    from: ReadHalf<From>,
    to: WriteHalf<To>,
    /// Bytes that were read.
    buffer: Vec<u8>,
    /// The part of `buffer` that has not been written.
    rest: Range<usize>,
    /// Tracks the frames in the bytes that were written.
    frames: Frames,
    /// Whether frames have to be masked.
    is_masked: bool,
}

impl<From: AsyncRead, To: AsyncWrite> Direction<From, To> {
    fn new(from: ReadHalf<From>, to: WriteHalf<To>, early: Bytes, is_masked: bool) -> Self {
        let mut buffer = Vec::from(early);
        let rest = 0..buffer.len();
        buffer.resize(rest.end.max(BUFFER), 0);
        Self { from, to, buffer, rest, frames: Frames::default(), is_masked }
    }

    async fn run(&mut self, moved: &Notify) -> End {
        loop {
            if let Err(end) = self.step().await {
                return end;
            }
            moved.notify_one();
        }
    }

    /// Writes the rest of the buffer, after a read if there is none.
    async fn step(&mut self) -> Result<(), End> {
        if self.rest.is_empty() {
            self.rest = match self.from.read(&mut self.buffer).await {
                Ok(length) if length > 0 => 0..length,
                _ => return Err(End::Source),
            };
        }
        while !self.rest.is_empty() {
            let written = self.to.write(&self.buffer[self.rest.clone()]).await.unwrap_or_default();
            if written == 0 {
                return Err(End::Sink);
            }
            self.frames.pass(&self.buffer[self.rest.start..self.rest.start + written]);
            self.rest.start += written;
        }
        self.to.flush().await.map_err(|_| End::Sink)
    }

    /// Finishes the current frame and sends a close frame, unless the sender has sent one.
    async fn close(&mut self, Close(code, reason): Close) {
        while !self.rest.is_empty() || !self.frames.is_between() {
            if self.step().await.is_err() {
                break;
            }
        }
        if self.frames.is_between() && !self.frames.is_closed() {
            let _ = self.to.write_all(&frames::close(code, reason, self.is_masked)).await;
        }
        let _ = self.to.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::io::duplex;
    use tokio::sync::oneshot;
    use tokio::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);
    /// A frame with the text `hello`, and one that closes.
    const HELLO: &[u8] = b"\x81\x05hello";
    const BYE: &[u8] = b"\x88\x02\x03\xe8";

    async fn text(end: &mut (impl AsyncRead + Unpin)) -> String {
        let mut seen = Vec::new();
        end.read_to_end(&mut seen).await.unwrap();
        String::from_utf8_lossy(&seen).into_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn both_ends_receive_the_bytes_and_the_end_of_the_other() {
        let ((mut caller, ours), (theirs, mut function)) = (duplex(64), duplex(64));
        let transferred = tokio::spawn(transfer(ours, (theirs, Bytes::from_static(HELLO)), LONG, pending()));
        let mut hello = [0; HELLO.len()];
        caller.read_exact(&mut hello).await.unwrap();
        assert_eq!(hello, HELLO);
        let sent = vec![7; 3 * BUFFER];
        let (_, seen) = tokio::join!(
            async {
                caller.write_all(&sent).await.unwrap();
                caller.shutdown().await.unwrap();
            },
            async {
                let mut seen = Vec::new();
                function.read_to_end(&mut seen).await.unwrap();
                seen
            }
        );
        assert_eq!(seen, sent);
        function.write_all(BYE).await.unwrap();
        drop(function);
        let mut last = Vec::new();
        caller.read_to_end(&mut last).await.unwrap();
        assert_eq!(last, BYE);
        transferred.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn idle_sockets_are_closed_and_active_ones_are_kept() {
        let ((mut caller, ours), (theirs, mut function)) = (duplex(64), duplex(64));
        let begun = Instant::now();
        let silence = Duration::from_secs(10);
        let transferred = tokio::spawn(transfer(ours, (theirs, Bytes::new()), silence, pending()));
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_secs(9)).await;
            function.write_all(HELLO).await.unwrap();
            caller.read_exact(&mut [0; HELLO.len()]).await.unwrap();
        }
        assert!(text(&mut caller).await.ends_with(Close::SILENT.1));
        assert!(text(&mut function).await.ends_with(Close::SILENT.1));
        assert!(begun.elapsed() >= Duration::from_secs(55));
        drop(caller);
        transferred.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_is_finished_before_a_socket_is_closed() {
        let ((mut caller, ours), (theirs, mut function)) = (duplex(64), duplex(64));
        let (end, ended) = oneshot::channel::<()>();
        let ending = async {
            let _ = ended.await;
            Close::LATE
        };
        let transferred = tokio::spawn(transfer(ours, (theirs, Bytes::new()), LONG, ending));
        function.write_all(&HELLO[..4]).await.unwrap();
        caller.read_exact(&mut [0; 4]).await.unwrap();
        end.send(()).unwrap();
        // The function's end can be closed at once: no frame of the caller is incomplete.
        assert!(text(&mut function).await.ends_with(Close::LATE.1));
        function.write_all(&HELLO[4..]).await.unwrap();
        let seen = text(&mut caller).await;
        assert!(seen.starts_with("llo\u{fffd}") && seen.ends_with(Close::LATE.1), "{seen:?}");
        drop(caller);
        transferred.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_caller_gets_a_close_frame_if_the_function_sends_none() {
        let ((mut caller, ours), (theirs, function)) = (duplex(64), duplex(64));
        let transferred = tokio::spawn(transfer(ours, (theirs, Bytes::new()), LONG, pending()));
        drop(function);
        assert!(text(&mut caller).await.ends_with(Close::GONE.1));
        drop(caller);
        transferred.await.unwrap();
    }
}
