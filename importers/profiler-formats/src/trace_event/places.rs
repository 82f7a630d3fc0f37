//! Groups of processes and tracks of threads.

use importer_common::TrackRoles;
use importer_common::names::{PlaneKind, plane_kind, track_kind, track_sort};
use importer_common::op_track::track_of_line;
use importer_common::prelude::*;
use importer_common::roles::RoleKind;

use super::metadata::split_host;
use super::threads::{ThreadId, ThreadTable, TraceProcess, TraceThread};

/// Names of threads that share a track are joined up to this length.
const LONGEST_NAME: usize = 100;

/// The groups and tracks of a file.
pub(super) struct TrackTable {
    groups: BTreeMap<i64, (GroupId, PlaneKind)>,
    /// By thread; `None` for threads without events and name.
    tracks: Vec<Option<TrackId>>,
    kinds: Vec<TrackKind>,
    pids: Vec<i64>,
}

impl TrackTable {
    /// Adds a group for each process and a track for each thread. `roles` is `None` for the planes and lines of XProf.
    pub fn new(
        builder: &mut TraceBuilder,
        threads: &ThreadTable,
        counter_pids: impl Iterator<Item = i64>,
        roles: Option<&TrackRoles>,
    ) -> Self {
        let is_xprof = roles.is_none();
        let pids: Vec<i64> = threads.rows.iter().map(|thread| thread.pid).collect();
        let used: BTreeSet<i64> = pids
            .iter()
            .copied()
            .chain(counter_pids)
            .chain(threads.processes.keys().copied())
            .collect();
        let roles = roles.map_or_else(
            || vec![None; pids.len()],
            |roles| thread_roles(threads, roles),
        );
        let groups = if is_xprof {
            add_planes(
                builder,
                &used,
                &threads.processes,
                &cores_by_lines(&threads.rows),
            )
        } else {
            let with_ops = threads
                .rows
                .iter()
                .zip(&roles)
                .filter(|(_, role)| **role == Some(RoleKind::Ops));
            let devices = with_ops.map(|(thread, _)| thread.pid).collect();
            add_processes(builder, &used, &threads.processes, &devices)
        };
        let mut places = Self {
            groups,
            tracks: Vec::new(),
            kinds: Vec::new(),
            pids,
        };
        for (thread, role) in threads.rows.iter().zip(roles) {
            let (track, kind) = places.add_track(builder, thread, is_xprof, role);
            places.tracks.push(track);
            places.kinds.push(kind);
        }
        places
    }

    /// The group of a process.
    pub fn group_of(&self, pid: i64) -> Option<GroupId> {
        self.groups.get(&pid).map(|&(group, _)| group)
    }

    /// The process of a thread.
    pub fn pid_of(&self, thread: ThreadId) -> i64 {
        self.pids.get(thread as usize).copied().unwrap_or(0)
    }

    /// The track of a thread.
    pub fn track_of(&self, thread: ThreadId) -> Option<TrackId> {
        self.tracks.get(thread as usize).copied().flatten()
    }

    /// The track of a thread if its asynchronous spans belong on it, as for lines of devices.
    pub fn line_of(&self, thread: ThreadId) -> Option<TrackId> {
        let kind = self.kinds.get(thread as usize).copied()?;
        if matches!(kind, TrackKind::AsyncOps) {
            self.track_of(thread)
        } else {
            None
        }
    }

    /// Tracks of simulated devices, with their kinds.
    pub fn device_lines(&self) -> Vec<(TrackId, TrackKind)> {
        let lines = self.tracks.iter().zip(&self.kinds).zip(&self.pids);
        let of_device = |pid| {
            matches!(
                self.groups.get(pid),
                Some((_, PlaneKind::TensorCore { .. }))
            )
        };
        let all = lines
            .filter(|&(_, pid)| of_device(pid))
            .filter_map(|((&track, &kind), _)| Some((track?, kind)));
        // Threads of ops share a track.
        let mut seen = BTreeSet::new();
        all.filter(|&(track, _)| seen.insert(track)).collect()
    }

    /// Every track of a thread.
    pub fn tracks(&self) -> impl Iterator<Item = TrackId> {
        self.tracks.iter().copied().flatten()
    }

    fn add_track(
        &self,
        builder: &mut TraceBuilder,
        thread: &TraceThread,
        is_xprof: bool,
        role: Option<RoleKind>,
    ) -> (Option<TrackId>, TrackKind) {
        let Some(&(group, plane)) = self.groups.get(&thread.pid) else {
            return (None, TrackKind::Other);
        };
        let empty = thread.batch.is_empty() && thread.stack.is_empty();
        let unnamed = thread.name.is_none() && thread.sort.is_none();
        if empty && if is_xprof { !thread.is_async } else { unnamed } {
            return (None, TrackKind::Other);
        }
        let name = thread_name(thread);
        let kind = match plane {
            _ if is_xprof => track_kind(plane, thread.tid, &name),
            PlaneKind::TensorCore { .. } => role.map_or(TrackKind::Other, RoleKind::kind),
            _ => foreign_kind(&name),
        };
        let on_device = is_xprof && plane != PlaneKind::Host;
        let track = if on_device || kind == TrackKind::Ops {
            track_of_line(builder, group, kind, thread.tid, &name)
        } else {
            builder.track(group, kind, thread.tid, &name)
        };
        let first = builder.str(builder.track_ref(track).name);
        if !is_xprof && kind == TrackKind::Ops && first != name {
            // Threads of ops that share a track have names of their own, such as those of units. A file may have any number.
            if first.len() + name.len() <= LONGEST_NAME {
                let names = format!("{first}, {name}");
                builder.track_mut(track).name = builder.intern(&names);
            }
            return (Some(track), kind);
        }
        let sort = if on_device {
            track_sort(kind)
        } else {
            thread.sort.unwrap_or(0)
        };
        builder.track_mut(track).sort = sort;
        (Some(track), kind)
    }
}

fn thread_name(thread: &TraceThread) -> String {
    match (&thread.name, &thread.id_text) {
        (Some(name), _) => name.clone(),
        (None, Some(id)) => id.clone(),
        (None, None) if thread.tid == thread.pid => "main thread".to_owned(),
        (None, None) => format!("thread {}", thread.tid),
    }
}

/// The role of each thread, by the names of threads and processes.
fn thread_roles(threads: &ThreadTable, roles: &TrackRoles) -> Vec<Option<RoleKind>> {
    let role = |thread: &TraceThread| {
        let process = threads
            .processes
            .get(&thread.pid)
            .and_then(|process| process.name.clone());
        let process = process.unwrap_or_else(|| format!("process {}", thread.pid));
        // The role does not depend on the thread's number: main threads have no special meaning here.
        let name = thread.name.clone().or_else(|| thread.id_text.clone());
        roles.role(
            &process,
            &name.unwrap_or_else(|| format!("thread {}", thread.tid)),
        )
    };
    threads.rows.iter().map(role).collect()
}

fn foreign_kind(name: &str) -> TrackKind {
    if name.starts_with("stream ") || name.starts_with("Stream ") {
        TrackKind::Stream
    } else {
        TrackKind::HostThread
    }
}

/// For files without process names: processes with the lines of a device that runs HLO programs. The kind of device is
/// not recorded; GPUs also have streams.
pub(super) fn cores_by_lines(threads: &[TraceThread]) -> BTreeSet<i64> {
    let pids_with = |is_line: &dyn Fn(&str) -> bool| {
        let named = threads
            .iter()
            .filter(|thread| thread.name.as_deref().is_some_and(is_line));
        named.map(|thread| thread.pid).collect::<BTreeSet<_>>()
    };
    let with_ops = pids_with(&|line| line == "XLA Ops");
    let with_modules = pids_with(&|line| line == "XLA Modules");
    let with_streams = pids_with(&|line| line.starts_with("Stream"));
    with_ops
        .intersection(&with_modules)
        .filter(|pid| !with_streams.contains(pid))
        .copied()
        .collect()
}

fn add_processes(
    builder: &mut TraceBuilder,
    used: &BTreeSet<i64>,
    processes: &BTreeMap<i64, TraceProcess>,
    devices: &BTreeSet<i64>,
) -> BTreeMap<i64, (GroupId, PlaneKind)> {
    let ordinals = ordinals(devices, processes);
    let mut groups = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for &pid in used {
        let process = processes.get(&pid);
        let name = process
            .and_then(|process| process.name.clone())
            .unwrap_or_else(|| format!("process {pid}"));
        // Several processes of the same program can have the same name.
        let name = if taken.insert(name.clone()) {
            name
        } else {
            format!("{name} ({pid})")
        };
        let device = ordinals
            .get(&pid)
            .map(|&ordinal| PlaneKind::TensorCore { ordinal });
        let kind = device
            .and_then(PlaneKind::group_kind)
            .unwrap_or(GroupKind::Process { pid });
        let group = builder.group(None, kind, &name);
        if let Some(process) = process {
            builder.group_mut(group).sort = process.sort.unwrap_or(0);
            if let Some(labels) = &process.labels {
                builder.set_group_fact(group, "process_labels", ArgValue::Text(labels.clone()));
            }
        }
        builder.set_group_fact(group, "pid", ArgValue::Int(pid));
        groups.insert(pid, (group, device.unwrap_or(PlaneKind::Other)));
    }
    groups
}

/// Ordinals of devices: the numbers in their names if they are unique, else their positions.
fn ordinals(
    devices: &BTreeSet<i64>,
    processes: &BTreeMap<i64, TraceProcess>,
) -> BTreeMap<i64, u32> {
    let named = |pid: &i64| -> Option<u32> {
        let name = processes.get(pid)?.name.as_deref()?;
        let digits = name.trim_end_matches(|c: char| !c.is_ascii_digit());
        digits[digits.trim_end_matches(|c: char| c.is_ascii_digit()).len()..]
            .parse()
            .ok()
    };
    let names: BTreeMap<i64, u32> = devices
        .iter()
        .filter_map(|pid| Some((*pid, named(pid)?)))
        .collect();
    let distinct = names.values().collect::<BTreeSet<_>>().len() == devices.len();
    if distinct {
        names
    } else {
        devices.iter().copied().zip(0..).collect()
    }
}

/// The host in a file name: `host0` of `host0.trace.json.gz`.
fn host_from(name: &str) -> &str {
    let json = name.strip_suffix(".gz").unwrap_or(name);
    json.strip_suffix(".trace.json")
        .filter(|host| !host.is_empty())
        .unwrap_or("host")
}

fn add_planes(
    builder: &mut TraceBuilder,
    used: &BTreeSet<i64>,
    processes: &BTreeMap<i64, TraceProcess>,
    cores: &BTreeSet<i64>,
) -> BTreeMap<i64, (GroupId, PlaneKind)> {
    let mut planes: Vec<(i64, Option<&str>, String, PlaneKind)> = Vec::new();
    let mut unnamed_cores = 0..;
    for &pid in used {
        let Some(name) = processes
            .get(&pid)
            .and_then(|process| process.name.as_deref())
        else {
            let ordinal = if cores.contains(&pid) {
                unnamed_cores.next()
            } else {
                None
            };
            planes.push(match ordinal {
                Some(ordinal) => (
                    pid,
                    None,
                    format!("device {ordinal}"),
                    PlaneKind::TensorCore { ordinal },
                ),
                None => (pid, None, format!("process {pid}"), PlaneKind::Other),
            });
            continue;
        };
        let (host, plane) = split_host(name);
        planes.push((pid, host, plane.to_owned(), plane_kind(plane)));
    }
    // Tensor cores first, because sparse cores are their children.
    planes.sort_by_key(|(pid, _, _, kind)| (matches!(kind, PlaneKind::SparseCore { .. }), *pid));
    let source = builder.source_mut();
    let fallback = source
        .host
        .clone()
        .unwrap_or_else(|| host_from(&source.name).to_owned());
    let mut groups: BTreeMap<i64, (GroupId, PlaneKind)> = BTreeMap::new();
    let mut cores: BTreeMap<(GroupId, u32), GroupId> = BTreeMap::new();
    for (pid, host, plane, kind) in planes {
        let host = builder.group(None, GroupKind::Host, host.unwrap_or(&fallback));
        let parent = match kind {
            PlaneKind::SparseCore { device, .. } => {
                cores.get(&(host, device)).copied().unwrap_or(host)
            }
            _ => host,
        };
        let group = builder.group(
            Some(parent),
            kind.group_kind().unwrap_or(GroupKind::Custom),
            &plane,
        );
        builder.group_mut(group).sort = kind.sort();
        if let PlaneKind::TensorCore { ordinal } = kind {
            cores.insert((host, ordinal), group);
        }
        groups.insert(pid, (group, kind));
    }
    groups
}
