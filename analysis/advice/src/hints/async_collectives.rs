//! What the compiler does with collectives on a chip by default, and the flags that make them asynchronous.
//!
//! They are data (`assets/options.toml`), which also lists every option that a page names, each with its source.

use std::sync::LazyLock;

use facts::prelude::*;
use serde::Deserialize;

/// One kind of collective on some chips.
#[derive(Deserialize)]
struct AsyncCollective {
    kind: String,
    chips: Vec<String>,
    /// The compiler makes it asynchronous without being told.
    by_default: bool,
    /// Flags of libtpu that do; none if none is known to.
    #[serde(default)]
    flags: Vec<String>,
}

#[derive(Deserialize)]
struct OptionList {
    collective: Vec<AsyncCollective>,
}

/// What the list was made with.
const COMPILER: &str = "libtpu 0.0.52";

static KNOWN: LazyLock<Vec<AsyncCollective>> = LazyLock::new(|| {
    let list: OptionList =
        toml::from_str(include_str!("../../../../assets/options.toml")).expect("read by the tests");
    list.collective
});

/// Which of these kinds a chip can be told to make asynchronous, as sentences, and the setting that does; empty where
/// nothing is known.
pub(super) fn advice(
    kinds: &BTreeSet<CollectiveKind>,
    chip: Option<&str>,
) -> (String, Option<String>) {
    let Some(chip) = chip else {
        return (String::new(), None);
    };
    let known = |kind: &CollectiveKind| {
        KNOWN.iter().find(|known| {
            known.kind == kind.name() && known.chips.iter().any(|known_chip| known_chip == chip)
        })
    };
    let of = |wanted: &dyn Fn(&AsyncCollective) -> bool| -> Vec<&AsyncCollective> {
        kinds
            .iter()
            .filter_map(known)
            .filter(|known| wanted(known))
            .collect()
    };
    let names =
        |list: &[&AsyncCollective]| joined(list.iter().map(|known| known.kind.as_str()), ", ");
    let mut sentences = Vec::new();
    let mut setting = None;
    let switchable = of(&|known| !known.by_default && !known.flags.is_empty());
    if !switchable.is_empty() {
        let flags: BTreeSet<&str> = switchable
            .iter()
            .flat_map(|known| &known.flags)
            .map(String::as_str)
            .collect();
        // What is set already stays.
        setting = Some(format!(
            "export LIBTPU_INIT_ARGS=\"$LIBTPU_INIT_ARGS \\\n  --{}\"",
            Vec::from_iter(flags).join(" \\\n  --")
        ));
        sentences.push(format!(
            "Set the flags of libtpu that make asynchronous what {chip} by default does not ({COMPILER}): {}.",
            names(&switchable)
        ));
    }
    let default = of(&|known| known.by_default);
    if !default.is_empty() {
        sentences.push(format!(
            "No flag is missing for what {chip} makes asynchronous by default ({COMPILER}), {}: one that is synchronous \
             all the same is small, or had nothing to overlap with.",
            names(&default)
        ));
    }
    let never = of(&|known| !known.by_default && known.flags.is_empty());
    if !never.is_empty() {
        let never = names(&never);
        sentences.push(format!(
            "On {chip} no flag is known that makes asynchronous ({COMPILER}): {never}."
        ));
    }
    (sentences.join(" "), setting)
}
