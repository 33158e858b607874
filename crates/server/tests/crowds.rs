//! Ten thousand clients at once. The server is a process of its own (this test program again),
//! so that each side has its own limit of open files, and its memory can be read.

use std::time::Duration;

use stepwell::{Router, Server};
use stepwell_testkit::{Crowd, PATIENCE, Program, get, poll_until, raise_file_limit, wait_until};

/// One crowd at a time: together they would need more files than a process may open.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// How many, as far as the limit of open files goes.
fn crowd_size() -> usize {
    usize::try_from(raise_file_limit().saturating_sub(200))
        .unwrap_or(10_000)
        .min(10_000)
}

/// Runs one of the ignored tests below as a server.
fn server_process(name: &str) -> Program {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env("STEPWELL_TEST_SERVER", "1");
    Program::start_command(command)
}

/// Says where the server listens and serves until the process is killed, or for a minute.
fn serve_here(server: Server, meanwhile: impl FnOnce(&stepwell::Running)) {
    if std::env::var_os("STEPWELL_TEST_SERVER").is_none() {
        return;
    }
    raise_file_limit();
    let running = server.bind("127.0.0.1:0").unwrap().start().unwrap();
    println!("\nhttp://{}/", running.addr());
    meanwhile(&running);
    // Killed long before; a bound for the case that its parent has crashed.
    std::thread::park_timeout(Duration::from_secs(120));
}

#[test]
#[ignore = "a server that another test starts"]
fn server_with_a_small_queue() {
    let gate = std::sync::Arc::new(std::sync::Barrier::new(9));
    let mut router = Router::new();
    let (first, wait) = (std::sync::atomic::AtomicUsize::new(0), gate.clone());
    router
        .get("/", move |_| {
            // The first on each of the eight threads wait until everybody is there.
            if first.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 8 {
                wait.wait();
            }
            "x"
        })
        .blocking();
    let server = Server::new(router)
        .event_loops(2)
        .max_threads(8)
        .queue(64, Duration::from_secs(600));
    serve_here(server, |running| {
        let everybody = crowd_size() as u64;
        wait_until(3 * PATIENCE, || {
            let stats = running.stats();
            let waiting = stats.requests.held_back + stats.crew.queued as u64;
            stats.crew.running == 8 && waiting + 8 >= everybody
        });
        let stats = running.stats();
        println!(
            "at once: {} connections, {} running, {} queued, {} held back, {} threads",
            stats.loops.iter().map(|each| each.connections).sum::<u64>(),
            stats.crew.running,
            stats.crew.queued,
            stats.requests.held_back,
            stats.crew.threads,
        );
        assert_eq!(stats.crew.queued, 64);
        assert_eq!(stats.requests.answered, 0);
        println!("go");
        gate.wait();
    });
}

#[test]
fn ten_thousand_requests_at_once_meet_back_pressure_and_no_errors() {
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let server = server_process("server_with_a_small_queue");
    let size = crowd_size();
    let mut crowd = Crowd::connect(server.addr(), size);
    crowd.send(get("/"));
    let gone = poll_until(4 * PATIENCE, || server.stdout().contains("\ngo\n"));
    println!("{size} requests at once\n{}", server.stdout());
    assert!(gone, "{}{}", server.stdout(), server.stderr());
    let answers = crowd.read_all();
    let good = answers.iter().filter(|answer| answer.status == 200).count();
    println!(
        "answered with 200: {good} of {size}, {} KiB",
        server.resident_kib().unwrap_or(0)
    );
    assert_eq!(good, size);
    // And once more, with nobody in the way.
    let answers = crowd.send(get("/")).read_all();
    assert!(answers.iter().all(|answer| answer.status == 200));
}

#[test]
#[ignore = "a server that another test starts"]
fn server_for_idle_connections() {
    let mut router = Router::new();
    router.get("/", |_| "x");
    serve_here(Server::new(router).event_loops(2), |_| {});
}

#[test]
fn ten_thousand_idle_connections_cost_bounded_memory() {
    let _alone = ALONE.lock().unwrap_or_else(|error| error.into_inner());
    let server = server_process("server_for_idle_connections");
    let size = crowd_size();
    let mut few = Crowd::connect(server.addr(), 50);
    for _ in 0..100 {
        few.send(get("/")).read_all();
    }
    let before = server.resident_kib().expect("/proc");
    let mut crowd = Crowd::connect(server.addr(), size - 50);
    let answers = crowd.send(get("/")).read_all();
    assert!(answers.iter().all(|answer| answer.status == 200));
    let after = server.resident_kib().expect("/proc");
    let each = after.saturating_sub(before) * 1024 / (size as u64 - 50);
    println!(
        "{size} idle keep-alive connections: {before} KiB -> {after} KiB, {each} bytes each; \
         {} threads",
        server.threads().expect("/proc")
    );
    assert!(each <= 4096, "{each} bytes for an idle connection");
    assert!(
        server.threads().expect("/proc") < 20,
        "idle connections occupy no threads"
    );
    // They are all alive.
    let answers = crowd.send(get("/")).read_all();
    assert!(answers.iter().all(|answer| answer.status == 200));
}
