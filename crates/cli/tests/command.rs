//! The command as a user meets it: help, exit codes, signals, the demo's endpoints.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepwell_testkit::{
    Answer, PATIENCE, Program, RawClient, get, poll_until, post, request, wait_until,
};

const STEPWELL: &str = env!("CARGO_BIN_EXE_stepwell");

/// The command without the variables that somebody's shell may have set.
fn stepwell() -> Command {
    let mut command = Command::new(STEPWELL);
    for name in ["PORT", "WEB_CONCURRENCY", "NO_COLOR"] {
        command.env_remove(name);
    }
    for option in ["BIND", "LOOPS", "THREADS", "GRACE", "BODY_LIMIT", "LOG"] {
        command.env_remove(format!("STEPWELL_{option}"));
    }
    command
}

fn run(line: &str) -> (i32, String, String) {
    let mut command = stepwell();
    finished(command.args(line.split_whitespace()))
}

fn finished(command: &mut Command) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        status.code().expect("an exit code"),
        text(stdout),
        text(stderr),
    )
}

#[track_caller]
fn demo(line: &str) -> Program {
    let mut command = stepwell();
    command
        .args(["demo", "--bind", "127.0.0.1:0"])
        .args(line.split_whitespace());
    Program::start_command(command)
}

#[track_caller]
fn ask(program: &Program, request: impl AsRef<[u8]>) -> Answer {
    RawClient::connect(program.addr()).exchange(request)
}

#[track_caller]
fn json_of(answer: &Answer) -> Value {
    assert_eq!(
        answer.header("content-type"),
        Some("application/json"),
        "{}",
        answer.text()
    );
    serde_json::from_slice(&answer.body).expect("JSON")
}

#[test]
fn help_and_version_go_to_standard_output() {
    let (code, out, err) = run("--help");
    assert_eq!((code, &*err), (0, ""));
    assert!(
        out.contains("Usage: stepwell COMMAND") && out.contains("Examples:"),
        "{out}"
    );
    let (code, out, err) = run("demo --help");
    assert_eq!((code, &*err), (0, ""));
    assert!(
        out.contains("--bind ADDR") && out.contains("STEPWELL_BIND"),
        "{out}"
    );
    let (code, out, err) = run("--version");
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(out, format!("stepwell {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_is_exit_code_2_with_a_hint() {
    for (line, hint) in [
        (
            "demo --lops 2",
            "unknown option --lops: did you mean --loops?",
        ),
        (
            "demo --loops many",
            "--loops many: expected a number from 1 to 1024",
        ),
        ("dmo", "did you mean demo?"),
        ("", "Usage: stepwell COMMAND"),
    ] {
        let (code, out, err) = run(line);
        assert_eq!((code, &*out), (2, ""), "{line}: {err}");
        assert!(
            err.starts_with("stepwell: ") && err.contains(hint),
            "{line}: {err}"
        );
    }
}

#[test]
fn wrong_configuration_is_exit_code_78() {
    let (code, _, err) = finished(stepwell().arg("demo").env("STEPWELL_GRACE", "soon"));
    assert_eq!(code, 78);
    assert!(
        err.starts_with("stepwell: STEPWELL_GRACE=soon: expected a duration"),
        "{err}"
    );
    let (code, _, err) = run("demo --bind 127.0.0.1");
    assert_eq!(code, 78);
    assert!(
        err.contains("\"127.0.0.1\"") && err.contains("host:port"),
        "{err}"
    );
}

#[test]
fn an_address_in_use_is_exit_code_71_with_advice() {
    let first = demo("");
    let address = first.addr();
    let (code, _, err) = run(&format!("demo --bind {address}"));
    assert_eq!(code, 71, "{err}");
    assert!(
        err.starts_with(&format!("stepwell: address already in use: {address}")),
        "{err}"
    );
    assert!(err.contains("choose another port"), "{err}");
}

#[test]
fn the_environment_configures_and_every_address_is_announced() {
    let mut command = stepwell();
    command.arg("demo");
    command
        .env("STEPWELL_BIND", "127.0.0.1:0,127.0.0.1:0")
        .env("STEPWELL_LOOPS", "1");
    let program = Program::start_command(command);
    wait_until(PATIENCE, || {
        program.stderr().matches("http://127.0.0.1:").count() == 2
    });
    let figures = json_of(&ask(&program, get("/stats")));
    assert_eq!(figures["loops"].as_array().map(Vec::len), Some(1));
}

#[test]
fn each_signal_stops_in_order_and_answers_what_it_has() {
    for signal in ["TERM", "INT", "QUIT"] {
        let mut program = demo("");
        let mut client = RawClient::connect(program.addr());
        client.send(get("/slow?ms=400"));
        wait_until(PATIENCE, || {
            let running = json_of(&ask(&program, get("/stats")))["crew"]["running"].as_u64();
            running >= Some(1)
        });
        program.signal(signal);
        assert_eq!(client.read_response().text(), "slept 400 ms\n", "{signal}");
        assert_eq!(program.wait_exit(PATIENCE).code(), Some(0), "{signal}");
        assert!(RawClient::try_connect(program.addr()).is_err());
        assert!(
            program.stderr().contains(" INFO  stopping"),
            "{}",
            program.stderr()
        );
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let mut program = demo("--grace 60s");
    let mut client = RawClient::connect(program.addr());
    client.send(get("/slow?ms=10000"));
    wait_until(PATIENCE, || {
        json_of(&ask(&program, get("/stats")))["crew"]["running"].as_u64() >= Some(1)
    });
    let start = Instant::now();
    program.signal("TERM");
    wait_until(PATIENCE, || {
        program.stderr().contains("stopping; once more")
    });
    program.signal("TERM");
    assert_eq!(program.wait_exit(Duration::from_secs(5)).code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(5));
    client.read_to_end();
}

#[test]
fn the_grace_time_is_kept() {
    let mut program = demo("--grace 200ms");
    let mut client = RawClient::connect(program.addr());
    client.send(get("/slow?ms=10000"));
    wait_until(PATIENCE, || {
        json_of(&ask(&program, get("/stats")))["crew"]["running"].as_u64() >= Some(1)
    });
    program.signal("TERM");
    program.wait_exit(Duration::from_secs(5));
    assert!(
        program.stderr().contains("left behind"),
        "{}",
        program.stderr()
    );
}

/// A process with the number 1 gets no signal that it does not handle.
#[test]
fn works_as_the_first_process_of_a_container() {
    let inside = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child=KILL",
    ];
    let able = Command::new("unshare")
        .args(inside)
        .arg("true")
        .stderr(Stdio::null())
        .status();
    if !able.is_ok_and(|status| status.success()) {
        eprintln!("left out: unshare cannot make a process namespace here");
        return;
    }
    let mut command = Command::new("unshare");
    command
        .args(inside)
        .arg(STEPWELL)
        .args(["demo", "--bind", "127.0.0.1:0"]);
    let mut program = Program::start_command(command);
    let children = format!("/proc/{0}/task/{0}/children", program.pid());
    let child = std::fs::read_to_string(children).expect("the child of unshare");
    let killed = Command::new("kill").args(["-TERM", child.trim()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    assert_eq!(
        program.wait_exit(PATIENCE).code(),
        Some(0),
        "{}",
        program.stderr()
    );
}

#[test]
fn a_log_that_nobody_reads_holds_up_nothing() {
    let mut command = stepwell();
    command.args(["demo", "--bind", "127.0.0.1:0", "--log", "debug"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // Reads the line with the address, and after that never again.
    let mut log = BufReader::with_capacity(64, child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    log.read_line(&mut line).expect("a line");
    let address = line
        .trim()
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let address = address.parse().expect("an address");
    // Each refusal is a line of some ninety bytes, a pipe holds 64 KiB and the queue 1,024 lines.
    for _ in 0..4000 {
        let answer = RawClient::connect(address).exchange("GET / HTTP/1.1\r\n\r\n");
        assert_eq!(answer.status, 400);
    }
    assert_eq!(
        RawClient::connect(address).exchange(get("/hello/x")).text(),
        "Hello, x!\n"
    );
    child.kill().expect("it still runs");
    child.wait().expect("its end");
    let mut rest = String::new();
    log.read_to_string(&mut rest)
        .expect("the lines that were written");
    let lines = rest
        .lines()
        .filter(|line| line.contains("refused a request"))
        .count();
    assert!(
        (100..4000).contains(&lines),
        "{lines} lines: the log was never held up"
    );
}

#[test]
fn the_record_is_complete_and_hard_to_escape() {
    let program = demo("");
    let record = json_of(&ask(&program, get("/json")));
    for key in [
        "_id",
        "tenantId",
        "name",
        "address",
        "latitude",
        "longitude",
        "email",
        "phone",
    ] {
        assert!(!record[key].is_null(), "{key}");
    }
    assert_eq!(record["sendICalNotifications"], true);
    assert!(record["cateringOrderEmail"].is_string());
    let has = |key: &str, part: &str| record[key].as_str().is_some_and(|text| text.contains(part));
    assert!(has("name", "\"") && has("name", "\\") && has("notificationEmail", "\n"));
    let length = record["address"].as_str().map_or(0, str::len);
    assert!((280..=320).contains(&length), "{length} characters");
    assert_eq!(record["options"]["availableFromHour"], 7);
    assert!(record["options"]["altSchedule"].is_array());
    assert!(record["options"]["altAvailableUntilHour"].is_number());
}

#[test]
fn slow_sleeps_within_bounds() {
    let program = demo("");
    let start = Instant::now();
    assert_eq!(ask(&program, get("/slow?ms=60")).text(), "slept 60 ms\n");
    assert!(start.elapsed() >= Duration::from_millis(60));
    assert_eq!(ask(&program, get("/slow")).text(), "slept 10 ms\n");
    for wrong in ["10001", "-1", "x", "1e3"] {
        assert_eq!(
            ask(&program, get(&format!("/slow?ms={wrong}"))).status,
            400,
            "{wrong}"
        );
    }
}

#[test]
fn uploads_are_counted_and_digested() {
    let program = demo("");
    let answer = json_of(&ask(&program, post("/upload", b"abc")));
    assert_eq!(answer["bytes"], 3);
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(answer["sha256"], digest);

    let mut client = RawClient::connect(program.addr());
    let head = "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 33554432\r\n\r\n";
    client.send(head);
    let before = program.resident_kib();
    for _ in 0..512 {
        client.send([0; 65_536]);
    }
    let answer = json_of(&client.read_response());
    assert_eq!(answer["bytes"], 33_554_432);
    let digest = "83ee47245398adee79bd9c0a8bc57b821e92aba10f5f9ade8a5d1fae4d8c4302";
    assert_eq!(answer["sha256"], digest);
    if let (Some(before), Some(after)) = (before, program.resident_kib()) {
        assert!(
            after < before + 8 * 1024,
            "{before} KiB grew to {after} KiB by 32 MiB"
        );
    }
}

#[test]
fn forms_are_told_back() {
    let program = demo("");
    let mut body =
        b"--B\r\nContent-Disposition: form-data; name=\"line\"\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n\
        --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a b.bin\"\r\n\
        Content-Type: application/x-test\r\n\r\n"
            .to_vec();
    body.extend(vec![9; 100_000]);
    body.extend(b"\r\n--B--\r\n");
    let kind = [("Content-Type", "multipart/form-data; boundary=B")];
    let parts = json_of(&ask(&program, request("POST", "/form", &kind, &body)));
    assert_eq!(parts[0]["text"], "Grüße");
    assert_eq!(parts[1]["file_name"], "a b.bin");
    assert_eq!(parts[1]["content_type"], "application/x-test");
    assert_eq!(parts[1]["bytes"], 100_000);
    assert_eq!(parts[1]["spilled"], true);
    let kind = [("Content-Type", "application/x-www-form-urlencoded")];
    let parts = json_of(&ask(
        &program,
        request("POST", "/form", &kind, b"a=1&b=%C3%A9"),
    ));
    assert_eq!(parts[1]["text"], "é");
    assert_eq!(ask(&program, post("/form", b"x")).status, 415);
}

#[test]
fn one_thread_ticks_for_many_watchers() {
    let program = demo("");
    let mut watchers: Vec<_> = (0..50)
        .map(|_| RawClient::connect(program.addr()))
        .collect();
    for watcher in &mut watchers {
        watcher.send(get("/events"));
        let head = watcher.read_through("\r\n\r\n");
        assert!(String::from_utf8_lossy(&head).contains("text/event-stream"));
        watcher.read_through("event: clock\ndata: {\"time\":\"");
    }
    let threads = program.threads();
    for watcher in &mut watchers {
        watcher.read_through("event: clock\ndata: {\"time\":\"");
    }
    if let Some(threads) = threads {
        assert!(threads < 30, "{threads} threads for 50 watchers");
    }
}

#[test]
fn figures_come_as_json_or_as_a_page() {
    let program = demo("");
    let mut client = RawClient::connect(program.addr());
    for _ in 0..200 {
        assert_eq!(client.exchange(get("/hello/x")).status, 200);
    }
    let figures = json_of(&client.exchange(get("/stats")));
    assert!(figures["requests"]["answered"].as_u64() >= Some(200));
    assert!(figures["uptime_seconds"].as_f64() > Some(0.0));
    let routes = figures["routes"].as_array().expect("routes");
    let hello = routes
        .iter()
        .find(|route| route["route"] == "GET /hello/{name}");
    assert!(
        hello.is_some_and(|route| route["runs_in_pool"].as_u64() >= Some(1)),
        "{figures}"
    );
    let page = client.exchange(request(
        "GET",
        "/stats",
        &[("Accept", "text/html,*/*")],
        b"",
    ));
    assert!(page.lists("Vary", "Accept") && page.text().contains("<title>Stepwell: figures"));
}

#[test]
fn a_hundred_sleepers_do_not_stall_a_greeting() {
    let program = demo("");
    let mut staller = RawClient::connect(program.addr());
    staller.send(post("/stall?count=100&ms=1000", b""));
    let mut client = RawClient::connect(program.addr());
    let asleep = poll_until(PATIENCE, || {
        json_of(&client.exchange(get("/stats")))["crew"]["running"].as_u64() >= Some(80)
    });
    assert!(asleep, "the sleepers never slept together");
    assert_eq!(client.exchange(get("/hello/x")).text(), "Hello, x!\n");
    assert_eq!(ask(&program, post("/stall", b"")).status, 429);
    assert!(
        !staller.arrives_within(Duration::ZERO),
        "the sleepers were awake already"
    );
    let outcome = json_of(&staller.read_response());
    assert_eq!(
        (outcome["requests"].as_u64(), outcome["answered"].as_u64()),
        (Some(100), Some(100))
    );
    assert_eq!(ask(&program, post("/stall?count=201", b"")).status, 400);
}

#[test]
fn what_is_not_there_is_told_in_order() {
    let program = demo("");
    let missing = ask(&program, get("/nowhere"));
    assert_eq!(missing.status, 404);
    assert!(missing.text().contains("\"/nowhere\""));
    let refused = ask(&program, request("DELETE", "/json", &[], b""));
    assert_eq!(refused.status, 405);
    assert!(refused.lists("Allow", "GET"));
    let page = ask(&program, get("/"));
    assert!(
        page.header("content-security-policy")
            .is_some_and(|p| p.contains("'none'"))
    );
}
