//! Words and blanks that don't belong.

use super::Finding;
use super::allow::{Allowed, PATH};
use super::files::File;
use super::rust::{Masked, has_word};

/// The longest line, in characters.
const COLUMNS: usize = 100;

/// Left-overs in code.
const LEFT_OVERS: [(&str, &str); 4] = [
    ("todo!", "write it, or return an error"),
    ("unimplemented!", "write it, or return an error"),
    ("dbg!", "remove it"),
    (
        "#[ignore",
        "a test that does not run shows nothing: mend or remove it",
    ),
];

/// The one good reason to ignore a test: it is the other process of a test that runs.
const PARTNER: &str = "#[ignore = \"a server that another test starts\"]";

/// Marks in comments.
const MARKS: [&str; 3] = ["FIXME", "XXX", "HACK"];

/// What the protocol machines must not know. Clippy refuses single items in `crates/proto` too,
/// see its `clippy.toml`; these are whole modules.
const IMPURE: [&str; 10] = [
    "Instant",
    "SystemTime",
    "thread::sleep",
    "std::thread",
    "std::net",
    "std::fs",
    "std::os",
    "std::env",
    "std::process",
    "libc",
];

/// Checks one file.
pub(crate) fn check(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if ours(file) {
        blanks(file, &mut findings);
        machine_paths(file, &mut findings);
    }
    if let Some(rust) = &file.rust {
        left_overs(file, rust, &mut findings);
        if file.path.starts_with("crates/proto/src/") {
            impure(file, rust, &mut findings);
        }
    }
    findings
}

/// Files written here, in a text format with lines.
fn ours(file: &File) -> bool {
    let vendored = [
        "conformance/http11/probe.py",
        "conformance/http11/cases.json",
    ];
    let generated = file.path.ends_with(".lock") || file.path.ends_with(".svg");
    // Inputs for the fuzzers are made of bytes, not of lines.
    let data = file.path.starts_with("fuzz/seeds/");
    !generated && !data && !vendored.contains(&file.path.as_str())
}

fn blanks(file: &File, findings: &mut Vec<Finding>) {
    let rust = file.rust.is_some();
    let narrow = rust || file.path.ends_with(".sh") || file.path.ends_with(".py");
    for (number, line) in file.lines() {
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(Finding::new(
                file,
                number,
                "blanks at the end of the line: remove them",
            ));
        }
        if rust && line.contains('\t') {
            findings.push(Finding::new(
                file,
                number,
                "a tab: use blanks, or \\t in a literal",
            ));
        }
        // A link can't be broken, and a message in a test is best read as one.
        let whole = line.contains("://") || is_test_message(file, number);
        if narrow && line.chars().count() > COLUMNS && !whole {
            findings.push(Finding::new(
                file,
                number,
                "longer than 100 columns: break it",
            ));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(Finding::new(
            file,
            0,
            "no line end at the end of the file: add it",
        ));
    }
}

/// Whether a line of a test or benchmark is nothing but a string.
fn is_test_message(file: &File, number: usize) -> bool {
    let Some(rust) = &file.rust else { return false };
    let string = rust.code_line(number).chars().all(|c| "\", ;".contains(c));
    string && (file.is_test() || file.path.contains("/benches/"))
}

/// Absolute paths that exist on the author's machine only.
fn machine_paths(file: &File, findings: &mut Vec<Finding>) {
    // Put together here, or this file would be a finding.
    let homes = ["home", "root", "Users", "work"].map(|name| format!("/{name}/"));
    for (number, line) in file.lines() {
        for home in &homes {
            let starts = line.match_indices(home.as_str()).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                before.is_none_or(|c| c.is_whitespace() || "\"'`(=".contains(c))
            });
            if starts {
                let what = format!("a path below {home}: name it relative to the repository");
                findings.push(Finding::new(file, number, what));
            }
        }
    }
}

fn left_overs(file: &File, rust: &Masked, findings: &mut Vec<Finding>) {
    for ((number, line), (_, full)) in rust.code().zip(file.lines()) {
        for (word, remedy) in LEFT_OVERS {
            if has_word(line, word) && !full.contains(PARTNER) {
                findings.push(Finding::new(file, number, format!("`{word}`: {remedy}")));
            }
        }
        for mark in MARKS {
            if has_word(rust.comment_line(number), mark) {
                let what = format!("{mark} in a comment: mend it, or say what holds and why");
                findings.push(Finding::new(file, number, what));
            }
        }
    }
}

fn impure(file: &File, rust: &Masked, findings: &mut Vec<Finding>) {
    for (number, line) in rust.code() {
        for word in IMPURE.into_iter().filter(|word| has_word(line, word)) {
            let what = format!(
                "`{word}` in a protocol machine: time and bytes come in as arguments, the rest \
                 belongs to crates/reactor or crates/server (addresses are in core::net)"
            );
            findings.push(Finding::new(file, number, what));
        }
    }
}

/// Sleeping in tests, but for the files that say why; and exceptions that nobody needs.
pub(crate) fn sleeps(files: &[File], allowed: &Allowed) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut sleeping = Vec::new();
    for file in files {
        let Some(rust) = &file.rust else { continue };
        let test = |n| file.is_test() || rust.test_modules().iter().any(|m| m.lines.contains(&n));
        for (number, line) in rust.code().filter(|(n, _)| test(*n)) {
            if !has_word(line, "sleep(") {
                continue;
            }
            sleeping.push(file.path.as_str());
            if !allowed.may_sleep(&file.path) {
                let what = format!(
                    "a sleep in a test: wait for the event, or poll with wait_until of \
                     crates/testkit. If sleeping is what a handler is tested for, add \
                     `sleep {} REASON` to {PATH}",
                    file.path
                );
                findings.push(Finding::new(file, number, what));
            }
        }
    }
    for (path, line) in allowed
        .sleepers()
        .filter(|(path, _)| !sleeping.contains(path))
    {
        let what = format!("nothing sleeps in {path}: remove the line");
        findings.push(Finding {
            path: PATH.into(),
            line,
            what,
        });
    }
    findings
}
