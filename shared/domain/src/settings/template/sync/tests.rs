use uuid::Uuid;

use crate::ids::WorkspaceId;
use crate::settings::template::{ContactField, NewTemplate, Sendable, Source, Variable, short_form};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

struct Same;

impl Ids for Same {
    fn next(&self) -> Uuid {
        Uuid::from_u128(7)
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_767_000_000_000 + seconds * 1_000)
}

fn account(id: &str) -> BusinessAccountId {
    BusinessAccountId::parse(id).unwrap()
}

fn form(text: &str, format: ParameterFormat) -> Form {
    Form { body: Text::parse(text, format), format, ..Form::of_names(vec![]) }
}

fn listed(name: &str, text: &str) -> Listed {
    Listed {
        meta_id: format!("id of {name}"),
        name: name.to_owned(),
        language: "es".to_owned(),
        status: Some(TemplateStatus::Approved),
        unknown_status: None,
        category: Some(TemplateCategory::Utility),
        quality: None,
        reason: None,
        form: form(text, ParameterFormat::Positional),
    }
}

fn reading(seconds: i64, creates_in: &[TemplateScope]) -> Reading {
    Reading { account: account("1"), at: at(seconds), creates_in: creates_in.to_vec() }
}

fn judged(reading: &Reading, listed: &[Listed], known: &[Template]) -> Judged {
    reading.judge(listed, known, &Same, NOW)
}

/// The template that a reading makes.
fn created(of: &Listed) -> Template {
    let made = judged(&reading(0, &[TemplateScope::Platform]), std::slice::from_ref(of), &[]);
    made.changes.into_iter().next().unwrap().after
}

/// A template of the short form with these names, approved by an operator for the account 1.
fn by_hand(names: &[&str]) -> Template {
    let caller = |name: &&str| Variable::new(name, Source::Caller).unwrap();
    let (form, sources) = short_form(names.iter().map(caller).collect());
    let wanted = NewTemplate {
        scope: TemplateScope::Platform,
        provider: Provider::WhatsApp,
        name: "order",
        language: "es",
        category: None,
        form,
        sources,
        approved_by: [account("1")].into(),
    };
    Template::new(wanted, &Same, at(0)).unwrap()
}

#[test]
fn a_name_that_stands_nowhere_is_created_in_each_scope_and_a_repeat_changes_nothing() {
    let workspace =
        TemplateScope::Workspace(WorkspaceId::parse("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f").unwrap());
    let reading = reading(1, &[TemplateScope::Platform, workspace]);
    let of_list = Listed { quality: Some("GREEN".to_owned()), ..listed("order", "Hi {{1}}") };
    // The provider repeats no name; if it did, the first one would count.
    let list = [of_list.clone(), Listed { quality: None, ..of_list }];
    let judged = judged(&reading, &list, &[]);
    assert!(judged.unkept.is_empty());
    let made: Vec<Template> = judged.changes.iter().map(|change| change.after.clone()).collect();
    assert_eq!(made.iter().map(|one| one.scope).collect::<Vec<_>>(), reading.creates_in);
    assert!(judged.changes.iter().all(|change| change.kind(&reading.account) == ChangeKind::Created));
    let first = &made[0];
    assert_eq!(
        (first.taken_from.as_ref(), first.category),
        (Some(&reading.account), Some(TemplateCategory::Utility))
    );
    assert_eq!((first.created_at, first.version), (NOW, 1));
    let state = &first.states[&reading.account];
    assert_eq!((state.by, state.at, state.quality.as_deref()), (SaidBy::Sync, reading.at, Some("GREEN")));
    assert_eq!(first.sendable(&reading.account), Sendable::Now);
    let again = Reading { at: at(60), ..reading };
    assert!(again.judge(&list, &made, &Same, NOW) == Judged::default());
}

#[test]
fn a_name_that_stands_somewhere_is_created_nowhere_else_and_without_a_scope_none_is_created() {
    let known = by_hand(&[]);
    let workspace =
        TemplateScope::Workspace(WorkspaceId::parse("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f").unwrap());
    let changes =
        judged(&reading(1, &[workspace]), &[listed("order", "Hi")], std::slice::from_ref(&known)).changes;
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].after.scope, changes[0].before.as_ref()), (TemplateScope::Platform, Some(&known)));
    assert_eq!(judged(&reading(1, &[]), &[listed("other", "Hi")], &[known]), Judged::default());
}

#[test]
fn what_cannot_be_kept_is_reported_and_the_others_are_kept() {
    let scopes = [TemplateScope::Platform];
    let odd = Listed { language: "spanish".to_owned(), ..listed("order", "Hi") };
    let judged = judged(&reading(1, &scopes), &[listed("Order", "Hi"), odd, listed("good", "Hi")], &[]);
    let names: Vec<&str> = judged.unkept.iter().map(|unkept| unkept.name.0.as_str()).collect();
    assert_eq!((names, judged.changes.len()), (vec!["Order", "order"], 1));
}

#[test]
fn the_newer_word_about_a_status_stays_and_the_webhook_at_the_same_moment() {
    let account = account("1");
    let mut known = created(&listed("order", "Hi"));
    for (by, seconds, wins) in [
        (SaidBy::Operator, 10, true),
        (SaidBy::Operator, 11, false),
        (SaidBy::Sync, 10, false),
        (SaidBy::Provider, 9, true),
        (SaidBy::Provider, 10, false),
        (SaidBy::Provider, 11, false),
    ] {
        let state = AccountState { by, at: at(seconds), ..known.states[&account].clone() };
        known.states.insert(account.clone(), AccountState { status: TemplateStatus::Paused, ..state });
        let next = known.as_listed(&account, at(10), &listed("order", "Hi")).unwrap();
        let status = next.as_ref().unwrap_or(&known).status(&account);
        let expected = if wins { TemplateStatus::Approved } else { TemplateStatus::Paused };
        assert_eq!(status, Some(expected), "{by:?} at {seconds}");
    }
    // What the provider shows besides the status is taken in any case.
    let next = known.as_listed(&account, at(10), &listed("order", "Bye {{1}}")).unwrap().unwrap();
    assert_eq!(next.form.body.names, ["1"]);
    assert_eq!(next.status(&account), Some(TemplateStatus::Paused), "not MISMATCH");
}

#[test]
fn a_status_that_is_not_known_changes_nothing_and_makes_no_state() {
    let unknown = Listed { status: None, ..listed("order", "Hi") };
    let known = created(&listed("order", "Hi"));
    assert_eq!(known.as_listed(&account("1"), at(60), &unknown), Ok(None));
    assert!(created(&unknown).states.is_empty());
}

#[test]
fn another_account_with_another_shape_is_a_mismatch_and_takes_over_when_the_first_one_deleted_it() {
    let (one, two) = (account("1"), account("2"));
    let of_one = created(&listed("order", "Hi {{1}}"));
    let longer = listed("order", "Hi {{1}} {{2}}");
    let both = of_one.as_listed(&two, at(20), &longer).unwrap().unwrap();
    assert_eq!(
        (both.status(&one), both.status(&two)),
        (Some(TemplateStatus::Approved), Some(TemplateStatus::Mismatch))
    );
    assert_eq!((&both.form, both.taken_from.as_ref()), (&of_one.form, Some(&one)));
    assert_eq!(both.as_listed(&two, at(30), &longer), Ok(None), "a repeat");
    let gone = reading(40, &[]).absent(&both, &BTreeSet::new()).unwrap();
    assert_eq!(gone.kind(&one), ChangeKind::Absent);
    assert_eq!(gone.after.status(&one), Some(TemplateStatus::Deleted));
    assert!(!gone.after.is_gone(), "the other account has it");
    let taken = gone.after.as_listed(&two, at(50), &longer).unwrap().unwrap();
    assert_eq!((taken.status(&two), taken.taken_from.as_ref()), (Some(TemplateStatus::Approved), Some(&two)));
    assert_eq!(taken.form.body.names, ["1", "2"]);
}

#[test]
fn names_that_an_operator_gave_to_places_stay_and_so_do_sources() {
    let account = account("1");
    let mut known = by_hand(&["name", "code"]);
    let first_name = Source::Contact { field: ContactField::FirstName, fallback: None };
    known.sources.insert("name".to_owned(), first_name.clone());
    // The text uses the places in another order.
    let of_list = listed("order", "{{2}} is for {{1}}");
    let next = known.as_listed(&account, at(10), &of_list).unwrap().unwrap();
    assert_eq!(next.form.body.text.as_deref(), Some("{{code}} is for {{name}}"));
    assert_eq!(next.form.body.names, ["name", "code"], "the order of the places");
    assert_eq!(next.caller_parameters(), ["code"]);
    assert_eq!(next.status(&account), Some(TemplateStatus::Approved));
    assert_eq!(next.as_listed(&account, at(20), &of_list), Ok(None), "a repeat");
    // More places, or names of the provider, are another body.
    for (text, format, names) in [
        ("{{1}} {{2}} {{3}}", ParameterFormat::Positional, vec!["1", "2", "3"]),
        ("{{name}} {{other}}", ParameterFormat::Named, vec!["name", "other"]),
    ] {
        let edited = Listed { form: form(text, format), ..of_list.clone() };
        let edited = next.as_listed(&account, at(30), &edited).unwrap().unwrap();
        assert_eq!(edited.form.body.names, names);
        assert_eq!(*edited.source("name"), first_name, "a source belongs to its name");
    }
}

#[test]
fn only_what_the_provider_had_before_becomes_deleted_and_only_by_an_older_word() {
    let account = account("1");
    let of_list = created(&listed("order", "Hi"));
    let end = reading(60, &[]);
    let seen = BTreeSet::from([("order".to_owned(), "es".to_owned())]);
    assert_eq!(end.absent(&of_list, &seen), None, "it is listed");
    let gone = end.absent(&of_list, &BTreeSet::new()).unwrap().after;
    assert!(gone.is_gone());
    assert_eq!(end.absent(&gone, &BTreeSet::new()), None, "a repeat");
    let unsupported = Form { unsupported: Some("{}".to_owned()), ..listed("order", "Hi").form };
    let unsupported = created(&Listed { form: unsupported, ..listed("order", "Hi") });
    let change = end.absent(&unsupported, &BTreeSet::new()).unwrap();
    let (before, after) = (TemplateStatus::Unsupported, TemplateStatus::Deleted);
    assert_eq!((change.previous_status(&account), change.status(&account)), (Some(before), Some(after)));
    assert_eq!(change.after.status(&account), Some(after), "not UNSUPPORTED");
    assert_eq!((change.kind(&account), change.differences(&account)), (ChangeKind::Absent, vec!["status"]));
    let of_other = listed("order", "Hi {{1}}");
    let both = of_list.as_listed(&self::account("2"), at(20), &of_other).unwrap().unwrap();
    assert_eq!(both.status(&self::account("2")), Some(TemplateStatus::Mismatch));
    let of_two = Reading { account: self::account("2"), ..reading(60, &[]) };
    let deleted = of_two.absent(&both, &BTreeSet::new()).unwrap();
    assert_eq!(deleted.after.status(&self::account("2")), Some(TemplateStatus::Deleted), "not MISMATCH");
    assert_eq!(end.absent(&by_hand(&[]), &BTreeSet::new()), None, "an operator's word");
    assert_eq!(
        Reading { account: self::account("2"), ..end.clone() }.absent(&of_list, &BTreeSet::new()),
        None
    );
    for (by, seconds, is_absent) in
        [(SaidBy::Provider, 59, true), (SaidBy::Provider, 60, false), (SaidBy::Sync, 61, false)]
    {
        let mut newer = of_list.clone();
        let state = AccountState { by, at: at(seconds), ..newer.states[&account].clone() };
        newer.states.insert(account.clone(), state);
        assert_eq!(end.absent(&newer, &BTreeSet::new()).is_some(), is_absent, "{by:?} at {seconds}");
    }
    let again = gone.as_listed(&account, at(90), &listed("order", "Hi")).unwrap().unwrap();
    assert_eq!(again.status(&account), Some(TemplateStatus::Approved), "it came back");
}

#[test]
fn a_change_names_what_is_different() {
    let account = account("1");
    let known = created(&listed("order", "Hi"));
    let base = listed("order", "Hi");
    for (listed, expected) in [
        (Listed { status: Some(TemplateStatus::Paused), ..base.clone() }, vec!["status"]),
        (Listed { quality: Some("RED".to_owned()), ..base.clone() }, vec!["quality"]),
        (Listed { reason: Some("SCAM".to_owned()), ..base.clone() }, vec!["reason"]),
        (Listed { category: Some(TemplateCategory::Marketing), ..base.clone() }, vec!["category"]),
        (Listed { meta_id: "9".to_owned(), ..base.clone() }, vec!["metaId"]),
        (listed("order", "Bye"), vec!["components"]),
        (listed("order", "Hi {{1}}"), vec!["components", "shape"]),
    ] {
        let after = known.as_listed(&account, at(60), &listed).unwrap().unwrap();
        assert_eq!(after.version, 2);
        let change = Change { before: Some(known.clone()), after };
        assert_eq!((change.kind(&account), change.differences(&account)), (ChangeKind::Changed, expected));
    }
}

#[test]
fn a_change_shows_for_the_accounts_that_it_concerns() {
    let (one, two) = (account("1"), account("2"));
    let known = created(&listed("order", "Hi"));
    let both = known.as_listed(&two, at(10), &listed("order", "Hi")).unwrap().unwrap();
    let change =
        |before: &Template, after: &Template| Change { before: Some(before.clone()), after: after.clone() };
    let concerned =
        |change: &Change| (change.accounts().into_iter().cloned().collect::<Vec<_>>(), change.shows());
    let made = Change { before: None, after: both.clone() };
    assert_eq!(concerned(&made), (vec![one.clone(), two.clone()], true));
    assert_eq!(concerned(&change(&known, &both)), (vec![two.clone()], true), "an account more");
    let told = |of: &Template, status, seconds| {
        of.decided(&two, AccountState::of(status, at(seconds), SaidBy::Provider)).unwrap().unwrap()
    };
    let paused = told(&both, TemplateStatus::Paused, 20);
    assert_eq!(concerned(&change(&both, &paused)), (vec![two.clone()], true));
    assert_eq!(change(&both, &paused).previous_status(&two), Some(TemplateStatus::Approved));
    let repeated = told(&paused, TemplateStatus::Paused, 30);
    assert_eq!(concerned(&change(&paused, &repeated)), (vec![], false), "a repeat");
    let edited = both.as_listed(&one, at(40), &listed("order", "Bye")).unwrap().unwrap();
    assert_eq!(concerned(&change(&both, &edited)), (vec![one, two], true), "other components");
    // A template that no account has, and that an operator changes.
    let alone = Template { states: BTreeMap::new(), ..both };
    let utility = alone.in_category(TemplateCategory::Marketing, at(50)).unwrap();
    assert_eq!(concerned(&change(&alone, &utility)), (vec![], true));
}
