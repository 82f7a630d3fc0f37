//! Ready-made queries.

/// A query with a name.
#[derive(Clone, Copy, Debug)]
pub struct QueryPreset {
    /// What to type instead of SQL.
    pub name: &'static str,
    /// The question that it answers.
    pub about: &'static str,
    /// SQL, or the names of a pivot table.
    pub sql: &'static str,
}

/// Times are in milliseconds to the nanosecond: the last digits of picoseconds are for computing, not for reading.
pub const PRESETS: [QueryPreset; 11] = [
    QueryPreset {
        name: "top-ops",
        about: "ops by self time on all devices",
        sql: "SELECT name, category, count(*) AS executions, round(ms(sum(self_ps)), 6) AS self_ms,\n\
              round(ms(avg(self_ps)), 6) AS mean_self_ms FROM op_slices GROUP BY name, category ORDER BY sum(self_ps) DESC",
    },
    QueryPreset {
        name: "categories",
        about: "self time of ops by kind of work, one row per device",
        sql: "SELECT device, category, count(*) AS executions, round(ms(sum(self_ps)), 6) AS self_ms\n\
              FROM op_slices GROUP BY device, category ORDER BY device, sum(self_ps) DESC",
    },
    QueryPreset {
        name: "pivot",
        about: "time and rates of ops by category and device; by others: pivot scope, step",
        sql: "pivot category, device",
    },
    QueryPreset {
        name: "longest",
        about: "the longest slices of anything but steps and programs",
        sql: "SELECT slice_id, name, host, device, track, round(ms(start_ps), 6) AS start_ms, round(ms(dur_ps), 6) AS dur_ms\n\
              FROM slices WHERE track_kind NOT IN ('steps', 'modules', 'derived') ORDER BY dur_ps DESC",
    },
    QueryPreset {
        name: "programs",
        about: "executions of compiled programs",
        sql: "SELECT name, device, count(*) AS executions, round(ms(sum(dur_ps)), 6) AS total_ms,\n\
              round(ms(median(dur_ps)), 6) AS median_ms, round(ms(max(dur_ps)), 6) AS longest_ms\n\
              FROM slices WHERE track_kind = 'modules' GROUP BY name, device ORDER BY sum(dur_ps) DESC",
    },
    QueryPreset {
        name: "steps",
        about: "self time of ops in each step, by kind of work",
        sql: "SELECT step, category, round(ms(sum(self_ps)), 6) AS self_ms, count(*) AS executions FROM op_slices\n\
              WHERE step IS NOT NULL GROUP BY step, category ORDER BY step, sum(self_ps) DESC",
    },
    QueryPreset {
        name: "host-events",
        about: "events of host threads by self time",
        sql: "SELECT name, count(*) AS events, round(ms(sum(self_ps)), 6) AS self_ms, round(ms(max(dur_ps)), 6) AS longest_ms\n\
              FROM slices WHERE track_kind = 'host_thread' GROUP BY name ORDER BY sum(self_ps) DESC",
    },
    QueryPreset {
        name: "tracks",
        about: "tracks by number of slices",
        sql: "SELECT track_id, host, device, track, track_kind, slices FROM tracks ORDER BY slices DESC",
    },
    QueryPreset {
        name: "counters",
        about: "counters with their range",
        sql: "SELECT name, device, unit, count(*) AS samples, min(value) AS least, avg(value) AS mean, max(value) AS most\n\
              FROM counters GROUP BY name, device, unit ORDER BY name, device",
    },
    QueryPreset {
        name: "launches",
        about: "flows between slices: where they lead and how long they take by the clocks as recorded",
        sql: "SELECT a.name AS from_name, b.name AS to_name, count(*) AS flows,\n\
              round(ms(median(latency_ps)), 6) AS median_latency_ms, round(ms(max(latency_ps)), 6) AS longest_latency_ms\n\
              FROM flows JOIN slices a ON a.slice_id = from_slice_id JOIN slices b ON b.slice_id = to_slice_id\n\
              GROUP BY a.name, b.name ORDER BY count(*) DESC",
    },
    QueryPreset {
        name: "instructions",
        about: "instructions with the most operations by the compiler's estimate",
        sql: "SELECT name, program, category, flops, bytes_accessed, shape, source FROM instructions\n\
              WHERE flops IS NOT NULL ORDER BY flops DESC",
    },
];

pub fn preset(name: &str) -> Option<&'static QueryPreset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
