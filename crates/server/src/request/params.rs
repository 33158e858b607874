//! The values of a route's parameters, as ranges of the canonical path.

/// Ranges in the order in which the route declares its names; recycled.
#[derive(Debug, Default)]
pub(crate) struct Params {
    ranges: Vec<(u32, u32)>,
}

impl Params {
    pub(crate) fn push(&mut self, start: usize, end: usize) {
        // A path is shorter than the request line's limit, far below 4 GiB; a range that didn't
        // fit would be empty, not wrong.
        let range = u32::try_from(start).and_then(|start| Ok((start, u32::try_from(end)?)));
        self.ranges.push(range.unwrap_or((0, 0)));
    }

    pub(crate) fn get(&self, index: usize) -> Option<(usize, usize)> {
        let &(start, end) = self.ranges.get(index)?;
        Some((start as usize, end as usize))
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.ranges.is_empty() {
            self.ranges.clear();
            self.ranges.shrink_to(16);
        }
    }
}
