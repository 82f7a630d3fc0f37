//! Views of tables, for what is easily summed in a wrong way.

/// A view, which is asked like a table.
#[derive(Clone, Copy, Debug)]
pub struct QueryView {
    pub name: &'static str,
    /// What a row is, in a sentence.
    pub about: &'static str,
    /// Each column: what it selects, its name, and its meaning.
    pub selected: &'static [(&'static str, &'static str, &'static str)],
    /// Table and condition.
    of: &'static str,
}

/// The cost of an op that has others inside includes theirs: it is missing in a view that can be summed.
pub const VIEWS: [QueryView; 1] = [QueryView {
    name: "op_slices",
    about: "One row per execution of an op on a core. Sums count nothing twice: no steps, programs and host events; \
            self_ps is without the ops inside, and costs are missing where they include those of ops inside; the bytes \
            of an asynchronous op are those of its done half.",
    selected: &[
        ("slice_id", "slice_id", "its number in slices"),
        ("name", "name", "display name"),
        ("category", "category", "kind of work"),
        (
            "self_ps",
            "self_ps",
            "length without that of the ops inside, by the clock of the device",
        ),
        (
            "start_ps",
            "start_ps",
            "start on the timeline of hosts and devices",
        ),
        ("step", "step", "number of the step in which it starts"),
        ("program", "program", "compiled program"),
        ("host", "host", "host that recorded it"),
        ("device", "device", "device"),
        ("track_id", "track_id", "its track: one a core"),
        ("depth", "depth", "level of nesting, 0 at the top"),
        ("parent_id", "parent_id", "the op that contains it"),
        ("op_id", "op_id", "the instruction that it executes"),
        (
            "CASE WHEN is_leaf THEN NULLIF(flops, CASE category WHEN 'Custom kernel' THEN 0 END) END",
            "flops",
            "operations; missing for ops with others inside and for kernels that declare none",
        ),
        (
            "CASE WHEN is_leaf AND name NOT LIKE '%-start%' \
             THEN NULLIF(bytes_accessed, CASE category WHEN 'Custom kernel' THEN 0 END) END",
            "bytes_accessed",
            "bytes to and from all memories; missing for ops with others inside, for those that start asynchronous ones, \
             and for kernels that declare none",
        ),
    ],
    of: "slices WHERE track_kind = 'ops'",
}];

impl QueryView {
    /// The names of its columns.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.selected.iter().map(|(_, name, _)| *name)
    }

    /// The query that it stands for.
    pub fn select(&self) -> String {
        let columns = self
            .selected
            .iter()
            .map(|(what, name, _)| format!("{what} AS {name}"));
        let columns = trace_model::joined(columns, ", ");
        format!("SELECT {columns} FROM {}", self.of)
    }

    pub(super) fn definition(&self) -> String {
        format!("CREATE TEMP VIEW {} AS {}", self.name, self.select())
    }
}
