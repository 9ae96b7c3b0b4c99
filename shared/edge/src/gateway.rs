//! A request as API Gateway passes it to a function.
//!
//! Functions of APIs without keys parse the event itself. An HTTP request made from the event would contain
//! only one value of a repeated header.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use serde::Deserialize;

/// A request of a REST API's proxy integration.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayRequest {
    http_method: String,
    path_parameters: Option<BTreeMap<String, String>>,
    multi_value_headers: Option<BTreeMap<String, Vec<String>>>,
    multi_value_query_string_parameters: Option<BTreeMap<String, Vec<String>>>,
    body: Option<String>,
    is_base64_encoded: bool,
    request_context: Context,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Context {
    identity: Identity,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Identity {
    source_ip: Option<String>,
}

/// All fields except the method may contain personal data or secrets.
impl fmt::Debug for GatewayRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayRequest").field("http_method", &self.http_method).finish_non_exhaustive()
    }
}

impl GatewayRequest {
    /// The method, in upper case.
    pub fn method(&self) -> &str {
        &self.http_method
    }

    /// A parameter of the path.
    pub fn path(&self, name: &str) -> Option<&str> {
        self.path_parameters.as_ref()?.get(name).map(String::as_str)
    }

    /// All values of a parameter of the query.
    pub fn query(&self, name: &str) -> &[String] {
        let query = self.multi_value_query_string_parameters.as_ref();
        query.and_then(|query| query.get(name)).map_or(&[], Vec::as_slice)
    }

    /// All values of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Vec<&str> {
        let headers = self.multi_value_headers.iter().flatten();
        let named = headers.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.flat_map(|(_, values)| values.iter().map(String::as_str)).collect()
    }

    /// The bytes of the body; `None` if the event's base64 is invalid.
    pub fn body(&self) -> Option<Vec<u8>> {
        let text = self.body.as_deref().unwrap_or_default();
        if self.is_base64_encoded {
            return base64::engine::general_purpose::STANDARD.decode(text).ok();
        }
        Some(text.as_bytes().to_vec())
    }

    /// The caller's IP address; empty if the gateway does not know it.
    pub fn address(&self) -> &str {
        self.request_context.identity.source_ip.as_deref().unwrap_or_default()
    }
}
