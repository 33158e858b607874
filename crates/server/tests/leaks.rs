//! What servers leave behind in their process: nothing. Alone in its process, because it counts.

use stepwell::{HandOff, Router, Server};
use stepwell_testkit::{PATIENCE, RawClient, get, poll_until};

fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).expect("/proc").count()
}

#[test]
fn a_hundred_servers_leave_no_descriptor_and_no_thread_behind() {
    let folder = tempfile::tempdir().unwrap();
    let unix = format!("unix:{}", folder.path().join("app.sock").display());
    let (files, threads) = (count("/proc/self/fd"), count("/proc/self/task"));
    for round in 0..100 {
        let mut router = Router::new();
        router.get("/", |_| "x");
        router.get("/pool", |_| "pool").blocking();
        let mode = [HandOff::On, HandOff::Off, HandOff::Inline][round % 3];
        let running = Server::new(router)
            .bind("127.0.0.1:0")
            .and_then(|server| server.bind(&unix))
            .unwrap()
            .event_loops(1 + round % 3)
            .hand_off(mode)
            .start()
            .unwrap();
        let mut client = RawClient::connect(running.addr());
        assert_eq!(client.exchange(get("/pool")).text(), "pool");
        assert_eq!(client.exchange(get("/")).text(), "x");
        match round % 4 {
            0 => drop(running),
            1 => assert!(running.stop(PATIENCE)),
            2 => {
                drop(client);
                assert!(running.stop(PATIENCE));
            }
            _ => assert!(running.stopper().stop()),
        }
    }
    // A thread that was joined may be in the table for a moment yet.
    let back = poll_until(PATIENCE, || {
        count("/proc/self/fd") == files && count("/proc/self/task") == threads
    });
    let now = (count("/proc/self/fd"), count("/proc/self/task"));
    assert!(
        back,
        "descriptors and threads: before {:?}, after {now:?}",
        (files, threads)
    );
}
