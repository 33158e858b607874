//! Decoded `name=value` pairs of a query or a form, in one buffer.

/// Pairs in the order sent. Names may repeat.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    text: String,
    /// Ends of name and value; each starts where the one before it ends.
    ends: Vec<(u32, u32)>,
}

impl Pairs {
    /// Decodes `application/x-www-form-urlencoded` bytes. What isn't UTF-8 is replaced, as browsers
    /// do.
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        let mut pairs = Self::default();
        for (name, value) in form_urlencoded::parse(encoded) {
            pairs.text.push_str(&name);
            let name_end = pairs.text.len();
            pairs.text.push_str(&value);
            // Replacement characters make text at most three times as long as a body that is held
            // in memory; whatever doesn't fit 4 GiB is left out.
            let (Ok(name_end), Ok(end)) =
                (u32::try_from(name_end), u32::try_from(pairs.text.len()))
            else {
                break;
            };
            pairs.ends.push((name_end, end));
        }
        pairs
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.iter().map(move |&(name_end, end)| {
            let name = self.text.get(start..name_end as usize).unwrap_or_default();
            let value = self
                .text
                .get(name_end as usize..end as usize)
                .unwrap_or_default();
            start = end as usize;
            (name, value)
        })
    }

    pub(crate) fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter()
            .filter(move |(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}
