//! Running out of descriptors, in a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use crate::echo::{Client, Server, Setup, until};

const CHILD: &str = "STEPWELL_CHILD_SHORT_OF_DESCRIPTORS";
/// Descriptors of the server; a good deal fewer than connections that are made to it.
const LIMIT: usize = 40;

/// The server's side: ends when its standard input does.
fn serve() {
    let server = Server::start(Setup::default(), |_, _| ());
    println!("\nlistening {}", server.address());
    until("accepting pauses", || {
        server.total(|stats| &stats.accept_pauses) > 1
    });
    println!("pausing");
    let figure = |read: fn(&stepwell_reactor::LoopStats) -> &AtomicU64| server.total(read);
    let (start, pauses, waits) = (
        Instant::now(),
        figure(|stats| &stats.accept_pauses),
        figure(|stats| &stats.waits),
    );
    until("five more pauses", || {
        figure(|stats| &stats.accept_pauses) >= pauses + 5
    });
    let waits = figure(|stats| &stats.waits) - waits;
    println!("waits {waits} {}", start.elapsed().as_millis());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_loop_short_of_descriptors_neither_spins_nor_forgets_anybody() {
    if std::env::var_os(CHILD).is_some() {
        return serve();
    }
    let name = "descriptors::a_loop_short_of_descriptors_neither_spins_nor_forgets_anybody";
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -n {LIMIT}; exec \"$0\" --exact {name} --nocapture"
        ))
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut expect = |start: &str| -> String {
        let line = output.find_map(|line| line.ok()?.strip_prefix(start).map(str::to_owned));
        line.unwrap_or_else(|| panic!("the server never said {start:?}"))
    };
    let address = expect("listening ").parse().unwrap();
    let mut clients: Vec<_> = (0..2 * LIMIT).map(|_| Client::connect(address)).collect();
    expect("pausing");
    clients[0].ask(1, "fast", 0);
    let figures = expect("waits ");
    let (waits, ms) = figures.split_once(' ').unwrap();
    assert!(
        waits.parse::<u64>().unwrap() < 60,
        "{waits} waits for events in {ms} ms"
    );
    // Places come free: everybody gets his turn, in the order of the backlog.
    for (id, client) in clients.iter().enumerate() {
        client.send(&format!("{id} fast 0\n"));
        client.finish();
    }
    for (id, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.line(), format!("{id} fast"));
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
