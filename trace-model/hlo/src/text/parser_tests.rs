//! Forms of HLO text that XLA's own parser accepts or refuses. Each case names the test of `hlo_parser_test.cc` in
//! openxla/xla whose facts it takes; programs, names and sizes are our own.
//!
//! Deliberately different: values of literals, shardings and attributes that nothing here uses are not checked, so that a
//! text of a newer compiler can be read; a program without `ENTRY` is cut (there, its last computation is the entry);
//! instructions without a shape or with instructions as operands, which the compiler never prints, are counted as
//! broken and not inferred.

use std::sync::Arc;

use crate::syntax::{COMBINED, HloText, Shape};
use trace_model::ProgramBytes;

use crate::{HloError, HloModule, Instruction, TextProgram};

fn read(text: &str) -> Result<HloModule, HloError> {
    HloModule::from_whole_text(
        &ProgramBytes::new(Arc::new(text.to_owned()), 0..text.len()),
        "case",
    )
}

fn named<'a>(module: &'a HloModule, name: &str) -> &'a Instruction {
    module
        .find(name)
        .and_then(|id| module.instruction(id))
        .unwrap_or_else(|| panic!("no {name}"))
}

fn called<'a>(module: &'a HloModule, name: &str) -> Vec<&'a str> {
    let computation = |id| module.computation(id).map(|it| it.name.as_str());
    named(module, name)
        .called
        .iter()
        .filter_map(|&id| computation(id))
        .collect()
}

fn broken(text: &str) -> Vec<usize> {
    let read = TextProgram::read(text).unwrap();
    read.broken.into_iter().map(|(line, _)| line).collect()
}

/// `Map`, `Reduce` and all others of the short form: heads without a signature, names without `%`, indented as a whole.
#[test]
fn short_form_is_the_same_program() {
    let long = "HloModule sums\n\n%plus (u: f32[], v: f32[]) -> f32[] {\n  %u = f32[] parameter(0)\n  \
                %v = f32[] parameter(1)\n  ROOT %w = f32[] add(f32[] %u, f32[] %v)\n}\n\n\
                ENTRY %total(rows: f32[6,7]) -> f32[6] {\n  %rows = f32[6,7]{1,0} parameter(0)\n  %zero = f32[] constant(0)\n  \
                ROOT %sum = f32[6]{0} reduce(f32[6,7]{1,0} %rows, f32[] %zero), dimensions={1}, to_apply=%plus\n}\n";
    let short = "HloModule sums\n\n  plus {\n    u = f32[] parameter(0)\n    v = f32[] parameter(1)\n    \
                 ROOT w = f32[] add(u, v)\n  }\n\n  ENTRY total {\n    rows = f32[6,7]{1,0} parameter(0)\n    \
                 zero = f32[] constant(0)\n    ROOT sum = f32[6]{0} reduce(rows, zero), dimensions={1}, to_apply=plus\n  }\n";
    for text in [long, short] {
        let module = read(text).unwrap();
        assert_eq!(
            (
                module.computations.len(),
                module.instructions.len(),
                broken(text)
            ),
            (2, 6, Vec::new()),
            "{text}"
        );
        assert_eq!(
            (
                &*module.root(module.entry.unwrap()).unwrap().name,
                called(&module, "sum")
            ),
            ("sum", vec!["plus"])
        );
        assert_eq!(
            module.computation(module.entry.unwrap()).unwrap().name,
            "total"
        );
        let operands: Vec<&str> = module
            .operands(named(&module, "sum"))
            .map(|it| &*it.name)
            .collect();
        assert_eq!(
            (operands, module.cut.as_deref()),
            (vec!["rows", "zero"], None)
        );
    }
}

/// `NoRoot`: the last instruction. `SameNameDiffComputations`: operands are those of the computation.
#[test]
fn roots_and_names_belong_to_their_computation() {
    let module = read(
        "HloModule m\nhalf {\n  x = f32[4] parameter(0)\n  y = f32[4] negate(x)\n}\nENTRY main {\n  x = f32[9] parameter(0)\n  \
         y = f32[9] negate(x)\n}\n",
    )
    .unwrap();
    for (at, computation) in module.computations.iter().enumerate() {
        let root = module.instruction(computation.root.unwrap()).unwrap();
        let operand = module.operands(root).next().unwrap();
        let bytes = |it: &Instruction| it.shape.as_ref().unwrap().bytes();
        assert_eq!(
            (&*root.name, bytes(root), bytes(operand)),
            ("y", Some([16, 36][at]), Some([16, 36][at]))
        );
    }
}

/// `Comments`, `MultilineComments`, `SlashSlashComments`, `SlashSlashCommentMsDosEolFormat`,
/// `ParseComputationNameClosingBrace`.
#[test]
fn comments_are_left_out() {
    let text = "/* what it is */ HloModule noted\r\n// nothing\r\nENTRY /*here*/ main {\r\n  /*\r\n   ROOT old = f32[7]{0} constant({1})\r\n  */\r\n  \
                // x = f32[3]{0} constant({1, 2, 3})\r\n  \
                ROOT new = /*size*/f32[2]{0} custom-call(), custom_call_target=\"a//b\", metadata={op_name=\"/*c*/\"} // last\r\n\
                } // main\r\n/* end */\r\n";
    let module = read(text).unwrap();
    assert_eq!(
        (
            module.name.as_str(),
            module.instructions.len(),
            broken(text)
        ),
        ("noted", 1, Vec::new())
    );
    let new = named(&module, "new");
    assert_eq!(new.shape.as_ref().unwrap().bytes(), Some(8));
    assert_eq!(
        (
            new.attributes().custom_call_target.as_deref(),
            &*new.op_name
        ),
        (Some("a//b"), "/*c*/")
    );
    // `UnterminatedComment`: the line is no instruction, and what follows is still read.
    let text = "HloModule m\nENTRY main {\n/* never closed\n  ROOT a = f32[1]{0} constant({5})\n}";
    assert_eq!(
        (broken(text), read(text).unwrap().instructions.len()),
        (vec![3], 1)
    );
}

/// `PipelinedSendRecv`, `CheckIndexedConditionalDimension`: an instruction goes on over several lines.
#[test]
fn instructions_span_lines() {
    let text = "HloModule m\n\nup {\n  ROOT p = f32[4] parameter(0)\n}\n\ndown {\n  ROOT q = f32[4] parameter(0)\n}\n\nENTRY main {\n  \
                which = s32[] parameter(0)\n  v = f32[4] parameter(1)\n  token = token[] after-all()\n  \
                in = (f32[4], u32[], token[]) recv(token), channel_id=3,\n    frontend_attributes={\n      \
                _xla_send_recv_source_target_pairs=\"{{1,0}}\",\n      _xla_send_recv_pipeline=\"0\"\n    }\n\n  \
                ROOT pick = f32[4] conditional(which, v, v),\n    branch_computations={up, down}\n}\n";
    let module = read(text).unwrap();
    assert_eq!((broken(text), module.instructions.len()), (Vec::new(), 7));
    assert_eq!(
        named(&module, "in")
            .attributes()
            .collective
            .as_ref()
            .unwrap()
            .channel_id,
        Some(3)
    );
    assert_eq!(called(&module, "pick"), ["up", "down"]);
    // An instruction that never closes its brackets costs only itself.
    let text = "HloModule m\nENTRY main {\n  a = f32[4] parameter(0)\n  b = f32[4] add(a,\n  c = f32[4] negate(a)\n}\n";
    assert_eq!(
        (broken(text), read(text).unwrap().instructions.len()),
        (vec![4], 2)
    );
}

/// `OriginalValueRecoveryTable`: programs in quotes in the head are not computations of this one.
#[test]
fn head_of_a_program_spans_lines() {
    let text = "HloModule m, num_partitions=2, origin_recovery_table={\n  {\"a\"} : {\"b\"},\n  \"\n    HloModule other\n\n    \
                %inner (x: s32[]) -> s32[] {\n      ROOT %x = s32[] parameter(0), metadata={op_name=\\\"f\\\"}\n    }\n  \"\n}\n\n\
                ENTRY %main () -> u32[] {\n  ROOT %id = u32[] partition-id()\n}\n";
    let module = read(text).unwrap();
    assert_eq!(
        (
            module.computations.len(),
            module.instructions.len(),
            module.name.as_str()
        ),
        (1, 1, "m")
    );
    assert_eq!(module.devices.as_ref().unwrap().partitions, 2);
}

/// `SelectAndScatter`, `PredicatedConditional`, `IndexedConditional`, `CustumCallMultipleComps`, `Call`,
/// `WhileWithScalarS32Result`: all computations, in the order of the protobuf.
#[test]
fn called_computations_are_known() {
    let bodies: String = ["one", "two", "three"]
        .map(|name| format!("{name} {{\n  ROOT p = s32[] parameter(0)\n}}\n"))
        .concat();
    for (attributes, expected) in [
        ("select=two, scatter=one", vec!["two", "one"]),
        (
            "true_computation=three, false_computation=one",
            vec!["three", "one"],
        ),
        (
            "branch_computations={%three, %one, %two}",
            vec!["three", "one", "two"],
        ),
        (
            "custom_call_target=\"f\", called_computations={one, one}",
            vec!["one", "one"],
        ),
        (
            "to_apply=two, is_composite=true, frontend_attributes={composite.attributes={n = 1 : i32},composite.name=\"a\"}",
            vec!["two"],
        ),
        ("condition=one, body=two", vec!["two", "one"]),
    ] {
        let text = format!(
            "HloModule m\n{bodies}ENTRY main {{\n  a = s32[] parameter(0)\n  ROOT r = s32[] op(a), {attributes}\n}}\n"
        );
        assert_eq!(called(&read(&text).unwrap(), "r"), expected, "{attributes}");
    }
}

/// `AsyncOpsWithSyntaxSugarAndThreadName`, `HloComputationWithParallelThreadName`,
/// `AsyncInstructionWithAttributesShouldPropagateToWrappedInstruction`.
#[test]
fn asynchronous_ops_keep_their_short_names() {
    let text = "HloModule m\nENTRY %main (p: f32[10]) -> f32[20] {\n  %p = f32[10]{0} parameter(0)\n  \
                %go = ((f32[10]{0}), f32[20]{0}, s32[]) custom-call-start(f32[10]{0} %p), async_execution_thread=\"side\", custom_call_target=\"f\",\n    \
                metadata={op_type=\"add\" op_name=\"a name\" source_file=\"a/b.py\" source_line=68, source_end_line=70}\n  \
                ROOT %end = f32[20]{0} custom-call-done(((f32[10]{0}), f32[20]{0}, s32[]) %go)\n}, execution_thread=\"main_thread\"\n";
    let module = read(text).unwrap();
    let go = named(&module, "go");
    assert_eq!(
        (&*go.opcode, &*named(&module, "end").opcode),
        ("custom-call-start", "custom-call-done")
    );
    assert_eq!(
        (&*go.op_name, &*go.source_file, go.source_line),
        ("a name", "a/b.py", 68)
    );
    assert_eq!(
        module
            .operands(named(&module, "end"))
            .map(|it| &*it.name)
            .collect::<Vec<_>>(),
        ["go"]
    );
    assert_eq!(
        (
            module.cut.as_deref(),
            go.attributes().custom_call_target.as_deref()
        ),
        (None, Some("f"))
    );
}

/// `AttributesAnyOrder`, `PaddingConfigIsNotWindowPad`, `ConvolutionBackward`, `CustomCallWithUnknownDimLabels`.
#[test]
fn windows_are_read_in_any_order() {
    let window = |attributes: &str| {
        let line = format!(
            "%c = f32[1,4,1]{{2,0,1}} convolution(f32[1,2,1]{{2,0,1}} %a, f32[1,1,1]{{2,1,0}} %b), {attributes}"
        );
        let module = HloModule::from_text(&line).unwrap();
        let found = named(&module, "c")
            .attributes()
            .convolution
            .as_ref()
            .unwrap()
            .window
            .clone();
        found
            .iter()
            .map(|it| (it.size, it.padding_low, it.padding_high, it.base_dilation))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        window("dim_labels=b0f_0io->b0f, window={pad=1_1 size=1}"),
        [(1, 1, 1, 1)]
    );
    assert_eq!(
        window("window={size=3x3 pad=1_2x0_-1 lhs_dilate=2x2}, dim_labels=b01f_01oi->b01f"),
        [(3, 1, 2, 2), (3, 0, -1, 2)]
    );
    assert_eq!(
        window("dim_labels=b0f_0io->b0f, window={pad=1_1_0 size=1}"),
        []
    );
    assert_eq!(
        window("window={size=2x2}, dim_labels=?b01f_0?1io->b01?f").len(),
        2
    );
}

/// `ParseShapeString…`, `ParseDynamic…`, `ParseBuffer…`, `AllowShapeWhitespace`, `ParseInvalidShapeString`.
#[test]
fn shapes_have_the_sizes_of_the_compiler() {
    let bytes = |text: &str| Shape::parse(text).map(|shape| shape.bytes());
    for (text, expected) in [
        ("f32[12,45]", 2160),
        ("(f32[15],s8[5,10])", 110),
        ("(f32[1],(f32[2], token[]), opaque[], f32[3])", 24),
        ("f32[12,<=45]", 2160),
        ("(f32[4], u32[<=3,<=4])", 64),
        ("s4[12,45]{1,0:T(2,128)E(4)}", 270),
        ("f32[12,45]{1,0:T(16,128)M(1024)}", 2160),
        ("pred[12,45]{1,0:S(3)SC(0:10)(1:4,5)}", 540),
        ("f32[ 1, 2,3, 4, 5]{0, 1, 2,3, 4 }", 480),
        ("b(s32[])", 4),
        ("b(f32[8,16]{1,0})", 512),
    ] {
        assert_eq!(bytes(text), Some(Some(expected)), "{text}");
    }
    // An unbounded size is unknown; the last ones are no shapes.
    for text in [
        "f32[?,784]",
        "f32[12,45]foobar{0,1}",
        "f32[12,45]dense{foo}",
        "b()",
        "b(s32[], f32[])",
    ] {
        assert_eq!(bytes(text), None, "{text}");
    }
    let tiled = |text: &str| {
        let shape = Shape::parse(text).unwrap();
        let array = shape.array().unwrap();
        (array.tiles.clone(), array.memory_space, array.to_string())
    };
    let printed = "bf16[12,45,78]{2,1,0:T(2,*,128)(2,1)}";
    assert_eq!(
        tiled(printed),
        (
            vec![vec![2, COMBINED, 128], vec![2, 1]],
            0,
            printed.to_owned()
        )
    );
    assert_eq!(
        tiled("f32[12,45,78]{0,1,2:T(2, * , 128)}").0,
        [[2, COMBINED, 128]]
    );
    assert_eq!(tiled("pred[12,45]{1,0:T(2,128)S(3)}").1, 3);
}

/// `AllReduceWithSubgroupsIotaList`, `AllGatherWithSubgroupsIotaList`, `CollectivePermuteInPlaceUpdate`,
/// `AllReduceWithMode`, `ParseNamedShardingSubAxes2` for the syntax of meshes.
#[test]
fn collectives_have_their_groups() {
    let of = |line: &str| HloModule::from_text(line).unwrap();
    let groups = |attributes: &str| {
        let module = of(&format!(
            "r = f32[8]{{0}} all-reduce(i), {attributes}, to_apply=add"
        ));
        named(&module, "r")
            .attributes()
            .collective
            .as_ref()?
            .groups
            .as_ref()?
            .expand()
    };
    let rows = groups("replica_groups=[2,10]<=[20]").unwrap();
    assert_eq!((rows.len(), rows[1][0], rows[1][9]), (2, 10, 19));
    assert_eq!(
        groups("replica_groups=[3,10]<=[6,5]T(1,0)").unwrap()[0],
        [0, 5, 10, 15, 20, 25, 1, 6, 11, 16]
    );
    assert_eq!(
        groups("mode=cross_replica, replica_groups={}"),
        Some(Vec::new())
    );
    assert_eq!(
        groups("replica_groups=mesh[a=2,b=4] {b:(2)2}").unwrap()[0],
        [0, 1]
    );
    let permute = of(
        "r = f32[9] collective-permute(i, o, t, u), source_target_pairs={{0,1},{1,2},{2,3}}, slice_sizes={{1,3}}",
    );
    assert_eq!(
        named(&permute, "r")
            .attributes()
            .collective
            .as_ref()
            .unwrap()
            .pairs,
        [(0, 1), (1, 2), (2, 3)]
    );
}

/// `ParseFrontendAttributes`, `CustomCallWithBackendConfigInCurlyBraces`, `CustomCallWithLiteralTuple`,
/// `CommaBetweenSubAttributes`, `ConstantPred`.
#[test]
fn attributes_nest_and_quote() {
    let text = r#"r = f32[2] custom-call(a), custom_call_target="foo\"bar", literal=( s32[2]{0} {4, 1}, pred[1]{0} {1} ), backend_config={key: "},"}, frontend_attributes={x="t",y={type="s64"},z="a=\"b/c\""}, metadata={source_line=5, op_name="\"it\'s\n"}"#;
    let hlo = HloText::parse(text).unwrap();
    assert_eq!(hlo.custom_call_target(), Some(r#"foo\"bar"#));
    assert_eq!(
        hlo.attribute("literal"),
        Some("( s32[2]{0} {4, 1}, pred[1]{0} {1} )")
    );
    assert_eq!(hlo.attribute("backend_config"), Some(r#"{key: "},"}"#));
    assert_eq!(
        hlo.attribute("frontend_attributes"),
        Some(r#"{x="t",y={type="s64"},z="a=\"b/c\""}"#)
    );
    assert_eq!(
        (
            hlo.metadata("op_name").as_deref(),
            hlo.metadata("source_line").as_deref()
        ),
        (Some("\"it's\n"), Some("5"))
    );
}

/// `NoEntry`, `InferUnaryShape`, `SimpleNesting`, `Empty`, `Garbage`: what is not read is said.
#[test]
fn unread_parts_are_counted() {
    let cut = read("HloModule m\none {\n  ROOT a = f32[1] parameter(0)\n}\ntwo {\n  ROOT b = f32[1] parameter(0)\n}\n")
        .unwrap();
    assert_eq!(
        (cut.entry, cut.cut.as_deref()),
        (None, Some("before the ENTRY computation"))
    );
    let text = "HloModule m\nENTRY main {\n  a = f32[2] parameter(0)\n  b = abs(a)\n  ROOT c = add(f32[2] parameter(1), a)\n}\n";
    assert_eq!(
        (broken(text), read(text).unwrap().instructions.len()),
        (vec![4, 5], 1)
    );
    assert!(read("HloModule thi$ str1ng makes# N0 sen$e @all!*&^%$").is_err());
    assert!(TextProgram::read("").is_none());
}

/// `Dot`, `nested_fusion` and `fused_while` of the graph viewer's cases: what is inside fusions and loops.
#[test]
fn fusions_and_loops_nest() {
    let text = "HloModule m\n\ninner {\n  l = f32[6,9]{1,0} parameter(0)\n  r = f32[9,4]{1,0} parameter(1)\n  \
                ROOT d = f32[6,4]{1,0} dot(l, r), lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_tf32_tf32_f32\n}\n\n\
                outer {\n  x = f32[6,9]{1,0} parameter(0)\n  y = f32[9,4]{1,0} parameter(1)\n  \
                ROOT in = f32[6,4]{1,0} fusion(x, y), kind=kOutput, calls=inner\n}\n\n\
                again {\n  ROOT s = (s32[], f32[6,9]{1,0}, f32[9,4]{1,0}) parameter(0)\n}\n\n\
                until {\n  t = (s32[], f32[6,9]{1,0}, f32[9,4]{1,0}) parameter(0)\n  ROOT p = pred[] constant(false)\n}\n\n\
                ENTRY main {\n  x = f32[6,9]{1,0} parameter(0)\n  y = f32[9,4]{1,0} parameter(1)\n  \
                z = (s32[], f32[6,9]{1,0}, f32[9,4]{1,0}) parameter(2)\n  \
                w = (s32[], f32[6,9]{1,0}, f32[9,4]{1,0}) while(z), condition=until, body=again, backend_config={\"known_trip_count\":{\"n\":\"10\"}}\n  \
                ROOT f = f32[6,4]{1,0} fusion(x, y), kind=kLoop, calls=outer\n}\n";
    let module = read(text).unwrap();
    let products = module.products(named(&module, "f")).unwrap();
    assert_eq!(
        products
            .iter()
            .map(|it| (it.m, it.k, it.n))
            .collect::<Vec<_>>(),
        [(6, 9, 4)]
    );
    let (body, condition) = module.loop_body(named(&module, "w")).unwrap();
    let name = |id| module.computation(id).unwrap().name.as_str();
    assert_eq!((name(body), name(condition)), ("again", "until"));
    assert_eq!(named(&module, "w").attributes().trip_count, Some(10));
    assert!(
        module
            .computations
            .iter()
            .filter(|it| it.is_fusion)
            .map(|it| &*it.name)
            .eq(["inner", "outer"])
    );
}
