//! Listening, and one task for each connection, with limits on what a client may cost.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use futures_util::future::{Either, select};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::connections::{ConnectionEntry, Connections};
use super::slow::PatientStream;

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 256;
/// How long a client may take for the head of a request, and be idle before the next.
const HEAD: Duration = Duration::from_secs(30);
/// How long a connection that was ended may take to make room.
const PLACE: Duration = Duration::from_secs(1);
/// Bytes and lines of the head of a request.
const MOST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 64;
/// How long requests may take to end after the server was told to stop.
pub(super) const GRACE: Duration = Duration::from_secs(4);

/// Listens on all addresses; those after the first need not be there.
pub(super) fn listen(addresses: &[SocketAddr]) -> io::Result<Vec<StdListener>> {
    let Some((first, rest)) = addresses.split_first() else {
        return Err(io::Error::new(
            io::ErrorKind::AddrNotAvailable,
            "the name has no address",
        ));
    };
    let first = StdListener::bind(first)?;
    let port = first.local_addr()?.port();
    let rest = rest
        .iter()
        .filter_map(|address| StdListener::bind(SocketAddr::new(address.ip(), port)).ok());
    let listeners: Vec<StdListener> = [first].into_iter().chain(rest).collect();
    listeners
        .iter()
        .try_for_each(|listener| listener.set_nonblocking(true))?;
    Ok(listeners)
}

/// Serves until `stop` ends, then lets requests that are being answered end.
pub(super) async fn serve(
    listeners: Vec<StdListener>,
    router: Router,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (stopping, stopped) = watch::channel(false);
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let open = Arc::new(Connections::default());
    for listener in listeners {
        let listener = TcpListener::from_std(listener)?;
        let accepting = accept(
            listener,
            router.clone(),
            Arc::clone(&connections),
            Arc::clone(&open),
            stopped.clone(),
        );
        tokio::spawn(accepting);
    }
    stop.await;
    let _ = stopping.send(true);
    // All are free when every connection has ended.
    let _ = timeout(GRACE, connections.acquire_many(MOST_CONNECTIONS as u32)).await;
    Ok(())
}

async fn accept(
    listener: TcpListener,
    router: Router,
    connections: Arc<Semaphore>,
    open: Arc<Connections>,
    stopped: watch::Receiver<bool>,
) {
    /// After an error such as too many open files.
    const PAUSE: Duration = Duration::from_millis(50);
    loop {
        let mut stop = stopped.clone();
        let stream = {
            let (accepted, stop) = (pin!(listener.accept()), pin!(stop.changed()));
            match select(accepted, stop).await {
                Either::Left((Ok((stream, _)), _)) => stream,
                Either::Left((Err(_), _)) => {
                    sleep(PAUSE).await;
                    continue;
                }
                Either::Right(_) => return,
            }
        };
        let (connections, open) = (Arc::clone(&connections), Arc::clone(&open));
        let (router, stopped) = (router.clone(), stopped.clone());
        // Whoever waits for its client makes room.
        let permit = match Arc::clone(&connections).try_acquire_owned() {
            Ok(permit) => Some(permit),
            Err(_full) if open.end_one() => timeout(PLACE, connections.acquire_owned())
                .await
                .ok()
                .and_then(Result::ok),
            Err(_full) => None,
        };
        let Some(permit) = permit else {
            tokio::spawn(refuse(stream));
            continue;
        };
        tokio::spawn(async move {
            connection(stream, router, open.add(), stopped).await;
            drop(permit);
        });
    }
}

/// Tells a client that there are too many.
async fn refuse(mut stream: TcpStream) {
    const BODY: &str =
        r#"{"error":{"code":"busy","message":"too many connections; try again in a moment"}}"#;
    let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 2\r\nConnection: close";
    let text = format!("{head}\r\nContent-Length: {}\r\n\r\n{BODY}", BODY.len());
    let answer = async {
        let mut question = [0; 4096];
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await?;
        // Closing before the question is read would take the answer back.
        while stream.read(&mut question).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    // A client that does not read has itself to blame.
    let _ = timeout(Duration::from_secs(1), answer).await;
}

async fn connection(
    stream: TcpStream,
    router: Router,
    entry: ConnectionEntry,
    mut stopped: watch::Receiver<bool>,
) {
    // Answers are sent at once; without this a small one can wait for the client.
    let _ = stream.set_nodelay(true);
    let watched = Arc::clone(&entry.connection);
    let io = TokioIo::new(PatientStream::new(stream, Arc::clone(&watched)));
    // The guard says when a request has arrived as a whole.
    let service = TowerToHyperService::new(router.layer(Extension(Arc::clone(&watched))));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MOST_HEAD)
        .max_headers(MOST_HEADERS);
    let mut connection = pin!(builder.serve_connection(io, service));
    let stop = async {
        match select(pin!(stopped.changed()), pin!(watched.ended())).await {
            Either::Left(_) => true,
            Either::Right(_) => false,
        }
    };
    // How a connection ends concerns nobody: clients go away all the time.
    if let Either::Right((true, _)) = select(connection.as_mut(), pin!(stop)).await {
        connection.as_mut().graceful_shutdown();
        let _ = timeout(GRACE, connection).await;
    }
}
