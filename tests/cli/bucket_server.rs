//! A server on this machine that answers like Google Cloud Storage, Amazon S3 and a plain web server, and misbehaves
//! on request.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How the server misbehaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    None,
    /// Every request is refused with this status.
    Status(u16),
    /// Every request is refused without a phrase behind the number, a body, or its length.
    Bare(u16),
    /// The first requests fail with 503.
    FailsFirst(usize),
    /// The first transfers of more than a byte end in the middle.
    CutsFirst(usize),
    /// After these transfers of more than a byte, all are refused with 403.
    EndsAfter(usize),
    /// The entity tag changes with every request.
    Changes,
    /// Ranges are ignored.
    NoRanges,
    /// Bytes come slowly.
    Slow,
    /// The first transfers of more than a byte stop in the middle, and the connection stays.
    StallsFirst(usize),
    /// The first parts of an upload are read, and the connection ends without an answer.
    LosesParts(usize),
    /// After these parts of an upload, all are refused with 403.
    RefusesParts(usize),
}

#[derive(Default)]
struct Content {
    objects: BTreeMap<String, Vec<u8>>,
    /// Uploads in parts that are neither complete nor given up: the parts by number.
    uploads: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
    fault: Fault,
    /// Requests, as `GET /bucket/key bytes=0-9`.
    seen: Vec<String>,
    etag: usize,
}

/// A server with one bucket, `logs`.
pub struct BucketServer {
    content: Arc<Mutex<Content>>,
    failures: Arc<AtomicUsize>,
    pub port: u16,
}

impl BucketServer {
    /// Serves these objects of the bucket until the test ends.
    pub fn with(objects: &[(&str, &[u8])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let objects = objects
            .iter()
            .map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()))
            .collect();
        let content = Arc::new(Mutex::new(Content {
            objects,
            ..Content::default()
        }));
        let failures = Arc::new(AtomicUsize::new(0));
        let (shared, failed) = (Arc::clone(&content), Arc::clone(&failures));
        let serve = move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let (shared, failed) = (Arc::clone(&shared), Arc::clone(&failed));
                let connection = move || while answer(&stream, &shared, &failed).is_some() {};
                thread::Builder::new()
                    .name("connection".into())
                    .spawn(connection)
                    .unwrap();
            }
        };
        thread::Builder::new()
            .name("server".into())
            .spawn(serve)
            .unwrap();
        Self {
            content,
            failures,
            port,
        }
    }

    /// Misbehaves from now on.
    pub fn set(&self, fault: Fault) {
        self.content.lock().unwrap().fault = fault;
        self.failures.store(0, Ordering::SeqCst);
    }

    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        self.content.lock().unwrap().objects.get(key).cloned()
    }

    pub fn put(&self, key: &str, bytes: &[u8]) {
        let mut content = self.content.lock().unwrap();
        content.objects.insert(key.to_owned(), bytes.to_vec());
        content.etag += 1;
    }

    /// Uploads that were begun, and neither completed nor given up: their parts cost money.
    pub fn unfinished(&self) -> usize {
        self.content.lock().unwrap().uploads.len()
    }

    /// What was asked since the last call.
    pub fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.content.lock().unwrap().seen)
    }

    /// Variables for a program that is to ask this server and no other.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let url = format!("http://127.0.0.1:{}", self.port);
        vec![
            ("SYSTOLE_NETWORK", "loopback".to_owned()),
            ("GOOGLE_BASE_URL", url.clone()),
            ("GOOGLE_SKIP_SIGNATURE", "true".to_owned()),
            ("AWS_ENDPOINT", url.clone()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "very-secret".to_owned()),
            ("AZURE_STORAGE_ACCOUNT_NAME", "test".to_owned()),
            ("AZURE_SKIP_SIGNATURE", "true".to_owned()),
            ("AZURE_ENDPOINT", url),
        ]
    }
}

/// A request as it was read.
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

pub fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Request {
        method,
        path: unescaped(path),
        query: unescaped(query),
        headers,
        body,
    })
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = (*first == b'%')
            .then(|| u8::from_str_radix(std::str::from_utf8(after.get(..2)?).ok()?, 16).ok());
        if let Some(code) = code.flatten() {
            bytes.push(code);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Answers one request; `None` if the connection ends.
fn answer(stream: &TcpStream, content: &Mutex<Content>, failures: &AtomicUsize) -> Option<()> {
    let request = read(stream)?;
    let range = request.headers.get("range").cloned();
    let (fault, etag) = {
        let mut content = content.lock().unwrap();
        let shown = range.as_deref().unwrap_or_default();
        content.seen.push(
            format!("{} {} {shown}", request.method, request.path)
                .trim()
                .to_owned(),
        );
        content.etag += usize::from(content.fault == Fault::Changes);
        (content.fault, format!("\"v{}\"", content.etag))
    };
    let is_early = |times| failures.fetch_add(1, Ordering::SeqCst) < times;
    let refuse = |status, body: &[u8]| {
        send(
            stream,
            status,
            &[],
            if request.method == "HEAD" { b"" } else { body },
        )
    };
    match fault {
        Fault::Status(status) => return refuse(status, b"<Error><Code>Refused</Code></Error>"),
        Fault::Bare(status) => {
            let mut stream = stream;
            let _ = stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Both);
            return None;
        }
        Fault::FailsFirst(times) if is_early(times) => return refuse(503, b"busy"),
        _ => {}
    }
    let path = request.path.trim_start_matches('/');
    let Some(key) = path
        .strip_prefix("logs")
        .map(|rest| rest.trim_start_matches('/'))
    else {
        return refuse(404, b"<Error><Code>NoSuchBucket</Code></Error>");
    };
    if let Some(upload) = query_value(&request.query, "uploadId").map(str::to_owned) {
        return answer_part(stream, &request, (&upload, key), content, (fault, failures));
    }
    if request.method == "POST" && request.query.starts_with("uploads") {
        let mut content = content.lock().unwrap();
        let upload = format!("upload-{}", content.seen.len());
        content.uploads.insert(upload.clone(), BTreeMap::new());
        let body = format!(
            "<InitiateMultipartUploadResult><Bucket>logs</Bucket><Key>{key}</Key><UploadId>{upload}</UploadId>\
             </InitiateMultipartUploadResult>"
        );
        return send(stream, 200, &[], body.as_bytes());
    }
    if request.method == "PUT" {
        content
            .lock()
            .unwrap()
            .objects
            .insert(key.to_owned(), request.body);
        return send(stream, 200, &[("ETag", &etag)], b"");
    }
    if key.is_empty() {
        let list = listing(&content.lock().unwrap(), &request.query, &etag);
        return send(
            stream,
            200,
            &[("Content-Type", "application/xml")],
            list.as_bytes(),
        );
    }
    let Some(bytes) = content.lock().unwrap().objects.get(key).cloned() else {
        return refuse(404, b"<Error><Code>NoSuchKey</Code></Error>");
    };
    send_object(stream, &request, &bytes, (fault, &etag), failures)
}

/// The value of a key of a query.
fn query_value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = query.split('&');
    parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// Answers a request about an upload in parts: one part, the end, or that it is given up.
fn answer_part(
    stream: &TcpStream,
    request: &Request,
    (upload, key): (&str, &str),
    content: &Mutex<Content>,
    (fault, failures): (Fault, &AtomicUsize),
) -> Option<()> {
    let mut content = content.lock().unwrap();
    if !content.uploads.contains_key(upload) {
        return send(
            stream,
            404,
            &[],
            b"<Error><Code>NoSuchUpload</Code></Error>",
        );
    }
    match request.method.as_str() {
        "PUT" => {
            let count = failures.fetch_add(1, Ordering::SeqCst);
            match fault {
                Fault::LosesParts(times) if count < times => return None,
                Fault::RefusesParts(times) if count >= times => return send(stream, 403, &[], b""),
                _ => {}
            }
            let number = query_value(&request.query, "partNumber")
                .unwrap()
                .parse()
                .unwrap();
            content
                .uploads
                .get_mut(upload)
                .unwrap()
                .insert(number, request.body.clone());
            send(stream, 200, &[("ETag", &format!("\"part-{number}\""))], b"")
        }
        "POST" => {
            let parts = content.uploads.remove(upload).unwrap();
            let listed = String::from_utf8_lossy(&request.body)
                .matches("<PartNumber>")
                .count();
            assert_eq!(listed, parts.len(), "each part is named once");
            let whole = parts.into_values().flatten().collect();
            content.objects.insert(key.to_owned(), whole);
            let body = b"<CompleteMultipartUploadResult><ETag>\"v1\"</ETag></CompleteMultipartUploadResult>";
            send(stream, 200, &[], body)
        }
        _ => {
            content.uploads.remove(upload);
            send(stream, 204, &[], b"")
        }
    }
}

fn send_object(
    mut stream: &TcpStream,
    request: &Request,
    bytes: &[u8],
    (fault, etag): (Fault, &str),
    failures: &AtomicUsize,
) -> Option<()> {
    let asked = request
        .headers
        .get("range")
        .and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let asked = asked.filter(|_| fault != Fault::NoRanges);
    let (status, range) = match asked {
        Some((from, to)) => {
            let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
            if from >= bytes.len() {
                return send(stream, 416, &[], b"");
            }
            (206, from..bytes.len().min(to + 1))
        }
        None => (200, 0..bytes.len()),
    };
    let body = &bytes[range.clone()];
    let is_transfer = request.method == "GET" && body.len() > 1;
    if let (Fault::EndsAfter(times), true) = (fault, is_transfer)
        && failures.fetch_add(1, Ordering::SeqCst) >= times
    {
        return send(stream, 403, &[], b"");
    }
    let mut head = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nETag: {etag}\r\nAccept-Ranges: bytes\r\n\
         Last-Modified: Mon, 02 Mar 2026 10:00:00 GMT\r\n",
        body.len()
    );
    if status == 206 {
        let _ = write!(
            head,
            "Content-Range: bytes {}-{}/{}\r\n",
            range.start,
            range.end - 1,
            bytes.len()
        );
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    if request.method == "HEAD" {
        return Some(());
    }
    match fault {
        Fault::CutsFirst(times)
            if body.len() > 1 && failures.fetch_add(1, Ordering::SeqCst) < times =>
        {
            let _ = stream.write_all(&body[..body.len() / 2]);
            let _ = stream.shutdown(std::net::Shutdown::Both);
            None
        }
        Fault::StallsFirst(times)
            if body.len() > 1 && failures.fetch_add(1, Ordering::SeqCst) < times =>
        {
            let _ = stream.write_all(&body[..body.len() / 2]);
            // The client leaves.
            let _ = stream.read(&mut [0]);
            None
        }
        Fault::Slow if body.len() > 1 => {
            for chunk in body.chunks(100) {
                stream.write_all(chunk).ok()?;
                thread::sleep(Duration::from_millis(200));
            }
            Some(())
        }
        _ => stream.write_all(body).ok(),
    }
}

fn send(mut stream: &TcpStream, status: u16, headers: &[(&str, &str)], body: &[u8]) -> Option<()> {
    let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    stream.write_all(body).ok()
}

/// The list of objects, as S3 and the XML interface of Google write it.
fn listing(content: &Content, query: &str, etag: &str) -> String {
    let of_query = |name: &str| query_value(query, name);
    let prefix = of_query("prefix").unwrap_or_default();
    let is_nested =
        |name: &str| of_query("delimiter").is_some() && name[prefix.len()..].contains('/');
    let mut text =
        "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
    for (name, bytes) in content
        .objects
        .iter()
        .filter(|(name, _)| name.starts_with(prefix) && !is_nested(name))
    {
        let _ = write!(
            text,
            "<Contents><Key>{name}</Key><LastModified>2026-03-02T10:00:00.000Z</LastModified>\
             <ETag>{}</ETag><Size>{}</Size></Contents>",
            etag.replace('"', "&quot;"),
            bytes.len()
        );
    }
    text + "</ListBucketResult>"
}
