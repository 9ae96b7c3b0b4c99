//! Workspaces are isolated, responses reveal nothing about others, and logs contain no personal data.

use reqwest::Method;
use serde_json::{Value, json};

use crate::leads::Capturing;
use crate::stack::{Answer, Stack, Workspace};

/// A response without the parts that differ from request to request.
fn comparable(answer: &Answer) -> (u16, String, Vec<(String, String)>) {
    let mut headers = answer.headers.clone();
    // The rate limit counts the caller's own requests.
    let differs = [
        "x-request-id",
        "x-amzn-requestid",
        "x-amz-request-id",
        "x-amz-apigw-id",
        "x-amzn-trace-id",
        "date",
        "ratelimit",
    ];
    headers.retain(|(name, _)| !differs.contains(&name.as_str()));
    headers.sort();
    (answer.status, answer.text.clone(), headers)
}

/// A place where a request may have an id: its name, the method, path and body with a foreign id and with an unknown
/// one, and the status of both responses.
type Row = (&'static str, Method, String, String, Option<Value>, Option<Value>, u16);

/// Sends the two requests of each row. The responses must be the same bytes, except for the id that was sent.
async fn all_answer_alike(stack: &Stack, mine: &Workspace, rows: Vec<Row>, named: &[&str]) {
    for (what, method, foreign_path, unknown_path, foreign_body, unknown_body, status) in rows {
        let foreign = stack.api(method.clone(), mine, &foreign_path, foreign_body).await;
        let unknown = stack.api(method, mine, &unknown_path, unknown_body).await;
        let blind = |answer: &Answer| {
            let (status, mut text, headers) = comparable(answer);
            for id in named {
                text = text.replace(id, "<id>");
            }
            (status, text, headers)
        };
        assert_eq!(blind(&foreign), blind(&unknown), "{what}");
        assert_eq!(foreign.status, status, "{what}: {}", foreign.text);
    }
}

#[tokio::test]
async fn foreign_and_unknown_ids_get_the_same_response_for_conversations_files_and_messages() {
    let stack = Stack::start("matrix-talk", &[]).await;
    let (mine, theirs) = (stack.workspace("Mine"), stack.workspace("Theirs"));
    let mut made_of = vec![];
    for (workspace, channel, email) in
        [(&mine, "1066600001", "ana@example.com"), (&theirs, "1066600002", "eve@example.com")]
    {
        let id = workspace.id.as_str();
        let brand = create(&stack, &["brand", "create", "--workspace", id, "--name", "Brand"], "brandId");
        stack.console(&[
            "line",
            "create",
            "--workspace",
            id,
            "--channel",
            channel,
            "--brand",
            &brand,
            "--business-account",
            "2066600001",
            "--token",
            "token",
        ]);
        let template = create(
            &stack,
            &[
                "template",
                "create",
                "--workspace",
                id,
                "--name",
                "hello",
                "--language",
                "es",
                "--approved",
                "2066600001",
            ],
            "templateId",
        );
        let agent = format!("agent.{email}");
        let user = create(&stack, &["user", "create", "--workspace", id, "--email", &agent], "id");
        let team = create(
            &stack,
            &["team", "create", "--workspace", id, "--name", "Team", "--user", &user],
            "teamId",
        );
        let contact = stack.contact(workspace, "Ana", email, &format!("+3460077{}", &channel[6..]));
        let external = json!([{"identifier": contact, "identifierType": "ID"}]);
        let body = json!({"participants": {"externals": external, "internals": [{"identifier": user, "identifierType": "ID"}]}});
        let conversation = stack.api(Method::POST, workspace, "/conversations", Some(body)).await;
        assert_eq!(conversation.status, 201, "{}", conversation.text);
        let conversation = conversation.json["id"].as_str().unwrap().to_owned();
        let body =
            json!({"conversationId": conversation, "messageBody": "note", "enableExternalBroadcast": false});
        let message = stack.api(Method::POST, workspace, "/messages", Some(body)).await;
        let message = message.json["messageId"].as_str().unwrap().to_owned();
        let file = json!([{
            "name": "a.txt", "fileType": "DOCUMENT", "contentType": "text/plain",
            "checksumBase64": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=",
        }]);
        let file = stack.api(Method::POST, workspace, "/files", Some(file)).await;
        let presigned = &file.json[0]["presignUrl"];
        let put = reqwest::Client::new().put(presigned["url"].as_str().unwrap()).body("hello");
        let put = presigned["headers"]
            .as_object()
            .unwrap()
            .iter()
            .fold(put, |put, (name, value)| put.header(name, value.as_str().unwrap()));
        assert!(put.send().await.unwrap().status().is_success());
        let media = file.json[0]["mediaId"].as_str().unwrap().to_owned();
        made_of.push((
            conversation,
            message,
            media,
            contact,
            user,
            team,
            template,
            brand,
            agent,
            channel.to_owned(),
        ));
    }
    let (mine_made, made) = (&made_of[0], &made_of[1]);
    let (conversation, message, media, contact, user, team, template, brand, agent, channel) = made;
    let (my_conversation, my_contact, my_template) = (&mine_made.0, &mine_made.3, &mine_made.6);
    for (list, field, mine_one) in
        [("brands", "id", &mine_made.7), ("lines", "providerChannelId", &mine_made.9)]
    {
        let shown = stack.api(Method::GET, &mine, &format!("/settings/{list}"), None).await;
        let ids = shown.json[list].as_array().unwrap().iter().map(|one| one[field].as_str().unwrap());
        assert_eq!(ids.collect::<Vec<_>>(), [mine_one], "{list}");
    }
    let random = "7a1c1f6e-6f0e-4d55-9a5e-6d1d8d3d2c11";
    // These have the length of the agent's, so that the responses have the same length.
    let (nobody, no_channel) = ("agent.xyz@example.com", "1066600009");

    let post = |what: &'static str, path: &str, foreign: Value, unknown: Value, status: u16| -> Row {
        (what, Method::POST, path.to_owned(), path.to_owned(), Some(foreign), Some(unknown), status)
    };
    let get = |what: &'static str, path: &str, foreign: &str, unknown: &str, status: u16| -> Row {
        (what, Method::GET, path.replace("<id>", foreign), path.replace("<id>", unknown), None, None, status)
    };
    let my_path = format!("/conversations/{my_conversation}");
    let patch = |what: &'static str, foreign: Value, unknown: Value, status: u16| -> Row {
        (what, Method::PATCH, my_path.clone(), my_path.clone(), Some(foreign), Some(unknown), status)
    };
    let person = |id: &str, kind: &str| json!({"identifier": id, "identifierType": kind});
    let me = || person(my_contact, "ID");
    let create = |externals: Value, more: Value| {
        let mut body = json!({"participants": {"externals": [externals]}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let with_internal = |one: Value| json!({"participants": {"externals": [me()], "internals": [one]}});
    let by_line = |field: &str, id: &str| {
        let mut external = me();
        external[field] = json!(id);
        create(external, json!({}))
    };
    let templated = |id: &str| create(me(), json!({"onboardingTemplates": [{"templateId": id}]}));
    let joining = |side: &str, verb: &str, one: Value| json!({"participants": {side: {verb: [one]}}});
    let say = |conversation: &str, more: Value| {
        let mut body = json!({"conversationId": conversation, "messageBody": "hello"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let rename = Some(json!({"name": "X"}));
    let rows: Vec<Row> = vec![
        get("GET conversation", "/conversations/<id>", conversation, random, 404),
        get("GET messages", "/conversations/<id>/messages", conversation, random, 404),
        get("GET message", &format!("/messages/<id>?conversationId={my_conversation}"), message, random, 404),
        get(
            "GET message by conversation",
            &format!("/messages/{message}?conversationId=<id>"),
            conversation,
            random,
            404,
        ),
        get("GET file", "/files/<id>", media, random, 404),
        get("GET template", "/templates/<id>", template, random, 404),
        (
            "preview template",
            Method::POST,
            format!("/templates/{template}/preview"),
            format!("/templates/{random}/preview"),
            Some(json!({})),
            Some(json!({})),
            404,
        ),
        post(
            "preview for contact",
            &format!("/templates/{my_template}/preview"),
            json!({"contactId": contact}),
            json!({"contactId": random}),
            422,
        ),
        post(
            "preview on line",
            &format!("/templates/{my_template}/preview"),
            json!({"providerChannelId": channel}),
            json!({"providerChannelId": no_channel}),
            422,
        ),
        get("list templates by line", "/templates?providerChannelId=<id>", channel, no_channel, 200),
        (
            "PATCH conversation",
            Method::PATCH,
            format!("/conversations/{conversation}"),
            format!("/conversations/{random}"),
            rename.clone(),
            rename,
            404,
        ),
        get(
            "list by external id",
            "/conversations?externalIdentifierType=ID&externalUserIdentifier=<id>",
            contact,
            random,
            200,
        ),
        get(
            "list by external e-mail",
            "/conversations?externalIdentifierType=EMAIL&externalUserIdentifier=<id>",
            "eve@example.com",
            nobody,
            200,
        ),
        get(
            "list by external phone",
            "/conversations?externalIdentifierType=PHONE&externalUserIdentifier=<id>",
            "%2B34600770002",
            "%2B34600770009",
            200,
        ),
        get(
            "list by internal id",
            "/conversations?internalIdentifierType=ID&internalUserIdentifier=<id>",
            user,
            random,
            200,
        ),
        get(
            "list by internal e-mail",
            "/conversations?internalIdentifierType=EMAIL&internalUserIdentifier=<id>",
            agent,
            nobody,
            200,
        ),
        post(
            "external",
            "/conversations",
            create(person(contact, "ID"), json!({})),
            create(person(random, "ID"), json!({})),
            422,
        ),
        post(
            "internal by id",
            "/conversations",
            with_internal(person(user, "ID")),
            with_internal(person(random, "ID")),
            422,
        ),
        post(
            "internal by e-mail",
            "/conversations",
            with_internal(person(agent, "EMAIL")),
            with_internal(person(nobody, "EMAIL")),
            422,
        ),
        post(
            "team",
            "/conversations",
            create(me(), json!({"teamId": team})),
            create(me(), json!({"teamId": random})),
            422,
        ),
        post(
            "line",
            "/conversations",
            by_line("providerChannelId", channel),
            by_line("providerChannelId", no_channel),
            422,
        ),
        post("brand", "/conversations", by_line("brandId", brand), by_line("brandId", random), 422),
        post("template", "/conversations", templated(template), templated(random), 422),
        patch(
            "add external",
            joining("externals", "add", person(contact, "ID")),
            joining("externals", "add", person(random, "ID")),
            422,
        ),
        patch(
            "remove external",
            joining("externals", "remove", person(contact, "ID")),
            joining("externals", "remove", person(random, "ID")),
            200,
        ),
        patch(
            "add internal",
            joining("internals", "add", person(user, "ID")),
            joining("internals", "add", person(random, "ID")),
            422,
        ),
        patch(
            "remove internal",
            joining("internals", "remove", person(user, "ID")),
            joining("internals", "remove", person(random, "ID")),
            200,
        ),
        patch(
            "remove internal by e-mail",
            joining("internals", "remove", person(agent, "EMAIL")),
            joining("internals", "remove", person(nobody, "EMAIL")),
            200,
        ),
        post("message into", "/messages", say(conversation, json!({})), say(random, json!({})), 422),
        post(
            "reply to",
            "/messages",
            say(my_conversation, json!({"replyToMessageId": message})),
            say(my_conversation, json!({"replyToMessageId": random})),
            422,
        ),
        post(
            "media",
            "/messages",
            say(my_conversation, json!({"mediaIds": [media]})),
            say(my_conversation, json!({"mediaIds": [random]})),
            422,
        ),
    ];
    let named = [
        conversation.as_str(),
        message,
        media,
        contact,
        user,
        team,
        template,
        brand,
        agent,
        channel,
        random,
        nobody,
        no_channel,
    ];
    all_answer_alike(&stack, &mine, rows, &named).await;

    let theirs_now = stack.api(Method::GET, &theirs, &format!("/conversations/{conversation}"), None).await;
    assert_eq!(
        theirs_now.json["updatedAt"], theirs_now.json["createdAt"],
        "the other workspace must not change"
    );
    let mine_now = stack.api(Method::GET, &mine, "/conversations", None).await;
    assert_eq!(mine_now.json["conversations"].as_array().unwrap().len(), 1, "no conversation may be added");
}

#[tokio::test]
async fn foreign_and_unknown_ids_get_the_same_response_for_contacts_users_and_attributes() {
    let stack = Stack::start("matrix", &[]).await;
    let (mine, theirs) = (stack.workspace("Mine"), stack.workspace("Theirs"));
    let my_contact = stack.contact(&mine, "Ana", "ana@example.com", "+12025550101");
    let contact = stack.contact(&theirs, "Eve", "eve@example.com", "+12025550102");
    let known = json!({"externalId": "crm-theirs"});
    let answer = stack.api(Method::PATCH, &theirs, &format!("/contacts/{contact}"), Some(known)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let user = create(
        &stack,
        &["user", "create", "--workspace", &theirs.id, "--email", "eve.agent@example.com"],
        "id",
    );
    let team = create(&stack, &["team", "create", "--workspace", &theirs.id, "--name", "Theirs"], "teamId");
    let open =
        ["attribute", "create", "--workspace", &theirs.id, "--key-name", "secret", "--category", "OPEN"];
    let attribute = create(&stack, &open, "id");
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
    let template = ["template", "create", "--workspace", &theirs.id, "--name", "theirs", "--language", "es"];
    let template = create(&stack, &template, "templateId");
    let key = ["key", "create", "--workspace", &theirs.id, "--name", "theirs", "--scope", "users:read"];
    let key = create(&stack, &key, "keyId");
    let started = stack.api(Method::POST, &theirs, "/sessions", Some(json!({}))).await;
    let session = started.json["session"]["id"].as_str().expect("a session").to_owned();
    let endpoint = [
        "webhook",
        "create",
        "--workspace",
        &theirs.id,
        "--url",
        "https://hooks.example.com/",
        "--api-key",
        "k",
    ];
    let endpoint = create(&stack, &endpoint, "endpointId");
    let random = "7a1c1f6e-6f0e-4d55-9a5e-6d1d8d3d2c11".to_owned();
    let sent = stack.api(Method::POST, &theirs, &format!("/webhook-endpoints/{endpoint}/test"), None).await;
    let [event, delivery] =
        ["eventId", "deliveryId"].map(|id| sent.json[id].as_str().expect("an id").to_owned());
    let again = stack.api(Method::POST, &theirs, &format!("/deliveries/{delivery}/retry"), None).await;
    let job = again.json["id"].as_str().expect("a job").to_owned();
    let nowhere = format!("{random}.{random}");
    let number = Some(json!({"cellphone": "+34600111988"}));
    let opted_out = stack.api(Method::POST, &theirs, "/opt-outs", number).await;
    let opt_out = opted_out.json["id"].as_str().expect("an opt-out").to_owned();
    let lead = Capturing::of(&stack, &theirs, "Theirs", "1045551230077").lead(&stack, "+34600111977").await;

    // One row for each place where a request may have an id: the request with the foreign id and with an unknown one.
    let closed_id = closed["id"].as_str().unwrap().to_owned();
    let value_id = closed["values"][0]["id"].as_str().unwrap().to_owned();
    let my_closed_id = my_closed["id"].as_str().unwrap().to_owned();
    let mine_path = format!("/contacts/{my_contact}");
    let owner = |id: &str| json!({"ownerIdentifier": {"identifier": id, "identifierType": "ID"}});
    let owner_email =
        |email: &str| json!({"ownerIdentifier": {"identifier": email, "identifierType": "EMAIL"}});
    let open_entry = |id: &str| json!({"customAttributes": {"openAttributes": [{"customAttributeId": id, "content": "x"}]}});
    let closed_entry = |id: &str, value: &str| json!({"customAttributes": {"closedAttributes": [{"customAttributeId": id, "closedCustomAttributeIds": [value]}]}});
    let at = |method: Method, path: &str| (method, path.to_owned());
    let body = |what: &'static str, foreign: Value, unknown: Value| -> Row {
        let (method, path) = at(Method::PATCH, &mine_path);
        (what, method, path.clone(), path, Some(foreign), Some(unknown), 422)
    };
    let get = |what: &'static str, path: &str, foreign: &str, unknown: &str, status: u16| -> Row {
        (what, Method::GET, format!("{path}{foreign}"), format!("{path}{unknown}"), None, None, status)
    };
    let rename = Some(json!({"firstName": "X"}));
    let merge = |id: &str| Some(json!({"contactId": id}));
    let onboarding = |id: &str| Some(json!({"override": "ENTIRE", "sequence": [id]}));
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
        (
            "merge into",
            Method::POST,
            format!("/contacts/{contact}/merge"),
            format!("/contacts/{random}/merge"),
            merge(&my_contact),
            merge(&my_contact),
            404,
        ),
        (
            "merge",
            Method::POST,
            format!("/contacts/{my_contact}/merge"),
            format!("/contacts/{my_contact}/merge"),
            merge(&contact),
            merge(&random),
            422,
        ),
        get("GET user", "/users/", &user, &random, 404),
        get("GET team", "/teams/", &team, &random, 404),
        of_office("change user", Method::PATCH, "/users/", &user, &random),
        of_office("change team", Method::PATCH, "/teams/", &team, &random),
        of_office("delete team", Method::DELETE, "/teams/", &team, &random),
        of_office("opt in", Method::DELETE, "/opt-outs/", &opt_out, &format!("0.{}", "0".repeat(64))),
        get("GET attribute", "/settings/attributes/", &attribute, &random, 404),
        of_office("change attribute", Method::PATCH, "/settings/attributes/", &attribute, &random),
        of_value("add value", Method::POST, &closed_id, &random),
        of_value("rename value", Method::PATCH, &closed_id, &random),
        (
            "rename value of another attribute",
            Method::PATCH,
            format!("/settings/attributes/{my_closed_id}/values/{value_id}"),
            format!("/settings/attributes/{my_closed_id}/values/{random}"),
            Some(json!({"value": "x"})),
            Some(json!({"value": "x"})),
            404,
        ),
        (
            "lead template",
            Method::PATCH,
            "/settings/capture".to_owned(),
            "/settings/capture".to_owned(),
            Some(json!({"leadTemplateId": template})),
            Some(json!({"leadTemplateId": random})),
            422,
        ),
        (
            "template of the onboarding",
            Method::PUT,
            "/settings/onboarding".to_owned(),
            "/settings/onboarding".to_owned(),
            onboarding(&template),
            onboarding(&random),
            422,
        ),
        get("GET API key", "/api-keys/", &key, &random, 404),
        (
            "revoke API key",
            Method::DELETE,
            format!("/api-keys/{key}"),
            format!("/api-keys/{random}"),
            None,
            None,
            404,
        ),
        (
            "end session",
            Method::DELETE,
            format!("/sessions/{session}"),
            format!("/sessions/{random}"),
            None,
            None,
            404,
        ),
        get("GET webhook endpoint", "/webhook-endpoints/", &endpoint, &random, 404),
        of_endpoint("change webhook endpoint", Method::PATCH, "", &endpoint, &random),
        of_endpoint("delete webhook endpoint", Method::DELETE, "", &endpoint, &random),
        of_endpoint("enable webhook endpoint", Method::POST, "/enable", &endpoint, &random),
        of_endpoint("disable webhook endpoint", Method::POST, "/disable", &endpoint, &random),
        of_endpoint("rotate secret", Method::POST, "/rotate-secret", &endpoint, &random),
        of_endpoint("activate secret", Method::POST, "/activate-secret", &endpoint, &random),
        get("GET delivery", "/deliveries/", &delivery, &nowhere, 404),
        get("GET event", "/events/", &event, &random, 404),
        get("deliveries of an endpoint", "/deliveries?endpointId=", &endpoint, &random, 200),
        (
            "retry delivery",
            Method::POST,
            format!("/deliveries/{delivery}/retry"),
            format!("/deliveries/{nowhere}/retry"),
            None,
            None,
            404,
        ),
        get_job("GET job", Method::GET, "", (&endpoint, &job), &random),
        get_job("cancel job", Method::POST, "/cancel", (&endpoint, &job), &random),
        of_endpoint("list jobs", Method::GET, "/jobs", &endpoint, &random),
        of_endpoint("request job", Method::POST, "/jobs", &endpoint, &random),
        of_endpoint("test webhook endpoint", Method::POST, "/test", &endpoint, &random),
        get("GET lead", "/leads/", &lead, &random, 404),
        (
            "retry lead",
            Method::POST,
            format!("/leads/{lead}/retry"),
            format!("/leads/{random}/retry"),
            None,
            None,
            404,
        ),
        get("audit log by actor", "/audit-log?actorId=", &key, &random, 200),
        get("audit log by subject", "/audit-log?subjectId=", &key, &random, 200),
        get("owner filter", "/contacts?owner=", "eve.agent@example.com", "nobody@example.com", 200),
        get("external id", "/contacts?externalId=", "crm-theirs", "crm-nobody", 200),
        get("search", "/contacts?search=", "eve", "nobody", 200),
        body("owner by id", owner(&user), owner(&random)),
        body("owner by e-mail", owner_email("eve.agent@example.com"), owner_email("nobody@example.com")),
        body("open attribute", open_entry(&attribute), open_entry(&random)),
        body("closed attribute", closed_entry(&closed_id, &value_id), closed_entry(&random, &value_id)),
        body("closed value", closed_entry(&my_closed_id, &value_id), closed_entry(&my_closed_id, &random)),
    ];
    let named = [
        &nowhere, &delivery, &contact, &user, &template, &key, &endpoint, &event, &job, &attribute,
        &closed_id, &value_id, &random, &lead, &opt_out,
    ]
    .map(String::as_str);
    all_answer_alike(&stack, &mine, rows, &named).await;

    let definitions = stack.api(Method::GET, &mine, "/settings/attributes", None).await;
    assert!(!definitions.text.contains(&attribute) && !definitions.text.contains(&closed_id));
    let contacts = stack.api(Method::GET, &mine, "/contacts", None).await;
    assert_eq!(contacts.json["contacts"].as_array().unwrap().len(), 1);
    let keys = stack.api(Method::GET, &mine, "/api-keys", None).await;
    assert!(!keys.text.contains(&key) && keys.json["apiKeys"].as_array().unwrap().len() == 1);
    let sessions = stack.api(Method::GET, &mine, "/sessions", None).await;
    assert!(!sessions.text.contains(&session), "{}", sessions.text);
    keys_are_made_changed_and_revoked(&stack, &mine).await;
    a_link_leads_to_a_session(&stack, &mine, &theirs).await;
    endpoints_are_made_changed_and_deleted(&stack, &mine).await;
    deliveries_are_read_and_made_again(&stack, &mine).await;
    let theirs_now = stack.api(Method::GET, &theirs, &format!("/contacts/{contact}"), None).await;
    assert_eq!(theirs_now.json["firstName"], "Eve", "the other workspace must not change");

    wrong_keys_are_answered_alike(&stack, &mine, &theirs, &random).await;
}

/// The gateway passes each method of the management API, and an answer without a body.
async fn keys_are_made_changed_and_revoked(stack: &Stack, mine: &Workspace) {
    let body = json!({"name": "made", "scopes": ["users:read"], "rate": 1});
    let made = stack.api(Method::POST, mine, "/api-keys", Some(body)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/api-keys/{}", made.json["id"].as_str().expect("an id"));
    let changed = stack.api(Method::PATCH, mine, &path, Some(json!({"name": "other"}))).await;
    assert_eq!((changed.status, &changed.json["name"]), (200, &json!("other")));
    let revoked = stack.api(Method::DELETE, mine, &path, None).await;
    assert_eq!((revoked.status, revoked.text.as_str()), (204, ""));
    let log = stack.api(Method::GET, mine, "/audit-log?action=api_key.revoke", None).await;
    let (entry, key) = (&log.json["entries"][0], &made.json["id"]);
    assert_eq!((&entry["subject"]["id"], &entry["actor"]["type"]), (key, &json!("KEY")));
}

/// A link starts one session in its own workspace, which ends when its user signs out.
async fn a_link_leads_to_a_session(stack: &Stack, mine: &Workspace, theirs: &Workspace) {
    let link = stack.api(Method::POST, mine, "/portal-links", Some(json!({"role": "VIEWER"}))).await;
    assert_eq!(link.status, 201, "{}", link.text);
    let url = link.json["url"].as_str().expect("a URL");
    let token = url.rsplit('/').next().expect("a token").to_owned();
    let elsewhere = Workspace { id: theirs.id.clone(), key: token.clone() };
    let refused = stack.api(Method::POST, &elsewhere, "/sessions", Some(json!({}))).await;
    assert_eq!(refused.status, 403);
    let here = Workspace { id: mine.id.clone(), key: token };
    let started = stack.api(Method::POST, &here, "/sessions", Some(json!({}))).await;
    assert_eq!(started.status, 201, "{}", started.text);
    let again = stack.api(Method::POST, &here, "/sessions", Some(json!({}))).await;
    assert_eq!((again.status, &again.text), (403, &refused.text), "one answer for every reason");
    let key = started.json["apiKey"].as_str().expect("a key").to_owned();
    let visitor = Workspace { id: mine.id.clone(), key };
    let own = stack.api(Method::GET, &visitor, "/session", None).await;
    assert_eq!((own.status, &own.json["role"]), (200, &json!("VIEWER")));
    let beyond = stack.api(Method::GET, &visitor, "/contacts", None).await;
    assert_eq!((beyond.status, &beyond.text), (403, &refused.text));
    let ended = stack.api(Method::DELETE, &visitor, "/session", None).await;
    assert_eq!((ended.status, ended.text.as_str()), (204, ""));
}

/// The same for webhook endpoints.
async fn endpoints_are_made_changed_and_deleted(stack: &Stack, mine: &Workspace) {
    let body = json!({"url": "https://hooks.example.com/mine", "receiverKey": "k"});
    let made = stack.api(Method::POST, mine, "/webhook-endpoints", Some(body)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = format!("/webhook-endpoints/{}", made.json["id"].as_str().expect("an id"));
    let post = async |verb: &str| stack.api(Method::POST, mine, &format!("{path}/{verb}"), None).await;
    for (verb, field) in [("disable", "state"), ("enable", "job"), ("rotate-secret", "signingSecret")] {
        let answer = post(verb).await;
        assert!(answer.status == 200 && !answer.json[field].is_null(), "{verb} {}", answer.text);
    }
    assert_eq!(post("activate-secret").await.json["activated"], true);
    let changed = stack.api(Method::PATCH, mine, &path, Some(json!({"description": "mine"}))).await;
    assert_eq!((changed.status, &changed.json["description"]), (200, &json!("mine")));
    let listed = stack.api(Method::GET, mine, "/webhook-endpoints", None).await;
    assert_eq!(listed.json["webhookEndpoints"].as_array().map(Vec::len), Some(1));
    for _ in 0..2 {
        let deleted = stack.api(Method::DELETE, mine, &path, None).await;
        assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    }
}

/// Changes of the values of an attribute.
fn of_value(what: &'static str, method: Method, foreign: &str, unknown: &str) -> Row {
    let value = if method == Method::PATCH { "/7a1c1f6e-6f0e-4d55-9a5e-6d1d8d3d2c11" } else { "" };
    let path = |id: &str| format!("/settings/attributes/{id}/values{value}");
    let body = Some(json!({"value": "x"}));
    (what, method, path(foreign), path(unknown), body.clone(), body, 404)
}

/// Changes of a user, a team or an attribute.
fn of_office(what: &'static str, method: Method, path: &str, foreign: &str, unknown: &str) -> Row {
    let body = (method == Method::PATCH).then(|| json!({}));
    (what, method, format!("{path}{foreign}"), format!("{path}{unknown}"), body.clone(), body, 404)
}

/// Requests about a webhook endpoint.
fn of_endpoint(what: &'static str, method: Method, verb: &str, foreign: &str, unknown: &str) -> Row {
    let path = |id: &str| format!("/webhook-endpoints/{id}{verb}");
    let since = "2026-01-01T00:00:00Z";
    let body = match (&method, verb) {
        (&Method::PATCH, _) => Some(json!({"description": "x"})),
        (&Method::POST, "/jobs") => Some(json!({"what": "RECOVER", "since": since})),
        _ => None,
    };
    (what, method, path(foreign), path(unknown), body.clone(), body, 404)
}

/// Requests about a job of a webhook endpoint.
fn get_job(
    what: &'static str,
    method: Method,
    verb: &str,
    (endpoint, job): (&str, &str),
    unknown: &str,
) -> Row {
    let path = |endpoint: &str, job: &str| format!("/webhook-endpoints/{endpoint}/jobs/{job}{verb}");
    (what, method, path(endpoint, job), path(unknown, unknown), None, None, 404)
}

/// The same for deliveries, jobs and events.
async fn deliveries_are_read_and_made_again(stack: &Stack, mine: &Workspace) {
    let body = json!({"url": "https://hooks.example.com/mine", "receiverKey": "k"});
    let made = stack.api(Method::POST, mine, "/webhook-endpoints", Some(body)).await;
    let endpoint = format!("/webhook-endpoints/{}", made.json["id"].as_str().expect("an id"));
    let sent = stack.api(Method::POST, mine, &format!("{endpoint}/test"), None).await;
    assert_eq!(sent.status, 201, "{}", sent.text);
    let [event, delivery] =
        ["eventId", "deliveryId"].map(|id| sent.json[id].as_str().expect("an id").to_owned());
    let log = stack.api(Method::GET, mine, "/deliveries", None).await;
    assert_eq!(
        (log.json["deliveries"].as_array().map(Vec::len), &log.json["deliveries"][0]["id"]),
        (Some(1), &json!(delivery))
    );
    let one = stack.api(Method::GET, mine, &format!("/deliveries/{delivery}"), None).await;
    assert_eq!((one.status, &one.json["url"]), (200, &json!("https://hooks.example.com/mine")));
    let retry = stack.api(Method::POST, mine, &format!("/deliveries/{delivery}/retry"), None).await;
    assert_eq!((retry.status, &retry.json["what"]), (201, &json!("RETRY")), "{}", retry.text);
    let jobs = stack.api(Method::GET, mine, &format!("{endpoint}/jobs"), None).await;
    assert_eq!(jobs.json["jobs"][0]["id"], retry.json["id"]);
    let events = stack.api(Method::GET, mine, "/events?include=body", None).await;
    let read = stack.api(Method::GET, mine, &format!("/events/{event}"), None).await;
    assert_eq!((events.status, read.status), (200, 200), "{} {}", events.text, read.text);
    assert_eq!(events.json["events"][0]["body"], read.json["body"]);
    assert!(read.json["body"].as_str().is_some_and(|body| body.contains("webhook.test")));
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

fn create(stack: &Stack, arguments: &[&str], field: &str) -> String {
    stack.console(arguments)[field].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn personal_data_and_secrets_never_reach_a_log() {
    let stack = Stack::start("private", &[QUICK, "LogLevel=trace"]).await;
    let workspace = stack.workspace("Canary");
    let contact = stack.contact(&workspace, "Canaryfirst", "canarymail@example.com", "+12025550177");
    let webhook = stack.webhook(&workspace, "/fail-first/1/canarypath?token=canarytoken", &[]);
    let tier = create(
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
    // A row of a newer release. The error names the row, and the row's key contains an address.
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
    assert!(
        logs.contains("answered") && logs.contains("cannot be read"),
        "the logs of the functions are missing"
    );
    let secret = webhook["secret"].as_str().unwrap();
    for canary in
        ["canary", "Canary", "2025550177", "other@example.com", "customer-key", secret, &workspace.key]
    {
        if let Some(line) = logs.lines().find(|line| line.contains(canary)) {
            panic!("a log contains {canary:?}: {line}");
        }
    }
}

const QUICK: &str = crate::stack::QUICK_RETRIES;
