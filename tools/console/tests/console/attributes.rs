use insta::{assert_json_snapshot, assert_snapshot};

use crate::Desk;

#[tokio::test]
async fn attributes_are_created_archived_and_listed() {
    let (desk, workspace) = Desk::with_workspace().await;
    let plan = desk
        .json(&[
            "attribute",
            "create",
            "--workspace",
            &workspace,
            "--key-name",
            "plan",
            "--category",
            "CLOSED",
            "--required",
            "--value",
            "Free",
            "--value",
            "Team",
        ])
        .await;
    assert_json_snapshot!(plan, @r#"
    {
      "archived": false,
      "category": "CLOSED",
      "id": "00000000-0000-4000-8000-000000000004",
      "isRequired": true,
      "keyName": "plan",
      "type": "TEXT",
      "values": [
        {
          "id": "00000000-0000-4000-8000-000000000005",
          "value": "Free"
        },
        {
          "id": "00000000-0000-4000-8000-000000000006",
          "value": "Team"
        }
      ]
    }
    "#);
    let seats = desk
        .json(&[
            "attribute",
            "create",
            "--workspace",
            &workspace,
            "--key-name",
            "seats",
            "--category",
            "OPEN",
            "--type",
            "NUMBER",
        ])
        .await;
    let archive =
        ["attribute", "archive", "--workspace", &workspace, "--attribute", seats["id"].as_str().unwrap()];
    assert_json_snapshot!(desk.json(&archive).await, @r#"
    {
      "archived": true,
      "category": "OPEN",
      "id": "00000000-0000-4000-8000-000000000008",
      "isRequired": false,
      "keyName": "seats",
      "type": "NUMBER",
      "values": []
    }
    "#);
    desk.json(&archive).await;
    assert_snapshot!(desk.run(&["attribute", "list", "--workspace", &workspace]).await.out, @"
    ATTRIBUTE                             KEY NAME  CATEGORY  TYPE    STATE     VALUES
    00000000-0000-4000-8000-000000000004  plan      CLOSED    TEXT    required  Free; Team
    00000000-0000-4000-8000-000000000008  seats     OPEN      NUMBER  archived  -
    ");
}

#[tokio::test]
async fn archiving_an_attribute_frees_its_key_name() {
    let (desk, workspace) = Desk::with_workspace().await;
    let create =
        ["attribute", "create", "--workspace", &workspace, "--key-name", "plan", "--category", "OPEN"];
    let first = desk.json(&create).await;
    let id = first["id"].as_str().unwrap();
    assert_eq!(
        desk.refused(&create).await,
        format!("The attribute cannot be created: the active attribute {id} already has this key name.")
    );
    desk.json(&["attribute", "archive", "--workspace", &workspace, "--attribute", id]).await;
    desk.json(&create).await;
}

#[tokio::test]
async fn an_invalid_definition_is_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let create = async |more: &[&str]| {
        desk.refused(&[&["attribute", "create", "--workspace", &workspace], more].concat()).await
    };
    assert_snapshot!(create(&["--key-name", "k", "--category", "CLOSED"]).await, @"The attribute cannot be created: a CLOSED attribute has 1 to 50 values.");
    assert_snapshot!(create(&["--key-name", "k", "--category", "OPEN", "--value", "v"]).await, @"The attribute cannot be created: an OPEN attribute has no values.");
    assert_snapshot!(create(&["--key-name", " ", "--category", "OPEN"]).await, @"The attribute cannot be created: the key name is invalid: a key name cannot be blank or contain control characters.");
    let twice = ["--key-name", "k", "--category", "CLOSED", "--value", "v", "--value", "v"];
    assert_snapshot!(create(&twice).await, @r#"The attribute cannot be created: the value "v" is repeated."#);
    let nothing = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    let archive = ["attribute", "archive", "--workspace", &workspace, "--attribute", nothing];
    assert_snapshot!(desk.refused(&archive).await, @"The workspace has no attribute 3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90.");
}

#[tokio::test]
async fn concurrent_creations_stop_at_a_hundred_attributes() {
    let (desk, workspace) = Desk::with_workspace().await;
    for round in 0..11 {
        let names: Vec<String> = (0..10).map(|n| format!("key{round}-{n}")).collect();
        let made = names.iter().map(|name| async {
            let name = name.as_str();
            let create =
                ["attribute", "create", "--workspace", &workspace, "--key-name", name, "--category", "OPEN"];
            desk.run(&create).await.status
        });
        let statuses = futures::future::join_all(made).await;
        let expected = if round < 10 { 0 } else { 1 };
        assert_eq!(statuses, [expected; 10], "round {round}");
    }
    let listed = desk.json(&["attribute", "list", "--workspace", &workspace]).await;
    assert_eq!(listed.as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn an_archived_attribute_becomes_active_again_unless_its_key_name_is_taken() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", workspace.as_str()];
    let create = async |name: &str| {
        let create = ["attribute", "create", "--key-name", name, "--category", "OPEN"];
        let made = desk.json(&[&create, &within[..]].concat()).await;
        made["id"].as_str().unwrap().to_owned()
    };
    let first = create("plan").await;
    let of_first = [&["--attribute", first.as_str()], &within[..]].concat();
    desk.json(&[&["attribute", "archive"], &of_first[..]].concat()).await;
    let second = create("Plan").await;
    let unarchive = [&["attribute", "unarchive"], &of_first[..]].concat();
    let taken =
        format!("The attribute is unchanged: the active attribute {second} already has this key name.");
    assert_eq!(desk.refused(&unarchive).await, taken);

    let rename = [&["attribute", "rename", "--attribute", &second], &within[..]].concat();
    let renamed = desk.json(&[&rename[..], &["--key-name", "tier"]].concat()).await;
    assert_eq!((&renamed["id"], &renamed["keyName"]), (&second.as_str().into(), &"tier".into()));
    assert_eq!(desk.json(&[&rename[..], &["--key-name", "tier"]].concat()).await, renamed);
    for _ in 0..2 {
        assert_eq!(desk.json(&unarchive).await["archived"], false);
    }
    let refused = desk.refused(&[&rename[..], &["--key-name", " PLAN"]].concat()).await;
    assert_eq!(
        refused,
        format!("The attribute is unchanged: the active attribute {first} already has this key name.")
    );
    let blank = desk.refused(&[&rename[..], &["--key-name", " "]].concat()).await;
    assert_snapshot!(blank, @"The attribute is unchanged: the key name is invalid: a key name cannot be blank or contain control characters.");
}

#[tokio::test]
async fn values_are_added_and_renamed_and_keep_their_ids() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", workspace.as_str()];
    let create = ["attribute", "create", "--key-name", "tier", "--category", "CLOSED", "--value", "gold"];
    let made = desk.json(&[&create, &within[..]].concat()).await;
    let of_made = [&["--attribute", made["id"].as_str().unwrap()], &within[..]].concat();
    let add = |value: &'static str| [&["attribute", "add-value", "--value", value], &of_made[..]].concat();
    let two = desk.json(&add("silver")).await;
    assert_eq!(two["values"][0], made["values"][0]);
    assert_eq!(two["values"][1]["value"], "silver");
    assert_eq!(desk.json(&add("silver")).await, two);
    assert_snapshot!(desk.refused(&add(" Gold")).await, @r#"The attribute is unchanged: the value " Gold" is repeated."#);

    let rename = |value: &str, to: &str| {
        let rename = ["attribute", "rename-value", "--value", value, "--to", to];
        [&rename, &of_made[..]].concat().iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let words = |line: &Vec<String>| line.clone();
    let by_text = words(&rename("silver", "platinum"));
    let renamed = desk.json(&by_text.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(renamed["values"][1]["id"], two["values"][1]["id"]);
    assert_eq!(renamed["values"][1]["value"], "platinum");
    assert_eq!(desk.json(&by_text.iter().map(String::as_str).collect::<Vec<_>>()).await, renamed);
    let by_id = words(&rename(two["values"][1]["id"].as_str().unwrap(), "silver"));
    assert_eq!(desk.json(&by_id.iter().map(String::as_str).collect::<Vec<_>>()).await, two);
    for (line, sentence) in [
        (rename("bronze", "copper"), "The attribute has no value \"bronze\"."),
        (rename("silver", "GOLD"), "The attribute is unchanged: the value \"GOLD\" is repeated."),
    ] {
        assert_eq!(desk.refused(&line.iter().map(String::as_str).collect::<Vec<_>>()).await, sentence);
    }
}
