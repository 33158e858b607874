//! Latencies in buckets that grow with the value: 64 to each power of two, so that a percentile is
//! at most 1.6 % above the true one.

use std::time::Duration;

const FINE: u32 = 6;

pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

impl Histogram {
    pub fn new() -> Histogram {
        // The highest index there is: that of u64::MAX.
        Histogram {
            counts: vec![0; bucket(u64::MAX) + 1],
            total: 0,
            max: 0,
        }
    }

    pub fn record(&mut self, nanoseconds: u64, count: u64) {
        self.counts[bucket(nanoseconds)] += count;
        self.total += count;
        self.max = self.max.max(nanoseconds);
    }

    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.max) = (0, 0);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// The least latency that `percent` of all samples do not exceed.
    pub fn percentile(&self, percent: f64) -> Duration {
        let wanted = (self.total as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return Duration::from_nanos(upper_bound(index).min(self.max));
            }
        }
        Duration::ZERO
    }
}

fn bucket(value: u64) -> usize {
    let coarse = (64 - value.leading_zeros()).saturating_sub(FINE + 1);
    ((coarse as usize) << FINE) + (value >> coarse) as usize
}

fn upper_bound(index: usize) -> u64 {
    let fine = 1usize << FINE;
    if index < 2 * fine {
        return index as u64;
    }
    let coarse = index / fine - 1;
    let low = ((index % fine + fine) as u64) << coarse;
    low + ((1u64 << coarse) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_values() {
        for value in [
            0,
            1,
            63,
            64,
            127,
            128,
            129,
            1_000,
            65_535,
            1 << 40,
            u64::MAX,
        ] {
            let upper = upper_bound(bucket(value));
            assert!(
                upper >= value,
                "{value} lies above its bucket's end {upper}"
            );
            assert!(upper - value <= value / 64, "{value} is told as {upper}");
        }
    }

    #[test]
    fn percentiles_are_ordered_and_close() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|n| histogram.record(n * 1_000, 1));
        let median = histogram.percentile(50.0).as_nanos() as f64;
        assert!((median / 5_000_000.0 - 1.0).abs() < 0.02, "{median}");
        assert_eq!(histogram.percentile(100.0), histogram.max());
    }
}
