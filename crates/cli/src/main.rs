//! The `stepwell` command.
fn main() {}
