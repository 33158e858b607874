//! The one table of options: names, environment, defaults, help and meaning.

use std::time::Duration;

use crate::log::Level;
use crate::units;

/// What the options set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Addresses to listen on, as the library takes them; one at least.
    pub(crate) bind: Vec<String>,
    /// Event loops; `None` is one for each processor.
    pub(crate) loops: Option<usize>,
    /// Most handlers that run at the same time outside of the event loops.
    pub(crate) threads: Option<usize>,
    /// How long requests may take to end when the server is told to stop.
    pub(crate) grace: Duration,
    /// Longest request body that is held in memory, in bytes.
    pub(crate) body_limit: u64,
    /// Least important lines of the log that are written.
    pub(crate) log: Level,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bind: vec!["127.0.0.1:8080".to_owned()],
            loops: None,
            threads: None,
            grace: Duration::from_secs(30),
            body_limit: 1 << 20,
            log: Level::Info,
        }
    }
}

/// One option.
pub(crate) struct Choice {
    /// Without the two dashes.
    pub(crate) name: &'static str,
    /// What stands for the value in the help.
    pub(crate) value: &'static str,
    /// Variables of the environment that set it, the first that is set counts.
    pub(crate) environment: &'static [&'static str],
    /// A line for the help.
    pub(crate) help: &'static str,
    /// Takes the values that one source gives, one unless the option may be repeated.
    pub(crate) set: fn(&mut Settings, &[String]) -> Result<(), String>,
    /// Whether it may be given several times.
    pub(crate) repeats: bool,
}

/// Every option of the commands that serve.
pub(crate) const CHOICES: &[Choice] = &[
    Choice {
        name: "bind",
        value: "ADDR",
        environment: &["STEPWELL_BIND"],
        help: "host:port or unix:PATH; may be repeated  [127.0.0.1:8080]",
        set: |settings, values| {
            settings.bind = values.to_vec();
            Ok(())
        },
        repeats: true,
    },
    Choice {
        name: "loops",
        value: "N",
        environment: &["STEPWELL_LOOPS", "WEB_CONCURRENCY"],
        help: "event loops  [one for each processor]",
        set: |settings, values| count(values, 1024).map(|count| settings.loops = Some(count)),
        repeats: false,
    },
    Choice {
        name: "threads",
        value: "N",
        environment: &["STEPWELL_THREADS"],
        help: "most handlers at the same time beside the loops  [256]",
        set: |settings, values| count(values, 65_536).map(|count| settings.threads = Some(count)),
        repeats: false,
    },
    Choice {
        name: "grace",
        value: "TIME",
        environment: &["STEPWELL_GRACE"],
        help: "how long requests may take to end at a stop  [30s]",
        set: |settings, values| {
            settings.grace = units::duration(only(values))?;
            Ok(())
        },
        repeats: false,
    },
    Choice {
        name: "body-limit",
        value: "SIZE",
        environment: &["STEPWELL_BODY_LIMIT"],
        help: "longest request body that is held in memory  [1m]",
        set: |settings, values| {
            settings.body_limit = units::size(only(values))?;
            Ok(())
        },
        repeats: false,
    },
    Choice {
        name: "log",
        value: "LEVEL",
        environment: &["STEPWELL_LOG"],
        help: "error, warn, info, debug or trace  [info]",
        set: |settings, values| {
            settings.log = Level::named(only(values))?;
            Ok(())
        },
        repeats: false,
    },
];

/// The last value wins where only one counts.
fn only(values: &[String]) -> &str {
    values.last().map_or("", |value| value)
}

fn count(values: &[String], most: usize) -> Result<usize, String> {
    match only(values).parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(format!("expected a number from 1 to {most}")),
    }
}
