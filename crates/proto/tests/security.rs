//! What is refused and why, by the names of the security list, and what must not be.

mod support;

use stepwell_proto::Limits;
use stepwell_proto::http1::ErrorKind::{self, *};
use support::refusal;

/// A GET with these lines behind its Host field.
fn get(lines: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: h\r\n{lines}\r\n")
}

/// A POST with these lines and this body.
fn post(lines: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: h\r\n{lines}\r\n{body}")
}

fn line(line: &str) -> String {
    format!("{line}\r\nHost: h\r\n\r\n")
}

fn chunked(body: &str) -> String {
    post("Transfer-Encoding: chunked\r\n", body)
}

#[track_caller]
fn check(bytes: &str, want: impl Into<Option<ErrorKind>>) {
    // A char is a byte here, so that the tables can hold any byte.
    let bytes: Vec<u8> = bytes.chars().map(|c| c as u8).collect();
    let got = refusal(&Limits::default(), &bytes);
    assert_eq!(got, want.into(), "{}", String::from_utf8_lossy(&bytes));
}

#[track_caller]
fn refused(kind: ErrorKind, requests: &[String]) {
    for request in requests {
        check(request, kind);
    }
}

#[track_caller]
fn accepted(requests: &[String]) {
    for request in requests {
        check(request, None);
    }
}

#[test]
fn length_together_with_encoding() {
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    refused(
        LengthAndEncoding,
        &[
            post(both, "0\r\n\r\n"),
            post(
                "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
                "0\r\n\r\n",
            ),
            post(
                "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n",
                "hello",
            ),
            post("Transfer-Encoding: \r\nContent-Length: 5\r\n", "hello"),
            get(both),
        ],
    );
}

#[test]
fn odd_content_length() {
    let odd = [
        "abc",
        "+5",
        "-1",
        "-0",
        "0x5",
        "0o5",
        "005",
        "00",
        "5 ",
        " 5",
        "5\t",
        "\t5",
        "1 0",
        "1_0",
        "5,5",
        "5, 5",
        "5, 10",
        "5;",
        "",
        "5.0",
        "99999999999999999999",
        "18446744073709551616",
    ];
    for value in odd {
        check(
            &post(&format!("Content-Length: {value}\r\n"), "hello"),
            LengthInvalid,
        );
    }
    refused(
        LengthDuplicate,
        &[
            post("Content-Length: 5\r\nContent-Length: 10\r\n", "helloworld"),
            post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
            post("Content-Length: 5\r\ncontent-length: 5\r\n", "hello"),
        ],
    );
    accepted(&[
        post("Content-Length: 5\r\n", "hello"),
        post("Content-Length:5\r\n", "hello"),
        post("CONTENT-LENGTH: 0\r\n", ""),
        post("", ""),
    ]);
    check(
        &post("Content-Length: 18446744073709551615\r\n", "hello"),
        BodyTooLarge,
    );
}

#[test]
fn encodings_other_than_final_chunked() {
    for value in [
        "gzip",
        "identity",
        "xchunked",
        "chunked, gzip",
        "chunked, chunked",
        "chunked,",
        ", chunked",
        "chunked;ext=val",
        "chu nked",
        "",
        ",",
        "\"chunked\"",
    ] {
        check(
            &post(&format!("Transfer-Encoding: {value}\r\n"), "0\r\n\r\n"),
            EncodingInvalid,
        );
    }
    refused(
        EncodingInvalid,
        &[
            post(
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                "0\r\n\r\n",
            ),
            post(
                "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
                "0\r\n\r\n",
            ),
        ],
    );
    check(
        &post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
        EncodingUnsupported,
    );
    refused(
        FieldValue,
        &[
            post("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"),
            post("Transfer-Encoding: chunked\0\r\n", "0\r\n\r\n"),
            post("Transfer-Encoding: \x0cchunked\r\n", "0\r\n\r\n"),
        ],
    );
    check(
        "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        EncodingInHttp10,
    );
    accepted(&[
        post("Transfer-Encoding: Chunked\r\n", "0\r\n\r\n"),
        post("Transfer-Encoding:\tchunked \r\n", "0\r\n\r\n"),
    ]);
}

#[test]
fn request_lines() {
    refused(
        Method,
        &[
            line(" / HTTP/1.1"),
            line("GET\t/ HTTP/1.1"),
            line("G(T / HTTP/1.1"),
            line("   "),
            line("\r\n\r\nGET / HTTP/1.1"),
            line("GÉT / HTTP/1.1"),
        ],
    );
    check(
        &line(&format!("{} / HTTP/1.1", "A".repeat(33))),
        MethodTooLong,
    );
    refused(
        TargetByte,
        &[
            line("GET /path#frag HTTP/1.1"),
            line("GET /path\\file HTTP/1.1"),
            line("GET /caf\u{c3}\u{a9} HTTP/1.1"),
            line("GET /\u{c0}\u{af} HTTP/1.1"),
            line("GET /a\0b HTTP/1.1"),
            line("GET /a\x7fb HTTP/1.1"),
            line("GET /a\tb HTTP/1.1"),
            line("GET HTTP/1.1"),
            line("GET /"),
        ],
    );
    refused(
        Version,
        &[
            line("GET / "),
            line("GET /  HTTP/1.1"),
            line("GET / http/1.1"),
            line("GET / HTTP/1"),
            line("GET / HTTP/01.01"),
            line("GET / HTTP/ 1.1"),
            line("GET / HTTP/1.1 "),
            line("GET / HTTP/1.10"),
            line("GET /pa th HTTP/1.1"),
        ],
    );
    refused(
        VersionUnsupported,
        &[
            line("GET / HTTP/1.2"),
            line("GET / HTTP/9.9"),
            line("GET / HTTP/0.9"),
            "PRI / HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
        ],
    );
    accepted(&[
        line("get / HTTP/1.1"),
        line("M-SEARCH / HTTP/1.1"),
        line("\r\nGET / HTTP/1.1"),
        line("GET /?a=%&b=\"<>[]{}|^` HTTP/1.1"),
        line("GET //x//../y HTTP/1.1"),
    ]);
}

#[test]
fn target_forms() {
    refused(
        TargetForm,
        &[
            line("GET * HTTP/1.1"),
            line("OPTIONS ** HTTP/1.1"),
            line("GET example.com HTTP/1.1"),
            line("GET ftp://example.com/ HTTP/1.1"),
            line("GET http:/example.com/ HTTP/1.1"),
            line("CONNECT / HTTP/1.1"),
            line("CONNECT example.com HTTP/1.1"),
            line("CONNECT example.com: HTTP/1.1"),
            line("CONNECT user@example.com:1 HTTP/1.1"),
            line("CONNECT http://example.com:80 HTTP/1.1"),
            line("CONNECT :80 HTTP/1.1"),
            line("GET  HTTP/1.1"),
        ],
    );
    refused(
        HostInvalid,
        &[
            line("GET http:// HTTP/1.1"),
            line("GET http:///path HTTP/1.1"),
            line("GET http://user@example.com/ HTTP/1.1"),
            line("GET http://a,b/ HTTP/1.1"),
            line("GET http://example.com:65536/ HTTP/1.1"),
        ],
    );
    refused(
        TargetEscape,
        &[
            line("GET /a%00b HTTP/1.1"),
            line("GET /a%0d%0aX-Injected:%20true HTTP/1.1"),
            line("GET /a%7Fb HTTP/1.1"),
            line("GET /a%1f HTTP/1.1"),
            line("GET /a% HTTP/1.1"),
            line("GET /a%4 HTTP/1.1"),
            line("GET /a%4g HTTP/1.1"),
            line("GET /a%/b HTTP/1.1"),
            line("GET http://h/a%zz HTTP/1.1"),
        ],
    );
    accepted(&[
        line("OPTIONS * HTTP/1.1"),
        line("CONNECT example.com:443 HTTP/1.1"),
        line("CONNECT [::1]:443 HTTP/1.1"),
        line("GET HTTP://example.com HTTP/1.1"),
        line("GET https://example.com:8443/x?y HTTP/1.1"),
        line("GET http://example.com?y HTTP/1.1"),
        line("GET /a%2Fb%80?%00% HTTP/1.1"),
    ]);
}

#[test]
fn line_ends() {
    refused(
        BareLf,
        &[
            "GET / HTTP/1.1\nHost: h\r\n\r\n".into(),
            "GET / HTTP/1.1\r\nHost: h\n\r\n".into(),
            "GET / HTTP/1.1\r\nHost\n: h\r\n\r\n".into(),
            "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n".into(),
            "GET / HTTP/1.1\r\nHost: h\r\n\n".into(),
        ],
    );
    refused(
        BareCr,
        &[
            get("X: a\rb\r\n"),
            get("X: a\r\r\n"),
            "GET / HTTP/1.1\r\rHost: h\r\n\r\n".into(),
            "GET / HTTP/1.1\r\nHost: h\r\n\rX".into(),
            "\rGET / HTTP/1.1\r\nHost: h\r\n\r\n".into(),
        ],
    );
    check("GET / HTTP/1.1\rHost: h\r\n\r\n", BareCr);
}

#[test]
fn fields() {
    refused(
        FieldNameSpace,
        &[
            get("X : y\r\n"),
            get("X\t: y\r\n"),
            get("A B: y\r\n"),
            get("Content\tLength: 99\r\n"),
        ],
    );
    refused(
        ObsFold,
        &[
            get("X: y\r\n continued\r\n"),
            get("Transfer-Encoding:\r\n chunked\r\n"),
            get("X: y\r\n\tcontinued\r\n"),
            "GET / HTTP/1.1\r\n \r\nHost: h\r\n\r\n".into(),
        ],
    );
    refused(
        FieldName,
        &[
            get(": empty\r\n"),
            get("Bad[Name: y\r\n"),
            get("X-T\u{c3}\u{ab}st: y\r\n"),
            get("Nu\0l: y\r\n"),
            get("a/b: y\r\n"),
            get("\"q\": y\r\n"),
            get("a@b: y\r\n"),
        ],
    );
    refused(FieldNoColon, &[get("NoColonHere\r\n")]);
    refused(
        FieldNameConfusable,
        &[
            post("Content_Length: 99\r\n", ""),
            post("TRANSFER_ENCODING: chunked\r\n", ""),
        ],
    );
    refused(
        ContentTypeDuplicate,
        &[get("Content-Type: a/b\r\nContent-Type: c/d\r\n")],
    );
    for control in (0u8..32)
        .chain([127])
        .map(char::from)
        .filter(|c| !"\t\r\n".contains(*c))
    {
        check(&get(&format!("X: a{control}b\r\n")), FieldValue);
    }
    accepted(&[
        get("X:\r\n"),
        get("X: \t \r\n"),
        get("X: a\tb\u{80}\u{ff}\r\n"),
        get("!#$%&'*+-.^_`|~09aZ: y\r\n"),
        get("Accept: a\r\nAccept: b\r\n"),
        get("X_Y: z\r\n"),
    ]);
}

#[test]
fn exactly_one_valid_host() {
    let host = |value: &str| format!("GET / HTTP/1.1\r\nHost: {value}\r\n\r\n");
    check("GET / HTTP/1.1\r\n\r\n", HostMissing);
    check("GET http://h/ HTTP/1.1\r\n\r\n", HostMissing);
    refused(HostDuplicate, &[get("Host: h\r\n"), get("host: other\r\n")]);
    refused(
        HostInvalid,
        &[
            host(""),
            host("user@h"),
            host("h/path"),
            host("h, other"),
            host("h,other"),
            host("h h"),
            host("h:80:80"),
            host("h:8a"),
            host("h:65536"),
            host("h:000080"),
            host(":80"),
            host("[::1"),
            host("[::g]"),
            host("::1"),
            host("h?"),
            host("h#"),
            host("[::1]x"),
            host("h\u{e9}"),
        ],
    );
    refused(HostInvalid, &["GET / HTTP/1.0\r\nHost: a b\r\n\r\n".into()]);
    refused(
        HostDuplicate,
        &["GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n".into()],
    );
    accepted(&[
        host("example.com"),
        host("example.com:8080"),
        host("127.0.0.1:1"),
        host("[::1]:65535"),
        host("[::1]"),
        host("a_b-c.d~"),
        host("h:"),
        "GET / HTTP/1.0\r\n\r\n".into(),
    ]);
}

#[test]
fn bodies_where_none_belongs() {
    for method in ["TRACE /", "CONNECT h:1"] {
        let head = format!("{method} HTTP/1.1\r\nHost: h\r\n");
        check(
            &format!("{head}Content-Length: 5\r\n\r\nhello"),
            BodyNotAllowed,
        );
        check(
            &format!("{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            BodyNotAllowed,
        );
        check(&format!("{head}\r\n"), None);
    }
    for method in ["GET", "HEAD", "OPTIONS", "DELETE", "FOO"] {
        check(
            &format!("{method} / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"),
            None,
        );
    }
}

#[test]
fn expectations() {
    refused(
        Expectation,
        &[
            get("Expect: 200-ok\r\n"),
            get("Expect: \r\n"),
            post("Expect: 100-continue, x\r\nContent-Length: 1\r\n", "x"),
            post(
                "Expect: 100-continue\r\nExpect: x\r\nContent-Length: 1\r\n",
                "x",
            ),
        ],
    );
    accepted(&[
        get("Expect: 100-continue\r\n"),
        post("Expect: 100-Continue\r\nContent-Length: 1\r\n", "x"),
        "POST / HTTP/1.0\r\nExpect: 200-ok\r\n\r\n".into(),
    ]);
}

#[test]
fn chunk_lines() {
    refused(
        ChunkSize,
        &[
            chunked("\r\n"),
            chunked("g\r\n"),
            chunked("0x5\r\nhello\r\n0\r\n\r\n"),
            chunked("+5\r\nhello"),
            chunked("-1\r\nhello"),
            chunked(" 5\r\nhello"),
            chunked("5 \r\nhello"),
            chunked("1_0\r\n"),
            chunked(";a\r\n"),
            chunked("\n"),
            chunked("00000000000000005\r\nhello"),
            chunked("FFFFFFFFFFFFFFFF0\r\nhello"),
        ],
    );
    check(&chunked("FFFFFFFFFFFFFFFF\r\nhello"), BodyTooLarge);
    check(&chunked("fffffffffffffff\r\nhello"), BodyTooLarge);
    refused(
        BareLf,
        &[
            chunked("5\nhello\r\n0\r\n\r\n"),
            chunked("5;\nhello"),
            chunked("5;a\nhello"),
            chunked("5\r\nhello\r\n0\r\n\n"),
            chunked("0\n\r\n"),
        ],
    );
    refused(
        BareCr,
        &[
            chunked("5\rhello\r\n0\r\n\r\n"),
            chunked("5;a\rX\r\nhello"),
            chunked("5\r\nhello\r\n0\r\n\rX"),
        ],
    );
    refused(
        ChunkEnd,
        &[
            chunked("5\r\nhello0\r\n\r\n"),
            chunked("5\r\nhello!!\r\n0\r\n\r\n"),
            chunked("5\r\nhello\n0\r\n\r\n"),
            chunked("5\r\nhello\r0\r\n\r\n"),
        ],
    );
    accepted(&[
        chunked("5\r\nhello\r\n0\r\n\r\n"),
        chunked("A\r\nhelloworld\r\n0\r\n\r\n"),
        chunked("0005\r\nhello\r\n000\r\n\r\n"),
        chunked("0000000000000005\r\nhello\r\n0\r\n\r\n"),
    ]);
}

#[test]
fn chunk_extensions() {
    let with = |extension: &str| chunked(&format!("5{extension}\r\nhello\r\n0\r\n\r\n"));
    refused(
        ChunkExtension,
        &[
            with(";"),
            with(";;a"),
            with(";a="),
            with(";bad[=x"),
            with(";a=b[c"),
            with(";\0a"),
            with("; a"),
            with(";a =b"),
            with(";a= b"),
            with(";a=\"b"),
            with(";a=\"b\"c"),
            with(";a=\"\x01\""),
            with(";a=\"\\\x01\""),
            with(";a=\"\u{e9}\""),
            with(";a;"),
            with(";a=b=c"),
            with(";a\tb"),
        ],
    );
    accepted(&[
        with(";a"),
        with(";a=b"),
        with(";a=b;c;d=\"e f;\\\"\t\\\\\""),
        with(";a=\"\""),
        with(";chunk-signature=0123456789abcdef"),
    ]);
    check(
        &with(&format!(";a={}", "b".repeat(65_536))),
        ChunkExtensionTooLong,
    );
}

#[test]
fn trailers() {
    let with = |lines: &str| chunked(&format!("5\r\nhello\r\n0\r\n{lines}\r\n"));
    refused(
        TrailerForbidden,
        &[
            with("Content-Length: 50\r\n"),
            with("Transfer-Encoding: chunked\r\n"),
            with("Host: evil\r\n"),
            with("authorization: Bearer evil\r\n"),
            with("X: y\r\nContent-Type: text/evil\r\n"),
            with("Cookie: a=b\r\n"),
        ],
    );
    refused(FieldNoColon, &[with("oops\r\n")]);
    refused(ObsFold, &[with("X: y\r\n z\r\n")]);
    refused(FieldValue, &[with("X: \0\r\n")]);
    accepted(&[
        with("X-Checksum: abc\r\n"),
        with("A: 1\r\nA: 2\r\nServer-Timing: x\r\n"),
    ]);
}
