//! Whole connections as sequences of operations. Input: a length byte, so many operation bytes,
//! then the bytes that the client sends.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use std::time::Duration;
use stepwell_proto::http1::{
    BodyLength, BodyMode, Eof, Event, RecentHeads, ServerConnection, Timeout,
};
use stepwell_proto::{Limits, RequestHead, Time};

#[path = "../../crates/proto/tests/support/mod.rs"]
mod support;

use support::{Answer, response, run};

fuzz_target!(|input: &[u8]| {
    let Some((&count, rest)) = input.split_first() else {
        return;
    };
    let (operations, wire) = rest.split_at(usize::from(count).min(rest.len()));
    same_however_cut(operations, wire);
    let mut driver = Driver::new();
    let mut wire = wire;
    for &operation in operations {
        driver.step(operation, &mut wire);
    }
});

fn limits() -> Limits {
    Limits {
        header_bytes: 512,
        header_fields: 8,
        request_line: 128,
        body: 300,
        chunk_extension_bytes: 32,
        trailer_bytes: 64,
        trailer_fields: 3,
        drain_bytes: 100,
        ..Limits::default()
    }
}

fn same_however_cut(operations: &[u8], wire: &[u8]) {
    for answer in [Answer::AfterBody, Answer::AtOnce] {
        let whole = run(&limits(), answer, [wire]);
        let mut pieces = Vec::new();
        let mut rest = wire;
        for &operation in operations {
            let (piece, behind) = rest.split_at(usize::from(operation >> 2).min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        pieces.push(rest);
        assert_eq!(run(&limits(), answer, pieces), whole);
        assert_eq!(run(&limits(), answer, wire.chunks(1)), whole);
    }
}

/// Calls anything at any time and checks what must always hold.
struct Driver {
    conn: ServerConnection,
    head: RequestHead,
    now: Time,
    waiting: Vec<u8>,
    out: Vec<u8>,
    /// Body bytes of the present request, and the most there may be.
    body: u64,
    limit: u64,
    heads: usize,
    answers: usize,
    refused: bool,
    mode: BodyMode,
    recent: RecentHeads,
}

impl Driver {
    fn new() -> Driver {
        Driver {
            conn: ServerConnection::new(Time::ZERO, Arc::new(limits())),
            head: RequestHead::new(),
            now: Time::ZERO,
            waiting: Vec::new(),
            out: Vec::new(),
            body: 0,
            limit: 0,
            heads: 0,
            answers: 0,
            refused: false,
            mode: BodyMode::None,
            recent: RecentHeads::new(),
        }
    }

    fn step(&mut self, operation: u8, wire: &mut &[u8]) {
        let amount = usize::from(operation >> 4);
        let finished = self.conn.is_finished();
        let written = self.out.len();
        match operation & 15 {
            0..=3 => self.receive([1, 7, 40, 1000][usize::from(operation & 3)] * amount, wire),
            4 => self.poll(),
            5 | 6 => self.respond(amount),
            7 => self.start(amount),
            8 => self
                .conn
                .chunk(&b"0123456789abcdef"[..amount], &mut self.out),
            9 => self.finish(),
            10 => self.eof(),
            11 => self.wait(Duration::from_millis(300 << amount)),
            12 => self.conn.body_paused(self.now),
            13 => self.limit_body(amount as u64 * 30),
            14 if amount == 15 => self.conn.close_after_response(),
            14 => self.conn.send_continue(self.now, &mut self.out),
            _ => self
                .conn
                .send_informational(103, &[("Link", "</x>")], &mut self.out),
        }
        if finished {
            assert!(self.conn.is_finished(), "the dead stay dead");
            assert_eq!(self.out.len(), written, "and silent");
        }
        assert!(self.answers <= self.heads + usize::from(self.refused));
    }

    fn receive(&mut self, most: usize, wire: &mut &[u8]) {
        let (piece, rest) = wire.split_at(most.min(wire.len()));
        *wire = rest;
        self.waiting.extend_from_slice(piece);
        self.poll();
    }

    fn poll(&mut self) {
        let all = std::mem::take(&mut self.waiting);
        let mut input = all.as_slice();
        loop {
            let before = input.len();
            let due = self.conn.awaits_response();
            let event = self.conn.poll(self.now, &mut input, &mut self.head);
            assert!(input.len() <= before);
            match event {
                Ok(Event::NeedMore) => {
                    assert!(input.is_empty());
                    break;
                }
                Ok(Event::Head(_)) => {
                    assert!(!due && self.conn.awaits_response());
                    assert!(self.head.field_count() <= 8 && self.head.target().len() <= 128);
                    self.heads += 1;
                    (self.body, self.limit) = (0, 300);
                }
                Ok(Event::Body(data)) => {
                    assert!(!data.is_empty());
                    self.body += data.len() as u64;
                    assert!(self.body <= self.limit);
                }
                Ok(Event::End) => assert!(self.head.trailers().len() <= 3),
                Ok(Event::Paused) => {
                    assert_eq!(input.len(), before);
                    break;
                }
                Ok(Event::Closed) => break,
                Err(error) => {
                    assert!((400..=505).contains(&error.status()));
                    assert!(!self.refused, "one refusal ends it");
                    self.refused = true;
                    assert_eq!(
                        self.conn.poll(self.now, &mut input, &mut self.head),
                        Ok(Event::Closed)
                    );
                    break;
                }
            }
        }
        self.waiting = input.to_vec();
    }

    fn respond(&mut self, amount: usize) {
        let due = self.conn.awaits_response();
        let before = self.out.len();
        let status = [200, 204, 304, 404, 205, 99][amount % 6];
        let body = &b"0123456789abcdef"[..amount];
        self.conn
            .respond(self.now, &response(status), body, &mut self.out);
        assert_eq!(self.out.len() > before, due);
        self.answers += usize::from(due);
    }

    fn start(&mut self, amount: usize) {
        let due = self.conn.awaits_response();
        let before = self.out.len();
        let length = match amount % 3 {
            0 => BodyLength::Empty,
            1 => BodyLength::Known(amount as u64),
            _ => BodyLength::Unknown,
        };
        let mode = self
            .conn
            .start_response(self.now, &response(200), length, &mut self.out);
        assert_eq!(self.out.len() > before, due);
        if due {
            self.answers += 1;
            self.mode = mode;
        }
    }

    fn finish(&mut self) {
        let before = self.out.len();
        self.conn
            .finish_response(self.now, &[("X-Sum", "1")], &mut self.out);
        if self.mode == BodyMode::Chunked && self.out.len() > before {
            assert!(self.out.ends_with(b"0\r\nX-Sum: 1\r\n\r\n"));
        }
    }

    fn eof(&mut self) {
        match self.conn.handle_eof(self.now) {
            Eof::Close => assert!(self.conn.is_finished()),
            Eof::Truncated | Eof::AfterAnswer => {}
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
        let deadline = self.conn.poll_timeout();
        match self.conn.handle_timeout(self.now) {
            Timeout::Nothing => assert!(deadline.is_none_or(|d| d > self.now)),
            Timeout::CloseQuietly => assert!(self.conn.is_finished()),
            Timeout::Fail(error) => {
                assert_eq!(error.status(), 408);
                assert!(!self.refused);
                self.refused = true;
            }
        }
    }

    fn limit_body(&mut self, limit: u64) {
        match self.conn.set_body_limit(limit.max(self.body)) {
            Ok(()) => self.limit = limit.max(self.body),
            Err(error) => {
                assert_eq!(error.status(), 413);
                self.refused = true;
            }
        }
    }
}
