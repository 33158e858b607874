//! The peer in hyper: one current-thread runtime, `pipeline_flush` on. Usage: peer-hyper ADDRESS.

use bench_record::Office;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static OFFICE: LazyLock<Office> = LazyLock::new(Office::sample);
static COUNT: AtomicU64 = AtomicU64::new(0);

fn answer(media_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn text(body: &'static str) -> Response<Full<Bytes>> {
    answer("text/plain; charset=utf-8", body)
}

async fn handle(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(match request.uri().path() {
        "/" => text("Hello, World!"),
        "/json" => match serde_json::to_vec(&*OFFICE) {
            Ok(body) => answer("application/json", body),
            Err(_) => status(StatusCode::INTERNAL_SERVER_ERROR),
        },
        "/slow" => {
            let query = request.uri().query().unwrap_or_default();
            let milliseconds = query.strip_prefix("ms=").and_then(|ms| ms.parse().ok());
            tokio::time::sleep(Duration::from_millis(milliseconds.unwrap_or(0))).await;
            text("slow")
        }
        "/mixed" if COUNT.fetch_add(1, Ordering::Relaxed) % 20 == 0 => {
            tokio::time::sleep(Duration::from_millis(20)).await;
            text("slow")
        }
        "/mixed" => text("fast"),
        _ => status(StatusCode::NOT_FOUND),
    })
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

async fn serve(address: &str) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(
            http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service_fn(handle)),
        );
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:8080".into());
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(&address))
}
