//! Counts what requests cost, so that tests can tell how a cost grows without looking at a clock.
//! Outside of unit tests there is nothing to count, and nothing is.

#[cfg(not(test))]
pub(crate) fn step(_: usize) {}

#[cfg(test)]
pub(crate) use counted::{of, step};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn step(count: usize) {
        STEPS.with(|steps| steps.set(steps.get() + count));
    }

    /// The steps that something takes, all on this thread.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (usize, T) {
        let before = STEPS.with(Cell::get);
        let result = work();
        (STEPS.with(Cell::get) - before, result)
    }
}
