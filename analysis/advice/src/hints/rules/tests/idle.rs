//! Idle devices, and what the host does meanwhile.

use facts::TimeUse;

use super::*;

#[test]
fn idle_time_above_the_threshold_is_a_hint() {
    let picture = |idle: usize| {
        format!(
            "@column 10us\nops: M{}{}\nM = f [loop fusion]",
            run('.', idle),
            run('M', 99 - idle)
        )
    };
    assert_eq!(saving(&picture(10), "K31"), Some(100_000_000));
    assert_eq!(saving(&picture(9), "K31"), None);
    // Where the host shows the cause, a little is worth a hint, too.
    let severity = |idle: usize| {
        let rows = |program: &str, gap: char| format!("{program}{}", run(gap, idle)).repeat(10);
        let [modules, ops] = ['M', 'a'].map(|row| rows(&run(row, 20), '.'));
        let host = rows(&format!("D{}", run('.', 19)), 'h');
        let picture = format!(
            "@column 10us\nmodules: {modules}\nops: {ops}\nhost main: {host}\nM = jit_step(7)\nD = PjitFunction(step)\n\
             a = f [loop fusion]\nh = $train.py:30 log"
        );
        report(&picture)
            .hints
            .iter()
            .find(|hint| hint.id == "K31")
            .map(|hint| hint.severity)
    };
    let expected = [
        HintSeverity::Medium,
        HintSeverity::High,
        HintSeverity::Critical,
    ]
    .map(Some);
    assert_eq!([1, 2, 4].map(severity), expected, "without a cliff");
}

/// Before the loop the host compiles; in its steps no cause has half of the idle time.
#[test]
fn causes_and_places_are_those_of_the_steps() {
    let (before, busy, idle) = (200, 15, 6);
    let gap = "lleeii";
    let row = |own: char| format!("{}{}", run(own, busy), run('.', idle)).repeat(10);
    let digits: String = (0..10)
        .map(|step| step.to_string().repeat(busy + idle))
        .collect();
    let picture = format!(
        "@column 1ms\nsteps: {early}{digits}\nmodules: P{}{}\nops: M{}{}\nhost main: .{}{}\nP = jit_train(1)\n\
         M = fusion.1 [convolution fusion]\nc = backend_compile\nl = $train.py:30 log\ne = tpu::System::Execute\n\
         i = IteratorGetNext",
        run('.', before - 1),
        row('P'),
        run('.', before - 1),
        row('M'),
        run('c', before - 1),
        format!("{}{gap}", run('.', busy)).repeat(10),
        early = run('.', before),
    );
    let report = report(&picture);
    let hint = report.hints.iter().find(|hint| hint.id == "K31").unwrap();
    assert!(
        hint.statement
            .contains("; in the steps after warm-up 33.3 % of it while the host prepares input")
            && !hint.statement.contains("compiles"),
        "{}",
        hint.statement
    );
    let first = Picos::from_ps(before as i64 * 1_000_000_000);
    assert!(
        !hint.spots.is_empty()
            && hint
                .spots
                .iter()
                .all(|spot| spot.start_ps.ps() > first.ps()),
        "{:?}",
        hint.spots
    );
}

/// The device is idle before the loop, and hardly in it: what a hint saves in a step is next to nothing.
#[test]
fn idle_time_outside_of_the_steps_is_no_hint_on_them() {
    let before = 60;
    let (steps, digits): (String, String) = (0..10)
        .map(|step| (run('P', 20), step.to_string().repeat(20)))
        .unzip();
    let lead = run('.', before);
    let picture = format!(
        "@column 1ms\nsteps: {lead}{digits}\nmodules: P{}{steps}\nops: M{}{}\nhost main: {}\nP = jit_train(1)\n\
         M = fusion.1 [convolution fusion]\no = something",
        run('.', before - 1),
        run('.', before - 1),
        run('M', 200),
        run('o', before),
    );
    let report = report(&picture);
    assert_eq!(about_program(&report), [""; 0]);
    let open = report.unanswered.iter();
    let open = open.filter(|open| open.id == TimeUse::Idle);
    let open: Vec<&str> = open.map(|open| &*open.reason).collect();
    assert_eq!(open, ["hardly any of it is in the counted steps"]);
}

#[test]
fn gaps_are_attributed_to_host_activity() {
    let cases = [
        ("K32", "tpu::System::Execute", 10),
        ("K33", "np.asarray(jax.Array)", 10),
        ("K34", "IteratorGetNext", 10),
        ("K35", "DevicePut", 10),
    ];
    for (id, event, columns) in cases {
        let found = report(&gaps('h', columns, event));
        let hint = found
            .hints
            .iter()
            .find(|hint| hint.id == id)
            .unwrap_or_else(|| panic!("{id} is silent about {event}"));
        assert!(hint.statement.contains(event), "{id}: {}", hint.statement);
        let spot = hint
            .spots
            .first()
            .map(|spot| (spot.start_ps.ps(), spot.length_ps.ps()));
        assert_eq!(
            spot,
            Some((300_000_000, 100_000_000)),
            "{id} shows the first gap"
        );
        // Idle time that has a name is not told a second time.
        assert_eq!(about_program(&found), [id]);
        // 2.5 % of the window: input can be prefetched, the others have a price.
        assert_eq!(ids(&gaps('h', 1, event)).contains(&id), id == "K34", "{id}");
    }
}

#[test]
fn gaps_are_unexplained_without_programs() {
    let report = report(&mixed(50, "add.1", "loop fusion"));
    assert!(
        ["K32", "K33", "K34", "K35"]
            .iter()
            .all(|id| report.cannot_tell.iter().any(|rule| rule.id == *id))
    );
}

/// Of devices that idle equally long the first by name is shown.
#[test]
fn the_longest_gaps_are_those_of_the_first_of_equally_idle_devices() {
    let row = |device: usize, before: usize| {
        let (first, second) = (20 + before, 40 - before);
        let line = |own: char| format!("{}{}{}", run(own, first), run('.', 20), run(own, second));
        format!(
            "TPU:{device} modules: {}\nTPU:{device} ops: {}\n",
            line('P'),
            line('M')
        )
    };
    let picture = format!(
        "@column 1ms\n{}{}P = jit_step(7)\nM = f [convolution fusion]",
        row(0, 0),
        row(1, 5)
    );
    let found = report(&picture);
    let hint = found.hints.iter().find(|hint| hint.id == "K31").unwrap();
    let starts: Vec<i64> = hint.spots.iter().map(|spot| spot.start_ps.ps()).collect();
    assert_eq!(starts, [20_000_000_000]);
}
