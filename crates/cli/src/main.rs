//! The `stepwell` command.
//!
//! Exit codes: 0 stopped in order, 2 wrong usage, 78 wrong configuration, 71 the system refused
//! something (an address in use), 70 a fault of the command itself.
#![forbid(unsafe_code)]

mod command_line;
mod demo;
mod log;
mod options;
mod serve;
mod units;

use std::io::{self, Write};
use std::process::ExitCode;

use command_line::{Demand, Trouble};

fn main() -> ExitCode {
    let result = std::panic::catch_unwind(run);
    ExitCode::from(result.unwrap_or(70))
}

fn run() -> u8 {
    let demand = command_line::read(std::env::args_os().skip(1), &|name| {
        std::env::var(name).ok()
    });
    match demand {
        Ok(Demand::Print(text)) => print(&text),
        Ok(Demand::Demo(settings)) => match serve::demo(&settings) {
            Ok(()) => 0,
            Err(error) => complain(&error.to_string(), error.exit_code()),
        },
        Err(Trouble::Usage(message)) => complain(&message, 2),
        Err(Trouble::Configuration(message)) => complain(&message, 78),
    }
}

/// Prints to standard output; a reader that left early (`| head`) is no error.
fn print(text: &str) -> u8 {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format!("cannot print: {error}"), 71)
        }
        _ => 0,
    }
}

fn complain(message: &str, code: u8) -> u8 {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "stepwell: {message}");
    code
}
