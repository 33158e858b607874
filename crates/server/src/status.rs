//! HTTP status codes by name, and their reason phrases.
//!
//! A status is a plain `u16` everywhere in this library; the constants are here for reading.
//!
//! ```
//! use stepwell::{Response, status};
//!
//! assert_eq!(Response::new(status::NO_CONTENT).status_code(), 204);
//! ```

macro_rules! statuses {
    ($($name:ident = $code:literal $reason:literal;)+) => {
        $(
            #[doc = concat!("`", stringify!($code), " ", $reason, "`")]
            pub const $name: u16 = $code;
        )+

        /// The standard reason phrase of a status, or an empty string for one it doesn't know.
        #[must_use]
        pub fn reason(status: u16) -> &'static str {
            match status {
                $($code => $reason,)+
                _ => "",
            }
        }
    };
}

statuses! {
    OK = 200 "OK";
    CREATED = 201 "Created";
    ACCEPTED = 202 "Accepted";
    NO_CONTENT = 204 "No Content";
    RESET_CONTENT = 205 "Reset Content";
    PARTIAL_CONTENT = 206 "Partial Content";
    MULTIPLE_CHOICES = 300 "Multiple Choices";
    MOVED_PERMANENTLY = 301 "Moved Permanently";
    FOUND = 302 "Found";
    SEE_OTHER = 303 "See Other";
    NOT_MODIFIED = 304 "Not Modified";
    TEMPORARY_REDIRECT = 307 "Temporary Redirect";
    PERMANENT_REDIRECT = 308 "Permanent Redirect";
    BAD_REQUEST = 400 "Bad Request";
    UNAUTHORIZED = 401 "Unauthorized";
    PAYMENT_REQUIRED = 402 "Payment Required";
    FORBIDDEN = 403 "Forbidden";
    NOT_FOUND = 404 "Not Found";
    METHOD_NOT_ALLOWED = 405 "Method Not Allowed";
    NOT_ACCEPTABLE = 406 "Not Acceptable";
    REQUEST_TIMEOUT = 408 "Request Timeout";
    CONFLICT = 409 "Conflict";
    GONE = 410 "Gone";
    LENGTH_REQUIRED = 411 "Length Required";
    PRECONDITION_FAILED = 412 "Precondition Failed";
    CONTENT_TOO_LARGE = 413 "Content Too Large";
    URI_TOO_LONG = 414 "URI Too Long";
    UNSUPPORTED_MEDIA_TYPE = 415 "Unsupported Media Type";
    RANGE_NOT_SATISFIABLE = 416 "Range Not Satisfiable";
    EXPECTATION_FAILED = 417 "Expectation Failed";
    MISDIRECTED_REQUEST = 421 "Misdirected Request";
    UNPROCESSABLE_CONTENT = 422 "Unprocessable Content";
    LOCKED = 423 "Locked";
    UPGRADE_REQUIRED = 426 "Upgrade Required";
    PRECONDITION_REQUIRED = 428 "Precondition Required";
    TOO_MANY_REQUESTS = 429 "Too Many Requests";
    HEADERS_TOO_LARGE = 431 "Request Header Fields Too Large";
    UNAVAILABLE_FOR_LEGAL_REASONS = 451 "Unavailable For Legal Reasons";
    INTERNAL_SERVER_ERROR = 500 "Internal Server Error";
    NOT_IMPLEMENTED = 501 "Not Implemented";
    BAD_GATEWAY = 502 "Bad Gateway";
    SERVICE_UNAVAILABLE = 503 "Service Unavailable";
    GATEWAY_TIMEOUT = 504 "Gateway Timeout";
    VERSION_NOT_SUPPORTED = 505 "HTTP Version Not Supported";
    INSUFFICIENT_STORAGE = 507 "Insufficient Storage";
}

/// Whether a response of this status is never followed by a body.
pub(crate) fn forbids_body(status: u16) -> bool {
    status < 200 || matches!(status, NO_CONTENT | RESET_CONTENT | NOT_MODIFIED)
}
