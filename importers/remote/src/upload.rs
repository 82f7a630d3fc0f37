//! Writes reports into buckets.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use input::storage::Address;
use input::{ImportError, Progress, Result};
use object_store::{ObjectStoreExt as _, WriteMultipart};

use super::errors::explained;
use super::location::{Location, key};
use super::runtime;
use super::settings::CloudSettings;

/// Larger files are sent in parts.
const ONE_PART: u64 = 16 << 20;
/// Parts that are sent at once.
const AT_ONCE: usize = 8;

/// Writes the content of a file as an object. It is there as a whole or not at all.
///
/// # Errors
///
/// It cannot be written.
pub fn upload(path: &Path, file: &mut File) -> io::Result<()> {
    upload_with(path, file, &CloudSettings::of_process()).map_err(|error| match error {
        ImportError::Io(error) => error,
        error => io::Error::other(error.to_string()),
    })
}

pub(crate) fn upload_with(path: &Path, file: &mut File, settings: &CloudSettings) -> Result<()> {
    let refused = |what: &str| Err(ImportError::remote(what));
    let Some(address) = Address::of(path) else {
        return refused("not an address of a bucket");
    };
    let size = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    runtime::run(&Progress::new(), async {
        let Location::Bucket(store) = Location::of(&address, settings)? else {
            return refused(
                "files can be written to buckets (gs://, s3://, az://), not to web servers",
            );
        };
        if address.key.is_empty() {
            return refused("name the object to write, not the bucket alone");
        }
        let (key, failed) = (key(&address)?, |error| explained(&error, &address));
        if size <= ONE_PART {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            store.put(&key, bytes.into()).await.map_err(failed)?;
            return Ok(());
        }
        let mut parts = WriteMultipart::new(store.put_multipart(&key).await.map_err(failed)?);
        if let Err(error) = send_parts(file, &mut parts).await {
            // Nobody would complete them, and they would be paid for. That this fails, too, says nothing new.
            let _ = parts.abort().await;
            return Err(match error {
                PartError::Read(error) => error.into(),
                PartError::Sent(error) => failed(error),
            });
        }
        parts.finish().await.map_err(failed)?;
        Ok(())
    })
}

/// Why parts were not sent.
enum PartError {
    Read(io::Error),
    Sent(object_store::Error),
}

/// Begins to send all parts of a file, some at a time.
async fn send_parts(file: &mut File, parts: &mut WriteMultipart) -> Result<(), PartError> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer).map_err(PartError::Read)?;
        if read == 0 {
            return Ok(());
        }
        let capacity = parts.wait_for_capacity(AT_ONCE).await;
        capacity.map_err(PartError::Sent)?;
        parts.write(buffer.get(..read).unwrap_or_default());
    }
}
