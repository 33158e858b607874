//! A browser, driven over the WebDriver protocol.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_testkit::RawClient;

/// A headless Chromium and the program that drives it; both end when this is dropped.
pub(crate) struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    profile: PathBuf,
}

impl Browser {
    /// Starts a browser; nothing where there is none and none is required.
    #[track_caller]
    pub(crate) fn start() -> Option<Self> {
        let started = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = started else {
            let required = std::env::var_os("STEPWELL_BROWSER").is_some_and(|v| v == "required");
            assert!(
                !required,
                "no chromedriver: apt-get install chromium chromium-driver"
            );
            eprintln!("left out: no chromedriver (Debian: chromium chromium-driver)");
            return None;
        };
        let port = port_of(&mut driver);
        let name = format!("stepwell-browser-{}-{port}", std::process::id());
        let mut browser = Self {
            driver,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            session: String::new(),
            profile: std::env::temp_dir().join(name),
        };
        let profile = format!("--user-data-dir={}", browser.profile.display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            &profile,
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "WARNING" },
        } } });
        let answer = browser.call("POST", "/session", Some(&wanted));
        browser.session = answer["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    /// Opens a page and waits until it is loaded.
    #[track_caller]
    pub(crate) fn open(&mut self, url: &str) {
        self.command("POST", "/url", Some(&json!({ "url": url })));
    }

    /// Runs a script in the page and gives what it returns.
    #[track_caller]
    pub(crate) fn run(&mut self, script: &str, arguments: &Value) -> Value {
        let body = json!({ "script": script, "args": arguments });
        self.command("POST", "/execute/sync", Some(&body))
    }

    #[track_caller]
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height });
        self.command("POST", "/window/rect", Some(&size));
    }

    /// Makes the window that of a phone, narrower than windows may be otherwise.
    #[track_caller]
    pub(crate) fn phone(&mut self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 2, "mobile": true
        });
        self.tool("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Asks for dark colours.
    #[track_caller]
    pub(crate) fn dark(&mut self) {
        let wish = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
        self.tool("Emulation.setEmulatedMedia", &wish);
    }

    /// What the browser complained about, except answers that the page asked for to be errors.
    #[track_caller]
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        let log = self.command("POST", "/se/log", Some(&json!({ "type": "browser" })));
        let entries = log.as_array().cloned().unwrap_or_default();
        let messages = entries.iter().filter_map(|entry| entry["message"].as_str());
        messages
            .filter(|message| !(message.contains("404 (") || message.contains("405 (")))
            .map(str::to_owned)
            .collect()
    }

    /// Keeps a picture of the whole page.
    #[track_caller]
    pub(crate) fn picture(&mut self, path: &Path) {
        let whole = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.tool("Page.captureScreenshot", &whole);
        let coded = answer["data"].as_str().expect("a picture");
        std::fs::write(path, from_base64(coded)).expect("the picture can be written");
    }

    #[track_caller]
    fn tool(&mut self, command: &str, parameters: &Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.command("POST", "/goog/cdp/execute", Some(&body))
    }

    #[track_caller]
    fn command(&mut self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let path = format!("/session/{}{path}", self.session);
        self.call(method, &path, body)
    }

    #[track_caller]
    fn call(&mut self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len(),
        );
        let mut client = RawClient::connect(self.address).patience(Duration::from_secs(90));
        let answer = client.exchange(head + &body);
        let mut value: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(
            answer.status, 200,
            "{method} {path}: {}",
            value["value"]["message"]
        );
        value["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session. A test may be failing already: nothing panics here.
        let end = format!(
            "DELETE /session/{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.session, self.address,
        );
        if let Ok(mut client) = RawClient::try_connect(self.address) {
            let _ = client.try_send(end.as_bytes());
            let _ = client.try_read_response_to("DELETE");
        }
        let id = self.driver.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let _ = self.driver.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// The port that the driver says it has chosen.
fn port_of(driver: &mut Child) -> u16 {
    let output = BufReader::new(driver.stdout.take().expect("a piped output"));
    for line in output.lines() {
        let line = line.expect("text");
        if let Some((_, port)) = line.split_once("started successfully on port ") {
            return port.trim_end_matches('.').parse().expect("a port");
        }
    }
    panic!("the driver ended without naming its port");
}

fn from_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for six in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
