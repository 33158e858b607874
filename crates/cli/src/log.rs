//! The server's log on standard error.
//!
//! Lines are written by a thread of their own: a terminal or a pipe that nobody reads holds up
//! that thread, never an event loop. While [`WAITING`] lines wait, further ones are dropped, and
//! counted in the next line that can be written.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// Most lines that wait to be written.
const WAITING: usize = 1024;

/// The longest line in bytes; what is beyond is cut off.
const LONGEST: usize = 4096;

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    const ALL: [(&'static str, Level); 5] = [
        ("error", Level::Error),
        ("warn", Level::Warn),
        ("info", Level::Info),
        ("debug", Level::Debug),
        ("trace", Level::Trace),
    ];

    /// The level of a name, whatever its case.
    pub(crate) fn named(name: &str) -> Result<Level, String> {
        let found = Self::ALL
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found
            .map(|(_, level)| *level)
            .ok_or_else(|| "expected error, warn, info, debug or trace".to_owned())
    }

    fn of_tracing(self) -> tracing::Level {
        match self {
            Level::Error => tracing::Level::ERROR,
            Level::Warn => tracing::Level::WARN,
            Level::Info => tracing::Level::INFO,
            Level::Debug => tracing::Level::DEBUG,
            Level::Trace => tracing::Level::TRACE,
        }
    }
}

/// The log at work; dropping it does not end it.
pub(crate) struct Log {
    lines: SyncSender<Message>,
    writer: JoinHandle<()>,
}

enum Message {
    Line(String),
    End,
}

/// Starts the log of this process.
///
/// # Errors
/// When the system has no thread for it.
pub(crate) fn start(level: Level) -> io::Result<Log> {
    let colours =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let (lines, waiting) = sync_channel(WAITING);
    let writer = std::thread::Builder::new()
        .name("stepwell-log".to_owned())
        .stack_size(64 * 1024)
        .spawn(move || {
            while let Ok(Message::Line(line)) = waiting.recv() {
                // Where standard error is closed there is nobody to tell.
                let _ = io::stderr().write_all(line.as_bytes());
            }
        })?;
    let printer = Printer {
        level: level.of_tracing(),
        colours,
        lines: lines.clone(),
        dropped: AtomicU64::new(0),
    };
    // Refused only when a log was started before, which then goes on.
    let _ = tracing::subscriber::set_global_default(printer);
    Ok(Log { lines, writer })
}

impl Log {
    /// Writes what waits, then ends.
    pub(crate) fn end(self) {
        if self.lines.send(Message::End).is_ok() {
            let _ = self.writer.join();
        }
    }
}

/// Takes events and makes lines of them. Spans are not used.
struct Printer {
    level: tracing::Level,
    colours: bool,
    lines: SyncSender<Message>,
    dropped: AtomicU64,
}

impl Subscriber for Printer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.is_event() && self.enabled(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(self.level.into())
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        let mut line = line_of(event, SystemTime::now(), self.colours);
        if dropped > 0 {
            // Writing to a String cannot fail.
            let _ = writeln!(
                line,
                "({dropped} lines were dropped before: they came too fast)"
            );
        }
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Message::Line(line)) {
            self.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn line_of(event: &Event<'_>, now: SystemTime, colours: bool) -> String {
    let level = *event.metadata().level();
    let mut line = utc(now);
    let (name, colour) = match level {
        tracing::Level::ERROR => ("ERROR", "31"),
        tracing::Level::WARN => ("WARN ", "33"),
        tracing::Level::INFO => ("INFO ", "32"),
        tracing::Level::DEBUG => ("DEBUG", "36"),
        tracing::Level::TRACE => ("TRACE", "35"),
    };
    // Writing to a String cannot fail.
    let _ = if colours {
        write!(line, " \x1b[{colour}m{name}\x1b[0m")
    } else {
        write!(line, " {name}")
    };
    let mut fields = Fields::default();
    event.record(&mut fields);
    line.push(' ');
    push_escaped(&mut line, &fields.message);
    push_escaped(&mut line, &fields.others);
    line.push('\n');
    line
}

#[derive(Default)]
struct Fields {
    message: String,
    others: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.others, " {name}={value:?}"),
        };
    }
}

/// Nothing that came from a client may end a line or reach a terminal.
fn push_escaped(line: &mut String, text: &str) {
    for character in text.chars() {
        if line.len() >= LONGEST {
            line.push('…');
            return;
        }
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
}

/// `2026-11-20T09:08:07.123Z`.
pub(crate) fn utc(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_millis(),
    )
}

/// The Gregorian date of a number of days since 1970. Years are counted from March, so that the
/// leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // from 0000-03-01 to 1970-01-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (1_795_165_687, "2026-11-20T09:08:07.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        let mut line = String::new();
        push_escaped(&mut line, "a\r\nb\x1b[2J\u{9b}é");
        assert_eq!(line, "a\\r\\nb\\u{1b}[2J\\u{9b}é");
        push_escaped(&mut line, &"x".repeat(2 * LONGEST));
        assert!(line.len() <= LONGEST + 8 && line.ends_with('…'));
    }

    #[test]
    fn levels_have_names() {
        assert_eq!(Level::named("WARN"), Ok(Level::Warn));
        assert!(Level::named("loud").is_err());
    }
}
