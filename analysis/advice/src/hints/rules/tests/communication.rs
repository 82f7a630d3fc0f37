//! Communication between devices.

use super::*;

#[test]
fn exposed_communication_saving_is_bounded_by_compute() {
    let picture = |compute: usize, wait: usize| {
        format!(
            "@column 10us\nops: {}{}\nM = f [convolution fusion]\nR = all-reduce.1 [all-reduce]",
            run('M', compute),
            run('R', wait)
        )
    };
    assert_eq!(saving(&picture(90, 10), "K01"), Some(100_000_000));
    assert_eq!(saving(&picture(91, 9), "K01"), None);
    // More communication than compute to hide it.
    assert_eq!(saving(&picture(20, 80), "K01"), Some(200_000_000));
}

#[test]
fn synchronous_collectives_save_at_most_the_compute() {
    let reduce = |compute, wait| communicating(compute, wait, "all-reduce", "");
    assert_eq!(saving(&reduce(98, 2), "K02"), Some(20_000_000));
    assert_eq!(saving(&reduce(99, 1), "K02"), None);
    assert_eq!(saving(&reduce(20, 80), "K02"), Some(200_000_000));
}

#[test]
fn communication_exceeding_compute_has_another_hint() {
    let reduce = |compute, wait| communicating(compute, wait, "all-reduce", "");
    assert_eq!(ids(&reduce(49, 51)), ["K01", "K02", "K44"]);
    assert!(!ids(&reduce(51, 49)).contains(&"K44"));
    // Without compute there is nothing to compare with.
    let only = report(&format!(
        "@column 10us\nops: {}\nR = all-reduce.1 [all-reduce]",
        run('R', 9)
    ));
    let mut said = only.hints.iter().filter(|hint| hint.id == "K44");
    let said = &said.next().unwrap().statement;
    assert!(said.contains("does not compute"), "{said}");
}

#[test]
fn all_to_all_has_its_own_hint() {
    assert_eq!(
        saving(&communicating(95, 5, "all-to-all", ""), "K47"),
        Some(50_000_000)
    );
    assert_eq!(saving(&communicating(96, 4, "all-to-all", ""), "K47"), None);
    assert_eq!(ids(&communicating(95, 5, "all-to-all", "")), ["K02", "K47"]);
    assert_eq!(
        saving(&communicating(90, 10, "all-reduce", ""), "K47"),
        None
    );
}

#[test]
fn large_messages_are_judged_against_link_bandwidth() {
    // 100 µs for so many bytes over four v5e chips.
    let gather = |elements: u64| {
        let text = format!(
            " :: %all-gather.1 = bf16[{elements}]{{0}} all-gather(bf16[{}]{{0}} %p), replica_groups={{{{0,1,2,3}}}}, dimensions={{0}}",
            elements / 4
        );
        communicating(90, 10, "all-gather", &text)
    };
    // 1.2 MB take tens of microseconds: far from the links; ten times as much is near them.
    assert_eq!(ids(&gather(600_000)), ["K01", "K02", "K03"]);
    assert!(!ids(&gather(6_000_000)).contains(&"K03"));
    // Below a mebibyte bytes do not matter.
    assert!(!ids(&gather(100_000)).contains(&"K03"));
    let unknown = report(&communicating(90, 10, "all-gather", ""));
    assert!(
        ["K03", "K04"]
            .iter()
            .all(|id| unknown.cannot_tell.iter().any(|rule| rule.id == *id))
    );
}

#[test]
fn small_messages_are_counted_per_step() {
    let picture = |count: usize| {
        let ops = format!("{}{}", run('M', 200), "RS".repeat(count / 2));
        let text = "all-reduce(f32[16]{0} %p), replica_groups={{0,1}}, to_apply=%add";
        format!(
            "@column 1us\nTPU:0 ops: {ops}\nTPU:1 ops: {ops}\nM = f [convolution fusion]\n\
             R = all-reduce.1 [all-reduce] :: %all-reduce.1 = f32[16]{{0}} {text}\n\
             S = all-reduce.2 [all-reduce] :: %all-reduce.2 = f32[16]{{0}} {text}"
        )
    };
    // All but one of twenty.
    assert_eq!(saving(&picture(20), "K04"), Some(19_000_000));
    assert_eq!(saving(&picture(18), "K04"), None);
    assert_eq!(ids(&picture(20)), ["K02", "K04", "K05"]);
}
