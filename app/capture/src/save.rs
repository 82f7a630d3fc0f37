//! Where profiles are kept: `LOGDIR/plugins/profile/SESSION/HOST.xplane.pb`, as XProf and TensorBoard expect them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::address::ServerAddress;
use super::client::ServerError;
use super::contents::ProfileContents;
use super::messages::ProfileResponse;
use session::files::write_file;

/// Captures that may begin in one second.
const MOST_LATER: u64 = 1000;

/// A profile that was kept.
#[derive(Debug)]
pub struct SavedProfile {
    pub file: PathBuf,
    pub bytes: u64,
    /// What is in it.
    pub contents: ProfileContents,
}

/// The folder of one run, which is made with the first file.
pub(super) struct RunFolder {
    /// Folder of all runs.
    root: PathBuf,
    /// Name of this one.
    pub session: String,
}

impl RunFolder {
    /// A new folder, named after the time or as the user wants it.
    pub fn new(logdir: &Path, session: Option<&str>, now: SystemTime) -> Self {
        let root = logdir.join("plugins").join("profile");
        let later = |seconds| session_name(now + Duration::from_secs(seconds));
        let session = match session {
            Some(name) => name.to_owned(),
            // Another capture began in this second.
            None => (0..MOST_LATER)
                .map(later)
                .find(|name| !root.join(name).exists())
                .unwrap_or_else(|| later(0)),
        };
        Self { root, session }
    }

    /// Folder of all runs from anywhere on this machine, for servers that write files themselves.
    pub fn absolute_root(&self) -> io::Result<PathBuf> {
        std::path::absolute(&self.root)
    }

    pub fn path(&self) -> PathBuf {
        self.root.join(&self.session)
    }

    pub fn file(&self, address: &ServerAddress) -> PathBuf {
        self.path()
            .join(format!("{}.xplane.pb", address.file_name()))
    }

    /// Fails where no file can be written: servers record for nothing then, and some send what they have once only.
    pub fn check(&self) -> io::Result<()> {
        let path = self.path();
        let mut above = path.ancestors();
        let there = above.find(|above| above.exists()).unwrap_or(Path::new("."));
        tempfile::tempfile_in(there).map(drop)
    }

    /// Keeps what a server has answered.
    pub fn save(
        &self,
        address: &ServerAddress,
        response: ProfileResponse,
    ) -> Result<SavedProfile, ServerError> {
        let file = self.file(address);
        let cannot =
            |error: io::Error| ServerError::CannotWrite(format!("{error}: {}", file.display()));
        let tool = |response: ProfileResponse| {
            response
                .tool_data
                .into_iter()
                .find(|tool| tool.name.ends_with("xplane.pb"))
                .map(|tool| tool.data)
        };
        let (xspace, is_empty) = (response.xspace.is_some(), response.empty_trace);
        let profile = if xspace {
            response.xspace
        } else {
            tool(response)
        }
        .filter(|profile| !profile.is_empty());
        let Some(profile) = profile else {
            // The server is on this machine, or on one with the same file system.
            return match std::fs::read(&file) {
                Ok(profile) => Ok(SavedProfile {
                    bytes: profile.len() as u64,
                    contents: ProfileContents::of(&profile),
                    file,
                }),
                Err(_) if xspace || is_empty => Err(ServerError::NoProfile),
                Err(_) => {
                    let there = std::path::absolute(&file).unwrap_or(file);
                    Err(ServerError::WroteElsewhere(there.display().to_string()))
                }
            };
        };
        std::fs::create_dir_all(self.path()).map_err(cannot)?;
        write_file(&file, &profile).map_err(cannot)?;
        Ok(SavedProfile {
            bytes: profile.len() as u64,
            contents: ProfileContents::of(&profile),
            file,
        })
    }
}

/// Removes files of an attempt that a better one replaced, and their folder.
pub(super) fn discard(old: &[PathBuf], new: &[PathBuf]) {
    for file in old.iter().filter(|file| !new.contains(file)) {
        // What cannot be removed stays as a run of its own.
        let _ = std::fs::remove_file(file);
        let _ = file.parent().map(std::fs::remove_dir);
    }
}

/// `2026_01_31_12_00_00`, in UTC.
fn session_name(time: SystemTime) -> String {
    let time = humantime::format_rfc3339_seconds(time).to_string();
    time.trim_end_matches('Z').replace(['-', ':', 'T'], "_")
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn response(xspace: Option<&[u8]>) -> ProfileResponse {
        ProfileResponse {
            xspace: xspace.map(<[u8]>::to_vec),
            ..ProfileResponse::default()
        }
    }

    fn folder(logdir: &Path) -> RunFolder {
        RunFolder::new(
            logdir,
            None,
            UNIX_EPOCH + Duration::from_secs(1_795_415_161),
        )
    }

    #[test]
    fn runs_are_named_after_the_second_of_their_start() {
        let dir = tempfile::tempdir().unwrap();
        let first = folder(dir.path());
        assert_eq!(first.session, "2026_11_23_06_26_01");
        assert!(!first.path().exists(), "made with the first file");
        std::fs::create_dir_all(first.path()).unwrap();
        assert_eq!(folder(dir.path()).session, "2026_11_23_06_26_02");
        let named = RunFolder::new(dir.path(), Some("mine"), UNIX_EPOCH);
        assert!(named.path().ends_with("plugins/profile/mine"));
    }

    #[test]
    fn profile_is_saved_from_every_kind_of_reply() {
        let dir = tempfile::tempdir().unwrap();
        let (run, address) = (
            folder(dir.path()),
            "[::1]:9012".parse::<ServerAddress>().unwrap(),
        );
        let wrote = run.save(&address, response(None)).unwrap_err();
        assert!(
            matches!(&wrote, ServerError::WroteElsewhere(file) if file.ends_with("__1_9012.xplane.pb")),
            "{wrote}"
        );
        assert_eq!(
            run.save(&address, response(Some(b""))).unwrap_err(),
            ServerError::NoProfile
        );
        assert!(!run.path().exists());

        let saved = run.save(&address, response(Some(b"\x0a\x00"))).unwrap();
        assert_eq!(std::fs::read(&saved.file).unwrap(), b"\x0a\x00");
        // A server on the same machine wrote the file itself.
        assert_eq!(run.save(&address, response(None)).unwrap().bytes, 2);

        let data = b"\x0a\x01\x00".to_vec();
        let tool = super::super::messages::ToolData {
            name: "xplane.pb".to_owned(),
            data,
        };
        let answer = ProfileResponse {
            tool_data: vec![tool],
            ..ProfileResponse::default()
        };
        assert_eq!(run.save(&address, answer).unwrap().bytes, 3);
    }

    #[test]
    fn place_is_checked_and_nothing_is_left_there() {
        let dir = tempfile::tempdir().unwrap();
        let run = folder(&dir.path().join("new/logs"));
        run.check().unwrap();
        assert!(!dir.path().join("new").exists());
        std::fs::write(dir.path().join("file"), "x").unwrap();
        assert!(folder(&dir.path().join("file/logs")).check().is_err());
    }

    #[test]
    fn only_what_was_replaced_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let file = dir.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "x").unwrap();
            file
        };
        let (old, also_old, new, other) = (file("1/a"), file("1/b"), file("2/a"), file("3/other"));
        let same = file("3/a");
        discard(
            &[old.clone(), also_old, same.clone()],
            &[new.clone(), same.clone()],
        );
        assert!(!old.parent().unwrap().exists() && new.exists() && other.exists() && same.exists());
    }
}
