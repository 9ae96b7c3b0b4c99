//! The list of an account's templates, read from a provider that pages it.

use domain::settings::template::{ChangeKind, Source};
use domain::{BusinessAccountId, Template, TemplateScope, TemplateStatus};
use harness::{Death, World, trips};
use inbox::sync::{Account, Mode, NotSynced, Run, Step};
use local::simulator::Provider;
use provider::{NotRead, TemplateClient};
use serde_json::{Value, json};
use std::time::Duration;
use store::Store;

/// The number of templates of the account: more than one page, and more than one transaction on a page.
const TEMPLATES: usize = 125;

fn account() -> BusinessAccountId {
    World::account()
}

fn template(name: &str, status: &str, text: &str) -> Value {
    json!({
        "name": name, "language": "en_US", "status": status, "category": "UTILITY",
        "components": [{ "type": "BODY", "text": text }],
    })
}

fn names() -> impl Iterator<Item = String> {
    (0..TEMPLATES).map(|number| format!("t{number:03}"))
}

/// A workspace with a line, and a provider.
struct Place {
    world: World,
    provider: Provider,
    client: TemplateClient,
}

impl Place {
    async fn start() -> Self {
        let world = World::start().await;
        world.line("1045551234567", |_| ()).await;
        let provider = Provider::start(0).await.unwrap();
        let client = TemplateClient::new(&provider.url(), "v25.0").unwrap();
        Self { world, provider, client }
    }

    /// A workspace whose account has many approved templates.
    async fn with_templates() -> Self {
        let place = Self::start().await;
        place.list(names().map(|name| template(&name, "APPROVED", "Hi {{1}}")).collect());
        place
    }

    /// Sets the account's list at the provider.
    fn list(&self, templates: Vec<Value>) {
        self.set(json!({ "data": templates }));
    }

    fn set(&self, registry: Value) {
        self.provider.set_templates(World::ACCOUNT, &registry).unwrap();
        // A later reading has a later time.
        self.world.db.clock().advance(Duration::from_secs(1));
    }

    fn store(&self) -> &Store {
        self.world.db.store()
    }

    fn scope(&self) -> TemplateScope {
        TemplateScope::Workspace(self.world.workspace)
    }

    async fn run(&self, mode: Mode) -> Result<Vec<Step>, NotSynced> {
        let account = Account::find(self.store(), &account()).await?.unwrap();
        let mut run = Run::new(self.store(), &self.client, account, vec![self.scope()], mode);
        let mut steps = vec![];
        while let Some(step) = run.step().await? {
            steps.push(step);
        }
        Ok(steps)
    }

    /// The changes of a run, each by its kind and name.
    async fn changes(&self, mode: Mode) -> Vec<(ChangeKind, String)> {
        let steps = self.run(mode).await.unwrap();
        let changes = steps.iter().flat_map(|step| &step.changes);
        let mut changes: Vec<_> =
            changes.map(|change| (change.kind(&account()), change.after.name.clone())).collect();
        changes.sort();
        changes
    }

    async fn templates(&self) -> Vec<Template> {
        let mut templates = self.store().templates_of(self.scope()).await.unwrap();
        templates.sort_by(|one, other| one.name.cmp(&other.name));
        templates
    }
}

#[tokio::test]
async fn all_pages_are_kept_and_a_second_run_writes_nothing() {
    let place = Place::with_templates().await;
    let steps = place.run(Mode::Record).await.unwrap();
    let counts: Vec<(usize, usize)> = steps.iter().map(|step| (step.listed, step.changes.len())).collect();
    assert_eq!(counts, [(100, 100), (25, 25), (0, 0)], "two pages and the end");
    let kept = place.templates().await;
    assert_eq!(kept.iter().map(|one| one.name.clone()).collect::<Vec<_>>(), names().collect::<Vec<_>>());
    assert!(kept.iter().all(|one| one.status(&account()) == Some(TemplateStatus::Approved)));
    place.world.db.clock().advance(Duration::from_secs(1));
    place.world.db.forget_calls();
    assert_eq!(place.changes(Mode::Record).await, []);
    let operations = place.world.db.operations();
    let writes = |operation: &&String| operation.contains("Put") || operation.contains("Write");
    let writes: Vec<&String> = operations.iter().filter(writes).collect();
    assert_eq!(writes, ["PutItem workspaces"], "only that the account was read");
    assert_eq!(place.templates().await, kept);
}

#[tokio::test]
async fn a_page_costs_two_round_trips_for_twenty_names_and_two_more_for_those_that_are_new() {
    let place = Place::start().await;
    place.list(names().take(20).map(|name| template(&name, "APPROVED", "Hi")).collect());
    let account = Account::find(place.store(), &account()).await.unwrap().unwrap();
    for expected in [3, 2] {
        let mut run =
            Run::new(place.store(), &place.client, account.clone(), vec![place.scope()], Mode::Record);
        place.world.db.forget_calls();
        run.step().await.unwrap();
        let calls = place.world.db.calls();
        assert_eq!(trips(&calls), expected, "{:?}", place.world.db.operations());
    }
}

#[tokio::test]
async fn a_dry_run_says_what_a_run_does_and_writes_nothing() {
    let place = Place::with_templates().await;
    place.world.db.forget_calls();
    let planned = place.changes(Mode::DryRun).await;
    assert_eq!(planned.len(), TEMPLATES);
    assert_eq!(place.templates().await, []);
    assert_eq!(place.changes(Mode::Record).await, planned);
    // Changes and what is no longer listed, too.
    let edited = |name: String| template(&name, "PAUSED", "Hi {{1}} and {{2}}");
    place.list(names().skip(1).take(3).map(edited).collect());
    let before = place.templates().await;
    let planned = place.changes(Mode::DryRun).await;
    let count = |kind| planned.iter().filter(|(of, _)| *of == kind).count();
    assert_eq!((count(ChangeKind::Changed), count(ChangeKind::Absent)), (3, TEMPLATES - 3));
    assert_eq!(place.templates().await, before);
    assert_eq!(place.changes(Mode::Record).await, planned);
    assert_eq!(place.changes(Mode::Record).await, []);
}

#[tokio::test]
async fn a_run_that_dies_at_any_call_leaves_a_correct_part_and_the_next_one_does_the_rest() {
    for death in [Death::Before, Death::After] {
        let mut died = 0;
        for calls in 0.. {
            let place = Place::start().await;
            let of = |status, text, from: usize, count: usize| -> Vec<Value> {
                names().skip(from).take(count).map(|name| template(&name, status, text)).collect()
            };
            place.list(of("APPROVED", "Hi", 0, 4));
            place.run(Mode::Record).await.unwrap();
            // One is no longer listed, three are changed, and the others are new: more than a chunk in all.
            place.list(of("PAUSED", "Bye", 1, 22));
            let dead = place.world.db.die_after(calls, death);
            let is_over = tokio::select! {
                _ = dead => false,
                done = place.run(Mode::Record) => { done.unwrap(); true }
            };
            place.world.db.revive();
            place.run(Mode::Record).await.unwrap();
            assert_eq!(
                place.changes(Mode::Record).await,
                [],
                "{death:?} {calls}: the second run did not finish it"
            );
            let kept = place.templates().await;
            assert_eq!(kept.len(), 23, "{death:?} {calls}");
            for one in &kept {
                let is_listed = names().skip(1).take(22).any(|name| name == one.name);
                let expected = if is_listed { TemplateStatus::Paused } else { TemplateStatus::Deleted };
                assert_eq!(one.status(&account()), Some(expected), "{death:?} {calls} {}", one.name);
            }
            if is_over {
                break;
            }
            died += 1;
        }
        assert!(died > 8, "{death:?}: only {died} calls");
    }
}

#[tokio::test]
async fn nothing_is_deleted_by_a_run_whose_list_ended_early() {
    let place = Place::with_templates().await;
    place.run(Mode::Record).await.unwrap();
    place.set(json!({ "data": [], "refuses": 190 }));
    let refused = place.run(Mode::Record).await.unwrap_err();
    assert!(matches!(refused, NotSynced::Provider(NotRead::Refused { code: 190, .. })), "{refused}");
    for code in [10, 200] {
        place.set(json!({ "data": [], "refuses": code }));
        assert!(matches!(place.run(Mode::Record).await, Err(NotSynced::Provider(NotRead::Refused { .. }))));
    }
    place.set(json!({ "data": [], "refuses": 4 }));
    assert!(matches!(place.run(Mode::Record).await, Err(NotSynced::Provider(NotRead::NotNow(_)))));
    assert!(
        place.templates().await.iter().all(|one| one.status(&account()) == Some(TemplateStatus::Approved))
    );
}

#[tokio::test]
async fn a_name_changes_in_each_scope_where_it_stands_and_keeps_its_sources() {
    let place = Place::start().await;
    let (other, _) = place.world.second_workspace().await;
    place.world.line_of(other, "2045551234567", |_| ()).await;
    let english = |template: &mut Template| template.language = "en_US".to_owned();
    let platforms = place.world.platform_template(english).await;
    let theirs = place.world.template_of(TemplateScope::Workspace(other), english).await;
    place.list(vec![template("welcome", "PAUSED", "Hi"), template("new", "APPROVED", "Hi")]);
    assert_eq!(
        place.changes(Mode::Record).await,
        [
            (ChangeKind::Created, "new".to_owned()),
            (ChangeKind::Changed, "welcome".to_owned()),
            (ChangeKind::Changed, "welcome".to_owned()),
        ]
    );
    for before in [platforms, theirs] {
        let after = place.store().template(before.scope, before.id).await.unwrap().unwrap();
        assert_eq!(after.status(&account()), Some(TemplateStatus::Paused));
        assert_eq!(after.form.body.text.as_deref(), Some("Hi"), "the components of the list");
        assert_eq!(after.sources, before.sources);
    }
    assert_eq!(place.templates().await.len(), 1, "only what stood nowhere");
    assert_eq!(*place.templates().await[0].source("1"), Source::Caller);
}

#[tokio::test]
async fn what_somebody_else_does_between_reading_and_writing_is_judged_again() {
    for operation in ["TransactWriteItems", "PutItem"] {
        let place = Place::start().await;
        let english = |template: &mut Template| template.language = "en_US".to_owned();
        if operation == "PutItem" {
            place.world.template(english).await;
        }
        place.list(vec![template("welcome", "APPROVED", "Hi")]);
        let store = place.world.db.store().clone();
        place.world.db.forget_calls();
        let held = place.world.db.hold(operation);
        let run = async { place.run(Mode::Record).await.unwrap() };
        let race = async {
            place.world.db.begun(operation, 1).await;
            // The other writer's call passes, because only the first one is held.
            match operation {
                "PutItem" => {
                    let seen = place.templates().await.remove(0);
                    let next = seen.said(&account(), false, store.now()).unwrap().unwrap();
                    assert!(store.replace_template(&next).await.unwrap());
                }
                _ => drop(place.world.template(english).await),
            }
            drop(held);
        };
        let (steps, ()) = tokio::join!(run, race);
        let templates = place.templates().await;
        assert_eq!(templates.len(), 1, "{operation}");
        assert_eq!(templates[0].form.body.text.as_deref(), Some("Hi"), "{operation}");
        assert_eq!(steps.iter().map(|step| step.changes.len()).sum::<usize>(), 1, "{operation}");
    }
}

#[tokio::test]
async fn an_account_without_a_line_here_is_not_found() {
    let place = Place::start().await;
    let other = BusinessAccountId::parse("999").unwrap();
    assert!(Account::find(place.store(), &other).await.unwrap().is_none());
}
