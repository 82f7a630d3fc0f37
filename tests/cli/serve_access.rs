//! Who may ask the server, and for what: places, sites, names, tokens.

use std::fs;
use std::process::Command;

use crate::outputs::{run, text};
use crate::serve::{SAMPLE, TOKEN, logs};
use crate::serve_client::Server;

#[cfg(unix)]
#[test]
fn nothing_outside_the_places_can_be_read() {
    let (dir, outside) = (logs(), tempfile::tempdir().unwrap());
    let secret = outside.path().join("secret.xplane.pb");
    fs::copy(SAMPLE, &secret).unwrap();
    let run = dir.path().join("plugins/profile/2026_01_09_10_00_00");
    fs::create_dir_all(&run).unwrap();
    std::os::unix::fs::symlink(&secret, run.join("host.xplane.pb")).unwrap();
    std::os::unix::fs::symlink(
        outside.path(),
        dir.path().join("plugins/profile/2026_01_10_10_00_00"),
    )
    .unwrap();
    let server = Server::of(dir.path(), &[]);
    let ids = server.ids();
    assert_eq!(ids.len(), 4, "a directory that is a link is no run");
    for path in [
        "files/0",
        "files",
        "reports",
        "model",
        "tables/slices",
        "html",
    ] {
        let (status, _) = server
            .get(&format!("/api/v1/runs/{}/{path}", ids[0]), &[])
            .refused();
        assert!([403, 404].contains(&status), "{path}: {status}");
    }
    let id = &ids[2];
    for path in [
        "/../../etc/passwd".to_owned(),
        "/%2e%2e/%2e%2e/etc/passwd".to_owned(),
        "/..%2f..%2fetc%2fpasswd".to_owned(),
        "/%252e%252e%252fetc%252fpasswd".to_owned(),
        "/..%5c..%5cetc".to_owned(),
        "//etc/passwd".to_owned(),
        "/.%00/index.html".to_owned(),
        "/api/v1/runs/..%2f..%2fetc%2fpasswd".to_owned(),
        "/api/v1/runs/%2e%2e/files/0".to_owned(),
        "/api/v1/runs/%252e%252e/files/0".to_owned(),
        format!("/api/v1/runs/{id}/files/..%2f0"),
        format!("/api/v1/runs/{id}/files/%2e%2e%2f%2e%2e%2fsecret.xplane.pb"),
        format!("/api/v1/runs/{id}/files/../../../../secret.xplane.pb"),
        format!("/api/v1/runs/{id}/tables/..%2f..%2fsecret"),
        format!("/api/v1/runs/{id}%2f..%2f{id}"),
    ] {
        let answer = server.get(&path, &[]);
        assert!(
            [400, 404].contains(&answer.refused().0),
            "{path}: {}",
            answer.head
        );
    }
}

#[test]
fn other_sites_and_other_names_are_refused() {
    let dir = logs();
    let server = Server::of(dir.path(), &[]);
    let port = server.port;
    for (header, expected) in [
        ("Host: evil.example".to_owned(), 403),
        (format!("Host: evil.example:{port}"), 403),
        (format!("Host: 127.0.0.1:{port}"), 200),
        ("Host: [::1]:9999".to_owned(), 200),
        ("Origin: http://evil.example".to_owned(), 403),
        ("Origin: null".to_owned(), 403),
        (format!("Origin: http://localhost:{port}"), 200),
        ("Sec-Fetch-Site: cross-site".to_owned(), 403),
        ("Sec-Fetch-Site: same-origin".to_owned(), 200),
    ] {
        for path in ["/api/v1/runs", "/"] {
            assert_eq!(
                server.get(path, &[&header]).status,
                expected,
                "{header} {path}"
            );
        }
    }
    let answer = server.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", b"");
    assert_eq!(answer.refused().0, 400, "without a name");
    let answer = server.send(
        "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"",
    );
    assert_eq!(answer.refused().0, 403, "a name in the address");
    assert_eq!(
        server
            .get(&format!("/?{}", "x".repeat(20_000)), &[])
            .refused()
            .0,
        414
    );
    assert_eq!(
        server.get("/", &["X: y"; 100]).status,
        431,
        "too many headers"
    );
    for header in [
        "content-security-policy",
        "x-content-type-options",
        "referrer-policy",
        "cross-origin-opener-policy",
    ] {
        for path in ["/", "/api/v1/runs", "/nothing"] {
            assert!(
                server.get(path, &[]).header(header).is_some(),
                "{header} {path}"
            );
        }
    }
    assert!(
        server
            .get("/", &["Host: evil.example"])
            .header("access-control-allow-origin")
            .is_none()
    );
    let named = Server::of(dir.path(), &["--allow-host", "proxy.example"]);
    assert_eq!(named.get("/", &["Host: proxy.example"]).status, 200);
}

#[test]
fn a_token_is_demanded_where_others_can_ask() {
    let dir = logs();
    for more in [&["--token", TOKEN][..], &["--host", "0.0.0.0"]] {
        let server = Server::of(dir.path(), more);
        let (_, token) = server.address.split_once("?token=").expect(&server.address);
        assert!(
            token.len() >= 16 && more.contains(&token) == more.contains(&"--token"),
            "{}",
            server.address
        );
        for path in ["/", "/api/v1/runs", "/api/v1/health", "/mcp", "/nothing"] {
            let answer = server.get(path, &[]);
            assert_eq!(
                (answer.refused().0, answer.header("www-authenticate")),
                (401, Some("bearer")),
                "{path}"
            );
        }
        assert_eq!(server.get("/?token=0123456789abcdef", &[]).status, 401);
        assert_eq!(
            server
                .get("/api/v1/runs", &[&format!("Authorization: Bearer {token}")])
                .status,
            200
        );
        let entered = server.get(&format!("/?token={token}&run=1"), &[]);
        assert_eq!(
            (entered.status, entered.header("location")),
            (303, Some("/?run=1"))
        );
        let cookie = entered.header("set-cookie").unwrap();
        assert!(
            cookie.contains("httponly") && cookie.contains("samesite=strict"),
            "{cookie}"
        );
        let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
        assert_eq!(server.get("/api/v1/runs", &[&cookie]).status, 200);
    }
    // In a browser it is a page.
    let server = Server::of(dir.path(), &["--token", TOKEN]);
    let page = server.get("/", &["Accept: text/html,*/*"]);
    assert_eq!(
        (page.status, page.header("content-type")),
        (401, Some("text/html; charset=utf-8"))
    );
    assert!(
        text(&page.body).contains("open the address that systole serve printed"),
        "{}",
        text(&page.body)
    );
    // On the command line, others of the machine could see it.
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command.env("SYSTOLE_TOKEN", TOKEN);
    let server = Server::start(command, dir.path(), &["--keep", "1"]);
    assert_eq!(server.get("/api/v1/runs", &[]).status, 401);
    assert_eq!(
        server
            .get("/api/v1/runs", &[&format!("Authorization: Bearer {TOKEN}")])
            .status,
        200
    );
    let short = run(&["serve", dir.path().to_str().unwrap(), "--token", "short"]);
    assert_eq!(short.status.code(), Some(2));
}
