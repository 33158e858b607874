//! Reading a route's pattern.

use crate::error::Error;

/// A pattern taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// With parameters named by position, so that patterns that match the same paths are equal. For
    /// a pattern without parameters the path itself, braces no longer doubled.
    pub(super) normal: String,
    /// The names of the parameters, in order.
    pub(super) names: Vec<String>,
}

impl Pattern {
    pub(super) fn is_exact(&self) -> bool {
        self.names.is_empty()
    }

    /// Reads a pattern, or says what is wrong with it and how to mend it.
    pub(super) fn parse(pattern: &str) -> Result<Self, Error> {
        if !pattern.starts_with('/') {
            return Err(bad(pattern, "doesn't start with a slash", "write \"/...\""));
        }
        let mut parsed = Self {
            normal: String::with_capacity(pattern.len()),
            names: Vec::new(),
        };
        let segments: Vec<&str> = pattern[1..].split('/').collect();
        for (index, segment) in segments.iter().enumerate() {
            let last = index + 1 == segments.len();
            if !last && segment.is_empty() {
                return Err(bad(
                    pattern,
                    "has an empty segment",
                    "write one slash, not two",
                ));
            }
            if matches!(*segment, "." | "..") {
                let mend = "leave it out: paths are resolved before they are matched";
                return Err(bad(pattern, "has a segment of dots", mend));
            }
            if segment.starts_with(':') || *segment == "*" {
                // Other routers mean a parameter by it; here it would silently match nothing.
                let mend = "write {name} for one segment, {*rest} for all that follow";
                return Err(bad(pattern, "has a parameter of another notation", mend));
            }
            parsed.normal.push('/');
            parsed.segment(pattern, segment, last)?;
        }
        if parsed.is_exact() {
            parsed.normal = parsed.normal.replace("{{", "{").replace("}}", "}");
        }
        Ok(parsed)
    }

    fn segment(&mut self, pattern: &str, segment: &str, last: bool) -> Result<(), Error> {
        let mut rest = segment;
        let mut found = false;
        while let Some(next) = rest.chars().next() {
            if rest.starts_with("{{") || rest.starts_with("}}") {
                self.normal.push_str(&rest[..2]);
                rest = &rest[2..];
            } else if next == '{' {
                let end = rest.find('}').ok_or_else(|| {
                    bad(
                        pattern,
                        "has a brace that is not closed",
                        "write {name}, or {{ for a brace",
                    )
                })?;
                if found {
                    let mend = "separate them by a slash";
                    return Err(bad(pattern, "has two parameters in one segment", mend));
                }
                found = true;
                let name = &rest[1..end];
                rest = &rest[end + 1..];
                let whole = segment.len() == end + 1 && last;
                self.parameter(pattern, name, whole)?;
            } else if matches!(next, '}' | '?' | '#' | '%' | '\\') || next.is_control() {
                let what = format!("has the character {next:?}");
                let mend = match next {
                    '}' => "write }} for a brace",
                    '%' => "write paths decoded",
                    '?' => "ask for the query with req.query(name)",
                    _ => "leave it out",
                };
                return Err(bad(pattern, &what, mend));
            } else {
                self.normal.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
        Ok(())
    }

    /// `whole`: the parameter is all of the last segment.
    fn parameter(&mut self, pattern: &str, name: &str, whole: bool) -> Result<(), Error> {
        let (star, name) = match name.strip_prefix('*') {
            Some(name) => ("*", name),
            None => ("", name),
        };
        if star == "*" && !whole {
            let mend = "make {*rest} the whole last segment";
            return Err(bad(pattern, "has a {*rest} that is not at its end", mend));
        }
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            let mend = "use letters, digits, - and _";
            return Err(bad(pattern, "has a parameter without a proper name", mend));
        }
        if self.names.iter().any(|known| known == name) {
            let what = format!("has two parameters named \"{name}\"");
            return Err(bad(pattern, &what, "rename one of them"));
        }
        self.normal
            .push_str(&format!("{{{star}p{}}}", self.names.len()));
        self.names.push(name.to_owned());
        Ok(())
    }
}

fn bad(pattern: &str, what: &str, mend: &str) -> Error {
    Error::config(format!("the pattern {what}"))
        .at(format_args!("\"{pattern}\""))
        .mend(mend)
}
