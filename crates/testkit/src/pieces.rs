//! Chopping input, for tests which say that chopping makes no difference.

/// Every way to cut `bytes` into two pieces that are not empty.
pub fn every_split(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    (1..bytes.len()).map(|at| bytes.split_at(at))
}

/// `bytes` in pieces of `size` bytes, the last one maybe shorter.
///
/// # Panics
/// When `size` is 0.
pub fn fragments(bytes: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
    bytes.chunks(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_cover_every_cut_once() {
        let splits: Vec<_> = every_split(b"abc").collect();
        assert_eq!(splits, [(&b"a"[..], &b"bc"[..]), (b"ab", b"c")]);
        assert_eq!(every_split(b"").count(), 0);
    }
}
