//! Lists that are as many as ops. They take a good part of the memory that the trace
//! takes: what grows by a quarter wastes less of it than what doubles.

/// Appends `item`.
pub(crate) fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 4 + 16);
    }
    list.push(item);
}
