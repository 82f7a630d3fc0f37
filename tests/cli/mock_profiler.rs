//! A profiler server that answers as a test wants: gRPC in its simplest form, over h2.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use sample_traces::write::ProtoMessage;
use tokio::net::{TcpListener, TcpStream};
use trace_model::wire::{WireCursor, WireValue};

/// What a call is answered with.
pub enum Reply {
    Message(Vec<u8>),
    /// A code of gRPC, and why.
    Status(u32, &'static str),
    /// A message after this time.
    Late(Duration, Vec<u8>),
    /// The begin of a message that has this many bytes.
    Announced(u32),
    /// The end of the connection.
    Reset,
}

/// A call: the name of the method, and its message.
#[derive(Clone)]
pub struct Call {
    pub method: String,
    pub message: Vec<u8>,
}

impl Call {
    /// The values of a field that is a number.
    pub fn numbers(&self, path: &[u32]) -> Vec<u64> {
        values(&self.message, path)
            .into_iter()
            .filter_map(|(number, _)| number)
            .collect()
    }

    /// The text of a field.
    pub fn text(&self, path: &[u32]) -> String {
        let mut texts = values(&self.message, path)
            .into_iter()
            .filter_map(|(_, text)| text);
        String::from_utf8(texts.next_back().unwrap_or_default()).unwrap()
    }
}

/// The values of the field at the end of the path, through messages.
fn values(message: &[u8], path: &[u32]) -> Vec<(Option<u64>, Option<Vec<u8>>)> {
    let (&wanted, rest) = path.split_first().unwrap();
    let mut cursor = WireCursor::new(message, 0..message.len());
    let mut found = Vec::new();
    while let Some((number, value)) = cursor.next().unwrap() {
        match value {
            _ if number != wanted => {}
            WireValue::Bytes(range) if rest.is_empty() => {
                found.push((None, Some(message[range].to_vec())));
            }
            WireValue::Bytes(range) => found.extend(values(&message[range], rest)),
            WireValue::Varint(number) => found.push((Some(number), None)),
            other => panic!("{other:?}"),
        }
    }
    found
}

/// A server that runs until the test ends.
pub struct MockProfiler {
    pub port: u16,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl MockProfiler {
    /// Answers calls in the order in which they come; the probe of a client gets what real servers say.
    pub fn new(answer: impl Fn(&Call, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (heard, answer) = (Arc::clone(&calls), Arc::new(answer));
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((socket, _)) = listener.accept().await {
                    tokio::spawn(connection(socket, Arc::clone(&heard), Arc::clone(&answer)));
                }
            });
        };
        std::thread::Builder::new()
            .name("mock-profiler".to_owned())
            .spawn(serve)
            .unwrap();
        Self { port, calls }
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The calls so far, without those of clients that find out what listens.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

async fn connection<F>(socket: TcpStream, heard: Arc<Mutex<Vec<Call>>>, answer: Arc<F>)
where
    F: Fn(&Call, usize) -> Reply + Send + Sync + 'static,
{
    let Ok(mut connection) = h2::server::handshake(socket).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let method = request
            .uri()
            .path()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        let (heard, answer) = (Arc::clone(&heard), Arc::clone(&answer));
        tokio::spawn(async move {
            let message = message_of(request).await;
            let call = Call { method, message };
            if call.method == "None" {
                return send_status(respond, 12, "Method not found!");
            }
            let count = {
                let mut heard = heard.lock().unwrap();
                heard.push(call.clone());
                heard.len()
            };
            match answer(&call, count) {
                Reply::Message(message) => send(respond, &message),
                Reply::Status(code, why) => send_status(respond, code, why),
                Reply::Late(time, message) => {
                    tokio::time::sleep(time).await;
                    send(respond, &message);
                }
                Reply::Announced(bytes) => send_part(respond, bytes, &[0; 16]),
                Reply::Reset => {
                    let mut respond = respond;
                    respond.send_reset(Reason::INTERNAL_ERROR);
                }
            }
        });
    }
}

/// The message of a request, without the five bytes before it.
async fn message_of(request: Request<RecvStream>) -> Vec<u8> {
    let mut body = request.into_body();
    let mut bytes = Vec::new();
    while let Some(Ok(chunk)) = body.data().await {
        bytes.extend_from_slice(&chunk);
        let _ = body.flow_control().release_capacity(chunk.len());
    }
    bytes.split_off(5.min(bytes.len()))
}

// A client may have gone away meanwhile: nobody misses the answer.
fn send(respond: SendResponse<Bytes>, message: &[u8]) {
    send_part(respond, u32::try_from(message.len()).unwrap(), message);
}

fn send_part(mut respond: SendResponse<Bytes>, length: u32, message: &[u8]) {
    let mut bytes = vec![0];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(message);
    let head = Response::builder()
        .header("content-type", "application/grpc")
        .body(())
        .unwrap();
    let Ok(mut stream) = respond.send_response(head, false) else {
        return;
    };
    let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), HeaderValue::from(0))]);
    let _ = stream
        .send_data(bytes.into(), false)
        .and_then(|()| stream.send_trailers(trailers));
}

fn send_status(mut respond: SendResponse<Bytes>, code: u32, why: &str) {
    let head = Response::builder().header("content-type", "application/grpc");
    let head = head
        .header("grpc-status", code)
        .header("grpc-message", why)
        .body(())
        .unwrap();
    let _ = respond.send_response(head, true);
}

/// A profile with this many devices, with a step and an op on each.
pub fn profile(devices: u64) -> Vec<u8> {
    let mut space = ProtoMessage::default();
    space.message(1, |plane| {
        plane.text(2, "/host:CPU");
        line(plane, "python");
    });
    for device in 0..devices {
        space.message(1, |plane| {
            plane.text(2, &format!("/device:TPU:{device}"));
            line(plane, "XLA Ops");
        });
    }
    space.text(4, "worker0");
    space.into_bytes()
}

fn line(plane: &mut ProtoMessage, name: &str) {
    plane.message(3, |line| {
        line.text(2, name);
        line.uint(3, 1_000_000);
        line.message(4, |event| {
            event.uint(1, 1);
            event.uint(2, 1_000);
            event.uint(3, 5_000_000);
        });
    });
    plane.message(4, |entry| {
        entry.uint(1, 1);
        entry.message(2, |metadata| {
            metadata.uint(1, 1);
            metadata.text(2, "fusion.1");
        });
    });
}

/// A profile of a program that runs steps of this length on each of its devices, recorded for some milliseconds. Each
/// step adds this many bytes.
pub fn steps(recorded_ms: u64, step_ms: u64, devices: u64, step_bytes: usize) -> Vec<u8> {
    let mut space = ProtoMessage::default();
    for device in 0..devices {
        space.message(1, |plane| {
            plane.text(2, &format!("/device:TPU:{device}"));
            let count = recorded_ms / step_ms;
            for (name, is_step) in [("Steps", true), ("XLA Ops", false)] {
                plane.message(3, |line| {
                    line.text(2, name);
                    for step in 0..count {
                        line.message(4, |event| {
                            event.uint(1, if is_step { step + 1 } else { count + 1 });
                            event.uint(2, step * step_ms * 1_000_000_000);
                            event.uint(3, step_ms * 999_000_000);
                            if !is_step {
                                event.bytes(100, vec![0; step_bytes]);
                            }
                        });
                    }
                });
            }
            for id in 1..=count + 1 {
                plane.message(4, |entry| {
                    entry.uint(1, id);
                    entry.message(2, |metadata| {
                        metadata.uint(1, id);
                        let name = (id <= count).then(|| (id - 1).to_string());
                        metadata.text(2, &name.unwrap_or_else(|| "fusion.1".to_owned()));
                    });
                });
            }
        });
    }
    space.into_bytes()
}

pub fn response(profile: &[u8]) -> Vec<u8> {
    let mut response = ProtoMessage::default();
    response.bytes(8, profile);
    response.into_bytes()
}
