//! Cost of reading a head and writing an answer, beside `httparse`.
//!
//! `cargo bench -p stepwell-proto` prints the best of many rounds in nanoseconds a call: the rest
//! is the machine's noise. `-- count N` runs every case N times and prints nothing, for
//! `valgrind --tool=callgrind`, and `-- count N NAME` only that case.

// A benchmark is what the clock is for.
#![allow(clippy::disallowed_methods)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use stepwell_proto::http1::{Event, RecentHeads, ResponseHead, ServerConnection, parse_head};
use stepwell_proto::{Limits, RequestHead, Time};

const SMALL: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

const CURL: &[u8] = b"GET /hello/world HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\
User-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n";

const BROWSER: &[u8] = b"GET /articles/2024/10/a-title-of-some-length?page=2&sort=new HTTP/1.1\r\n\
Host: www.example.com\r\n\
Connection: keep-alive\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
Referer: https://www.example.com/articles/\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n\
Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\r\n";

const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";

struct Case {
    name: &'static str,
    run: Box<dyn FnMut()>,
}

fn case(name: &'static str, run: impl FnMut() + 'static) -> Case {
    Case {
        name,
        run: Box::new(run),
    }
}

fn httparse(name: &'static str, bytes: &'static [u8]) -> Case {
    case(name, move || {
        let mut fields = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut fields);
        let status = request.parse(black_box(bytes)).unwrap();
        assert!(status.is_complete());
        black_box(&request);
    })
}

fn ours(name: &'static str, bytes: &'static [u8]) -> Case {
    let limits = Limits::default();
    let mut head = RequestHead::new();
    case(name, move || {
        let end = parse_head(&mut head, black_box(bytes), &limits).unwrap();
        assert!(end.is_some());
        black_box(&head);
    })
}

fn serve(name: &'static str, bytes: &'static [u8]) -> Case {
    let mut conn = ServerConnection::new(Time::ZERO, Arc::new(Limits::default()));
    let mut head = RequestHead::new();
    let mut out = Vec::with_capacity(4096);
    case(name, move || {
        let mut input = black_box(bytes);
        let now = Time::from_millis(black_box(1000));
        let event = conn.poll(now, &mut input, &mut head).unwrap();
        assert!(matches!(event, Event::Head(_)));
        black_box(&head);
        let response = ResponseHead::<(&str, &str)> {
            status: 200,
            date: black_box(DATE),
            content_type: Some(black_box("text/plain; charset=utf-8")),
            fields: black_box(&[]),
        };
        out.clear();
        conn.respond(now, &response, black_box(b"Hello, World!"), &mut out);
        black_box(&out);
    })
}

fn serve_again(name: &'static str, bytes: &'static [u8]) -> Case {
    let mut conn = ServerConnection::new(Time::ZERO, Arc::new(Limits::default()));
    let mut head = RequestHead::new();
    let mut recent = RecentHeads::new();
    let mut out = Vec::with_capacity(4096);
    case(name, move || {
        let mut input = black_box(bytes);
        let now = Time::from_millis(black_box(1000));
        let event = conn.poll(now, &mut input, &mut head).unwrap();
        assert!(matches!(event, Event::Head(_)));
        black_box(&head);
        let response = ResponseHead::<(&str, &str)> {
            status: 200,
            date: black_box(DATE),
            content_type: Some(black_box("text/plain; charset=utf-8")),
            fields: black_box(&[]),
        };
        out.clear();
        let body = black_box(b"Hello, World!");
        conn.respond_again(now, &response, body, &mut recent, &mut out);
        black_box(&out);
    })
}

fn main() {
    let mut cases = [
        httparse("head small, httparse", SMALL),
        ours("head small, stepwell", SMALL),
        httparse("head curl, httparse", CURL),
        ours("head curl, stepwell", CURL),
        httparse("head browser, httparse", BROWSER),
        ours("head browser, stepwell", BROWSER),
        serve("poll + respond small", SMALL),
        serve_again("poll + respond_again small", SMALL),
        serve("poll + respond curl", CURL),
        serve("poll + respond browser", BROWSER),
    ];
    let args: Vec<String> = std::env::args()
        .filter(|a| a != "--bench")
        .skip(1)
        .collect();
    if let [flag, times, only @ ..] = args.as_slice() {
        assert_eq!(flag, "count");
        for case in cases
            .iter_mut()
            .filter(|c| only.is_empty() || only[0] == c.name)
        {
            (0..times.parse().unwrap()).for_each(|_| (case.run)());
        }
        return;
    }
    const CALLS: u32 = 2_000;
    let mut best = [f64::MAX; 16];
    for _round in 0..300 {
        for (case, best) in cases.iter_mut().zip(&mut best) {
            let began = Instant::now();
            (0..CALLS).for_each(|_| (case.run)());
            *best = best.min(began.elapsed().as_nanos() as f64 / f64::from(CALLS));
        }
    }
    for (case, best) in cases.iter().zip(best) {
        println!("{:28} {best:7.1} ns", case.name);
    }
}
