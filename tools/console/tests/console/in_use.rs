//! Names that are taken, settings that are used, and lines that belong to another workspace.

use domain::{ConversationStatus, WorkspaceId};
use harness::World;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::Desk;

/// A desk at a workspace.
struct At {
    desk: Desk,
    workspace: String,
}

impl At {
    async fn new() -> Self {
        let (desk, workspace) = Desk::with_workspace().await;
        Self { desk, workspace }
    }

    fn line<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [arguments, &["--workspace", &self.workspace]].concat()
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        self.desk.json(&self.line(arguments)).await
    }

    async fn refused(&self, arguments: &[&str]) -> String {
        self.desk.refused(&self.line(arguments)).await
    }

    async fn brand(&self, id: &str) {
        self.json(&["brand", "create", "--name", id, "--id", id]).await;
    }

    fn create_line<'a>(channel: &'a str, brand: &'a str) -> [&'a str; 10] {
        ["line", "create", "--channel", channel, "--brand", brand, "--business-account", "2", "--token", "t"]
    }

    /// Creates a setting and returns its id.
    async fn made(&self, arguments: &[&str], id: &str) -> String {
        self.json(arguments).await[id].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_name_is_unique_within_its_kind_and_its_workspace() {
    let at = At::new().await;
    at.json(&["brand", "create", "--name", "Aster", "--id", "a"]).await;
    at.json(&["brand", "create", "--name", "Aster Kids", "--id", "b"]).await;
    for name in ["Aster", " aSTER "] {
        let again = at.refused(&["brand", "create", "--name", name]).await;
        assert_eq!(again, "This cannot be created: the brand a already has this name.");
        let renamed = at.refused(&["brand", "rename", "--brand", "b", "--name", name]).await;
        assert_eq!(renamed, "The name is refused: the brand a already has this name.");
    }
    let own = at.json(&["brand", "rename", "--brand", "a", "--name", "ASTER"]).await;
    assert_eq!(own["name"], "ASTER");
    assert_eq!(at.json(&["brand", "rename", "--brand", "a", "--name", "ASTER"]).await, own);

    for channel in ["1", "2"] {
        at.json(&At::create_line(channel, "a")).await;
    }
    let named = at.json(&["line", "rename", "--channel", "1", "--name", "Sales"]).await;
    assert_eq!(named["name"], "Sales");
    assert_eq!(at.json(&["line", "rename", "--channel", "1", "--name", "Sales"]).await, named);
    let taken = at.refused(&["line", "rename", "--channel", "2", "--name", "sales"]).await;
    assert_eq!(taken, "The name is refused: the line 1 already has this name.");
    let create = [&At::create_line("3", "a")[..], &["--name", "SALES"]].concat();
    assert_eq!(at.refused(&create).await, "This cannot be created: the line 1 already has this name.");
    let create = [&At::create_line("3", "a")[..], &["--name", "Support"]].concat();
    assert_eq!(at.json(&create).await["name"], "Support");

    let team = at.made(&["team", "create", "--name", "Sales"], "teamId").await;
    let other = at.made(&["team", "create", "--name", "Desk"], "teamId").await;
    let taken = format!("The name is refused: the team {team} already has this name.");
    assert_eq!(at.refused(&["team", "create", "--name", "sales"]).await, taken);
    assert_eq!(at.refused(&["team", "rename", "--team", &other, "--name", "SALES "]).await, taken);
    let renamed = at.json(&["team", "rename", "--team", &other, "--name", "Support"]).await;
    assert_eq!(renamed["name"], "Support");

    let welcome = ["template", "create", "--name", "welcome", "--language", "es"];
    let template = at.made(&welcome, "templateId").await;
    let taken =
        format!("The name is refused: the template {template} already has this name in this language.");
    assert_eq!(at.refused(&welcome).await, taken);
    at.json(&["template", "create", "--name", "welcome", "--language", "en"]).await;
    // The platform has templates of its own.
    let platforms = [&welcome[..], &["--platform"]].concat();
    at.desk.json(&platforms).await;
    assert!(at.desk.refused(&platforms).await.starts_with("The name is refused: the template "));

    // Another workspace has names of its own.
    let other = at.desk.json(&["workspace", "create", "--name", "Other"]).await;
    let other = At { desk: at.desk, workspace: other["workspaceId"].as_str().unwrap().to_owned() };
    other.json(&["brand", "create", "--name", "Aster", "--id", "a"]).await;
    other.json(&["team", "create", "--name", "Sales"]).await;
    other.json(&welcome).await;
}

#[tokio::test]
async fn of_concurrent_settings_with_the_same_name_one_is_created() {
    let at = At::new().await;
    for (noun, more) in [
        (["brand", "create"], &["--name", "Aster"][..]),
        (["team", "create"], &["--name", "Aster"]),
        (["template", "create"], &["--name", "aster", "--language", "es"]),
        (["attribute", "create"], &["--key-name", "Aster", "--category", "OPEN"]),
    ] {
        let create = at.line(&[&noun, more].concat());
        let ran = futures::future::join_all((0..4).map(|_| at.desk.run(&create))).await;
        let done = ran.iter().filter(|ran| ran.status == 0).count();
        assert_eq!(done, 1, "{noun:?}: {ran:?}");
        let listed = at.json(&[noun[0], "list"]).await;
        assert_eq!(listed.as_array().unwrap().len(), 1, "{noun:?}");
    }
    let create = ["template", "create", "--platform", "--name", "aster", "--language", "es"];
    let ran = futures::future::join_all((0..4).map(|_| at.desk.run(&create))).await;
    assert_eq!(ran.iter().filter(|ran| ran.status == 0).count(), 1, "{ran:?}");
}

#[tokio::test]
async fn a_brand_is_deleted_if_no_line_and_no_lead_capture_uses_it() {
    let at = At::new().await;
    at.brand("a").await;
    for channel in ["1", "2"] {
        at.json(&At::create_line(channel, "a")).await;
    }
    at.json(&["capture", "set", "--brand", "a"]).await;
    let delete = ["brand", "delete", "--brand", "a"];
    assert_snapshot!(at.refused(&delete).await, @"The brand cannot be deleted: it is used by line 1; line 2; lead capture.");
    at.json(&["capture", "set", "--no-brand"]).await;
    for channel in ["2", "1"] {
        at.json(&["line", "delete", "--channel", channel]).await;
    }
    assert_eq!(at.json(&delete).await, json!({"brandId": "a", "deleted": true}));
    assert_eq!(at.json(&["brand", "list"]).await, json!([]));
    assert_eq!(at.refused(&delete).await, "The workspace has no brand a.");
    at.brand("b").await;
    let deleted = at.desk.run(&at.line(&["brand", "delete", "--brand", "b"])).await;
    assert_eq!(deleted.out, "deleted  b\n");
}

#[tokio::test]
async fn a_line_is_deleted_if_nobody_would_have_to_send_from_another_one() {
    let at = At::new().await;
    at.brand("a").await;
    for channel in ["1", "2"] {
        at.json(&At::create_line(channel, "a")).await;
    }
    let delete = ["line", "delete", "--channel", "1"];
    assert_snapshot!(at.refused(&delete).await, @"The line cannot be deleted: it is used by the workspace, whose default line it is and which has other lines; brand a, which sends from it and has other lines.");
    at.json(&["line", "default", "--channel", "2"]).await;
    assert_snapshot!(at.refused(&delete).await, @"The line cannot be deleted: it is used by brand a, which sends from it and has other lines.");
    let default = at.json(&["line", "default", "--channel", "2", "--of-brand"]).await;
    assert_eq!(at.json(&["line", "default", "--channel", "2", "--of-brand"]).await, default);
    assert_eq!(at.json(&["brand", "list"]).await[0]["providerChannelId"], "2");
    assert_eq!(at.json(&delete).await, json!({"providerChannelId": "1", "deleted": true}));
    assert_eq!(at.refused(&delete).await, "The workspace has no line 1.");

    // The last line can be deleted, but not while leads are answered from it.
    let template = ["template", "create", "--name", "hello", "--language", "en", "--approved", "2"];
    let template = at.made(&template, "templateId").await;
    let enable =
        ["capture", "enable", "--origin", "https://a.example", "--secret", "s", "--template", &template];
    at.json(&enable).await;
    let delete = ["line", "delete", "--channel", "2"];
    assert_eq!(at.refused(&delete).await, "The line cannot be deleted: it is used by lead capture.");
    at.json(&["capture", "disable"]).await;
    at.json(&delete).await;
    assert_eq!(at.json(&["line", "list"]).await, json!([]));
    assert_eq!(at.json(&["brand", "list"]).await[0]["providerChannelId"], Value::Null);
    // A new line is the default again.
    assert_eq!(at.json(&At::create_line("2", "a")).await["isDefault"], true);
}

#[tokio::test]
async fn a_line_of_a_conversation_that_is_not_released_is_not_deleted() {
    let world = World::start().await;
    world.line("1", |_| ()).await;
    let channel = |status| {
        move |conversation: &mut domain::Conversation| {
            conversation.externals[0].channel = domain::ChannelId::parse("1").unwrap();
            conversation.status = status;
        }
    };
    world.conversation(channel(ConversationStatus::Released)).await;
    let open = world.conversation(channel(ConversationStatus::Blocked)).await;
    let at = At { desk: Desk::over(world.db), workspace: World::WORKSPACE.to_owned() };
    let delete = ["line", "delete", "--channel", "1"];
    let refused = format!("The line cannot be deleted: it is used by conversation {}.", open.id);
    assert_eq!(at.refused(&delete).await, refused);
    let listed = at.json(&["line", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_template_is_deleted_if_neither_the_onboarding_nor_lead_capture_names_it() {
    let at = At::new().await;
    let create = ["template", "create", "--name", "hello", "--language", "en", "--approved", "2"];
    let template = at.made(&create, "templateId").await;
    at.json(&["onboarding", "set", "--override", "ENTIRE", "--sequence", &template]).await;
    at.json(&["capture", "set", "--template", &template]).await;
    let delete = ["template", "delete", "--template", &template];
    assert_eq!(
        at.refused(&delete).await,
        "The template cannot be deleted: it is used by the onboarding; lead capture."
    );
    let shown = at.json(&["template", "show", "--template", &template]).await;
    assert_eq!(shown["usedBy"], json!(["the onboarding", "lead capture"]));
    at.json(&["onboarding", "set", "--override", "ENTIRE"]).await;
    let without = at.json(&["capture", "set", "--no-template"]).await;
    assert_eq!(without["leadTemplateId"], Value::Null);
    assert_eq!(at.json(&delete).await, json!({"templateId": template, "deleted": true}));
    assert_eq!(at.refused(&delete).await, format!("There is no template {template} in this scope."));

    let platforms = [&create[..], &["--platform"]].concat();
    let template = at.desk.json(&platforms).await["templateId"].as_str().unwrap().to_owned();
    let of_platform = ["--platform", "--template", template.as_str()];
    let delete = [&["template", "delete"], &of_platform[..]].concat();
    assert_eq!(
        at.desk.refused(&delete).await,
        "The template cannot be deleted: it is used by 1 account for which it is approved."
    );
    let revoke = [&["template", "revoke", "--business-account", "2"], &of_platform[..]].concat();
    at.desk.json(&revoke).await;
    at.desk.json(&delete).await;
    assert_eq!(at.desk.json(&["template", "list", "--platform"]).await, json!([]));
}

/// Whoever is judged by the workspace as it was before loses and is judged again.
#[tokio::test]
async fn a_template_that_is_deleted_and_put_into_use_at_the_same_time_is_one_of_both() {
    for round in 0..6 {
        let at = At::new().await;
        let create = ["template", "create", "--name", "hello", "--language", "en"];
        let template = at.made(&create, "templateId").await;
        let delete = at.line(&["template", "delete", "--template", &template]);
        let put = match round % 2 {
            0 => at.line(&["onboarding", "set", "--override", "ENTIRE", "--sequence", &template]),
            _ => at.line(&["capture", "set", "--template", &template]),
        };
        let (deleted, used) = match round % 3 {
            0 => tokio::join!(at.desk.run(&delete), at.desk.run(&put)),
            _ => {
                let (used, deleted) = tokio::join!(at.desk.run(&put), at.desk.run(&delete));
                (deleted, used)
            }
        };
        assert_eq!(deleted.status + used.status, 1, "{deleted:?} {used:?}");
        let left = at.json(&["template", "list"]).await;
        assert_eq!(left.as_array().unwrap().len(), usize::from(used.status == 0));
    }
}

#[tokio::test]
async fn a_team_is_deleted_if_it_has_no_members() {
    let at = At::new().await;
    at.json(&["user", "create", "--email", "ada@example.com"]).await;
    let team = at.made(&["team", "create", "--name", "Sales", "--user", "ada@example.com"], "teamId").await;
    let delete = ["team", "delete", "--team", &team];
    assert_eq!(at.refused(&delete).await, "The team cannot be deleted: it is used by 1 member.");
    at.json(&["team", "remove", "--team", &team, "--user", "ada@example.com"]).await;
    assert_eq!(at.json(&delete).await, json!({"teamId": team, "deleted": true}));
    assert_eq!(at.json(&["team", "list"]).await, json!([]));
    assert_eq!(at.refused(&delete).await, format!("The workspace has no team {team}."));
}

#[tokio::test]
async fn a_line_belongs_to_one_workspace_until_it_is_deleted_there() {
    let at = At::new().await;
    at.brand("a").await;
    at.json(&At::create_line("1", "a")).await;
    let other = at.desk.json(&["workspace", "create", "--name", "Other"]).await;
    let other = other["workspaceId"].as_str().unwrap().to_owned();
    at.desk.json(&["brand", "create", "--name", "a", "--id", "a", "--workspace", &other]).await;
    let create = [&At::create_line("1", "a")[..], &["--workspace", &other]].concat();
    let belongs = format!("The line 1 belongs to workspace {}: delete it there first.", at.workspace);
    assert_eq!(at.desk.refused(&create).await, belongs);
    assert_eq!(at.desk.json(&["line", "list", "--workspace", &other]).await, json!([]));

    at.json(&["line", "delete", "--channel", "1"]).await;
    at.desk.json(&create).await;
    let belongs = format!("The line 1 belongs to workspace {other}: delete it there first.");
    assert_eq!(at.refused(&At::create_line("1", "a")).await, belongs);
    let claim = domain::ChannelId::parse("1").unwrap();
    let claim = at.desk.db.store().line_claim(&claim).await.unwrap();
    assert_eq!(claim, WorkspaceId::parse(&other).ok());
}
