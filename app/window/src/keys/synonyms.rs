//! Words by which the command palette finds actions and tabs, besides their titles.

/// By id of an action, or `tab:` and the id of a tab.
const SYNONYMS: &[(&str, &str)] = &[
    ("zoom-in-once", "magnify closer"),
    ("zoom-out-once", "wider"),
    ("focus", "zoom to selection fit selection frame"),
    ("fit", "reset home whole everything zoom all"),
    ("undo", "back previous history"),
    ("redo", "forward history"),
    ("previous", "left neighbour neighbor"),
    ("next", "right neighbour neighbor"),
    ("parent", "caller up enclosing"),
    ("child", "callee down inside"),
    ("follow", "arrow dependency flow jump"),
    ("follow-back", "arrow dependency flow producer"),
    ("mark", "measure range area ruler"),
    ("keep-mark", "annotate bookmark comment note"),
    ("mark-all", "select all measure everything"),
    ("isolate", "filter only matches hide others"),
    ("search", "find grep locate"),
    ("found-list", "matches list results"),
    ("filter-tracks", "threads lanes rows find track"),
    ("details", "properties arguments inspector drawer"),
    ("reports", "sidebar panel tabs"),
    ("wide", "maximize maximise expand larger sidebar"),
    ("move-tab", "dock bottom split"),
    ("notes", "annotations bookmarks comments"),
    ("grid", "lines"),
    ("help", "keyboard cheat sheet documentation manual"),
    (
        "keys",
        "settings preferences shortcuts keybindings hotkeys remap",
    ),
    ("open", "load import file trace profile"),
    ("compare", "diff baseline second other versus regression"),
    ("capture", "record live profile server start"),
    (
        "copy-view",
        "share link url address permalink send colleague",
    ),
    ("save-session", "export workspace state bookmark"),
    ("save-svg", "export picture image vector figure"),
    ("save-picture", "export picture image screenshot figure"),
    ("save-png", "export picture image screenshot window"),
    ("color-change", "diff regression delta"),
    ("fold-all", "collapse"),
    ("unfold-all", "expand"),
    ("devices-late", "straggler sort order slow last"),
    ("devices-work", "straggler sort order busy load"),
    ("devices-idle", "sort order waiting"),
    ("devices-by-host", "sort order reset"),
    ("hide-empty", "blank unused threads"),
    ("show-all", "unhide restore tracks"),
    ("minimap", "overview bar"),
    ("arrows", "dependencies flows"),
    ("critical-path", "longest chain bottleneck dependency track"),
    (
        "rows-of-scopes",
        "name scope modules layers flax framework op name track",
    ),
    ("rows-of-source-lines", "code python file line track"),
    ("times", "units format settings"),
    ("times-ns", "units nanosecond"),
    ("times-us", "units microsecond"),
    ("times-ms", "units millisecond"),
    ("color-category", "color legend"),
    ("color-name", "color hash"),
    ("color-module", "color jit"),
    ("color-efficiency", "color utilization utilisation"),
    ("colors-systole", "theme palette settings"),
    ("colors-perfetto", "theme palette settings"),
    ("colors-dracula", "theme palette settings"),
    ("wheel-zooms", "mouse scroll settings touchpad"),
    ("wheel-scrolls", "mouse scroll settings touchpad"),
    (
        "larger",
        "font text scale bigger dpi settings zoom interface",
    ),
    ("smaller", "font text scale dpi settings zoom interface"),
    ("usual-size", "font text scale reset settings"),
    ("dark", "theme night mode settings appearance"),
    ("light", "theme day mode settings appearance"),
    ("system", "theme settings appearance"),
    (
        "tab:overview",
        "summary verdict mfu utilization utilisation duty cycle goodput idle bottleneck flops",
    ),
    (
        "tab:hints",
        "advice suggestions recommendations problems what to do bottleneck optimize optimise fix",
    ),
    ("tab:ops", "kernels hottest top flame icicle hlo stats time"),
    (
        "tab:roofline",
        "flops bandwidth hbm intensity peak mxu efficiency bound",
    ),
    (
        "tab:hlo",
        "graph program ir compiler instruction fusion text",
    ),
    ("tab:source", "code line file stack python trace"),
    (
        "tab:collectives",
        "straggler communication network ici dcn all-reduce late skew imbalance devices pod bandwidth",
    ),
    (
        "tab:steps",
        "straggler jitter iteration slow variance step time",
    ),
    ("tab:compile", "recompile jit retrace cache"),
    ("tab:memory", "oom hbm leak allocation fragmentation peak"),
    ("tab:kernels", "pallas mosaic custom call vmem"),
    (
        "tab:serving",
        "requests latency prefill decode tokens inference",
    ),
    (
        "tab:host",
        "input pipeline cpu infeed dataloader gil threads idle",
    ),
    ("tab:health", "quality doctor warnings dropped lost missing"),
    ("tab:query", "sql select table database ask"),
];

/// More words that find an action or a tab.
pub fn synonyms(id: &str) -> &'static str {
    SYNONYMS
        .iter()
        .find(|(listed, _)| *listed == id)
        .map_or("", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::action_of;
    use crate::panels::tabs::TABS;

    #[test]
    fn synonyms_are_of_actions_and_tabs_that_exist() {
        for (id, _) in SYNONYMS {
            let exists = match id.strip_prefix("tab:") {
                Some(tab) => TABS.iter().any(|own| own.id == tab),
                None => action_of(id).is_some(),
            };
            assert!(exists, "{id}");
        }
    }
}
