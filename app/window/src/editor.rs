//! Opens a line of a file in the user's editor.

use std::env;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::platform;
use crate::prelude::*;

/// Editors that run in a terminal.
const IN_TERMINAL: [&str; 8] = ["vi", "vim", "nvim", "nano", "emacs", "hx", "helix", "micro"];

/// The program and its arguments that open `line` of `path`; the text is what `$VISUAL` or `$EDITOR` contain.
fn command(editor: &str, path: &Path, line: u32) -> Option<(String, Vec<String>)> {
    let mut words = editor.split_whitespace().map(str::to_owned);
    let program = words.next()?;
    let mut args: Vec<String> = words.collect();
    let (name, path) = (
        program.rsplit('/').next().unwrap_or(&program),
        path.display().to_string(),
    );
    match name {
        "code" | "codium" | "cursor" | "windsurf" => {
            args.extend(["-g".to_owned(), format!("{path}:{line}")]);
        }
        "subl" | "zed" | "hx" | "helix" | "micro" => args.push(format!("{path}:{line}")),
        "idea" | "pycharm" | "kate" => args.extend(["--line".to_owned(), line.to_string(), path]),
        _ => args.extend([format!("+{line}"), path]),
    }
    Some((program, args))
}

/// Opens a file at a line with `$VISUAL`, else `$EDITOR`, else Visual Studio Code. Does not wait for the editor. The
/// error is a sentence.
pub fn open(path: &Path, line: u32) -> Result<(), String> {
    if platform::IN_BROWSER {
        return Err(format!(
            "A browser starts no editor: see {}:{line}",
            path.display()
        ));
    }
    let chosen = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = chosen("VISUAL")
        .or_else(|| chosen("EDITOR"))
        .unwrap_or_else(|| "code".to_owned());
    let (program, args) = command(&editor, path, line.max(1)).ok_or("VISUAL names no editor")?;
    let name = Path::new(&program)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or(&program);
    if IN_TERMINAL.contains(&name) && !args.iter().any(|arg| arg == "-c") {
        let terminal = chosen("TERMINAL").unwrap_or_else(|| "x-terminal-emulator".to_owned());
        let args: Vec<String> = ["-e".to_owned(), program.clone()]
            .into_iter()
            .chain(args)
            .collect();
        return started(&terminal, &args).map_err(|error| {
            format!(
                "{program} needs a terminal: set TERMINAL, or VISUAL to another editor: {error}"
            )
        });
    }
    started(&program, &args)
        .map_err(|error| format!("{program} cannot be started: set VISUAL or EDITOR: {error}"))
}

fn started(program: &str, args: &[String]) -> std::io::Result<()> {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    // The editor may outlive the window; until then it must not stay as a finished process.
    let waiting = std::thread::Builder::new()
        .name("editor".to_owned())
        .spawn(move || drop(child.wait()));
    waiting.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editors_get_the_line_in_their_own_way() {
        let words = |editor: &str| {
            let (program, args) = command(editor, Path::new("/src/a.py"), 7).unwrap();
            format!("{program} {}", args.join(" "))
        };
        assert_eq!(words("code --wait"), "code --wait -g /src/a.py:7");
        assert_eq!(words("/usr/bin/subl"), "/usr/bin/subl /src/a.py:7");
        assert_eq!(words("vim"), "vim +7 /src/a.py");
        assert_eq!(words("kate"), "kate --line 7 /src/a.py");
        assert_eq!(command(" ", Path::new("/src/a.py"), 7), None);
    }

    #[test]
    fn an_editor_that_does_not_exist_is_an_error() {
        assert!(started("/no/such/editor", &[]).is_err());
    }
}
