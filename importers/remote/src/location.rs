//! A place from which objects are read: a bucket or a web server.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use futures_util::StreamExt as _;
use input::storage::{Address, Provider};
use input::{ImportError, Progress, Result};
use object_store::path::Path as Key;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt as _};

use super::errors::{CHANGED, MORE_THAN_ASKED, OTHER_PART, explained};
use super::limits::{ASK, TransferRate, within};
use super::object::{ObjectFacts, write_at};
use super::settings::CloudSettings;
use super::web::WebServer;

/// A bucket or web server.
pub(crate) enum Location {
    Bucket(Arc<dyn ObjectStore>),
    Web(WebServer),
}

impl Location {
    pub fn of(address: &Address, settings: &CloudSettings) -> Result<Self> {
        Ok(match address.provider {
            Provider::Web => Self::Web(WebServer::new(settings)?),
            _ => Self::Bucket(super::stores::store(address, settings)?),
        })
    }

    /// Facts about an object; `None` if there is none.
    pub async fn facts(&self, address: &Address) -> Result<Option<ObjectFacts>> {
        let store = match self {
            Self::Web(server) => return within(ASK, server.facts(address)).await.map(Some),
            Self::Bucket(store) => store,
        };
        let key = key(address)?;
        within(ASK, async {
            match store.head(&key).await {
                Ok(meta) => Ok(Some(ObjectFacts::of(&meta))),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(explained(&error, address)),
            }
        })
        .await
    }

    /// Copies a range of an object to the same place of a file, which it returns after counting the bytes as done. If
    /// the size is unknown, everything from the beginning on is copied.
    pub async fn copy(
        &self,
        address: &Address,
        facts: &ObjectFacts,
        range: Range<u64>,
        file: &File,
        progress: &Progress,
    ) -> Result<()> {
        let store = match self {
            Self::Web(server) => return server.copy(address, facts, range, file, progress).await,
            Self::Bucket(store) => store,
        };
        let bytes = read(store.as_ref(), address, facts, range.clone()).await?;
        write_at(file, range.start, &bytes)?;
        progress.add_done(bytes.len() as u64);
        Ok(())
    }

    /// The first bytes of an object, at most `len`.
    pub async fn beginning(
        &self,
        address: &Address,
        facts: &ObjectFacts,
        len: u64,
    ) -> Result<Vec<u8>> {
        let end = facts.size.unwrap_or(len).min(len);
        match self {
            _ if end == 0 => Ok(Vec::new()),
            Self::Web(server) => within(ASK, server.beginning(address, end)).await,
            Self::Bucket(store) => within(ASK, read(store.as_ref(), address, facts, 0..end)).await,
        }
    }
}

async fn read(
    store: &dyn ObjectStore,
    address: &Address,
    facts: &ObjectFacts,
    range: Range<u64>,
) -> Result<Vec<u8>> {
    // Weak tags never match a condition.
    let if_match = facts.version.clone().filter(|tag| tag.starts_with('"'));
    let (asked, wanted) = (range.clone(), range.end.saturating_sub(range.start));
    let options = GetOptions {
        range: Some(range.into()),
        if_match,
        ..GetOptions::default()
    };
    let failed = |error| match error {
        // It was there when its size was asked for.
        object_store::Error::NotFound { .. } => ImportError::remote(CHANGED),
        error => explained(&error, address),
    };
    let result = store
        .get_opts(&key(address)?, options)
        .await
        .map_err(failed)?;
    let now = ObjectFacts::of(&result.meta);
    // Some servers ignore conditions.
    if now.version != facts.version || now.size != facts.size {
        return Err(ImportError::remote(CHANGED));
    }
    if result.range != asked {
        return Err(ImportError::remote(OTHER_PART));
    }
    let (mut bytes, mut rate, mut stream) = (Vec::new(), TransferRate::new(), result.into_stream());
    while let Some(part) = stream.next().await {
        let part = part.map_err(|error| explained(&error, address))?;
        rate.add(part.len())?;
        bytes.extend_from_slice(&part);
        if bytes.len() as u64 > wanted {
            return Err(ImportError::remote(MORE_THAN_ASKED));
        }
    }
    if (bytes.len() as u64) < wanted {
        return Err(ImportError::remote(
            "the server sent less than was asked for",
        ));
    }
    Ok(bytes)
}

/// The name of an object as the store wants it.
pub(crate) fn key(address: &Address) -> Result<Key> {
    Key::parse(&address.key)
        .map_err(|error| ImportError::remote(format!("no name of an object: {error}")))
}
