//! The file format: a metadata message, then one message per node, each preceded by its length. Fields are those of
//! `et_def.proto`, which versions 0.0.4 to 1.0.0 share.

use std::ops::Range;

use trace_model::wire::{BrokenMessage, WireCursor, WireValue};

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NodeKind {
    Metadata,
    RemoteLoad,
    RemoteStore,
    Compute,
    Send,
    Receive,
    Collective,
}

impl NodeKind {
    pub fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            1 => Self::Metadata,
            2 => Self::RemoteLoad,
            3 => Self::RemoteStore,
            4 => Self::Compute,
            5 => Self::Send,
            6 => Self::Receive,
            7 => Self::Collective,
            _ => return None,
        })
    }
}

/// A node of the graph.
#[derive(Debug, Default)]
pub(crate) struct ChakraNode {
    /// 0 if it is missing.
    pub id: u64,
    pub name: String,
    /// `None` for unknown numbers.
    pub kind: Option<NodeKind>,
    /// Data dependencies. Control dependencies lead from kernels back to their launches; simulators also ignore them.
    pub needs: Vec<u64>,
    pub start_us: u64,
    pub duration_us: u64,
    pub is_on_host: bool,
    pub flops: Option<u64>,
    pub bytes: Option<u64>,
    /// Number of the collective's pattern.
    pub pattern: Option<u64>,
    /// For an all-gather one part, otherwise the whole input.
    pub message_bytes: Option<u64>,
}

/// Maximum number of nodes; a node takes up to a hundred times its bytes in the file.
const MAX_NODES: usize = 1 << 22;

/// The readable part of a graph.
#[derive(Debug, Default)]
pub(crate) struct ChakraGraph {
    pub version: String,
    pub nodes: Vec<ChakraNode>,
    /// Position and kind of the damage.
    pub broken: Option<BrokenMessage>,
}

/// Reads a file up to any damage.
pub(crate) fn read(file: &[u8]) -> ChakraGraph {
    let mut graph = ChakraGraph::default();
    let mut messages = WireCursor::new(file, 0..file.len());
    let mut is_first = true;
    while messages.position() < file.len() {
        let read = messages.length_delimited().and_then(|range| {
            if std::mem::take(&mut is_first) {
                graph.version = metadata(file, range)?;
            } else if range.is_empty() {
                return Err(BrokenMessage {
                    at: range.start,
                    why: "an empty node",
                });
            } else if graph.nodes.len() == MAX_NODES {
                return Err(BrokenMessage {
                    at: range.start,
                    why: "too many nodes",
                });
            } else {
                graph.nodes.push(node(file, range)?);
            }
            Ok(())
        });
        if let Err(broken) = read {
            graph.broken = Some(broken);
            break;
        }
    }
    graph
}

/// Whether a file may begin with these bytes: metadata and, if `head` is long enough, a node.
pub(crate) fn begins(head: &[u8]) -> bool {
    let mut messages = WireCursor::new(head, 0..head.len());
    let Ok(first) = messages.length_delimited() else {
        return false;
    };
    let Ok(version) = metadata(head, first) else {
        return false;
    };
    let is_version = !version.is_empty()
        && version
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    // The first node can be longer than the head.
    is_version
        && messages.length_delimited().map_or(true, |range| {
            node(head, range).is_ok_and(|it| it.kind.is_some())
        })
}

/// The version of the schema, from a field or from an attribute that converters write.
fn metadata(file: &[u8], range: Range<usize>) -> Result<String, BrokenMessage> {
    let start = range.start;
    let mut fields = WireCursor::new(file, range);
    let mut version = String::new();
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, WireValue::Bytes(range)) => version = text(file, range),
            (2, WireValue::Bytes(range)) => {
                let (name, value) = named_text(file, range)?;
                if name == "schema" {
                    version = value;
                }
            }
            _ => {
                return Err(BrokenMessage {
                    at: start,
                    why: "not the metadata of a graph",
                });
            }
        }
    }
    Ok(version)
}

fn named_text(file: &[u8], range: Range<usize>) -> Result<(String, String), BrokenMessage> {
    let (mut name, mut value) = (String::new(), String::new());
    let mut fields = WireCursor::new(file, range);
    while let Some((number, content)) = fields.next()? {
        match (number, content) {
            (1, WireValue::Bytes(range)) => name = text(file, range),
            (3.., WireValue::Bytes(range)) => value = text(file, range),
            _ => {}
        }
    }
    Ok((name, value))
}

fn node(file: &[u8], range: Range<usize>) -> Result<ChakraNode, BrokenMessage> {
    let mut node = ChakraNode::default();
    let mut fields = WireCursor::new(file, range);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, WireValue::Varint(id)) => node.id = id,
            (2, WireValue::Bytes(range)) => node.name = text(file, range),
            (3, WireValue::Varint(kind)) => node.kind = NodeKind::from_number(kind),
            (5, WireValue::Varint(id)) => node.needs.push(id),
            (5, WireValue::Bytes(range)) => {
                let end = range.end;
                let mut packed = WireCursor::new(file, range);
                while packed.position() < end {
                    node.needs.push(packed.varint()?);
                }
            }
            (6, WireValue::Varint(micros)) => node.start_us = micros,
            (7, WireValue::Varint(micros)) => node.duration_us = micros,
            (10, WireValue::Bytes(range)) => attribute(file, range, &mut node)?,
            _ => {}
        }
    }
    // Each dependency becomes a flow, so repeated ones would take many times their bytes in the file.
    node.needs.sort_unstable();
    node.needs.dedup();
    Ok(node)
}

/// Reads a numeric attribute; every type has its own field.
fn attribute(file: &[u8], range: Range<usize>, node: &mut ChakraNode) -> Result<(), BrokenMessage> {
    let (mut name, mut number) = (0..0, None);
    let mut fields = WireCursor::new(file, range);
    while let Some((field, value)) = fields.next()? {
        match (field, value) {
            (1, WireValue::Bytes(range)) => name = range,
            (3.., WireValue::Varint(value)) => number = Some(value),
            _ => {}
        }
    }
    match file.get(name).unwrap_or_default() {
        b"is_cpu_op" => node.is_on_host = number.unwrap_or(0) != 0,
        b"num_ops" => node.flops = number,
        b"tensor_size" => node.bytes = number,
        b"comm_type" => node.pattern = number,
        b"comm_size" => node.message_bytes = number,
        _ => {}
    }
    Ok(())
}

fn text(file: &[u8], range: Range<usize>) -> String {
    String::from_utf8_lossy(file.get(range).unwrap_or_default()).into_owned()
}
