//! Requests that are let through, and those that are refused.

use axum::body::Body;

use super::*;

const TOKEN: &str = "abcdefghijklmnop";

fn request(method: &str, address: &str, headers: &[(&str, &str)]) -> Request {
    let mut request = Request::builder().method(method).uri(address);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

/// The status of a request; 200 if it is handed on.
fn status(guard: &Guard, method: &str, address: &str, headers: &[(&str, &str)]) -> u16 {
    match guard.check(&mut request(method, address, headers)) {
        Ok(None) => 200,
        Ok(Some(response)) => response.status().as_u16(),
        Err(error) => error.into_response().status().as_u16(),
    }
}

#[test]
fn names_of_other_machines_are_refused() {
    let guard = Guard::new(None, vec!["Proxy.example".to_owned()], false, 6007);
    for (host, expected) in [
        ("127.0.0.1:6007", 200),
        ("localhost", 200),
        // The port of a tunnel.
        ("LocalHost:8080", 200),
        ("[::1]:6007", 200),
        ("proxy.example", 200),
        ("evil.example", 403),
        ("localhost.evil.example:6007", 403),
        ("127.0.0.1.evil.example", 403),
        ("10.0.0.1:6007", 403),
        ("user@localhost", 400),
        ("", 400),
        ("a b", 400),
    ] {
        assert_eq!(
            status(&guard, "GET", "/", &[("host", host)]),
            expected,
            "{host:?}"
        );
    }
    assert_eq!(status(&guard, "GET", "/", &[]), 400, "no name");
    assert_eq!(
        status(
            &guard,
            "GET",
            "/",
            &[("host", "localhost"), ("host", "localhost")]
        ),
        400,
        "two names"
    );
    assert_eq!(
        status(
            &guard,
            "GET",
            "http://evil.example/",
            &[("host", "localhost")]
        ),
        403,
        "a name in the address"
    );
    let open = Guard::new(None, Vec::new(), true, 6007);
    assert_eq!(status(&open, "GET", "/", &[("host", "10.0.0.1:6007")]), 200);
    assert_eq!(
        status(&open, "GET", "/", &[("host", "evil.example:6007")]),
        403
    );
}

#[test]
fn pages_of_other_sites_are_refused() {
    let guard = Guard::new(None, Vec::new(), false, 6007);
    let of = |address: &str, more: &[(&str, &str)]| {
        status(
            &guard,
            "GET",
            address,
            &[&[("host", "localhost:6007")], more].concat(),
        )
    };
    for (origin, expected) in [
        ("http://localhost:6007", 200),
        ("http://LOCALHOST:6007", 200),
        ("http://localhost:6008", 403),
        ("http://evil.example", 403),
        ("http://evil.example/localhost:6007", 403),
        ("null", 403),
        ("", 403),
    ] {
        assert_eq!(
            of("/api/v1/runs", &[("origin", origin)]),
            expected,
            "{origin:?}"
        );
    }
    assert_eq!(
        of("/api/v1/runs", &[("sec-fetch-site", "same-origin")]),
        200
    );
    assert_eq!(of("/api/v1/runs", &[("sec-fetch-site", "none")]), 200);
    assert_eq!(of("/api/v1/runs", &[("sec-fetch-site", "cross-site")]), 403);
    assert_eq!(of("/api/v1/runs", &[("sec-fetch-site", "same-site")]), 403);
    let link = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(of("/?run=1", &link), 200, "a link in a chat");
    assert_eq!(of("/api/v1/runs", &link), 403);
    let frame = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "iframe"),
    ];
    assert_eq!(of("/", &frame), 403);
    let own = status(
        &guard,
        "GET",
        "/",
        &[("host", "localhost"), ("origin", "http://localhost:80")],
    );
    assert_eq!(own, 200, "the port of the scheme");
}

#[test]
fn the_token_is_demanded_and_becomes_a_cookie() {
    let guard = Guard::new(Some(TOKEN), Vec::new(), true, 6007);
    let host = ("host", "10.0.0.1:6007");
    let bearer = format!("Bearer {TOKEN}");
    let runs = "/api/v1/runs";
    assert_eq!(status(&guard, "GET", runs, &[host]), 401);
    assert_eq!(
        status(&guard, "GET", runs, &[host, ("authorization", &bearer)]),
        200
    );
    for wrong in [
        "Bearer",
        "Bearer ",
        "Bearer abcdefghijklmnoq",
        "Basic abcdefghijklmnop",
        TOKEN,
    ] {
        assert_eq!(
            status(&guard, "GET", runs, &[host, ("authorization", wrong)]),
            401,
            "{wrong}"
        );
    }
    assert_eq!(
        status(&guard, "GET", &format!("{runs}?token={TOKEN}"), &[host]),
        200,
        "programs follow no redirections"
    );
    assert_eq!(
        status(&guard, "GET", &format!("{runs}?token=x&token="), &[host]),
        401
    );

    let mut asked = request(
        "GET",
        &format!("//evil.example/?a=1&token={TOKEN}&b=2"),
        &[host],
    );
    let redirected = guard.check(&mut asked).unwrap().unwrap();
    assert_eq!(redirected.status(), 303);
    assert_eq!(
        redirected.headers()["location"],
        "/evil.example/?a=1&b=2",
        "not to another machine"
    );
    let cookie = redirected.headers()["set-cookie"].to_str().unwrap();
    assert!(
        cookie.ends_with("; HttpOnly; SameSite=Strict") && !cookie.contains(TOKEN),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(
        status(
            &guard,
            "GET",
            runs,
            &[host, ("cookie", &format!("a=b; {cookie}"))]
        ),
        200
    );
    assert_eq!(
        status(
            &guard,
            "GET",
            runs,
            &[host, ("cookie", &format!("systole_6007={TOKEN}"))]
        ),
        401
    );
    assert_eq!(
        status(
            &guard,
            "GET",
            runs,
            &[host, ("cookie", &cookie.replace("6007", "6008"))]
        ),
        401
    );
}

#[test]
fn a_token_that_nobody_demands_is_no_parameter() {
    let guard = Guard::new(None, Vec::new(), false, 6007);
    let mut asked = request(
        "GET",
        "/api/v1/runs?token=x&limit=3",
        &[("host", "localhost")],
    );
    assert!(guard.check(&mut asked).unwrap().is_none());
    assert_eq!(asked.uri(), "/api/v1/runs?limit=3");
}

#[test]
fn long_addresses_are_refused() {
    let guard = Guard::new(None, Vec::new(), false, 6007);
    let address = format!("/?q={}", "x".repeat(MOST_ADDRESS));
    assert_eq!(
        status(&guard, "GET", &address, &[("host", "localhost")]),
        414
    );
}
