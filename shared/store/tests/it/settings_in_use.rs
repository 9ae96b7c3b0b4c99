//! Settings that are renamed and deleted: unique names, claims of lines, and what refers to a setting in between.

use domain::settings::template::Form;
use domain::{
    Brand, BrandId, BusinessAccountId, ChannelId, Line, Provider, Secret, Team, TeamId, Template, TemplateId,
    TemplateScope, UserId, Workspace, WorkspaceId,
};
use harness::{TestClock, TestDb, operator, trips};
use store::{LineCreated, SettingCreated, Store, TemplateCreated, TemplateOwner};

async fn workspace(db: &TestDb) -> WorkspaceId {
    let id = WorkspaceId::generate(db.store().ids());
    let made = Workspace::new(id, "Aster", TestClock::START).unwrap();
    assert!(db.store().create_workspace(&made).await.unwrap());
    id
}

/// The workspace as it is now.
async fn now(db: &TestDb, id: WorkspaceId) -> Workspace {
    db.store().workspace(id).await.unwrap().unwrap()
}

async fn brand(db: &TestDb, workspace: WorkspaceId, id: &str) -> Brand {
    let brand = Brand::new(BrandId::parse(id).unwrap(), workspace, id, TestClock::START).unwrap();
    assert!(db.store().create_brand(&now(db, workspace).await, &brand).await.unwrap());
    brand
}

fn line(workspace: WorkspaceId, channel: &str) -> Line {
    let (channel, brand) = (ChannelId::parse(channel).unwrap(), BrandId::parse("a").unwrap());
    let account = BusinessAccountId::parse("2").unwrap();
    Line::new(workspace, channel, brand, account, TestClock::START).unwrap()
}

async fn create_line(db: &TestDb, line: &Line) -> LineCreated {
    let next = now(db, line.workspace_id).await.with_line(&line.channel, false);
    db.store().create_line(&next, line, None, &Secret::new("token")).await.unwrap()
}

async fn claim(db: &TestDb, line: &Line) -> Option<WorkspaceId> {
    db.store().line_claim(&line.channel).await.unwrap()
}

fn team(db: &TestDb, workspace: WorkspaceId) -> Team {
    Team::new(TeamId::generate(db.store().ids()), workspace, "Sales", TestClock::START).unwrap()
}

fn template(store: &Store, scope: TemplateScope) -> Template {
    Template {
        id: TemplateId::generate(store.ids()),
        scope,
        provider: Provider::WhatsApp,
        name: "welcome".to_owned(),
        language: "es".to_owned(),
        category: None,
        form: Form::of_names(vec![]),
        sources: [].into(),
        states: [].into(),
        taken_from: None,
        created_at: TestClock::START,
        updated_at: TestClock::START,
        version: 1,
    }
}

#[tokio::test]
async fn a_line_id_belongs_to_one_workspace_and_is_free_again_when_its_line_is_deleted() {
    let db = TestDb::start().await;
    let (one, other) = (workspace(&db).await, workspace(&db).await);
    let (mine, theirs) = (line(one, "1"), line(other, "1"));
    assert_eq!(create_line(&db, &mine).await, LineCreated::Done);
    assert_eq!(claim(&db, &mine).await, Some(one));

    db.forget_calls();
    assert_eq!(create_line(&db, &theirs).await, LineCreated::OfWorkspace(one));
    // The workspace is read, and one transaction is refused.
    assert_eq!(trips(&db.calls()), 2);
    assert_eq!(db.store().lines(other).await.unwrap().lines, []);
    assert_eq!(db.store().line_token(other, &theirs.channel).await.unwrap(), None);

    let next = now(&db, one).await.without_line(&mine.channel);
    assert!(db.store().delete_line(&next, &mine, None, true).await.unwrap());
    assert_eq!((claim(&db, &mine).await, now(&db, one).await), (None, next));
    assert_eq!(db.store().lines(one).await.unwrap().lines, []);
    assert_eq!(db.store().line_token(one, &mine.channel).await.unwrap(), None);
    assert_eq!(create_line(&db, &theirs).await, LineCreated::Done);
    assert_eq!(claim(&db, &mine).await, Some(other));
}

#[tokio::test]
async fn of_two_workspaces_that_create_the_same_line_one_gets_it() {
    let db = TestDb::start().await;
    for round in 0..10 {
        let (one, other) = (workspace(&db).await, workspace(&db).await);
        let channel = round.to_string();
        let (mine, theirs) = (line(one, &channel), line(other, &channel));
        let written = tokio::join!(create_line(&db, &mine), create_line(&db, &theirs));
        let owner = claim(&db, &mine).await.unwrap();
        let loser = LineCreated::OfWorkspace(owner);
        let expected = if owner == one { (LineCreated::Done, loser) } else { (loser, LineCreated::Done) };
        assert_eq!(written, expected);
        let lines = [one, other].map(|id| db.store().lines(id));
        let lines = futures::future::try_join_all(lines).await.unwrap();
        assert_eq!(lines.iter().map(|lines| lines.lines.len()).sum::<usize>(), 1);
    }
}

#[tokio::test]
async fn a_deletion_is_refused_if_the_workspace_or_the_setting_has_changed_since() {
    let db = TestDb::start().await;
    let store = db.store();
    let id = workspace(&db).await;
    let made = brand(&db, id, "a").await;
    let seen = now(&db, id).await;
    let first = line(id, "1");
    assert_eq!(create_line(&db, &first).await, LineCreated::Done);
    // A line of the brand came after the workspace was read.
    assert!(!store.delete_brand(&seen, &made).await.unwrap());
    let seen = now(&db, id).await;
    let older = Brand { version: 0, ..made.clone() };
    assert!(!store.delete_brand(&seen, &older).await.unwrap());

    let stale = seen.without_line(&first.channel);
    let renamed = made.renamed("Aster Kids").unwrap().unwrap();
    assert!(store.change_brand(&seen, &renamed).await.unwrap());
    assert!(!store.change_brand(&seen, &renamed).await.unwrap());
    assert!(!store.delete_line(&stale, &first, None, true).await.unwrap());
    // A new token is no change of the workspace.
    let next = first.with_new_token();
    assert!(store.set_line_token(&next, &Secret::new("new")).await.unwrap());
    let without = now(&db, id).await.without_line(&first.channel);
    assert!(!store.delete_line(&without, &first, None, true).await.unwrap());
    assert_eq!(store.lines(id).await.unwrap().lines, [next]);
    assert!(store.delete_brand(&now(&db, id).await, &renamed).await.unwrap());
    assert_eq!(store.lines(id).await.unwrap().brands, []);
}

#[tokio::test]
async fn a_team_is_deleted_with_its_turns_and_not_if_a_member_came_in_between() {
    let db = TestDb::start().await;
    let store = db.store();
    let id = workspace(&db).await;
    let made = team(&db, id);
    let seen = now(&db, id).await;
    let created = store.create_team(&seen, &made, operator(), None).await.unwrap();
    assert_eq!(created, SettingCreated::Done);
    // Another team with the same name was judged by the same workspace.
    let created = store.create_team(&seen, &team(&db, id), operator(), None).await.unwrap();
    assert_eq!(created, SettingCreated::Stale);
    assert_eq!(store.take_turn(id, made.id).await.unwrap(), 0);

    let joined = made.with(&[UserId::generate(store.ids())]).unwrap().unwrap();
    assert!(store.replace_team(&joined, &["members"], operator()).await.unwrap());
    assert!(!store.delete_team(&made, operator()).await.unwrap());
    let renamed = joined.renamed("Desk").unwrap().unwrap();
    assert!(!store.rename_team(&seen, &renamed, &["name"], operator()).await.unwrap());
    let seen = now(&db, id).await;
    assert!(store.rename_team(&seen, &renamed, &["name"], operator()).await.unwrap());
    assert_eq!(store.teams(id).await.unwrap(), std::slice::from_ref(&renamed));
    assert!(store.delete_team(&renamed, operator()).await.unwrap());
    assert_eq!(store.teams(id).await.unwrap(), []);
    assert_eq!(store.take_turn(id, made.id).await.unwrap(), 0);
}

#[tokio::test]
async fn templates_of_both_scopes_are_changed_under_the_version_of_their_owner() {
    let db = TestDb::start().await;
    let store = db.store();
    let id = workspace(&db).await;
    for scope in [TemplateScope::Workspace(id), TemplateScope::Platform] {
        let owner = async || match scope {
            TemplateScope::Workspace(id) => TemplateOwner::Workspace(Box::new(now(&db, id).await)),
            TemplateScope::Platform => store.platform_templates().await.unwrap(),
        };
        assert_eq!(owner().await.scope(), scope);
        let seen = owner().await;
        let made = template(store, scope);
        assert_eq!(store.create_template(&seen, &made).await.unwrap(), TemplateCreated::Done);
        // The name is taken, whichever version of the owner was read.
        let taken = TemplateCreated::NameTaken(made.id);
        assert_eq!(store.create_template(&seen, &template(store, scope)).await.unwrap(), taken);
        let other = Template { language: "en".to_owned(), ..template(store, scope) };
        assert_eq!(store.create_template(&seen, &other).await.unwrap(), TemplateCreated::Stale);
        let (name, language) = (&made.name, &made.language);
        assert_eq!(store.template_named(scope, name, language).await.unwrap().as_ref(), Some(&made));
        assert_eq!(store.template_named(scope, name, "en").await.unwrap(), None);
        let changed = made.in_category(domain::TemplateCategory::Utility, TestClock::START).unwrap();
        assert!(store.replace_template(&changed).await.unwrap());
        assert!(!store.delete_template(&seen, &changed).await.unwrap());
        let seen = owner().await;
        assert!(!store.delete_template(&seen, &made).await.unwrap());
        assert_eq!(store.templates_of(scope).await.unwrap(), std::slice::from_ref(&changed));
        assert!(store.delete_template(&seen, &changed).await.unwrap());
        assert_eq!(store.templates_of(scope).await.unwrap(), []);
        // The name is free again.
        let again = template(store, scope);
        assert_eq!(store.create_template(&owner().await, &again).await.unwrap(), TemplateCreated::Done);
    }
    assert_eq!(store.platform_templates().await.unwrap(), TemplateOwner::Platform { version: 3 });
}
