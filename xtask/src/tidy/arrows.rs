//! Which crate may depend on which.

use super::Finding;
use super::files::File;

/// A package, the packages of ours it may use, and those of others if they are limited.
struct Rule {
    package: &'static str,
    ours: &'static [&'static str],
    others: Option<&'static [&'static str]>,
}

const fn rule(package: &'static str, ours: &'static [&'static str]) -> Rule {
    Rule {
        package,
        ours,
        others: None,
    }
}

/// The arrows point one way: the machines and the reactor know nothing of ours, front ends don't
/// know each other (but for the command, which brings Ruby along).
const RULES: [Rule; 9] = [
    Rule {
        package: "stepwell-proto",
        ours: &[],
        others: Some(&["memchr"]),
    },
    rule("stepwell-reactor", &[]),
    rule("stepwell", &["stepwell-proto", "stepwell-reactor"]),
    rule("stepwell-ruby", &["stepwell"]),
    rule("stepwell-python", &["stepwell"]),
    rule("stepwell-capi", &["stepwell"]),
    rule("stepwell-cli", &["stepwell", "stepwell-ruby"]),
    rule("stepwell-testkit", &[]),
    rule("xtask", &[]),
];

/// For tests only, and so in nobody's ordinary dependencies.
const TESTKIT: &str = "stepwell-testkit";

/// A dependency as a manifest names it.
struct Dependency {
    package: String,
    line: usize,
    dev: bool,
}

/// Checks the manifests of the workspace.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let manifest = |f: &&File| {
        let parts: Vec<&str> = f.path.split('/').collect();
        matches!(
            parts[..],
            ["crates", _, "Cargo.toml"] | ["xtask", "Cargo.toml"]
        )
    };
    files
        .iter()
        .filter(manifest)
        .flat_map(check_manifest)
        .collect()
}

fn check_manifest(file: &File) -> Vec<Finding> {
    let name = package_name(file);
    let Some(rule) = RULES.iter().find(|rule| rule.package == name) else {
        let what = format!("package `{name}` has no rule: add one to xtask/src/tidy/arrows.rs");
        return vec![Finding::new(file, 1, what)];
    };
    let mut findings = Vec::new();
    for Dependency { package, line, dev } in dependencies(file) {
        let ours = package.starts_with("stepwell") || package == "xtask";
        let good = if ours {
            rule.ours.contains(&&*package) || (dev && package == TESTKIT)
        } else {
            dev || rule.others.is_none_or(|others| others.contains(&&*package))
        };
        if !good {
            let list = if ours { Some(rule.ours) } else { rule.others }.unwrap_or_default();
            let what = format!(
                "{name} must not depend on {package}, only on [{}]; see the code map in \
                 ARCHITECTURE.md",
                list.join(", ")
            );
            findings.push(Finding::new(file, line, what));
        }
    }
    findings
}

fn package_name(file: &File) -> String {
    let line = file
        .text
        .lines()
        .find_map(|line| line.strip_prefix("name = "));
    line.unwrap_or_default()
        .trim()
        .trim_matches('"')
        .to_string()
}

/// The dependencies of a manifest, in whichever of TOML's ways they are written.
fn dependencies(file: &File) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section = String::new();
    for (number, line) in file.lines() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').to_string();
        }
        let Some((kind, single)) = dependency_section(&section) else {
            continue;
        };
        let dev = kind == "dev-dependencies";
        if line.starts_with('[') {
            if let Some(package) = single {
                found.push(Dependency {
                    package,
                    line: number,
                    dev,
                });
            }
        } else if single.is_none() && line.contains('=') && !line.starts_with('#') {
            let key: String = line.chars().take_while(|c| !"=. ".contains(*c)).collect();
            let package = renamed(line).unwrap_or(key.trim_matches('"').to_string());
            found.push(Dependency {
                package,
                line: number,
                dev,
            });
        }
    }
    found
}

/// The kind of a section of dependencies, and the package when the section is about one alone.
fn dependency_section(section: &str) -> Option<(&'static str, Option<String>)> {
    for kind in ["dev-dependencies", "build-dependencies", "dependencies"] {
        let Some(at) = section.find(kind) else {
            continue;
        };
        let rest = &section[at + kind.len()..];
        if rest.is_empty() {
            return Some((kind, None));
        }
        if let Some(package) = rest.strip_prefix('.') {
            return Some((kind, Some(package.trim_matches('"').to_string())));
        }
    }
    None
}

/// The package behind a renamed dependency.
fn renamed(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("package = \"")?;
    rest.split_once('"').map(|(package, _)| package.to_string())
}
