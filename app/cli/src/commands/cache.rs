//! `systole cache`: copies of files from buckets and web servers.

use super::prelude::*;
use clap::Subcommand;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(subcommand)]
    pub action: CacheAction,
}

/// What to do with the copies.
#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// List the copies, the last used first, with their sizes
    List {
        /// How to print them
        #[arg(long, value_enum, default_value_t)]
        format: OutputFormat,
    },
    /// Remove all copies
    Clear,
}

#[cfg(not(feature = "remote"))]
pub fn run(_args: &CacheArgs) -> Result<CommandOutcome> {
    Err(RequestError::Usage(
        "this build cannot read buckets, so it has no cache; build with --features remote"
            .to_owned(),
    ))
}

#[cfg(feature = "remote")]
pub fn run(args: &CacheArgs) -> Result<CommandOutcome> {
    let cache = importers::cache::Cache::of_process().ok_or_else(|| {
        RequestError::Usage("there is no place for a cache: set SYSTOLE_CACHE_DIR".to_owned())
    })?;
    match &args.action {
        CacheAction::List { format } => list::print(&cache, *format),
        CacheAction::Clear => {
            let failed = RequestError::write(cache.directory());
            let (count, bytes) = cache.clear().map_err(failed)?;
            let removed = format!("removed {count} files, {}\n", number::bytes(bytes));
            output::print_as(OutputFormat::TEXT, &removed)
        }
    }
}

#[cfg(feature = "remote")]
mod list {
    use std::time::SystemTime;

    use crate::commands::prelude::*;
    use importers::cache::{Cache, CachedObject};

    /// Prints the copies.
    pub(super) fn print(cache: &Cache, format: OutputFormat) -> Result<CommandOutcome> {
        let objects = cache.objects();
        let total: u64 = objects.iter().map(|object| object.bytes).sum();
        let text = |list: &Table| {
            let shown = if objects.is_empty() {
                String::new()
            } else {
                table::table(list, &terminal::whole_tables(AnsiStyle::PLAIN))
            };
            let (total, limit) = (number::bytes(total), number::bytes(cache.limit()));
            format!(
                "{shown}{} files, {total} of at most {limit}, in {}\n",
                objects.len(),
                cache.directory().display()
            )
        };
        let json = || {
            let each = |object: &CachedObject| json!({"url": object.url, "bytes": object.bytes});
            let all: Vec<Value> = objects.iter().map(each).collect();
            let directory = cache.directory().display().to_string();
            json!({"schema": "systole.cache/1", "directory": directory, "bytes": total,
                   "limit_bytes": cache.limit(), "objects": all})
        };
        output::print_as(
            format,
            &output::list(
                format,
                CsvCells::Exact,
                "cache",
                table_of(&objects),
                text,
                json,
            ),
        )
    }

    fn table_of(objects: &[CachedObject]) -> Table {
        let age = |object: &CachedObject| SystemTime::now().duration_since(object.used).ok();
        Table::of("cache", "Copies, the last used first", objects.iter())
            .recorded("bytes", "Size", Unit::Bytes, |object| object.bytes as f64)
            .recorded("unused_days", "Days unused", Unit::Count, move |object| {
                age(object).map(|age| (age.as_secs() / 86_400) as f64)
            })
            .recorded("url", "Address", Unit::None, |object| object.url.clone())
            .build()
    }
}
