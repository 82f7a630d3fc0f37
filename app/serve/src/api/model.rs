//! A trace as this program has read it, for a window that then needs not read the files.

use std::io::{self, Write as _};

use super::prelude::*;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream::{Stream, unfold};
use tokio::sync::OwnedSemaphorePermit;

use super::files::BYTES;
use crate::assets::accepts;
use request::{AssumedValues, bytes_of};

/// How it is sent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelParams {
    /// Whether to send it gzipped to clients that take this. On the same machine it is faster without.
    #[serde(default = "yes")]
    packed: bool,
    /// Only what is shown first of a large run while all of it is read; nothing where all of it is there about as soon.
    #[serde(default)]
    first: bool,
}

fn yes() -> bool {
    true
}

/// The parts of a model; its room is free when the last one is taken, or the client has gone.
fn sent(bytes: Bytes, room: OwnedSemaphorePermit) -> impl Stream<Item = io::Result<Bytes>> {
    const PART: usize = 1 << 20;
    unfold((bytes, room), |(mut rest, room)| async {
        let part = rest.split_to(rest.len().min(PART));
        (!part.is_empty()).then_some((Ok(part), (rest, room)))
    })
}

pub(super) async fn snapshot(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
    Params(params): Params<ModelParams>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let is_packed = params.packed && accepts(&headers, "gzip");
    let model = if params.first {
        let Some(look) = state.first_look(id).await? else {
            let kind = HeaderValue::from_static(BYTES);
            return Ok(([(header::CONTENT_TYPE, kind)], Vec::new()).into_response());
        };
        look
    } else {
        let session = state.session(id, AssumedValues::default()).await?;
        session.model().clone()
    };
    let room = state.room(bytes_of(&model)).await?;
    let bytes = state.heavy(move |_| {
        let bytes = model.to_snapshot();
        if !is_packed {
            return Ok(bytes);
        }
        // The fastest level: the next ones take twice as long for a tenth of the size.
        let mut gzip = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), Compression::fast());
        let packed = gzip.write_all(&bytes).and_then(|()| gzip.finish());
        packed.map_err(|error| ApiError::internal(error.to_string()))
    });
    let bytes = bytes.await?;
    let mut out = HeaderMap::new();
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static(BYTES));
    out.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    out.insert(header::CONTENT_LENGTH, bytes.len().into());
    if is_packed {
        out.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok((out, Body::from_stream(sent(bytes.into(), room))).into_response())
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use futures_util::StreamExt as _;
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn a_model_has_its_room_until_it_is_taken_or_nobody_waits() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            for takes_all in [true, false] {
                let room = Arc::new(Semaphore::new(3));
                let held = Arc::clone(&room).acquire_many_owned(3).await.unwrap();
                let mut parts = Box::pin(sent(vec![7; 3 << 20].into(), held));
                for _ in 0..2 {
                    assert_eq!(parts.next().await.unwrap().unwrap().len(), 1 << 20);
                    assert_eq!(
                        room.available_permits(),
                        0,
                        "a client that reads slowly counts"
                    );
                }
                if takes_all {
                    assert!(pin!(parts.by_ref().skip(1)).next().await.is_none());
                } else {
                    drop(parts);
                }
                assert_eq!(room.available_permits(), 3);
            }
        });
    }
}
