//! The text files of the tree.

use std::fs;
use std::io;
use std::path::Path;

use super::rust::Masked;

/// Where the names of what was built, fetched or found are written.
const IGNORE: &str = ".gitignore";
/// Larger files are data.
const SIZE_LIMIT: u64 = 1 << 20;

/// A text file, with its path as seen from the root, `/` between the parts.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    /// For Rust: the text with comments and literals told apart from code.
    pub(crate) rust: Option<Masked>,
}

impl File {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let rust = path.ends_with(".rs").then(|| Masked::new(&text));
        Self { path, text, rust }
    }

    /// Lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line))
    }

    /// Whether every line of it is test code.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.ends_with("_tests.rs")
            || self.path.starts_with("crates/testkit/")
    }
}

/// All text files below `root`, by path.
pub(crate) fn read_tree(root: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    read_folder(root, "", &[".git".into()], &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Reads the files of a folder but for the names in `ignored`, which holds there and below.
fn read_folder(
    folder: &Path,
    prefix: &str,
    ignored: &[String],
    files: &mut Vec<File>,
) -> io::Result<()> {
    let mut ignored = ignored.to_vec();
    if let Ok(more) = fs::read_to_string(folder.join(IGNORE)) {
        ignored.extend(more.lines().map(|line| line.trim_matches('/').to_string()));
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if ignored.contains(&name) {
            continue;
        }
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // A folder with cargo's mark is a build folder, whatever its name.
            if !entry.path().join("CACHEDIR.TAG").exists() {
                read_folder(&entry.path(), &format!("{path}/"), &ignored, files)?;
            }
        } else if kind.is_file() && entry.metadata()?.len() <= SIZE_LIMIT {
            // What is not UTF-8 is not text.
            if let Ok(text) = fs::read_to_string(entry.path()) {
                files.push(File::new(path, text));
            }
        }
    }
    Ok(())
}
