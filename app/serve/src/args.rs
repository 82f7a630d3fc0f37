//! Arguments of the command.

use std::path::PathBuf;

use clap::Args;
use request::{RequestError, Result};

/// The port that `TensorBoard` and XProf users know is 6006; this one is beside it.
const PORT: u16 = 6007;

const TOKEN_HELP: &str = "Demand this token of letters and digits, instead of a random one; from the environment \
    (SYSTOLE_TOKEN), others of this machine cannot see it";

/// Has the token where the command line does not.
const TOKEN: &str = "SYSTOLE_TOKEN";

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Log directories, runs or profiles, on this machine or in buckets
    #[arg(value_name = "LOGDIR", required_unless_present = "logdir")]
    pub paths: Vec<PathBuf>,
    /// The same, as for XProf and TensorBoard; may be repeated
    #[arg(short, long, value_name = "DIR")]
    pub logdir: Vec<PathBuf>,
    /// Port; 0 for any free one
    #[arg(short, long, default_value_t = PORT)]
    pub port: u16,
    /// Address to listen on; one that other machines reach demands a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: String,
    /// The token to demand. Its help is no comment, in which names of variables are code.
    #[arg(long, value_parser = token, help = TOKEN_HELP)]
    pub token: Option<String>,
    /// Another name of this machine that browsers may use, such as that of a proxy; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Traces to keep open between requests, in at most 4 GB
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    pub keep: u8,
}

impl ServeArgs {
    /// The token that was given, if one was.
    pub fn given_token(&self) -> Result<Option<String>> {
        match (&self.token, std::env::var(TOKEN)) {
            (None, Ok(text)) if !text.is_empty() => token(&text)
                .map(Some)
                .map_err(|why| RequestError::Usage(format!("{TOKEN}: {why}"))),
            (given, _) => Ok(given.clone()),
        }
    }
}

fn token(text: &str) -> Result<String, String> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_plain && text.len() >= 16 {
        Ok(text.to_owned())
    } else {
        Err("write at least 16 letters, digits, - and _".to_owned())
    }
}
