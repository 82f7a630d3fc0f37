//! Arguments of slices, read from the file when somebody looks.

use std::sync::Arc;

use trace_model::{Arg, ArgSource, ArgValue};

use super::ops::EventMetadata;
use super::tables::{Tables, stat};
use super::wire::{Cursor, Value};

/// Reads the stats of an event, then those of its metadata that the event does
/// not override. A handle is the offset of the event's field in its line.
pub(super) struct PlaneArgs(pub(super) Arc<Tables>);

impl ArgSource for PlaneArgs {
    fn args(&self, handle: u64) -> Result<Vec<Arg>, String> {
        let tables = &*self.0;
        let unreadable = |at: usize| format!("the arguments at byte {at} of the file cannot be read");
        let at = usize::try_from(handle).unwrap_or(usize::MAX);
        let file = tables.bytes();
        let Ok(Some((4, Value::Bytes(range)))) = Cursor::new(file, at..file.len()).next() else {
            return Err(unreadable(at));
        };
        let mut metadata_id = 0;
        let mut args = Vec::new();
        let mut cursor = Cursor::new(file, range);
        while let Some(field) = cursor.next().map_err(|broken| unreadable(broken.at))? {
            match field {
                (1, Value::Varint(id)) => metadata_id = id,
                (4, Value::Bytes(range)) => {
                    let (id, value) = stat(file, range).map_err(|broken| unreadable(broken.at))?;
                    push(&mut args, tables, id, tables.arg_value(&value));
                }
                _ => {}
            }
        }
        if let Some(message) = tables.event_row(metadata_id).and_then(|row| tables.event_messages().get(row)) {
            let (Ok(metadata) | Err((metadata, _))) = EventMetadata::read(tables, message.clone());
            // With a name to show, the other name is the text of the op.
            if !metadata.display_name.is_empty() && !metadata.name.is_empty() {
                let text = String::from_utf8_lossy(tables.slice(metadata.name)).into_owned();
                args.push(Arg { name: "long_name".to_owned(), value: ArgValue::Text(text) });
            }
            let own = args.len();
            for (id, value) in metadata.stats {
                let name = tables.stat_name(id);
                if !args[..own].iter().any(|arg| name.as_deref() == Some(&arg.name)) {
                    push(&mut args, tables, id, tables.arg_value(&value));
                }
            }
        }
        Ok(args)
    }
}

fn push(args: &mut Vec<Arg>, tables: &Tables, id: u64, value: ArgValue) {
    let name = tables.stat_name(id).map_or_else(|| format!("stat {id}"), std::borrow::Cow::into_owned);
    args.push(Arg { name, value });
}
