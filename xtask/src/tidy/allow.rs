//! The exceptions in `xtask/tidy.allow`, a ratchet.

use std::collections::BTreeMap;

use super::files::File;
use super::{Finding, sizes::Size};

/// Where the exceptions are written.
pub(crate) const PATH: &str = "xtask/tidy.allow";

/// What `tidy.allow` says.
#[derive(Default)]
pub(crate) struct Allowed {
    text: String,
    /// Limits by kind and place, each with its line.
    sizes: BTreeMap<(String, String), (usize, usize)>,
    /// Test files that may sleep, with the line.
    sleeps: BTreeMap<String, usize>,
    wrong: Vec<Finding>,
}

impl Allowed {
    /// Reads the file; without it there are no exceptions.
    pub(crate) fn read(files: &[File]) -> Self {
        let Some(file) = files.iter().find(|f| f.path == PATH) else {
            return Self::default();
        };
        let mut allowed = Self {
            text: file.text.clone(),
            ..Self::default()
        };
        for (number, line) in file.lines() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["sleep", path, _, ..] => {
                    allowed.sleeps.insert(path.into(), number);
                }
                [kind @ ("function" | "file" | "tests"), place, limit]
                    if limit.parse::<usize>().is_ok() =>
                {
                    let limit = limit.parse().unwrap_or_default();
                    allowed
                        .sizes
                        .insert((kind.into(), place.into()), (limit, number));
                }
                _ => allowed.wrong.push(Finding::new(
                    file,
                    number,
                    "neither `sleep PATH REASON` nor `function|file|tests PLACE LINES`",
                )),
            }
        }
        allowed
    }

    /// Whether tests in this file may sleep.
    pub(crate) fn may_sleep(&self, path: &str) -> bool {
        self.sleeps.contains_key(path)
    }

    /// Files that may sleep, each with its line in `tidy.allow`.
    pub(crate) fn sleepers(&self) -> impl Iterator<Item = (&str, usize)> {
        self.sleeps
            .iter()
            .map(|(path, line)| (path.as_str(), *line))
    }

    /// Findings for sizes above their limit, and for limits above the size.
    pub(crate) fn compare(self: &Allowed, sizes: &[Size]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self
            .wrong
            .iter()
            .map(|f| Finding {
                path: f.path.clone(),
                line: f.line,
                what: f.what.clone(),
            })
            .collect();
        for size in sizes {
            let key = (size.kind.name().to_string(), size.place.clone());
            let (limit, ratchet) = match self.sizes.get(&key) {
                Some(&(limit, _)) => (limit, " (its limit in xtask/tidy.allow)"),
                None => (size.kind.limit(), ""),
            };
            if size.lines > limit {
                findings.push(Finding {
                    path: size.path.clone(),
                    line: size.line,
                    what: format!(
                        "{} has {} lines, more than {limit}{ratchet}: {}",
                        size.title,
                        size.lines,
                        size.kind.remedy(),
                    ),
                });
            }
        }
        for ((kind, place), &(limit, line)) in &self.sizes {
            let now = present(sizes, kind, place);
            if now.is_none_or(|now| now < limit) {
                let now = now.map_or("keeps the limit".into(), |now| format!("has {now} lines"));
                let what =
                    format!("{kind} {place} {now} now: lower it with `cargo xtask tidy --bless`");
                findings.push(Finding {
                    path: PATH.into(),
                    line,
                    what,
                });
            }
        }
        findings
    }

    /// The text of the file with limits lowered to what is needed now.
    pub(crate) fn lowered(&self, sizes: &[Size]) -> String {
        let mut text = String::new();
        for (number, line) in self.text.lines().enumerate() {
            let entry = self.sizes.iter().find(|(_, (_, at))| *at == number + 1);
            let Some(((kind, place), &(limit, _))) = entry else {
                text.push_str(line);
                text.push('\n');
                continue;
            };
            if let Some(now) = present(sizes, kind, place) {
                text.push_str(&format!("{kind} {place} {}\n", now.min(limit)));
            }
        }
        text
    }
}

/// The size of a place that needs an exception; `None` when it needs none.
fn present(sizes: &[Size], kind: &str, place: &str) -> Option<usize> {
    let same = sizes
        .iter()
        .filter(|s| s.kind.name() == kind && s.place == place);
    same.filter(|s| s.lines > s.kind.limit())
        .map(|s| s.lines)
        .max()
}
