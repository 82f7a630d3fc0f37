//! Use of caches of compiled programs, as far as the trace shows it.
//!
//! JAX counts hits and misses of its persistent cache outside traces, but the Python tracer records the functions
//! that look programs up. Runtimes record when they read a serialized program and when their own cache of loaded
//! programs missed.

use facts::compile_events::CacheRole;
use facts::prelude::*;
use math::summed;

/// Whether the persistent cache had a program.
#[engine::titled]
pub enum CacheUse {
    /// It was read from the cache.
    Hit,
    /// It was not in the cache. A cache that is not set up misses, too.
    Miss,
}

/// When the persistent cache had a program or not, by thread, in order of time.
pub(super) struct CacheUses(BTreeMap<TrackId, Vec<(Timestamp, CacheUse)>>);

impl CacheUses {
    pub(super) fn new(events: &[(CacheRole, SliceRef<'_>)]) -> Self {
        let mut uses: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (role, slice) in events {
            let used = match role {
                CacheRole::Hit => CacheUse::Hit,
                CacheRole::Miss => CacheUse::Miss,
                _ => continue,
            };
            uses.entry(slice.track())
                .or_default()
                .push((slice.start(), used));
        }
        for uses in uses.values_mut() {
            uses.sort_unstable();
        }
        Self(uses)
    }

    /// What was found last in this span of a thread: what is compiled on the way comes before.
    pub(super) fn last_in(&self, track: TrackId, span: TimeRange) -> Option<CacheUse> {
        let uses = self.0.get(&track)?;
        let end = uses.partition_point(|(time, _)| *time <= span.end);
        let (time, used) = uses.get(end.checked_sub(1)?)?;
        (*time >= span.start).then_some(*used)
    }
}

/// Cache events in the trace; `None` means that nothing was recorded.
#[engine::reported]
#[derive(Default)]
pub struct CacheFacts {
    /// Look-ups in the persistent cache.
    pub lookups: Option<u64>,
    /// Programs found in it.
    pub hits: Option<u64>,
    /// Programs not found in it. A cache that is not set up misses, too.
    pub misses: Option<u64>,
    /// Programs stored in it.
    pub writes: Option<u64>,
    /// Serialized programs that the runtime read, from any cache.
    pub deserialized: Option<u64>,
    /// Programs not found in the device's own cache of loaded programs.
    pub load_misses: Option<u64>,
}

impl CacheFacts {
    pub(super) fn new(events: impl Iterator<Item = CacheRole>) -> Self {
        let counts = summed(events.map(|role| (role, 1)));
        let count = |role| counts.get(&role).copied();
        // If the lookup was recorded, its result would have been recorded, too.
        let seen = |role| {
            count(CacheRole::Lookup)
                .map(|_| count(role).unwrap_or(0))
                .or(count(role))
        };
        Self {
            lookups: count(CacheRole::Lookup),
            hits: seen(CacheRole::Hit),
            misses: seen(CacheRole::Miss),
            writes: seen(CacheRole::Write),
            deserialized: count(CacheRole::Deserialize),
            load_misses: count(CacheRole::LoadMiss),
        }
    }

    /// A sentence; `None` if nothing was compiled or cached.
    pub(super) fn statement(&self, compiled: bool) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(lookups) = self.lookups {
            let [hits, misses, writes] =
                [self.hits, self.misses, self.writes].map(Option::unwrap_or_default);
            let unset = if hits == 0 && writes == 0 {
                " (as without a cache directory)"
            } else {
                ""
            };
            let times = if lookups == 1 {
                "once"
            } else {
                &format!("{lookups} times")
            };
            parts.push(format!(
                "the persistent cache was asked {times}: {hits} hits, {misses} misses, {writes} written{unset}"
            ));
        }
        if let Some(count) = self.deserialized {
            parts.push(format!("{count} serialized programs were read"));
        }
        if let Some(count) = self.load_misses {
            parts.push(format!("the cache of loaded programs missed {count} times"));
        }
        if parts.is_empty() {
            let unknown = "it is not recorded whether a persistent cache had the programs; JAX's Python tracer would show it";
            return compiled.then(|| unknown.to_owned());
        }
        Some(parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(names: &[&str]) -> CacheFacts {
        CacheFacts::new(names.iter().filter_map(|name| CacheRole::of(name)))
    }

    #[test]
    fn cache_lookups_come_from_python_events() {
        let cold = facts(&[
            "$compilation_cache.py:209 get_executable_and_time",
            "$compiler.py:105 log_persistent_cache_miss",
            "$compilation_cache.py:284 get_cache_key",
        ]);
        assert_eq!(
            (cold.lookups, cold.hits, cold.misses, cold.writes),
            (Some(1), Some(0), Some(1), Some(0))
        );
        let text = cold.statement(true).unwrap();
        assert!(
            text.contains("asked once: 0 hits, 1 misses, 0 written (as without a cache directory)"),
            "{text}"
        );
        let warm = facts(&[
            "$compilation_cache.py:1 get_executable_and_time",
            "$compiler.py:9 log_persistent_cache_hit",
        ]);
        assert_eq!((warm.hits, warm.misses), (Some(1), Some(0)));
        assert!(!warm.statement(false).unwrap().contains("directory"));
    }

    #[test]
    fn serialized_programs_come_from_runtime_events_and_missing_is_not_zero() {
        let facts = facts(&[
            "TfrtGpuClient::DeserializeExecutable",
            "LoadProgramCacheMiss",
            "LoadProgram",
        ]);
        assert_eq!(
            (facts.deserialized, facts.load_misses, facts.hits),
            (Some(1), Some(1), None)
        );
        assert_eq!(CacheFacts::default().statement(false), None);
        assert!(
            CacheFacts::default()
                .statement(true)
                .unwrap()
                .contains("not recorded")
        );
    }
}
