//! Listeners: spread over loops, shared by loops, closed without losing anybody.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use stepwell_reactor::crew::{CrewConfig, Mode};
use stepwell_reactor::{Address, BoundSet, ListenOptions, LoopConfig};

use crate::echo::{Client, Gate, Server, Setup, until};

const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

fn any_port() -> Address {
    Address::Inet(SocketAddr::from((LOOPBACK, 0)))
}

/// A path for a socket in a directory that vanishes with the test.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new(name: &str) -> SocketPath {
        let directory =
            std::env::temp_dir().join(format!("stepwell-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        SocketPath(directory.join("socket"))
    }

    fn address(&self) -> Address {
        Address::Unix(self.0.clone())
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

#[test]
fn loops_with_sockets_of_their_own_share_the_connections() {
    let setup = Setup {
        loops: 3,
        ..Setup::default()
    };
    let server = Server::start(setup, |_, _| ());
    let mut clients: Vec<_> = (0..90).map(|_| server.connect()).collect();
    for (id, client) in clients.iter_mut().enumerate() {
        client.ask(id as u64, "fast", 0);
    }
    for handle in &server.handles {
        let accepted = handle.stats().accepted.load(Ordering::Relaxed);
        assert!((1..90).contains(&accepted), "{accepted} of 90");
    }
    assert_eq!(server.connections(), 90);
    drop(clients);
    until("all are closed", || server.connections() == 0);
    server.stop();
}

#[test]
fn a_unix_socket_serves_all_loops_and_goes_with_the_last() {
    let path = SocketPath::new("shared");
    let setup = Setup {
        loops: 3,
        addresses: vec![any_port(), path.address()],
        ..Setup::default()
    };
    let server = Server::start(setup, |_, _| ());
    let mut clients: Vec<_> = (0..60).map(|_| Client::connect_unix(&path.0)).collect();
    for (id, client) in clients.iter_mut().enumerate() {
        client.ask(id as u64, "fast", 0);
    }
    server.connect().ask(0, "fast", 0);
    assert_eq!(server.total(|stats| &stats.accepted), 61);
    assert!(path.0.exists());
    server.stop();
    assert!(!path.0.exists(), "the file of the socket stayed");
}

/// The loop is held up while clients connect: nobody has accepted them when it stops listening.
#[test]
fn who_waits_in_the_backlog_is_served_before_the_socket_closes() {
    let gate = Gate::default();
    let blocker = gate.clone();
    let path = SocketPath::new("backlog");
    let setup = Setup {
        crew: CrewConfig {
            mode: Mode::Inline,
            ..CrewConfig::default()
        },
        addresses: vec![any_port(), path.address()],
        config: LoopConfig {
            accept_burst: 4,
            ..LoopConfig::default()
        },
        ..Setup::default()
    };
    let server = Server::start(setup, move |request, _| {
        if request.operation == "slow" {
            blocker.pass();
        }
    });
    let mut first = server.connect();
    first.send("0 slow 0\n");
    gate.wait_for(1);
    let mut waiting: Vec<_> = (0..40)
        .map(|n| match n % 2 {
            0 => server.connect(),
            _ => Client::connect_unix(&path.0),
        })
        .collect();
    for (id, client) in waiting.iter().enumerate() {
        client.send(&format!("{id} fast 0\n"));
    }
    server.handles[0].stop_listening();
    gate.open();
    assert_eq!(first.line(), "0 slow");
    for (id, client) in waiting.iter_mut().enumerate() {
        assert_eq!(client.line(), format!("{id} fast"));
        client.ask(100, "fast", 0);
    }
    let refused = TcpStream::connect(server.address()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert!(!path.0.exists());
    server.stop();
}

#[test]
fn connections_above_the_limit_wait_for_a_place() {
    let setup = Setup {
        config: LoopConfig {
            max_connections: 5,
            ..LoopConfig::default()
        },
        ..Setup::default()
    };
    let server = Server::start(setup, |_, _| ());
    let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for (id, client) in clients.iter_mut().enumerate().take(5) {
        client.ask(id as u64, "fast", 0);
    }
    for client in &clients[5..] {
        client.send("9 fast 0\n");
    }
    until("accepting pauses", || {
        server.total(|stats| &stats.accept_pauses) > 0
    });
    assert_eq!(server.connections(), 5);
    for mut client in clients.split_off(5) {
        clients.remove(0);
        assert_eq!(client.line(), "9 fast");
        clients.push(client);
    }
    server.stop();
}

#[test]
fn an_address_in_use_is_refused() {
    let options = ListenOptions::default();
    for loops in [1, 2] {
        let bound = BoundSet::bind(&any_port(), loops, options).unwrap();
        assert_eq!(bound.listeners.len(), loops);
        for others in [1, 2] {
            let error = BoundSet::bind(&bound.address, others, options).unwrap_err();
            assert_eq!(
                error.kind(),
                ErrorKind::AddrInUse,
                "{loops} and {others} loops"
            );
        }
    }
}

#[test]
fn a_unix_socket_is_replaced_only_when_nobody_listens() {
    let path = SocketPath::new("stale");
    let bind = || BoundSet::bind(&path.address(), 1, ListenOptions::default());
    drop(UnixListener::bind(&path.0).unwrap());
    assert!(path.0.exists(), "left behind, as by a crash");
    let bound = bind().expect("a stale socket is replaced");
    assert_eq!(bind().unwrap_err().kind(), ErrorKind::AddrInUse);
    assert!(path.0.exists(), "the living one keeps its file");
    drop(bound);
    assert!(!path.0.exists());
    std::fs::write(&path.0, "precious").unwrap();
    assert_eq!(bind().unwrap_err().kind(), ErrorKind::AddrInUse);
    assert_eq!(std::fs::read_to_string(&path.0).unwrap(), "precious");
}
