//! What the compiler and clippy don't check, as a test.
//!
//! Each rule is a function from files to findings in a module of its own. Limits that the tree
//! does not keep yet are a ratchet: `xtask/tidy.allow` names the exceptions, none may grow, and
//! one that has shrunk has to be lowered (`--bless`).

mod allow;
mod arrows;
mod dead;
mod files;
mod papers;
mod rooms;
mod rust;
mod sizes;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::Path;

use allow::Allowed;
use files::File;

/// Something to mend, and where.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// From 1; 0 means the file as a whole.
    line: usize,
    /// What is wrong and how to mend it.
    what: String,
}

impl Finding {
    fn new(file: &File, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: file.path.clone(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}: {}", self.path, self.what)
        } else {
            write!(f, "{}:{}: {}", self.path, self.line, self.what)
        }
    }
}

/// Checks the tree below `root`.
pub(crate) fn check(root: &Path) -> io::Result<Vec<Finding>> {
    let files = files::read_tree(root)?;
    let allowed = Allowed::read(&files);
    let mut findings = Vec::new();
    let sizes = sizes::measure(&files);
    findings.extend(allowed.compare(&sizes));
    findings.extend(words::sleeps(&files, &allowed));
    findings.extend(arrows::check(&files));
    findings.extend(papers::check(&files));
    findings.extend(dead::check(&files));
    for file in &files {
        findings.extend(words::check(file));
        findings.extend(rooms::check(file));
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// Lowers or removes the exceptions that are no longer needed; never adds or raises one.
pub(crate) fn bless(root: &Path) -> io::Result<Vec<Finding>> {
    let files = files::read_tree(root)?;
    let sizes = sizes::measure(&files);
    let lowered = Allowed::read(&files).lowered(&sizes);
    std::fs::write(root.join(allow::PATH), lowered)?;
    check(root)
}
