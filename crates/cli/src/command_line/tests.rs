use std::time::Duration;

use super::*;
use crate::log::Level;

fn read_with(line: &str, environment: &[(&str, &str)]) -> Result<Demand, Trouble> {
    let words = line.split_whitespace().map(OsString::from);
    read(words, &|name| {
        environment
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

#[track_caller]
fn settings(line: &str, environment: &[(&str, &str)]) -> Settings {
    match read_with(line, environment) {
        Ok(Demand::Demo(settings)) => settings,
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn usage(line: &str) -> String {
    match read_with(line, &[]) {
        Err(Trouble::Usage(message)) => message,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn every_option_can_be_given() {
    let read = settings(
        "demo --bind a:1 --bind=b:2 --loops 3 --threads=4 --grace 5s --body-limit 6k --log debug",
        &[],
    );
    let expected = Settings {
        bind: vec!["a:1".to_owned(), "b:2".to_owned()],
        loops: Some(3),
        threads: Some(4),
        grace: Duration::from_secs(5),
        body_limit: 6 * 1024,
        log: Level::Debug,
    };
    assert_eq!(read, expected);
    assert_eq!(settings("demo", &[]), Settings::default());
}

#[test]
fn flags_count_more_than_the_environment() {
    let environment = [
        ("STEPWELL_BIND", "a:1, b:2"),
        ("STEPWELL_LOOPS", "5"),
        ("WEB_CONCURRENCY", "6"),
    ];
    let read = settings("demo --loops 7", &environment);
    assert_eq!(read.bind, ["a:1", "b:2"]);
    assert_eq!(read.loops, Some(7));
    assert_eq!(settings("demo", &environment).loops, Some(5));
    assert_eq!(settings("demo", &[("WEB_CONCURRENCY", "6")]).loops, Some(6));
    assert_eq!(settings("demo", &[("PORT", "81")]).bind, ["0.0.0.0:81"]);
    assert_eq!(
        settings("demo", &[("PORT", "81"), ("STEPWELL_BIND", "c:3")]).bind,
        ["c:3"]
    );
    assert_eq!(settings("demo", &[("STEPWELL_LOOPS", "")]).loops, None);
}

#[test]
fn wrong_values_name_their_source() {
    assert_eq!(
        usage("demo --loops 0"),
        "--loops 0: expected a number from 1 to 1024"
    );
    assert_eq!(
        usage("demo --grace soon"),
        "--grace soon: expected a duration such as 500ms, 30s or 5m"
    );
    assert_eq!(usage("demo --loops"), "--loops needs a value: --loops N");
    for (name, value) in [
        ("STEPWELL_LOG", "loud"),
        ("PORT", "http"),
        ("STEPWELL_THREADS", "-1"),
    ] {
        match read_with("demo", &[(name, value)]) {
            Err(Trouble::Configuration(message)) => {
                assert!(
                    message.starts_with(&format!("{name}={value}: expected ")),
                    "{message}"
                );
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn slips_get_the_nearest_word() {
    assert_eq!(
        usage("demo --lops 2"),
        "unknown option --lops: did you mean --loops?"
    );
    assert_eq!(
        usage("demo --thread 2"),
        "unknown option --thread: did you mean --threads?"
    );
    assert_eq!(
        usage("--verison"),
        "unknown option --verison: did you mean --version?"
    );
    assert_eq!(
        usage("dmeo"),
        "unknown command \"dmeo\": did you mean demo?"
    );
    assert_eq!(
        usage("demo --frobnicate"),
        "unknown option --frobnicate; see --help"
    );
    assert_eq!(usage("demo now"), "unexpected argument \"now\"; see --help");
    assert!(usage("").contains("Usage: stepwell COMMAND"));
}

#[test]
fn help_fits_a_screen_and_names_every_option() {
    let texts =
        ["--help", "demo --help", "help demo", "demo -h", "help"].map(|line| {
            match read_with(line, &[]) {
                Ok(Demand::Print(text)) => text,
                other => panic!("{line}: {other:?}"),
            }
        });
    for text in &texts {
        assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
        assert!(text.lines().all(|line| line.len() <= 100));
        assert!(text.contains("Examples:"));
    }
    for choice in CHOICES {
        assert!(texts[1].contains(&format!("  --{} {}", choice.name, choice.value)));
        assert!(
            choice
                .environment
                .iter()
                .all(|name| texts[1].contains(name))
        );
    }
}

#[test]
fn distances_count_changes() {
    for (one, other, changes) in [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("kitten", "sitting", 3),
        ("ab", "ba", 2),
    ] {
        assert_eq!(distance(one, other), changes, "{one} {other}");
    }
}
