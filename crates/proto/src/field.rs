//! Well-known field names as an enum.

use crate::syntax::BLOCK;

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
        if name.len() > BLOCK {
            return LONG
                .iter()
                .copied()
                .find(|f| name.eq_ignore_ascii_case(f.name().as_bytes()));
        }
        let mut padded = [0; BLOCK];
        padded[..name.len()].copy_from_slice(name);
        let whole = u128::from_le_bytes(padded);
        Field::lookup_short(whole as u64, (whole >> 64) as u64, name.len())
    }

    /// The same for a name of `len` bytes, at most sixteen, given as two words filled up with
    /// zeros.
    #[inline]
    pub(crate) fn lookup_short(low: u64, high: u64, len: usize) -> Option<Field> {
        let index = SHORT.index[hash(low, high, SHORT.factor)];
        let name = &SHORT.names[index as usize];
        // The length too: a name may end in zeros of its own.
        let same = (low | name.fold_low) == name.low
            && (high | name.fold_high) == name.high
            && len == usize::from(name.len);
        if same { name.field } else { None }
    }

    /// This field's bit in a set of fields.
    #[inline]
    pub(crate) const fn bit(self) -> u64 {
        1 << self as u8
    }
}

const COUNT: usize = Field::ALL.len();

/// The fields whose names are longer than a block.
const LONG: &[Field] = &[
    Field::ContentDisposition,
    Field::IfModifiedSince,
    Field::IfUnmodifiedSince,
    Field::ProxyAuthorization,
    Field::SecWebSocketExtensions,
    Field::SecWebSocketKey,
    Field::SecWebSocketProtocol,
    Field::SecWebSocketVersion,
    Field::TransferEncoding,
    Field::UpgradeInsecureRequests,
    Field::XForwardedProto,
];

/// The shorter names in a hash table without collisions, made at compile time.
static SHORT: Short = Short::new();

struct Short {
    factor: u64,
    index: [u8; SLOTS],
    /// One a field, and a last one that no name equals.
    names: [Name; COUNT + 1],
}

const SLOTS: usize = 256;

/// A name in lower case, and the bits that fold a name to it: 0x20 for letters only, since that bit
/// would also turn a carriage return into a hyphen.
#[derive(Clone, Copy)]
struct Name {
    low: u64,
    high: u64,
    fold_low: u64,
    fold_high: u64,
    len: u8,
    field: Option<Field>,
}

#[inline]
const fn hash(low: u64, high: u64, factor: u64) -> usize {
    const FOLD: u64 = 0x2020_2020_2020_2020;
    let mixed = (low | FOLD) ^ (high | FOLD).rotate_left(29);
    (mixed.wrapping_mul(factor) >> 56) as usize
}

impl Short {
    const fn new() -> Short {
        let nobody = Name {
            low: 1,
            high: 1,
            fold_low: 0,
            fold_high: 0,
            len: 0,
            field: None,
        };
        let mut names = [nobody; COUNT + 1];
        let mut i = 0;
        while i < COUNT {
            names[i] = Name::of(Field::ALL[i]);
            i += 1;
        }
        // Try factors until no two names share a slot.
        let mut factor: u64 = 0x9e37_79b9_7f4a_7c15;
        loop {
            if let Some(index) = Short::index(&names, factor) {
                return Short {
                    factor,
                    index,
                    names,
                };
            }
            factor = factor.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(2) | 1;
        }
    }

    const fn index(names: &[Name; COUNT + 1], factor: u64) -> Option<[u8; SLOTS]> {
        let mut index = [COUNT as u8; SLOTS];
        let mut i = 0;
        while i < COUNT {
            if names[i].field.is_some() {
                let slot = hash(names[i].low, names[i].high, factor);
                if index[slot] != COUNT as u8 {
                    return None;
                }
                index[slot] = i as u8;
            }
            i += 1;
        }
        Some(index)
    }
}

impl Name {
    const fn of(field: Field) -> Name {
        let name = field.name().as_bytes();
        let mut words = [0u64; 2];
        let mut folds = [0u64; 2];
        let mut i = 0;
        while i < name.len() && name.len() <= BLOCK {
            words[i / 8] |= (name[i] as u64) << (i % 8 * 8);
            if name[i].is_ascii_alphabetic() {
                folds[i / 8] |= 0x20 << (i % 8 * 8);
            }
            i += 1;
        }
        let field = if name.len() <= BLOCK {
            Some(field)
        } else {
            None
        };
        Name {
            low: words[0],
            high: words[1],
            fold_low: folds[0],
            fold_high: folds[1],
            len: name.len() as u8,
            field,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    #[test]
    fn every_name_is_found_in_any_case() {
        for &field in Field::ALL {
            assert_eq!(Field::lookup(field.name().as_bytes()), Some(field));
            assert_eq!(
                Field::lookup(field.name().to_ascii_uppercase().as_bytes()),
                Some(field)
            );
        }
    }

    #[test]
    fn near_misses_are_not_found() {
        for &field in Field::ALL {
            let name = field.name().as_bytes();
            for at in 0..name.len() {
                for flip in 1..=255 {
                    let mut near = name.to_vec();
                    near[at] ^= flip;
                    let same = near.eq_ignore_ascii_case(name);
                    assert_eq!(Field::lookup(&near) == Some(field), same, "{near:?}");
                }
                assert_ne!(Field::lookup(&name[..at]), Some(field));
            }
            assert_eq!(Field::lookup(&[name, b"x"].concat()), None);
            assert_eq!(Field::lookup(&[name, b"\0"].concat()), None);
        }
    }
}
