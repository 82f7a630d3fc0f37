//! `systole kernels`: custom kernels, how long they take on the chip, and what they do inside.

use super::prelude::*;
use analysis::compare::TestOptions;
use analysis::kernels::compare_kernels;
use analysis::reports::ops::kernels::KernelTiming;
use analysis::reports::{Kernels, Ops};
use analysis::{AnalysisError, Report};

use render::DocumentView;
use session::losses_in_words;

/// Ids of the analyses: those of the tab *Kernels*.
const KERNELS: [&str; 3] = ["kernels", "hardware_counters", "sparse_cores"];

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct KernelsArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// Another run: how long its kernels take against those of the first
    pub cand: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub force: ForceArgs,
    #[command(flatten)]
    pub scope: PartRequest,
}

pub fn run(args: &KernelsArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let files = args.input.files().into_iter().chain(args.cand.clone());
    let guard = output::check(&args.output, files, args.force.force)?;
    let loading = Loading::new(&args.input.assume, stderr)?;
    let open = |path: &Path, run: Option<String>| {
        let is_identified = args.output.identifies_input();
        loading.open_for_reports(path, run, args.output.format, is_identified)
    };
    let session = open(&args.input.path, args.input.run.clone())?;
    checks::check_part(&session, &args.scope)?;
    let scope = args.scope.scope();
    let cand = args.cand.as_deref();
    let cand = cand.map(|cand| open(cand, None)).transpose()?;
    let document = match &cand {
        Some(cand) => changes(&session, cand, scope),
        None => Document::new(&session, scope, &KERNELS, DocumentView::Screen),
    };
    output::write(&document, &args.output, &guard, stderr)?;
    // Without ops nobody knows which kernels ran.
    let mut sessions = [Some(&session), cand.as_ref()].into_iter().flatten();
    let unknown = sessions.find_map(|session| session.report::<Ops>(scope).err());
    Ok(match unknown {
        Some(why) => CommandOutcome::Inconclusive(why.to_string()),
        None => args.output.outcome(document.doubt()),
    })
}

/// The times of the kernels of a run, which may have none; an error if it has no ops.
fn timings(session: &Session, scope: Scope) -> Result<Vec<KernelTiming>, AnalysisError> {
    let ops = session
        .report::<Ops>(scope)
        .map_err(|error| AnalysisError::NotApplicable(format!("{error}: {}", name_of(session))))?;
    if ops.rows.iter().any(|row| row.is_custom_call) {
        Ok(session.report::<Kernels>(scope)?.timings.clone())
    } else {
        Ok(Vec::new())
    }
}

/// The path of a run, as a reader names it.
fn name_of(session: &Session) -> String {
    session
        .path()
        .map_or_else(|| "-".to_owned(), |path| path.display().to_string())
}

/// The kernels of two runs.
fn changes(base: &Session, cand: &Session, scope: Scope) -> Document {
    let compared = || -> Result<Arc<dyn Report>, AnalysisError> {
        let (first, second) = (timings(base, scope)?, timings(cand, scope)?);
        if first.is_empty() && second.is_empty() {
            return Err("no kernel ran in either run".into());
        }
        let mut compared = compare_kernels(
            (&name_of(base), &first),
            (&name_of(cand), &second),
            &TestOptions::default(),
        );
        for (session, name) in [(base, "base"), (cand, "cand")] {
            let badge = session.model().badge_in_words();
            let badge = badge.map(|badge| format!("{name}: {badge}"));
            let lost = losses_in_words(session.model());
            let lost = lost.map(|lost| format!("{name} is damaged: {lost}"));
            compared.notes.extend(badge.into_iter().chain(lost));
        }
        Ok(Arc::new(compared))
    };
    Document::of(base, scope, ("kernels", "Kernels"), compared())
}
