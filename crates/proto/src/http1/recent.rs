//! Heads that were sent before, kept to be sent again.

use super::encode::{self, AsField, Connection, Length, ResponseHead};

/// Entries; a head has one place, chosen by its status and length.
const PLACES: usize = 8;
/// Heads with a longer `Content-Type` are not kept.
const LONGEST_TYPE: usize = 64;

/// The heads of recent answers, for an event loop to share among its connections.
///
/// Most answers of a server differ from an earlier one in nothing but `Date` and body. Their head
/// is copied in one piece and gets its date, which costs a third of encoding it anew. Only heads
/// without further fields are kept; what is kept is bounded to a few hundred bytes per place.
#[derive(Clone, Debug, Default)]
pub struct RecentHeads {
    places: [Recent; PLACES],
}

#[derive(Clone, Debug, Default)]
struct Recent {
    status: u16,
    length: usize,
    /// `Content-Type`, if `typed`.
    content_type: String,
    typed: bool,
    /// The head as it was sent; empty for a place that is free.
    bytes: Vec<u8>,
    /// Where the 29 bytes of the date are.
    date_at: usize,
}

impl Recent {
    fn is<F>(&self, head: &ResponseHead<'_, F>, length: usize) -> bool {
        self.length == length
            && self.status == head.status
            && self.typed == head.content_type.is_some()
            && self.content_type == head.content_type.unwrap_or_default()
    }
}

impl RecentHeads {
    /// None yet.
    pub fn new() -> RecentHeads {
        RecentHeads::default()
    }

    /// Appends the head of an answer on a connection that stays open, and whose body has `length`
    /// bytes.
    #[inline(always)]
    pub(super) fn append<F: AsField>(
        &mut self,
        head: &ResponseHead<'_, F>,
        length: usize,
        out: &mut Vec<u8>,
    ) {
        let recent = &self.places[(length ^ usize::from(head.status)) % PLACES];
        if recent.is(head, length) && head.fields.is_empty() {
            let start = out.len();
            out.extend_from_slice(&recent.bytes);
            let date = start + recent.date_at;
            if let Some(place) = out.get_mut(date..date + head.date.len()) {
                place.copy_from_slice(head.date);
                return;
            }
            out.truncate(start);
        }
        self.encode(head, length, out);
    }

    #[inline(never)]
    fn encode<F: AsField>(&mut self, head: &ResponseHead<'_, F>, length: usize, out: &mut Vec<u8>) {
        let start = out.len();
        encode::head(head, Length::Known(length as u64), Connection::Default, out);
        let short = head
            .content_type
            .is_none_or(|kind| kind.len() <= LONGEST_TYPE);
        let bytes = out.get(start..).unwrap_or_default();
        let date_at = bytes.windows(6).position(|six| six == b"Date: ");
        if let (true, true, Some(date_at)) = (head.fields.is_empty(), short, date_at) {
            // Into the old buffers: bodies of ever new lengths must not cost an allocation each.
            let place = &mut self.places[(length ^ usize::from(head.status)) % PLACES];
            (place.status, place.length, place.date_at) = (head.status, length, date_at + 6);
            place.typed = head.content_type.is_some();
            place.content_type.clear();
            place
                .content_type
                .push_str(head.content_type.unwrap_or_default());
            place.bytes.clear();
            place.bytes.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Head<'a> = ResponseHead<'a, (&'static str, &'static str)>;

    fn plain(head: &Head<'_>, length: usize) -> Vec<u8> {
        let mut out = Vec::new();
        encode::head(
            head,
            Length::Known(length as u64),
            Connection::Default,
            &mut out,
        );
        out
    }

    #[test]
    fn a_head_sent_again_is_the_one_that_would_have_been_encoded() {
        let mut recent = RecentHeads::new();
        let dates = [
            b"Sun, 06 Nov 1994 08:49:37 GMT",
            b"Mon, 07 Nov 1994 08:49:38 GMT",
        ];
        let kinds = [None, Some("text/plain"), Some("text/html"), Some("Date: x")];
        let long = "x/".repeat(100);
        let fields: [&[(&str, &str)]; 2] = [&[], &[("Vary", "Accept-Encoding")]];
        for round in 0..4 {
            for status in [200, 404, 500, 200] {
                for length in [0, 13, 21, 5_000_000] {
                    for kind in kinds.into_iter().chain([Some(long.as_str())]) {
                        for fields in fields {
                            let date = dates[round % 2];
                            let head = Head {
                                status,
                                date,
                                content_type: kind,
                                fields,
                            };
                            let mut out = b"before".to_vec();
                            recent.append(&head, length, &mut out);
                            assert_eq!(out[6..], plain(&head, length), "{head:?} {length}");
                        }
                    }
                }
            }
        }
    }
}
