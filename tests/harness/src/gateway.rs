//! API Gateway requests to a function, and the function's responses.

use std::collections::HashMap;

use lambda_http::{Body, Request, Response};
use serde::Serialize;
use serde_json::{Value, json};

use crate::fixture;

/// A REST API event that starts as a file in `events/`. A test changes it before it sends it.
#[derive(Clone, Debug)]
pub struct GatewayEvent(Value);

impl GatewayEvent {
    /// The event in a file such as `contacts-get.json`.
    pub fn of(file: &str) -> Self {
        Self(fixture(file))
    }

    /// Sets a path parameter.
    pub fn path(mut self, name: &str, value: impl ToString) -> Self {
        self.0["pathParameters"][name] = json!(value.to_string());
        self
    }

    /// Addresses another workspace, also in the paths, which [`GatewayEvent::path`] leaves as they are.
    pub fn in_workspace(self, id: impl ToString) -> Self {
        let named = self.0["pathParameters"]["workspaceId"].as_str().unwrap_or_default();
        let text = self.0.to_string().replace(named, &id.to_string());
        Self(serde_json::from_str(&text).unwrap_or_else(|error| panic!("not an event: {error}")))
    }

    /// Sets the whole query string. A name may occur more than once.
    pub fn query(mut self, pairs: &[(&str, &str)]) -> Self {
        let mut lists: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, value) in pairs {
            lists.entry(name).or_default().push(value);
        }
        self.0["queryStringParameters"] = json!(pairs.iter().copied().collect::<HashMap<_, _>>());
        self.0["multiValueQueryStringParameters"] = json!(lists);
        self
    }

    /// Sets a header and replaces one of the same name.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.set_header(name, Some(value))
    }

    /// Repeats a header in the form of API Gateway: `headers` has the last value, `multiValueHeaders` has all values.
    pub fn header_again(mut self, name: &str, value: &str) -> Self {
        let all = self.0["multiValueHeaders"].as_object().into_iter().flatten();
        let sent = all
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .flat_map(|(_, values)| values.as_array());
        let mut values: Vec<Value> = sent.flatten().cloned().collect();
        values.push(json!(value));
        self = self.header(name, value);
        self.0["multiValueHeaders"][name] = json!(values);
        self
    }

    /// Removes a header.
    pub fn without_header(self, name: &str) -> Self {
        self.set_header(name, None)
    }

    fn set_header(mut self, name: &str, value: Option<&str>) -> Self {
        for (field, value) in
            [("headers", value.map(|one| json!(one))), ("multiValueHeaders", value.map(|one| json!([one])))]
        {
            let Some(headers) = self.0[field].as_object_mut() else { continue };
            headers.retain(|known, _| !known.eq_ignore_ascii_case(name));
            headers.extend(value.map(|value| (name.to_owned(), value)));
        }
        self
    }

    /// Sets a JSON body.
    pub fn body(self, body: &Value) -> Self {
        self.raw_body(&body.to_string())
    }

    /// Sets a body that is not necessarily JSON.
    pub fn raw_body(mut self, body: &str) -> Self {
        self.0["body"] = json!(body);
        self.0["isBase64Encoded"] = json!(false);
        self
    }

    /// Sets the method.
    pub fn method(mut self, method: &str) -> Self {
        self.0["httpMethod"] = json!(method);
        self.0["requestContext"]["httpMethod"] = json!(method);
        self
    }

    /// Sets API Gateway's id of the request.
    pub fn request_id(mut self, id: &str) -> Self {
        self.0["requestContext"]["requestId"] = json!(id);
        self
    }

    /// The event as JSON, for functions that parse it themselves.
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// The request as the function's handler receives it.
    pub fn request(&self) -> Request {
        match lambda_http::request::from_str(&self.0.to_string()) {
            Ok(request) => request,
            Err(error) => panic!("not an API Gateway event: {error}"),
        }
    }
}

/// The response of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// Headers by lower-case name.
    pub headers: HashMap<String, String>,
    /// The body as it was sent.
    pub text: String,
    /// The body as JSON, or `null` if it is not JSON.
    pub json: Value,
}

impl Answer {
    /// The statuses of answers that came in any order, sorted.
    pub fn statuses<'a>(answers: impl IntoIterator<Item = &'a Self>) -> Vec<u16> {
        let mut statuses: Vec<u16> = answers.into_iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        statuses
    }

    /// The response of a function that answers the gateway's JSON itself: the body is text.
    pub fn of_gateway(response: impl Serialize) -> Self {
        let answer = serde_json::to_value(response).unwrap_or_default();
        assert_eq!(answer["isBase64Encoded"], false, "{answer}");
        assert_eq!(
            answer.as_object().map(serde_json::Map::len),
            Some(4),
            "only what the gateway returns: {answer}"
        );
        let header = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        let text = answer["body"].as_str().expect("a body").to_owned();
        Self {
            status: answer["statusCode"]
                .as_u64()
                .and_then(|status| u16::try_from(status).ok())
                .expect("a status"),
            headers: answer["headers"].as_object().expect("headers").iter().filter_map(header).collect(),
            json: serde_json::from_str(&text).unwrap_or_default(),
            text,
        }
    }

    /// The place and the type of each failure of a 422, in order.
    pub fn failures(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let place = |entry: &Value| {
            let steps = entry["loc"].as_array().into_iter().flatten();
            steps.map(text).collect::<Vec<_>>().join(".")
        };
        let Some(detail) = self.json["detail"].as_array() else { panic!("{}", self.text) };
        detail.iter().map(|entry| (place(entry), text(&entry["type"]))).collect()
    }
}

impl From<Response<Body>> for Answer {
    fn from(response: Response<Body>) -> Self {
        let text = match response.body() {
            Body::Text(text) => text.clone(),
            other => panic!("the body of an API response is text, not {other:?}"),
        };
        let header =
            |value: &lambda_http::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Self {
            status: response.status().as_u16(),
            headers: response
                .headers()
                .iter()
                .map(|(name, value)| (name.to_string(), header(value)))
                .collect(),
            json: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
        }
    }
}
