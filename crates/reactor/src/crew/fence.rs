//! A fence around code of the application that runs where nothing may unwind.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`, which is or calls the application's code: a destructor, a `Display`. Nothing when
/// it panicked.
pub fn fenced<R>(work: impl FnOnce() -> R) -> Option<R> {
    // Unwind safety: callers give up what `work` was working on when it panics.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => Some(result),
        Err(cause) => {
            // What a panic carries may be the application's, and have a destructor that panics.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(cause))) {
                std::mem::forget(again);
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fenced;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::panic_any(Bomb);
        }
    }

    #[test]
    fn nothing_gets_over_the_fence() {
        assert_eq!(fenced(|| 7), Some(7));
        assert_eq!(fenced(|| drop(Bomb)), None);
    }
}
