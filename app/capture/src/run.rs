//! A capture: one profile of each of several programs, of the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::address::ServerAddress;
use super::client::{ProfilerClient, ServerError};
use super::environment;
use super::gather;
use super::messages::{ConfigValue, OptionValue, ProfileOptions, ProfileRequest, ProfileResponse};
use super::save::{RunFolder, SavedProfile, discard};
use analysis::engine::environment::RUN_FILE;
use session::number::counted;
use trace_model::Picos;

/// Events that a server keeps at most in formats other than `XSpace`, as XProf asks.
const MAX_EVENTS: u64 = 1_000_000;
/// Longest recording, in milliseconds.
pub const LONGEST_MS: u64 = 3_600_000;
/// Pause before another attempt.
const PAUSE: Duration = Duration::from_secs(1);
/// Recordings of one run that begin further apart than this are said to, in nanoseconds.
const APART_NS: i64 = 100_000_000;

/// What to record, of which programs.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    pub addresses: Vec<ServerAddress>,
    /// Length of the recording.
    pub duration: Duration,
    /// Time until it begins, for all at the same time.
    pub delay: Duration,
    /// How much of the host is recorded: 0 nothing, 1 what users annotate, 2 and the runtime, 3 and details.
    pub host_level: u32,
    /// Whether Python calls are recorded: 0 or 1.
    pub python_level: u32,
    /// Whether devices are recorded: 0 or 1.
    pub device_level: u32,
    /// Options of one kind of device.
    pub options: BTreeMap<String, OptionValue>,
    /// How long a server may take beyond the recording.
    pub timeout: Duration,
    pub logdir: PathBuf,
    /// Name of the run; the time of its start by default.
    pub session: Option<String>,
    /// Attempts until a device was recorded.
    pub attempts: u32,
}

#[derive(Debug)]
pub struct Capture {
    /// Folder of the run; it exists if any host was kept.
    pub run: PathBuf,
    /// What each host sent, in the order asked.
    pub hosts: Vec<HostCapture>,
    /// The file that says what the recorded program was built from, if this capture wrote it.
    environment: Option<PathBuf>,
}

/// What one host sent.
#[derive(Debug)]
pub struct HostCapture {
    pub address: ServerAddress,
    /// Its profile, or why there is none.
    pub result: Result<SavedProfile, ServerError>,
}

/// What is recorded unless something else is asked for, of programs that are still to be named.
impl Default for CaptureOptions {
    fn default() -> Self {
        let duration = Duration::from_secs(2);
        Self {
            addresses: Vec::new(),
            duration,
            delay: Duration::ZERO,
            host_level: 2,
            python_level: 0,
            device_level: 1,
            options: BTreeMap::new(),
            timeout: Self::timeout_for(duration),
            logdir: PathBuf::from("systole-logs"),
            session: None,
            attempts: 1,
        }
    }
}

impl HostCapture {
    /// Whether its profile arrived damaged.
    pub fn is_damaged(&self) -> bool {
        let saved = self.result.as_ref();
        saved.is_ok_and(|saved| saved.contents.is_damaged)
    }
}

impl CaptureOptions {
    /// How long a server may take beyond a recording of this length: heavy profiles take several times as long.
    pub fn timeout_for(duration: Duration) -> Duration {
        Duration::from_mins(5) + duration * 10
    }

    /// A name that the profiles of two addresses would have.
    pub fn same_name(&self) -> Option<String> {
        let mut names = BTreeSet::new();
        self.addresses
            .iter()
            .map(ServerAddress::file_name)
            .find(|name| !names.insert(name.clone()))
    }

    /// Fails where profiles cannot be written; nothing is made there.
    pub fn check_place(&self) -> io::Result<()> {
        RunFolder::new(&self.logdir, self.session.as_deref(), UNIX_EPOCH).check()
    }

    /// A file of a named run that is there already and would be replaced.
    pub fn existing(&self) -> Option<PathBuf> {
        let session = self.session.as_deref()?;
        let folder = RunFolder::new(&self.logdir, Some(session), UNIX_EPOCH);
        self.addresses
            .iter()
            .map(|address| folder.file(address))
            .find(|file| file.exists())
    }
}

impl Capture {
    /// The profiles that were kept.
    pub fn saved(&self) -> impl Iterator<Item = &SavedProfile> {
        self.hosts
            .iter()
            .filter_map(|host| host.result.as_ref().ok())
    }

    /// Why hosts sent no profile, a line for each of them.
    pub fn reasons(&self) -> Vec<String> {
        let of =
            |host: &HostCapture| Some(format!("{}: {}", host.address, host.result.as_ref().err()?));
        self.hosts.iter().filter_map(of).collect()
    }

    /// Writes beside the profiles what is known of the recorded program, if it runs on this machine and nothing is said
    /// of it there.
    pub(super) fn record_environment(&mut self) {
        let mut local = self.hosts.iter().filter(|host| host.address.is_loopback());
        if let Some(saved) = local.find_map(|host| host.result.as_ref().ok())
            && !self.run.join(RUN_FILE).exists()
        {
            self.environment = environment::record(&self.run, &saved.contents);
        }
    }

    /// Removes what was kept.
    pub(super) fn remove(&self) {
        let mut files: Vec<PathBuf> = self.environment.iter().cloned().collect();
        files.extend(self.files());
        discard(&files, &[]);
    }

    /// Moves what was kept into the folder of another name in this log directory, over profiles that are there; where a file
    /// cannot be moved, all stay.
    pub(super) fn move_to(&mut self, logdir: &Path, name: &str) -> io::Result<()> {
        let folder = RunFolder::new(logdir, Some(name), UNIX_EPOCH);
        std::fs::create_dir_all(folder.path())?;
        let mut moved: Vec<(PathBuf, PathBuf)> = Vec::new();
        for host in &self.hosts {
            let Ok(saved) = &host.result else {
                continue;
            };
            let file = folder.file(&host.address);
            if let Err(error) = std::fs::rename(&saved.file, &file) {
                for (was, is) in moved {
                    std::fs::rename(is, was)?;
                }
                return Err(error);
            }
            moved.push((saved.file.clone(), file));
        }
        let saved = self
            .hosts
            .iter_mut()
            .filter_map(|host| host.result.as_mut().ok());
        for (saved, (_, file)) in saved.zip(moved) {
            saved.file = file;
        }
        if let Some(written) = self.environment.take() {
            let there = folder.path().join(RUN_FILE);
            if there.exists() {
                discard(&[written], &[]);
            } else if std::fs::rename(&written, &there).is_ok() {
                self.environment = Some(there);
            }
        }
        let _ = std::fs::remove_dir(&self.run);
        self.run = folder.path();
        Ok(())
    }

    /// How hosts differ in what they sent, in sentences: numbers of devices, and starts of the recording.
    pub fn differences(&self) -> Vec<String> {
        let kept = self.hosts.iter().filter_map(|host| {
            let saved = host.result.as_ref().ok()?;
            Some((&host.address, &saved.contents))
        });
        let devices = kept
            .clone()
            .map(|(address, contents)| (contents.devices.len() as i64, address));
        let starts =
            kept.filter_map(|(address, contents)| Some((contents.started_unix_ns?, address)));
        let mut said = Vec::new();
        if let (Some((least, fewer)), Some((most, more))) = (devices.clone().min(), devices.max())
            && least < most
        {
            said.push(format!(
                "Hosts recorded different numbers of devices: {fewer} {}, {more} {most}.",
                counted(least as u64, "device")
            ));
        }
        if let (Some((first, early)), Some((last, late))) = (starts.clone().min(), starts.max())
            && last.saturating_sub(first) > APART_NS
        {
            let apart = Picos::from_ps(last.saturating_sub(first).saturating_mul(1000));
            said.push(format!(
                "The recording of {late} began {apart} after that of {early}, by the clocks of their machines: --delay gives \
                 servers time to start together."
            ));
        }
        said
    }

    /// Whether each host sent a profile with events of a device.
    fn has_all_devices(&self) -> bool {
        self.saved()
            .filter(|saved| !saved.contents.devices.is_empty())
            .count()
            == self.hosts.len()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.saved().map(|saved| saved.file.clone()).collect()
    }
}

/// How far a capture is.
#[derive(Clone, Copy, Debug)]
pub enum CaptureStage {
    Connecting,
    /// The programs are recorded, or the delay before that passes.
    Recording {
        /// Time since the request.
        passed: Duration,
        /// Delay and length of the recording.
        total: Duration,
    },
    /// Servers prepare and send profiles.
    Receiving {
        /// Hosts that are done.
        done: usize,
        /// All hosts.
        of: usize,
    },
    /// Profiles are read.
    Reading,
    /// The last attempt found no device.
    Retrying {
        /// The attempt that comes.
        attempt: u32,
        /// All attempts.
        of: u32,
    },
}

impl fmt::Display for CaptureStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Connecting => write!(f, "connecting …"),
            Self::Recording { passed, total } => {
                write!(
                    f,
                    "recording … {:.1} of {:.1} s",
                    passed.as_secs_f64(),
                    total.as_secs_f64()
                )
            }
            Self::Receiving { done, of } => {
                write!(f, "receiving … {done} of {}", counted(of as u64, "host"))
            }
            Self::Reading => write!(f, "reading …"),
            Self::Retrying { attempt, of } => {
                write!(f, "no device yet, attempt {attempt} of {of} …")
            }
        }
    }
}

/// Captures a profile of each program. `watch` hears several times a second how far it is; where it returns false, the
/// capture ends, the servers stop recording, and what has arrived stays.
///
/// # Errors
///
/// This machine fails. Servers that fail are part of the result.
pub fn capture(
    options: &CaptureOptions,
    mut watch: impl FnMut(CaptureStage) -> bool,
) -> io::Result<Capture> {
    let mut capture = gather::block_on(attempts(options, &mut watch))??;
    capture.record_environment();
    Ok(capture)
}

async fn attempts(
    options: &CaptureOptions,
    watch: &mut impl FnMut(CaptureStage) -> bool,
) -> io::Result<Capture> {
    let mut kept: Vec<PathBuf> = Vec::new();
    let mut attempt = 1;
    loop {
        let capture = once(options, watch).await?;
        if capture.saved().next().is_some() {
            discard(&kept, &capture.files());
            kept = capture.files();
        }
        let may_pass =
            |host: &HostCapture| host.result.as_ref().err().is_none_or(ServerError::may_pass);
        let is_last = attempt >= options.attempts || capture.has_all_devices();
        if is_last || !capture.hosts.iter().all(may_pass) {
            return Ok(capture);
        }
        attempt += 1;
        let until = Instant::now() + PAUSE;
        while Instant::now() < until {
            if !watch(CaptureStage::Retrying {
                attempt,
                of: options.attempts,
            }) {
                return Ok(capture);
            }
            tokio::time::sleep(gather::TICK).await;
        }
    }
}

async fn once(
    options: &CaptureOptions,
    watch: &mut impl FnMut(CaptureStage) -> bool,
) -> io::Result<Capture> {
    let patience = options.timeout;
    let connect =
        |address: ServerAddress| async move { ProfilerClient::connect(&address, patience).await };
    let connections = gather::all(options.addresses.iter().cloned().map(connect), |_| {
        watch(CaptureStage::Connecting)
    })
    .await;
    let now = SystemTime::now();
    let folder = Arc::new(RunFolder::new(
        &options.logdir,
        options.session.as_deref(),
        now + options.delay,
    ));
    let root = folder.absolute_root()?;
    let (started, total) = (Instant::now(), options.delay + options.duration);
    let timeout = total + options.timeout;
    let tasks = connections
        .into_iter()
        .zip(&options.addresses)
        .map(|(connection, address)| {
            let request = request(
                options,
                &root,
                &folder.session,
                address,
                now + options.delay,
            );
            let (folder, address) = (Arc::clone(&folder), address.clone());
            async move {
                let response = connection?.profile(request, timeout).await?;
                keep(folder, address, response).await
            }
        });
    let of = options.addresses.len();
    let results = gather::all(tasks, |done| {
        let passed = started.elapsed();
        let is_recording = passed < total && done < of;
        watch(if is_recording {
            CaptureStage::Recording { passed, total }
        } else {
            CaptureStage::Receiving { done, of }
        })
    });
    let results = results.await;
    Ok(hosts(&folder, &options.addresses, results))
}

/// Results with the addresses they are from.
pub(super) fn hosts(
    folder: &RunFolder,
    addresses: &[ServerAddress],
    results: Vec<Result<SavedProfile, ServerError>>,
) -> Capture {
    let hosts = addresses
        .iter()
        .cloned()
        .zip(results)
        .map(|(address, result)| HostCapture { address, result });
    Capture {
        run: folder.path(),
        hosts: hosts.collect(),
        environment: None,
    }
}

/// Writes a file while the others are received.
pub(super) async fn keep(
    folder: Arc<RunFolder>,
    address: ServerAddress,
    response: ProfileResponse,
) -> Result<SavedProfile, ServerError> {
    let written = tokio::task::spawn_blocking(move || folder.save(&address, response)).await;
    written.unwrap_or_else(|error| Err(ServerError::CannotWrite(error.to_string())))
}

/// The request for one host.
pub(super) fn request(
    options: &CaptureOptions,
    root: &Path,
    session: &str,
    address: &ServerAddress,
    start: SystemTime,
) -> ProfileRequest {
    let duration_ms = options.duration.as_millis() as u64;
    let value = |value: &OptionValue| ConfigValue {
        value: Some(value.clone()),
    };
    ProfileRequest {
        duration_ms,
        max_events: MAX_EVENTS,
        tools: vec!["xplane.pb".to_owned()],
        opts: Some(ProfileOptions {
            include_dataset_ops: true,
            host_tracer_level: options.host_level,
            device_tracer_level: options.device_level,
            python_tracer_level: options.python_level,
            version: 1,
            enable_hlo_proto: true,
            start_timestamp_ns: start
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_nanos() as u64),
            duration_ms,
            advanced_configuration: options
                .options
                .iter()
                .map(|(key, is)| (key.clone(), value(is)))
                .collect(),
        }),
        repository_root: root.display().to_string(),
        session_id: session.to_owned(),
        host_name: address.file_name(),
        emit_xspace: true,
    }
}
