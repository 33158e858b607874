//! The limit of open files, which thousands of connections in one process run into.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's limit of open files as far as the system lets it; gives the limit that
/// holds then. A test with a client and a server in its own process needs two files a connection.
pub fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Refused only when the hard limit is "none" and the system has a lower one of its own.
    if setrlimit(Resource::Nofile, raised).is_ok() {
        return limit.maximum.unwrap_or(u64::MAX);
    }
    limit.current.unwrap_or(u64::MAX)
}
