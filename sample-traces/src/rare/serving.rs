//! A server of a language model on one v5e, with annotations of requests, as text would be: `prefill` and `decode` on the
//! thread of the engine, `request` and `queue` on threads of their own.

use crate::session::{LineKey, OPS, SamplePlane, SampleSession, int, text, uint};
use crate::synthetic::SyntheticChip;

const US: i64 = 1_000_000;
/// When the first request comes.
const START_PS: i64 = 1_000 * US;
/// Between two steps of the engine.
const BETWEEN_PS: i64 = 20 * US;
/// From the start of a step of the engine to that of its program, and from its end back.
const LAUNCH_PS: i64 = 30 * US;
const HOST: i64 = 700;
const ENGINE: LineKey<'_> = (10, "engine");
/// Threads of requests have the ids from here on.
const HANDLERS: i64 = 100;
const PREFILL: u64 = 81;
const DECODE: u64 = 82;

/// Requests that come at equal intervals and are served by one engine: it prefills a request as soon as one waits and a
/// slot is free, and otherwise generates one token for each request that has a slot.
#[derive(Clone, Copy, Debug)]
pub struct ServingSample {
    pub requests: usize,
    /// Time from one to the next.
    pub every_ps: i64,
    /// Requests that generate at the same time.
    pub slots: usize,
    /// Tokens of a prompt.
    pub prompt: i64,
    /// Tokens of an answer, the first included.
    pub answer: i64,
    /// The request whose prompt is longer, and its length.
    pub slow: Option<(usize, i64)>,
}

impl Default for ServingSample {
    fn default() -> Self {
        Self {
            requests: 24,
            every_ps: 3_500 * US,
            slots: 4,
            prompt: 500,
            answer: 7,
            slow: Some((9, 8_000)),
        }
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServedTimes {
    pub arrival_ps: i64,
    /// When its prefill begins.
    pub prefill_ps: i64,
    /// When its prefill ends.
    pub first_token_ps: i64,
    /// When its last token is there.
    pub end_ps: i64,
}

#[derive(Clone, Debug)]
struct SampleEngineStep {
    begin: i64,
    end: i64,
    /// The requests; a single one is prefilled if `is_prefill`.
    requests: Vec<usize>,
    is_prefill: bool,
}

impl ServingSample {
    fn prompt_of(&self, request: usize) -> i64 {
        self.slow
            .filter(|(slow, _)| *slow == request)
            .map_or(self.prompt, |(_, prompt)| prompt)
    }

    /// Time of the prefill of a request: 2 µs a token.
    pub fn prefill_ps(&self, request: usize) -> i64 {
        200 * US + 2 * US * self.prompt_of(request)
    }

    /// Time of one token for this many requests.
    pub fn decode_ps(&self, requests: usize) -> i64 {
        800 * US + 50 * US * requests as i64
    }

    fn steps(&self) -> (Vec<SampleEngineStep>, Vec<ServedTimes>) {
        let arrival = |request: usize| START_PS + request as i64 * self.every_ps;
        let mut times: Vec<ServedTimes> = (0..self.requests)
            .map(|request| ServedTimes {
                arrival_ps: arrival(request),
                ..ServedTimes::default()
            })
            .collect();
        let (mut steps, mut active, mut next, mut now) =
            (Vec::new(), Vec::<(usize, i64)>::new(), 0, START_PS);
        while next < self.requests || !active.is_empty() {
            let begin = now;
            if next < self.requests && arrival(next) <= now && active.len() < self.slots {
                now += self.prefill_ps(next);
                (times[next].prefill_ps, times[next].first_token_ps) = (begin, now);
                steps.push(SampleEngineStep {
                    begin,
                    end: now,
                    requests: vec![next],
                    is_prefill: true,
                });
                active.push((next, self.answer - 1));
                next += 1;
            } else if active.is_empty() {
                now = arrival(next);
                continue;
            } else {
                now += self.decode_ps(active.len());
                let requests = active.iter().map(|(request, _)| *request).collect();
                steps.push(SampleEngineStep {
                    begin,
                    end: now,
                    requests,
                    is_prefill: false,
                });
                for (request, left) in &mut active {
                    *left -= 1;
                    times[*request].end_ps = now;
                }
                active.retain(|(_, left)| *left > 0);
            }
            now += BETWEEN_PS;
        }
        (steps, times)
    }

    /// What happens to each request.
    pub fn served(&self) -> Vec<ServedTimes> {
        self.steps().1
    }

    pub fn session(&self) -> SampleSession {
        let (steps, times) = self.steps();
        let mut host = SamplePlane::host(HOST);
        host.stats = vec![text("synthetic", super::REMARK)];
        add_requests(&mut host, &times);
        let mut plane = super::device(0, &SyntheticChip::V5E);
        let mut dense = |program, name: &str, rows: u64| {
            let instruction = format!(
                "%{name} = bf16[{rows},4096]{{1,0}} fusion(bf16[{rows},4096]{{1,0}} %x, bf16[4096,4096]{{1,0}} %w), kind=kOutput, calls=%dense"
            );
            let flops = [uint("flops", 2 * rows * 4096 * 4096)];
            plane.op_of(program, &instruction, "convolution fusion", flops)
        };
        let prefill = dense(PREFILL, "fusion.1", 512);
        let decode = dense(DECODE, "fusion.2", 4);
        for (at, step) in steps.iter().enumerate() {
            let list = |of: &dyn Fn(usize) -> String| -> String {
                format!(
                    "[{}]",
                    trace_model::joined(step.requests.iter().map(|&request| of(request)), ", ")
                )
            };
            let tokens = |request| {
                if step.is_prefill {
                    self.prompt_of(request).to_string()
                } else {
                    "1".to_owned()
                }
            };
            let stats = [
                int("batch_id", at as i64),
                text("request_ids", list(&|request| request.to_string())),
                text("num_tokens", list(&tokens)),
            ];
            let name = if step.is_prefill { "prefill" } else { "decode" };
            host.event(ENGINE, name, step.begin, step.end - step.begin, stats);
            let (begin, length) = (
                step.begin + LAUNCH_PS,
                step.end - step.begin - 2 * LAUNCH_PS,
            );
            let (op, module) = if step.is_prefill {
                (prefill, "jit_prefill(81)")
            } else {
                (decode, "jit_decode(82)")
            };
            plane.run(module, at as i64 + 1, begin, length);
            plane.execution(OPS, op, begin, length, []);
        }
        host.sort();
        plane.sort();
        super::session("serving", vec![plane, host])
    }
}

/// Requests and their time in the queue, each on a thread that is free.
fn add_requests(host: &mut SamplePlane, times: &[ServedTimes]) {
    let mut free = Vec::<i64>::new();
    for (request, served) in times.iter().enumerate() {
        let thread = free
            .iter()
            .position(|&until| until < served.arrival_ps)
            .unwrap_or(free.len());
        free.resize(free.len().max(thread + 1), 0);
        free[thread] = served.end_ps;
        let name = format!("handler/{thread}");
        let line = (HANDLERS + thread as i64, name.as_str());
        let mut add = |name, end_ps| {
            let id = [int("request_id", request as i64)];
            let begin_ps = served.arrival_ps;
            host.event(line, name, begin_ps, end_ps - begin_ps, id);
        };
        add("request", served.end_ps);
        if served.prefill_ps > served.arrival_ps {
            add("queue", served.prefill_ps);
        }
    }
}
