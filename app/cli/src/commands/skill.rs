//! `systole skill`: instructions for coding agents, where they look for them.

use std::fs;

use super::prelude::*;
use sha2::{Digest as _, Sha256};

use session::fingerprint::hex;

/// The instructions.
const SKILL: &str = include_str!("../../../../assets/skill/SKILL.md");
/// Around the instructions in a file that has other text, too.
const BEGIN: &str = "<!-- systole:begin ";
const END: &str = "<!-- systole:end -->";
/// At the end of a file of its own.
const MARK: &str = "<!-- systole:skill ";

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct SkillArgs {
    /// What to do
    #[arg(value_enum)]
    pub action: SkillAction,
    /// For which agents; claude and agents by default
    #[arg(long, value_enum, value_name = "AGENT,…", value_delimiter = ',')]
    pub agent: Vec<AgentArg>,
    /// The project; a home directory installs for all projects
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
    /// Print the instructions instead of writing them
    #[arg(long, conflicts_with_all = ["agent", "force"])]
    pub print: bool,
    /// Write over instructions that were changed; the changed ones are kept beside as .bak
    #[arg(long)]
    pub force: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SkillAction {
    /// Write the instructions where agents look for them; never over changes of yours.
    Install,
}

/// Agents, by where they look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AgentArg {
    /// Claude Code: .claude/skills.
    Claude,
    /// Codex, Copilot, Gemini CLI, Cursor and others: .agents/skills.
    Agents,
    /// Cursor alone: .cursor/skills.
    Cursor,
    /// Gemini CLI alone: .gemini/skills.
    Gemini,
    /// GitHub Copilot alone: .github/skills.
    Copilot,
    /// Agents without skills: a section in AGENTS.md.
    AgentsMd,
}

impl AgentArg {
    fn file(self) -> &'static str {
        match self {
            Self::Claude => ".claude/skills/systole/SKILL.md",
            Self::Agents => ".agents/skills/systole/SKILL.md",
            Self::Cursor => ".cursor/skills/systole/SKILL.md",
            Self::Gemini => ".gemini/skills/systole/SKILL.md",
            Self::Copilot => ".github/skills/systole/SKILL.md",
            Self::AgentsMd => "AGENTS.md",
        }
    }
}

pub fn run(args: &SkillArgs) -> Result<CommandOutcome> {
    let SkillAction::Install = args.action;
    if args.print {
        output::print(SKILL)?;
        return Ok(CommandOutcome::Done);
    }
    if !args.dir.is_dir() {
        return Err(RequestError::Usage(format!(
            "--dir: no directory: {}",
            args.dir.display()
        )));
    }
    let agents = if args.agent.is_empty() {
        &[AgentArg::Claude, AgentArg::Agents][..]
    } else {
        args.agent.as_slice()
    };
    let plans: Vec<InstallPlan> = agents
        .iter()
        .map(|agent| InstallPlan::of(*agent, &args.dir))
        .collect::<Result<_, _>>()?;
    // Nothing is written if something must not be.
    if let Some(edited) = plans.iter().find(|plan| plan.is_edited && !args.force) {
        let why = "these instructions were changed after they were installed; --force writes over them and keeps them \
                   beside as .bak";
        return Err(RequestError::Usage(format!(
            "{why}: {}",
            edited.path.display()
        )));
    }
    let mut said = String::new();
    for plan in &plans {
        plan.carry_out()?;
        let _ = writeln!(said, "{} {}", plan.what(), plan.path.display());
    }
    output::print_text(&said)?;
    Ok(CommandOutcome::Done)
}

/// A file, and what becomes of it.
struct InstallPlan {
    path: PathBuf,
    before: Option<String>,
    after: String,
    is_edited: bool,
}

impl InstallPlan {
    fn of(agent: AgentArg, dir: &Path) -> Result<Self> {
        let path = dir.join(agent.file());
        let before = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(RequestError::Write { error, path }),
        };
        let (after, is_edited) = if agent == AgentArg::AgentsMd {
            section_in(before.as_deref().unwrap_or_default())
                .map_err(|why| RequestError::Usage(format!("{why}: {}", path.display())))?
        } else {
            (
                marked(SKILL),
                before.as_deref().is_some_and(|text| !is_untouched(text)),
            )
        };
        Ok(Self {
            path,
            before,
            after,
            is_edited,
        })
    }

    fn what(&self) -> &'static str {
        match &self.before {
            None => "wrote",
            Some(before) if *before == self.after => "is up to date:",
            Some(_) => "updated",
        }
    }

    fn carry_out(&self) -> Result<()> {
        if self.before.as_ref() == Some(&self.after) {
            return Ok(());
        }
        if let Some(parent) = self.path.parent() {
            fs::create_dir_all(parent).map_err(RequestError::write(parent))?;
        }
        if let Some(before) = self.before.as_ref().filter(|_| self.is_edited) {
            let kept = self.path.with_extension("md.bak");
            session::files::write_file(&kept, before).map_err(RequestError::write(&kept))?;
        }
        session::files::write_file(&self.path, &self.after).map_err(RequestError::write(&self.path))
    }
}

fn fingerprint(text: &str) -> String {
    hex(&Sha256::digest(text)).chars().take(16).collect()
}

/// A file of its own, with a mark that tells whether it was changed.
fn marked(text: &str) -> String {
    format!("{text}\n{MARK}{} -->\n", fingerprint(text))
}

/// Whether a file is as some version of this program wrote it.
fn is_untouched(file: &str) -> bool {
    let Some((text, mark)) = file.rsplit_once(&format!("\n{MARK}")) else {
        return false;
    };
    mark.trim_end().strip_suffix(" -->") == Some(&fingerprint(text))
}

/// The text without what only files of their own have at the start.
fn body() -> &'static str {
    SKILL
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(SKILL, |(_, body)| body)
        .trim_start()
}

/// A file with a new section in place of the old one, and whether the old one was changed.
fn section_in(file: &str) -> Result<(String, bool), String> {
    let text = body();
    let section = format!("{BEGIN}{} -->\n{text}{END}", fingerprint(text));
    let Some((above, rest)) = file.split_once(BEGIN) else {
        let above = if file.is_empty() {
            String::new()
        } else {
            format!("{}\n\n", file.trim_end())
        };
        return Ok((format!("{above}{section}\n"), false));
    };
    let Some((old, below)) = rest.split_once(END) else {
        return Err(format!(
            "the section of Systole has no end: add a line {END} below it"
        ));
    };
    let is_untouched = old
        .split_once(" -->\n")
        .is_some_and(|(mark, text)| mark == fingerprint(text));
    Ok((format!("{above}{section}{below}"), !is_untouched))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_the_user_are_noticed() {
        let file = marked(SKILL);
        assert!(is_untouched(&file) && is_untouched(&marked("an older version")));
        assert!(
            !is_untouched(&file.replace("Systole", "systole")) && !is_untouched("something else")
        );
        let (first, _) = section_in("# Project\n").unwrap();
        assert!(first.starts_with("# Project\n\n<!-- systole:begin "));
        assert_eq!(section_in(&first).unwrap(), (first.clone(), false));
        let below = format!("{first}\nMore rules.\n");
        assert_eq!(section_in(&below).unwrap(), (below.clone(), false));
        assert!(
            section_in(&below.replace("the verdict", "my verdict"))
                .unwrap()
                .1
        );
        assert!(section_in(&first.replace(END, "")).is_err());
        assert!(!body().contains("description:") && body().starts_with("# Find"));
    }
}
