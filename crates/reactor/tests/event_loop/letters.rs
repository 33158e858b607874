//! Letters from other threads, and from handlers before they block.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use stepwell_reactor::crew::about_to_block;

use crate::echo::{Gate, Letter, Server, Setup, until};

#[test]
fn letters_arrive_once_and_in_the_order_of_each_sender() {
    const SENDERS: u64 = 8;
    const EACH: u64 = 3000;
    let server = Server::start(Setup::default(), |_, _| ());
    thread::scope(|scope| {
        for sender in 0..SENDERS {
            let handle = &server.handles[0];
            scope.spawn(move || {
                for number in 0..EACH {
                    handle.post(Letter::Note(sender, number));
                    if number % 64 == 0 {
                        // Lets the loop fall asleep now and then.
                        thread::yield_now();
                    }
                }
            });
        }
    });
    until("all have come", || {
        server.app.notes.lock().unwrap().len() as u64 == SENDERS * EACH
    });
    for sender in 0..SENDERS {
        let notes = server.app.notes.lock().unwrap();
        let of_sender = notes.iter().filter(|note| note.0 == sender);
        assert!(of_sender.map(|note| note.1).eq(0..EACH));
    }
    server.stop();
}

/// Each letter finds the loop asleep, so each needs its wake-up.
#[test]
fn a_letter_wakes_a_sleeping_loop_every_time() {
    let server = Server::start(Setup::default(), |_, _| ());
    for number in 0..500 {
        server.handles[0].post(Letter::Note(0, number));
        until("it is read", || {
            server.app.notes.lock().unwrap().len() as u64 == number + 1
        });
    }
    server.stop();
}

/// What a handler sends leaves while the handler still waits: stolen from, announced or pooled.
#[test]
fn what_a_handler_sends_before_it_blocks_leaves_at_once() {
    let gate = Gate::default();
    let blocker = gate.clone();
    let setup = Setup {
        in_place: &["stolen", "announced"],
        ..Setup::default()
    };
    let server = Server::start(setup, move |request, _| {
        let line = format!("from {}\n", request.operation);
        request.home.post(Letter::Say(request.token, line));
        if request.operation == "announced" {
            about_to_block();
        }
        blocker.pass();
    });
    let mut clients = Vec::new();
    for (id, operation) in ["stolen", "announced", "slow"].into_iter().enumerate() {
        let mut client = server.connect();
        client.send(&format!("{id} {operation} 0\n"));
        assert_eq!(client.line(), format!("from {operation}"));
        // The gate is closed: the handler has come to it, and waits.
        gate.wait_for(id + 1);
        clients.push((client, operation));
    }
    gate.open();
    for (id, (client, operation)) in clients.iter_mut().enumerate() {
        assert_eq!(client.line(), format!("{id} {operation}"));
    }
    server.stop();
}

/// A handler that goes on sending while others lead its loop.
#[test]
fn a_handler_astray_reaches_its_connection() {
    let ended = Arc::new(AtomicBool::new(false));
    let told = ended.clone();
    let server = Server::start(Setup::default(), move |request, _| {
        about_to_block();
        for number in 0..200 {
            let line = format!("event {number}\n");
            request.home.post(Letter::Say(request.token, line));
            if number % 20 == 0 {
                thread::yield_now();
            }
        }
        told.store(true, Ordering::SeqCst);
    });
    let mut client = server.connect();
    client.send("1 fast 0\n");
    for number in 0..200 {
        assert_eq!(client.line(), format!("event {number}"));
    }
    assert_eq!(client.line(), "1 fast", "after all that was sent before it");
    assert!(ended.load(Ordering::SeqCst));
    server.stop();
}
