//! The command line.

use std::net::SocketAddr;

pub const HELP: &str = "\
load: a light HTTP/1.1 load generator that counts bytes and reads the server's CPU clock

usage: load [options] ADDRESS:PORT
  --path PATH         what to request (default /); given twice, the second is the slow class
  --share PERCENT     how many requests go to the second path, at random (default 5)
  --label BYTE        one path, two classes: a reply that ends in BYTE is of the slow class
  --connections N     (default 100)
  --pipeline N        requests sent at once on a connection (default 1)
  --seconds S         how long to measure (default 2)
  --warmup S          how long to run before measuring (default 0.5)
  --requests N        end after N measured requests, at the latest after --seconds
  --header 'K: V'     a further request field
  --pid PID           sum the CPU time of this process; may be repeated
Prints one JSON object. Every reply of a class must have the same length.
";

pub struct Options {
    pub address: SocketAddr,
    pub paths: Vec<String>,
    pub share: f64,
    pub label: Option<u8>,
    pub connections: usize,
    pub pipeline: usize,
    pub seconds: f64,
    pub warmup: f64,
    pub requests: u64,
    pub headers: Vec<String>,
    pub pids: Vec<u32>,
}

impl Options {
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            address: SocketAddr::from(([127, 0, 0, 1], 8080)),
            paths: Vec::new(),
            share: 5.0,
            label: None,
            connections: 100,
            pipeline: 1,
            seconds: 2.0,
            warmup: 0.5,
            requests: u64::MAX,
            headers: Vec::new(),
            pids: Vec::new(),
        };
        while let Some(name) = args.next() {
            if name.starts_with("--") {
                let value = args.next().ok_or(format!("{name}: a value is missing"))?;
                options.set(&name, value)?;
            } else {
                options.address = parse("address", &name)?;
            }
        }
        options.check()
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "--path" => self.paths.push(value),
            "--share" => self.share = parse(name, &value)?,
            "--label" => self.label = value.bytes().next(),
            "--connections" => self.connections = parse(name, &value)?,
            "--pipeline" => self.pipeline = parse(name, &value)?,
            "--seconds" => self.seconds = parse(name, &value)?,
            "--warmup" => self.warmup = parse(name, &value)?,
            "--requests" => self.requests = parse(name, &value)?,
            "--header" => self.headers.push(value),
            "--pid" => self.pids.push(parse(name, &value)?),
            _ => return Err(format!("{name}: no such option")),
        }
        Ok(())
    }

    fn check(mut self) -> Result<Options, String> {
        if self.paths.is_empty() {
            self.paths.push("/".into());
        }
        let classes = self
            .paths
            .len()
            .max(if self.label.is_some() { 2 } else { 1 });
        if self.paths.len() > 2 || (self.paths.len() == 2 && self.label.is_some()) {
            return Err("two paths, or one path and --label".into());
        }
        if classes > 1 && self.pipeline > 1 {
            return Err("--pipeline knows one class only".into());
        }
        if self.connections == 0 || self.pipeline == 0 {
            return Err("--connections and --pipeline start at 1".into());
        }
        Ok(self)
    }

    /// The bytes of one request.
    pub fn request(&self, path: &str) -> Vec<u8> {
        let mut text = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for header in &self.headers {
            text.push_str(header);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

fn parse<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{name}: cannot read {value:?}"))
}
