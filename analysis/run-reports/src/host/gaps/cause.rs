//! Causes of idle time, and their precedence among threads.

use serde::Serialize;

/// Why a device is idle.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum IdleCause {
    /// Tracing, lowering, compiling, loading programs.
    Compile,
    /// Infeed, input pipelines, data loaders.
    Input,
    /// Transfers to the device.
    HostToDevice,
    /// Transfers from the device.
    DeviceToHost,
    /// Launching programs.
    Dispatch,
    /// Code of the program itself on a thread that drives devices.
    User,
    /// The driving thread waits, and no other thread does anything.
    Wait,
    /// The next program is already in the device's queue; the host is not the cause.
    Queued,
    /// Nothing was recorded.
    Unknown,
}

impl IdleCause {
    /// Every cause, in the order of precedence.
    pub const ALL: [Self; 9] = [
        Self::Compile,
        Self::Input,
        Self::HostToDevice,
        Self::DeviceToHost,
        Self::Dispatch,
        Self::User,
        Self::Wait,
        Self::Queued,
        Self::Unknown,
    ];

    /// Display name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Compile => "compiling",
            Self::Input => "input",
            Self::HostToDevice => "host to device",
            Self::DeviceToHost => "device to host",
            Self::Dispatch => "dispatch",
            Self::User => "user code",
            Self::Wait => "waiting",
            Self::Queued => "next one queued",
            Self::Unknown => "nothing recorded",
        }
    }

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

    /// Index in [`Self::ALL`].
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

engine::shown_by_title!(IdleCause);

/// Precedence among threads: causes, with input in the background as a separate one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
