//! Who may connect where.

use stepwell::{Peer, Router, Server};
use stepwell_testkit::{Crowd, RawClient, get};

use crate::support::{serve, server, wait_for};

fn peer() -> Router {
    let mut router = Router::new();
    router.get("/", |req| match req.remote_addr() {
        Peer::Tcp(address) => address.to_string(),
        other => format!("{other:?}"),
    });
    router
}

#[test]
fn a_server_listens_on_several_addresses_and_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let unix = format!("unix:{}", path.display());
    let start = || {
        Server::new(peer())
            .event_loops(2)
            .bind("127.0.0.1:0")
            .and_then(|server| server.bind("127.0.0.2:0"))
            .and_then(|server| server.bind(&unix))
            .and_then(Server::start)
            .unwrap()
    };
    for _ in 0..2 {
        let running = start();
        let addresses: Vec<_> = running.addresses().collect();
        assert_eq!(addresses.len(), 3, "{addresses:?}");
        assert_eq!(addresses[2], unix);
        assert_eq!(addresses[0], running.addr().to_string());
        for address in &addresses[..2] {
            let mut client = RawClient::connect(address.parse().unwrap());
            let own = client.local_addr().unwrap().to_string();
            assert_eq!(client.exchange(get("/")).text(), own);
        }
        for _ in 0..10 {
            let mut client = RawClient::connect_unix(&path);
            assert_eq!(client.exchange(get("/")).text(), "Unix");
        }
        assert!(running.stop(stepwell_testkit::PATIENCE));
        assert!(!path.exists(), "its file is gone with it");
        // A file that a killed server has left behind is replaced.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
    }
}

#[test]
fn an_address_in_use_is_named() {
    let running = serve(peer());
    let address = running.addr().to_string();
    for loops in [1, 2] {
        let second = Server::new(peer())
            .event_loops(loops)
            .bind(&address)
            .unwrap();
        let error = second.start().unwrap_err().to_string();
        assert!(error.contains("address already in use"), "{error}");
        assert!(error.contains(&address), "{error}");
    }
    let mut client = RawClient::connect(running.addr());
    assert_eq!(client.exchange(get("/")).status, 200);
}

#[test]
fn two_servers_in_one_process_know_nothing_of_each_other() {
    let named = |name: &'static str| {
        let mut router = Router::new();
        router.get("/", move |_| name);
        serve(router)
    };
    let (one, two) = (named("one"), named("two"));
    let mut first = RawClient::connect(one.addr());
    let mut second = RawClient::connect(two.addr());
    for _ in 0..100 {
        assert_eq!(first.exchange(get("/")).text(), "one");
        assert_eq!(second.exchange(get("/")).text(), "two");
    }
    drop(first);
    assert!(one.stop(stepwell_testkit::PATIENCE));
    assert_eq!(second.exchange(get("/")).text(), "two");
    wait_for(&two, "its own figures", |stats| {
        stats.requests.answered == 101
    });
}

#[test]
fn several_loops_share_the_connections() {
    let running = server(peer()).event_loops(4).start().unwrap();
    let mut crowd = Crowd::connect(running.addr(), 200);
    assert!(
        crowd
            .send(get("/"))
            .read_all()
            .iter()
            .all(|answer| answer.status == 200)
    );
    let loops = running.stats().loops;
    assert_eq!(loops.iter().map(|each| each.accepted).sum::<u64>(), 200);
    assert!(loops.iter().all(|each| each.accepted > 0), "{loops:?}");
}

#[test]
fn connections_beyond_the_limit_wait_and_are_served_later() {
    let running = server(peer()).max_connections(2).start().unwrap();
    let mut first = RawClient::connect(running.addr());
    let mut second = RawClient::connect(running.addr());
    assert_eq!(first.exchange(get("/")).status, 200);
    assert_eq!(second.exchange(get("/")).status, 200);
    let mut third = RawClient::connect(running.addr());
    third.send(get("/"));
    wait_for(&running, "accepting pauses", |stats| {
        stats.loops[0].accept_pauses > 0
    });
    assert_eq!(running.stats().loops[0].accepted, 2);
    assert_eq!(first.exchange(get("/")).status, 200);
    drop(first);
    assert_eq!(third.read_response().status, 200);
}
