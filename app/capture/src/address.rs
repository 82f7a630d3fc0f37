//! Addresses of profiler servers: `host:9012`, `10.0.0.2:9012`, `[::1]:9012`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Where a profiler server listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerAddress {
    /// Name or number of the machine, without brackets.
    pub host: String,
    pub port: u16,
}

impl ServerAddress {
    /// The name of its files in the folder of a run, as XProf forms it: `host_9012`. No file system has trouble with it.
    pub fn file_name(&self) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') {
                c
            } else {
                '_'
            }
        };
        format!(
            "{}_{}",
            self.host.chars().map(plain).collect::<String>(),
            self.port
        )
    }

    /// Whether it is this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let number = self.host.parse::<IpAddr>();
        self.host == "localhost" || number.is_ok_and(|number| number.is_loopback())
    }

    /// The URI for a connection.
    pub(super) fn uri(&self) -> String {
        format!("http://{self}")
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            Err(format!(
                "{why}: {text:?} is not HOST:PORT, as in localhost:9012 or [::1]:9012"
            ))
        };
        let named = text.strip_prefix("grpc://").unwrap_or(text);
        if named.contains("://") {
            return wrong("no gRPC address");
        }
        let (host, port) = match named
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
        {
            Some((host, _)) if host.parse::<Ipv6Addr>().is_err() => {
                return wrong("no IPv6 address in the brackets");
            }
            Some((host, rest)) => (host, rest.strip_prefix(':')),
            None => match named.rsplit_once(':') {
                Some((host, _)) if host.contains(':') => {
                    return wrong("an IPv6 address needs brackets");
                }
                Some((host, port)) => (host, Some(port)),
                None => (named, None),
            },
        };
        let Some(port) = port else {
            return wrong("the port is missing");
        };
        let is_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        match port.parse() {
            Ok(0) | Err(_) => wrong("the port is no number from 1 to 65535"),
            Ok(_) if host.is_empty() || !host.chars().all(is_host) => wrong("no name of a machine"),
            Ok(port) => Ok(Self {
                host: host.to_owned(),
                port,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_names_or_numbers_with_a_port() {
        for (text, host, port, file) in [
            ("localhost:9012", "localhost", 9012, "localhost_9012"),
            (
                "t1v-n-1234-w-0:8466",
                "t1v-n-1234-w-0",
                8466,
                "t1v-n-1234-w-0_8466",
            ),
            ("10.0.0.2:1", "10.0.0.2", 1, "10.0.0.2_1"),
            ("grpc://10.0.0.2:8466", "10.0.0.2", 8466, "10.0.0.2_8466"),
            ("[::1]:9012", "::1", 9012, "__1_9012"),
        ] {
            let address: ServerAddress = text.parse().unwrap();
            assert_eq!(
                (address.host.as_str(), address.port),
                (host, port),
                "{text}"
            );
            assert_eq!(address.file_name(), file);
            assert_eq!(address.to_string(), text.trim_start_matches("grpc://"));
        }
    }

    #[test]
    fn invalid_addresses_are_explained() {
        for (text, why) in [
            ("localhost", "the port is missing"),
            ("[::1]", "the port is missing"),
            ("localhost:", "no number from 1 to 65535"),
            ("localhost:http", "no number from 1 to 65535"),
            ("localhost:0", "no number from 1 to 65535"),
            ("localhost:65536", "no number from 1 to 65535"),
            ("::1:9012", "needs brackets"),
            ("[localhost]:9012", "no IPv6 address"),
            (":9012", "no name"),
            ("http://localhost:9012", "no gRPC"),
            ("a b:9012", "no name"),
            ("user@host/../x:9012", "no name"),
            ("", "the port is missing"),
        ] {
            let error = text.parse::<ServerAddress>().unwrap_err();
            assert!(error.contains(why), "{text:?}: {error}");
        }
    }
}
