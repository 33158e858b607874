//! Everything that a handler may return.

use std::borrow::Cow;
use std::convert::Infallible;

use serde::Serialize;

use crate::bytes::Bytes;
use crate::http_error::HttpError;
use crate::response::Response;
use crate::status;

/// What a handler may return.
///
/// | value | response |
/// |---|---|
/// | `&'static str`, `String` | plain text |
/// | `Vec<u8>`, `&'static [u8]`, [`Bytes`] | `application/octet-stream` |
/// | [`Json`]`(value)` | JSON |
/// | `u16` | that status, with the status in words from 400 on |
/// | `()` | 204, or nothing if the request was detached |
/// | `(u16, value)` | the value with that status |
/// | `Option<value>` | the value, or 404 |
/// | `Result<value, `[`HttpError`]`>` | the value, or the error |
/// | [`Response`] | itself |
///
/// None of them borrows from the request; what does is copied: `req.path().to_owned()`.
///
/// ```
/// use stepwell::{IntoResponse, Router};
///
/// let mut router = Router::new();
/// router.get("/teapot", |_| (418, "short and stout"));
/// router.get("/offices/{id}", |req| {
///     let id: u32 = req.param_as("id")?; // 400 if it is no number
///     let plan = std::fs::read_to_string(format!("offices/{id}"))?; // any error: 500
///     Ok(plan)
/// });
/// assert_eq!(None::<String>.into_response().status_code(), 404);
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "this handler returns `{Self}`",
    note = "a value that can be serialised goes into `Json(value)`, a status beside a value into \
            `(u16, value)`",
    note = "the error of a `Result` is `HttpError`, into which `?` turns other errors"
)]
pub trait IntoResponse {
    /// Converts the value.
    fn into_response(self) -> Response;
}

impl IntoResponse for Response {
    fn into_response(self) -> Response {
        self
    }
}

impl IntoResponse for () {
    fn into_response(self) -> Response {
        Response::new(status::NO_CONTENT)
    }
}

impl IntoResponse for u16 {
    fn into_response(self) -> Response {
        if (400..600).contains(&self) {
            Response::plain(self)
        } else {
            Response::new(self)
        }
    }
}

impl IntoResponse for &'static str {
    fn into_response(self) -> Response {
        Response::text(self)
    }
}

impl IntoResponse for String {
    fn into_response(self) -> Response {
        Response::text(self)
    }
}

impl IntoResponse for Cow<'static, str> {
    fn into_response(self) -> Response {
        Response::text(self)
    }
}

impl IntoResponse for &'static [u8] {
    fn into_response(self) -> Response {
        Response::bytes(self)
    }
}

impl IntoResponse for Vec<u8> {
    fn into_response(self) -> Response {
        Response::bytes(self)
    }
}

impl IntoResponse for Bytes {
    fn into_response(self) -> Response {
        Response::bytes(self)
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        self.into()
    }
}

impl IntoResponse for Infallible {
    fn into_response(self) -> Response {
        match self {}
    }
}

impl<R: IntoResponse> IntoResponse for (u16, R) {
    fn into_response(self) -> Response {
        self.1.into_response().status(self.0)
    }
}

impl<R: IntoResponse> IntoResponse for Option<R> {
    fn into_response(self) -> Response {
        match self {
            Some(value) => value.into_response(),
            None => Response::plain(status::NOT_FOUND),
        }
    }
}

impl<R: IntoResponse> IntoResponse for Result<R, HttpError> {
    fn into_response(self) -> Response {
        match self {
            Ok(value) => value.into_response(),
            Err(error) => error.into(),
        }
    }
}

impl<R: IntoResponse> IntoResponse for Box<R> {
    fn into_response(self) -> Response {
        (*self).into_response()
    }
}

/// A value to be answered as JSON; also see [`Response::json`].
///
/// ```
/// use stepwell::{IntoResponse, Json};
///
/// let answer = Json(vec![1, 2, 3]).into_response();
/// assert_eq!(answer.body_bytes(), Some(&b"[1,2,3]"[..]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        Response::json(&self.0)
    }
}
