//! Messages that are templates: judged before anything is stored, and stored with what they show.

use domain::message::Content;
use domain::settings::template::{
    AccountState, Button, ButtonKind, ContactField, FileKind, Form, Header, ParameterFormat, ParameterValue,
    SaidBy, Source, TemplateStatus, Text,
};
use domain::{Conversation, ConversationStatus, FileType, Media, Template, Timestamp};
use harness::{World, trips};
use serde_json::{Value, json};
use store::Table;

use crate::Function;

pub(crate) const LINE: &str = "line-a";

/// An image header, two values in the body, one of them of the contact, a footer and a button with a variable.
fn with_everything(template: &mut Template) {
    let text = Text::parse("Hi {{name}}, your trip to {{city}} is ready.", ParameterFormat::Named);
    let url = "https://aster.example/{{1}}".to_owned();
    template.name = "trip_ready".to_owned();
    template.form = Form {
        format: ParameterFormat::Named,
        header: Some(Header::File(FileKind::Image)),
        body: text,
        footer: Some("Aster".to_owned()),
        buttons: vec![Button { text: "See".to_owned(), kind: ButtonKind::Url(url) }],
        ..Form::of_names(vec![])
    };
    let name = Source::Contact { field: ContactField::FirstName, fallback: None };
    template.sources = [("name".to_owned(), name)].into();
}

pub(crate) struct Desk {
    pub(crate) f: Function,
    conversation: Conversation,
    pub(crate) template: Template,
}

impl Desk {
    pub(crate) async fn start() -> Self {
        let f = Function::start().await;
        f.world.line(LINE, |_| ()).await;
        let ana = f.world.contact(|_| ()).await;
        let conversation = f
            .world
            .conversation(|conversation| conversation.externals = vec![World::external(ana.id, LINE)])
            .await;
        let template = f.world.template(with_everything).await;
        Self { f, conversation, template }
    }

    fn body(&self, parameters: Value) -> Value {
        json!({
            "conversationId": self.conversation.id.to_string(),
            "template": { "templateId": self.template.id.to_string(), "parameters": parameters },
        })
    }

    pub(crate) async fn picture(&self, size: u64) -> Media {
        let picture = self.f.world.media(|media| {
            media.file_type = FileType::Image;
            media.content_type = "image/png".to_owned();
        });
        let picture = picture.await;
        self.f.bucket.upload(&picture, size);
        picture
    }

    /// Checks that the request is refused with this code, and that nothing is stored.
    async fn refused(&self, body: &Value, code: &str, extra: Value) {
        let before = self.f.world.db.rows(Table::Messages);
        let answer = self.f.post(body).await;
        assert_eq!((answer.status, &answer.json["code"]), (422, &json!(code)), "{}", answer.text);
        assert_eq!(answer.json.get("extra").cloned().unwrap_or(Value::Null), extra, "{body}");
        assert_eq!(self.f.world.db.rows(Table::Messages), before, "{body}");
    }
}

#[tokio::test]
async fn a_template_goes_into_a_conversation_and_shows_what_it_says() {
    let desk = Desk::start().await;
    let picture = desk.picture(1_000).await;
    let parameters =
        json!({ "city": "Rome ", "header.image": picture.id.to_string(), "button.0.url": "t/7?x" });
    let stored = desk.f.take(&desk.body(parameters.clone())).await;
    assert_eq!((stored.is_broadcast(), stored.seq, stored.parts.len()), (true, 1, 1));
    let Content::Template(content) = &stored.content else { panic!("it is a template") };
    let shown = &content.shown;
    assert_eq!((shown.name.as_str(), shown.language.as_str()), ("trip_ready", "es"));
    assert_eq!(shown.text.as_deref(), Some("Hi {{firstName}}, your trip to Rome is ready.\n\nAster"));
    assert_eq!(content.files["header.image"], picture.attached(1_000));
    let read = desk.f.world.db.store().media_of(desk.f.world.workspace, picture.id).await.unwrap().unwrap();
    assert!(read.is_referenced(), "the file does not expire");
    assert_eq!(desk.f.rows_of(&desk.conversation, "Q#").len(), 1);
}

#[tokio::test]
async fn a_template_costs_two_round_trips_and_wakes_a_ghost() {
    let desk = Desk::start().await;
    let mut ghost = desk.conversation.clone();
    ghost.status = ConversationStatus::Ghost;
    ghost.version += 1;
    let change = domain::conversation::ConversationChange { conversation: ghost, new_contacts: vec![] };
    let store = desk.f.world.db.store();
    store.change_conversation(&desk.conversation, &change, "ghost").await.unwrap();
    let link = "https://files.example/a.png";
    let body = desk.body(json!({ "city": "Rome", "header.image": link, "button.0.url": "x" }));
    assert_eq!(desk.f.post(&body).await.status, 201);
    desk.f.world.db.forget_calls();
    assert_eq!(desk.f.post(&body).await.status, 201);
    let calls = desk.f.world.db.calls();
    // The key's limit is counted beside the first round trip.
    assert_eq!(trips(&calls), 2, "{calls:?}");
    let current = store.conversation(desk.f.world.workspace, desk.conversation.id).await.unwrap().unwrap();
    assert_eq!(current.status, ConversationStatus::Active);
}

#[tokio::test]
async fn each_fault_is_refused_in_its_order_with_all_values_at_once() {
    let desk = Desk::start().await;
    let id = desk.template.id.to_string();
    let unknown = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    let mut body = desk.body(json!({}));
    body["template"]["templateId"] = json!(unknown);
    desk.refused(&body, "SERVICE_CONVERSATION_0601", json!({ "templateId": unknown })).await;

    let missing = json!({ "templateId": id, "parameters": ["header.image", "city", "button.0.url"] });
    desk.refused(&desk.body(json!({ "zoo": "x" })), "SERVICE_CONVERSATION_0603", missing).await;
    let foreign = desk.body(json!({ "name": "x", "city": "", "header.image": "x", "button.0.url": "x" }));
    let extra = json!({ "templateId": id, "parameters": ["name"] });
    desk.refused(&foreign, "SERVICE_CONVERSATION_0604", extra).await;
    let unfit = desk.body(json!({ "city": " ", "header.image": "http://x", "button.0.url": "a b" }));
    let faults = [
        ("header.image", "should be an https URL"),
        ("city", "is blank"),
        ("button.0.url", "should have no white space"),
    ];
    let faults = faults.map(|(name, reason)| json!({ "name": name, "reason": reason }));
    let extra = json!({ "templateId": id, "parameters": faults });
    desk.refused(&unfit, "SERVICE_CONVERSATION_0610", extra).await;

    // The id of a file that is not there is refused as everywhere, after the other values.
    let with_file = |id: &str| desk.body(json!({ "city": "Rome", "header.image": id, "button.0.url": "x" }));
    desk.refused(&with_file(unknown), "SERVICE_FILE_0902", json!({ "mediaId": unknown })).await;
    let large = desk.picture(5 * 1_048_576 + 1).await.id.to_string();
    let reason = "the file should have at most 5242880 bytes";
    let extra = json!({ "templateId": id, "parameters": [{ "name": "header.image", "reason": reason }] });
    desk.refused(&with_file(&large), "SERVICE_CONVERSATION_0610", extra).await;

    let paused = AccountState::of(TemplateStatus::Paused, Timestamp::from_millis(1), SaidBy::Provider);
    let next = desk.template.decided(&World::account(), paused).unwrap().unwrap();
    assert!(desk.f.world.db.store().replace_template(&next).await.unwrap());
    let extra = json!({ "templateId": id, "providerChannelId": LINE, "status": "PAUSED" });
    desk.refused(&desk.body(json!({})), "SERVICE_CONVERSATION_0602", extra).await;
}

#[tokio::test]
async fn a_template_comes_alone() {
    let desk = Desk::start().await;
    let refused = async |change: &dyn Fn(&mut Value), kind: &str, loc: Value| {
        let mut body = desk.body(json!({}));
        change(&mut body);
        let answer = desk.f.post(&body).await;
        assert_eq!((answer.status, &answer.json["code"]), (422, &json!("SERVICE_CORE_0422")), "{body}");
        assert_eq!(
            (&answer.json["detail"][0]["type"], &answer.json["detail"][0]["loc"]),
            (&json!(kind), &loc),
            "{body}"
        );
    };
    let at = json!(["body", "template"]);
    refused(&|body| body["messageBody"] = json!("Hi"), "value_error", at.clone()).await;
    refused(&|body| body["mediaIds"] = json!([desk.template.id.to_string()]), "value_error", at.clone())
        .await;
    refused(&|body| body["enableExternalBroadcast"] = json!(false), "value_error", at.clone()).await;
    refused(&|body| body["template"] = json!("x"), "dict_type", at).await;
    let parameters = json!(["body", "template", "parameters"]);
    refused(
        &|body| body["template"]["parameters"] = json!({ "a": 1 }),
        "string_type",
        json!(["body", "template", "parameters", "a"]),
    )
    .await;
    let many: Value =
        (0..61).map(|n| (format!("p{n}"), json!("x"))).collect::<serde_json::Map<_, _>>().into();
    refused(&|body| body["template"]["parameters"] = many.clone(), "too_long", parameters.clone()).await;
    let long = "x".repeat(ParameterValue::MAX / 2 + 1);
    refused(
        &|body| body["template"]["parameters"] = json!({ "a": long, "b": long }),
        "string_too_long",
        parameters,
    )
    .await;
}
