//! Calls that the Python tracer records: `$array.py:636 _value`, and `$<unknown> acquire` or `$numpy asarray` of functions
//! in C.
//!
//! They wrap events of the runtime, which say more. But while a thread waits for results of a device, often nothing else
//! is recorded.

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct PythonFrame<'a> {
    /// Name of the file without its folders; the module of a function in C, if that is known.
    pub file: &'a str,
    /// Name of the function.
    pub function: &'a str,
}

/// Waits for results by any name of the file: those of the program call them, too.
const WAITS: [&str; 7] = [
    "block_until_ready",
    "try_to_block",
    "effects_barrier",
    "wait_device_ops",
    "_xla_wait_device_ops",
    "async_wait",
    "sync_executors",
];

/// Reads of results: functions of the libraries' own files. `<unknown>` are methods in C.
const READS: [(&str, &[&str]); 6] = [
    (
        "array.py",
        &[
            "_value",
            "tolist",
            "tobytes",
            "__array__",
            "__float__",
            "__int__",
            "__bool__",
            "__complex__",
            "__index__",
        ],
    ),
    ("array_methods.py", &["_item", "item"]),
    ("api.py", &["device_get", "_device_get"]),
    // TensorFlow's tensors.
    (
        "ops.py",
        &[
            "numpy",
            "_numpy",
            "__array__",
            "__float__",
            "__int__",
            "__bool__",
            "__complex__",
            "__index__",
        ],
    ),
    // PyTorch's: `Tensor.item()` and `Tensor.cpu()` are in C.
    ("_tensor.py", &["__array__"]),
    (
        "<unknown>",
        &[
            "item",
            "cpu",
            "_numpy_internal",
            "_single_device_array_to_np_array",
            "_single_device_array_to_np_array_did_copy",
        ],
    ),
];

/// Waits for another thread or process.
const THREAD_WAITS: [&str; 4] = ["acquire", "wait", "poll", "select"];

/// Takes the next element of a data loader.
const LOADERS: [&str; 6] = [
    "__next__",
    "next",
    "get_next",
    "next_batch",
    "get_batch",
    "load_batch",
];

impl<'a> PythonFrame<'a> {
    /// The call that an event shows; `None` for all other events.
    pub fn of(name: &'a str) -> Option<Self> {
        let (place, function) = name.strip_prefix('$')?.rsplit_once(' ')?;
        let path = match place.rsplit_once(':') {
            Some((path, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => path,
            _ => place,
        };
        Some(Self {
            file: path.rsplit(['/', '\\']).next().unwrap_or(path),
            function,
        })
    }

    /// Whether it returns when results of a device are there.
    pub(crate) fn waits_for_results(self) -> bool {
        WAITS.contains(&self.function)
    }

    /// Whether it returns results of a device, which it may have to wait for.
    pub(crate) fn reads_results(self) -> bool {
        READS
            .iter()
            .any(|(file, functions)| self.file == *file && functions.contains(&self.function))
    }

    /// Whether it waits for another thread or process.
    pub fn waits_for_threads(self) -> bool {
        THREAD_WAITS.contains(&self.function)
    }

    /// Whether it takes the next element of an iterator.
    pub(crate) fn loads_input(self) -> bool {
        LOADERS.contains(&self.function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is<'a>(name: &'a str, what: fn(PythonFrame<'a>) -> bool) -> bool {
        what(PythonFrame::of(name).unwrap())
    }

    #[test]
    fn a_call_has_a_file_and_a_function() {
        let parts = |name| PythonFrame::of(name).map(|frame| (frame.file, frame.function));
        assert_eq!(parts("$array.py:636 _value"), Some(("array.py", "_value")));
        assert_eq!(
            parts("$jax/_src/array.py:636 _value"),
            Some(("array.py", "_value"))
        );
        assert_eq!(parts("$<unknown> acquire"), Some(("<unknown>", "acquire")));
        assert_eq!(
            parts("$<frozen importlib._bootstrap>:1 f"),
            Some(("<frozen importlib._bootstrap>", "f"))
        );
        assert_eq!(parts("block_until_ready"), None);
        assert_eq!(parts("$odd"), None);
    }

    #[test]
    fn calls_that_wait_for_results_are_known_by_library_file() {
        for name in [
            "$api.py:2551 block_until_ready",
            "$bench.py:7 block_until_ready",
            "$api.py:2562 try_to_block",
        ] {
            assert!(is(name, PythonFrame::waits_for_results), "{name}");
        }
        for name in [
            "$array.py:308 __float__",
            "$array.py:636 _value",
            "$api.py:2885 _device_get",
            "$<unknown> item",
        ] {
            assert!(is(name, PythonFrame::reads_results), "{name}");
        }
        // Of the program: what they contain decides.
        for name in [
            "$fifo.py:12 item",
            "$config.py:9 _value",
            "$units.py:3 __float__",
            "$<unknown> items",
        ] {
            assert!(
                !is(name, PythonFrame::reads_results) && !is(name, PythonFrame::waits_for_results),
                "{name}"
            );
        }
    }

    #[test]
    fn waits_for_threads_are_no_waits_for_results() {
        for name in ["$<unknown> acquire", "$threading.py:355 wait"] {
            assert!(
                is(name, PythonFrame::waits_for_threads)
                    && !is(name, PythonFrame::waits_for_results),
                "{name}"
            );
        }
        assert!(!is("$<unknown> join", PythonFrame::waits_for_threads));
    }
}
