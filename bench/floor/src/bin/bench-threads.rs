//! The other floor: a thread for each connection that reads, sleeps and writes, and nothing else.
//! What it reaches with sleeping handlers is what the scheduler of this machine gives to anybody.
//!
//! `bench-threads ADDRESS`: answers `/slow?ms=N` after N milliseconds.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 4\r\n\r\nslow";

fn main() -> std::io::Result<()> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:8080".into());
    for stream in TcpListener::bind(address)?.incoming() {
        let stream = stream?;
        thread::Builder::new()
            .stack_size(64 * 1024)
            .spawn(move || serve(stream))?;
    }
    Ok(())
}

/// Answers until the client leaves; expects one request a read.
fn serve(mut stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        thread::sleep(Duration::from_millis(milliseconds(&buffer[..read])));
        stream.write_all(REPLY).ok()?;
    }
}

/// The number after the first `=`.
fn milliseconds(request: &[u8]) -> u64 {
    let digits = request.iter().skip_while(|byte| **byte != b'=').skip(1);
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).take(6);
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}
