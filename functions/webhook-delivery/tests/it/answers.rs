//! Answers as servers send them, also when they break the rules of HTTP. The status alone decides: any 2xx acknowledges.
//! Odd header lines come from public bug reports of HTTP clients (multi-line policies, cookies of firewalls, `X Powered By`).

use std::time::{Duration, Instant};

use domain::AttemptError;
use futures::future::join_all;

use crate::https::{LONG, post, trusting};
use crate::receiver::{Behaviour, Receiver};

use Expected::{Broken, Closes, Ends, Keeps};

/// What an answer must lead to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    /// This status, and the connection carries the next request.
    Keeps(u16),
    /// This status, and the next request gets a connection of its own, although the receiver leaves this one open.
    Closes(u16),
    /// This status. The receiver closes the connection at the end of the answer.
    Ends(u16),
    /// `ANSWER_BROKEN`. The receiver closes the connection.
    Broken,
}

/// Each name, answer and outcome.
const ANSWERS: &[(&str, &[u8], Expected)] = &[
    // Well-formed.
    ("200", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("no reason", b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("an empty reason", b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("another reason", b"HTTP/1.1 200 Fine by me\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("201", b"HTTP/1.1 201 Created\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n", Keeps(201)),
    ("202", b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", Keeps(202)),
    ("204", b"HTTP/1.1 204 No Content\r\n\r\n", Keeps(204)),
    ("204 with a length", b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", Keeps(204)),
    ("205", b"HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n", Keeps(205)),
    ("207", b"HTTP/1.1 207 Multi-Status\r\ncontent-length: 0\r\n\r\n", Keeps(207)),
    ("299", b"HTTP/1.1 299 Odd\r\ncontent-length: 0\r\n\r\n", Keeps(299)),
    ("chunked", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", Keeps(200)),
    ("chunked, in capitals", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n", Keeps(200)),
    (
        "chunked with trailers",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: y\r\n\r\n",
        Keeps(200),
    ),
    ("a body up to the end", b"HTTP/1.1 200 OK\r\n\r\nok", Ends(200)),
    ("close", b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("close, twice", b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\ncontent-length: 0\r\n\r\n", Closes(200)),
    ("HTTP/1.0", b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("HTTP/1.0 up to the end", b"HTTP/1.0 200 OK\r\n\r\nok", Ends(200)),
    ("lines without returns", b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok", Keeps(200)),
    ("an empty line first", b"\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("an empty value", b"HTTP/1.1 200 OK\r\nx:\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("no blank after the colon", b"HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\nok", Keeps(200)),
    ("tabs around a value", b"HTTP/1.1 200 OK\r\ncontent-length:\t2\t\r\n\r\nok", Keeps(200)),
    ("other bytes than ASCII", b"HTTP/1.1 200 OK\r\nx: \xff\xfe\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("text in UTF-8", "HTTP/1.1 200 OK\r\nx: señal\r\ncontent-length: 2\r\n\r\nok".as_bytes(), Keeps(200)),
    (
        "a name of odd characters",
        b"HTTP/1.1 200 OK\r\n!#$%&'*+-.^_`|~: x\r\ncontent-length: 2\r\n\r\nok",
        Keeps(200),
    ),
    ("one length, twice", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("one length, as a list", b"HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok", Keeps(200)),
    // Informational answers come before the answer.
    ("100 first", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("103 first", b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 204 No\r\n\r\n", Keeps(204)),
    (
        "100, 102 and 500",
        b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n",
        Keeps(500),
    ),
    (
        "an odd 103 first",
        b"HTTP/1.1 103 E\r\nno colon\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        Keeps(200),
    ),
    ("101", b"HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", Closes(101)),
    ("100 only", b"HTTP/1.1 100 Continue\r\n\r\n", Broken),
    // Status lines.
    ("two blanks", b"HTTP/1.1  200  OK\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("a tab", b"HTTP/1.1\t200\tOK\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("small letters", b"http/1.1 200 ok\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("a control character in the reason", b"HTTP/1.1 200 O\x01K\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("a NUL in the reason", b"HTTP/1.1 200 \0\r\ncontent-length: 2\r\n\r\nok", Keeps(200)),
    ("a reason in UTF-8", "HTTP/1.1 200 ¡Sí!\r\ncontent-length: 2\r\n\r\nok".as_bytes(), Keeps(200)),
    ("HTTP/2", b"HTTP/2 200\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("HTTP/2.0", b"HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("a status and letters", b"HTTP/1.1 200OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("four digits", b"HTTP/1.1 2000 OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("two digits", b"HTTP/1.1 20 OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("a zero first", b"HTTP/1.1 020 OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("no status", b"HTTP/1.1 OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("no version", b"HTTP/ 200 OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("another protocol", b"ICY 200 OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("a blank first", b" HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("a status alone", b"200 OK\r\ncontent-length: 2\r\n\r\nok", Broken),
    ("only a body", b"ok\n\n", Broken),
    ("nothing", b"", Broken),
    ("SSH", b"SSH-2.0-OpenSSH_9.9\r\n\r\n", Broken),
    ("cut in the status", b"HTTP/1.1 20", Broken),
    ("cut in the head", b"HTTP/1.1 200 OK\r\ncontent-le", Broken),
    ("cut before the empty line", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n", Broken),
    ("returns without lines", b"HTTP/1.1 200 OK\rcontent-length: 2\r\rok", Broken),
    // Header lines.
    (
        "a folded line",
        b"HTTP/1.1 200 OK\r\ncsp: default-src 'self'\r\n  https://a.example\r\ncontent-length: 2\r\n\r\nok",
        Closes(200),
    ),
    ("a line folded by a tab", b"HTTP/1.1 200 OK\r\nx: a\r\n\tb\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("a folded length", b"HTTP/1.1 200 OK\r\ncontent-length:\r\n 2\r\n\r\nok", Closes(200)),
    (
        "a control character",
        b"HTTP/1.1 200 OK\r\nset-cookie: a=dmo\x01OZ; path=/\r\ncontent-length: 2\r\n\r\nok",
        Closes(200),
    ),
    ("a NUL", b"HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("a DEL", b"HTTP/1.1 200 OK\r\nx: a\x7fb\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("an escape", b"HTTP/1.1 200 OK\r\nx: \x1b[0m\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("a return in a value", b"HTTP/1.1 200 OK\r\nx: a\rb\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("two returns at the end", b"HTTP/1.1 200 OK\r\nx: a\r\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("a blank before the colon", b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", Closes(200)),
    ("a tab before the colon", b"HTTP/1.1 200 OK\r\nContent-Length\t: 2\r\n\r\nok", Closes(200)),
    (
        "a blank in a name",
        b"HTTP/1.1 200 OK\r\nX Powered By: PHP\r\ncontent-length: 2\r\n\r\nok",
        Closes(200),
    ),
    (
        "a blank before the first name",
        b"HTTP/1.1 200 OK\r\n X-Content-Type-Options: nosniff\r\ncontent-length: 2\r\n\r\nok",
        Closes(200),
    ),
    (
        "no colon",
        b"HTTP/1.1 200 OK\r\nhsts: max-age=1;\r\npreload\r\ncontent-length: 2\r\n\r\nok",
        Closes(200),
    ),
    ("an empty name", b"HTTP/1.1 200 OK\r\n: x\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    ("a name in UTF-8", "HTTP/1.1 200 OK\r\nseñal: x\r\ncontent-length: 2\r\n\r\nok".as_bytes(), Closes(200)),
    ("a name in brackets", b"HTTP/1.1 200 OK\r\n<x>: y\r\ncontent-length: 2\r\n\r\nok", Closes(200)),
    (
        "a control character in a name",
        b"HTTP/1.1 200 OK\r\nx\x01: y\r\ncontent-length: 2\r\n\r\nok",
        Closes(200),
    ),
    (
        "a second status line",
        b"HTTP/1.1 200 OK\r\nHTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\nok",
        Closes(200),
    ),
    ("only odd lines", b"HTTP/1.1 200 OK\r\nno colon\r\n\r\nok", Closes(200)),
    // Where the body ends.
    ("two lengths", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok", Closes(200)),
    (
        "a length and a coding",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        Closes(200),
    ),
    ("a negative length", b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nok", Closes(200)),
    ("a length with a sign", b"HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok", Closes(200)),
    ("an empty length", b"HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\nok", Closes(200)),
    ("a huge length", b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nok", Closes(200)),
    ("a length in words", b"HTTP/1.1 200 OK\r\ncontent-length: two\r\n\r\nok", Closes(200)),
    ("an unknown coding", b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nok", Closes(200)),
    ("two codings", b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", Closes(200)),
    (
        "chunked twice",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        Closes(200),
    ),
    ("a broken chunk", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno chunk\r\n\r\n", Closes(200)),
    ("fewer bytes than said", b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nok", Ends(200)),
    ("more bytes than said", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more", Closes(200)),
    // The same holds for every other status.
    (
        "301",
        b"HTTP/1.1 301 Moved\r\nlocation: https://a.example/\r\nno colon\r\ncontent-length: 0\r\n\r\n",
        Closes(301),
    ),
    ("304", b"HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\n\r\n", Keeps(304)),
    ("304 with a length", b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", Keeps(304)),
    ("400", b"HTTP/1.1 400 Bad Request\r\nX Y: z\r\ncontent-length: 0\r\n\r\n", Closes(400)),
    ("404 without a length", b"HTTP/1.0 404 Not Found\r\n\r\nnot found", Ends(404)),
    ("410", b"HTTP/1.1 410 Gone\r\nset-cookie: a=\x01\r\ncontent-length: 0\r\n\r\n", Closes(410)),
    ("429", b"HTTP/1.1 429 Too Many Requests\r\nretry-after : 7\r\ncontent-length: 0\r\n\r\n", Closes(429)),
    ("451", b"HTTP/1.1 451 Unavailable For Legal Reasons\r\ncontent-length: 0\r\n\r\n", Keeps(451)),
    ("499", b"HTTP/1.1 499\r\ncontent-length: 0\r\n\r\n", Keeps(499)),
    ("500", b"HTTP/1.1 500 Internal Server Error\r\n folded\r\ncontent-length: 0\r\n\r\n", Closes(500)),
    (
        "502 of a proxy",
        b"HTTP/1.1 502 Bad Gateway\r\nserver: x\r\ncontent-length: 4\r\nconnection: close\r\n\r\nhtml",
        Closes(502),
    ),
    ("520 of a proxy", b"HTTP/1.1 520 Unknown\r\ncontent-length: 0\r\n\r\n", Keeps(520)),
    ("599", b"HTTP/1.1 599 Odd\r\n\x01: \x01\r\ncontent-length: 0\r\n\r\n", Closes(599)),
    ("600", b"HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n", Keeps(600)),
    ("999", b"HTTP/1.1 999 Request denied\r\ncontent-length: 0\r\n\r\n", Keeps(999)),
];

/// Posts twice to a receiver that gives this answer each time.
async fn outcome(answer: &[u8], expected: Expected) -> Expected {
    let closes = matches!(expected, Ends(_) | Broken);
    let behaviour =
        if closes { Behaviour::Answers(answer.to_vec()) } else { Behaviour::Keeps(answer.to_vec()) };
    let receiver = Receiver::start("127.0.0.1", behaviour).await;
    let https = trusting(&receiver, LONG);
    let begun = Instant::now();
    let first = post(&https, &receiver.url("/")).await.map(|answer| answer.status);
    let second = post(&https, &receiver.url("/")).await.map(|answer| answer.status);
    assert_eq!(first, second);
    assert!(begun.elapsed() < Duration::from_secs(15), "an answer is read to its end, and no further");
    match (first, receiver.connections()) {
        (Ok(status), 1) => Keeps(status),
        (Ok(status), _) if closes => Ends(status),
        (Ok(status), _) => Closes(status),
        (Err(AttemptError::AnswerBroken), _) => Broken,
        (Err(error), _) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn each_answer_has_its_outcome() {
    let outcomes = ANSWERS.iter().map(|(_, answer, expected)| outcome(answer, *expected));
    let outcomes = join_all(outcomes).await;
    let wrong = ANSWERS.iter().zip(outcomes).filter(|((_, _, expected), outcome)| outcome != expected);
    let wrong: Vec<_> = wrong.map(|((name, ..), outcome)| (name, outcome)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn many_and_long_headers_acknowledge_up_to_a_limit() {
    let with = |lines: String| format!("HTTP/1.1 200 OK\r\n{lines}content-length: 2\r\n\r\nok").into_bytes();
    let cookies = |count| (0..count).map(|n| format!("set-cookie: c{n}=1\r\n")).collect::<String>();
    for (name, answer, expected) in [
        ("100 headers", with(cookies(99)), Keeps(200)),
        ("101 headers", with(cookies(100)), Keeps(200)),
        ("5,000 headers", with(cookies(5_000)), Keeps(200)),
        ("a header of 100 KB", with(format!("x: {}\r\n", "y".repeat(100_000))), Keeps(200)),
        ("a name of 100 KB", with(format!("{}: x\r\n", "y".repeat(100_000))), Keeps(200)),
        (
            "a reason of 100 KB",
            format!("HTTP/1.1 200 {}\r\ncontent-length: 0\r\n\r\n", "y".repeat(100_000)).into(),
            Keeps(200),
        ),
        ("300 KB", with(cookies(16_000)), Broken),
        ("an endless line", format!("HTTP/1.1 200 {}", "y".repeat(300_000)).into(), Broken),
        ("endless hints", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(12_000).into(), Broken),
    ] {
        assert_eq!(outcome(&answer, expected).await, expected, "{name}");
    }
}

#[tokio::test]
async fn a_retry_after_is_read_beside_odd_lines() {
    for (line, expected) in [
        ("retry-after : 7", Some("7")),
        ("Retry-After: 7\r\nretry-after: 8", Some("7")),
        ("no colon\r\nretry-after: Fri, 02 Jan 2026 03:05:05 GMT", Some("Fri, 02 Jan 2026 03:05:05 GMT")),
        ("retry-after: 7\x01", None),
    ] {
        let answer = format!("HTTP/1.1 429 No\r\n{line}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::start("127.0.0.1", Behaviour::Answers(answer.into_bytes())).await;
        let answer = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
        assert_eq!((answer.status, answer.retry_after.as_deref()), (429, expected), "{line:?}");
    }
}

#[tokio::test]
async fn the_body_of_an_odd_answer_is_shown_if_its_end_is_known() {
    for (answer, body) in [
        ("HTTP/1.1 500 No\r\nno colon\r\ncontent-length: 4\r\n\r\noops", "oops"),
        ("HTTP/1.1 500 No\r\nno colon\r\ntransfer-encoding: chunked\r\n\r\n4\r\noops\r\n0\r\n\r\n", "oops"),
        ("HTTP/1.1 500 No\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\noops", ""),
    ] {
        let receiver = Receiver::start("127.0.0.1", Behaviour::Keeps(answer.into())).await;
        let answered = post(&trusting(&receiver, LONG), &receiver.url("/")).await.unwrap();
        assert_eq!((answered.status, answered.body.as_slice()), (500, body.as_bytes()), "{answer:?}");
    }
}
