//! Every input gets one of the documented answers.

use domain::Timestamp;
use domain::lead::captcha::CaptchaAnswer as Solution;
use leads::captcha::Unreachable;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::Site;

/// Texts with a meaning in some field, and others.
fn text() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "",
        "null",
        "GRANTED",
        "brand",
        "+34600111222",
        "https://www.example.com",
        "application/json",
        "2026-01-02T03:04:05Z",
        harness::World::WORKSPACE,
    ]);
    prop_oneof![known.prop_map(str::to_owned), ".{0,40}", "\\PC{0,40}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        4 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(text(), inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect::<Value>()),
        ]
    })
}

fn field() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "workspaceId",
        "captureKey",
        "cellphone",
        "name",
        "brandId",
        "landingUri",
        "utm",
        "consent",
        "recaptchaToken",
    ]);
    prop_oneof![9 => known.prop_map(str::to_owned), 1 => text()]
}

fn lists(names: Vec<&'static str>) -> impl Strategy<Value = Value> {
    let name = prop_oneof![prop::sample::select(names).prop_map(str::to_owned), text()];
    let lists = prop::collection::hash_map(name, prop::collection::vec(text(), 0..3), 0..4);
    prop_oneof![
        1 => Just(Value::Null),
        9 => lists.prop_map(|lists| lists.into_iter().map(|(name, list)| (name, json!(list))).collect()),
    ]
}

/// How a valid request is made invalid.
#[derive(Clone, Debug)]
enum Spoiled {
    Nothing,
    Fields(Vec<(String, Value)>),
    Body(Value, bool),
    Cut(usize),
}

fn spoiled() -> impl Strategy<Value = Spoiled> {
    let body = prop_oneof![
        Just(Value::Null),
        text().prop_map(Value::from),
        value().prop_map(|v| json!(v.to_string()))
    ];
    prop_oneof![
        4 => Just(Spoiled::Nothing),
        4 => prop::collection::vec((field(), value()), 1..3).prop_map(Spoiled::Fields),
        1 => (body, any::<bool>()).prop_map(|(body, encoded)| Spoiled::Body(body, encoded)),
        1 => (0_usize..300).prop_map(Spoiled::Cut),
    ]
}

/// The answer of the captcha's provider: a success in most cases.
fn says() -> impl Strategy<Value = Option<Result<Solution, Unreachable>>> {
    let codes = prop::sample::select(vec![
        "missing-input-secret",
        "invalid-input-response",
        "timeout-or-duplicate",
        "bad-request",
        "",
    ]);
    let refused = prop::collection::vec(codes, 0..3)
        .prop_map(|codes| Ok(Solution::Refused(codes.into_iter().map(str::to_owned).collect())));
    let solved = (any::<f64>(), text(), text(), any::<i64>()).prop_map(|(score, action, hostname, at)| {
        Ok(Solution::Solved { score, action, hostname, at: Timestamp::from_millis(at) })
    });
    let other = prop_oneof![2 => refused, 1 => solved, 1 => Just(Err(Unreachable::Timeout))];
    prop::option::weighted(0.4, other)
}

#[test]
fn every_input_is_answered_with_a_status_of_the_specification() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let site = runtime.block_on(Site::start());
    let number = std::cell::RefCell::new(0);
    let headers = || lists(vec!["origin", "Origin", "content-type", "Content-Type", "user-agent"]);
    let strategy = (
        prop_oneof![8 => Just("POST"), 2 => Just("OPTIONS"), 1 => Just("GET"), 1 => Just("")],
        spoiled(),
        prop::option::weighted(0.3, headers()),
        prop::option::weighted(0.3, lists(vec!["workspaceId", "utm_source"])),
        says(),
    );
    let seen = std::cell::RefCell::new(std::collections::BTreeMap::<u64, usize>::new());
    // The same inputs in each run: among 400 random ones, a rare status is sometimes missing.
    let config = Config { failure_persistence: None, cases: 400, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&strategy, |(method, spoiled, headers, query, says)| {
        site.captcha().says.replace(says);
        *number.borrow_mut() += 1;
        let good = site.visitor(*number.borrow());
        let mut event = site.event(&good).method(method).json().clone();
        match spoiled {
            Spoiled::Nothing => {}
            Spoiled::Fields(fields) => {
                let mut body = good.clone();
                fields.into_iter().for_each(|(name, value)| body[name] = value);
                event["body"] = json!(body.to_string());
            }
            Spoiled::Body(body, encoded) => {
                event["body"] = body;
                event["isBase64Encoded"] = json!(encoded);
            }
            Spoiled::Cut(at) => event["body"] = json!(good.to_string().chars().take(at).collect::<String>()),
        }
        match headers {
            Some(Value::Object(headers)) => {
                headers.into_iter().for_each(|(name, values)| event["multiValueHeaders"][name] = values);
            }
            Some(nothing) => event["multiValueHeaders"] = nothing,
            None => {}
        }
        if let Some(query) = query {
            event["multiValueQueryStringParameters"] = query;
        }
        let request = serde_json::from_value(event).unwrap();
        // So slow that no workspace is over its quota.
        site.world.db.clock().advance(std::time::Duration::from_millis(100));
        let answer = serde_json::to_value(runtime.block_on(site.leads.handle(&request))).unwrap();
        let status = answer["statusCode"].as_u64().unwrap();
        let expected: &[u64] = match method {
            "OPTIONS" => &[204],
            "GET" => &[404], // the event names no script
            _ => &[202, 400, 403, 422, 500],
        };
        prop_assert!(expected.contains(&status), "{}", answer);
        prop_assert_eq!(answer["headers"]["vary"].as_str(), Some("Origin"));
        let text = answer["body"].as_str().unwrap();
        if status >= 400 {
            let problem: Value = serde_json::from_str(text).unwrap();
            prop_assert_eq!(problem.as_object().unwrap().len(), 3);
            prop_assert_eq!(&problem["status"], &json!(status));
        }
        *seen.borrow_mut().entry(status).or_default() += 1;
        Ok(())
    });
    outcome.unwrap();
    let seen: Vec<u64> = seen.borrow().keys().copied().collect();
    assert_eq!(seen, [202, 204, 400, 403, 404, 422, 500], "each status occurred");
}
