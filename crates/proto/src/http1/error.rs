//! What can be wrong with a request.

use std::fmt;

/// Who is to blame for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The peer broke the protocol, went beyond a limit or was too slow.
    Peer,
    /// The peer asked for something legitimate that this implementation does not offer.
    Local,
}

/// An error in what the peer sent. Every HTTP/1 protocol error ends the connection: answer with
/// [`status`](Error::status) if an answer is still due
/// ([`awaits_response`](super::ServerConnection::awaits_response)), flush and close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Error {
    kind: ErrorKind,
}

impl Error {
    /// Which rule was broken.
    pub const fn kind(self) -> ErrorKind {
        self.kind
    }

    /// The status to answer with: 400, 408, 413, 414, 417, 431, 501 or 505.
    pub const fn status(self) -> u16 {
        self.kind.row().1
    }

    /// A sentence for logs and for the body of the answer. Holds nothing that the peer sent.
    pub const fn reason(self) -> &'static str {
        self.kind.row().2
    }

    /// A short stable name for logs and metrics, such as `bare-cr`.
    pub const fn name(self) -> &'static str {
        self.kind.row().0
    }

    /// Whose fault it is.
    pub const fn fault(self) -> Fault {
        match self.status() {
            417 | 501 | 505 => Fault::Local,
            _ => Fault::Peer,
        }
    }
}

impl From<ErrorKind> for Error {
    #[inline]
    fn from(kind: ErrorKind) -> Error {
        Error { kind }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.reason(), self.name(), self.status())
    }
}

impl std::error::Error for Error {}

/// Declares [`ErrorKind`] with name, status and sentence of each in one row.
macro_rules! errors {
    ($($kind:ident = $status:literal $name:literal $reason:literal,)*) => {
        /// The rule that was broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = concat!($status, ": ", $reason)] $kind,)*
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind,)*];

            const fn row(self) -> (&'static str, u16, &'static str) {
                match self {
                    $(ErrorKind::$kind => ($name, $status, $reason),)*
                }
            }
        }
    };
}

errors! {
    Method = 400 "method" "The method is not a token.",
    MethodTooLong = 400 "method-too-long" "The method is longer than any method.",
    TargetByte = 400 "target-byte" "The request target holds a byte that may not stand there.",
    TargetForm = 400 "target-form" "The form of the request target does not fit the method.",
    TargetEscape = 400 "target-escape"
        "The path holds a broken escape or hides a control character.",
    RequestLineTooLong = 414 "request-line-too-long" "The request line is too long.",
    Version = 400 "version" "The request line does not end in an HTTP version.",
    VersionUnsupported = 505 "version-unsupported" "This HTTP version is not supported here.",
    BareCr = 400 "bare-cr" "A carriage return stands without its line feed.",
    BareLf = 400 "bare-lf" "A line feed stands without its carriage return.",
    FieldName = 400 "field-name" "A field name is empty or not a token.",
    FieldNameSpace = 400 "field-name-space" "Whitespace stands before the colon of a field.",
    FieldNameConfusable = 400 "field-name-confusable" "A field name imitates a framing field.",
    FieldNoColon = 400 "field-no-colon" "A field line has no colon.",
    FieldValue = 400 "field-value" "A field value holds a control character.",
    ObsFold = 400 "obs-fold" "A field line begins with whitespace.",
    HeadTooLarge = 431 "head-too-large" "The request's header fields are too large.",
    TooManyFields = 431 "too-many-fields" "The request has too many header fields.",
    HostMissing = 400 "host-missing" "The request names no host.",
    HostDuplicate = 400 "host-duplicate" "The request has more than one Host field.",
    HostInvalid = 400 "host-invalid" "The host is not a valid name with an optional port.",
    LengthInvalid = 400 "content-length-invalid" "Content-Length is not a plain number.",
    LengthDuplicate = 400 "content-length-duplicate"
        "The request has more than one Content-Length.",
    LengthAndEncoding = 400 "length-and-encoding"
        "Content-Length and Transfer-Encoding exclude each other.",
    EncodingInvalid = 400 "transfer-encoding-invalid"
        "Transfer-Encoding does not end in a single chunked.",
    EncodingUnsupported = 501 "transfer-encoding-unsupported"
        "Only the transfer coding chunked is supported.",
    EncodingInHttp10 = 400 "transfer-encoding-http10" "HTTP/1.0 has no Transfer-Encoding.",
    ContentTypeDuplicate = 400 "content-type-duplicate"
        "The request has more than one Content-Type.",
    BodyNotAllowed = 400 "body-not-allowed" "A request with this method has no body.",
    Expectation = 417 "expectation" "The only expectation supported is 100-continue.",
    BodyTooLarge = 413 "body-too-large" "The request body is too large.",
    ChunkSize = 400 "chunk-size" "A chunk does not begin with a plain hexadecimal size.",
    ChunkExtension = 400 "chunk-extension" "A chunk extension is malformed.",
    ChunkExtensionTooLong = 400 "chunk-extension-too-long" "The chunk extensions are too long.",
    ChunkEnd = 400 "chunk-end" "The data of a chunk is not followed by a line end.",
    TrailersTooLarge = 431 "trailers-too-large" "The trailer section is too large.",
    TooManyTrailers = 431 "too-many-trailers" "The request has too many trailer fields.",
    TrailerForbidden = 400 "trailer-forbidden"
        "A field stands in the trailer section that must not.",
    HeaderTimeout = 408 "header-timeout" "The request head did not arrive in time.",
    BodyTimeout = 408 "body-timeout" "The request body did not arrive in time.",
}
