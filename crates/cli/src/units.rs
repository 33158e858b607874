//! Durations and sizes as people write them: `30s`, `1m`.

use std::time::Duration;

/// A duration: a number with `ms`, `s`, `m` or `h`; seconds without a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    number
        .and_then(|number| number.checked_mul(factor))
        .filter(|millis| factor != 0 && *millis <= 365 * 24 * 3_600_000)
        .map(Duration::from_millis)
        .ok_or_else(|| "expected a duration such as 500ms, 30s or 5m".to_owned())
}

/// A size in bytes: a number with `k`, `m` or `g` (powers of 1024, with or without `b`), or bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let unit = unit.to_ascii_lowercase();
    let shift = match unit
        .strip_suffix("ib")
        .or(unit.strip_suffix('b'))
        .unwrap_or(&unit)
    {
        "" => Some(0),
        "k" => Some(10),
        "m" => Some(20),
        "g" => Some(30),
        _ => None,
    };
    let bytes = number
        .zip(shift)
        .and_then(|(number, shift)| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected a size such as 512, 64k or 1m".to_owned())
}

fn split(text: &str) -> (Option<u64>, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.parse().ok(), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, millis) in [("0", 0), ("30", 30_000), ("30s", 30_000), ("250ms", 250)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(duration("5m"), duration("300s"));
        assert_eq!(duration("2h"), duration("120min"));
        for text in [
            "",
            "s",
            "-1s",
            "1.5s",
            "30 s",
            "3d",
            "99999999999999999h",
            "999999h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [("0", 0), ("512", 512), ("8k", 8192), ("1M", 1 << 20)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        assert_eq!(size("1GiB"), size("1024mb"));
        for text in ["", "k", "-1", "1t", "1.5m", "99999999999g"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
