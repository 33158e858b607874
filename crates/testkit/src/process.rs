//! A server in a process of its own: examples and the command.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::{PATIENCE, poll_until};

/// The path of an example that `cargo test` or `cargo build --examples` has built, seen from a
/// test of the same package.
///
/// # Panics
/// When it has not been built.
#[track_caller]
#[must_use]
pub fn built_example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    // The test lies in TARGET/PROFILE/deps, the example in TARGET/PROFILE/examples.
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("two folders above the test");
    let path = profile.join("examples").join(name);
    assert!(
        path.exists(),
        "{} is missing: cargo build --examples",
        path.display()
    );
    path
}

/// A running program that is killed when this is dropped.
///
/// Everything it prints, on both outputs, is kept and can be looked at.
#[derive(Debug)]
pub struct Program {
    child: Child,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    addr: SocketAddr,
}

impl Program {
    /// Starts a server with `arguments` and waits for the line which says where it listens: the
    /// first `http://ADDR:PORT` that it prints on either output. Standard input is empty.
    ///
    /// # Panics
    /// When it can't be started or prints no such line within [`PATIENCE`]; the message has what
    /// it printed.
    #[track_caller]
    pub fn start<A: AsRef<OsStr>>(
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(arguments);
        Self::start_command(command)
    }

    /// Starts an example of the package under test on a port that the system chooses.
    ///
    /// # Panics
    /// As [`built_example`] and [`Program::start`].
    #[track_caller]
    #[must_use]
    pub fn example(name: &str) -> Self {
        Self::start(built_example(name), ["--bind", "127.0.0.1:0"])
    }

    /// Like [`Program::start`], for a command with an environment or a folder of its own.
    ///
    /// # Panics
    /// As [`Program::start`].
    #[track_caller]
    #[must_use]
    pub fn start_command(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let (found, addresses) = channel();
        let stdout = collect(child.stdout.take(), found.clone());
        let stderr = collect(child.stderr.take(), found);
        match addresses.recv_timeout(PATIENCE) {
            Ok(addr) => Self {
                child,
                stdout,
                stderr,
                addr,
            },
            // Too late, or both outputs have ended and so has the program.
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                let printed = [text_of(&stdout), text_of(&stderr)].concat();
                panic!("{command:?} printed no http://ADDR:PORT, only:\n{printed}");
            }
        }
    }

    /// Where the server listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything printed on standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        text_of(&self.stdout)
    }

    /// Everything printed on standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        text_of(&self.stderr)
    }

    /// Sends a signal by its name without `SIG`, such as `TERM`.
    ///
    /// # Panics
    /// When the process is gone or the name unknown.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let signal = match name {
            "TERM" => Signal::TERM,
            "INT" => Signal::INT,
            "QUIT" => Signal::QUIT,
            "HUP" => Signal::HUP,
            "USR1" => Signal::USR1,
            "USR2" => Signal::USR2,
            "STOP" => Signal::STOP,
            "CONT" => Signal::CONT,
            _ => panic!("no signal {name}"),
        };
        if let Err(e) = kill_process(Pid::from_child(&self.child), signal) {
            panic!("sending {name}: {e}; stderr:\n{}", self.stderr());
        }
    }

    /// Waits for the process to end by itself.
    ///
    /// # Panics
    /// When it does not within `limit`.
    #[track_caller]
    pub fn wait_exit(&mut self, limit: Duration) -> ExitStatus {
        let mut status = None;
        let ended = poll_until(limit, || {
            status = self.child.try_wait().expect("the state of a child");
            status.is_some()
        });
        assert!(
            ended,
            "the process still runs after {limit:?}; stderr:\n{}",
            self.stderr()
        );
        status.expect("set when ended")
    }

    /// Memory in use (resident), in KiB; `None` where there is no `/proc`.
    #[must_use]
    pub fn resident_kib(&self) -> Option<u64> {
        self.status("VmRSS:")
    }

    /// The number of threads; `None` where there is no `/proc`.
    #[must_use]
    pub fn threads(&self) -> Option<u64> {
        self.status("Threads:")
    }

    /// The number of open descriptors; `None` where there is no `/proc`.
    #[must_use]
    pub fn descriptors(&self) -> Option<usize> {
        Some(
            std::fs::read_dir(format!("/proc/{}/fd", self.pid()))
                .ok()?
                .count(),
        )
    }

    fn status(&self, key: &str) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail only for a child that has been waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Collects an output on a thread, which ends with the output.
fn collect(
    output: Option<impl Read + Send + 'static>,
    found: Sender<SocketAddr>,
) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let (kept, output) = (Arc::clone(&text), output.expect("a piped output"));
    std::thread::spawn(move || {
        let mut lines = BufReader::new(output);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let piece = String::from_utf8_lossy(&line).into_owned();
            kept.lock()
                .unwrap_or_else(|e| e.into_inner())
                .push_str(&piece);
            if let Some(addr) = address_in(&piece) {
                let _ = found.send(addr);
            }
            line.clear();
        }
    });
    text
}

fn text_of(kept: &Mutex<String>) -> String {
    kept.lock().unwrap_or_else(|e| e.into_inner()).clone()
}

/// The address of the first `http://` URL in a line.
fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest.find(|c: char| !matches!(c, '0'..='9' | 'a'..='f' | '.' | ':' | '[' | ']'));
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_a_line() {
        let found = |line| address_in(line).map(|a| a.to_string());
        assert_eq!(
            found("on http://127.0.0.1:80/ (4)\n").as_deref(),
            Some("127.0.0.1:80")
        );
        assert_eq!(found("http://[::1]:8080").as_deref(), Some("[::1]:8080"));
        assert_eq!(found("http://example.org/"), None);
    }

    #[test]
    fn a_program_is_watched_and_signalled() {
        let script = "echo http://127.0.0.1:9/; echo x >&2; exec cat /dev/zero > /dev/null";
        let mut program = Program::start("sh", ["-c", script]);
        assert_eq!(program.addr().port(), 9);
        crate::wait_until(PATIENCE, || program.stderr() == "x\n");
        program.signal("TERM");
        assert!(!program.wait_exit(PATIENCE).success());
    }

    #[test]
    #[should_panic(expected = "only:\nno luck")]
    fn a_program_that_ends_early_is_told() {
        let _ = Program::start("sh", ["-c", "echo no luck"]);
    }
}
