//! `unsafe` stays in its rooms, and each use gives its reason.

use super::Finding;
use super::files::File;
use super::rust::{Masked, word_at};

/// Folders and files that may hold `unsafe`.
const ROOMS: [&str; 3] = [
    "crates/reactor/src/sys/",
    "crates/reactor/src/slot.rs",
    "bench/sys/",
];

/// Crates that have such a room; the root of every other one forbids unsafe code.
const WITH_ROOM: [&str; 1] = ["crates/reactor/"];

/// Checks one file.
pub(crate) fn check(file: &File) -> Vec<Finding> {
    let Some(rust) = &file.rust else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let room = ROOMS.iter().any(|room| file.path.starts_with(room));
    for (number, line) in rust.code() {
        let Some(at) = word_at(line, "unsafe") else {
            continue;
        };
        if !room {
            let what = format!("`unsafe` outside its rooms ({})", ROOMS.join(", "));
            findings.push(Finding::new(file, number, what));
        } else if !is_type(&line[at..]) && !has_reason(rust, number, &line[at..]) {
            let what = "`unsafe` without a reason: put `// SAFETY: ...` (for a function \
                        `# Safety` in its doc) right above";
            findings.push(Finding::new(file, number, what));
        }
    }
    if is_crate_root(&file.path) && !WITH_ROOM.iter().any(|room| file.path.starts_with(room)) {
        let forbids = rust
            .code()
            .any(|(_, line)| line.contains("#![forbid(unsafe_code)]"));
        if !forbids {
            findings.push(Finding::new(
                file,
                1,
                "add `#![forbid(unsafe_code)]` to the crate root",
            ));
        }
    }
    findings
}

fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts[..],
        ["crates", _, "src", "lib.rs" | "main.rs"] | ["xtask", "src", "lib.rs" | "main.rs"]
    )
}

/// The type of a function pointer, which does nothing.
fn is_type(code: &str) -> bool {
    let rest = code.trim_start_matches("unsafe").trim_start();
    let rest = rest
        .strip_prefix("extern")
        .map_or(rest, |r| r.trim_start().trim_start_matches('"'));
    rest.trim_start()
        .strip_prefix("fn")
        .is_some_and(|r| r.trim_start().starts_with('('))
}

/// Whether the comment above the statement of this line, or on it, says why it is sound.
fn has_reason(rust: &Masked, number: usize, code: &str) -> bool {
    let function = code.trim_start_matches("unsafe").trim_start();
    let function = function.starts_with("fn") || function.starts_with("extern");
    let says = |n: usize| {
        let comment = rust.comment_line(n);
        comment.contains("SAFETY:") || (function && comment.contains("# Safety"))
    };
    if says(number) {
        return true;
    }
    let mut at = number;
    let mut in_comment = false;
    while at > 1 {
        at -= 1;
        if says(at) {
            return true;
        }
        let line = rust.code_line(at).trim();
        let comment = !rust.comment_line(at).trim().is_empty();
        if line.is_empty() {
            // The comment block may be long; a blank line ends the search.
            if !comment {
                return false;
            }
            in_comment = true;
        } else if in_comment {
            return false;
        } else if line.ends_with([';', '{', '}']) && !is_shared(rust, at, number) {
            // The statement before; the one with `unsafe` may begin lines above it.
            return false;
        }
    }
    false
}

/// Whether two lines are `unsafe impl`s in a row: one reason above serves both.
fn is_shared(rust: &Masked, above: usize, number: usize) -> bool {
    let is_impl = |n: usize| rust.code_line(n).trim().starts_with("unsafe impl");
    (above..=number).all(|n| is_impl(n) || rust.code_line(n).trim().starts_with("#["))
}
