//! Shapes as text, and their sizes.

use super::*;

#[test]
fn shapes_print_in_hlo_syntax() {
    let texts = [
        "bf16[8,128]{1,0:T(8,128)(2,1)S(1)}",
        "s4[16,128]{1,0:T(64,128)(8,1)E(4)}",
        "f32[]{:T(128)}",
        "f32[3,5]{1,0}",
        "pred[]",
    ];
    assert_eq!(
        texts.map(|text| Shape::parse(text).unwrap().array().unwrap().to_string()),
        texts
    );
}

#[test]
fn static_shapes_borrow_nothing() {
    let shape = Shape::parse("(bf16[2]{0}, mystery[3])")
        .unwrap()
        .into_static();
    assert_eq!(
        shape
            .arrays()
            .iter()
            .map(|array| array.dtype)
            .collect::<Vec<_>>(),
        ["bf16", "unknown"]
    );
    assert_eq!(
        [
            dtype_of_number(16),
            dtype_of_number(34),
            dtype_of_number(99)
        ],
        ["bf16", "buffer", "unknown"]
    );
}

#[test]
fn reads_layout_tiles_and_memory_space() {
    let Some(Shape::Array(shape)) = Shape::parse("bf16[8,128]{1,0:T(8,128)(2,1)S(1)}") else {
        panic!("an array")
    };
    assert_eq!(
        (shape.dtype, shape.dims.as_slice(), shape.memory_space),
        ("bf16", [8, 128].as_slice(), 1)
    );
    assert_eq!(shape.minor_to_major, [1, 0]);
    assert_eq!(shape.tiles, [vec![8, 128], vec![2, 1]]);
    assert_eq!(shape.bytes(), Some(2048));
}

#[test]
fn sub_byte_types_are_packed() {
    let bytes = |text: &str| Shape::parse(text).unwrap().bytes();
    assert_eq!(
        bytes("f4e2m1fn[5120,4096]{1,0:T(64,128)(8,1)E(4)}"),
        Some(5120 * 4096 / 2)
    );
    assert_eq!(bytes("s4[3]"), Some(2));
    assert_eq!(bytes("pred[3]"), Some(3));
    assert_eq!(bytes("f8e4m3fn[3]"), Some(3));
    assert_eq!(bytes("f32[]"), Some(4));
    assert_eq!(bytes("token[]"), Some(0));
    assert_eq!(bytes("mystery[3]"), None);
    assert_eq!(
        bytes("(f32[2]{0}, (s8[3]{0}, u32[]{:S(2)}))"),
        Some(8 + 3 + 4)
    );
}

#[test]
fn hostile_sizes_do_not_overflow() {
    assert_eq!(
        Shape::parse("f32[18446744073709551615,4]").unwrap().bytes(),
        None
    );
    assert_eq!(Shape::parse("f32[18446744073709551616]"), None);
    assert_eq!(Shape::parse(&"(".repeat(100_000)), None);
    let deep = format!("{}f32[]{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(Shape::parse(&deep), None);
}
