use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::request::Request;
use crate::request::testing::{get, request};
use crate::{App, HttpError, Response, Router};

fn ask(app: &App, method: &str, target: &str) -> Response {
    let mut req = request(&format!("{method} {target} HTTP/1.1\nHost: a"), b"");
    let id = app.find(&mut req);
    app.run(id, &mut req)
}

/// Status and body as text.
fn answer(app: &App, method: &str, target: &str) -> (u16, String) {
    let response = ask(app, method, target);
    let body = response.body_bytes().expect("a body in memory");
    (
        response.status_code(),
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

fn ok(text: &str) -> (u16, String) {
    (200, text.to_owned())
}

fn app(fill: impl FnOnce(&mut Router)) -> App {
    let mut router = Router::new();
    fill(&mut router);
    router.build().unwrap()
}

#[test]
fn matches_exact_paths_parameters_and_rests() {
    let app = app(|router| {
        router.get("/", |_| "root");
        router.get("/users", |_| "users");
        router.get("/users/me", |_| "me");
        router.get("/users/{id}", |req| format!("user {}", req.param("id")));
        router.get("/users/{id}/posts/{post}", |req| {
            format!("{}/{}", req.param("id"), req.param("post"))
        });
        router.get("/files/{*path}", |req| {
            format!("file {}", req.param("path"))
        });
        router.get("/img/{name}.png", |req| {
            format!("png {}", req.param("name"))
        });
        router.get("/{{x}}", |_| "braces");
    });
    for (target, expected) in [
        ("/", "root"),
        ("/?q=1", "root"),
        ("/users", "users"),
        ("/users/me", "me"),
        ("/users/42", "user 42"),
        ("/users/a%20b", "user a b"),
        ("/users/caf%C3%A9", "user café"),
        ("/users/1/posts/2", "1/2"),
        ("/files/a", "file a"),
        ("/files/a/b%20c/", "file a/b c/"),
        ("/files//etc//passwd", "file etc/passwd"),
        ("/files/x/../y", "file y"),
        ("/x/%2e%2e/users/./me", "me"),
        ("/img/logo.png", "png logo"),
        ("/%7Bx%7D", "braces"),
        ("http://a/users/7?x", "user 7"),
        ("http://a", "root"),
    ] {
        assert_eq!(answer(&app, "GET", target), ok(expected), "{target}");
    }
    for target in [
        "/user",
        "/users/",
        "/users/1/posts",
        "/files/",
        "/files",
        "/img/logo.gif",
    ] {
        assert_eq!(ask(&app, "GET", target).status_code(), 404, "{target}");
    }
    for target in [
        "/..",
        "/users/../../x",
        "/a%2Fb",
        "/a%5cb",
        "/%ff",
        "/files/%2e%2e/%2e%2e/x",
    ] {
        assert_eq!(ask(&app, "GET", target).status_code(), 400, "{target}");
    }
}

#[test]
fn answers_by_method() {
    let app = app(|router| {
        router.get("/a", |req| format!("{} a", req.method_str()));
        router.post("/a", |_| "post a");
        router.any("/any", |req| format!("any {}", req.method_str()));
        router.put("/any", |_| "put any");
        router.route("PROPFIND", "/dav/{x}", |req| {
            format!("dav {}", req.param("x"))
        });
        router.head("/h", |_| Response::text("").header("X-Head", "own"));
        router.get("/h", |_| "h");
        router.options("/o", |_| "my options");
    });
    assert_eq!(answer(&app, "GET", "/a"), ok("GET a"));
    assert_eq!(answer(&app, "HEAD", "/a"), ok("HEAD a"));
    assert_eq!(answer(&app, "POST", "/a"), ok("post a"));
    assert_eq!(answer(&app, "PUT", "/any"), ok("put any"));
    for method in ["GET", "HEAD", "OPTIONS", "DELETE", "TRACE", "BREW"] {
        assert_eq!(answer(&app, method, "/any"), ok(&format!("any {method}")));
    }
    assert_eq!(answer(&app, "PROPFIND", "/dav/1"), ok("dav 1"));
    assert_eq!(ask(&app, "HEAD", "/h").get("x-head"), Some("own"));
    assert_eq!(answer(&app, "OPTIONS", "/o"), ok("my options"));
}

#[test]
fn refuses_with_allow_and_answers_options() {
    let app = app(|router| {
        router.get("/a", |_| "a");
        router.delete("/a", |_| ());
        router.post("/p/{x}", |_| ());
        router.route("PURGE", "/p/{x}", |_| ());
    });
    let allow = |method, target| {
        let response = ask(&app, method, target);
        (
            response.status_code(),
            response.get("allow").map(String::from),
        )
    };
    let some = |status, methods: &str| (status, Some(methods.to_owned()));
    assert_eq!(allow("POST", "/a"), some(405, "DELETE, GET, HEAD, OPTIONS"));
    assert_eq!(allow("BREW", "/a"), some(405, "DELETE, GET, HEAD, OPTIONS"));
    assert_eq!(
        allow("OPTIONS", "/a"),
        some(204, "DELETE, GET, HEAD, OPTIONS")
    );
    assert_eq!(allow("GET", "/p/1"), some(405, "OPTIONS, POST, PURGE"));
    assert_eq!(allow("HEAD", "/p/1"), some(405, "OPTIONS, POST, PURGE"));
    assert_eq!(
        allow("OPTIONS", "*"),
        some(204, "DELETE, GET, HEAD, OPTIONS, POST, PURGE")
    );
    assert_eq!(allow("OPTIONS", "/none"), (404, None));
    assert_eq!(allow("BREW", "/none"), (501, None));
    assert_eq!(ask(&app, "OPTIONS", "/a").body_bytes(), Some(&b""[..]));
}

#[test]
fn an_exact_path_without_the_method_leaves_it_to_a_pattern() {
    let app = app(|router| {
        router.post("/users/me", |_| "me");
        router.get("/users/{id}", |req| format!("user {}", req.param("id")));
    });
    assert_eq!(answer(&app, "GET", "/users/me"), ok("user me"));
    assert_eq!(answer(&app, "POST", "/users/me"), ok("me"));
    assert_eq!(ask(&app, "PUT", "/users/me").status_code(), 405);
    assert_eq!(ask(&app, "PUT", "/users/you").status_code(), 405);
}

#[test]
fn one_pattern_may_name_its_parameter_differently_by_method() {
    let app = app(|router| {
        router.get("/x/{a}", |req| format!("get {}", req.param("a")));
        router.post("/x/{b}", |req| format!("post {}", req.param("b")));
    });
    assert_eq!(answer(&app, "GET", "/x/1"), ok("get 1"));
    assert_eq!(answer(&app, "POST", "/x/1"), ok("post 1"));
}

#[test]
fn gives_parameters_as_sent_too() {
    let app = app(|router| {
        router.get("/v/{a}/{b}", |req| {
            format!("{}|{}", req.param_raw("a"), req.param_raw("b"))
        });
    });
    assert_eq!(answer(&app, "GET", "/v/x/y"), ok("x|y"));
    assert_eq!(
        answer(&app, "GET", "/v//x%20y/./%C3%A9"),
        ok("x%20y|%C3%A9")
    );
}

#[test]
fn an_undeclared_parameter_names_route_and_parameter() {
    let app = app(|router| {
        router.get("/x/{a}", |req| req.param("b").to_owned());
    });
    let mut req = get("/x/1", "");
    let id = app.find(&mut req);
    let run = std::panic::AssertUnwindSafe(|| app.run(id, &mut req));
    let cause = std::panic::catch_unwind(run).unwrap_err();
    let message = cause.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("/x/{a}") && message.contains("\"b\""),
        "{message}"
    );
}

#[test]
fn nests_routers_with_their_fallbacks() {
    let app = app(|router| {
        let mut inner = Router::new();
        inner.get("/", |_| "inner root");
        inner.get("/x/{y}", |req| {
            format!("{} {}", req.param("team"), req.param("y"))
        });
        inner.fallback(|req| (404, format!("no {}", req.path())));
        let mut deep = Router::new();
        deep.get("/leaf", |_| "leaf");
        inner.nest("/deep/", deep);
        router.nest("/team/{team}", inner);
        router.fallback(|_| (410, "gone"));
    });
    assert_eq!(answer(&app, "GET", "/team/red"), ok("inner root"));
    assert_eq!(answer(&app, "GET", "/team/red/x/9"), ok("red 9"));
    assert_eq!(answer(&app, "GET", "/team/red/deep/leaf"), ok("leaf"));
    assert_eq!(
        answer(&app, "GET", "/team/red/none"),
        (404, "no /team/red/none".to_owned())
    );
    assert_eq!(answer(&app, "GET", "/other"), (410, "gone".to_owned()));
    assert_eq!(ask(&app, "POST", "/team/red").status_code(), 405);
}

#[test]
fn middleware_wraps_from_outside_in() {
    let trace = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let trace = trace.clone();
        move |req: &mut Request, next: crate::Next<'_>| {
            trace.lock().unwrap().push(name);
            next.run(req).append_header("X-By", name)
        }
    };
    let app = app(|router| {
        let mut inner = Router::new();
        inner.middleware(note("inner"));
        inner.get("/x", |_| "x");
        router.get("/early", |_| "early");
        router.middleware(note("first"));
        router.nest("/in", inner);
        router.middleware(note("second"));
    });
    let run = |method, target| {
        trace.lock().unwrap().clear();
        let response = ask(&app, method, target);
        let marks = response
            .headers()
            .filter(|(name, _)| *name == "X-By")
            .count();
        let names = trace.lock().unwrap().join(" ");
        assert_eq!(
            marks,
            names.split(' ').filter(|name| !name.is_empty()).count()
        );
        (response.status_code(), names)
    };
    assert_eq!(run("GET", "/in/x"), (200, "first second inner".to_owned()));
    assert_eq!(run("POST", "/in/x"), (405, "first second inner".to_owned()));
    assert_eq!(
        run("OPTIONS", "/in/x"),
        (204, "first second inner".to_owned())
    );
    assert_eq!(run("GET", "/early"), (200, "first second".to_owned()));
    assert_eq!(run("GET", "/none"), (404, "first second".to_owned()));
    assert_eq!(run("GET", "/.."), (400, "first second".to_owned()));
    assert_eq!(run("OPTIONS", "*"), (204, "first second".to_owned()));
}

#[test]
fn middleware_may_answer_itself_and_leave_values() {
    let app = app(|router| {
        router.middleware(|req, next| {
            if req.query("token") != Some("ok") {
                return Err(HttpError::new(401));
            }
            req.extensions_mut().insert(String::from("ann"));
            Ok(next.run(req))
        });
        router.get("/", |req| req.extensions().get::<String>().cloned());
    });
    assert_eq!(ask(&app, "GET", "/").status_code(), 401);
    assert_eq!(answer(&app, "GET", "/?token=ok"), ok("ann"));
}

#[test]
fn a_route_keeps_its_options() {
    let app = app(|router| {
        router
            .post("/up", |_| ())
            .stream_body()
            .body_limit(9)
            .timeout(Duration::from_secs(3))
            .blocking();
        router.get("/plain", |_| ());
    });
    let options = |method: &str, target: &str| {
        let mut req = request(&format!("{method} {target} HTTP/1.1\nHost: a"), b"");
        let id = app.find(&mut req);
        assert!(id.index() < app.len());
        app.route(id).unwrap().options
    };
    let up = options("POST", "/up");
    assert!(up.stream_body && up.blocking && !up.builtin);
    assert_eq!(
        (up.body_limit, up.timeout),
        (Some(9), Some(Duration::from_secs(3)))
    );
    assert_eq!(
        options("GET", "/plain"),
        crate::router::RouteOptions::default()
    );
    assert!(options("GET", "/none").builtin && options("GET", "/up").builtin);
}

#[test]
fn a_recycled_request_forgets_its_parameters() {
    let app = app(|router| {
        router.get("/a/{x}", |req| req.param("x").to_owned());
    });
    let mut req = get("/a/1", "");
    let id = app.find(&mut req);
    assert_eq!(app.run(id, &mut req).body_bytes(), Some(&b"1"[..]));
    req.clear();
    req.head = get("/a/22", "").head;
    let id = app.find(&mut req);
    assert_eq!(app.run(id, &mut req).body_bytes(), Some(&b"22"[..]));
}

#[test]
fn mistakes_are_named_when_the_routes_are_built() {
    let wrong = |fill: &dyn Fn(&mut Router)| {
        let mut router = Router::new();
        fill(&mut router);
        let error = router.build().expect_err("a mistake");
        assert_eq!(error.exit_code(), 78);
        error.to_string()
    };
    let pattern = |pattern: &'static str| {
        wrong(&|router| {
            router.get(pattern, |_| ());
        })
    };
    for (text, complaint) in [
        ("x", "start with a slash"),
        ("", "start with a slash"),
        ("/a//b", "empty segment"),
        ("/a/../b", "segment of dots"),
        ("/users/:id", "{name}"),
        ("/files/*", "{*rest}"),
        ("/{id", "not closed"),
        ("/id}", "character '}'"),
        ("/{}", "proper name"),
        ("/{a b}", "proper name"),
        ("/{*}", "proper name"),
        ("/{*a}/b", "not at its end"),
        ("/x{*a}", "not at its end"),
        ("/{a}{b}", "two parameters in one segment"),
        ("/{a}/{a}", "two parameters named \"a\""),
        ("/a?b", "character '?'"),
        ("/a%20b", "character '%'"),
        ("/a\nb", "character '\\n'"),
    ] {
        let message = pattern(text);
        assert!(
            message.contains(complaint) && message.contains('('),
            "{text}: {message}"
        );
    }
    let twice = wrong(&|router| {
        router.get("/a/{x}", |_| ());
        router.get("/a/{y}", |_| ());
    });
    assert!(
        twice.contains("/a/{x}") && twice.contains("/a/{y}"),
        "{twice}"
    );
    let overlap = wrong(&|router| {
        router.get("/a/{x}", |_| ());
        router.get("/a/{*y}", |_| ());
    });
    assert!(
        overlap.contains("/a/{x}") && overlap.contains("/a/{*y}"),
        "{overlap}"
    );
    let method = wrong(&|router| {
        router.route("GE T", "/", |_| ());
    });
    assert!(method.contains("GE T"), "{method}");
    let prefix = wrong(&|router| router.nest("api", Router::new()));
    assert!(prefix.contains("\"api\""), "{prefix}");
}
