//! Addresses of buckets and web servers: `gs://bucket/key`, `s3://…`, `az://…`, `abfss://…`, `https://…`.

use std::path::{Path, PathBuf};

/// Who keeps the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Google Cloud Storage.
    Google,
    /// Amazon S3, and what has its interface.
    Amazon,
    /// Azure Blob Storage.
    Azure,
    /// A web server: one file, without directories.
    Web,
}

/// An address, taken apart.
#[derive(Clone, Debug)]
pub struct Address {
    /// Who keeps the object.
    pub provider: Provider,
    /// The bucket or container; of a web server the host.
    pub bucket: String,
    /// The storage account, if the address names it (Azure).
    pub account: Option<String>,
    /// What stands before the key, as the user wrote it: `gs://bucket`.
    pub root: String,
    /// Name of the object, or the beginning of names; without a slash at its end.
    pub key: String,
    /// Whether a slash at the end says that a directory is meant.
    pub is_directory: bool,
}

/// Schemes and who they lead to.
const SCHEMES: [(&str, Provider); 10] = [
    ("gs", Provider::Google),
    ("gcs", Provider::Google),
    ("s3", Provider::Amazon),
    ("s3a", Provider::Amazon),
    ("az", Provider::Azure),
    ("azure", Provider::Azure),
    ("abfs", Provider::Azure),
    ("abfss", Provider::Azure),
    ("https", Provider::Web),
    ("http", Provider::Web),
];

/// Whether a path is the address of a bucket or a web server.
pub fn is_remote(path: &Path) -> bool {
    Address::of(path).is_some()
}

/// A path as it may be shown: without user names, passwords and signatures of a web address.
pub fn shown_path(path: &Path) -> PathBuf {
    Address::of(path).map_or_else(|| path.to_owned(), |address| PathBuf::from(address.shown()))
}

impl Address {
    /// The address that a path is; `None` for files of this machine.
    pub fn of(path: &Path) -> Option<Self> {
        let text = path.to_str()?;
        // `pathlib` and others make one slash of two.
        let (scheme, rest) = text.split_once(":/")?;
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let provider = SCHEMES
            .iter()
            .find(|(name, _)| scheme.eq_ignore_ascii_case(name))?
            .1;
        if rest.is_empty() || rest.starts_with('/') {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        if provider == Provider::Web {
            return Some(of_web(&scheme, rest));
        }
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let (name, account) = match bucket.split_once('@') {
            Some((container, host)) => (container, host.split('.').next().map(str::to_owned)),
            None => (bucket, None),
        };
        Some(Self {
            provider,
            bucket: name.to_owned(),
            account,
            root: format!("{scheme}://{bucket}"),
            key: key.trim_matches('/').to_owned(),
            is_directory: key.is_empty() || key.ends_with('/'),
        })
    }

    /// The address as it may be shown.
    pub fn shown(&self) -> String {
        let key = if self.provider == Provider::Web {
            without_secrets(&self.key)
        } else {
            self.key.clone()
        };
        let root = match (self.provider, self.root.split_once("://")) {
            (Provider::Web, Some((scheme, host))) => {
                format!(
                    "{scheme}://{}",
                    host.rsplit_once('@').map_or(host, |(_, host)| host)
                )
            }
            _ => self.root.clone(),
        };
        if key.is_empty() {
            root
        } else {
            format!("{root}/{key}")
        }
    }

    /// The address of an object of the same bucket.
    pub fn of_key(&self, key: &str) -> PathBuf {
        PathBuf::from(if key.is_empty() {
            self.root.clone()
        } else {
            format!("{}/{key}", self.root)
        })
    }

    /// The key of a path in the same bucket.
    pub fn key_of(&self, path: &Path) -> Option<String> {
        let other = Self::of(path)?;
        (other.root == self.root).then_some(other.key)
    }
}

/// The part before `?` and `#`: what follows may be a signature.
fn without_secrets(text: &str) -> String {
    text.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// `https://HOST/KEY`; blobs of Azure are a bucket unless a signature is part of the address.
fn of_web(scheme: &str, rest: &str) -> Address {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, key) = rest.split_at(end);
    let key = key.strip_prefix('/').unwrap_or(key);
    let azure = [".blob.core.windows.net", ".dfs.core.windows.net"];
    let account = azure.iter().find_map(|ending| host.strip_suffix(ending));
    if let (Some(account), false) = (account, key.contains('?')) {
        let (container, blob) = key.split_once('/').unwrap_or((key, ""));
        if !container.is_empty() {
            return Address {
                provider: Provider::Azure,
                bucket: container.to_owned(),
                account: Some(account.to_owned()),
                root: format!("{scheme}://{host}/{container}"),
                key: blob.trim_matches('/').to_owned(),
                is_directory: blob.is_empty() || blob.ends_with('/'),
            };
        }
    }
    Address {
        provider: Provider::Web,
        bucket: host
            .rsplit_once('@')
            .map_or(host, |(_, host)| host)
            .to_owned(),
        account: None,
        root: format!("{scheme}://{host}"),
        key: key.to_owned(),
        is_directory: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::of(Path::new(text)).expect(text)
    }

    #[test]
    fn paths_of_this_machine_are_no_addresses() {
        for path in [
            "a.xplane.pb",
            "/logs/gs://x",
            "gs:",
            "gs:/",
            "gs://",
            "C:/logs/x.pb",
            "ftp://host/x",
            "a:/b",
        ] {
            assert!(!is_remote(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn buckets_and_keys_are_taken_apart() {
        for (text, provider, bucket, key) in [
            (
                "gs://logs/run/a.xplane.pb",
                Provider::Google,
                "logs",
                "run/a.xplane.pb",
            ),
            ("gs:/logs/run/", Provider::Google, "logs", "run"),
            ("S3://logs", Provider::Amazon, "logs", ""),
            ("az://box/a b", Provider::Azure, "box", "a b"),
            (
                "abfss://box@acc.dfs.core.windows.net/x/y",
                Provider::Azure,
                "box",
                "x/y",
            ),
            (
                "https://acc.blob.core.windows.net/box/x/y",
                Provider::Azure,
                "box",
                "x/y",
            ),
            (
                "https://acc.blob.core.windows.net/box/x?sig=1",
                Provider::Web,
                "acc.blob.core.windows.net",
                "box/x?sig=1",
            ),
            (
                "https://host:8443/a/b.pb",
                Provider::Web,
                "host:8443",
                "a/b.pb",
            ),
        ] {
            let address = address(text);
            assert_eq!(
                (address.provider, &address.bucket[..], &address.key[..]),
                (provider, bucket, key),
                "{text}"
            );
        }
        assert_eq!(
            address("abfss://box@acc.dfs.core.windows.net/x")
                .account
                .as_deref(),
            Some("acc")
        );
        assert!(address("gs://logs/run/").is_directory && !address("gs://logs/run").is_directory);
    }

    #[test]
    fn neither_signatures_nor_passwords_are_shown() {
        for (text, shown) in [
            (
                "https://me:secret@host/a.pb?X-Amz-Signature=secret#x",
                "https://host/a.pb",
            ),
            (
                "https://acc.blob.core.windows.net/box/x?sig=secret",
                "https://acc.blob.core.windows.net/box/x",
            ),
            ("https://host?token=secret", "https://host"),
            ("gs://logs/what?.pb", "gs://logs/what?.pb"),
            ("gs:/logs/run/", "gs://logs/run"),
            ("/a/b?c", "/a/b?c"),
        ] {
            assert_eq!(shown_path(Path::new(text)), Path::new(shown), "{text}");
        }
    }
}
