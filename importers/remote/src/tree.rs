//! What is below an address: asked for once, then answered from memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use futures_util::StreamExt as _;
use input::storage::{Address, EntryKind, FileTree, Provider, TreeEntry};
use input::{ImportError, InputSource, Progress, Result};
use object_store::ObjectMeta;

use super::errors::{explained, nothing_below};
use super::limits::{LIST, within};
use super::location::{Location, key};
use super::object::ObjectFacts;
use super::runtime;
use super::settings::CloudSettings;

/// More objects than any log directory has.
const MAX_OBJECTS: usize = 200_000;

/// Bytes of a packed file in which its first unpacked bytes are.
const HEAD: u64 = 64 << 10;

/// The objects below an address.
pub(crate) struct RemoteTree {
    address: Address,
    settings: CloudSettings,
    objects: BTreeMap<String, ObjectFacts>,
}

impl RemoteTree {
    /// Asks for the object of an address, or all below it.
    pub fn with(address: &Address, settings: CloudSettings, progress: &Progress) -> Result<Self> {
        let asked = async {
            let location = Location::of(address, &settings)?;
            let Location::Bucket(store) = &location else {
                let facts = location.facts(address).await?.unwrap_or_default();
                return Ok(BTreeMap::from([(address.key.clone(), facts)]));
            };
            let is_pattern = address.key.contains(['*', '?']);
            if !address.is_directory
                && !is_pattern
                && let Some(facts) = location.facts(address).await?
            {
                return Ok(BTreeMap::from([(address.key.clone(), facts)]));
            }
            let above = Address {
                key: fixed_part(&address.key),
                ..address.clone()
            };
            let mut listed = store.list(Some(&key(&above)?));
            let mut objects = BTreeMap::new();
            while let Some(object) = listed.next().await {
                let object = object.map_err(|error| explained(&error, address))?;
                if objects
                    .insert(object.location.to_string(), ObjectFacts::of(&object))
                    .is_some()
                {
                    let what = format!(
                        "the server lists {} again: its list has no end",
                        object.location
                    );
                    return Err(ImportError::Remote { what });
                }
                if objects.len() > MAX_OBJECTS {
                    let what = format!(
                        "more than {MAX_OBJECTS} objects are below it: name a folder nearer to the run"
                    );
                    return Err(ImportError::TooLarge { what });
                }
            }
            if objects.is_empty() {
                Err(nothing_below(address))
            } else {
                Ok(objects)
            }
        };
        let objects = runtime::run(progress, within(LIST, asked))?;
        Ok(Self {
            address: address.clone(),
            settings,
            objects,
        })
    }

    fn object(&self, path: &Path) -> Option<&ObjectFacts> {
        self.objects.get(&self.address.key_of(path)?)
    }

    /// Objects whose names begin with the name of a directory, with what follows it.
    fn inside(&self, directory: &str) -> impl Iterator<Item = &str> {
        let prefix = if directory.is_empty() {
            String::new()
        } else {
            format!("{directory}/")
        };
        let from = self.objects.range(prefix.clone()..);
        from.map_while(move |(name, _)| name.strip_prefix(&prefix[..]))
            .filter(|rest| !rest.is_empty())
    }
}

/// What is below an address: its object, or all below it. The answer is asked for once.
///
/// # Errors
///
/// The bucket or web server cannot be read.
pub fn tree_below(address: &Address, progress: &Progress) -> Result<Box<dyn FileTree>> {
    Ok(Box::new(RemoteTree::with(
        address,
        CloudSettings::of_process(),
        progress,
    )?))
}

/// The folders of a pattern that have no wildcard.
fn fixed_part(key: &str) -> String {
    let folders = key.split('/').take_while(|part| !part.contains(['*', '?']));
    folders.collect::<Vec<_>>().join("/")
}

/// Names and sizes of the objects directly in a folder.
pub(crate) fn files_in(folder: &Address, progress: &Progress) -> Result<Vec<(String, u64)>> {
    runtime::run(progress, async {
        let Location::Bucket(store) = Location::of(folder, &CloudSettings::of_process())? else {
            return Ok(Vec::new());
        };
        let key = key(folder)?;
        let listed = async {
            store
                .list_with_delimiter(Some(&key))
                .await
                .map_err(|error| explained(&error, folder))
        };
        let listed = within(LIST, listed).await?;
        let file = |object: ObjectMeta| Some((object.location.filename()?.to_owned(), object.size));
        Ok(listed.objects.into_iter().filter_map(file).collect())
    })
}

impl FileTree for RemoteTree {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let key = self.address.key_of(path).ok_or_else(missing)?;
        if self.objects.contains_key(&key) {
            return Ok(EntryKind::File);
        }
        if self.inside(&key).next().is_some() {
            Ok(EntryKind::Directory)
        } else {
            Err(missing())
        }
    }

    fn entries(&self, directory: &Path) -> io::Result<Vec<TreeEntry>> {
        let key = self
            .address
            .key_of(directory)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let mut listed: Vec<TreeEntry> = Vec::new();
        for rest in self.inside(&key) {
            let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
            let kind = if rest.len() == name.len() {
                EntryKind::File
            } else {
                EntryKind::Directory
            };
            let is_new = listed
                .last()
                .is_none_or(|last| last.name != name || last.kind != kind);
            // `folder/` is an object that some tools make to show a folder.
            if is_new && !name.is_empty() && (kind == EntryKind::File || !below.is_empty()) {
                let path = self.address.of_key(&if key.is_empty() {
                    name.to_owned()
                } else {
                    format!("{key}/{name}")
                });
                listed.push(TreeEntry {
                    name: name.to_owned(),
                    path,
                    kind,
                    is_link: false,
                });
            }
        }
        listed.sort();
        listed.dedup();
        Ok(listed)
    }

    fn modified(&self, path: &Path) -> Option<SystemTime> {
        self.object(path)?.modified
    }

    fn size(&self, path: &Path) -> Option<u64> {
        self.object(path)?.size
    }

    fn resolved(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn head(&self, path: &Path) -> Option<Vec<u8>> {
        let (address, facts) = (Address::of(path)?, self.object(path)?);
        let bytes = runtime::run(&Progress::new(), async {
            Location::of(&address, &self.settings)?
                .beginning(&address, facts, HEAD)
                .await
        });
        let source = InputSource::from_bytes("head", bytes.ok()?).ok()?;
        Some(source.head().to_owned())
    }

    fn split_pattern(&self, pattern: &Path) -> (PathBuf, PathBuf) {
        let key = self.address.key_of(pattern).unwrap_or_default();
        match self.address.provider {
            Provider::Web => (pattern.to_owned(), PathBuf::new()),
            _ => (self.address.of_key(""), PathBuf::from(key)),
        }
    }
}
