//! `systole serve`: runs in a browser, and for programs over HTTP.
//!
//! A request passes the `guard`, then finds its place: a file of the window (`assets`), `/api/v1` (`api`) or the tools for
//! agents (`/mcp`). What blocks runs as `work`, on a few threads. Nothing is ever written.

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

mod api;
mod args;
mod assets;
mod connections;
mod error;
mod guard;
mod input;
mod mcp;
mod noted;
mod page;
mod runs;
mod server;
mod slow;
mod state;
mod work;

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;

pub use args::ServeArgs;
use cli::common::{CommandOutcome, Stderr, output};
use guard::Guard;
use request::{RequestError, Result};
use runs::RunList;
use session::fingerprint::hex;
use state::ServeState;

/// Serves until Ctrl+C or SIGTERM.
pub fn run(args: &ServeArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let places: Vec<PathBuf> = args.paths.iter().chain(&args.logdir).cloned().collect();
    let state = Arc::new(ServeState::new(
        RunList::new(places)?,
        usize::from(args.keep),
    ));
    let addresses = addresses(args)?;
    let is_open = !addresses.iter().all(|address| address.ip().is_loopback());
    let listeners = server::listen(&addresses).map_err(|error| refused(&error, args))?;
    let port = listeners
        .first()
        .and_then(|one| one.local_addr().ok())
        .map_or(args.port, |address| address.port());
    let token = match args.given_token()? {
        Some(token) => Some(token),
        None if is_open => Some(random_token()?),
        None => None,
    };
    let names = [args.host.clone()]
        .into_iter()
        .chain(args.allow_host.iter().cloned())
        .chain(machine_name());
    let guard = Arc::new(Guard::new(token.as_deref(), names.collect(), is_open, port));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| RequestError::Internal(error.to_string()))?;
    let router = router(&state, guard)?;
    output::print_text(&format!(
        "Systole at {} (Ctrl+C to stop)\n",
        address(args, port, is_open, token.as_deref())
    ))?;
    if is_open {
        stderr.detail("other machines can ask, with the token of this address");
    }
    let served = runtime.block_on(server::serve(listeners, router, stopped()));
    // An import that still runs must not keep the program.
    runtime.shutdown_background();
    served
        .map(|()| CommandOutcome::Done)
        .map_err(|error| RequestError::Server(format!("cannot serve: {error}")))
}

fn router(state: &Arc<ServeState>, guard: Arc<Guard>) -> Result<Router> {
    let router = Router::new()
        .nest("/api/v1", api::router())
        .fallback_service(
            get(page::any)
                .fallback(api::method)
                .with_state(Arc::clone(state)),
        )
        .with_state(Arc::clone(state));
    let router = router.merge(mcp::router(state)?);
    Ok(router.layer(from_fn_with_state(guard, guard::guarded)))
}

/// The addresses of a name; of loopback both kinds, because browsers try both for `localhost`.
fn addresses(args: &ServeArgs) -> Result<Vec<SocketAddr>> {
    let host = args.host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (host, args.port).to_socket_addrs();
    let mut addresses: Vec<SocketAddr> =
        addresses.map_err(|error| refused(&error, args))?.collect();
    // 127.0.0.1 first: it is what is printed.
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.dedup();
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    if addresses.iter().all(|address| address.ip().is_loopback())
        && addresses.iter().all(SocketAddr::is_ipv4)
    {
        addresses.push(SocketAddr::new(v6, args.port));
    }
    Ok(addresses)
}

fn refused(error: &io::Error, args: &ServeArgs) -> RequestError {
    let (host, port) = (&args.host, args.port);
    RequestError::Server(match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "port {port} is in use, perhaps by another systole serve; --port 0 takes a free one"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("port {port} is for the administrator only; take one above 1023")
        }
        _ => format!("cannot listen on {host}, port {port}: {error}"),
    })
}

/// 128 random bits of the operating system.
fn random_token() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| RequestError::Internal(format!("no random numbers: {error}")))?;
    Ok(hex(&bytes))
}

/// What this machine is called, if the system says so.
fn machine_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"));
    name.ok()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
}

fn address(args: &ServeArgs, port: u16, is_open: bool, token: Option<&str>) -> String {
    let host = args.host.trim_start_matches('[').trim_end_matches(']');
    let all = host
        .parse::<IpAddr>()
        .is_ok_and(|address| address.is_unspecified());
    let host = if all {
        machine_name().unwrap_or_else(|| host.to_owned())
    } else {
        host.to_owned()
    };
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    debug_assert!(!is_open || token.is_some(), "other machines need a token");
    let token = token.map_or_else(String::new, |token| format!("?token={token}"));
    format!("http://{host}:{port}/{token}")
}

/// Ends at Ctrl+C or SIGTERM.
async fn stopped() {
    let interrupt = async {
        // Without handlers the signal ends the program by itself.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    {
        use futures_util::future::select;
        use tokio::signal::unix::{SignalKind, signal};
        let terminate = async {
            match signal(SignalKind::terminate()) {
                Ok(mut signal) => drop(signal.recv().await),
                Err(_) => std::future::pending::<()>().await,
            }
        };
        select(std::pin::pin!(interrupt), std::pin::pin!(terminate)).await;
    }
    #[cfg(not(unix))]
    interrupt.await;
}
