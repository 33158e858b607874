//! The `Date` field's value, rendered once a second.

/// A cached IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// ```
/// let mut date = stepwell_proto::date::HttpDate::new(784_111_777);
/// assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:37 GMT");
/// date.update(784_111_778);
/// assert_eq!(date.as_bytes(), b"Sun, 06 Nov 1994 08:49:38 GMT");
/// ```
#[derive(Clone, Debug)]
pub struct HttpDate {
    second: u64,
    text: [u8; 29],
}

/// 9999-12-31 23:59:59; the format has four digits for the year.
const LAST_SECOND: u64 = 253_402_300_799;

const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

impl HttpDate {
    /// The date `unix_seconds` after 1970-01-01 00:00 UTC; the last second of 9999 at most.
    pub fn new(unix_seconds: u64) -> HttpDate {
        let second = unix_seconds.min(LAST_SECOND);
        HttpDate {
            second,
            text: render(second),
        }
    }

    /// Moves to `unix_seconds`; costs a comparison while the second stays the same.
    #[inline]
    pub fn update(&mut self, unix_seconds: u64) {
        if unix_seconds != self.second {
            *self = HttpDate::new(unix_seconds);
        }
    }

    /// The 29 bytes of the date.
    #[inline]
    pub fn as_bytes(&self) -> &[u8; 29] {
        &self.text
    }
}

fn render(second: u64) -> [u8; 29] {
    let (days, clock) = (second / 86_400, second % 86_400);
    let (year, month, day) = civil(days);
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    text[..3].copy_from_slice(DAYS[(days % 7) as usize]);
    text[5..7].copy_from_slice(&two_digits(day));
    text[8..11].copy_from_slice(MONTHS[(month - 1) as usize]);
    text[12..14].copy_from_slice(&two_digits(year / 100));
    text[14..16].copy_from_slice(&two_digits(year % 100));
    text[17..19].copy_from_slice(&two_digits(clock / 3600));
    text[20..22].copy_from_slice(&two_digits(clock / 60 % 60));
    text[23..25].copy_from_slice(&two_digits(clock % 60));
    text
}

/// Year, month (1..=12) and day (1..=31) of a day counted from 1970-01-01.
///
/// Counts in eras of 400 years that begin on a 1 March, so that a leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468; // days from 0000-03-01 to 1970-01-01
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

fn two_digits(n: u64) -> [u8; 2] {
    [b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8]
}
