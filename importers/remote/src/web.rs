//! Files on web servers: read in ranges where the server has them, from the beginning otherwise.

use std::fs::File;
use std::ops::Range;
use std::time::Duration;

use input::network::{AllowedHosts, check};
use input::storage::Address;
use input::{ImportError, Progress, Result};
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, HeaderName, IF_RANGE, LAST_MODIFIED, RANGE};
use reqwest::{Response, StatusCode};

use super::client::client;
use super::errors::{CHANGED, MORE_THAN_ASKED, OTHER_PART, may_pass, of_request, of_status};
use super::limits::{MOST_UNKNOWN, TransferRate, too_long, within};
use super::object::{ObjectFacts, write_at};
use super::settings::{CloudSettings, RETRIES};

/// How long the head of an answer may take.
const ANSWER: Duration = Duration::from_mins(1);
/// The pause before the first new attempt; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// A client of web servers.
pub(crate) struct WebServer {
    client: reqwest::Client,
    hosts: AllowedHosts,
}

/// Why a request failed, and whether another attempt may help.
struct Failed {
    error: ImportError,
    may_pass: bool,
}

impl From<ImportError> for Failed {
    fn from(error: ImportError) -> Self {
        Self {
            error,
            may_pass: false,
        }
    }
}

impl WebServer {
    pub fn new(settings: &CloudSettings) -> Result<Self> {
        Ok(Self {
            client: client(settings.hosts).map_err(of_request)?,
            hosts: settings.hosts,
        })
    }

    /// Asks for one byte, because signed addresses allow no other request than reading.
    pub async fn facts(&self, address: &Address) -> Result<ObjectFacts> {
        let response = self
            .patiently(|| self.request(address, Some(0..1), None))
            .await?;
        let Some(response) = response else {
            // A range of an empty file cannot be satisfied.
            return Ok(ObjectFacts {
                size: Some(0),
                has_ranges: true,
                ..ObjectFacts::default()
            });
        };
        let headers = response.headers();
        let has_ranges = response.status() == StatusCode::PARTIAL_CONTENT;
        let total =
            text(headers, &CONTENT_RANGE).and_then(|range| range.rsplit_once('/')?.1.parse().ok());
        let size = if has_ranges {
            total
        } else {
            response.content_length()
        };
        Ok(ObjectFacts {
            size,
            modified: None,
            version: version(headers),
            has_ranges: has_ranges && size.is_some(),
        })
    }

    /// Copies a range to the same place of a file. What was copied before the connection broke is not asked for again.
    pub async fn copy(
        &self,
        address: &Address,
        facts: &ObjectFacts,
        range: Range<u64>,
        file: &File,
        progress: &Progress,
    ) -> Result<()> {
        let (mut position, mut failures, mut rate) = (range.start, 0, TransferRate::new());
        loop {
            let before = position;
            let Err(failed) = self
                .copy_some(
                    address,
                    facts,
                    (&mut position, range.end),
                    &mut rate,
                    file,
                    progress,
                )
                .await
            else {
                return Ok(());
            };
            // Without ranges each attempt begins anew: what it read is no progress.
            failures = if facts.has_ranges && position > before {
                1
            } else {
                failures + 1
            };
            if !failed.may_pass || failures > RETRIES {
                return Err(failed.error);
            }
            if !facts.has_ranges {
                progress.take_back(position);
                position = 0;
            }
            tokio::time::sleep(pause(failures)).await;
        }
    }

    async fn copy_some(
        &self,
        address: &Address,
        facts: &ObjectFacts,
        (at, end): (&mut u64, u64),
        rate: &mut TransferRate,
        file: &File,
        progress: &Progress,
    ) -> Result<(), Failed> {
        let range = facts.has_ranges.then_some(*at..end);
        let is_part = range.is_some();
        let changed = || Failed::from(ImportError::remote(CHANGED));
        let response = self
            .request(address, range, facts.version.as_deref())
            .await?;
        let mut response = response.ok_or_else(changed)?;
        if version(response.headers()) != facts.version {
            return Err(changed());
        }
        if is_part && response.status() != StatusCode::PARTIAL_CONTENT {
            return Err(changed());
        }
        if is_part && first_byte(response.headers()) != Some(*at) {
            return Err(ImportError::remote(OTHER_PART).into());
        }
        let broke = |error| Failed {
            error: of_request(error),
            may_pass: true,
        };
        while let Some(chunk) = response.chunk().await.map_err(broke)? {
            rate.add(chunk.len())?;
            if *at + chunk.len() as u64 > end {
                let more = || ImportError::remote(MORE_THAN_ASKED);
                return Err(facts
                    .size
                    .map_or_else(|| too_long(MOST_UNKNOWN), |_known| more())
                    .into());
            }
            write_at(file, *at, &chunk).map_err(ImportError::from)?;
            *at += chunk.len() as u64;
            progress.add_done(chunk.len() as u64);
        }
        if facts.size.is_some() && *at < end {
            let what = "the transfer broke off before the end of the file".to_owned();
            return Err(Failed {
                error: ImportError::Remote { what },
                may_pass: true,
            });
        }
        Ok(())
    }

    /// The first `len` bytes.
    pub async fn beginning(&self, address: &Address, len: u64) -> Result<Vec<u8>> {
        let response = self
            .patiently(|| self.request(address, Some(0..len), None))
            .await?;
        let (Some(mut response), mut bytes) = (response, Vec::new()) else {
            return Ok(Vec::new());
        };
        while let Some(chunk) = response.chunk().await.map_err(of_request)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 >= len {
                break;
            }
        }
        bytes.truncate(len as usize);
        Ok(bytes)
    }

    /// One request; no response if the range is beyond the end.
    async fn request(
        &self,
        address: &Address,
        range: Option<Range<u64>>,
        version: Option<&str>,
    ) -> Result<Option<Response>, Failed> {
        check(self.hosts, host(&address.bucket))
            .map_err(|error| ImportError::remote(error.to_string()))?;
        let mut request = self.client.get(format!("{}/{}", address.root, address.key));
        if let Some(Range { start, end }) = range {
            request = request.header(RANGE, format!("bytes={start}-{}", end.saturating_sub(1)));
            // Weak tags are no condition for ranges.
            if let Some(tag) = version.filter(|tag| !tag.starts_with("W/")) {
                request = request.header(IF_RANGE, tag);
            }
        }
        let sent = within(ANSWER, async { Ok(request.send().await) }).await?;
        let response = sent.map_err(|error| {
            let may_pass = !error.is_builder() && !error.is_redirect();
            Failed {
                error: of_request(error),
                may_pass,
            }
        })?;
        let status = response.status();
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(None);
        }
        if !status.is_success() {
            let status = status.as_u16();
            return Err(Failed {
                error: of_status(status, address),
                may_pass: may_pass(status),
            });
        }
        Ok(Some(response))
    }

    /// Asks again after failures that may pass.
    async fn patiently<T, W: Future<Output = Result<T, Failed>>>(
        &self,
        ask: impl Fn() -> W,
    ) -> Result<T> {
        let mut failures = 0;
        loop {
            match ask().await {
                Ok(answer) => return Ok(answer),
                Err(failed) if failed.may_pass && failures < RETRIES => failures += 1,
                Err(failed) => return Err(failed.error),
            }
            tokio::time::sleep(pause(failures)).await;
        }
    }
}

fn pause(failures: usize) -> Duration {
    FIRST_PAUSE * 2_u32.saturating_pow(failures.saturating_sub(1) as u32)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Where the part of an answer begins: `bytes 0-9/100`.
fn first_byte(headers: &HeaderMap) -> Option<u64> {
    text(headers, &CONTENT_RANGE)?
        .trim()
        .strip_prefix("bytes")?
        .trim()
        .split_once('-')?
        .0
        .trim()
        .parse()
        .ok()
}

fn version(headers: &HeaderMap) -> Option<String> {
    text(headers, &ETAG)
        .or_else(|| text(headers, &LAST_MODIFIED))
        .map(str::to_owned)
}

/// A host without its port.
fn host(host_and_port: &str) -> &str {
    match host_and_port.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host_and_port,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{Shutdown, TcpListener};

    use super::super::runtime;
    use super::*;

    const FILE: &[u8] = b"what the server has, without ranges";

    #[test]
    fn bytes_that_are_read_again_count_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/file", listener.local_addr().unwrap());
        // The first answer is the size; the second breaks off in the middle.
        let serve = move || {
            for (answer, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let request = BufReader::new(stream.try_clone().unwrap()).lines();
                request
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .for_each(drop);
                let sent = if answer == 1 {
                    &FILE[..FILE.len() / 2]
                } else {
                    FILE
                };
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    FILE.len()
                );
                // A client that needs no more has gone.
                let _ = stream
                    .write_all(head.as_bytes())
                    .and_then(|()| stream.write_all(sent));
                let _ = stream.shutdown(Shutdown::Both);
            }
        };
        std::thread::Builder::new().spawn(serve).unwrap();
        let (server, progress) = (
            WebServer::new(&CloudSettings::of_process()).unwrap(),
            Progress::new(),
        );
        let address = Address::of(address.as_ref()).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        let copied = async {
            let facts = server.facts(&address).await?;
            assert_eq!(
                (facts.size, facts.has_ranges),
                (Some(FILE.len() as u64), false)
            );
            server
                .copy(&address, &facts, 0..FILE.len() as u64, &file, &progress)
                .await
        };
        runtime::run(&progress, copied).unwrap();
        let mut content = Vec::new();
        std::io::Seek::rewind(&mut file).unwrap();
        std::io::Read::read_to_end(&mut file, &mut content).unwrap();
        assert_eq!(
            (content.as_slice(), progress.bytes().0),
            (FILE, FILE.len() as u64)
        );
    }
}
