//! Collectives of a training step.

use super::op::{ReplicaGroupPattern, SyntheticOp, SyntheticRole};
use super::program::{BF16, SyntheticCompiler, op, shape};

/// A collective, before it is decided whether it is synchronous or asynchronous.
pub(super) struct SyntheticCollective {
    opcode: &'static str,
    devices: u32,
    /// Shapes of the result and of the operand.
    shapes: (String, String),
    /// Size of the whole buffer.
    buffer: u64,
    /// Bytes from and to HBM.
    bytes: (u64, u64),
    takes_ps: i64,
    attributes: String,
    groups: ReplicaGroupPattern,
    place: String,
}

impl SyntheticCompiler<'_> {
    /// All-gather of a layer's weights over the data axis.
    pub fn gather(&mut self, layer: u32) -> SyntheticCollective {
        let (devices, width) = (self.spec.data, self.spec.width);
        let buffer = 2 * width * self.hidden * BF16;
        SyntheticCollective {
            opcode: "all-gather",
            devices,
            shapes: (
                shape("bf16", &[2, width, self.hidden]),
                shape("bf16", &[2, width / u64::from(devices), self.hidden]),
            ),
            buffer,
            bytes: (buffer / u64::from(devices), buffer),
            takes_ps: self.pace().ring_ps(devices, buffer, 1),
            attributes: ", dimensions={1}, use_global_device_ids=true".to_owned(),
            groups: self.groups_over_data(),
            place: format!("layer_{layer}/all_gather"),
        }
    }

    /// Reduce-scatter of a layer's gradients.
    pub fn scatter(&mut self, layer: u32) -> SyntheticCollective {
        let gather = self.gather(layer);
        SyntheticCollective {
            opcode: "reduce-scatter",
            shapes: (gather.shapes.1, gather.shapes.0),
            bytes: (gather.bytes.1, gather.bytes.0),
            attributes: format!("{}, to_apply=%add", gather.attributes),
            place: format!("transpose(layer_{layer})/reduce_scatter"),
            ..gather
        }
    }

    /// All-reduce of activations over the model axis.
    pub fn reduce(&mut self, place: &str) -> SyntheticCollective {
        let devices = self.spec.model;
        let shape = shape("bf16", &[self.tokens, self.spec.width]);
        let buffer = self.tokens * self.spec.width * BF16;
        let (groups, total) = (self.spec.data, self.spec.devices());
        SyntheticCollective {
            opcode: "all-reduce",
            devices,
            shapes: (shape.clone(), shape),
            buffer,
            bytes: (buffer, buffer),
            takes_ps: self.pace().ring_ps(devices, buffer, 2),
            attributes: ", use_global_device_ids=true, to_apply=%add".to_owned(),
            groups: ReplicaGroupPattern {
                channel: 0,
                count: u64::from(groups),
                size: u64::from(devices),
                dims: vec![u64::from(total)],
                permutation: Vec::new(),
            },
            place: place.to_owned(),
        }
    }

    fn groups_over_data(&self) -> ReplicaGroupPattern {
        let (data, model) = (u64::from(self.spec.data), u64::from(self.spec.model));
        ReplicaGroupPattern {
            channel: 0,
            count: model,
            size: data,
            dims: vec![data, model],
            permutation: vec![1, 0],
        }
    }

    pub fn wait_for(&mut self, collective: &SyntheticCollective) {
        let number = self.next_number();
        let name = format!("{}.{number}", collective.opcode);
        let elements = collective.buffer / BF16;
        let flops = if collective.opcode == "all-gather" {
            0
        } else {
            elements
        };
        self.out.run(SyntheticOp {
            dur_ps: collective.takes_ps,
            flops,
            bytes: [collective.bytes.0, collective.bytes.1, 0],
            shape: collective.shapes.0.clone(),
            ..self.half(
                collective,
                &name,
                collective.opcode,
                SyntheticRole::SyncCollective,
            )
        });
    }

    pub fn start(&mut self, collective: &SyntheticCollective) -> super::schedule::PendingTransfer {
        let opcode = if collective.opcode == "all-gather" {
            "all-gather-start"
        } else {
            "all-reduce-start"
        };
        let number = self.next_number();
        let op = SyntheticOp {
            bytes: [collective.bytes.0, 0, 0],
            shape: match opcode {
                "all-gather-start" => format!("({}, {})", collective.shapes.1, collective.shapes.0),
                _ => collective.shapes.0.clone(),
            },
            ..self.half(
                collective,
                &format!("{opcode}.{number}"),
                opcode,
                SyntheticRole::CollectiveStart,
            )
        };
        self.out.start(op, collective.takes_ps)
    }

    pub fn finish(
        &mut self,
        collective: &SyntheticCollective,
        pending: &super::schedule::PendingTransfer,
    ) {
        let opcode = if collective.opcode == "all-gather" {
            "all-gather-done"
        } else {
            "all-reduce-done"
        };
        let start = self.out.op_of(pending);
        let name = start.name.replace("-start", "-done");
        let operands = vec![(start.shape.clone(), start.name.clone())];
        let op = SyntheticOp {
            bytes: [0, collective.bytes.1, 0],
            shape: collective.shapes.0.clone(),
            operands,
            attributes: String::new(),
            groups: None,
            ..self.half(collective, &name, opcode, SyntheticRole::CollectiveDone)
        };
        self.out.finish(pending, op);
    }

    fn half(
        &self,
        collective: &SyntheticCollective,
        name: &str,
        opcode: &'static str,
        role: SyntheticRole,
    ) -> SyntheticOp {
        SyntheticOp {
            operands: vec![(
                collective.shapes.1.clone(),
                format!("operand.{}", self.number),
            )],
            attributes: format!(
                ", channel_id={}, {}{}",
                self.number,
                collective.groups.text(),
                collective.attributes
            ),
            groups: Some(ReplicaGroupPattern {
                channel: self.number,
                ..collective.groups.clone()
            }),
            framework_name: format!("jit(train_step)/jit(main)/{}:", collective.place),
            source_line: 38,
            collective: Some((collective.devices, collective.buffer)),
            opcode,
            ..op(name, opcode, role)
        }
    }
}
