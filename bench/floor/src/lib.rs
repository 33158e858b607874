//! Canned replies, and the counting of requests that stands for parsing them: shared by the floor
//! and by the reactor without a protocol.

/// Requests answered with one `send`; more of them in one read are answered in several.
pub const BATCH: usize = 64;

/// The replies to a batch of requests, ready to be sent.
pub struct Replies {
    hello: Vec<u8>,
    hello_length: usize,
    json: Vec<u8>,
    json_length: usize,
}

impl Default for Replies {
    fn default() -> Replies {
        let hello = reply("text/plain; charset=utf-8", b"Hello, World!");
        let json = reply(
            "application/json",
            include_bytes!("../../record.json").trim_ascii(),
        );
        Replies {
            hello_length: hello.len(),
            json_length: json.len(),
            hello: hello.repeat(BATCH),
            json: json.repeat(BATCH),
        }
    }
}

impl Replies {
    /// The replies to `count` requests, as many of them as fit into one `send`.
    pub fn to(&self, requests: &[u8], count: usize) -> &[u8] {
        // "GET /json": the byte after the slash tells the two pages apart.
        if requests.get(5) == Some(&b'j') {
            &self.json[..count * self.json_length]
        } else {
            &self.hello[..count * self.hello_length]
        }
    }
}

/// The head is as long as Stepwell's own.
fn reply(media_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: {media_type}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Counts the empty lines in `bytes`. Looks at every fourth byte only, as long as it is none of
/// the pattern's.
fn count_ends(bytes: &[u8]) -> usize {
    let (mut count, mut at) = (0, 3);
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\r' && byte != b'\n' {
            at += 4;
        } else if bytes[at - 3..].starts_with(b"\r\n\r\n") {
            count += 1;
            at += 4;
        } else {
            at += 1;
        }
    }
    count
}

/// Counts the requests that end in what arrives on one connection, piece by piece.
#[derive(Default)]
pub struct Counter {
    /// The last three bytes of a read that ended within a request: its end may be cut in two.
    tail: [u8; 3],
}

impl Counter {
    /// How many requests end in `bytes`, which have just arrived.
    pub fn count(&mut self, bytes: &[u8]) -> usize {
        let mut count = count_ends(bytes);
        if self.tail != [0; 3] {
            let front = bytes.len().min(3);
            let mut seam = [0; 6];
            seam[..3].copy_from_slice(&self.tail);
            seam[3..3 + front].copy_from_slice(&bytes[..front]);
            count += count_ends(&seam);
        }
        self.tail = [0; 3];
        if !bytes.ends_with(b"\r\n\r\n") {
            for &byte in &bytes[bytes.len().saturating_sub(3)..] {
                self.tail = [self.tail[1], self.tail[2], byte];
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_alike_however_the_bytes_are_cut() {
        let requests = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3);
        for cut in 0..requests.len() {
            let (front, back) = requests.split_at(cut);
            let mut counter = Counter::default();
            assert_eq!(
                counter.count(front) + counter.count(back),
                3,
                "cut at {cut}"
            );
        }
    }
}
