//! What went wrong, in words: the reason, what to do, and no credentials or signatures.

use std::error::Error as StdError;
use std::io;

use input::ImportError;
use input::network::FORBIDDEN;
use input::storage::{Address, Provider};

/// Longest part of a server's own words.
const LONGEST: usize = 200;

/// The reason why a store or server failed.
pub(crate) fn explained(error: &object_store::Error, address: &Address) -> ImportError {
    use object_store::Error as E;
    let all = chain(error);
    let what = match error {
        E::NotFound { .. } if is_missing_bucket(&all) => no_bucket(address),
        E::NotFound { .. } => missing(address),
        E::PermissionDenied { .. } => denied(address),
        E::Unauthenticated { .. } => not_signed_in(address),
        E::Precondition { .. } => CHANGED.to_owned(),
        _ => other(&all, error, address),
    };
    ImportError::Remote { what }
}

/// The reason why a request to a web server failed.
pub(crate) fn of_request(error: reqwest::Error) -> ImportError {
    let error = error.without_url();
    let all = chain(&error);
    let what = if let Some(refused) = forbidden(&all) {
        refused
    } else if error.is_timeout() {
        "the server does not answer in time".to_owned()
    } else if error.is_connect() {
        no_connection(&innermost(&error))
    } else {
        format!("the transfer broke off: {}", shortened(&innermost(&error)))
    };
    ImportError::Remote { what }
}

/// The reason that a status of a web server stands for.
pub(crate) fn of_status(status: u16, address: &Address) -> ImportError {
    let what = match status {
        401 => not_signed_in(address),
        403 => denied(address),
        404 => missing(address),
        410 => format!("the file is not there any more ({})", named(status)),
        412 => CHANGED.to_owned(),
        429 => format!(
            "the server refuses more requests for now ({}): try again later",
            named(status)
        ),
        500.. if may_pass(status) => {
            format!(
                "the server failed ({}), also after {} more attempts",
                named(status),
                super::settings::RETRIES
            )
        }
        500.. => failed(status),
        _ => format!("the server answers with status {}", named(status)),
    };
    ImportError::Remote { what }
}

/// Whether another attempt can help after a status: not where the answer will be the same.
pub(crate) fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 429 | 502 | 503 | 504)
}

/// A status with its name, which servers may leave out: `404 Not Found`.
fn named(status: u16) -> String {
    let name = reqwest::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason());
    name.map_or_else(|| status.to_string(), |name| format!("{status} {name}"))
}

const FAILED: &str = "the server failed (";

/// The message about a failure of a server that is not tried again.
pub(crate) fn failed(status: u16) -> String {
    format!("{FAILED}{}): try again later", named(status))
}

/// The message about an object that was written meanwhile.
pub(crate) const CHANGED: &str = "it was changed while it was read: a run that still writes it, or another copy; read it \
                                  again when it is complete";

/// The messages about answers that do not fit the question.
pub(crate) const OTHER_PART: &str = "the server sent another part of the file than was asked for";
pub(crate) const MORE_THAN_ASKED: &str = "the server sent more than was asked for";

fn other(all: &str, error: &object_store::Error, address: &Address) -> String {
    let refused = forbidden(all);
    // The words about retries name their own time limit.
    let lower = all.to_ascii_lowercase().replace("retry_timeout", "");
    let asked_metadata = [
        "169.254.169.254",
        "metadata.google.internal",
        "169.254.170.2",
        "metadata endpoint",
    ];
    if asked_metadata.iter().any(|host| lower.contains(host))
        || lower.contains("error performing token request")
    {
        let asked = refused.map_or_else(String::new, |refused| format!(" ({refused} for them)"));
        return format!(
            "no credentials were found{asked}: {}",
            how_to_sign_in(address.provider)
        );
    }
    if let Some(refused) = refused {
        return refused;
    }
    if let Some(start) = all.find(FAILED) {
        return all[start..].to_owned();
    }
    if is_missing_bucket(all) {
        return no_bucket(address);
    }
    if lower.contains("account must be specified") || lower.contains("missing account") {
        return "the storage account is not named: set AZURE_STORAGE_ACCOUNT_NAME, or write \
                abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
            .to_owned();
    }
    if lower.contains("redirect without location") || lower.contains("permanentredirect") {
        return format!(
            "the bucket {} is in another region: set AWS_REGION to it",
            address.bucket
        );
    }
    if lower.contains("401 unauthorized") {
        return not_signed_in(address);
    }
    if lower.contains("credentials")
        && (lower.contains("decode") || lower.contains("unknown variant"))
    {
        return format!(
            "these credentials cannot be used ({}): {}",
            shortened(&innermost(error)),
            how_to_sign_in(address.provider)
        );
    }
    if lower.contains("connect") || lower.contains("dns") {
        return no_connection(&innermost(error));
    }
    if lower.contains("timed out") || lower.contains("timeout") {
        return "the server does not answer in time".to_owned();
    }
    shortened(&innermost(error))
}

/// The message about a host that the environment forbids.
fn forbidden(all: &str) -> Option<String> {
    let said = all.get(all.find(FORBIDDEN)?..)?;
    Some(said.split(": ").next().unwrap_or_default().to_owned())
}

fn is_missing_bucket(all: &str) -> bool {
    [
        "NoSuchBucket",
        "ContainerNotFound",
        "bucket does not exist",
        "InvalidBucketName",
        "Invalid bucket name",
    ]
    .iter()
    .any(|sign| all.contains(sign))
}

fn no_bucket(address: &Address) -> String {
    format!("there is no bucket {}", address.bucket)
}

fn missing(address: &Address) -> String {
    if address.provider == Provider::Web {
        return "there is no such file (404 Not Found)".to_owned();
    }
    format!(
        "nothing is there: the bucket {} has no object of this name, and none below it",
        address.bucket
    )
}

/// The error for a path without objects below it.
pub(crate) fn nothing_below(address: &Address) -> ImportError {
    io::Error::new(io::ErrorKind::NotFound, missing(address)).into()
}

fn denied(address: &Address) -> String {
    match address.provider {
        Provider::Web => "access is denied (403 Forbidden): a signed address may have expired".to_owned(),
        Provider::Google => {
            "access is denied (403 Forbidden): the credentials need the permissions storage.objects.get and storage.objects.list"
                .to_owned()
        }
        Provider::Amazon => {
            "access is denied (403 Forbidden): the credentials are wrong, or lack s3:GetObject and s3:ListBucket".to_owned()
        }
        Provider::Azure => {
            "access is denied (403 Forbidden): the credentials are wrong, or lack the role Storage Blob Data Reader".to_owned()
        }
    }
}

fn not_signed_in(address: &Address) -> String {
    format!(
        "not signed in (401 Unauthorized): {}",
        how_to_sign_in(address.provider)
    )
}

fn how_to_sign_in(provider: Provider) -> &'static str {
    match provider {
        Provider::Google => {
            "run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to a key file; for a \
             public bucket set GOOGLE_SKIP_SIGNATURE=true"
        }
        Provider::Amazon => {
            "run aws configure, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a public bucket set \
             AWS_SKIP_SIGNATURE=true"
        }
        Provider::Azure => {
            "run az login, or set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN; for a public container set \
             AZURE_SKIP_SIGNATURE=true"
        }
        Provider::Web => "the server wants a login; use a signed address",
    }
}

fn no_connection(why: &str) -> String {
    format!(
        "no connection: {}; is the network there, and is the name of the host right?",
        shortened(why)
    )
}

/// All causes, outermost first.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

/// The beginning of a text in one line, with addresses cut before their queries.
fn shortened(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let is_address = word.contains("://");
        if is_address {
            word.split('?').next().unwrap_or_default()
        } else {
            word
        }
    });
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_servers_are_short_and_without_signatures() {
        let text = shortened("GET\nhttps://host/a?X-Amz-Signature=secret  failed");
        assert_eq!(text, "GET https://host/a failed");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), LONGEST + 2);
    }
}
