//! Just enough of Rust's grammar: comments and literals told apart from code, and where functions
//! and inline test modules begin and end.

use std::ops::RangeInclusive;

/// A source with the same line structure twice: once with comments and literals blotted out, once
/// with everything but the comments blotted out.
pub(crate) struct Masked {
    code: Vec<String>,
    comments: Vec<String>,
    functions: Vec<Item>,
    test_modules: Vec<Item>,
}

/// A function or module with its lines, numbered from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) lines: RangeInclusive<usize>,
}

impl Item {
    pub(crate) fn length(&self) -> usize {
        self.lines.end() + 1 - self.lines.start()
    }
}

impl Masked {
    pub(crate) fn new(text: &str) -> Self {
        let (code, comments) = mask(text);
        let lines = |text: &str| text.lines().map(String::from).collect();
        Self {
            functions: items(&code, &["fn"]),
            test_modules: test_modules(&code),
            code: lines(&code),
            comments: lines(&comments),
        }
    }

    /// Lines of code with their numbers. Comments are blank, literals are rows of quotes.
    pub(crate) fn code(&self) -> impl DoubleEndedIterator<Item = (usize, &str)> {
        self.code
            .iter()
            .enumerate()
            .map(|(at, line)| (at + 1, line.as_str()))
    }

    /// The code of a line, from 1.
    pub(crate) fn code_line(&self, number: usize) -> &str {
        self.code
            .get(number.wrapping_sub(1))
            .map_or("", String::as_str)
    }

    /// The comments of a line, from 1.
    pub(crate) fn comment_line(&self, number: usize) -> &str {
        self.comments
            .get(number.wrapping_sub(1))
            .map_or("", String::as_str)
    }

    /// Lines that are neither blank nor only comment.
    pub(crate) fn code_lines(&self) -> usize {
        self.code
            .iter()
            .filter(|line| !line.trim().is_empty())
            .count()
    }

    /// Functions with a body, nested ones included.
    pub(crate) fn functions(&self) -> &[Item] {
        &self.functions
    }

    /// Modules in this file that are compiled for tests only.
    pub(crate) fn test_modules(&self) -> &[Item] {
        &self.test_modules
    }
}

/// Whether `word` stands in `text`, not as a part of a longer name. Words may hold `::` and `!`.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    word_at(text, word).is_some()
}

/// Where `word` stands in `text`.
pub(crate) fn word_at(text: &str, word: &str) -> Option<usize> {
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        let before = text[..at].chars().next_back();
        let open_end = word.chars().next_back().is_some_and(is_name);
        let after = text[at + word.len()..].chars().next().filter(|_| open_end);
        !before.into_iter().chain(after).any(is_name)
    })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What the character at a place belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// The text as code only and as comments only.
fn mask(text: &str) -> (String, String) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (String::new(), String::new());
    let mut at = 0;
    while at < chars.len() {
        let (kind, length) = token(&chars, at);
        for &c in &chars[at..at + length] {
            let blank = if c == '\n' { '\n' } else { ' ' };
            code.push(match kind {
                Kind::Code => c,
                Kind::Literal if c != '\n' => '"',
                Kind::Literal | Kind::Comment => blank,
            });
            comments.push(if kind == Kind::Comment { c } else { blank });
        }
        at += length;
    }
    (code, comments)
}

/// The kind and length of what begins at `at`.
fn token(chars: &[char], at: usize) -> (Kind, usize) {
    let next = |n: usize| chars.get(at + n).copied().unwrap_or('\0');
    match next(0) {
        '/' if next(1) == '/' => {
            let length = chars[at..].iter().position(|&c| c == '\n');
            (Kind::Comment, length.unwrap_or(chars.len() - at))
        }
        '/' if next(1) == '*' => (Kind::Comment, block_comment(&chars[at..])),
        '"' => (Kind::Literal, quoted(&chars[at..], '"')),
        '\'' if next(1) == '\\' => (Kind::Literal, quoted(&chars[at..], '\'')),
        // Any other quote is the start of a lifetime or label.
        '\'' if next(1) != '\'' && next(2) == '\'' => (Kind::Literal, 3),
        c if is_name(c) => {
            // A whole name at once, so that the r of `for"x"` is no raw string.
            let length = chars[at..].iter().position(|&c| !is_name(c));
            let length = length.unwrap_or(chars.len() - at);
            let name: String = chars[at..at + length].iter().collect();
            match raw_string(&chars[at + length..]) {
                Some(rest) if matches!(&*name, "r" | "br" | "cr") => (Kind::Literal, length + rest),
                _ => (Kind::Code, length),
            }
        }
        _ => (Kind::Code, 1),
    }
}

/// The length of a block comment; they nest.
fn block_comment(chars: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

/// The length of a literal that begins with `quote`, escapes heeded.
fn quoted(chars: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The length of what follows the `r` of a raw string, if it is one.
fn raw_string(chars: &[char]) -> Option<usize> {
    let hashes = chars.iter().take_while(|&&c| c == '#').count();
    if chars.get(hashes) != Some(&'"') {
        return None;
    }
    let mut at = hashes + 1;
    while at < chars.len() {
        if chars[at] == '"' && chars[at + 1..].iter().take_while(|&&c| c == '#').count() >= hashes {
            return Some(at + 1 + hashes);
        }
        at += 1;
    }
    Some(chars.len())
}

/// The items that one of `keywords` begins and that have a body in braces.
fn items(code: &str, keywords: &[&str]) -> Vec<Item> {
    let mut found = Vec::new();
    for keyword in keywords {
        for (at, _) in code.match_indices(keyword) {
            let rest = &code[at + keyword.len()..];
            let alone = !code[..at].chars().next_back().is_some_and(is_name);
            if !alone || !rest.starts_with(char::is_whitespace) {
                continue;
            }
            let name: String = rest
                .trim_start()
                .chars()
                .take_while(|&c| is_name(c))
                .collect();
            if name.is_empty() {
                continue;
            }
            if let Some(end) = body_end(rest) {
                let first = line_of(code, at);
                let last = line_of(code, at + keyword.len() + end);
                found.push(Item {
                    name,
                    lines: first..=last,
                });
            }
        }
    }
    found
}

/// Where the body of an item ends; `None` when a semicolon comes before one.
fn body_end(code: &str) -> Option<usize> {
    let (mut round, mut curly) = (0usize, 0usize);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => round += 1,
            ')' | ']' => round = round.saturating_sub(1),
            ';' if round == 0 && curly == 0 => return None,
            '{' => curly += 1,
            '}' => {
                curly = curly.saturating_sub(1);
                if curly == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Modules right after a `#[cfg(test)]`, other attributes in between.
fn test_modules(code: &str) -> Vec<Item> {
    let lines: Vec<&str> = code.lines().collect();
    let marked = |item: &Item| {
        let above = lines[..item.lines.start() - 1].iter().rev();
        let mut attributes = above
            .map(|line| line.trim())
            .take_while(|l| l.starts_with("#["));
        attributes
            .any(|line| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test"))
    };
    items(code, &["mod"]).into_iter().filter(marked).collect()
}

/// The line, from 1, of a place in the text.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
