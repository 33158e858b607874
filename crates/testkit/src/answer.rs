//! A response as it came over the wire.

/// One HTTP/1 response, interim ones included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// `HTTP/1.1` or whatever stands in its place.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// The reason phrase, maybe empty.
    pub reason: String,
    /// Names as sent and values, in the order of the wire.
    pub fields: Vec<(String, String)>,
    /// The content, with chunked framing taken off.
    pub body: Vec<u8>,
    /// The sizes of the chunks as they came; empty when the body was not chunked.
    pub chunks: Vec<usize>,
    /// Trailer fields of a chunked body.
    pub trailers: Vec<(String, String)>,
}

impl Answer {
    /// The value of the first field of this name, case ignored.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| &**v)
    }

    /// The values of all fields of this name, case ignored.
    #[must_use]
    pub fn headers(&self, name: &str) -> Vec<&str> {
        let same = self
            .fields
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name));
        same.map(|(_, v)| &**v).collect()
    }

    /// Whether a field that is a list of words (`Connection`, `Vary`, `Allow`…) has this word.
    #[must_use]
    pub fn lists(&self, name: &str, word: &str) -> bool {
        let mut words = self.headers(name).into_iter().flat_map(|v| v.split(','));
        words.any(|w| w.trim().eq_ignore_ascii_case(word))
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
