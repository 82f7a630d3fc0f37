//! Writes files atomically, on this machine and in buckets: they exist as a whole or not at all. On Linux a file has no name
//! until it is complete, so that nothing stays behind a process that is killed. [`OutputGuard`] says which files a command
//! may write.

mod guard;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

pub use guard::{
    KEPT_TEXTS, MARKDOWN_MARK, OutputGuard, PERFETTO_SEQUENCE, PNG_SOFTWARE, TEXT_MARK, is_same,
};

/// The beginning of the names of temporary files.
const PREFIX: &str = ".systole-";
/// Links to the open files of this process.
#[cfg(target_os = "linux")]
const OPEN_FILES: &str = "/proc/self/fd";

/// Writes a temporary file next to the target and renames it, so that nobody reads half a file and a full
/// disk does not destroy the old content.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    write_with(path, |file| file.write_all(content.as_ref()))
}

/// Writes a file piece by piece; nothing remains if `write` fails.
pub fn write_with<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut fs::File) -> Result<(), E>,
) -> Result<(), E> {
    if importers::is_remote(path) {
        let mut file = tempfile::tempfile()?;
        write(&mut file)?;
        return Ok(importers::write_remote(path, &mut file)?);
    }
    // Follows symbolic links, so that the link itself is not replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let there = fs::metadata(path).ok();
    // Devices and pipes are written to, never replaced.
    if there
        .as_ref()
        .is_some_and(|there| !there.is_file() && !there.is_dir())
    {
        return write(&mut fs::OpenOptions::new().write(true).open(path)?);
    }
    #[cfg(target_os = "linux")]
    if let Some(mut file) = unnamed_in(directory_of(path)) {
        write(&mut file)?;
        if let Some(there) = there {
            file.set_permissions(there.permissions())?;
        }
        return Ok(name_file(&file, path)?);
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The umask applies, as to any new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(directory_of(path))?;
    write(file.as_file_mut())?;
    if let Some(there) = there {
        // The new file keeps the permissions of the old one.
        file.as_file().set_permissions(there.permissions())?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A file without a name in this directory; `None` if its file system has only files with names.
#[cfg(target_os = "linux")]
fn unnamed_in(directory: &Path) -> Option<fs::File> {
    use rustix::fs::{Mode, OFlags};
    if !Path::new(OPEN_FILES).exists() {
        return None;
    }
    // The umask applies, as to any new file.
    let mode = Mode::from_raw_mode(0o666);
    let file = rustix::fs::open(
        directory,
        OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
        mode,
    );
    file.ok().map(fs::File::from)
}

/// Gives such a file a name, and replaces what has this name.
#[cfg(target_os = "linux")]
fn name_file(file: &fs::File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{AtFlags, CWD};
    let open_file = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    let link = |to: &Path| -> io::Result<()> {
        Ok(rustix::fs::linkat(
            CWD,
            &open_file,
            CWD,
            to,
            AtFlags::SYMLINK_FOLLOW,
        )?)
    };
    match link(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    // A link replaces nothing; renaming does, at once.
    let linked = tempfile::Builder::new()
        .prefix(PREFIX)
        .make_in(directory_of(path), link)?;
    linked
        .into_temp_path()
        .persist(path)
        .map_err(|error| error.error)
}

/// The text of a small file beside the input: of a regular file, or of standard input as `-`, at most `most` bytes. A pipe
/// could make the command wait without end, and a device has no end.
pub fn read_small(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    if path.as_os_str() == crate::stdin::STANDARD {
        text.push_str(crate::stdin::text(most)?);
    } else {
        open_regular(path)?
            .take(most.saturating_add(1))
            .read_to_string(&mut text)?;
    }
    if text.len() as u64 > most {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("longer than {} MB", most >> 20),
        ));
    }
    Ok(text)
}

/// Opens a file for reading, unless it is a pipe or device.
pub fn open_regular(path: &Path) -> io::Result<fs::File> {
    let there = fs::metadata(path)?;
    if !there.is_file() && !there.is_dir() {
        let why = "this is no regular file; standard input is -";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    fs::File::open(path)
}

/// Makes a directory unless it is there. Buckets have none.
pub fn make_directory(path: &Path) -> io::Result<()> {
    if importers::is_remote(path) {
        Ok(())
    } else {
        fs::create_dir_all(path)
    }
}

pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn writing_to_a_device_file_keeps_it() {
        write_file(Path::new("/dev/null"), "x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn files_are_replaced_atomically_without_leftovers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.json");
        write_file(&path, "first, longer").unwrap();
        write_file(&path, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_has_a_name_before_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(dir.path()).unwrap().count();
        for expected in [0, 1] {
            let write = |file: &mut fs::File| {
                file.write_all(b"part")?;
                assert_eq!(names(), expected);
                file.write_all(b" and rest")
            };
            write_with(&dir.path().join("out.json"), write).unwrap();
            assert_eq!(
                (
                    names(),
                    fs::read_to_string(dir.path().join("out.json")).unwrap()
                ),
                (1, "part and rest".into())
            );
        }
        let failed = |_: &mut fs::File| Err(io::Error::other("no"));
        write_with(&dir.path().join("other.json"), failed).unwrap_err();
        assert_eq!(names(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn writing_keeps_links_and_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        write_file(&file, "first").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_file(&link, "second").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
