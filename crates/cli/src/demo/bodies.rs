//! What clients send: uploads of any size, and forms.

use std::io::Read;
use std::time::Instant;

use serde::Serialize;
use sha2::{Digest, Sha256};
use stepwell::{HttpError, Json, Part, Request};

/// The largest form in bytes.
pub(crate) const LARGEST_FORM: u64 = 100 << 20;

/// Text up to this many bytes is sent back.
const SHOWN: u64 = 4096;

#[derive(Serialize)]
pub(crate) struct Uploaded {
    bytes: u64,
    sha256: String,
    seconds: f64,
}

/// Reads a body of any size, and never holds more than a piece of it.
pub(crate) fn upload(req: &mut Request) -> Result<Json<Uploaded>, HttpError> {
    let start = Instant::now();
    let mut body = req.reader();
    let mut digest = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    let mut bytes = 0;
    loop {
        let length = body.read(&mut piece)?;
        let Some(data) = piece.get(..length).filter(|data| !data.is_empty()) else {
            break;
        };
        digest.update(data);
        bytes += length as u64;
    }
    let sha256 = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(Json(Uploaded {
        bytes,
        sha256,
        seconds: start.elapsed().as_secs_f64(),
    }))
}

#[derive(Serialize)]
pub(crate) struct Received {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    bytes: u64,
    /// Whether it was so large that it was written to disk.
    spilled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Answers what a form has in it.
pub(crate) fn form(req: &mut Request) -> Result<Json<Vec<Received>>, HttpError> {
    let is_plain = req
        .content_type()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/x-www-form-urlencoded"));
    if is_plain {
        let form = req.form()?;
        return Ok(Json(
            form.iter()
                .map(|(name, value)| field(name, value))
                .collect(),
        ));
    }
    let parts = req.multipart()?.map(|part| received(&part?));
    parts.collect::<Result<_, _>>().map(Json)
}

fn field(name: &str, value: &str) -> Received {
    Received {
        name: name.to_owned(),
        file_name: None,
        content_type: None,
        bytes: value.len() as u64,
        spilled: false,
        text: (value.len() as u64 <= SHOWN).then(|| value.to_owned()),
    }
}

fn received(part: &Part) -> Result<Received, HttpError> {
    let is_text = part.size() <= SHOWN && part.file_name().is_none();
    Ok(Received {
        name: part.name().to_owned(),
        file_name: part.file_name().map(str::to_owned),
        content_type: part.content_type().map(str::to_owned),
        bytes: part.size(),
        spilled: part.is_spilled(),
        text: if is_text {
            Some(part.text()?.into_owned())
        } else {
            None
        },
    })
}
