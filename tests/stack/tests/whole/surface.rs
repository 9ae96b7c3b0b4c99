//! The promises of `make run`: `stack.json` describes the stack, the gateway's own responses have the documented
//! shapes, and the end leaves no process.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::stack::{Stack, Workspace, descendants, runs, terminate};

#[tokio::test]
async fn the_demo_matches_stack_json() {
    let stack = Stack::start_with("demo", &[]).await;
    let workspaces = stack.file["workspaces"].as_array().unwrap();
    assert!(workspaces.len() >= 3);
    for demo in workspaces {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let workspace = Workspace { id: text(&demo["workspaceId"]), key: text(&demo["apiKey"]) };
        let reading = Workspace { id: workspace.id.clone(), key: text(&demo["readOnlyApiKey"]) };

        let contacts = demo["contacts"].as_array().unwrap();
        assert!(contacts.len() >= 50);
        let mut listed = BTreeSet::new();
        let mut cursor = String::new();
        loop {
            let more = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
            let page = stack.api(Method::GET, &reading, &format!("/contacts?pageSize=40{more}"), None).await;
            assert_eq!(page.status, 200, "{}", page.text);
            listed
                .extend(page.json["contacts"].as_array().unwrap().iter().map(|contact| text(&contact["id"])));
            cursor = text(&page.json["cursor"]);
            if cursor.is_empty() {
                break;
            }
        }
        assert_eq!(listed, contacts.iter().map(|contact| text(&contact["id"])).collect());

        for user in demo["users"].as_array().unwrap() {
            let shown =
                stack.api(Method::GET, &reading, &format!("/users/{}", text(&user["id"])), None).await;
            assert_eq!((&shown.json["email"], &shown.json["status"]), (&user["email"], &user["status"]));
        }
        let attributes = demo["attributes"].as_array().unwrap();
        assert!(attributes.iter().any(|attribute| attribute["archived"] == true));
        assert!(attributes.iter().any(|attribute| attribute["isRequired"] == true));
        let shown = stack.api(Method::GET, &reading, "/settings/attributes?includeArchived=true", None).await;
        let ids = |list: &Value| -> BTreeSet<String> {
            list.as_array().unwrap().iter().map(|attribute| text(&attribute["id"])).collect()
        };
        assert_eq!(ids(&shown.json["customAttributes"]), ids(&demo["attributes"]));

        check_senders(&stack, demo);

        let contact = text(&contacts[0]["id"]);
        let refused =
            stack.api(Method::PATCH, &reading, &format!("/contacts/{contact}"), Some(json!({}))).await;
        assert_eq!(refused.status, 403, "a read-only key may not write");
        stack.rename(&workspace, &contact, "Renamed").await;
        let url = text(&demo["webhook"]["url"]);
        let path =
            url.strip_prefix(stack.text("receiverUrl")).expect("the endpoint is at the receiver").to_owned();
        let received = stack.wait_for(&path, 1).await;
        assert_eq!(received.len(), 1, "only changes after the creation of the endpoint may be sent");
        assert_eq!(received[0].headers["x-service-api-key"], demo["webhook"]["apiKey"]);
        assert_eq!(received[0].json["payload"]["id"], contacts[0]["id"]);
    }
    check_lead_capture(&stack).await;
    for field in ["captchaUrl", "providerUrl", "receiverCaFile", "emulatorUrl", "captureUrl", "region"] {
        assert!(!stack.text(field).is_empty(), "{field}");
    }
    check_provider_app(&stack).await;
}

/// The URL of the provider's webhooks answers the question of the app in `stack.json`.
async fn check_provider_app(stack: &Stack) {
    let [app] = stack.file["providerApps"].as_array().expect("a list").as_slice() else {
        panic!("one app is expected");
    };
    let of = |field: &str| app[field].as_str().expect("a text");
    assert!(!of("appSecret").is_empty());
    let url = format!("{}/api/v1/whatsapp/{}", stack.text("providerEventsUrl"), of("appId"));
    let question =
        format!("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={}", of("verifyToken"));
    let answer = stack.request(Method::GET, &format!("{url}?{question}"), &[]).await;
    assert_eq!((answer.status, &*answer.text), (200, "1158201444"));
}

/// The console shows the lines, templates and settings of the workspace as in `stack.json`.
fn check_senders(stack: &Stack, demo: &Value) {
    let within = |noun: &str, verb: &str| {
        stack.console(&[noun, verb, "--workspace", demo["workspaceId"].as_str().expect("an id")])
    };
    let picked = |list: &Value, fields: &[&str]| -> Vec<Value> {
        let pick = |entry: &Value| fields.iter().map(|field| entry[*field].clone()).collect::<Value>();
        list.as_array().expect("a list").iter().map(pick).collect()
    };
    let line = ["providerChannelId", "brandId", "businessAccountId", "isDefault"];
    let lines = within("line", "list");
    assert_eq!(picked(&demo["lines"], &line), picked(&lines, &line));
    assert_eq!(picked(&lines, &["isDefault"]).iter().filter(|is| is[0] == true).count(), 1);
    let brand = ["brandId", "name"];
    assert_eq!(picked(&demo["brands"], &brand), picked(&within("brand", "list"), &brand));
    assert_eq!(demo["onboarding"], within("onboarding", "show"));

    let template = ["templateId", "scope", "approved", "callerParameters"];
    let mut templates = picked(&within("template", "list"), &template);
    let platforms = stack.console(&["template", "list", "--platform"]);
    templates.extend(picked(&platforms, &template));
    let mut told = picked(&demo["templates"], &template);
    // The platform's templates were created at the same time, so the test sorts them.
    for list in [&mut templates, &mut told] {
        list.sort_by_key(Value::to_string);
    }
    assert_eq!(told, templates);
}

/// All demo workspaces have lead capture. The first one accepts leads from the landing page, and the third one's is
/// disabled.
async fn check_lead_capture(stack: &Stack) {
    let workspaces = stack.file["workspaces"].as_array().expect("a list");
    for demo in workspaces {
        let id = demo["workspaceId"].as_str().expect("an id");
        let shown = stack.console(&["capture", "show", "--workspace", id]);
        for field in ["enabled", "captureKey", "origins", "brandId", "leadTemplateId"] {
            assert_eq!(demo["capture"][field], shown[field], "{field}");
        }
        assert_eq!(shown["hasSecret"], true);
        assert_eq!(shown["brandId"], demo["brands"][0]["brandId"]);
    }
    let of_all =
        |field: &str| workspaces.iter().map(|demo| demo["capture"][field].clone()).collect::<Value>();
    assert_eq!(of_all("enabled"), json!([true, true, false]));
    let pages = ["aster", "borealis", "cobalt"].map(|name| format!("https://www.{name}.example"));
    let landing_page = stack.text("landingUrl");
    assert_eq!(of_all("origins"), json!([[pages[0], landing_page], [pages[1]], [pages[2]]]));

    let settings = stack.request(Method::GET, &format!("{landing_page}/settings.json"), &[]).await.json;
    let first = &workspaces[0];
    assert_eq!(
        [&settings["captureUrl"], &settings["workspaceId"], &settings["captureKey"], &settings["brandId"]],
        [
            &stack.file["captureUrl"],
            &first["workspaceId"],
            &first["capture"]["captureKey"],
            &first["capture"]["brandId"]
        ]
    );
    // The URLs that the portal writes into the code for a page.
    let id = first["workspaceId"].as_str().expect("an id");
    let key = [("x-api-key", first["apiKey"].as_str().expect("a key"))];
    let url = format!("{}/service/api/v1/workspaces/{id}/settings/capture", stack.text("baseUrl"));
    let shown = stack.request(Method::GET, &url, &key).await.json;
    assert_eq!(shown["captureUrl"], stack.file["captureUrl"]);
    let script = stack.request(Method::GET, shown["scriptUrl"].as_str().expect("a URL"), &[]).await;
    assert_eq!(script.status, 200);
}

#[tokio::test]
async fn the_responses_of_the_gateway_itself_have_the_specified_shapes() {
    let stack = Stack::start("gateway", &[]).await;
    let no_route =
        stack.request(Method::GET, &format!("{}/service/api/v1/nothing", stack.text("baseUrl")), &[]).await;
    assert_eq!(no_route.status, 404);
    assert_eq!(no_route.json, json!({"title": "Not Found", "status": 404, "code": "SERVICE_CORE_0404"}));

    let workspace = stack.workspace("Gateway");
    let contacts = format!("{}/service/api/v1/workspaces/{}/contacts", stack.text("baseUrl"), workspace.id);
    let no_method = stack.request(Method::DELETE, &contacts, &[("x-api-key", &workspace.key)]).await;
    assert_eq!((no_method.status, &no_method.json["code"]), (404, &json!("SERVICE_CORE_0404")));

    let no_lead =
        stack.request(Method::GET, &format!("{}/api/v1/nothing", stack.text("captureUrl")), &[]).await;
    assert_eq!(no_lead.json["type"], "SERVICE.CAMPAIGN_LEADS.INVALID_REQUEST");
    assert!(no_lead.header("content-type").starts_with("application/problem+json"));

    let provider = stack.text("providerEventsUrl");
    let unsigned = format!("{provider}/api/v1/whatsapp/305550000000001");
    for (method, url) in [(Method::GET, format!("{provider}/api/v1/nothing")), (Method::POST, unsigned)] {
        let refused = stack.request(method, &url, &[]).await;
        assert_eq!((refused.status, &*refused.text), (403, "Forbidden"), "{url}");
        assert_eq!(refused.header("content-type"), "text/plain; charset=utf-8", "{url}");
    }

    let answer = stack.api(Method::GET, &workspace, "/contacts?search=%2B1%20202", None).await;
    assert_eq!((answer.status, &answer.json), (200, &json!({"contacts": [], "cursor": ""})));
    assert!(!answer.header("x-request-id").is_empty());
}

/// On AWS, Lambda takes no request of this size, and the gateway answers it in the same form. The emulator has no such
/// limit.
#[tokio::test]
async fn a_body_of_several_megabytes_is_refused_in_the_form_of_each_api() {
    let stack = Stack::start("bodies", &[]).await;
    let workspace = stack.workspace("Bodies");
    let large = "x".repeat(7 * 1024 * 1024);
    let refused = stack.api(Method::POST, &workspace, "/messages", Some(json!({"messageBody": large}))).await;
    assert_eq!(
        (refused.status, &refused.json["code"]),
        (413, &json!("SERVICE_CORE_0413")),
        "{}",
        refused.text
    );
    let lead = format!("{}/api/v1/leadscout/campaign-leads", stack.text("captureUrl"));
    let lead = reqwest::Client::new().post(lead).header("content-type", "application/json").body(large);
    let refused = Stack::answer(lead).await;
    let invalid = json!("SERVICE.CAMPAIGN_LEADS.INVALID_REQUEST");
    assert_eq!((refused.status, &refused.json["type"]), (400, &invalid), "{}", refused.text);
}

#[tokio::test]
async fn every_function_takes_the_event_that_tries_new_versions() {
    let stack = Stack::start("new-versions", &[]).await;
    let listed = stack.aws(&["lambda", "list-functions", "--query", "Functions[].FunctionName"]);
    let functions = listed.as_array().expect("a list");
    assert_eq!(functions.len(), 21);
    for name in functions.iter().filter_map(Value::as_str) {
        let function =
            name.strip_prefix(&format!("{}-", stack.stack_name())).expect("a function of the stack");
        let answer = stack.invoke(function, "tests/template/rollout-check.json");
        assert!(answer["statusCode"].as_u64().unwrap_or(200) < 500, "{function}: {answer}");
        if let Some(failed) = answer["batchItemFailures"].as_array() {
            assert!(failed.is_empty(), "{function}: {answer}");
        }
    }
}

#[tokio::test]
async fn the_end_of_a_stack_leaves_no_process() {
    let stack = Stack::start("ending", &[]).await;
    let workspace = stack.workspace("Ending");
    assert_eq!(stack.api(Method::GET, &workspace, "/contacts", None).await.status, 200);
    let before = descendants(stack.process_id());
    assert!(before.len() >= 2, "expected the emulator and a function, found {before:?}");
    terminate(stack.process_id());
    stack.wait_until("every process to end", async || before.iter().all(|id| !runs(*id)).then_some(())).await;
}
