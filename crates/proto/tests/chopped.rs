//! However the bytes are cut, the connection sees the same.

mod support;

use stepwell_proto::Limits;
use support::{Answer, Random, run};

const GOOD: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "\r\nGET /a/b%20c?d=e?f HTTP/1.1\r\nHost: example.com:80\r\nX:\r\nY: \t a b \t\r\nAccept: */*\r\n\r\n",
    "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nContent-Type: text/plain\r\n\r\nhello world",
    "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=\"b\\\"c\";d\r\n world\r\n0\r\nX-Sum: 1\r\nY: \r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: h\r\nUser-Agent: a rather long one, to go round more than once\r\n\r\n",
    "GET http://other:81?q HTTP/1.1\r\nhOST: h\r\nCookie: a=b; c=d\r\nCookie: e\r\n\r\n",
    "PROPFIND /dav HTTP/1.1\r\nHost: [::1]:8080\r\nDepth: 1\r\n\r\n",
    "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
];

const LAST: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: h\r\nConnection: x, close\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\nHost: h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nBad Name: x\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nNoColon\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX: a\u{1}b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
    "GET /\u{e9} HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET / HTTP/3.0\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.1x\r\n\r\n",
    "\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "G\u{0}T / HTTP/1.1\r\n\r\n",
    "AVERYVERYLONGMETHODNAMETHATNOBODYHAS / HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 05\r\nX: y\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nHost: x\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b[\r\nhello\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\nhello",
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000\r\n\r\nhello",
    "GET /unfinished HTTP/1.1\r\nHost: h\r\nX: va",
    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhello",
    "GET /long/long/long/long/long/long/long/long/long/long/long/long/long HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX: long long long long long long long long long long long long long long long\r\nY: long long long long long long long long long\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\na:\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\nh:\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na:\r\nb:\r\nc:\r\nd:\r\n\r\n",
];

fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| c as u8).collect()
}

/// Limits under which some of the samples are too much.
fn tight() -> Limits {
    Limits {
        header_bytes: 160,
        header_fields: 6,
        request_line: 64,
        body: 2000,
        chunk_extension_bytes: 12,
        trailer_bytes: 24,
        trailer_fields: 3,
        drain_bytes: 8,
        ..Limits::default()
    }
}

fn samples() -> Vec<Vec<u8>> {
    GOOD.iter().chain(LAST).map(|s| bytes(s)).collect()
}

fn settings() -> Vec<(Limits, Answer)> {
    let both = |answer| [(Limits::default(), answer), (tight(), answer)];
    [both(Answer::AfterBody), both(Answer::AtOnce)].concat()
}

#[test]
fn every_cut_in_two() {
    for (limits, answer) in settings() {
        for sample in samples() {
            let whole = run(&limits, answer, [sample.as_slice()]);
            for cut in 0..=sample.len() {
                let (a, b) = sample.split_at(cut);
                assert_eq!(
                    run(&limits, answer, [a, b]),
                    whole,
                    "{:?}",
                    (a, b).0.escape_ascii()
                );
            }
        }
    }
}

#[test]
fn byte_by_byte() {
    for (limits, answer) in settings() {
        for sample in samples() {
            let whole = run(&limits, answer, [sample.as_slice()]);
            assert_eq!(
                run(&limits, answer, sample.chunks(1)),
                whole,
                "{}",
                sample.escape_ascii()
            );
        }
    }
}

/// Pipelined requests of all kinds, cut anywhere, any number of times.
#[test]
fn random_cuts_of_random_pipelines() {
    let mut random = Random::new(1);
    for round in 0..3000 {
        let mut wire = Vec::new();
        for _ in 0..random.below(6) {
            wire.extend(bytes(GOOD[random.below(GOOD.len())]));
        }
        wire.extend(bytes(LAST[random.below(LAST.len())]));
        let (limits, answer) = settings().swap_remove(random.below(4));
        let whole = run(&limits, answer, [wire.as_slice()]);
        let mut rest = wire.as_slice();
        let mut pieces = Vec::new();
        let longest = [3, 40, 400][random.below(3)];
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at((1 + random.below(longest)).min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        assert_eq!(
            run(&limits, answer, pieces),
            whole,
            "round {round}: {}",
            wire.escape_ascii()
        );
    }
}

/// Damaged requests too: a byte changed, dropped or doubled anywhere.
#[test]
fn random_cuts_of_damaged_requests() {
    let mut random = Random::new(2);
    let samples = samples();
    const ODD: &[u8] = b"\0\t\n\r \"#%,:;=@\\_\x7f\x80\xff0aZ";
    for round in 0..20_000 {
        let mut wire = samples[random.below(samples.len())].clone();
        let at = random.below(wire.len());
        match random.below(3) {
            0 => wire[at] = ODD[random.below(ODD.len())],
            1 => drop(wire.remove(at)),
            _ => wire.insert(at, ODD[random.below(ODD.len())]),
        }
        let (limits, answer) = settings().swap_remove(random.below(4));
        let whole = run(&limits, answer, [wire.as_slice()]);
        let cut = random.below(wire.len());
        let (a, b) = wire.split_at(cut);
        let (b, c) = b.split_at(random.below(b.len()));
        assert_eq!(
            run(&limits, answer, [a, b, c]),
            whole,
            "{round}: {}",
            wire.escape_ascii()
        );
        assert_eq!(
            run(&limits, answer, wire.chunks(1)),
            whole,
            "{round}: {}",
            wire.escape_ascii()
        );
    }
}
