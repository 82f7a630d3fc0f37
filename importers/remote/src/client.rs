//! The HTTP client of all clouds. It refuses hosts that the environment forbids, redirections included.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Once;
use std::time::Duration;

use input::network::{AllowedHosts, check};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use reqwest::redirect::Policy;

use super::errors::{failed, may_pass};
use super::limits::SILENCE;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTIONS: usize = 10;

/// Makes clients for the stores.
#[derive(Debug)]
pub(crate) struct Connector(pub(crate) AllowedHosts);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = client(self.0).map_err(|error| object_store::Error::Generic {
            store: "HTTP",
            source: Box::new(error),
        })?;
        Ok(HttpClient::new(GuardedClient {
            client,
            hosts: self.0,
        }))
    }
}

#[derive(Debug)]
struct GuardedClient {
    client: reqwest::Client,
    hosts: AllowedHosts,
}

/// What [`HttpService::call`] returns.
type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for GuardedClient {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> ResponseFuture<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let host = request.uri().host().unwrap_or_default().to_owned();
            check(self.hosts, &host)
                .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
            let response = self.client.call(request).await?;
            // The store would ask again after every failure of a server.
            let status = response.status();
            if status.is_server_error() && !may_pass(status.as_u16()) {
                return Err(HttpError::new(
                    HttpErrorKind::Unknown,
                    io::Error::other(failed(status.as_u16())),
                ));
            }
            Ok(response)
        })
    }
}

/// A client for requests of our own.
pub(crate) fn client(hosts: AllowedHosts) -> reqwest::Result<reqwest::Client> {
    let follow = Policy::custom(move |attempt| {
        if attempt.previous().len() > MAX_REDIRECTIONS {
            return attempt.error("too many redirections");
        }
        match check(hosts, attempt.url().host_str().unwrap_or_default()) {
            Ok(()) => attempt.follow(),
            Err(error) => attempt.error(error),
        }
    });
    builder(hosts).redirect(follow).build()
}

/// A client for messages, which a redirection would lose, with their address told to another server.
pub(crate) fn client_of_messages(hosts: AllowedHosts) -> reqwest::Result<reqwest::Client> {
    builder(hosts)
        .redirect(Policy::none())
        .referer(false)
        .build()
}

fn builder(hosts: AllowedHosts) -> reqwest::ClientBuilder {
    static CRYPTOGRAPHY: Once = Once::new();
    // An embedding program may have installed another one.
    CRYPTOGRAPHY.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("systole/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(SILENCE);
    if hosts != AllowedHosts::Any {
        // A proxy would be another way out.
        builder = builder.no_proxy();
    }
    builder
}
