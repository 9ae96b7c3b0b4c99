//! The local stack runs what it is told to with credentials that everybody knows. Only programs of this machine and the
//! stack's own pages may tell it. `tests/browser/strangers.test.js` shows the same with a real browser.

use reqwest::Method;

use crate::stack::{Answer, Stack};

/// A page's own headers: what browsers send with forms, fetches, links and rebound names. `{host}` is the name and port of
/// the server that is asked, `{scheme}` its scheme.
const REFUSED: [(&str, &[(&str, &str)]); 12] = [
    ("a form of another site", &[("origin", "https://www.example.com"), ("sec-fetch-site", "cross-site")]),
    ("the same in an old browser", &[("origin", "https://www.example.com")]),
    ("a form that hides its origin", &[("origin", "null")]),
    ("a link of another site", &[("sec-fetch-site", "cross-site")]),
    ("a link of another port", &[("sec-fetch-site", "same-site")]),
    ("a page of another port", &[("origin", "http://127.0.0.1:3000"), ("sec-fetch-site", "same-site")]),
    ("a page of another scheme", &[("origin", "ftp://{host}")]),
    ("a site that says both", &[("origin", "{scheme}://{host}"), ("sec-fetch-site", "cross-site")]),
    ("a rebound name", &[("host", "rebound.example.com:{port}"), ("sec-fetch-site", "same-origin")]),
    (
        "a rebound name, as its own origin",
        &[("host", "r.example:{port}"), ("origin", "{scheme}://r.example:{port}")],
    ),
    ("a name that looks local", &[("host", "localhost.example.com:{port}")]),
    ("another port in the name", &[("host", "127.0.0.1:1")]),
];

const ALLOWED: [(&str, &[(&str, &str)]); 5] = [
    ("a program", &[]),
    ("a typed address", &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")]),
    ("a page of the server itself", &[("origin", "{scheme}://{host}"), ("sec-fetch-site", "same-origin")]),
    ("the machine's name", &[("host", "localhost:{port}")]),
    (
        "a name under localhost",
        &[("host", "any.localhost:{port}"), ("origin", "{scheme}://any.localhost:{port}")],
    ),
];

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A client that trusts the receiver's authority.
fn client(stack: &Stack) -> reqwest::Client {
    let pem = std::fs::read(stack.text("receiverCaFile")).expect("the receiver's authority");
    let ca = reqwest::Certificate::from_pem(&pem).expect("a certificate");
    reqwest::Client::builder().tls_certs_merge([ca]).build().expect("a client")
}

async fn send(
    client: &reqwest::Client,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let place = reqwest::Url::parse(url).expect("a URL");
    let port = place.port().expect("a port").to_string();
    let host = format!("127.0.0.1:{port}");
    let filled = |value: &str| {
        value.replace("{scheme}", place.scheme()).replace("{host}", &host).replace("{port}", &port)
    };
    let request = client.request(method, url).body(body.to_owned());
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, filled(value)));
    Stack::answer(request).await
}

fn is_refused(answer: &Answer) -> bool {
    answer.status == 403
        && answer
            .text
            .starts_with("The local stack refuses this request, because a web page may have sent it: ")
}

#[tokio::test]
async fn every_server_of_the_stack_refuses_other_pages_before_anything_else() {
    let stack = Stack::start("web-pages", &[]).await;
    let client = client(&stack);
    let servers = [
        format!("{}/_ministack/health", stack.text("emulatorUrl")),
        format!("{}/_ministack/health", stack.text("awsUrl")),
        format!("{}/ok", stack.text("receiverUrl")),
        format!("{}/ledger", stack.text("receiverLedgerUrl")),
        format!("{}/ledger", stack.text("captchaUrl")),
        format!("{}/ledger", stack.text("providerUrl")),
        format!("{}/", stack.text("landingUrl")),
        format!("{}/", stack.text("foreignLandingUrl")),
    ];
    for server in &servers {
        for (who, headers) in REFUSED {
            let answer = send(&client, Method::GET, server, headers, "").await;
            assert!(is_refused(&answer), "{server}, {who}: {answer:?}");
        }
        for (who, headers) in ALLOWED {
            let answer = send(&client, Method::GET, server, headers, "").await;
            assert_eq!(answer.status, 200, "{server}, {who}: {answer:?}");
        }
    }
    check_commands(&stack, &client).await;
    check_paths_for_pages(&stack, &client).await;
    check_runtime_api(&stack, &client).await;
}

/// What a page could do: reset the stack, call a service by a form, or by a URL signed with the key that everybody knows.
async fn check_commands(stack: &Stack, client: &reqwest::Client) {
    let emulator = stack.text("emulatorUrl");
    let foreign = ("origin", "https://www.example.com");
    let scope = |key: &str| format!("{key}%2F20261126%2F{}%2Fs3%2Faws4_request", stack.text("region"));
    let presigned = |path: &str, key: &str, more: &str| {
        format!(
            "{emulator}{path}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}&X-Amz-Signature=0{more}",
            scope(key)
        )
    };
    let (get, post, put) = (|| Method::GET, || Method::POST, || Method::PUT);
    for (method, url, body) in [
        (post(), format!("{emulator}/_ministack/reset"), ""),
        (post(), format!("{emulator}/_ministack/config"), "{}"),
        (get(), format!("{emulator}/_ministack/sqs/messages"), ""),
        (post(), format!("{emulator}/"), "Action=CreateUser&UserName=m&Version=2010-05-08"),
        (get(), format!("{emulator}/?Action=ListQueues&Version=2012-11-05"), ""),
        (post(), format!("{emulator}/2015-03-31/functions/web-pages-users/invocations"), "{}"),
        (post(), format!("{emulator}/_aws/execute-api/"), "Action=ListQueues"),
        (post(), format!("{emulator}/_aws/execute-api/a"), "Action=ListQueues"),
        (Method::OPTIONS, format!("{emulator}/"), ""),
        (put(), presigned("/new-bucket", "test", ""), ""),
        (put(), presigned("/new-bucket/key", "AKIA0000000000000000", ""), ""),
        (put(), presigned("/new-bucket/key", "ASIA0000000000000000", "&AWSAccessKeyId=test"), ""),
        (put(), presigned("/new-bucket/key", "ASIA0000000000000000", "&x-amz-algorithm="), ""),
        (put(), presigned("/new-bucket/key", "ASIA0000000000000000", "&X-Amz-Credential=test"), ""),
        (post(), presigned("/new-bucket/key", "ASIA0000000000000000", ""), ""),
        (put(), presigned("/_ministack/cfn-response/a", "ASIA0000000000000000", ""), ""),
        (put(), presigned("/2015-03-31/functions/web-pages-users/code", "ASIA0000000000000000", ""), "{}"),
    ] {
        let answer = send(client, method.clone(), &url, &[foreign, FORM], body).await;
        assert!(is_refused(&answer), "{method} {url}: {answer:?}");
    }
    // A key that a function could have passes the guard, and the emulator looks at its signature.
    let unknown = presigned("/new-bucket/key", "ASIA0000000000000000", "");
    let answer = send(client, put(), &unknown, &[foreign], "").await;
    assert_eq!((answer.status, is_refused(&answer)), (403, false), "{answer:?}");
}

/// The APIs decide themselves what pages may do, as on AWS.
async fn check_paths_for_pages(stack: &Stack, client: &reqwest::Client) {
    let foreign = [("origin", "https://www.example.com"), ("sec-fetch-site", "cross-site")];
    let rebound = [("host", "rebound.example.com:{port}")];
    let health = format!("{}/health", stack.text("captureUrl"));
    let answer = send(client, Method::GET, &health, &foreign, "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = send(client, Method::GET, &health, &rebound, "").await;
    assert!(is_refused(&answer), "{answer:?}");
    let contacts = format!("{}/service/api/v1/workspaces/w/contacts", stack.text("baseUrl"));
    let answer = send(client, Method::GET, &contacts, &foreign, "").await;
    assert_eq!((answer.status, &answer.json["code"]), (403, &"SERVICE_CORE_0301".into()), "{answer:?}");
}

/// A function's process gets its invocations from a port of its own.
async fn check_runtime_api(stack: &Stack, client: &reqwest::Client) {
    let process = stack.processes_of("contacts").pop().expect("a process of contacts");
    let environment = std::fs::read_to_string(format!("/proc/{process}/environ")).expect("an environment");
    let api = environment.split('\0').find_map(|entry| entry.strip_prefix("AWS_LAMBDA_RUNTIME_API="));
    let url = format!("http://{}/2018-06-01/runtime", api.expect("a runtime API"));
    for headers in [("origin", "https://www.example.com"), ("host", "rebound.example.com:{port}")] {
        for (method, path) in [(Method::POST, "init/error"), (Method::GET, "invocation/next")] {
            let answer = send(client, method, &format!("{url}/{path}"), &[headers], "{}").await;
            assert_eq!(answer.status, 403, "{headers:?} {path}: {answer:?}");
        }
    }
    // The process still gets its invocations.
    let contacts = format!("{}/service/api/v1/workspaces/w/contacts", stack.text("baseUrl"));
    let answer = stack.request(Method::GET, &contacts, &[]).await;
    assert_eq!(answer.json["code"], "SERVICE_CORE_0301", "{answer:?}");
    assert!(stack.processes_of("contacts").contains(&process), "the same process answers");
}
