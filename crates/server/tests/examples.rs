//! Every example does what its head says, and stops on TERM.

use std::io::Write;

use stepwell_testkit::{Answer, PATIENCE, Program, RawClient, get, in_chunks, post, request};

/// Starts an example, lets `talk` use it, and expects it to end in order.
#[track_caller]
fn with_example(name: &str, talk: impl FnOnce(&Program)) -> String {
    let mut program = Program::example(name);
    talk(&program);
    program.signal("TERM");
    let status = program.wait_exit(PATIENCE);
    assert!(status.success(), "{name}: {status}\n{}", program.stderr());
    program.stdout()
}

#[track_caller]
fn ask(program: &Program, request: impl AsRef<[u8]>) -> Answer {
    RawClient::connect(program.addr()).exchange(request)
}

#[track_caller]
fn text_at(program: &Program, path: &str) -> String {
    let answer = ask(program, get(path));
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.text()
}

#[test]
fn hello() {
    with_example("hello", |program| {
        assert_eq!(text_at(program, "/"), "Hello, World!");
        assert_eq!(text_at(program, "/hello/J%C3%BCrgen"), "Hello, Jürgen!");
        assert_eq!(ask(program, get("/nowhere")).status, 404);
    });
}

#[test]
fn router() {
    let printed = with_example("router", |program| {
        assert!(text_at(program, "/").contains("<h1>Offices</h1>"));
        assert_eq!(text_at(program, "/offices"), "all offices\n");
        assert_eq!(text_at(program, "/offices/7"), "office 7\n");
        assert_eq!(text_at(program, "/files/a/b.txt"), "the file a/b.txt\n");
        let rooms = text_at(program, "/offices/7/rooms?min_seats=4&with=a%20b&with=c");
        assert_eq!(rooms, "rooms of office 7 for 4 with [\"a b\", \"c\"]\n");
        assert_eq!(
            ask(program, request("DELETE", "/offices/7", &[], b"")).status,
            204
        );
        assert_eq!(
            ask(program, request("LOCK", "/echo-method", &[], b"")).text(),
            "LOCK\n"
        );

        let wrong = ask(program, get("/offices/seven"));
        assert_eq!(wrong.status, 400);
        assert_eq!(wrong.text(), "the id of an office is a number\n");
        let missing = ask(program, get("/offices/7/desks"));
        assert_eq!(missing.status, 404);
        assert_eq!(missing.text(), "offices have no /offices/7/desks\n");
        let missing = ask(program, get("/x%22y"));
        assert_eq!(missing.status, 404);
        assert_eq!(missing.text(), "nothing at \"/x\\\"y\", try /offices\n");
        let refused = ask(program, request("PUT", "/offices/7", &[], b""));
        assert_eq!(refused.status, 405);
        assert!(refused.lists("Allow", "DELETE") && refused.lists("Allow", "HEAD"));
    });
    assert!(printed.contains("closing office 7"), "{printed}");
}

#[test]
fn forms() {
    let picture = vec![7; 300_000];
    let mut form = b"--XX\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nZo\xc3\xab\r\n\
        --XX\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"../me.png\"\r\n\
        Content-Type: image/png\r\n\r\n"
        .to_vec();
    form.extend_from_slice(&picture);
    form.extend_from_slice(b"\r\n--XX--\r\n");
    let kind = ("Content-Type", "multipart/form-data; boundary=XX");
    let printed = with_example("forms", |program| {
        assert!(text_at(program, "/").contains("multipart/form-data"));
        let signed = ask(program, request("POST", "/sign", &[kind], &form));
        assert_eq!(signed.status, 303, "{}", signed.text());
        assert_eq!(signed.header("Location"), Some("/thanks"));
        let cookie = signed.header("Set-Cookie").expect("a cookie").to_owned();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Lax"), "{cookie}");

        let pair = cookie.split(';').next().unwrap_or_default();
        let thanks = ask(program, request("GET", "/thanks", &[("Cookie", pair)], b""));
        assert_eq!(thanks.text(), "Thank you, Zoë!\n");
        assert_eq!(ask(program, get("/thanks")).header("Location"), Some("/"));
        let forgotten = ask(program, post("/forget", b""));
        assert!(
            forgotten
                .header("Set-Cookie")
                .is_some_and(|field| field.contains("Max-Age=0"))
        );

        let nameless = ask(program, request("POST", "/sign", &[kind], b"--XX--\r\n"));
        assert_eq!(nameless.status, 400);
        assert_eq!(ask(program, post("/sign", b"x")).status, 415);
    });
    assert!(printed.contains("\"me.png\": 300000 bytes"), "{printed}");
}

#[test]
fn streaming() {
    with_example("streaming", |program| {
        let before = program.resident_kib();
        let piece = b"0123456789abcde\n".repeat(4096);
        let mut client = RawClient::connect(program.addr());
        let length = piece.len() * 1024;
        client.send(format!(
            "PUT /count HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
        ));
        for _ in 0..1024 {
            client.send(&piece);
        }
        let answer = client.read_response();
        assert_eq!(
            answer.text(),
            format!("{length} bytes, {} lines\n", length / 16)
        );
        if let (Some(before), Some(after)) = (before, program.resident_kib()) {
            assert!(
                after < before + 16 * 1024,
                "{before} KiB grew to {after} KiB by 64 MiB"
            );
        }
        let mut chunked =
            b"PUT /count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        chunked.extend(in_chunks(&piece, 1000));
        assert_eq!(client.exchange(chunked).text(), "65536 bytes, 4096 lines\n");

        let mut expected = Vec::new();
        for number in 1..=100_000 {
            writeln!(expected, "{number}").expect("a Vec takes all");
        }
        assert!(client.exchange(get("/numbers?upto=100000")).body == expected);
        assert_eq!(client.exchange(get("/numbers?upto=x")).status, 400);

        // The clock's client is still there when the program is told to stop.
        client.send(get("/clock"));
        client.read_through("event: tick\nid: 0\ndata: ");
        client.read_through("event: tick\nid: 1\ndata: ");
    });
}

#[test]
fn slow() {
    with_example("slow", |program| {
        let mut sleepers: Vec<_> = (0..20)
            .map(|_| {
                let mut client = RawClient::connect(program.addr());
                client.send(get("/sleep/3000"));
                client
            })
            .collect();
        assert_eq!(text_at(program, "/"), "quick\n");
        // Nobody had to wait for a sleeper: none of them has its answer yet.
        assert!(
            sleepers
                .iter_mut()
                .all(|each| !each.arrives_within(std::time::Duration::ZERO))
        );
        for each in &mut sleepers {
            assert_eq!(each.read_response().text(), "slept\n");
        }
        assert_eq!(ask(program, get("/burn/20")).status, 200);
        assert_eq!(text_at(program, "/sometimes/0"), "sometimes\n");
        assert_eq!(text_at(program, "/sometimes/20"), "sometimes\n");
        assert_eq!(text_at(program, "/report/1"), "report\n");
        assert_eq!(ask(program, get("/report/5000")).status, 503);
        assert_eq!(ask(program, get("/sleep/10001")).status, 400);
        assert_eq!(ask(program, get("/sleep/x")).status, 400);
    });
}

#[test]
fn state() {
    with_example("state", |program| {
        assert_eq!(text_at(program, "/notes"), "{}");
        let put = |name: &str, text: &str| {
            ask(
                program,
                request("PUT", &format!("/notes/{name}"), &[], text.as_bytes()),
            )
            .status
        };
        assert_eq!(put("door", "green"), 204);
        assert_eq!(put("roof", "red \"tiles\""), 204);
        assert_eq!(put("door", "blue"), 204);
        assert_eq!(text_at(program, "/notes/door"), "blue");
        assert_eq!(ask(program, get("/notes/wall")).status, 404);
        assert_eq!(
            text_at(program, "/notes"),
            r#"{"door":"blue","roof":"red \"tiles\""}"#
        );

        // Each answer is one more of one thread's count.
        let mut client = RawClient::connect(program.addr());
        let mut asked = 0;
        for _ in 0..50 {
            let text = client.exchange(get("/ask")).text();
            let count = text
                .split(' ')
                .nth(4)
                .and_then(|word| word.parse().ok())
                .unwrap_or(0);
            asked = asked.max(count);
            assert!(text.starts_with("client ") && count >= 1, "{text}");
        }
        assert!(asked > 1, "no thread kept its state");
    });
}

#[test]
fn logging() {
    let mut id = String::new();
    let printed = with_example("logging", |program| {
        let answer = ask(
            program,
            request(
                "GET",
                "/?a=%0A\"b",
                &[("User-Agent", "x\"\\y\u{9b}31m")],
                b"",
            ),
        );
        assert_eq!(answer.status, 200);
        id = answer.header("X-Request-Id").unwrap_or_default().to_owned();
        assert!(text_at(program, "/id").starts_with("you are "));
        let failed = ask(program, get("/fail"));
        assert_eq!((failed.status, &*failed.text()), (502, "no luck\n"));
        assert_eq!(ask(program, get("/missing")).status, 404);
    });
    let line = |part: &str| {
        let found = printed.lines().find(|line| line.contains(part));
        found
            .unwrap_or_else(|| panic!("no {part} in:\n{printed}"))
            .to_owned()
    };
    let first = line(&id);
    assert!(first.starts_with("127.0.0.1 - - ["), "{first}");
    assert!(
        first.contains(r#"] "GET /?a=%0A\"b HTTP/1.1" 200 6 "x\"\\y\x9b31m" "#),
        "{first}"
    );
    assert!(first.ends_with("ms"), "{first}");
    line("failed: the neighbour is away");
    line("\"GET /missing HTTP/1.1\" 404");
}

#[test]
fn conformance() {
    with_example("conformance", |program| {
        assert_eq!(text_at(program, "/"), "OK");
        assert_eq!(text_at(program, "/any/other"), "OK");
        assert_eq!(ask(program, post("/", b"mirror")).text(), "mirror");
        let echo = ask(
            program,
            request("GET", "/echo", &[("X-Odd", "\u{e9}")], b""),
        );
        assert!(echo.text().contains("X-Odd: \u{e9}\n"), "{}", echo.text());
        let cookies = ask(
            program,
            request("POST", "/cookie", &[("Cookie", "a=1; b=2=3")], b""),
        );
        assert_eq!(cookies.text(), "a=1\nb=2=3\n");
        let refused = ask(program, request("DELETE", "/", &[], b""));
        assert_eq!(refused.status, 405);
        assert!(refused.lists("Allow", "POST"));
        assert_eq!(
            ask(program, request("OPTIONS", "*", &[], b"")).status / 100,
            2
        );
    });
}
