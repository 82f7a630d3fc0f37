//! A connection that ends when its client takes nothing for a while.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::connections::OpenConnection;

/// How long a write may wait.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection with a limit on writes that do not proceed.
pub(super) struct PatientStream {
    stream: TcpStream,
    limit: Pin<Box<Sleep>>,
    is_waiting: bool,
    connection: Arc<OpenConnection>,
}

impl PatientStream {
    pub fn new(stream: TcpStream, connection: Arc<OpenConnection>) -> Self {
        Self {
            stream,
            limit: Box::pin(sleep(PATIENCE)),
            is_waiting: false,
            connection,
        }
    }

    /// What a write answers, or an error if none has proceeded for too long.
    fn limited<T>(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.is_waiting = false;
            self.connection.set_stuck(false);
            return result;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.connection.set_stuck(true);
            self.limit.as_mut().reset(Instant::now() + PATIENCE);
        }
        self.limit
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.limited(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.limited(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
