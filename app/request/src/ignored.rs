//! Arguments that change nothing for what was opened, with the reason: silence would pass for an effect.

use std::fmt;

use analysis::Scope;
use analysis::hardware::ici::Network;
use analysis::hardware::peaks::Peaks;
use analysis::reports::{Collectives, Serving};
use session::Session;
use trace_model::{DeviceInfo, IssueKind, Severity};

use crate::assumptions::AssumedValues;
use crate::error::{RequestError, Result};

/// An argument that changes nothing, or not what one could think.
#[derive(Debug)]
pub struct IgnoredArgument {
    name: &'static str,
    /// What follows its name in a message.
    why: String,
}

impl IgnoredArgument {
    fn new(name: &'static str, why: impl Into<String>) -> Self {
        Self {
            name,
            why: why.into(),
        }
    }

    /// The message with the argument as the command line has it.
    pub fn on_command_line(&self) -> String {
        format!("--{}{}", self.name.replace('_', "-"), self.why)
    }
}

impl fmt::Display for IgnoredArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.why)
    }
}

/// What a program that asks is told beside an answer: arguments that change nothing, doubts about which files were read, and
/// that one is gone.
pub fn notes(session: &Session, values: &AssumedValues) -> Vec<String> {
    let ignored = ignored(session, values.clock.is_some());
    let mut notes: Vec<String> = ignored.iter().map(ToString::to_string).collect();
    let doubtful = which_files(session).filter(|(severity, _)| *severity > Severity::Info);
    notes.extend(doubtful.map(|(_, said)| said));
    notes.extend(lost_arguments(session));
    notes
}

/// The same of a side of a comparison, with its name before each.
pub fn notes_of_side(
    side: &str,
    session: &Session,
    values: &AssumedValues,
) -> impl Iterator<Item = String> {
    let notes = notes(session, values).into_iter();
    notes.map(move |note| format!("{side}: {note}"))
}

/// Which files were read, if that does not follow from the given path.
pub fn which_files(session: &Session) -> impl Iterator<Item = (Severity, String)> {
    const ABOUT: [IssueKind; 8] = [
        IssueKind::RunsJoined,
        IssueKind::RunNearby,
        IssueKind::BesideRuns,
        IssueKind::SessionsApart,
        IssueKind::SameContent,
        IssueKind::StillWritten,
        IssueKind::ProgramFromDump,
        IssueKind::ProgramNotInDump,
    ];
    let issues = session.model().import_log().counts().iter();
    let issues = issues.filter(|issue| ABOUT.contains(&issue.kind));
    issues.map(|issue| {
        let said = format!("{} {}", issue.kind.explain(), issue.examples.join("; "));
        (issue.kind.severity(), said)
    })
}

/// That arguments of slices cannot be read any more: what is made of them is missing then.
pub fn lost_arguments(session: &Session) -> Option<String> {
    let why = session.model().check_args().err()?;
    Some(format!("arguments of slices are missing: {why}"))
}

/// The assumptions that change nothing.
pub fn ignored(session: &Session, has_clock: bool) -> Vec<IgnoredArgument> {
    let options = session.options();
    let devices = devices(session);
    let mut said = Vec::new();
    said.extend(unused_chip(session, &devices));
    if has_clock && session.model().simulator().is_none() {
        let why = " changes nothing: nothing here is in cycles of a simulator";
        said.push(IgnoredArgument::new("clock", why));
    }
    if options.topology.is_some() && !uses_links(session) {
        let why = " changes nothing: no collective here has an expected time";
        said.push(IgnoredArgument::new("topology", why));
    }
    if !options.serving.is_empty() {
        said.extend(unmatched_serving(session));
    }
    said
}

/// Rejects a grid that the chips of the capture cannot form.
pub fn check_topology(session: &Session) -> Result<()> {
    let options = session.options();
    let (Some(topology), None) = (&options.topology, session.model().simulator()) else {
        return Ok(());
    };
    let devices = devices(session);
    let Some(network) = Network::of(devices.iter().copied(), options.chip(), None) else {
        return Ok(());
    };
    let refused = |why: String| Err(RequestError::argument("topology", why));
    let (chip, chips) = (&network.chip, topology.lens().iter().product::<u64>());
    let axes = topology.lens().iter().filter(|&&len| len > 1).count();
    let held = (devices.len() as u64).div_ceil(u64::from(chip.devices.max(1)));
    match chip.links {
        Some(links) if axes > links.torus_dims as usize => refused(format!(
            "slices of {} have {} axes, not {axes}",
            chip.id, links.torus_dims
        )),
        Some(links) if chips > u64::from(links.max_chips) => refused(format!(
            "slices of {} have at most {} chips, not {chips}",
            chip.id, links.max_chips
        )),
        _ if chips < held => refused(format!("{topology} has {chips} chips, the capture {held}")),
        _ => Ok(()),
    }
}

fn devices(session: &Session) -> Vec<&DeviceInfo> {
    let model = session.model();
    model
        .tensor_cores()
        .into_iter()
        .filter_map(|core| model.group(core).device.as_ref())
        .collect()
}

/// What of the chip that the user names is not used, unless it is the recorded one.
fn unused_chip(session: &Session, devices: &[&DeviceInfo]) -> Option<IgnoredArgument> {
    let chip = session.options().chip()?;
    let is_recorded = |&device: &&DeviceInfo| {
        let [with, without] = [Some(chip), None].map(|chip| Peaks::choose(Some(device), chip));
        with.chip.as_ref() != Some(&chip.id)
            && (with.flops, with.hbm) == (without.flops, without.hbm)
    };
    let all = session.model().tensor_cores().len();
    let is_all = !devices.is_empty() && devices.len() == all && devices.iter().all(is_recorded);
    is_all.then(|| {
        let why = format!(
            ": the capture records the peaks of its devices, which stay; of {} are what it does not record, such as links",
            chip.id
        );
        IgnoredArgument::new("device_spec", why)
    })
}

/// Whether a collective is compared with what links carry.
fn uses_links(session: &Session) -> bool {
    session.model().has_programs_only()
        || session
            .report::<Collectives>(Scope::WholeTrace)
            .is_ok_and(|report| report.kinds.iter().any(|kind| kind.share.is_some()))
}

fn unmatched_serving(session: &Session) -> Option<IgnoredArgument> {
    let said = |why: String| Some(IgnoredArgument::new("serving", why));
    match session.report::<Serving>(Scope::WholeTrace) {
        Err(why) => said(format!(" changes nothing: {why}")),
        Ok(report) if report.unmatched_patterns.is_empty() => None,
        Ok(report) => said(format!(
            ": no event of a host matches {}",
            report.unmatched_patterns.join(" ")
        )),
    }
}
