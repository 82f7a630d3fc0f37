//! Names of the stats that the importer reads; all others stay arguments.

macro_rules! known_stats {
    ($($name:ident = $($text:literal)|+;)+) => {
        /// A stat by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Known { Other, $($name,)+ }

        impl Known {
            /// The stat of this name, exactly spelled.
            pub(super) fn from_name(name: &[u8]) -> Self {
                match std::str::from_utf8(name) {
                    $(Ok($($text)|+) => Self::$name,)+
                    _ => Self::Other,
                }
            }
        }
    };
}

known_stats! {
    DeviceOffset = "device_offset_ps";
    DeviceDuration = "device_duration_ps";
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
    CollectiveInstance = "all_reduce_unique_id";
    DmaStall = "dma_stall_duration_ps";
    TimeScale = "Time Scale Multiplier";
    OffloadCore = "offload_core_id";
    OffloadStart = "tc_offload_start_id";
    OffloadExecution = "offload_execution_index";
    CounterId = "performance_counter_id";
    Flow = "flow";
    GroupId = "group_id";
    RunId = "run_id";
    QueueId = "queue_id";
    DeviceOrdinal = "device_ordinal" | "index_on_host";
    StepNum = "step_num";
    StepRoot = "_r";
    SelfDuration = "self_duration_ps";
    MinDuration = "min_duration_ps";
    DroppedTraces = "dropped_traces";
    ProducerType = "_pt";
    ProducerId = "_p";
    ConsumerType = "_ct";
    ConsumerId = "_c";
    TransferBytes = "bytes_transferred" | "size";
    CounterValue = "counter_value";
    MemoryReserved = "bytes_reserved";
    MemoryAllocated = "bytes_allocated";
    MemoryAvailable = "bytes_available";
    Fragmentation = "fragmentation";
    RequestedBytes = "requested_bytes";
    AllocationBytes = "allocation_bytes";
    Address = "addr";
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
        assert_eq!(Known::from_name(b"device_offset_ps"), Known::DeviceOffset);
        assert_eq!(Known::from_name(b"Time Scale Multiplier"), Known::TimeScale);
        assert_eq!(Known::from_name(b"HLO Proto"), Known::HloProtoMisspelt);
        assert_eq!(Known::from_name(b"time scale multiplier"), Known::Other);
        assert_eq!(Known::from_name(b"\xff"), Known::Other);
    }
}
