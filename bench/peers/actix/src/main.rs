//! The peer in actix-web, one worker. Usage: peer-actix ADDRESS.

use actix_web::rt::time::sleep;
use actix_web::{App, HttpResponse, HttpServer, Responder, get, web};
use bench_record::Office;
use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static OFFICE: LazyLock<Office> = LazyLock::new(Office::sample);
static COUNT: AtomicU64 = AtomicU64::new(0);

#[get("/")]
async fn hello() -> impl Responder {
    "Hello, World!"
}

#[get("/json")]
async fn json() -> impl Responder {
    HttpResponse::Ok().json(&*OFFICE)
}

#[get("/slow")]
async fn slow(query: web::Query<HashMap<String, u64>>) -> impl Responder {
    sleep(Duration::from_millis(query.get("ms").copied().unwrap_or(0))).await;
    "slow"
}

#[get("/mixed")]
async fn mixed() -> impl Responder {
    if COUNT.fetch_add(1, Ordering::Relaxed) % 20 == 0 {
        sleep(Duration::from_millis(20)).await;
        return "slow";
    }
    "fast"
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:8080".into());
    HttpServer::new(|| {
        App::new()
            .service(hello)
            .service(json)
            .service(slow)
            .service(mixed)
    })
    .workers(1)
    .bind(address)?
    .run()
    .await
}
