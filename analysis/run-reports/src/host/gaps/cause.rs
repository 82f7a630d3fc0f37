//! Causes of idle time, and their precedence among threads.

/// Why a device is idle.
#[engine::titled]
#[derive(Hash)]
pub enum IdleCause {
    /// Tracing, lowering, compiling, loading programs.
    Compile = "compiling",
    /// Infeed, input pipelines, data loaders.
    Input,
    /// Transfers to the device.
    HostToDevice,
    /// Transfers from the device.
    DeviceToHost,
    /// Launching programs.
    Dispatch,
    /// Code of the program itself on a thread that drives devices.
    User = "user code",
    /// The driving thread waits, and no other thread does anything.
    Wait = "waiting",
    /// The next program is already in the device's queue; the host is not the cause.
    Queued = "next one queued",
    /// Nothing was recorded.
    Unknown = "nothing recorded",
}

impl IdleCause {
    /// The host activity as a clause; `None` if unknown.
    pub(crate) fn meanwhile(self) -> Option<&'static str> {
        Some(match self {
            Self::Compile => "while the host compiles",
            Self::Input => "while the host prepares input",
            Self::HostToDevice => "while the host copies to the device",
            Self::DeviceToHost => "while the host reads results",
            Self::Dispatch => "while the host launches programs",
            Self::User => "while the host runs code of its own",
            Self::Wait => "while the host waits",
            Self::Queued => "although the next program is queued",
            Self::Unknown => return None,
        })
    }

    /// Whether it is known how long it was the cause, depending on whether the host was recorded.
    pub(super) fn is_known(self, has_host: bool) -> bool {
        has_host || self == Self::Unknown
    }

    /// Index in [`Self::ALL`].
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// Precedence among threads: causes, with input in the background as a separate one.
#[derive(Clone, Copy)]
pub(super) enum CausePriority {
    Cause(IdleCause),
    /// After user code, before waiting.
    BackgroundInput,
}

impl CausePriority {
    pub const COUNT: usize = IdleCause::ALL.len() + 1;

    /// Lower values take precedence.
    pub fn index(self) -> usize {
        match self {
            Self::Cause(IdleCause::Wait) => IdleCause::Wait.index() + 1,
            Self::Cause(cause) => cause.index(),
            Self::BackgroundInput => IdleCause::Wait.index(),
        }
    }

    /// The cause, regardless of the thread.
    pub fn cause(self) -> IdleCause {
        match self {
            Self::Cause(cause) => cause,
            Self::BackgroundInput => IdleCause::Input,
        }
    }
}
