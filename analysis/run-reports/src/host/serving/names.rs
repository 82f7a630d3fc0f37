//! Which annotations of a program are about serving requests, judging by their names.

use engine::{ServingPattern, glob};
use facts::host_class::{classify, stripped};
use facts::prelude::*;

use super::servers::ServerBatch;

/// What a request, or a batch of requests, does.
#[engine::titled]
pub enum ServingPhase {
    /// It waits to be scheduled.
    Queue,
    /// Its prompt is read.
    Prefill,
    /// Its tokens are generated.
    Decode,
    /// From its arrival to its answer.
    Request,
    /// Requests that run together.
    Batch,
}

impl ServingPhase {
    /// The phase of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.title() == name)
    }

    fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "queue" | "queued" | "queueing" | "queuing" => Self::Queue,
            "prefill" | "prefills" => Self::Prefill,
            "decode" | "decodes" | "generate" | "generation" => Self::Decode,
            "request" | "requests" => Self::Request,
            "batch" | "batches" => Self::Batch,
            _ => return None,
        })
    }
}

/// How sure a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedPhase {
    /// The user says so.
    ByUser(ServingPhase),
    /// A batch of a server that is known by the name.
    ByServer,
    /// The name says nothing else.
    Certain(ServingPhase),
    /// A word of the name says so, if any does; it counts only with the id of a request.
    WithId(Option<ServingPhase>),
}

/// Words that say nothing about the phase.
const FILLERS: [&str; 18] = [
    "step", "steps", "chunk", "chunked", "token", "tokens", "phase", "process", "handle", "serve",
    "in", "wait", "waiting", "model", "engine", "loop", "run", "execute",
];

/// The phase that an annotation of this name may be of; `None` for names that cannot be about serving. Frames of the
/// Python tracer and events of the runtime are none: the former have the names of functions, not of phases.
pub(super) fn phase_of_name(name: &str, patterns: &[ServingPattern]) -> Option<NamedPhase> {
    let name = stripped(name);
    let by_user = patterns.iter().find(|pattern| glob(&pattern.pattern, name));
    if let Some(phase) = by_user.and_then(|pattern| ServingPhase::named(&pattern.phase)) {
        return Some(NamedPhase::ByUser(phase));
    }
    if name.starts_with('$') || classify(name) != HostClass::User {
        return None;
    }
    if ServerBatch::of_name(name).is_some() {
        return Some(NamedPhase::ByServer);
    }
    if is_list(name) {
        return Some(NamedPhase::WithId(Some(ServingPhase::Batch)));
    }
    let words = words(name);
    let phases: Vec<ServingPhase> = words
        .iter()
        .filter_map(|word| ServingPhase::of_word(word))
        .collect();
    // Of "prefill batch" and "request queue" the narrower word counts; it is the first in the order of phases.
    let phase = phases.iter().min().copied()?;
    let says_nothing_else = words
        .iter()
        .all(|word| ServingPhase::of_word(word).is_some() || FILLERS.contains(&word.as_str()));
    Some(if says_nothing_else {
        NamedPhase::Certain(phase)
    } else {
        NamedPhase::WithId(Some(phase))
    })
}

/// The phase that the name of a program says: `jit_prefill(17)`, `jit__generate_jit`.
pub(super) fn phase_of_program(name: &str) -> Option<ServingPhase> {
    let phases = words(name)
        .into_iter()
        .filter_map(|word| ServingPhase::of_word(&word));
    phases
        .filter(|phase| matches!(phase, ServingPhase::Prefill | ServingPhase::Decode))
        .min()
}

/// The words of a name in lower case, numbers left out: `decodeStep_12` is `decode step`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphabetic() || (was_lower && letter.is_ascii_uppercase()) {
            words.push(String::new());
        }
        if letter.is_ascii_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_lowercase());
        }
        was_lower = letter.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// `[0, 12]`: simulators call a batch by its requests.
fn is_list(name: &str) -> bool {
    let inner = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| {
        inner
            .split(',')
            .all(|part| part.trim().parse::<u64>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use NamedPhase::{ByUser, Certain, WithId};

    #[test]
    fn phases_are_told_by_whole_words() {
        let cases = [
            ("prefill", Some(Certain(ServingPhase::Prefill))),
            ("Prefill step 3", Some(Certain(ServingPhase::Prefill))),
            (
                "chunked_prefill#request_id=7#",
                Some(Certain(ServingPhase::Prefill)),
            ),
            ("decodeStep_12", Some(Certain(ServingPhase::Decode))),
            ("generate", Some(Certain(ServingPhase::Decode))),
            ("prefill batch", Some(Certain(ServingPhase::Prefill))),
            ("request queue", Some(Certain(ServingPhase::Queue))),
            ("ProcessBatch", Some(Certain(ServingPhase::Batch))),
            (
                "execute_model: 3 reqs, 514 toks",
                Some(NamedPhase::ByServer),
            ),
            ("forward_batch_generation 12", Some(NamedPhase::ByServer)),
            ("execute_model", None),
            (
                "pd_process_prefill",
                Some(WithId(Some(ServingPhase::Prefill))),
            ),
            ("[0, 12]", Some(WithId(Some(ServingPhase::Batch)))),
            ("decode image", Some(WithId(Some(ServingPhase::Decode)))),
            ("DecodeJpeg", Some(WithId(Some(ServingPhase::Decode)))),
            ("decoder", None),
            ("train", None),
            ("$serial_utils.py:297 decode", None),
            ("PjitFunction(prefill)", None),
            ("EnqueueRequestLocked", None),
        ];
        for (name, expected) in cases {
            assert_eq!(phase_of_name(name, &[]), expected, "{name}");
        }
    }

    #[test]
    fn patterns_of_the_user_come_first() {
        let patterns = [ServingPattern {
            phase: "decode".to_owned(),
            pattern: "token loop*".to_owned(),
        }];
        assert_eq!(
            phase_of_name("token loop 3", &patterns),
            Some(ByUser(ServingPhase::Decode))
        );
        assert_eq!(phase_of_name("my token loop", &patterns), None);
    }

    #[test]
    fn programs_are_named_by_their_functions() {
        assert_eq!(
            phase_of_program("jit_prefill(17)"),
            Some(ServingPhase::Prefill)
        );
        assert_eq!(
            phase_of_program("jit__generate_jit(3)"),
            Some(ServingPhase::Decode)
        );
        assert_eq!(
            (
                phase_of_program("jit_step_fun(5)"),
                phase_of_program("jit_request(5)")
            ),
            (None, None)
        );
    }
}
