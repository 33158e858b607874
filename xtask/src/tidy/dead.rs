//! Files that nobody uses: the compiler does not mention a module that was never declared.

use super::Finding;
use super::files::File;
use super::rust::has_word;

/// Checks that every module is declared and that every example is run by a test.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        if !is_declared(file, files) {
            let what = "no `mod` names this file, so it is not compiled: declare or remove it";
            findings.push(Finding::new(file, 0, what));
        }
        if let Some(name) = example(file) {
            if !is_run(name, files) {
                let what = format!("no test in crates/server/tests/ runs the example {name}");
                findings.push(Finding::new(file, 0, what));
            }
        }
    }
    findings
}

/// Whether a file below `src/` is a root or named by the module above it.
fn is_declared(file: &File, files: &[File]) -> bool {
    let Some(stem) = file.path.strip_suffix(".rs") else {
        return true;
    };
    let Some((package, module)) = stem.split_once("/src/") else {
        return true;
    };
    let module = module.strip_suffix("/mod").unwrap_or(module);
    if matches!(module, "lib" | "main") || module.starts_with("bin/") {
        return true;
    }
    let (parents, name) = match module.rsplit_once('/') {
        Some((parent, name)) => (vec![parent.to_string(), format!("{parent}/mod")], name),
        None => (vec!["lib".to_string(), "main".to_string()], module),
    };
    let declaration = format!("mod {name}");
    parents.iter().any(|parent| {
        let path = format!("{package}/src/{parent}.rs");
        let rust = files
            .iter()
            .find(|f| f.path == path)
            .and_then(|f| f.rust.as_ref());
        rust.is_some_and(|rust| rust.code().any(|(_, line)| has_word(line, &declaration)))
    })
}

/// The name of the example that a file is.
fn example(file: &File) -> Option<&str> {
    let name = file
        .path
        .strip_prefix("crates/server/examples/")?
        .strip_suffix(".rs")?;
    (!name.contains('/')).then_some(name)
}

/// Whether some test names the example in quotes; the conformance run starts the one of its name.
fn is_run(name: &str, files: &[File]) -> bool {
    let quoted = format!("\"{name}\"");
    let mut tests = files
        .iter()
        .filter(|f| f.path.starts_with("crates/server/tests/"));
    name == "conformance" || tests.any(|f| f.text.contains(&quoted))
}
