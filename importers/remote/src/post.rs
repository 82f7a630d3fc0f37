//! Sends a message to a web server that the user names.

use std::time::Duration;

use input::network::check;
use input::{ImportError, Result};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url};

use super::client::client_of_messages;
use super::errors::of_request;
use super::runtime;
use super::settings::CloudSettings;

/// How long the server may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// Posts JSON. The address can hold a secret: no message names more of it than its host.
///
/// # Errors
///
/// The address is none of a web server, the host may not be asked, or the server does not take the message.
pub fn post_json(address: &str, json: String) -> Result<()> {
    let refused = |what: String| Err(ImportError::Remote { what });
    let url = match Url::parse(address) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
        _ => return refused("write an address that begins with http:// or https://".to_owned()),
    };
    let host = url.host_str().unwrap_or_default().to_owned();
    let settings = CloudSettings::of_process();
    check(settings.hosts, &host)?;
    let client: Client = client_of_messages(settings.hosts).map_err(of_request)?;
    let status = runtime::run(&input::Progress::new(), async {
        let sent = client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .timeout(ANSWER)
            .body(json);
        Ok(sent.send().await.map_err(of_request)?.status())
    })?;
    if status.is_success() {
        Ok(())
    } else {
        refused(format!("{host} answers with status {}", status.as_u16()))
    }
}
