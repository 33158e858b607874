//! Response header fields: an ordered list, and the check that every name and value must pass.

use std::borrow::Cow;
use std::fmt;

use stepwell_proto::syntax;

/// One header field of a response.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: Cow<'static, str>,
}

/// Why a field was refused; the response becomes a 500 and this goes to the log.
#[derive(Clone, Debug)]
pub(crate) struct InvalidField {
    pub(crate) name: String,
    pub(crate) reason: &'static str,
}

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "header field \"{}\" refused: {}",
            self.name.escape_debug(),
            self.reason
        )
    }
}

impl std::error::Error for InvalidField {}

/// Fields that describe the connection or the framing: the server writes them, nobody else.
const RESERVED: [&str; 9] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Accepts a field that an application may send, and refuses every other one: names must be
/// tokens (RFC 9110 §5.6.2), values free of control characters (a CR or LF would let a value
/// start a field or a response of its own), and framing is the server's.
pub(crate) fn check(name: &str, value: &str) -> Result<(), InvalidField> {
    let refuse = |reason| {
        Err(InvalidField {
            name: name.chars().take(64).collect(),
            reason,
        })
    };
    if !syntax::is_field_name(name.as_bytes()) {
        return refuse("the name is empty or has a character that is not allowed in one");
    }
    if RESERVED
        .iter()
        .any(|reserved| name.eq_ignore_ascii_case(reserved))
    {
        return refuse("the server writes this field itself");
    }
    if !is_value(value) {
        return refuse("the value has a control character or surrounding space");
    }
    Ok(())
}

/// Whether the text may be a field value as it stands.
fn is_value(value: &str) -> bool {
    let outer_space = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    !outer_space && syntax::is_field_value(value.as_bytes())
}

/// Whether a comma-separated field value lists `token`, whatever its case.
pub(crate) fn lists_token(value: &str, token: &str) -> bool {
    value
        .split(',')
        .any(|item| item.trim().eq_ignore_ascii_case(token))
}
