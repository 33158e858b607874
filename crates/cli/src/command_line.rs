//! From arguments and environment to what is to be done.

use std::ffi::OsString;
use std::fmt::Write;

use lexopt::Arg;

use crate::options::{CHOICES, Choice, Settings};

/// What the user wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Text on standard output.
    Print(String),
    /// The demo application.
    Demo(Settings),
}

/// Why it can't be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// The environment is wrong: exit code 78.
    Configuration(String),
}

const COMMANDS: &[&str] = &["demo", "help"];

/// The help without the table of options.
const OVERVIEW: &str = "\
An application server: plain blocking handlers at event-loop speed.

Usage: stepwell COMMAND [OPTION]...

Commands:
  demo             Serve the demo application, which shows what the server can do
  help [COMMAND]   Explain a command and its options

Options:
  -h, --help       Print this, or after a command its options
  -V, --version    Print the version

Examples:
  stepwell demo                             on http://127.0.0.1:8080
  stepwell demo --bind 0.0.0.0:80 --bind unix:/run/stepwell.sock
  stepwell help demo
";

const DEMO: &str = "\
Serve the demo application: a page that explains and tries every endpoint.

Usage: stepwell demo [OPTION]...
";

const DEMO_NOTES: &str = "
A flag counts more than the environment. PORT=8000 stands for STEPWELL_BIND=0.0.0.0:8000.
NO_COLOR turns colours off. The log goes to standard error.

Signals TERM, INT (Ctrl-C) and QUIT stop in order, a second one at once.
Exit codes: 0 stopped, 2 wrong usage, 78 wrong configuration, 71 refused by the system
(such as an address in use), 70 internal fault.

Examples:
  stepwell demo --bind 127.0.0.1:0          on a port that is free
  stepwell demo --loops 1 --threads 32 --grace 5s
  STEPWELL_LOG=debug stepwell demo --bind '[::1]:8080'
";

/// Reads the command line; `environment` gives the value of a variable.
pub(crate) fn read(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Demand, Trouble> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let Some(first) = next(&mut parser)? else {
        let message = format!("which command?\n\n{OVERVIEW}");
        return Err(Trouble::Usage(message.trim_end().to_owned()));
    };
    match first {
        Arg::Short('h') | Arg::Long("help") => Ok(Demand::Print(OVERVIEW.to_owned())),
        Arg::Short('V') | Arg::Long("version") => Ok(Demand::Print(version())),
        Arg::Value(command) => match &*command.to_string_lossy() {
            "demo" => demo(&mut parser, environment),
            "help" => help(&mut parser),
            other => {
                let hint = nearest(other, COMMANDS).map(|near| format!(": did you mean {near}?"));
                let hint = hint.unwrap_or_else(|| "; see stepwell --help".to_owned());
                Err(Trouble::Usage(format!("unknown command {other:?}{hint}")))
            }
        },
        other => Err(unknown(&other, &["help", "version"])),
    }
}

fn version() -> String {
    concat!("stepwell ", env!("CARGO_PKG_VERSION"), "\n").to_owned()
}

fn help(parser: &mut lexopt::Parser) -> Result<Demand, Trouble> {
    match next(parser)? {
        None => Ok(Demand::Print(OVERVIEW.to_owned())),
        Some(Arg::Value(command)) if command == "demo" => Ok(Demand::Print(demo_help())),
        Some(Arg::Value(command)) if command == "help" => Ok(Demand::Print(OVERVIEW.to_owned())),
        Some(Arg::Value(command)) => {
            let message = format!(
                "unknown command {:?}; see stepwell --help",
                command.to_string_lossy()
            );
            Err(Trouble::Usage(message))
        }
        Some(other) => Err(unknown(&other, &[])),
    }
}

fn demo_help() -> String {
    let mut text = DEMO.to_owned();
    text.push_str("\nOptions, and the variables of the environment that stand for them:\n");
    for choice in CHOICES {
        let left = format!("--{} {}", choice.name, choice.value);
        let variables = choice.environment.join(", ");
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  {left:<18} {}\n  {:18}   {variables}",
            choice.help, ""
        );
    }
    let _ = writeln!(text, "  {:<18} Print this", "-h, --help");
    text + DEMO_NOTES
}

fn demo(
    parser: &mut lexopt::Parser,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Demand, Trouble> {
    let mut given: Vec<Vec<String>> = CHOICES.iter().map(|_| Vec::new()).collect();
    let names: Vec<&str> = CHOICES
        .iter()
        .map(|choice| choice.name)
        .chain(["help", "version"])
        .collect();
    while let Some(argument) = next(parser)? {
        let place = match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Demand::Print(demo_help())),
            Arg::Short('V') | Arg::Long("version") => return Ok(Demand::Print(version())),
            Arg::Long(name) => CHOICES.iter().position(|choice| choice.name == name),
            _ => None,
        };
        // Places come from the table that `given` was made for.
        let Some((choice, values)) = place.map(|place| (&CHOICES[place], &mut given[place])) else {
            return Err(unknown(&argument, &names));
        };
        let value = parser
            .value()
            .ok()
            .and_then(|value| value.into_string().ok());
        let usage = format!("--{} needs a value: --{0} {}", choice.name, choice.value);
        values.push(
            value
                .filter(|value| !value.is_empty())
                .ok_or(Trouble::Usage(usage))?,
        );
    }
    settle(&given, environment).map(Demand::Demo)
}

/// Flag before environment before default.
fn settle(
    given: &[Vec<String>],
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, Trouble> {
    let mut settings = Settings::default();
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty());
    if let Some(port) = variable("PORT") {
        let port: u16 = port.parse().map_err(|_| {
            Trouble::Configuration(format!("PORT={port}: expected a number from 0 to 65535"))
        })?;
        settings.bind = vec![format!("0.0.0.0:{port}")];
    }
    for (choice, values) in CHOICES.iter().zip(given) {
        if !values.is_empty() {
            (choice.set)(&mut settings, values).map_err(|reason| {
                Trouble::Usage(format!("--{} {}: {reason}", choice.name, values.join(" ")))
            })?;
        } else if let Some((name, value)) = set_by(choice, &variable) {
            (choice.set)(&mut settings, &split(choice, &value))
                .map_err(|reason| Trouble::Configuration(format!("{name}={value}: {reason}")))?;
        }
    }
    Ok(settings)
}

fn set_by(
    choice: &Choice,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    choice
        .environment
        .iter()
        .find_map(|name| Some((*name, variable(name)?)))
}

/// Options that may be repeated are separated by spaces or commas in the environment.
fn split(choice: &Choice, value: &str) -> Vec<String> {
    if !choice.repeats {
        return vec![value.to_owned()];
    }
    let words = value.split([' ', ',']).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn next(parser: &mut lexopt::Parser) -> Result<Option<Arg<'_>>, Trouble> {
    parser
        .next()
        .map_err(|error| Trouble::Usage(error.to_string()))
}

fn unknown(argument: &Arg<'_>, known: &[&str]) -> Trouble {
    let (what, near) = match argument {
        Arg::Long(name) => (format!("unknown option --{name}"), nearest(name, known)),
        Arg::Short(letter) => (format!("unknown option -{letter}"), None),
        Arg::Value(value) => (
            format!("unexpected argument {:?}", value.to_string_lossy()),
            None,
        ),
    };
    let hint = near.map_or("; see --help".to_owned(), |near| {
        format!(": did you mean --{near}?")
    });
    Trouble::Usage(what + &hint)
}

/// The known word that takes the fewest changes, if they are few.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let best = known
        .iter()
        .map(|each| (distance(word, each), *each))
        .min()?;
    (best.0 <= 1 + best.1.len() / 3).then_some(best.1)
}

/// How many letters have to be changed, added or removed to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    // A command line is short; what is not is no slip of the pen.
    for (line, letter) in one.chars().take(64).enumerate() {
        let mut corner = line;
        let mut left = line + 1;
        for (place, second) in other.iter().enumerate() {
            let above = row[place + 1]; // the row is one longer than the word
            let cost = (corner + usize::from(letter != *second))
                .min(above + 1)
                .min(left + 1);
            row[place] = left;
            corner = above;
            left = cost;
        }
        row[other.len()] = left;
    }
    row[other.len()]
}

#[cfg(test)]
mod tests;
