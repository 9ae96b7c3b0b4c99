//! Nobody gets in, nobody learns, and nothing personal is logged.

use reqwest::Method;
use serde_json::{Value, json};

use crate::stack::{Answer, Stack, Workspace};

/// An answer without what differs from request to request.
fn comparable(answer: &Answer) -> (u16, String, Vec<(String, String)>) {
    let mut headers = answer.headers.clone();
    headers.retain(|(name, _)| {
        !["x-request-id", "x-amzn-requestid", "x-amz-request-id", "x-amz-apigw-id", "x-amzn-trace-id", "date"]
            .contains(&name.as_str())
    });
    headers.sort();
    (answer.status, answer.text.clone(), headers)
}

#[tokio::test]
async fn ids_of_another_workspace_answer_like_unknown_ones_on_every_endpoint() {
    let stack = Stack::start("matrix", &[]).await;
    let (mine, theirs) = (stack.workspace("Mine"), stack.workspace("Theirs"));
    let my_contact = stack.contact(&mine, "Ana", "ana@example.com", "+12025550101");
    let contact = stack.contact(&theirs, "Eve", "eve@example.com", "+12025550102");
    let user = made(
        &stack,
        &["user", "create", "--workspace", &theirs.id, "--email", "eve.agent@example.com"],
        "id",
    );
    let open =
        ["attribute", "create", "--workspace", &theirs.id, "--key-name", "secret", "--category", "OPEN"];
    let attribute = made(&stack, &open, "id");
    let closed = [
        "attribute",
        "create",
        "--workspace",
        &theirs.id,
        "--key-name",
        "plan",
        "--category",
        "CLOSED",
        "--value",
        "paid",
    ];
    let closed = stack.console(&closed);
    let my_closed = [
        "attribute",
        "create",
        "--workspace",
        &mine.id,
        "--key-name",
        "plan",
        "--category",
        "CLOSED",
        "--value",
        "paid",
    ];
    let my_closed = stack.console(&my_closed);
    let random = "7a1c1f6e-6f0e-4d55-9a5e-6d1d8d3d2c11".to_owned();

    // One row a place where an id can stand: what is sent with the foreign id and with one that nobody has.
    let closed_id = closed["id"].as_str().unwrap().to_owned();
    let value_id = closed["values"][0]["id"].as_str().unwrap().to_owned();
    let my_closed_id = my_closed["id"].as_str().unwrap().to_owned();
    let mine_path = format!("/contacts/{my_contact}");
    let owner = |id: &str| json!({"ownerIdentifier": {"identifier": id, "identifierType": "ID"}});
    let owner_email =
        |email: &str| json!({"ownerIdentifier": {"identifier": email, "identifierType": "EMAIL"}});
    let open_entry = |id: &str| json!({"customAttributes": {"openAttributes": [{"customAttributeId": id, "content": "x"}]}});
    let closed_entry = |id: &str, value: &str| json!({"customAttributes": {"closedAttributes": [{"customAttributeId": id, "closedCustomAttributeIds": [value]}]}});
    type Row = (&'static str, Method, String, String, Option<Value>, Option<Value>, u16);
    let at = |method: Method, path: &str| (method, path.to_owned());
    let body = |what: &'static str, foreign: Value, unknown: Value| -> Row {
        let (method, path) = at(Method::PATCH, &mine_path);
        (what, method, path.clone(), path, Some(foreign), Some(unknown), 422)
    };
    let get = |what: &'static str, path: &str, foreign: &str, unknown: &str, status: u16| -> Row {
        (what, Method::GET, format!("{path}{foreign}"), format!("{path}{unknown}"), None, None, status)
    };
    let rename = Some(json!({"firstName": "X"}));
    let rows: Vec<Row> = vec![
        get("GET contact", "/contacts/", &contact, &random, 404),
        (
            "PATCH contact",
            Method::PATCH,
            format!("/contacts/{contact}"),
            format!("/contacts/{random}"),
            rename.clone(),
            rename,
            404,
        ),
        get("GET user", "/users/", &user, &random, 404),
        get("owner filter", "/contacts?owner=", "eve.agent@example.com", "nobody@example.com", 200),
        get("search", "/contacts?search=", "eve", "nobody", 200),
        body("owner by id", owner(&user), owner(&random)),
        body("owner by e-mail", owner_email("eve.agent@example.com"), owner_email("nobody@example.com")),
        body("open attribute", open_entry(&attribute), open_entry(&random)),
        body("closed attribute", closed_entry(&closed_id, &value_id), closed_entry(&random, &value_id)),
        body("closed value", closed_entry(&my_closed_id, &value_id), closed_entry(&my_closed_id, &random)),
    ];
    for (what, method, foreign_path, unknown_path, foreign_body, unknown_body, status) in rows {
        let foreign = stack.api(method.clone(), &mine, &foreign_path, foreign_body).await;
        let unknown = stack.api(method, &mine, &unknown_path, unknown_body).await;
        // The answers name the id that was sent; but for that they are the same bytes.
        let blind = |answer: &Answer| {
            let (status, mut text, headers) = comparable(answer);
            for id in [&contact, &user, &attribute, &closed_id, &value_id, &random] {
                text = text.replace(id.as_str(), "<id>");
            }
            (status, text, headers)
        };
        assert_eq!(blind(&foreign), blind(&unknown), "{what}");
        assert_eq!(foreign.status, status, "{what}: {}", foreign.text);
    }

    let definitions = stack.api(Method::GET, &mine, "/settings/attributes", None).await;
    assert!(!definitions.text.contains(&attribute) && !definitions.text.contains(&closed_id));
    let contacts = stack.api(Method::GET, &mine, "/contacts", None).await;
    assert_eq!(contacts.json["contacts"].as_array().unwrap().len(), 1);
    let theirs_now = stack.api(Method::GET, &theirs, &format!("/contacts/{contact}"), None).await;
    assert_eq!(theirs_now.json["firstName"], "Eve", "nothing of theirs changed");

    wrong_keys_are_answered_alike(&stack, &mine, &theirs, &random).await;
}

async fn wrong_keys_are_answered_alike(stack: &Stack, mine: &Workspace, theirs: &Workspace, random: &str) {
    let paths =
        ["/contacts", &format!("/contacts/{random}"), "/settings/attributes", &format!("/users/{random}")];
    let mut answers = vec![];
    for path in paths {
        for (workspace, key) in [
            (&theirs.id, &mine.key),
            (&mine.id, &theirs.key),
            (&random.to_owned(), &mine.key),
            (&mine.id, &String::new()),
        ] {
            let caller = Workspace { id: workspace.clone(), key: key.clone() };
            answers.push(comparable(&stack.api(Method::GET, &caller, path, None).await));
        }
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    assert_eq!(answers[0].0, 403);
    assert_eq!(answers[0].1, r#"{"title":"Forbidden","status":403,"code":"SERVICE_CORE_0301"}"#);
}

fn made(stack: &Stack, arguments: &[&str], field: &str) -> String {
    stack.console(arguments)[field].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn personal_data_and_secrets_never_reach_a_log() {
    let stack = Stack::start("private", &[QUICK, "LogLevel=trace"]).await;
    let workspace = stack.workspace("Canary");
    let contact = stack.contact(&workspace, "Canaryfirst", "canarymail@example.com", "+12025550177");
    let webhook = stack.webhook(&workspace, "/fail-first/1/canarypath?token=canarytoken", &[]);
    let tier = made(
        &stack,
        &["attribute", "create", "--workspace", &workspace.id, "--key-name", "tier", "--category", "OPEN"],
        "id",
    );
    let path = format!("/contacts/{contact}");
    let patch = |body: Value| stack.api(Method::PATCH, &workspace, &path, Some(body));
    let attributes = json!({"openAttributes": [{"customAttributeId": tier, "content": "canarycontent"}]});
    let good = patch(json!({"lastName": "Canarylast", "customAttributes": attributes})).await;
    assert_eq!(good.status, 200, "{}", good.text);
    let wrong = patch(json!({"email": "canarywrong", "cellphone": "canaryphone"})).await;
    assert_eq!(wrong.status, 422);
    stack.contact(&workspace, "Other", "other@example.com", "+12025550178");
    let taken = patch(json!({"email": "other@example.com", "firstName": "Canarytaken"})).await;
    assert_eq!(taken.status, 409);
    let search = stack.api(Method::GET, &workspace, "/contacts?search=canaryfirst", None).await;
    assert_eq!(search.json["contacts"].as_array().unwrap().len(), 1);
    stack.deliveries_in(&workspace, "DELIVERED").await;
    // A row from a newer release: its error names the row, whose key holds an address.
    let agent = "canaryagent@example.com";
    stack.console(&["user", "create", "--workspace", &workspace.id, "--email", agent]);
    let key = json!({"pk": {"S": format!("{}#UE#{agent}", workspace.id)}, "sk": {"S": "U"}}).to_string();
    let table = format!("{}-workspaces", stack.stack_name());
    let newer = [
        "--update-expression",
        "SET sv = :newer",
        "--expression-attribute-values",
        r#"{":newer":{"N":"99"}}"#,
    ];
    stack.aws(&[&["dynamodb", "update-item", "--table-name", &table, "--key", &key], &newer[..]].concat());
    let failed = patch(json!({"ownerIdentifier": {"identifier": agent, "identifierType": "EMAIL"}})).await;
    assert_eq!((failed.status, &failed.json["code"]), (500, &json!("SERVICE_CORE_0500")));

    let logs = stack.logs();
    assert!(logs.contains("answered") && logs.contains("cannot be read"), "the functions' logs are here");
    let secret = webhook["secret"].as_str().unwrap();
    for canary in
        ["canary", "Canary", "2025550177", "other@example.com", "customer-key", secret, &workspace.key]
    {
        if let Some(line) = logs.lines().find(|line| line.contains(canary)) {
            panic!("{canary:?} is in a log: {line}");
        }
    }
}

const QUICK: &str = crate::stack::QUICK_RETRIES;
