//! Which machines may be asked, for all that leaves this one: buckets, web servers, profiler servers.

use std::io;
use std::net::IpAddr;

/// Forbids hosts: `loopback` for all but this machine, `off` for all.
const NETWORK: &str = "SYSTOLE_NETWORK";

/// Which hosts may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedHosts {
    /// Every host.
    Any,
    /// This machine.
    Loopback,
    /// No host at all.
    None,
}

impl AllowedHosts {
    /// By the value of the variable.
    pub(crate) fn of(value: Option<&str>) -> Self {
        match value {
            None | Some("" | "any") => Self::Any,
            Some("loopback") => Self::Loopback,
            // What is not understood must not open what was to be closed.
            Some(_) => Self::None,
        }
    }

    /// As the environment of the process says.
    pub fn of_process() -> Self {
        Self::of(
            std::env::var_os(NETWORK)
                .map(|value| value.to_string_lossy().into_owned())
                .as_deref(),
        )
    }
}

/// Whether the environment lets this machine be asked.
///
/// # Errors
///
/// It does not; the error says what forbids it.
pub fn may_ask(host: &str) -> io::Result<()> {
    check(AllowedHosts::of_process(), host)
}

/// Whether a host may be asked.
///
/// # Errors
///
/// It may not; the error says what forbids it.
pub fn check(hosts: AllowedHosts, host: &str) -> io::Result<()> {
    let is_loopback = || {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.eq_ignore_ascii_case("localhost")
            || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    let allowed = match hosts {
        AllowedHosts::Any => true,
        AllowedHosts::Loopback => is_loopback(),
        AllowedHosts::None => false,
    };
    if allowed {
        return Ok(());
    }
    Err(io::Error::other(format!("{FORBIDDEN} {host}")))
}

/// How the message about a forbidden host begins.
pub const FORBIDDEN: &str = "SYSTOLE_NETWORK forbids asking";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked_where_others_are_forbidden() {
        for host in [
            "localhost",
            "LOCALHOST",
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "[::1]",
        ] {
            assert!(check(AllowedHosts::Loopback, host).is_ok(), "{host}");
            assert!(check(AllowedHosts::None, host).is_err(), "{host}");
        }
        for host in [
            "storage.googleapis.com",
            "169.254.169.254",
            "metadata.google.internal",
            "localhost.evil.com",
            "",
        ] {
            assert!(check(AllowedHosts::Loopback, host).is_err(), "{host}");
            assert!(check(AllowedHosts::Any, host).is_ok(), "{host}");
        }
    }
}
