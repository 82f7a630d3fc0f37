//! Annotations of servers that say more in their names than a phase.
//!
//! ```text
//! execute_model: 3 reqs, 514 toks    request_id1=…, request_id2=…    vLLM on TPUs (tpu_inference/runner/tpu_runner.py)
//! forward_batch_generation 12                                        SGLang-JAX (srt/managers/tp_worker_overlap_thread.py)
//! forward_batch_generation_overlap 12                                SGLang-JAX (srt/managers/scheduler.py)
//! ```

use trace_model::Arg;

/// What the name of a batch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerBatch<'a> {
    /// Who writes it.
    pub server: &'static str,
    pub requests: Option<usize>,
    /// Tokens of all requests.
    pub tokens: Option<u64>,
    /// Its number.
    pub batch: Option<&'a str>,
}

impl<'a> ServerBatch<'a> {
    /// The batch that an annotation of this name is.
    pub fn of_name(name: &'a str) -> Option<Self> {
        if let Some(counts) = name.strip_prefix("execute_model: ") {
            let (requests, tokens) = counts.strip_suffix(" toks")?.split_once(" reqs, ")?;
            return Some(Self {
                server: "name of vLLM",
                requests: Some(requests.parse().ok()?),
                tokens: Some(tokens.parse().ok()?),
                batch: None,
            });
        }
        let (name, number) = name.split_once(' ')?;
        let is_batch = matches!(
            name,
            "forward_batch_generation" | "forward_batch_generation_overlap"
        );
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty();
        (is_batch && is_number).then_some(Self {
            server: "name of SGLang",
            requests: None,
            tokens: None,
            batch: Some(number),
        })
    }
}

/// The requests of a batch that has an argument for each: `request_id1`, `request_id2`, … `request_id10`.
pub(super) fn numbered_ids(args: &[Arg]) -> Vec<String> {
    let number = |arg: &Arg| arg.name.strip_prefix("request_id")?.parse::<usize>().ok();
    let mut ids: Vec<(usize, String)> = args
        .iter()
        .filter_map(|arg| Some((number(arg)?, arg.value.to_string())))
        .collect();
    ids.sort();
    ids.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use trace_model::ArgValue;

    use super::*;

    #[test]
    fn names_say_what_a_batch_holds() {
        let counts = |name| {
            ServerBatch::of_name(name).map(|batch| (batch.requests, batch.tokens, batch.batch))
        };
        assert_eq!(
            counts("execute_model: 3 reqs, 514 toks"),
            Some((Some(3), Some(514), None))
        );
        assert_eq!(
            counts("forward_batch_generation 12"),
            Some((None, None, Some("12")))
        );
        assert_eq!(
            counts("forward_batch_generation_overlap 7"),
            Some((None, None, Some("7")))
        );
        for other in [
            "execute_model",
            "execute_model: 3 reqs",
            "execute_model: x reqs, 1 toks",
            "forward_batch_generation",
            "forward_batch_generation ",
            "forward_batch_generation a",
            "forward_batch 7",
        ] {
            assert_eq!(ServerBatch::of_name(other), None, "{other}");
        }
    }

    #[test]
    fn ids_are_in_the_order_of_their_numbers() {
        let arg = |name: &str, value: &str| Arg {
            name: name.to_owned(),
            value: ArgValue::Text(value.to_owned()),
        };
        let args = [
            arg("request_id10", "k"),
            arg("request_id2", "b"),
            arg("request_ids", "no"),
            arg("request_id1", "a"),
        ];
        assert_eq!(numbered_ids(&args), ["a", "b", "k"]);
    }
}
