//! Calls of one profiler server, and what their failures mean.

use std::error::Error;
use std::io;
use std::time::Duration;

use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::address::ServerAddress;
use super::messages::{
    Empty, MonitorRequest, MonitorResponse, ProfileRequest, ProfileResponse, SnapshotRequest,
};

/// A server answers the first call at once, or it is none, or hangs. A caller may wait less.
const FIRST_ANSWER: Duration = Duration::from_secs(10);
/// A dead peer is noticed by TCP. Pings of HTTP/2 are no help: servers end connections with many of them.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How much a server may send ahead: profiles have hundreds of megabytes.
const WINDOW: u32 = 16 << 20;

/// Why a server sent no profile. The text says what to do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// The name of the machine is unknown.
    #[error("no machine of this name is known ({0}); check the name, or use its IP address")]
    UnknownHost(String),
    /// Nothing listens, or nothing can be reached.
    #[error(
        "cannot connect ({0}); check that the program runs, that it called jax.profiler.start_server({1}) or what its \
         framework has for it, and that no firewall is between"
    )]
    Unreachable(String, u16),
    /// The environment does not let it be asked.
    #[error("{0}")]
    Forbidden(String),
    /// Something else listens there.
    #[error(
        "something listens, but does not speak gRPC ({0}); check the port, which is not that of TensorBoard"
    )]
    NotGrpc(String),
    /// Something listens and says nothing.
    #[error(
        "it accepts connections, but answers nothing within {} s: the program hangs or is stopped (look at it with py-spy \
         dump or a debugger), or something else listens on this port", .0.as_secs_f64()
    )]
    Silent(Duration),
    /// A gRPC server without this call.
    #[error("a gRPC server listens, but it has no profiler ({0}); check the port")]
    NotAProfiler(String),
    /// The server does not know the call.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Another session is recording.
    #[error(
        "another profile is under way in this program (the server says: {0}); wait for its end, end a trace that the \
         program itself started, or stop continuous profiling with --continuous stop"
    )]
    Busy(String),
    /// No continuous session is there to ask.
    #[error("continuous profiling is not running there; start it with --continuous start")]
    NotStarted,
    /// The profile is too large to be sent.
    #[error(
        "the profile is too large to send (the server says: {0}); record less: a smaller --ms or --host-level"
    )]
    TooLarge(String),
    /// The server went away.
    #[error(
        "the connection broke ({0}); the program has probably ended or was killed, see its log"
    )]
    Lost(String),
    /// There is no answer in time.
    #[error("no answer within {} s; preparing a large profile takes long: give it more with --timeout, or record less", .0.as_secs())]
    TimedOut(Duration),
    /// The server wrote the profile where it cannot be read from here.
    #[error(
        "the server cannot send profiles: it wrote {0} on its own machine; copy that file into the run folder"
    )]
    WroteElsewhere(String),
    /// The server sent neither a profile nor wrote one.
    #[error("the server answered without a profile; it recorded nothing, or cannot send it")]
    NoProfile,
    /// Another refusal, in the words of the server.
    #[error("the server refused ({0}: {1})")]
    Refused(&'static str, String),
    /// What was received cannot be kept.
    #[error("cannot write: {0}")]
    CannotWrite(String),
    /// Ended by the user.
    #[error("stopped before it was complete")]
    Stopped,
}

impl ServerError {
    /// Whether another attempt may have more success.
    pub(super) fn may_pass(&self) -> bool {
        !matches!(
            self,
            Self::Forbidden(_)
                | Self::NotAProfiler(_)
                | Self::NotGrpc(_)
                | Self::Unsupported(_)
                | Self::CannotWrite(_)
                | Self::Stopped
        )
    }
}

/// No message of protobuf is longer.
const MOST_BYTES: usize = i32::MAX as usize;

/// A connection to one profiler server.
#[derive(Clone)]
pub(super) struct ProfilerClient {
    grpc: Grpc<Channel>,
}

impl ProfilerClient {
    /// Connects, and waits until something has answered in gRPC. Each of these two may take as long as `timeout`.
    pub async fn connect(address: &ServerAddress, timeout: Duration) -> Result<Self, ServerError> {
        let first_answer = FIRST_ANSWER.min(timeout);
        importers::may_ask(&address.host)
            .map_err(|error| ServerError::Forbidden(error.to_string()))?;
        let no_uri = |error: tonic::transport::Error| ServerError::UnknownHost(error.to_string());
        let endpoint = Endpoint::from_shared(address.uri()).map_err(no_uri)?;
        let endpoint = endpoint
            .connect_timeout(first_answer)
            .tcp_keepalive(Some(KEEP_ALIVE))
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW);
        let channel = endpoint
            .connect()
            .await
            .map_err(|error| not_connected(&error, address.port))?;
        let grpc = Grpc::new(channel).max_decoding_message_size(MOST_BYTES);
        let mut client = Self { grpc };
        // No server has this call: each says so at once, also one that is busy.
        let probe = client.call::<_, Empty>("/tensorflow.ProfilerService/None", Empty {});
        match tokio::time::timeout(first_answer, probe).await {
            Err(_) => Err(ServerError::Silent(first_answer)),
            Ok(Err(status)) if status.source().is_some() => {
                Err(ServerError::NotGrpc(root_of(&status)))
            }
            Ok(_) => Ok(client),
        }
    }

    pub async fn profile(
        &mut self,
        request: ProfileRequest,
        timeout: Duration,
    ) -> Result<ProfileResponse, ServerError> {
        let explained = |status: &Status| match status.code() {
            Code::Unimplemented => Some(ServerError::NotAProfiler(status.message().to_owned())),
            _ => None,
        };
        self.ask(
            "/tensorflow.ProfilerService/Profile",
            request,
            timeout,
            explained,
        )
        .await
    }

    /// Asks for the state of the devices.
    pub async fn monitor(
        &mut self,
        request: MonitorRequest,
        timeout: Duration,
    ) -> Result<MonitorResponse, ServerError> {
        let explained = |status: &Status| match status.code() {
            Code::Unimplemented => Some(ServerError::Unsupported(NO_MONITOR)),
            _ => None,
        };
        self.ask(
            "/tensorflow.ProfilerService/Monitor",
            request,
            timeout,
            explained,
        )
        .await
    }

    /// Starts to record without end.
    pub async fn start(
        &mut self,
        request: ProfileRequest,
        timeout: Duration,
    ) -> Result<(), ServerError> {
        self.continuous::<_, Empty>(
            "/tensorflow.ProfilerService/StartContinuousProfiling",
            request,
            timeout,
        )
        .await
        .map(drop)
    }

    /// What was recorded since the start or the last snapshot.
    pub async fn snapshot(
        &mut self,
        request: SnapshotRequest,
        timeout: Duration,
    ) -> Result<ProfileResponse, ServerError> {
        self.continuous("/tensorflow.ProfilerService/GetSnapshot", request, timeout)
            .await
    }

    /// Ends what `start` began.
    pub async fn stop(&mut self, timeout: Duration) -> Result<(), ServerError> {
        self.continuous::<_, Empty>(
            "/tensorflow.ProfilerService/StopContinuousProfiling",
            Empty {},
            timeout,
        )
        .await
        .map(drop)
    }

    async fn continuous<Q, A>(
        &mut self,
        path: &'static str,
        request: Q,
        timeout: Duration,
    ) -> Result<A, ServerError>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let explained = |status: &Status| match status.code() {
            Code::Unimplemented => Some(ServerError::Unsupported(NO_CONTINUOUS)),
            Code::NotFound => Some(ServerError::NotStarted),
            _ => None,
        };
        self.ask(path, request, timeout, explained).await
    }

    /// The answer to a call; `explained` says what a status means for this call alone.
    async fn ask<Q, A>(
        &mut self,
        path: &'static str,
        request: Q,
        timeout: Duration,
        explained: impl FnOnce(&Status) -> Option<ServerError>,
    ) -> Result<A, ServerError>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let answer = tokio::time::timeout(timeout, self.call(path, request))
            .await
            .map_err(|_elapsed| ServerError::TimedOut(timeout))?;
        answer.map_err(|status| explained(&status).unwrap_or_else(|| failed(&status)))
    }

    async fn call<Q, A>(&mut self, path: &'static str, request: Q) -> Result<A, Status>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let unready = |error: tonic::transport::Error| Status::from_error(Box::new(error));
        self.grpc.ready().await.map_err(unready)?;
        let codec = ProstCodec::<Q, A>::default();
        let answer = self
            .grpc
            .unary(
                Request::new(request),
                PathAndQuery::from_static(path),
                codec,
            )
            .await;
        answer.map(tonic::Response::into_inner)
    }
}

const NO_MONITOR: &str = "this server does not tell the state of its devices; servers of Cloud TPU do, that of JAX \
                          on CPU does not: record a profile with systole capture instead";
const NO_CONTINUOUS: &str = "this server has no continuous profiling; jaxlib has it from 0.10.2 on: record a profile \
                             of a fixed time instead";

/// Why there is no connection.
fn not_connected(error: &tonic::transport::Error, port: u16) -> ServerError {
    let root = root_of(error);
    let is_name = root.contains("lookup address")
        || root.contains("dns error")
        || root.contains("Name or service");
    if is_name {
        ServerError::UnknownHost(root)
    } else {
        ServerError::Unreachable(root, port)
    }
}

/// What a status means for every call.
fn failed(status: &Status) -> ServerError {
    let message = || status.message().to_owned();
    let is_busy = message().to_lowercase().contains("profiling session");
    match status.code() {
        // A status with a cause was made here, not sent by the server.
        _ if status.source().is_some() => ServerError::Lost(root_of(status)),
        Code::AlreadyExists => ServerError::Busy(message()),
        Code::Internal | Code::Unavailable | Code::FailedPrecondition | Code::Aborted
            if is_busy =>
        {
            ServerError::Busy(message())
        }
        Code::ResourceExhausted | Code::OutOfRange => ServerError::TooLarge(message()),
        Code::Unavailable | Code::Cancelled => ServerError::Lost(message()),
        code => ServerError::Refused(code.description(), message()),
    }
}

/// The first cause of an error, in words.
fn root_of(error: &(dyn Error + 'static)) -> String {
    let mut root = error;
    while let Some(next) = root.source() {
        root = next;
    }
    match root.downcast_ref::<io::Error>() {
        Some(error) if error.kind() == io::ErrorKind::TimedOut => "no answer".to_owned(),
        _ => root.to_string(),
    }
}
