//! The usual order of rows: the largest first, and equal ones by name.

/// Sorts by an amount, the largest first, and equal ones by name.
pub fn largest_first<T, A: Ord, N: Ord + ?Sized>(
    rows: &mut [T],
    amount: impl Fn(&T) -> A,
    name: impl Fn(&T) -> &N,
) {
    rows.sort_by(|a, b| {
        let by_amount = amount(b).cmp(&amount(a));
        by_amount.then_with(|| name(a).cmp(name(b)))
    });
}

/// Sorts by a number that need not be whole, the largest first, and equal ones by name.
pub fn largest_number_first<T, N: Ord + ?Sized>(
    rows: &mut [T],
    number: impl Fn(&T) -> f64,
    name: impl Fn(&T) -> &N,
) {
    rows.sort_by(|a, b| {
        let by_number = number(b).total_cmp(&number(a));
        by_number.then_with(|| name(a).cmp(name(b)))
    });
}
