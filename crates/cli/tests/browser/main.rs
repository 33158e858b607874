//! The pages of the demo in a real browser: every button is pressed and every result looked at.
//!
//! Needs `chromium` and `chromedriver` (Debian: chromium, chromium-driver). Where they are missing
//! the test says so and is left out, unless `STEPWELL_BROWSER=required` is set.
//! `STEPWELL_SCREENSHOTS=DIR` keeps pictures of the pages.

mod driver;

use std::path::Path;
use std::time::Duration;

use driver::Browser;
use serde_json::{Value, json};
use stepwell_testkit::{Program, wait_until};

/// The slowest card sleeps for two seconds; a busy machine takes its time.
const LIMIT: Duration = Duration::from_secs(60);

fn demo() -> Program {
    Program::start(
        env!("CARGO_BIN_EXE_stepwell"),
        ["demo", "--bind", "127.0.0.1:0"],
    )
}

/// Presses the button of a card and gives what its output says then.
#[track_caller]
fn press(browser: &mut Browser, card: &str) -> String {
    browser.run(
        "document.querySelector(`#${arguments[0]} form`).requestSubmit()",
        &json!([card]),
    );
    outcome(browser, card)
}

/// What a card says once it is no longer at work.
#[track_caller]
fn outcome(browser: &mut Browser, card: &str) -> String {
    let look = "const out = document.querySelector(`#${arguments[0]} output`);
        return [out.dataset.state ?? '', out.textContent]";
    let mut seen = Value::Null;
    wait_until(LIMIT, || {
        seen = browser.run(look, &json!([card]));
        matches!(seen[0].as_str(), Some("ok" | "error"))
    });
    let text = seen[1].as_str().unwrap_or_default();
    assert_eq!(seen[0], "ok", "{card}: {text}");
    text.to_owned()
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

/// Nothing on the page is wider than the window, and nothing was complained about.
#[track_caller]
fn assert_sound(browser: &mut Browser) {
    let excess =
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(
        browser.run(excess, &json!([])),
        0,
        "the page is wider than the window"
    );
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

fn picture(browser: &mut Browser, name: &str) {
    if let Some(folder) = std::env::var_os("STEPWELL_SCREENSHOTS") {
        browser.picture(&Path::new(&folder).join(format!("{name}.png")));
    }
}

#[test]
fn every_button_of_the_page_works() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let program = demo();
    browser.resize(1280, 2000);
    browser.open(&format!("http://{}/", program.addr()));

    assert_has(
        &press(&mut browser, "hello"),
        &["Hello, Wellspring!", " ms"],
    );
    let fill = "document.querySelector(arguments[0]).value = arguments[1]";
    browser.run(fill, &json!(["#hello [name=name]", "?<b>ö%"]));
    assert_has(&press(&mut browser, "hello"), &["Hello, ?<b>ö%!"]);
    let record = press(&mut browser, "json");
    assert_has(
        &record,
        &["\"_id\"", "tenantId", "sendICalNotifications", "\\\""],
    );
    browser.run(fill, &json!(["#slow [name=ms]", "120"]));
    assert_has(&press(&mut browser, "slow"), &["slept 120 ms", "in 1"]);
    let upload = press(&mut browser, "upload");
    assert_has(
        &upload,
        &["16777216 bytes", "equal to this browser's own digest"],
    );

    send_the_form(&mut browser);
    let wrong = press(&mut browser, "missing");
    assert_has(
        &wrong,
        &[
            "GET /nowhere: 404",
            "DELETE /json: 405  Allow: ",
            "HEAD /json: 200",
        ],
    );
    assert_has(&wrong, &["OPTIONS /upload: 204"]);

    watch_the_clock(&mut browser);
    let stalled = press(&mut browser, "stall");
    assert_has(
        &stalled,
        &["All 100 slept 2 s", "greetings came", "99 % within"],
    );
    let dots = browser.run("return shown[0].length", &json!([]));
    assert!(dots.as_u64() > Some(20), "{dots} greetings");
    assert_has(
        &press(&mut browser, "stats"),
        &["answers", "GET /hello/{name}", "POST /upload"],
    );
    wait_until(LIMIT, || {
        let rate = "return document.querySelector('[data-figure=rate]').textContent";
        browser.run(rate, &json!([])) != "–"
    });
    picture(&mut browser, "page");
    assert_sound(&mut browser);
    browser.dark();
    picture(&mut browser, "page-dark");
}

fn send_the_form(browser: &mut Browser) {
    browser.run(ATTACH, &json!([]));
    let form = press(browser, "form");
    assert_has(
        &form,
        &[
            "line: \"Grüße aus der Tiefe\" (",
            "more: \"two\\r\\nlines\"",
        ],
    );
    assert_has(
        &form,
        &["attachment: file \"notes ü.txt\", text/plain (100000 bytes, on disk)"],
    );
}

/// Puts a file into the form, as the user would.
const ATTACH: &str = "
    const files = new DataTransfer();
    files.items.add(new File(['x'.repeat(100000)], 'notes ü.txt', { type: 'text/plain' }));
    document.querySelector('#form [name=attachment]').files = files.files;";

fn watch_the_clock(browser: &mut Browser) {
    let face = "return document.querySelector('#events .clock').textContent";
    assert_eq!(browser.run(face, &json!([])), "--:--:--");
    assert_has(&press(browser, "events"), &["watching"]);
    let first = browser.run(face, &json!([]));
    wait_until(LIMIT, || browser.run(face, &json!([])) != first);
    assert_eq!(press(browser, "events"), "stopped");
}

#[test]
fn the_figures_are_drawn() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let program = demo();
    browser.resize(1280, 1000);
    browser.open(&format!("http://{}/stats", program.addr()));
    wait_until(LIMIT, || {
        browser.run(
            "return document.querySelectorAll('#routes tbody tr').length",
            &json!([]),
        ) != 0
            && browser.run("return history.rate.length > 2", &json!([])) == true
    });
    let inked = "const c = document.querySelector('canvas[data-plot=rate]');
        return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v !== 0)";
    assert_eq!(browser.run(inked, &json!([])), true, "the plot is empty");
    let rows = browser.run(
        "return document.querySelector('#routes').textContent",
        &json!([]),
    );
    assert_has(rows.as_str().unwrap_or_default(), &["GET /stats"]);
    let rest = browser.run(
        "return document.querySelector('#rest').textContent",
        &json!([]),
    );
    assert_has(
        rest.as_str().unwrap_or_default(),
        &["version", "event loops", "up for"],
    );
    assert_has(
        browser
            .run(
                "return document.querySelector('#state').textContent",
                &json!([]),
            )
            .as_str()
            .unwrap_or_default(),
        &["live"],
    );
    picture(&mut browser, "stats");
    assert_sound(&mut browser);
}

#[test]
fn the_pages_fit_a_phone() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let program = demo();
    browser.phone(390, 844);
    for path in ["/", "/stats"] {
        browser.open(&format!("http://{}{path}", program.addr()));
        if path == "/" {
            assert_has(&press(&mut browser, "json"), &["tenantId"]);
            assert_has(&press(&mut browser, "hello"), &["Hello"]);
        }
        assert_sound(&mut browser);
        picture(
            &mut browser,
            if path == "/" { "phone" } else { "phone-stats" },
        );
    }
}
