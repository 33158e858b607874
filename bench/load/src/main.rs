//! A load generator that costs as little as it can, so that the server is what is measured: it
//! counts the bytes of replies whose length it knows instead of parsing them, and reads the
//! server's CPU clock itself at both ends of the measured window.

mod driver;
mod histogram;
mod options;
mod probe;

use driver::{Class, Outcome};
use options::{HELP, Options};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("load: {message}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match driver::run(&options) {
        Ok(outcome) => {
            println!("{}", json(&outcome));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("load: {}: {error}", options.address);
            ExitCode::FAILURE
        }
    }
}

fn json(outcome: &Outcome) -> String {
    let requests: u64 = outcome
        .classes
        .iter()
        .map(|class| class.latencies.total())
        .sum();
    let each = |cpu: f64| cpu * 1e6 / requests.max(1) as f64;
    let (server, load) = (
        outcome.server_cpu.as_secs_f64(),
        outcome.load_cpu.as_secs_f64(),
    );
    let classes: Vec<String> = outcome.classes.iter().map(class_json).collect();
    format!(
        "{{\"requests\": {requests}, \"seconds\": {:.4}, \"rate\": {:.1}, \"errors\": {}, \
         \"bytes\": {}, \"server_cpu_us\": {:.4}, \"server_busy\": {:.3}, \"load_cpu_us\": {:.4}, \
         \"load_busy\": {:.3}, \"classes\": [{}]}}",
        outcome.seconds,
        requests as f64 / outcome.seconds,
        outcome.errors,
        outcome.bytes,
        each(server),
        server / outcome.seconds,
        each(load),
        load / outcome.seconds,
        classes.join(", ")
    )
}

/// Latencies of one class, in microseconds.
fn class_json(class: &Class) -> String {
    let latencies = &class.latencies;
    let us = |time: std::time::Duration| time.as_secs_f64() * 1e6;
    let at = |percent| us(latencies.percentile(percent));
    format!(
        "{{\"requests\": {}, \"p50\": {:.1}, \"p90\": {:.1}, \"p99\": {:.1}, \"p999\": {:.1}, \
         \"max\": {:.1}}}",
        latencies.total(),
        at(50.0),
        at(90.0),
        at(99.0),
        at(99.9),
        us(latencies.max())
    )
}
