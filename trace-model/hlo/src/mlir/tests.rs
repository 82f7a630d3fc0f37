//! Texts in the form that JAX prints, written for these tests.

use super::*;
use crate::{ProductPrecision, ProgramMatch, executions};

const TEXT: &str = r#"#loc1 = loc("x")
module @jit_step attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32> {tf.aliasing_output = 1 : i32} loc("x"), %arg1: tensor<16x4xbf16> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> (tensor<f32> {jax.result_info = "a"}, tensor<8x16xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32> loc(#loc4)
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %arg0) : tensor<i32>, tensor<8x16xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %5 = stablehlo.compare LT, %iterArg, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = func.call @body(%iterArg_1) : (tensor<8x16xf32>) -> tensor<8x16xf32>
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %6 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %6, %5 : tensor<i32>, tensor<8x16xf32>
    } loc(#loc3)
    %1 = stablehlo.convert %arg1 : (tensor<16x4xbf16>) -> tensor<16x4xf32>
    %2 = stablehlo.dot_general %0#1, %1, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32> loc(#loc3)
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 7, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %12 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %12 : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    %k = stablehlo.custom_call @tpu_custom_call(%0#1) {backend_config = "x : y"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %u = other.thing %k : tensor<8x16xf32>
    return %4, %u : tensor<f32>, tensor<8x16xf32>
  }
  func.func private @body(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}
#loc2 = loc("/src/model.py":12:4 to :9)
#loc3 = loc("jit(step)/dot_general"(callsite(#loc2 at #loc4)))
#loc4 = loc("main"(#loc2))
"#;

fn find<'a>(module: &'a HloModule, opcode: &str) -> &'a Instruction {
    let mut all = module.instructions.iter();
    all.find(|it| &*it.opcode == opcode).unwrap()
}

#[test]
fn ops_become_instructions_of_hlo() {
    assert!(is_mlir(TEXT.as_bytes()) && !is_mlir(b"HloModule m"));
    let module = read(TEXT);
    assert_eq!((module.name.as_str(), &module.cut), ("jit_step", &None));
    let dot = find(&module, "dot");
    assert_eq!(dot.shape.as_ref().unwrap().to_string(), "f32[8,4]");
    assert_eq!(&*dot.op_name, "jit(step)/dot_general");
    assert_eq!(module.source(dot).as_deref(), Some("/src/model.py:12"));
    let product = module.product(dot).unwrap();
    assert_eq!((product.m, product.k, product.n), (8, 16, 4));
    assert_eq!(
        dot.attributes().precision.operands[0],
        ProductPrecision::Highest
    );
    let operands: Vec<&str> = module.operands(dot).map(|it| &*it.opcode).collect();
    assert_eq!(operands, ["get-tuple-element", "convert"]);
    let reduce = find(&module, "all-reduce");
    let collective = reduce.attributes().collective.as_ref().unwrap();
    assert_eq!(collective.groups.as_ref().unwrap().size(), Some(2));
    assert_eq!((collective.channel_id, reduce.called.len()), (Some(7), 1));
    let kernel = find(&module, "custom-call");
    assert_eq!(
        kernel.attributes().custom_call_target.as_deref(),
        Some("tpu_custom_call")
    );
    assert_eq!(&*find(&module, "other.thing").opcode, "other.thing");
    assert_eq!(module.devices.as_ref().unwrap().partitions, 2);
    assert_eq!(
        (
            module.aliases[0].parameter,
            module.aliases[0].output_index[0]
        ),
        (0, 1)
    );
    let parameters = module.parameters();
    assert_eq!((parameters.len(), &*parameters[0].1.op_name), (2, "x"));
    assert!(
        parameters[1]
            .1
            .attributes()
            .sharding
            .as_ref()
            .unwrap()
            .contains("[2,1]")
    );
}

#[test]
fn loops_and_calls_have_computations() {
    let module = read(TEXT);
    let outer = find(&module, "while");
    let (body, condition) = module.loop_body(outer).unwrap();
    assert_eq!(&*module.root(condition).unwrap().opcode, "compare");
    let inside: Vec<&str> = module
        .instructions_of(body)
        .iter()
        .map(|it| &*it.opcode)
        .collect();
    assert_eq!(
        inside,
        ["parameter", "parameter", "call", "constant", "add", "tuple"]
    );
    assert_eq!(outer.operands.len(), 2);
    let state = &module.instructions_of(body)[1];
    assert_eq!(state.shape.as_ref().unwrap().to_string(), "f32[8,16]");
    let root = module.root(module.entry.unwrap()).unwrap();
    assert_eq!((&*root.opcode, root.operands.len()), ("tuple", 2));
    assert!(executions(&module).iter().all(|it| it.times >= 1));
}

#[test]
fn renamed_programs_are_equal_and_changed_ones_are_not() {
    let first = read(TEXT);
    let renamed = TEXT
        .replace("%c_2", "%q")
        .replace("@body", "@other")
        .replace("handle = 7", "handle = 9");
    let second = read(&renamed.replace("model.py\":12", "model.py\":99"));
    assert!(ProgramMatch::of(&first, &second).is_equal());
    let changed = read(&TEXT.replace("stablehlo.tanh", "stablehlo.sine"));
    let found = ProgramMatch::of(&first, &changed);
    assert_eq!((found.only_first.len(), found.only_second.len()), (1, 1));
    assert!(!ProgramMatch::of(&first, &read(&TEXT.replace("HIGHEST", "HIGH"))).is_equal());
}

/// Locations of arguments have brackets of their own; a mesh names its axes.
#[test]
fn regions_of_other_dialects_have_arguments() {
    let text = "module @m {\n  sdy.mesh @mesh = <[\"y\"=2, \"x\"=4]>\n  \
        func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n    \
        %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\"} \
        (%b: tensor<2xf32> loc(\"a(\"(#loc1))) {\n      %1 = stablehlo.tanh %b : tensor<2xf32>\n      \
        sdy.return %1 : tensor<2xf32>\n    } : (tensor<8xf32>) -> tensor<8xf32>\n    \
        return %0 : tensor<8xf32>\n  }\n}\n";
    let module = read(text);
    assert_eq!(module.axis_name(4, 1, 8).map(|name| &**name), Some("x"));
    let tanh = find(&module, "tanh");
    let operand = module.operands(tanh).next().unwrap();
    assert_eq!((&*operand.opcode, operand.bytes()), ("parameter", 8));
    assert!(
        crate::running_computations(&module)
            .iter()
            .all(|runs| *runs)
    );
}

#[test]
fn barriers_keep_the_types_of_their_values() {
    let module = read(
        "module @m {\n  func.func public @main(%a: tensor<8xf32>, %b: tensor<4xbf16>) -> tensor<4xbf16> {\n    \
         %0:2 = stablehlo.optimization_barrier %a, %b : tensor<8xf32>, tensor<4xbf16>\n    \
         %1 = stablehlo.tanh %0#1 : tensor<4xbf16>\n    return %1 : tensor<4xbf16>\n  }\n}\n",
    );
    let tanh = find(&module, "tanh");
    let part = module.operands(tanh).next().unwrap();
    assert_eq!(&*part.opcode, "get-tuple-element");
    assert_eq!(part.shape.as_ref().unwrap().to_string(), "bf16[4]");
}

#[test]
fn another_sharding_of_a_parameter_is_a_change() {
    let (first, second) = (read(TEXT), read(&TEXT.replace("[2,1]<=", "[1,2]<=")));
    let found = ProgramMatch::of(&first, &second);
    let changed = found.pairs.iter().filter(|pair| !pair.is_same);
    assert_eq!(changed.count(), 1);
}

#[test]
fn damaged_texts_are_read_as_far_as_they_go() {
    for cut in 0..TEXT.len() {
        let module = read(TEXT.get(..cut).unwrap_or(""));
        assert!(module.instructions.len() < 60);
    }
    let itself = "module @m {\n  func.func @main(%a: tensor<f32>) -> tensor<f32> {\n    %0 = call @main(%a) : (tensor<f32>) -> tensor<f32>\n    return %0 : tensor<f32>\n  }\n}\n";
    assert_eq!(read(itself).instructions.len(), 2);
    let deep = format!(
        "module @m {{\n func.func @main() {{\n {}",
        "%0 = \"a.b\"() ({\n".repeat(3000)
    );
    let _ = read(&deep);
}

#[test]
fn counting_loops_have_trip_counts() {
    let module = read(TEXT);
    assert_eq!(module.trip_count(find(&module, "while")), Some(3));
    let one_value = "func.func public @main(%arg0: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.while(%iterArg = %c) : tensor<i32>
    cond {
      %c_0 = stablehlo.constant dense<12> : tensor<i32>
      %1 = \"stablehlo.compare\"(%iterArg, %c_0) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_0 : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }
    return %0 : tensor<i32>
  }";
    let module = read(one_value);
    assert_eq!(module.trip_count(find(&module, "while")), Some(10));
    let of_data = read(&one_value.replace("(%iterArg = %c)", "(%iterArg = %arg0)"));
    assert_eq!(of_data.trip_count(find(&of_data, "while")), None);
    let of_fractions = read(&one_value.replace("i32", "f32").replace("<12>", "<1.2e+01>"));
    assert_eq!(of_fractions.trip_count(find(&of_fractions, "while")), None);
    // A value that a region takes from outside has no place among the operands.
    let captured = read(
        &TEXT
            .replace(
                "%c = stablehlo.constant dense<0> : tensor<i32> loc(#loc4)",
                "%c = stablehlo.constant dense<0> : tensor<i32>",
            )
            .replace("%iterArg_1 = %arg0)", "%iterArg_1 = %outside)"),
    );
    assert_eq!(captured.trip_count(find(&captured, "while")), None);
}

#[test]
fn a_program_for_several_partitions_is_not_divided_yet() {
    let text = |partitions: u32| {
        format!(
            "module @f attributes {{mhlo.num_partitions = {partitions} : i32}} {{\n  func.func public @main(%arg0: \
             tensor<8xf32>) -> tensor<8xf32> {{\n    return %arg0 : tensor<8xf32>\n  }}\n}}\n"
        )
    };
    assert!(read(&text(8)).may_get_collectives());
    assert!(!read(&text(1)).may_get_collectives());
}

#[test]
fn work_of_kernels_is_what_they_declare() {
    let kernel = "backend_config = \"{\\22custom_call_config\\22: {\\22cost_estimate\\22: {\\22flops\\22: 48}}}\"";
    let module = read(&TEXT.replace("backend_config = \"x : y\"", kernel));
    let flops = |module: &HloModule| {
        let kernel = find(module, "custom-call");
        crate::CostAnalysis::new(module)
            .flops(kernel)
            .map(|it| it.all)
    };
    assert_eq!(flops(&module), Some(48));
    assert_eq!(flops(&read(TEXT)), None);
    assert_eq!(
        flops(&read(&TEXT.replace("@tpu_custom_call", "@Sharding"))),
        Some(0)
    );
    let ragged = TEXT.replace("%u = other.thing %k", "%u = \"chlo.ragged_dot\"(%k, %k)");
    let module = read(&ragged);
    let product = find(&module, "ragged-dot");
    assert_eq!(crate::CostAnalysis::new(&module).flops(product), None);
}
