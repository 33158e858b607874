//! Forms sent as `application/x-www-form-urlencoded`.

use crate::request::pairs::Pairs;

/// The fields of a submitted form, in the order sent.
///
/// ```
/// use stepwell::{HttpError, Request};
///
/// fn subscribe(req: &mut Request) -> Result<String, HttpError> {
///     let form = req.form()?;
///     let email = form.get("email").ok_or_else(|| HttpError::bad_request("email is missing"))?;
///     Ok(format!("{email} wants {} lists", form.get_all("list").count()))
/// }
/// ```
#[derive(Debug)]
pub struct Form {
    pairs: Pairs,
}

impl Form {
    pub(crate) fn parse(body: &[u8]) -> Self {
        Self {
            pairs: Pairs::parse(body),
        }
    }

    /// The first value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.get(name)
    }

    /// Every value of a field, such as the choices of a list.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.get_all(name)
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter()
    }
}
