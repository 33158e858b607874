//! Chores of the workspace: `cargo xtask tidy [--bless]`.
#![forbid(unsafe_code)]

mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask tidy           check what the compiler can't: crate boundaries, unsafe, sizes, papers
cargo xtask tidy --bless   lower the limits of xtask/tidy.allow that are no longer reached";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The workspace lies around this package; cargo knows where even when started elsewhere.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."));
    let result = match words[..] {
        ["tidy"] => tidy::check(root),
        ["tidy", "--bless"] => tidy::bless(root),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("tidy: {} finding(s)", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::from(71)
        }
    }
}
