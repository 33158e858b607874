//! Reads the first reply of a class with care, to learn the length that all others must have.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The whole length of the reply to `request`, head and body.
pub fn reply_length(address: SocketAddr, request: &[u8]) -> io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(request)?;
    let mut reply = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = stream.read(&mut buffer)?;
        reply.extend_from_slice(&buffer[..read]);
        if let Some(length) = whole_length(&reply)? {
            if reply.len() >= length {
                return Ok(length);
            }
        }
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Head and body of the reply that starts in `reply`, once its head is complete.
fn whole_length(reply: &[u8]) -> io::Result<Option<usize>> {
    let Some(end) = reply.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&reply[..end]);
    if !head.starts_with("HTTP/1.1 2") {
        return Err(io::Error::other(format!("unexpected reply: {head}")));
    }
    let length = head.lines().skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    match length {
        Some(length) => Ok(Some(end + 4 + length)),
        None => Err(io::Error::other(format!(
            "a reply without Content-Length: {head}"
        ))),
    }
}
