//! Well-known field names as an enum.

/// Declares [`Field`] with one lower-case name a variant.
macro_rules! fields {
    ($($variant:ident = $name:literal,)*) => {
        /// A well-known request field: found by a number instead of a search by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Field {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Field {
            /// Every well-known field.
            pub const ALL: &'static [Field] = &[$(Field::$variant,)*];

            /// The name in lower case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Field::$variant => $name,)*
                }
            }
        }
    };
}

fields! {
    Accept = "accept",
    AcceptEncoding = "accept-encoding",
    AcceptLanguage = "accept-language",
    Authorization = "authorization",
    CacheControl = "cache-control",
    Connection = "connection",
    ContentDisposition = "content-disposition",
    ContentEncoding = "content-encoding",
    ContentLength = "content-length",
    ContentRange = "content-range",
    ContentType = "content-type",
    Cookie = "cookie",
    Date = "date",
    Expect = "expect",
    Forwarded = "forwarded",
    Host = "host",
    IfMatch = "if-match",
    IfModifiedSince = "if-modified-since",
    IfNoneMatch = "if-none-match",
    IfRange = "if-range",
    IfUnmodifiedSince = "if-unmodified-since",
    KeepAlive = "keep-alive",
    LastEventId = "last-event-id",
    MaxForwards = "max-forwards",
    Origin = "origin",
    Pragma = "pragma",
    Proxy = "proxy",
    ProxyAuthorization = "proxy-authorization",
    Range = "range",
    Referer = "referer",
    SecFetchDest = "sec-fetch-dest",
    SecFetchMode = "sec-fetch-mode",
    SecFetchSite = "sec-fetch-site",
    SecWebSocketExtensions = "sec-websocket-extensions",
    SecWebSocketKey = "sec-websocket-key",
    SecWebSocketProtocol = "sec-websocket-protocol",
    SecWebSocketVersion = "sec-websocket-version",
    SetCookie = "set-cookie",
    Te = "te",
    Trailer = "trailer",
    TransferEncoding = "transfer-encoding",
    Upgrade = "upgrade",
    UpgradeInsecureRequests = "upgrade-insecure-requests",
    UserAgent = "user-agent",
    Via = "via",
    XForwardedFor = "x-forwarded-for",
    XForwardedHost = "x-forwarded-host",
    XForwardedProto = "x-forwarded-proto",
    XRequestId = "x-request-id",
}

// A request notes its fields in a 64-bit set.
const _: () = assert!(Field::ALL.len() <= 64);

impl Field {
    /// The well-known field of that name in any case, if there is one.
    #[inline]
    pub fn lookup(name: &[u8]) -> Option<Field> {
        // The length leaves few candidates; a name of none of these lengths costs one jump.
        match name.len() {
            2 => among(name, &[Field::Te]),
            3 => among(name, &[Field::Via]),
            4 => among(name, &[Field::Date, Field::Host]),
            5 => among(name, &[Field::Proxy, Field::Range]),
            6 => among(
                name,
                &[
                    Field::Accept,
                    Field::Cookie,
                    Field::Expect,
                    Field::Origin,
                    Field::Pragma,
                ],
            ),
            7 => among(name, &[Field::Referer, Field::Trailer, Field::Upgrade]),
            8 => among(name, &[Field::IfMatch, Field::IfRange]),
            9 => among(name, &[Field::Forwarded]),
            10 => among(
                name,
                &[
                    Field::Connection,
                    Field::KeepAlive,
                    Field::SetCookie,
                    Field::UserAgent,
                ],
            ),
            12 => among(
                name,
                &[Field::ContentType, Field::MaxForwards, Field::XRequestId],
            ),
            13 => among(
                name,
                &[
                    Field::Authorization,
                    Field::CacheControl,
                    Field::ContentRange,
                    Field::IfNoneMatch,
                    Field::LastEventId,
                ],
            ),
            14 => among(
                name,
                &[
                    Field::ContentLength,
                    Field::SecFetchDest,
                    Field::SecFetchMode,
                    Field::SecFetchSite,
                ],
            ),
            15 => among(
                name,
                &[
                    Field::AcceptEncoding,
                    Field::AcceptLanguage,
                    Field::XForwardedFor,
                ],
            ),
            16 => among(name, &[Field::ContentEncoding, Field::XForwardedHost]),
            17 => among(
                name,
                &[
                    Field::IfModifiedSince,
                    Field::SecWebSocketKey,
                    Field::TransferEncoding,
                    Field::XForwardedProto,
                ],
            ),
            19 => among(
                name,
                &[
                    Field::ContentDisposition,
                    Field::IfUnmodifiedSince,
                    Field::ProxyAuthorization,
                ],
            ),
            21 => among(name, &[Field::SecWebSocketVersion]),
            22 => among(name, &[Field::SecWebSocketProtocol]),
            24 => among(name, &[Field::SecWebSocketExtensions]),
            25 => among(name, &[Field::UpgradeInsecureRequests]),
            _ => None,
        }
    }

    /// This field's bit in a set of fields.
    #[inline]
    pub(crate) const fn bit(self) -> u64 {
        1 << self as u8
    }
}

#[inline]
fn among(name: &[u8], fields: &[Field]) -> Option<Field> {
    fields
        .iter()
        .copied()
        .find(|f| name.eq_ignore_ascii_case(f.name().as_bytes()))
}
