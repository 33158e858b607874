//! One encoder, whatever the coding: bytes in, encoded bytes appended to a buffer.
//!
//! Compressors are large (a few hundred KiB), so finished ones wait in a pool for the next response
//! instead of being made anew; it holds few, so that a crowd of threads doesn't leave one each.

use std::fmt;
use std::io::{self, Write};
use std::sync::Mutex;

use flate2::{Compress, Compression, FlushCompress, Status};
use zstd::stream::raw::{CParameter, Encoder as ZstdEncoder, Operation};

use crate::compress::Coding;

/// Quality against time: measured on HTML and JSON, the next level up costs much more than it
/// saves.
const GZIP_LEVEL: u32 = 5;
const BROTLI_QUALITY: u32 = 4;
const ZSTD_LEVEL: i32 = 3;

/// log2 of brotli's window: 1 MiB is plenty for a page and keeps the encoder small.
const BROTLI_WINDOW: u32 = 20;
/// log2 of zstd's window: decoders need not accept more than 8 MiB (RFC 9659); 1 MiB saves memory.
const ZSTD_WINDOW: u32 = 20;
/// log2 of gzip's window, with which the format can do no better.
const GZIP_WINDOW: u8 = 15;

/// How many compressors of each kind wait for work at most.
const POOLED: usize = 4;

static GZIP_POOL: Mutex<Vec<Compress>> = Mutex::new(Vec::new());
static ZSTD_POOL: Mutex<Vec<ZstdEncoder<'static>>> = Mutex::new(Vec::new());

/// Encodes one body.
pub(crate) struct Encoder(Kind);

enum Kind {
    Gzip(Compress),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(ZstdEncoder<'static>),
}

impl Encoder {
    pub(crate) fn new(coding: Coding) -> io::Result<Self> {
        Ok(Self(match coding {
            Coding::Gzip => {
                Kind::Gzip(pooled(&GZIP_POOL).unwrap_or_else(|| {
                    Compress::new_gzip(Compression::new(GZIP_LEVEL), GZIP_WINDOW)
                }))
            }
            Coding::Brotli => Kind::Brotli(Box::new(brotli::CompressorWriter::new(
                Vec::new(),
                4096,
                BROTLI_QUALITY,
                BROTLI_WINDOW,
            ))),
            Coding::Zstd => Kind::Zstd(match pooled(&ZSTD_POOL) {
                Some(encoder) => encoder,
                None => {
                    let mut encoder = ZstdEncoder::new(ZSTD_LEVEL)?;
                    encoder.set_parameter(CParameter::WindowLog(ZSTD_WINDOW))?;
                    encoder
                }
            }),
        }))
    }

    /// Says how much is to come, before anything was written: less memory for small bodies.
    pub(crate) fn expect(&mut self, bytes: u64) -> io::Result<()> {
        match &mut self.0 {
            Kind::Zstd(encoder) => encoder.set_pledged_src_size(Some(bytes)),
            Kind::Gzip(_) | Kind::Brotli(_) => Ok(()),
        }
    }

    /// Encodes `data`; what can be sent already is appended to `out`.
    pub(crate) fn write(&mut self, data: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.0 {
            Kind::Gzip(gzip) => deflate(gzip, data, FlushCompress::None, out),
            Kind::Brotli(brotli) => {
                brotli.write_all(data)?;
                drain(brotli, out);
                Ok(())
            }
            Kind::Zstd(zstd) => {
                let mut rest = data;
                while !rest.is_empty() {
                    out.reserve(ROOM);
                    let taken = grow(out, |room| {
                        let status = zstd.run_on_buffers(rest, room)?;
                        Ok((status.bytes_read, status.bytes_written))
                    })?;
                    rest = rest.get(taken..).unwrap_or_default();
                }
                Ok(())
            }
        }
    }

    /// Brings everything written so far into `out`, so that the other side can decode it.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.0 {
            Kind::Gzip(gzip) => deflate(gzip, &[], FlushCompress::Sync, out),
            Kind::Brotli(brotli) => {
                brotli.flush()?;
                drain(brotli, out);
                Ok(())
            }
            Kind::Zstd(zstd) => until_done(out, |room| zstd.flush(room)),
        }
    }

    /// Ends the encoded body.
    pub(crate) fn finish(self, out: &mut Vec<u8>) -> io::Result<()> {
        match self.0 {
            Kind::Gzip(mut gzip) => {
                deflate(&mut gzip, &[], FlushCompress::Finish, out)?;
                gzip.reset();
                give_back(&GZIP_POOL, gzip);
            }
            Kind::Brotli(brotli) => {
                let rest = brotli.into_inner();
                out.extend_from_slice(&rest);
            }
            Kind::Zstd(mut zstd) => {
                until_done(out, |room| zstd.finish(room, true))?;
                zstd.reinit()?;
                give_back(&ZSTD_POOL, zstd);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Gzip(_) => "Encoder(gzip)",
            Kind::Brotli(_) => "Encoder(br)",
            Kind::Zstd(_) => "Encoder(zstd)",
        })
    }
}

/// Room made for output at a time.
const ROOM: usize = 8 * 1024;

fn deflate(
    gzip: &mut Compress,
    data: &[u8],
    flush: FlushCompress,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut rest = data;
    loop {
        out.reserve(ROOM);
        let before = gzip.total_in();
        let status = gzip
            .compress_vec(rest, out, flush)
            .map_err(io::Error::other)?;
        let taken = usize::try_from(gzip.total_in() - before).unwrap_or(rest.len());
        rest = rest.get(taken..).unwrap_or_default();
        // Room left over means that there was nothing more to put there.
        let done = match flush {
            FlushCompress::Finish => status == Status::StreamEnd,
            _ => rest.is_empty() && out.len() < out.capacity(),
        };
        if done {
            return Ok(());
        }
    }
}

/// Lets `step` write behind the end of `out`; it returns how much it read and wrote.
fn grow(
    out: &mut Vec<u8>,
    step: impl FnOnce(&mut [u8]) -> io::Result<(usize, usize)>,
) -> io::Result<usize> {
    let start = out.len();
    out.resize(start + ROOM, 0);
    let result = step(&mut out[start..]); // resized beyond `start` just now
    let (read, written) = result.as_ref().map_or((0, 0), |counts| *counts);
    out.truncate(start + written);
    result.map(|_| read)
}

/// Repeats a step of zstd that ends something until nothing remains.
fn until_done(
    out: &mut Vec<u8>,
    mut step: impl FnMut(&mut zstd::stream::raw::OutBuffer<'_, [u8]>) -> io::Result<usize>,
) -> io::Result<()> {
    loop {
        let mut remaining = 0;
        grow(out, |room| {
            let mut buffer = zstd::stream::raw::OutBuffer::around(room);
            remaining = step(&mut buffer)?;
            Ok((0, buffer.pos()))
        })?;
        if remaining == 0 {
            return Ok(());
        }
    }
}

fn drain(brotli: &mut brotli::CompressorWriter<Vec<u8>>, out: &mut Vec<u8>) {
    let ready = brotli.get_mut();
    out.extend_from_slice(ready);
    ready.clear();
}

fn pooled<T>(pool: &Mutex<Vec<T>>) -> Option<T> {
    pool.lock().ok()?.pop()
}

fn give_back<T>(pool: &Mutex<Vec<T>>, compressor: T) {
    if let Ok(mut waiting) = pool.lock() {
        if waiting.len() < POOLED {
            waiting.push(compressor);
        }
    }
}
