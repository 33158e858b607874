//! Cookies: a builder for `Set-Cookie`, and the parser of `Cookie` (RFC 6265).

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use stepwell_proto::syntax;

use crate::fields::InvalidField;

/// When a browser sends a cookie along with requests that other sites cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// Never.
    Strict,
    /// Only when the user follows a link.
    Lax,
    /// Always; browsers then demand `Secure`.
    None,
}

/// A cookie to be set by a response.
///
/// ```
/// use std::time::Duration;
/// use stepwell::{Cookie, Response, SameSite};
///
/// let cookie = Cookie::new("session", "8f2a")
///     .path("/")
///     .max_age(Duration::from_secs(3600))
///     .http_only()
///     .secure()
///     .same_site(SameSite::Lax);
/// let answer = Response::text("hello").cookie(cookie);
/// assert_eq!(
///     answer.get("set-cookie"),
///     Some("session=8f2a; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax"),
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Cookie {
    name: Cow<'static, str>,
    value: Cow<'static, str>,
    path: Option<Cow<'static, str>>,
    domain: Option<Cow<'static, str>>,
    max_age: Option<u64>,
    http_only: bool,
    secure: bool,
    same_site: Option<SameSite>,
}

impl Cookie {
    /// A cookie for this host that lasts until the browser closes. Names are tokens; values are
    /// visible ASCII without quotes, commas, semicolons and backslashes: encode anything else
    /// yourself. What breaks these rules turns the response into a logged 500.
    pub fn new(name: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            path: None,
            domain: None,
            max_age: None,
            http_only: false,
            secure: false,
            same_site: None,
        }
    }

    /// A cookie that makes the browser forget the one of this name. Path and domain must be those
    /// it was set with.
    pub fn removal(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, "").max_age(Duration::ZERO)
    }

    /// Limits the cookie to this path and what lies below.
    #[must_use]
    pub fn path(mut self, path: impl Into<Cow<'static, str>>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Extends the cookie to the domain and its subdomains.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<Cow<'static, str>>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// How long the browser keeps it, in whole seconds; zero removes it.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age.as_secs());
        self
    }

    /// Hides it from scripts.
    #[must_use]
    pub fn http_only(mut self) -> Self {
        self.http_only = true;
        self
    }

    /// Sends it over TLS only.
    #[must_use]
    pub fn secure(mut self) -> Self {
        self.secure = true;
        self
    }

    /// Whether other sites' requests carry it.
    #[must_use]
    pub fn same_site(mut self, policy: SameSite) -> Self {
        self.same_site = Some(policy);
        self
    }

    /// The value of the `Set-Cookie` field.
    pub(crate) fn to_field(&self) -> Result<String, InvalidField> {
        let refuse = |reason| {
            Err(InvalidField {
                name: format!("Set-Cookie {}", self.name),
                reason,
            })
        };
        if !syntax::is_field_name(self.name.as_bytes()) {
            return refuse("a cookie's name is a token");
        }
        if !self.value.bytes().all(is_cookie_octet) {
            return refuse("a cookie's value is visible ASCII without \" , ; and backslash");
        }
        let attributes = [self.path.as_deref(), self.domain.as_deref()];
        if !attributes
            .into_iter()
            .flatten()
            .all(|text| text.bytes().all(is_attribute_octet))
        {
            return refuse("a cookie's path and domain are printable ASCII without ;");
        }
        let mut field = format!("{}={}", self.name, self.value);
        if let Some(path) = &self.path {
            field.push_str("; Path=");
            field.push_str(path);
        }
        if let Some(domain) = &self.domain {
            field.push_str("; Domain=");
            field.push_str(domain);
        }
        if let Some(age) = self.max_age {
            // Writing to a String cannot fail.
            let _ = write!(field, "; Max-Age={age}");
        }
        if self.http_only {
            field.push_str("; HttpOnly");
        }
        if self.secure {
            field.push_str("; Secure");
        }
        field.push_str(match self.same_site {
            None => "",
            Some(SameSite::Strict) => "; SameSite=Strict",
            Some(SameSite::Lax) => "; SameSite=Lax",
            Some(SameSite::None) => "; SameSite=None",
        });
        Ok(field)
    }
}

fn is_cookie_octet(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}

fn is_attribute_octet(byte: u8) -> bool {
    (byte.is_ascii_graphic() || byte == b' ') && byte != b';'
}

/// The pairs of one `Cookie` field value, in order, as sent; quotes around a value are dropped and
/// pairs without a name or `=` skipped.
pub(crate) fn parse(field: &str) -> impl Iterator<Item = (&str, &str)> {
    field.split(';').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (
            name.trim_matches([' ', '\t']),
            value.trim_matches([' ', '\t']),
        );
        let value = value
            .strip_prefix('"')
            .and_then(|inner| inner.strip_suffix('"'))
            .unwrap_or(value);
        (!name.is_empty()).then_some((name, value))
    })
}
