//! Names of the stats that the importer reads; all others stay arguments.

use importer_common::names::execution_attr;
use importer_common::prelude::*;

/// A number that an event can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventNumber {
    Occurrences,
    DeviceStart,
    DeviceDuration,
    ProducerType,
    Producer,
    ConsumerType,
    Consumer,
    Flow,
    SelfDuration,
    MinDuration,
}

impl EventNumber {
    pub const COUNT: usize = Self::MinDuration as usize + 1;

    fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"device_offset_ps" => Self::DeviceStart,
            b"device_duration_ps" => Self::DeviceDuration,
            b"_pt" => Self::ProducerType,
            b"_p" => Self::Producer,
            b"_ct" => Self::ConsumerType,
            b"_c" => Self::Consumer,
            b"flow" => Self::Flow,
            b"self_duration_ps" => Self::SelfDuration,
            b"min_duration_ps" => Self::MinDuration,
            _ => return None,
        })
    }
}

/// What a stat of a memory event says.
fn memory_attr(name: &[u8]) -> Option<SliceAttr> {
    Some(match name {
        b"index_on_host" => SliceAttr::DeviceOrdinal,
        b"bytes_reserved" => SliceAttr::MemoryReserved,
        b"bytes_allocated" => SliceAttr::MemoryAllocated,
        b"bytes_available" => SliceAttr::MemoryAvailable,
        b"fragmentation" => SliceAttr::FragmentationBits,
        b"requested_bytes" => SliceAttr::RequestedBytes,
        b"allocation_bytes" => SliceAttr::AllocationBytes,
        b"addr" => SliceAttr::Address,
        _ => return None,
    })
}

macro_rules! known_stats {
    ($($name:ident = $($text:literal)|+;)+) => {
        /// A stat by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Known {
            Other,
            /// A number of one execution that is stored as it is.
            Attr(SliceAttr),
            /// A number of one event that the importer needs.
            Number(EventNumber),
            $($name,)+
        }

        impl Known {
            /// The stat of this name, exactly spelled.
            pub(super) fn from_name(name: &[u8]) -> Self {
                let attr = execution_attr(name).or_else(|| memory_attr(name)).map(Self::Attr);
                let of_event = || attr.or_else(|| EventNumber::of(name).map(Self::Number));
                match std::str::from_utf8(name) {
                    $(Ok($($text)|+) => Self::$name,)+
                    _ => of_event().unwrap_or(Self::Other),
                }
            }
        }
    };
}

known_stats! {
    Category = "hlo_category";
    ProgramId = "program_id";
    SymbolId = "symbol_id";
    Flops = "flops";
    ModelFlops = "model_flops";
    BytesAccessed = "bytes_accessed";
    RawBytesAccessed = "raw_bytes_accessed";
    MemoryBreakdown = "memory_access_breakdown";
    Shape = "shape_with_layout";
    FrameworkName = "tf_op";
    DeduplicatedName = "deduplicated_name";
    Source = "source";
    SourceStack = "source_stack";
    HloOp = "hlo_op";
    AllReduceId = "all_reduce_id";
    Allocator = "allocator_name";
    // One release of libtpu spells it in capitals.
    HloProto = "Hlo Proto";
    HloProtoMisspelt = "HLO Proto";
    ProfileStart = "profile_start_time";
    ProfileStop = "profile_stop_time";
    DeviceType = "device_type_string";
    PeakTeraflops = "peak_teraflops_per_second";
    PeakHbm = "peak_hbm_bw_gigabytes_per_second";
    PeakCmemRead = "peak_cmem_rd_bw_gigabytes_per_second";
    PeakCmemWrite = "peak_cmem_wr_bw_gigabytes_per_second";
    PeakVmemRead = "peak_vmem_rd_bw_gigabytes_per_second";
    PeakVmemWrite = "peak_vmem_wr_bw_gigabytes_per_second";
    HasMegacore = "has_megacore";
    HasMergedVmem = "has_merged_vmem";
    CoreDetails = "core_details";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_names_match_exactly() {
        assert_eq!(
            Known::from_name(b"device_offset_ps"),
            Known::Number(EventNumber::DeviceStart)
        );
        assert_eq!(
            Known::from_name(b"Time Scale Multiplier"),
            Known::Attr(SliceAttr::TimeScaleBits)
        );
        assert_eq!(Known::from_name(b"HLO Proto"), Known::HloProtoMisspelt);
        assert_eq!(Known::from_name(b"time scale multiplier"), Known::Other);
        assert_eq!(Known::from_name(b"\xff"), Known::Other);
    }
}
