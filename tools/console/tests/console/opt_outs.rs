use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;

use crate::Desk;

#[tokio::test]
async fn a_number_is_added_once_and_removed() {
    let (desk, workspace) = Desk::with_workspace().await;
    let add = ["opt-out", "add", "--workspace", &workspace, "--cellphone", "+34600111222"];
    let list = ["opt-out", "list", "--workspace", &workspace];
    assert_snapshot!(desk.run(&list).await.out, @"None.");
    let added = desk.json(&add).await;
    assert_eq!(
        added,
        json!({
            "cellphone": "+34600111222",
            "userId": null,
            "scope": "ALL",
            "providerChannelId": null,
            "source": "OPERATOR",
            "since": "2026-01-02T03:04:05.678Z",
        })
    );
    desk.db.clock().advance(Duration::from_secs(60));
    assert_eq!(desk.json(&add).await, added, "the time of the first addition must stay");
    let other = ["opt-out", "add", "--workspace", &workspace, "--cellphone", "+33600111222", "--marketing"];
    assert_eq!(desk.json(&other).await["scope"], "MARKETING");
    assert_snapshot!(desk.run(&list).await.out, @"
    NUMBER OR USER ID  OF         SOURCE    SINCE
    +33600111222       MARKETING  OPERATOR  2026-01-02T03:05:05.678Z
    +34600111222       ALL        OPERATOR  2026-01-02T03:04:05.678Z
    ");
    assert_eq!(desk.json(&list).await[1], added);

    let remove = ["opt-out", "remove", "--workspace", &workspace, "--cellphone", "+34600111222"];
    let removed = json!({"cellphone": "+34600111222", "removed": true});
    assert_eq!(desk.json(&remove).await, removed);
    let not_listed = json!({"cellphone": "+34600111222", "removed": false});
    assert_eq!(desk.json(&remove).await, not_listed, "it succeeds again, and says that nothing changed");
    assert_eq!(desk.json(&list).await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn each_workspace_has_its_own_numbers() {
    let (desk, workspace) = Desk::with_workspace().await;
    let other = desk.json(&["workspace", "create", "--name", "Other"]).await;
    let other = other["workspaceId"].as_str().unwrap();
    desk.json(&["opt-out", "add", "--workspace", &workspace, "--cellphone", "+34600111222"]).await;
    desk.json(&["opt-out", "remove", "--workspace", other, "--cellphone", "+34600111222"]).await;
    assert_eq!(desk.json(&["opt-out", "list", "--workspace", other]).await, json!([]));
    let mine = desk.json(&["opt-out", "list", "--workspace", &workspace]).await;
    assert_eq!(mine.as_array().unwrap().len(), 1);
    let nobody = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
    for verb in ["add", "remove"] {
        let command = ["opt-out", verb, "--workspace", nobody, "--cellphone", "+34600111222"];
        assert_eq!(desk.refused(&command).await, format!("There is no workspace {nobody}."));
    }
    let list = ["opt-out", "list", "--workspace", nobody];
    assert_eq!(desk.refused(&list).await, format!("There is no workspace {nobody}."));
}

#[tokio::test]
async fn concurrent_additions_of_a_number_add_it_once() {
    let (desk, workspace) = Desk::with_workspace().await;
    let add = ["opt-out", "add", "--workspace", &workspace, "--cellphone", "+34600111222"];
    let (one, other) = tokio::join!(desk.json(&add), desk.json(&add));
    assert_eq!(one, other);
    assert_eq!(desk.json(&["opt-out", "list", "--workspace", &workspace]).await, json!([one]));
}

#[tokio::test]
async fn keywords_are_replaced_and_reset() {
    let (desk, workspace) = Desk::with_workspace().await;
    let of = |verb, rest: &[&'static str]| {
        let command = ["opt-out", verb, "--workspace", &workspace].map(str::to_owned);
        command.into_iter().chain(rest.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>()
    };
    let run =
        async |command: Vec<String>| desk.json(&command.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let defaults = json!({
        "stop": ["STOP", "UNSUBSCRIBE", "BAJA", "ALTO", "PARAR"],
        "stopMarketing": ["STOP PROMOTIONS", "DETENER PROMOCIONES", "PARAR PROMOÇÕES"],
        "start": ["START", "ALTA"],
        "isDefault": true,
    });
    assert_eq!(run(of("keywords", &[])).await, defaults);
    let own = json!({"stop": ["No más", "AUS"], "stopMarketing": ["Keine Werbung"], "start": [], "isDefault": false});
    assert_eq!(
        run(of(
            "set-keywords",
            &["--stop", "No más", "--stop", "AUS", "--stop", "aus", "--stop-marketing", "Keine Werbung"]
        ))
        .await,
        own
    );
    assert_eq!(run(of("keywords", &[])).await, own);
    assert_eq!(run(of("reset-keywords", &[])).await, defaults);
    assert_eq!(run(of("keywords", &[])).await, defaults);
    let both = of("set-keywords", &["--stop", "ALTA", "--start", "álta"]);
    let refused = desk.refused(&both.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(refused, "The keywords are refused: álta cannot be a keyword of two kinds.");
}
