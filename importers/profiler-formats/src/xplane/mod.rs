//! `*.xplane.pb`: the output of the XLA profiler for one host, a serialized `XSpace`
//! of `tsl/profiler/protobuf/xplane.proto`. JAX, TensorFlow and PyTorch/XLA all
//! capture into it, on TPU, GPU and CPU.
//!
//! The file is read in place, in this order:
//!
//! 1. [`space`]: the outline: planes and their parts; damage is found here;
//! 2. [`tables`], [`ops`], [`programs`]: metadata, one label or op each;
//! 3. [`lines`], in parallel: events become slices; arguments stay in the file;
//! 4. [`counters`], curves of [`memory`], [`flows`], and asynchronous spans where a core has none.
//!
//! Left out on purpose: `child_id` of event metadata (the HLO proto contains more),
//! descriptions of stats, and dumps of compiler internals in `/host:metadata`.

mod args;
mod convert;
mod counted;
mod counters;
mod decode;
mod detect;
mod event;
mod facts;
mod first_look;
mod flows;
mod host_part;
mod ids;
mod known;
mod lines;
mod memory;
mod ops;
mod programs;
mod sizes;
mod space;
mod tables;

use importer_common::prelude::*;
use input::SharedBytes;
use input::source::SourceContent;
use trace_model::{ArgSource, ImportLog, wire};

pub use sizes::{PartSize, ProfilePart};
pub use space::{SpaceElement, visit_xplane_elements};

static FORMAT: TraceFormat = TraceFormat {
    id: args::FORMAT_ID,
    title: "XLA profile (XPlane protobuf)",
    extensions: &["xplane.pb", "xspace.pb", "pb"],
    markers: &[],
    about: "What the XLA profiler of JAX, TensorFlow and PyTorch/XLA writes: one file per host, read completely",
};

/// Bytes of the events of devices in a profile, and of all others, which its outline tells at once; `None` if it is no
/// `XPlane` protobuf, or packed.
pub fn event_bytes(source: &InputSource) -> Option<[u64; 2]> {
    let is_one = !source.is_gzip() && detect::confidence(source.head()) != DetectionConfidence::No;
    is_one.then(|| space::event_bytes(source.packed()))
}

/// How the bytes of a profile are divided, unpacked if it is packed; `None` if it is no `XPlane` protobuf.
///
/// # Errors
///
/// It cannot be read, or this was cancelled.
pub fn part_sizes(source: &InputSource, progress: &Progress) -> Result<Option<Vec<PartSize>>> {
    if detect::confidence(source.head()) == DetectionConfidence::No {
        return Ok(None);
    }
    let content = source.content(progress)?;
    Ok(Some(sizes::part_sizes((*content.bytes).as_ref())))
}

/// The importer of `*.xplane.pb`.
pub struct XPlane;

impl Importer for XPlane {
    fn format(&self) -> &'static TraceFormat {
        &FORMAT
    }

    fn detect(&self, head: &[u8]) -> DetectionConfidence {
        detect::confidence(head)
    }

    fn import(
        &self,
        source: &InputSource,
        options: &ImportOptions,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<()> {
        let SourceContent { bytes, damage } = source.content(progress)?;
        let file = (*bytes).as_ref();
        let mut log = ImportLog::default();
        if let Some(damage) = damage {
            log.add(IssueKind::TruncatedFile, || damage);
        }
        let mut space = space::RawSpace::read(file, &mut log);
        if let Some(broken) = space.broken
            && detect::is_text_mangled(file)
        {
            return Err(FORMAT.malformed(broken.at as u64, MANGLED));
        }
        if !space.is_usable() {
            let broken = space.broken.unwrap_or(wire::BrokenMessage {
                at: 0,
                why: "the file is empty",
            });
            let what = format!("{}; no part of the file can be read", broken.why);
            return Err(FORMAT.malformed(broken.at as u64, what));
        }
        if let Some(bytes) = options.first_look {
            if space.broken.is_some() || !space.keep_first(file, bytes) {
                return Err(FORMAT.unusable("it is read at once"));
            }
            out.set_partial();
        }
        out.log_mut().merge(log);
        convert::convert(&bytes, &space, source, options, progress, out)
    }

    fn reopen_args(
        &self,
        source: &InputSource,
        content: &dyn Fn() -> Option<SharedBytes>,
        state: &[u8],
    ) -> Option<Arc<dyn ArgSource>> {
        args::PlaneArgs::reopen(source, &content()?, state).map(|args| Arc::new(args) as _)
    }
}

/// Why a protobuf that went through a text filter is rejected.
const MANGLED: &str = "the file was converted to UTF-8 text at some point: bytes that are not text were replaced and \
    cannot be recovered. Copy the original again, in binary mode";

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod repeated_tests;
#[cfg(test)]
mod tests;
