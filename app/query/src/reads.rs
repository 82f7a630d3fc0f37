//! What a query reads, by the names in it: before a trace is opened, nothing else is known of its tables.

use session::tables::OF_WHOLE_TRACES;

use crate::functions::OF_SLICES;
use crate::pivot::pivot_query;
use crate::presets::preset;
use crate::views::VIEWS;

/// Whether a query needs a whole trace: it names slices, what counts them, or the list of all tables. What it does not
/// name it cannot read, and names are found in whatever quotes.
pub fn reads_slices(query: &str) -> bool {
    let sql = preset(query.trim()).map_or(query, |preset| preset.sql);
    let needs_all = |word: &str| {
        let word = word.to_ascii_lowercase();
        let mut names = names_of_whole_traces().chain([OF_SLICES]);
        names.any(|name| name == word) || word.starts_with("sqlite_") || word.starts_with("pragma_")
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    pivot_query(sql).is_some() || sql.split(|c| !is_word(c)).any(needs_all)
}

/// Tables and views that a session lacks that was opened for reports.
pub(super) fn names_of_whole_traces<'a>() -> impl Iterator<Item = &'a str> {
    let tables: [&'a str; 4] = OF_WHOLE_TRACES;
    tables.into_iter().chain(VIEWS.iter().map(|view| view.name))
}

#[cfg(test)]
mod tests {
    use analysis::{Options, Scope};
    use session::Session;
    use session::tables::Catalog;
    use trace_model::TraceBuilder;

    use super::*;
    use crate::{Database, PRESETS, QueryLimits};

    #[test]
    fn slices_are_found_however_they_are_named() {
        for query in [
            "SELECT 1 FROM slices",
            "select 1 from \"Slices\"",
            "SELECT 1 FROM[slices]JOIN ops",
            "SELECT 1 FROM main.`tracks`",
            "SELECT max(x) FROM(SELECT self_ps AS x FROM op_slices)",
            "SELECT ARG (5, 'size')",
            "SELECT name FROM sqlite_schema",
            "SELECT * FROM pragma_table_list",
            "launches",
            " pivot category step ",
            "SELECT bytes FROM doctor_memory",
        ] {
            assert!(reads_slices(query), "{query}");
        }
        for query in [
            "SELECT name, self_ps FROM ops -- without its slice",
            "SELECT args FROM instructions",
            "counters",
            "",
        ] {
            assert!(!reads_slices(query), "{query}");
        }
    }

    /// What a query for reports cannot name is all that a session for reports lacks.
    #[test]
    fn session_for_reports_lacks_only_what_is_found() {
        let session = |is_whole: bool| {
            let mut builder = TraceBuilder::new();
            if !is_whole {
                builder.set_partial();
            }
            Session::from_model(builder.finish(), Options::default())
        };
        let [whole, part] = [true, false].map(session);
        let names = |session: &Session| {
            let all = Catalog::new(session, Scope::WholeTrace).all();
            let names = all.iter().map(|table| table.name.clone());
            names.filter(|name| !reads_slices(name)).collect::<Vec<_>>()
        };
        assert_eq!(names(&part), names(&whole));
        let mut databases =
            [whole, part].map(|session| Database::new(&session, Scope::WholeTrace).unwrap());
        let presets = PRESETS.iter().map(|preset| preset.name);
        let queries = presets.chain(["SELECT * FROM opps", "SELECT nme FROM sources"]);
        for query in queries.filter(|query| !reads_slices(query)) {
            let [whole, part] = databases
                .each_mut()
                .map(|database| database.ask(query, &QueryLimits::default()));
            assert_eq!(part, whole, "{query}");
        }
    }
}
