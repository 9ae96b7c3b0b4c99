//! The templates and the lines of business accounts, as the provider lists them.
//!
//! ```text
//! GET {graph}/{version}/{account}/message_templates?fields=...&limit=100&after=... -> { data, paging }
//! GET {graph}/{version}/{account}/phone_numbers?fields=...&limit=100 -> { data }
//! ```

use std::sync::Arc;
use std::time::Duration;

use domain::settings::reported::LineFact;
use domain::settings::template::{Form, Listed};
use domain::{BusinessAccountId, ChannelId, Secret, TemplateCategory, TemplateStatus};
use outbound::ClientError;
use reqwest::Url;
use reqwest::header::AUTHORIZATION;
use rustls::RootCertStore;
use serde_json::Value;
use tokio::time::timeout;

use crate::components::read_form;
use crate::{NO_OBJECT, bearer, read_answer};

/// Reads the templates of business accounts. Plain HTTP is for simulators.
#[derive(Clone)]
pub struct TemplateClient {
    graph: Graph,
    base: Url,
}

/// Who answers.
#[derive(Clone)]
enum Graph {
    Http(reqwest::Client),
    Simulated(Arc<SimulatedGraph>),
}

/// Answers a request of a URL without a network: the status, and the body.
pub type SimulatedGraph = dyn Fn(&Url) -> (u16, Value) + Send + Sync;

/// A page of an account's templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplatePage {
    /// The templates.
    pub templates: Vec<Listed>,
    /// The cursor of the next page. `None` for the last one.
    pub next: Option<String>,
}

/// A line of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLine {
    /// The line.
    pub channel: ChannelId,
    /// What the list says of it.
    pub facts: Vec<(LineFact, String)>,
}

/// Why templates or lines were not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    /// The token does not hold, or lacks the right to read templates.
    #[error("the provider refuses the token (code {code}: {words})")]
    Refused {
        /// The Graph API's code.
        code: u64,
        /// The provider's words.
        words: String,
    },
    /// There is no such account or template, or the token does not show it.
    #[error("the provider knows no such object")]
    Gone,
    /// A later call may succeed.
    #[error("{0}")]
    NotNow(String),
}

/// The Graph API's codes of a token that does not hold, or that lacks a right.
const REFUSALS: [u64; 3] = [10, 190, 200];
/// What a template's list shows.
const FIELDS: &str = "id,name,language,status,category,parameter_format,components,quality_score,rejected_reason,\
    message_send_ttl_seconds";

/// What the list of lines shows, and what each field says.
const LINE_FIELDS: [(&str, LineFact); 6] = [
    ("display_phone_number", LineFact::DisplayPhoneNumber),
    ("verified_name", LineFact::VerifiedName),
    ("name_status", LineFact::NameStatus),
    ("quality_rating", LineFact::Quality),
    ("messaging_limit_tier", LineFact::MessagingLimit),
    ("status", LineFact::Status),
];

impl TemplateClient {
    /// The number of templates on a page.
    pub const PAGE: usize = 100;
    /// The time limit of a call.
    pub const TIME: Duration = Duration::from_secs(20);
    /// The greatest number of pages among which one template is looked for.
    const MOST_PAGES: usize = 5;
    const CONNECT: Duration = Duration::from_secs(3);
    /// The greatest number of bytes of a page. The longest template has some ten thousand.
    const MAX_READ: usize = 16 * 1024 * 1024;
    /// The greatest number of characters that are kept of the provider's words.
    const MAX_WORDS: usize = 200;

    /// A client for the Graph API at `graph` (`https://host`) in `version` (`v23.0`). It builds the TLS settings, which takes
    /// milliseconds; call it once, at start.
    pub fn new(graph: &str, version: &str) -> Result<Self, ClientError> {
        let base = outbound::url_below(graph, &[version]).ok_or(ClientError::Url { setting: "GRAPH_URL" })?;
        let tls = outbound::tls(RootCertStore::empty()).map_err(ClientError::Tls)?;
        let client = outbound::client(tls, "Templates").connect_timeout(Self::CONNECT);
        let http = client.https_only(base.scheme() == "https").build().map_err(ClientError::Client)?;
        Ok(Self { graph: Graph::Http(http), base })
    }

    /// A client that this function answers: for simulations, whose time is not that of a network.
    pub fn simulated(graph: &str, answer: Arc<SimulatedGraph>) -> Result<Self, ClientError> {
        let base = outbound::url_below(graph, &[]).ok_or(ClientError::Url { setting: "GRAPH_URL" })?;
        Ok(Self { graph: Graph::Simulated(answer), base })
    }

    /// The page of an account's templates after this cursor.
    pub async fn page(
        &self,
        account: &BusinessAccountId,
        token: &Secret,
        after: Option<&str>,
    ) -> Result<TemplatePage, NotRead> {
        self.list(account, token, None, after).await
    }

    /// The account's template with this name in this language. `None` if its list has none. One call, or more if the names of more than a
    /// page of templates contain this name.
    pub async fn named(
        &self,
        account: &BusinessAccountId,
        token: &Secret,
        name: &str,
        language: &str,
    ) -> Result<Option<Listed>, NotRead> {
        let mut after = None;
        for _ in 0..Self::MOST_PAGES {
            let page = self.list(account, token, Some(name), after.as_deref()).await?;
            let found = page.templates.into_iter().find(|one| one.name == name && one.language == language);
            if found.is_some() || page.next.is_none() {
                return Ok(found);
            }
            after = page.next;
        }
        Err(NotRead::NotNow("too many templates of the provider have such a name".into()))
    }

    /// The account's lines: the first 100. An account has at most 25 unless the provider allows more. One call.
    pub async fn lines(
        &self,
        account: &BusinessAccountId,
        token: &Secret,
    ) -> Result<Vec<ListedLine>, NotRead> {
        let fields = LINE_FIELDS.map(|(name, _)| name).join(",");
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend([account.as_str(), "phone_numbers"]);
        }
        let (fields, limit) = (format!("id,{fields}"), Self::PAGE.to_string());
        url.query_pairs_mut().append_pair("fields", &fields).append_pair("limit", &limit);
        let page = self.get(url, token).await?;
        let data =
            page["data"].as_array().ok_or(NotRead::NotNow("the provider's answer has no list".into()))?;
        Ok(data.iter().filter_map(listed_line).collect())
    }

    /// A page of the account's list. `name` leaves only templates whose names contain it.
    async fn list(
        &self,
        account: &BusinessAccountId,
        token: &Secret,
        name: Option<&str>,
        after: Option<&str>,
    ) -> Result<TemplatePage, NotRead> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend([account.as_str(), "message_templates"]);
        }
        url.query_pairs_mut().append_pair("fields", FIELDS).append_pair("limit", &Self::PAGE.to_string());
        for (field, value) in [("name", name), ("after", after)] {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(field, value);
            }
        }
        let page = self.get(url, token).await?;
        let data =
            page["data"].as_array().ok_or(NotRead::NotNow("the provider's answer has no list".into()))?;
        let paging = &page["paging"];
        let next = paging["cursors"]["after"].as_str().filter(|_| paging["next"].is_string());
        if next.is_some() && next == after {
            return Err(NotRead::NotNow("the provider's list does not go on".into()));
        }
        Ok(TemplatePage {
            templates: data.iter().filter_map(listed).collect(),
            next: next.map(str::to_owned),
        })
    }

    async fn get(&self, url: Url, token: &Secret) -> Result<Value, NotRead> {
        let bearer = bearer(token)
            .ok_or(NotRead::Refused { code: REFUSALS[1], words: "the token is no header".to_owned() })?;
        let http = match &self.graph {
            Graph::Http(http) => http,
            Graph::Simulated(answer) => return meant(answer(&url)),
        };
        let get = async {
            let response = http.get(url).header(AUTHORIZATION, bearer).send().await;
            let response = response.map_err(|_| NotRead::NotNow("the provider did not answer".into()))?;
            let status = response.status().as_u16();
            let body = read_answer(response, Self::MAX_READ).await;
            let body = body.map_err(|why| NotRead::NotNow(why.to_owned()))?;
            meant((status, serde_json::from_slice(&body).unwrap_or_default()))
        };
        let late = |_| NotRead::NotNow("the provider did not answer in time".into());
        timeout(Self::TIME, get).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
    }
}

/// The meaning of an answer.
fn meant((status, body): (u16, Value)) -> Result<Value, NotRead> {
    if (200..=299).contains(&status) { Ok(body) } else { Err(refused(status, &body)) }
}

/// The meaning of an answer that is no success.
fn refused(status: u16, body: &Value) -> NotRead {
    let code = body["error"]["code"].as_u64();
    let words = body["error"]["message"].as_str().unwrap_or_default();
    let words: String = words.chars().take(TemplateClient::MAX_WORDS).collect();
    match code {
        Some(code) if REFUSALS.contains(&code) => NotRead::Refused { code, words },
        Some(NO_OBJECT) => NotRead::Gone,
        Some(code) => NotRead::NotNow(format!("the provider answers {status} (code {code}: {words})")),
        None => NotRead::NotNow(format!("the provider answers {status}")),
    }
}

/// A line of a list. `None` if it has no id that a line can have.
fn listed_line(shown: &Value) -> Option<ListedLine> {
    let channel = ChannelId::parse(shown["id"].as_str()?).ok()?;
    let fact = |(name, fact): &(&str, LineFact)| {
        let value = shown[*name].as_str().filter(|text| !text.is_empty())?;
        Some((*fact, value.chars().take(256).collect()))
    };
    Some(ListedLine { channel, facts: LINE_FIELDS.iter().filter_map(fact).collect() })
}

/// A template of a list. `None` if it has no id, name or language. Components that cannot be read make the template unsupported.
fn listed(shown: &Value) -> Option<Listed> {
    let text = |name: &str, most: usize| {
        let text = shown[name].as_str().filter(|text| !text.is_empty())?;
        Some(text.chars().take(most).collect::<String>())
    };
    let unread = |why: String| Form { unsupported: Some(why), ..Form::of_names(vec![]) };
    let word = text("status", 64);
    let status = word.as_deref().and_then(TemplateStatus::reported);
    let quality = shown["quality_score"]["score"].as_str().or_else(|| shown["quality_score"].as_str());
    Some(Listed {
        meta_id: text("id", 64)?,
        name: text("name", 600)?,
        language: text("language", 20)?.replace('-', "_"),
        status,
        unknown_status: word.filter(|_| status.is_none()),
        category: text("category", 64).and_then(|word| TemplateCategory::parse(&word).ok()),
        quality: quality.map(|word| word.chars().take(32).collect()),
        reason: text("rejected_reason", 128).filter(|reason| reason != "NONE"),
        form: read_form(shown).unwrap_or_else(unread),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_of_the_list_is_read_and_one_without_a_name_is_left_out() {
        let shown = json!({
            "id": "168", "name": "order", "language": "en-US", "status": "PAUSED", "category": "UTILITY",
            "quality_score": { "score": "RED" }, "rejected_reason": "NONE", "message_send_ttl_seconds": 60,
            "parameter_format": "NAMED", "components": [{ "type": "BODY", "text": "Hi {{name}}" }],
        });
        let read = listed(&shown).unwrap();
        assert_eq!(
            (read.meta_id.as_str(), read.name.as_str(), read.language.as_str()),
            ("168", "order", "en_US")
        );
        assert_eq!(
            (read.status, read.category),
            (Some(TemplateStatus::Paused), Some(TemplateCategory::Utility))
        );
        assert_eq!((read.quality.as_deref(), read.reason, read.unknown_status), (Some("RED"), None, None));
        assert_eq!((read.form.ttl_seconds, read.form.body.names), (Some(60), vec!["name".to_owned()]));
        for lacks in ["id", "name", "language"] {
            let mut shown = shown.clone();
            shown[lacks] = json!(null);
            assert_eq!(listed(&shown), None, "{lacks}");
        }
    }

    #[test]
    fn a_line_of_the_list_is_read_and_one_without_an_id_is_left_out() {
        let shown = json!({
            "id": "5", "display_phone_number": "+34 600 111 222", "quality_rating": "GREEN", "verified_name": "", "status": 7,
        });
        let facts = vec![
            (LineFact::DisplayPhoneNumber, "+34 600 111 222".to_owned()),
            (LineFact::Quality, "GREEN".to_owned()),
        ];
        assert_eq!(listed_line(&shown), Some(ListedLine { channel: ChannelId::parse("5").unwrap(), facts }));
        assert_eq!(listed_line(&json!({ "display_phone_number": "+34 600 111 222" })), None);
    }

    #[test]
    fn words_that_are_not_known_and_components_that_cannot_be_read_lose_no_template() {
        let shown = json!({
            "id": "1", "name": "n", "language": "es", "status": "NEW_WORD", "category": "OTP", "rejected_reason": "SCAM",
        });
        let read = listed(&shown).unwrap();
        assert_eq!((read.status, read.category, read.reason.as_deref()), (None, None, Some("SCAM")));
        assert_eq!(read.unknown_status.as_deref(), Some("NEW_WORD"));
        assert!(read.form.unsupported.is_some());
        for ours in ["MISMATCH", "UNSUPPORTED"] {
            let shown = json!({ "id": "1", "name": "n", "language": "es", "status": ours });
            let read = listed(&shown).unwrap();
            assert_eq!(
                (read.status, read.unknown_status.as_deref()),
                (None, Some(ours)),
                "a status of the service itself"
            );
        }
    }

    #[test]
    fn codes_of_tokens_end_a_reading_and_others_may_be_repeated() {
        let error = |code: u64| json!({ "error": { "code": code, "message": "(#1) Why" } });
        for code in REFUSALS {
            let words = "(#1) Why".to_owned();
            assert_eq!(refused(400, &error(code)), NotRead::Refused { code, words });
        }
        assert_eq!(refused(400, &error(100)), NotRead::Gone);
        for (status, body) in [(429, error(4)), (400, error(80_008)), (500, error(1)), (502, json!(null))] {
            assert!(matches!(refused(status, &body), NotRead::NotNow(_)), "{status} {body}");
        }
    }
}
