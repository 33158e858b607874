//! The tree is tidy; and each rule finds what it is there for.

use super::*;

/// The rules of single files, applied to one.
fn one(path: &str, text: &str) -> Vec<String> {
    let file = File::new(path, text);
    let findings = words::check(&file).into_iter().chain(rooms::check(&file));
    findings.map(|f| f.to_string()).collect()
}

/// That exactly one finding is there, at the line and with these words.
#[track_caller]
fn finds(findings: &[String], place: &str, what: &str) {
    let [finding] = findings else {
        panic!("not one finding: {findings:?}")
    };
    assert!(
        finding.starts_with(place) && finding.contains(what),
        "{finding}"
    );
}

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let findings = check(root).unwrap();
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = r####"
let a = "unsafe // \" /* "; // unsafe in a comment
let b = r#"unsafe " "#; let c = '"'; let d: &'static str = b"x\\";
/* nested /* unsafe */ still */ let e = '\''; let f = 'l';
"####;
    let masked = rust::Masked::new(text);
    let code: Vec<&str> = masked.code().map(|(_, line)| line).collect();
    assert!(code.iter().all(|line| !line.contains("unsafe")), "{code:?}");
    assert!(code[2].contains("&'static str ="), "{code:?}");
    assert!(
        code[3].contains("let e =") && code[3].contains("let f ="),
        "{code:?}"
    );
    assert_eq!(masked.comment_line(2).trim(), "// unsafe in a comment");
    assert_eq!(masked.code_lines(), 3);
}

#[test]
fn functions_and_test_modules_are_measured() {
    let text = "trait T {\n    fn short(&self);\n}\nfn long(a: [u8; 2]) -> u8 {\n    {\n    }\n}\n\
                #[cfg(test)]\n#[allow(dead_code)]\nmod tests {\n    fn inner() {}\n}\n\
                mod other {}\n";
    let masked = rust::Masked::new(text);
    let of = |items: &[rust::Item]| -> Vec<(String, usize)> {
        items.iter().map(|i| (i.name.clone(), i.length())).collect()
    };
    assert_eq!(
        of(masked.functions()),
        [("long".into(), 4), ("inner".into(), 1)]
    );
    assert_eq!(of(masked.test_modules()), [("tests".into(), 3)]);
}

#[test]
fn unsafe_stays_in_its_rooms() {
    finds(
        &one("crates/proto/src/a.rs", "fn f() {\n    unsafe { g() }\n}\n"),
        "crates/proto/src/a.rs:2: ",
        "rooms",
    );
    finds(
        &one("crates/cli/src/main.rs", "fn main() {}\n"),
        "crates/cli/src/main.rs:1: ",
        "forbid",
    );
    assert!(
        one(
            "crates/cli/src/main.rs",
            "#![forbid(unsafe_code)]\nfn main() {}\n"
        )
        .is_empty()
    );
}

#[test]
fn unsafe_gives_its_reason() {
    let slot = "crates/reactor/src/slot.rs";
    for good in [
        "// SAFETY: the pointer\n// is ours.\nlet x = unsafe { *p };\n",
        "// SAFETY: as above.\nlet x =\n    g(unsafe { *p });\n",
        "// SAFETY: only moved.\nunsafe impl Send for A {}\nunsafe impl Sync for A {}\n",
        "/// # Safety\n/// `p` is valid.\n#[inline]\npub(crate) unsafe fn f() {}\n",
        "type F = unsafe extern \"C\" fn(i32);\nlet g: unsafe fn() = h;\n",
        "let x = unsafe { *p }; // SAFETY: ours.\n",
    ] {
        assert_eq!(one(slot, good), Vec::<String>::new(), "{good}");
    }
    for bad in [
        "let x = unsafe { *p };\n",
        "// SAFETY: for the other.\nlet y = unsafe { *q };\nlet x = unsafe { *p };\n",
        "// SAFETY: too far away.\n\nlet x = unsafe { *p };\n",
        "/// Nothing.\nunsafe fn f() {}\n",
        "// SAFETY: of a block.\nunsafe { g() }\nunsafe impl Send for A {}\n",
    ] {
        finds(&one(slot, bad), slot, "without a reason");
    }
}

#[test]
fn words_that_do_not_belong_are_found() {
    let path = "crates/proto/src/a.rs";
    finds(
        &one(path, "fn f() {\n    todo!()\n}\n"),
        "crates/proto/src/a.rs:2: ",
        "todo!",
    );
    finds(&one(path, "#[ignore = \"later\"]\n"), path, "#[ignore");
    let partner = "#[ignore = \"a server that another test starts\"]\n";
    assert!(one(path, partner).is_empty());
    finds(&one(path, "// FIXME: later\n"), path, "FIXME");
    finds(&one(path, "let now = Instant::now();\n"), path, "Instant");
    finds(&one(path, "use std::net::TcpStream;\n"), path, "std::net");
    finds(&one(path, "a; \n"), path, "blanks");
    finds(&one(path, "\ta;\n"), path, "tab");
    finds(&one(path, "a;"), path, "no line end");
    finds(
        &one(path, &format!("// {}\n", "é".repeat(98))),
        path,
        "100 columns",
    );
    finds(
        &one("README.md", &format!("see /{}/me/x\n", "home")),
        "README.md:1: ",
        "relative",
    );
    assert!(one(path, &format!("// {}\n", "é".repeat(97))).is_empty());
    let message = format!("    \"{}\",\n", "m".repeat(100));
    finds(&one(path, &message), path, "100 columns");
    assert!(one("crates/proto/tests/a.rs", &message).is_empty());
    assert!(
        one(
            "crates/server/src/a.rs",
            "let now = Instant::now(); let todos = 1;\n"
        )
        .is_empty()
    );
}

#[test]
fn tests_do_not_sleep() {
    let sleep = "fn f() {\n    std::thread::sleep(D);\n}\n";
    let sleeps = |path: &str, text: &str, allow: &str| -> Vec<String> {
        let files = [File::new(path, text), File::new(allow::PATH, allow)];
        let findings = words::sleeps(&files, &Allowed::read(&files));
        findings.iter().map(Finding::to_string).collect()
    };
    finds(
        &sleeps("crates/a/tests/x.rs", sleep, ""),
        "crates/a/tests/x.rs:2: ",
        "wait_until",
    );
    let inline = format!("#[cfg(test)]\nmod tests {{\n{sleep}}}\n");
    finds(
        &sleeps("crates/a/src/x.rs", &inline, ""),
        "crates/a/src/x.rs:4: ",
        "wait_until",
    );
    assert!(sleeps("crates/a/src/x.rs", sleep, "").is_empty());
    let allowed = "sleep crates/a/tests/x.rs its handlers sleep\n";
    assert!(sleeps("crates/a/tests/x.rs", sleep, allowed).is_empty());
    finds(
        &sleeps("crates/a/tests/x.rs", "", allowed),
        "xtask/tidy.allow:1: ",
        "remove the line",
    );
}

#[test]
fn sizes_are_a_ratchet() {
    let function = |lines: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
    let compared = |lines: usize, allow: &str| -> Vec<String> {
        let files = [
            File::new("a.rs", function(lines)),
            File::new(allow::PATH, allow),
        ];
        let findings = Allowed::read(&files).compare(&sizes::measure(&files));
        findings.iter().map(Finding::to_string).collect()
    };
    assert!(compared(70, "").is_empty());
    finds(&compared(71, ""), "a.rs:1: ", "more than 70");
    assert!(compared(80, "function a.rs::f 80\n").is_empty());
    finds(
        &compared(81, "function a.rs::f 80\n"),
        "a.rs:1: ",
        "more than 80",
    );
    finds(
        &compared(79, "function a.rs::f 80\n"),
        "xtask/tidy.allow:1: ",
        "--bless",
    );
    finds(
        &compared(60, "function a.rs::f 80\n"),
        "xtask/tidy.allow:1: ",
        "--bless",
    );
    finds(
        &compared(9, "function a.rs::f\n"),
        "xtask/tidy.allow:1: ",
        "neither",
    );

    let files = [
        File::new("a.rs", function(79)),
        File::new(allow::PATH, "# c\nfunction a.rs::f 80\nfile b.rs 900\n"),
    ];
    let lowered = Allowed::read(&files).lowered(&sizes::measure(&files));
    assert_eq!(lowered, "# c\nfunction a.rs::f 79\n");
}

#[test]
fn long_files_and_long_inline_tests_are_found() {
    let files = [
        File::new("a.rs", "// c\n\n".repeat(900) + &"g();\n".repeat(801)),
        File::new(
            "b.rs",
            format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// c\n".repeat(149)),
        ),
    ];
    let findings = Allowed::default().compare(&sizes::measure(&files));
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    finds(&lines[..1], "a.rs: ", "has 801 lines, more than 800");
    finds(&lines[1..], "b.rs:2: ", "has 151 lines, more than 150");
}

#[test]
fn arrows_point_one_way() {
    let arrows = |path: &str, text: &str| -> Vec<String> {
        arrows::check(&[File::new(path, text)])
            .iter()
            .map(Finding::to_string)
            .collect()
    };
    let proto = "[package]\nname = \"stepwell-proto\"\n[dependencies]\nmemchr.workspace = true\n";
    let path = "crates/proto/Cargo.toml";
    assert!(
        arrows(
            path,
            &format!("{proto}[dev-dependencies]\nstepwell-testkit.workspace = true\nx = \"1\"\n")
        )
        .is_empty()
    );
    finds(
        &arrows(
            path,
            &format!("{proto}stepwell-reactor = {{ path = \"x\" }}\n"),
        ),
        "crates/proto/Cargo.toml:5: ",
        "must not depend on stepwell-reactor",
    );
    finds(
        &arrows(path, &format!("{proto}x = \"1\"\n")),
        path,
        "only on [memchr]",
    );
    finds(
        &arrows(
            path,
            &format!("{proto}[target.'cfg(unix)'.dependencies.libc]\nversion = \"1\"\n"),
        ),
        "crates/proto/Cargo.toml:5: ",
        "libc",
    );
    finds(
        &arrows(
            path,
            &format!("{proto}m = {{ package = \"stepwell\", path = \"x\" }}\n"),
        ),
        path,
        "stepwell,",
    );
    finds(
        &arrows(path, &format!("{proto}stepwell-testkit.workspace = true\n")),
        path,
        "stepwell-testkit",
    );
    finds(
        &arrows("crates/new/Cargo.toml", "[package]\nname = \"new\"\n"),
        "crates/new/Cargo.toml:1: ",
        "has no rule",
    );
}

#[test]
fn papers_name_what_exists() {
    let papers = |architecture: &str, changelog: &str| -> Vec<String> {
        let files = [
            File::new("ARCHITECTURE.md", architecture),
            File::new("CHANGELOG.md", changelog),
            File::new("README.md", ""),
            File::new("crates/a/src/lib.rs", ""),
        ];
        papers::check(&files)
            .iter()
            .map(Finding::to_string)
            .collect()
    };
    let log = "## [Unreleased]\n";
    let good =
        "`crates/a/` `crates/a/src/lib.rs` `text/html` `/hello/{name}` `0.1`\n```\nx.rs\n```\n";
    assert_eq!(papers(good, log), Vec::<String>::new());
    finds(
        &papers("\n`crates/b/`\n", log),
        "ARCHITECTURE.md:2: ",
        "does not exist",
    );
    finds(
        &papers("`fuzz/`\n", log),
        "ARCHITECTURE.md:1: ",
        "does not exist",
    );
    finds(
        &papers("`lib.rs`\n", log),
        "ARCHITECTURE.md:1: ",
        "seen from the root",
    );
    finds(
        &papers("`crates/a/src/lib.rs:12`\n", log),
        "ARCHITECTURE.md:1: ",
        "rots",
    );
    finds(
        &papers(&"x\n".repeat(501), log),
        "ARCHITECTURE.md: ",
        "more than 500",
    );
    finds(&papers("", "## 0.1\n"), "CHANGELOG.md: ", "Unreleased");
    assert_eq!(papers::check(&[]).len(), 3);
}

#[test]
fn files_that_nobody_uses_are_found() {
    let dead = |files: &[(&str, &str)]| -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(p, t)| File::new(*p, *t)).collect();
        dead::check(&files).iter().map(Finding::to_string).collect()
    };
    let lib = ("crates/a/src/lib.rs", "pub mod b;\nmod d;\n// mod e;\n");
    let used = [
        lib,
        ("crates/a/src/b.rs", "mod c;\n"),
        ("crates/a/src/b/c.rs", ""),
        ("crates/a/src/d/mod.rs", "#[cfg(test)]\nmod tests;\n"),
        ("crates/a/src/d/tests.rs", ""),
    ];
    assert_eq!(dead(&used), Vec::<String>::new());
    finds(
        &dead(&[lib, ("crates/a/src/e.rs", "")]),
        "crates/a/src/e.rs: ",
        "not compiled",
    );
    let example = ("crates/server/examples/slow.rs", "");
    finds(
        &dead(&[example]),
        "crates/server/examples/slow.rs: ",
        "no test",
    );
    let test = ("crates/server/tests/x.rs", "Program::example(\"slow\")");
    assert_eq!(dead(&[example, test]), Vec::<String>::new());
}
