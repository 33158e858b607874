//! Sizes of files, functions and inline test modules.

use super::files::File;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Function,
    Tests,
}

impl Kind {
    /// The most lines that need no exception. Files are counted without blank and comment lines.
    pub(crate) fn limit(self) -> usize {
        match self {
            Kind::File => 800,
            Kind::Function => 70,
            Kind::Tests => 150,
        }
    }

    /// The word for it in `tidy.allow`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Function => "function",
            Kind::Tests => "tests",
        }
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Kind::File => "split it by what changes together",
            Kind::Function => "split it by phase, branching in the parent, leaves pure",
            Kind::Tests => "move them to a sibling tests.rs",
        }
    }
}

/// One measured thing.
#[derive(Debug)]
pub(crate) struct Size {
    pub(crate) kind: Kind,
    /// What an exception calls it: the path, for a function with `::name` behind it.
    pub(crate) place: String,
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) title: String,
    pub(crate) lines: usize,
}

/// Measures all Rust files.
pub(crate) fn measure(files: &[File]) -> Vec<Size> {
    let mut sizes = Vec::new();
    for file in files {
        let Some(rust) = &file.rust else { continue };
        let mut add = |kind, place: &str, line, title: String, lines| {
            let (place, path) = (place.to_string(), file.path.clone());
            sizes.push(Size {
                kind,
                place,
                path,
                line,
                title,
                lines,
            });
        };
        add(
            Kind::File,
            &file.path,
            0,
            "the file's code".into(),
            rust.code_lines(),
        );
        for function in rust.functions() {
            let place = format!("{}::{}", file.path, function.name);
            let title = format!("fn {}", function.name);
            add(
                Kind::Function,
                &place,
                *function.lines.start(),
                title,
                function.length(),
            );
        }
        for module in rust.test_modules() {
            let title = format!("the inline module {}", module.name);
            add(
                Kind::Tests,
                &file.path,
                *module.lines.start(),
                title,
                module.length(),
            );
        }
    }
    sizes
}
