//! A tenant erases a person by the API: one request, and the stack does the rest.

use reqwest::Method;
use serde_json::{Value, json};

use crate::stack::{Answer, Stack, Workspace};

const PHONE: &str = "+34600111999";

/// Waits until an erasure or a preview is over.
async fn over(stack: &Stack, erasing: &Workspace, id: &Value, state: &str) -> Answer {
    let path = format!("/erasures/{}", id.as_str().expect("its id"));
    stack
        .wait_until(&format!("the erasure to be {state}"), async || {
            let shown = stack.api(Method::GET, erasing, &path, None).await;
            assert_eq!(shown.status, 200, "{}", shown.text);
            (shown.json["state"] == state).then_some(shown)
        })
        .await
}

#[tokio::test]
async fn one_request_erases_a_person_and_leaves_a_receipt() {
    let stack = Stack::start("erasure", &[]).await;
    let workspace = stack.workspace("Erasure");
    let contact = stack.contact(&workspace, "Grace", "grace@example.com", PHONE);
    let other = stack.contact(&workspace, "Ada", "ada@example.com", "+34600111998");
    stack.webhook(&workspace, "/erasures", &["contact.erased"]);
    let erasing = Workspace { id: workspace.id.clone(), key: stack.key(&workspace.id, "contacts:erase") };
    let path = format!("/contacts/{contact}/erasure");

    let refused = stack.api(Method::POST, &workspace, &path, None).await;
    assert_eq!(refused.status, 403, "a key with every scope does not name this one");
    let preview = stack.api(Method::POST, &erasing, &path, Some(json!({ "dryRun": true }))).await;
    assert_eq!(preview.status, 202, "{}", preview.text);
    let found = over(&stack, &erasing, &preview.json["erasureId"], "FOUND").await;
    assert_eq!(found.json["preview"]["contacts"][0]["contactId"], contact.as_str());
    assert_eq!(found.json["counts"]["contacts"], 1);
    let shown = |id: &str| format!("/contacts/{id}");
    assert_eq!(stack.api(Method::GET, &workspace, &shown(&contact), None).await.status, 200);

    let asked = stack.api(Method::POST, &erasing, &path, None).await;
    assert_eq!((asked.status, &asked.json["dryRun"]), (202, &json!(false)), "{}", asked.text);
    let done = over(&stack, &erasing, &asked.json["erasureId"], "DONE").await;
    assert_eq!(done.json["counts"]["contacts"], 1);
    assert_eq!(stack.api(Method::GET, &workspace, &shown(&contact), None).await.status, 404);
    assert_eq!(stack.api(Method::GET, &workspace, &shown(&other), None).await.status, 200);
    let told = stack.wait_for("/erasures", 1).await;
    assert_eq!(told[0].json["payload"]["id"], contact.as_str());

    let receipt = stack.api(Method::POST, &erasing, &path, None).await;
    assert_eq!((receipt.status, &receipt.json), (200, &done.json));
    let id = done.json["erasureId"].as_str().expect("its id");
    for (cellphone, matches) in [(PHONE, true), ("+34600111998", false)] {
        let verify =
            ["person", "verify", "--workspace", &workspace.id, "--erasure", id, "--cellphone", cellphone];
        assert_eq!(stack.console(&verify)["matches"], matches, "{cellphone}");
    }
    assert!(!stack.logs().contains(PHONE.trim_start_matches('+')), "a log has the number");
}
