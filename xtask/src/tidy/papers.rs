//! The papers: what they name exists, and the changelog has a place for the next entry.

use super::Finding;
use super::files::File;

/// Papers whose paths are checked.
const PAPERS: [&str; 4] = [
    "ARCHITECTURE.md",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
];

/// Endings that make a word a file's name.
const ENDINGS: [&str; 9] = [
    ".rs", ".toml", ".md", ".py", ".sh", ".json", ".lock", ".allow", ".svg",
];

/// The most lines of ARCHITECTURE.md: it is read whole, or it is not read.
const ARCHITECTURE_LIMIT: usize = 500;

/// Checks all papers.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| PAPERS.contains(&f.path.as_str())) {
        paths(file, files, &mut findings);
    }
    let find = |path: &str| files.iter().find(|f| f.path == path);
    if let Some(file) = find("ARCHITECTURE.md") {
        let lines = file.lines().count();
        if lines > ARCHITECTURE_LIMIT {
            let what = format!("{lines} lines, more than {ARCHITECTURE_LIMIT}: shorten it");
            findings.push(Finding::new(file, 0, what));
        }
    }
    if let Some(file) = find("CHANGELOG.md") {
        if !file
            .text
            .lines()
            .any(|line| line.starts_with("## [Unreleased]"))
        {
            let what = "no heading `## [Unreleased]`: add it above the newest release";
            findings.push(Finding::new(file, 0, what));
        }
    }
    for path in ["ARCHITECTURE.md", "CHANGELOG.md", "README.md"] {
        if find(path).is_none() {
            let what = "the paper is missing: write it".to_string();
            findings.push(Finding {
                path: path.into(),
                line: 0,
                what,
            });
        }
    }
    findings
}

/// Paths in backticks have to exist. Places in a file go by name, not by line number: those rot.
fn paths(paper: &File, files: &[File], findings: &mut Vec<Finding>) {
    let mut fenced = false;
    for (number, line) in paper.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for word in line.split('`').skip(1).step_by(2) {
            let path = word.trim_end_matches('/');
            if let Some((file, place)) = word.rsplit_once(':') {
                if is_path(file, files) && place.chars().all(|c| c.is_ascii_digit()) {
                    let what = format!("`{word}`: a line number rots, name the function");
                    findings.push(Finding::new(paper, number, what));
                }
            }
            if is_path(word, files) && !exists(path, files) {
                let what = format!("`{word}` does not exist: mend the path, seen from the root");
                findings.push(Finding::new(paper, number, what));
            }
        }
    }
}

/// Whether a word means a path: it ends as folders or files do, or begins at a folder of the root.
fn is_path(word: &str, files: &[File]) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if word.is_empty() || !word.chars().all(plain) || word.starts_with('/') {
        return false;
    }
    let ends = ENDINGS
        .iter()
        .any(|end| word.len() > end.len() && word.ends_with(end));
    let rooted = word
        .split_once('/')
        .is_some_and(|(first, _)| exists(first, files));
    ends || rooted || word.ends_with('/')
}

fn exists(path: &str, files: &[File]) -> bool {
    let below = |f: &File| {
        f.path
            .strip_prefix(path)
            .is_some_and(|r| r.is_empty() || r.starts_with('/'))
    };
    files.iter().any(below)
}
