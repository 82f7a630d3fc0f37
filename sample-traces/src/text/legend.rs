//! The legend of a picture, which explains its letters: `A = fusion.1 [loop fusion] flops=2e9`.

use std::collections::BTreeMap;

use trace_model::{Access, MemoryAccess, MemorySpace, Op, ProgramId, SliceAttr, TraceBuilder};

/// All letters of the legend.
#[derive(Default)]
pub(super) struct PictureLegend {
    entries: BTreeMap<char, LegendEntry>,
}

impl PictureLegend {
    /// Adds `line` if it explains a letter; returns whether it does.
    pub fn add(&mut self, line: &str) -> bool {
        let Some((left, right)) = line.split_once('=') else {
            return false;
        };
        let mut letters = left.trim().chars();
        let (Some(letter), None) = (letters.next(), letters.next()) else {
            return false;
        };
        self.entries.insert(letter, LegendEntry::parse(right));
        true
    }

    /// The meaning of `letter`; itself if the legend does not define it.
    pub fn get(&self, letter: char) -> LegendEntry {
        self.entries
            .get(&letter)
            .cloned()
            .unwrap_or_else(|| LegendEntry {
                name: letter.to_string(),
                ..LegendEntry::default()
            })
    }
}

/// The meaning of one letter.
#[derive(Clone, Default)]
pub(super) struct LegendEntry {
    pub name: String,
    category: Option<String>,
    hlo_text: Option<String>,
    values: BTreeMap<String, String>,
}

impl LegendEntry {
    pub fn parse(text: &str) -> Self {
        let (text, hlo_text) = match text.split_once(" :: ") {
            Some((text, hlo)) => (text, Some(hlo.trim().to_owned())),
            None => (text, None),
        };
        let mut entry = Self {
            hlo_text,
            ..Self::default()
        };
        let mut text = text.trim().to_owned();
        if let Some((before, after)) = text.split_once(" [") {
            let (category, after) = after
                .split_once(']')
                .unwrap_or_else(|| panic!("'[' without ']' in {text:?}"));
            entry.category = Some(category.to_owned());
            text = format!("{before} {after}");
        }
        let mut name = Vec::new();
        for word in text.split_whitespace() {
            match word.split_once('=') {
                // `f#graph_hash=1#`: host events carry arguments in their names.
                Some((key, _)) if key.contains('#') => name.push(word),
                Some((key, value)) => drop(entry.values.insert(key.to_owned(), value.to_owned())),
                None if matches!(word, "instant" | "root") => {
                    drop(entry.values.insert(word.to_owned(), "1".into()));
                }
                None => name.push(word),
            }
        }
        entry.name = name.join(" ");
        entry
    }

    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        let value = self.values.get(key)?;
        Some(
            value
                .replace('_', "")
                .parse()
                .unwrap_or_else(|_| panic!("{key}={value} is not a number")),
        )
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.number(key).map(|value| value as u64)
    }

    /// The op with this name in `program`.
    pub fn op(&self, program: Option<ProgramId>, out: &mut TraceBuilder) -> Op {
        let memory: Vec<_> = [
            ("hbm_read", MemorySpace::Hbm, Access::Read),
            ("hbm_write", MemorySpace::Hbm, Access::Write),
            ("vmem_read", MemorySpace::Vmem, Access::Read),
            ("vmem_write", MemorySpace::Vmem, Access::Write),
        ]
        .into_iter()
        .filter_map(|(key, space, access)| {
            Some(MemoryAccess {
                space,
                access,
                bytes: self.count(key)?,
            })
        })
        .collect();
        let in_memories =
            (!memory.is_empty()).then(|| memory.iter().map(|access| access.bytes).sum());
        let mut text = |text: Option<&String>| text.map(|text| out.intern(text));
        Op {
            name: text(Some(&self.name)).unwrap_or_default(),
            program,
            symbol_id: self.count("symbol"),
            category: text(self.category.as_ref()),
            hlo_text: text(self.hlo_text.as_ref()),
            flops: self.count("flops"),
            model_flops: self.count("model_flops"),
            bytes_accessed: self.count("bytes").or(in_memories),
            raw_bytes_accessed: self.count("raw_bytes"),
            memory,
            shape: text(self.values.get("shape")),
            framework_name: text(self.values.get("tf")),
            source: text(self.values.get("source")),
            ..Op::default()
        }
    }

    /// The program of a module called `jit_step(7)`.
    pub fn program(&self, out: &mut TraceBuilder) -> ProgramId {
        let (name, id) = match self
            .name
            .strip_suffix(')')
            .and_then(|name| name.rsplit_once('('))
        {
            Some((name, id)) => (name, id.parse().ok()),
            None => (self.name.as_str(), None),
        };
        out.program(name, id)
    }

    /// Name of the done op of this start op.
    pub fn done(&self) -> Option<&str> {
        self.values.get("done").map(String::as_str)
    }

    /// Facts to attach to each slice.
    pub fn attrs(&self, out: &mut TraceBuilder) -> Vec<(SliceAttr, i64)> {
        const KEYS: [(&str, SliceAttr); 8] = [
            ("run_id", SliceAttr::RunId),
            ("group", SliceAttr::GroupId),
            ("step", SliceAttr::StepNum),
            ("root", SliceAttr::StepRoot),
            ("collective", SliceAttr::CollectiveInstance),
            ("ordinal", SliceAttr::DeviceOrdinal),
            ("stall", SliceAttr::DmaStallPs),
            ("transfer", SliceAttr::TransferBytes),
        ];
        let mut attrs: Vec<_> = KEYS
            .into_iter()
            .filter_map(|(key, attr)| Some((attr, self.number(key)? as i64)))
            .collect();
        if let Some(done) = self.done() {
            attrs.push((SliceAttr::DoneOp, out.intern(done).index() as i64));
        }
        attrs
    }
}
