//! Responses that browsers save as files.

use std::fmt::Write;

use crate::response::Response;

impl Response {
    /// Lets browsers save the body as a file of this name instead of showing it. Any text will do
    /// as a name: what can't stand in the field as it is goes encoded beside a plainer name for old
    /// clients (RFC 6266).
    ///
    /// ```
    /// use stepwell::Response;
    ///
    /// let answer = Response::file("reports/2026-11.pdf").attachment("Report.pdf");
    /// let field = answer.get("content-disposition");
    /// assert_eq!(field, Some("attachment; filename=\"Report.pdf\""));
    /// ```
    #[must_use]
    pub fn attachment(self, file_name: impl AsRef<str>) -> Self {
        self.header("Content-Disposition", disposition(file_name.as_ref()))
    }
}

/// The value of the field: always printable ASCII, whatever the name.
fn disposition(name: &str) -> String {
    // A percent sign is left out too: some clients would decode it (RFC 6266 appendix D).
    let is_plain = |character: char| match character {
        '"' | '\\' | '/' | '%' => false,
        _ => character == ' ' || character.is_ascii_graphic(),
    };
    let plain = name.replace(|character| !is_plain(character), "_");
    let mut value = format!("attachment; filename=\"{plain}\"");
    if plain != name {
        value.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            // A part of `attr-char` (RFC 8187 §3.2.1); more may be encoded than has to be.
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') {
                value.push(char::from(byte));
            } else {
                // Writing to a String cannot fail.
                let _ = write!(value, "%{byte:02X}");
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_makes_a_valid_field() {
        for (name, expected) in [
            ("a.txt", "filename=\"a.txt\""),
            ("a b;c.txt", "filename=\"a b;c.txt\""),
            (
                "Grüße.txt",
                "filename=\"Gr__e.txt\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt",
            ),
            (
                "a\"b\\c%41",
                "filename=\"a_b_c_41\"; filename*=UTF-8''a%22b%5Cc%2541",
            ),
            (
                "../a\r\nX: y",
                "filename=\".._a__X: y\"; filename*=UTF-8''..%2Fa%0D%0AX%3A%20y",
            ),
            ("", "filename=\"\""),
        ] {
            let response = Response::text("x").attachment(name);
            assert!(!response.is_faulty(), "{name:?}");
            let value = response.get("content-disposition").unwrap_or_default();
            assert_eq!(value, format!("attachment; {expected}"), "{name:?}");
        }
    }
}
