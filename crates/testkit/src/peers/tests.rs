//! The peers against a listener of the test's own: each shows the behaviour it is named for.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::*;
use crate::{Ending, PATIENCE, RawClient};

/// Runs `server` with the first connection on a thread of its own.
fn serve<T: Send + 'static>(
    server: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        server(stream)
    });
    (addr, thread)
}

/// Reads until `bytes` have come.
fn take(stream: &mut TcpStream, bytes: &[u8]) {
    let mut space = vec![0; bytes.len()];
    stream.read_exact(&mut space).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&space),
        String::from_utf8_lossy(bytes)
    );
}

#[test]
fn a_raw_client_reads_every_framing_in_one_stream() {
    let (addr, server) = serve(|mut s| {
        take(&mut s, b"GET / HTTP/1.1\r\n\r\n");
        s.write_all(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
            .unwrap();
        s.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n0\r\n\r\n")
            .unwrap();
        s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
            .unwrap();
        s.write_all(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
            .unwrap();
    });
    let mut client = RawClient::connect(addr);
    client.send_bytewise(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(client.read_response().status, 100);
    assert_eq!(client.read_response().text(), "ab");
    assert_eq!(client.read_response().text(), "c");
    assert_eq!(
        client.read_response_to("HEAD").header("content-LENGTH"),
        Some("9")
    );
    assert_eq!(client.read_response().text(), "until the end");
    assert_eq!(client.expect_end(), Ending::Closed);
    server.join().unwrap();
}

#[test]
fn a_raw_client_gives_up_at_its_deadline() {
    let (addr, server) = serve(|mut s| s.read(&mut [0]).unwrap());
    let mut client = RawClient::connect(addr).patience(Duration::from_millis(20));
    let error = client.try_read_response_to("GET").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    client.expect_silence(Duration::from_millis(1));
    client.finish();
    assert_eq!(server.join().unwrap(), 0);
    assert_eq!(client.expect_end(), Ending::Closed);
}

#[test]
#[should_panic(expected = "reading 5 bytes: unexpected end of file")]
fn a_raw_client_panics_when_too_little_comes() {
    let (addr, server) = serve(|mut s| s.write_all(b"four").unwrap());
    let mut client = RawClient::connect(addr);
    server.join().unwrap();
    client.read_exactly(5);
}

#[test]
fn a_raw_client_reads_through_a_mark() {
    let (addr, server) = serve(|mut s| s.write_all(b"data: 1\n\ndata: 2\n\n").unwrap());
    let mut client = RawClient::connect(addr);
    assert_eq!(client.read_through("\n\n"), b"data: 1\n\n");
    assert_eq!(client.read_through("\n\n"), b"data: 2\n\n");
    server.join().unwrap();
}

#[test]
fn a_pipeliner_sends_at_once_and_reads_in_order() {
    let (addr, server) = serve(|mut s| {
        take(&mut s, b"HEAD /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
        s.write_all(head).unwrap();
        s.write_all(&[head, &b"b"[..]].concat()).unwrap();
    });
    let mut pipeliner = Pipeliner::connect(addr);
    pipeliner
        .push("HEAD /a HTTP/1.1\r\n\r\n")
        .push("GET /b HTTP/1.1\r\n\r\n")
        .send();
    let bodies: Vec<_> = pipeliner.read_all().iter().map(|a| a.text()).collect();
    assert_eq!(bodies, ["", "b"]);
    server.join().unwrap();
}

#[test]
fn a_slow_loris_tells_how_it_ended() {
    let (addr, server) = serve(|mut s| {
        take(&mut s, b"GET");
        s.write_all(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        s
    });
    let mut loris = SlowLoris::connect(addr, Duration::from_millis(5));
    let endurance = loris.drip("GET / HTTP/1.1\r\n\r\n".repeat(100), PATIENCE);
    assert!(matches!(endurance, Endurance::Answered(a) if a.status == 408));
    drop(server.join().unwrap());

    let (addr, server) = serve(|mut s| s.read(&mut [0]).unwrap());
    let mut loris = SlowLoris::connect(addr, Duration::from_millis(5));
    let endurance = loris.drip("GET / HTTP/1.1\r\n\r\n".repeat(100), PATIENCE);
    assert!(matches!(endurance, Endurance::Ended(_)), "{endurance:?}");
    assert_eq!(server.join().unwrap(), 1);

    let (addr, server) = serve(|mut s| take(&mut s, b"GET"));
    let mut loris = SlowLoris::connect(addr, Duration::from_millis(1));
    assert!(matches!(loris.drip("GE", PATIENCE), Endurance::Tolerated));
    loris.client().send("T");
    server.join().unwrap();
}

#[test]
fn a_slow_uploader_keeps_the_rest_back() {
    let (addr, server) = serve(|mut s| {
        take(
            &mut s,
            b"POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nuu",
        );
        s.set_nonblocking(true).unwrap();
        let more = s.read(&mut [0]).map_err(|e| e.kind());
        s.set_nonblocking(false).unwrap();
        s.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        take(&mut s, b"uuu");
        s.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        more
    });
    let mut uploader = SlowUploader::start(addr, "/up", 5);
    assert_eq!(uploader.trickle(2), 3);
    assert_eq!(uploader.client().read_response().status, 100);
    assert_eq!(uploader.complete().status, 201);
    assert_eq!(server.join().unwrap(), Err(ErrorKind::WouldBlock));
}

#[test]
fn a_stalled_reader_makes_writing_stop() {
    let (addr, server) = serve(|mut s| {
        take(&mut s, b"GET / HTTP/1.1\r\n\r\n");
        s.set_write_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let piece = [b'x'; 64 * 1024];
        let stopped = (0..1024).any(|_| s.write_all(&piece).is_err());
        s.read_exact(&mut [0; 4]).unwrap();
        stopped
    });
    let mut reader = StalledReader::connect(addr);
    reader.ask("GET / HTTP/1.1\r\n\r\n");
    // The server's word that it has met back-pressure is that it reads again.
    let taken = reader.flood(b"more", Duration::from_millis(50), 4).unwrap();
    assert!(taken >= 4, "{taken}");
    assert!(
        server.join().unwrap(),
        "64 MiB went into a socket that nobody reads"
    );
    assert!(!reader.wake().read_to_end().0.is_empty());
}

#[test]
fn a_vanishing_client_resets_or_closes() {
    let read = |mut s: TcpStream| {
        take(&mut s, b"GET");
        s.read(&mut [0]).map_err(|e| e.kind())
    };
    let (addr, server) = serve(read);
    VanishingClient::ask(addr, "GET").reset();
    assert_eq!(server.join().unwrap(), Err(ErrorKind::ConnectionReset));

    let (addr, server) = serve(read);
    VanishingClient::ask(addr, "GET").close();
    assert_eq!(server.join().unwrap(), Ok(0));

    let (addr, server) = serve(move |s| {
        let mut answer = s.try_clone().unwrap();
        let end = read(s);
        answer
            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
            .unwrap();
        end
    });
    assert_eq!(
        VanishingClient::ask(addr, "GET")
            .half_close()
            .read_response()
            .status,
        204
    );
    assert_eq!(server.join().unwrap(), Ok(0));
}

#[test]
fn a_crowd_is_on_hand_all_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let mut all: Vec<_> = (0..50).map(|_| listener.accept().unwrap().0).collect();
        all.iter_mut().for_each(|s| take(s, b"GET"));
        all.iter_mut()
            .for_each(|s| s.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap());
    });
    let mut crowd = Crowd::connect(addr, 50);
    assert!(crowd.send("GET").read_all().iter().all(|a| a.status == 204));
    assert_eq!(crowd.into_clients().len(), 50);
    server.join().unwrap();
}
