//! Assignment to the members of a team in turn.

use std::collections::BTreeMap;

use domain::{Team, User, UserId};
use serde_json::{Value, json};

use crate::{Conversations, with};

async fn members(f: &Conversations, count: usize) -> Vec<User> {
    let mut users = vec![];
    for n in 0..count {
        users.push(f.world.user(&format!("agent-{n}@example.com"), |_| ()).await);
    }
    users
}

async fn team(f: &Conversations, users: &[User]) -> Team {
    let ids: Vec<UserId> = users.iter().map(|user| user.id).collect();
    f.world.team(&ids).await
}

async fn disable(f: &Conversations, user: &User) {
    let store = f.world.db.store();
    let disabled = user.disabled(store.now()).unwrap();
    assert!(store.replace_user(&disabled, &["status"], harness::operator()).await.unwrap());
}

fn to(team: &Team) -> Value {
    with("+34600111222", json!({"teamId": team.id.to_string()}))
}

fn assigned(made: &Value) -> Vec<(&str, &str)> {
    let internals = made["participants"]["internals"].as_array().unwrap().iter();
    internals
        .map(|one| (one["identifier"].as_str().unwrap(), one["identifierType"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn members_take_turns_and_are_shown_by_e_mail() {
    let f = Conversations::start().await;
    let users = members(&f, 3).await;
    let team = team(&f, &users).await;
    for n in [0, 1, 2, 0, 1] {
        let made = f.made(&to(&team)).await;
        assert_eq!(assigned(&made), [(format!("agent-{n}@example.com").as_str(), "EMAIL")]);
        assert_eq!(
            (&made["status"], f.stored(&made["id"]).await.internals[0].user),
            (&json!("ACTIVE"), users[n].id)
        );
    }
}

#[tokio::test]
async fn disabled_members_are_skipped_at_once() {
    let f = Conversations::start().await;
    let users = members(&f, 3).await;
    let team = team(&f, &users).await;
    disable(&f, &users[1]).await;
    for n in [0, 2, 0, 2] {
        let made = f.made(&to(&team)).await;
        assert_eq!(assigned(&made), [(format!("agent-{n}@example.com").as_str(), "EMAIL")]);
    }
    disable(&f, &users[0]).await;
    assert_eq!(assigned(&f.made(&to(&team)).await), [("agent-2@example.com", "EMAIL")]);
}

#[tokio::test]
async fn a_team_without_active_members_leaves_the_conversation_unassigned() {
    let f = Conversations::start().await;
    let users = members(&f, 1).await;
    let (empty, disabled) = (team(&f, &[]).await, team(&f, &users).await);
    disable(&f, &users[0]).await;
    for team in [empty, disabled] {
        let made = f.made(&to(&team)).await;
        assert_eq!((&made["status"], assigned(&made)), (&json!("NOT_ASSIGNED_TO_HUMAN"), vec![]));
        let mut asked = to(&team);
        asked["status"] = json!("ACTIVE");
        assert_eq!(f.made(&asked).await["status"], "ACTIVE", "the caller's status");
    }
}

#[tokio::test]
async fn a_team_may_have_two_hundred_members() {
    let f = Conversations::start().await;
    let users = members(&f, Team::MAX_MEMBERS).await;
    let team = team(&f, &users).await;
    for user in &users[..3] {
        let made = f.made(&to(&team)).await;
        assert_eq!(f.stored(&made["id"]).await.internals[0].user, user.id);
    }
    f.world.db.forget_calls();
    f.made(&to(&team)).await;
    assert_eq!(harness::trips(&f.world.db.calls()), 3);
}

#[tokio::test]
async fn concurrent_conversations_are_spread_evenly() {
    let f = Conversations::start().await;
    let users = members(&f, 8).await;
    let team = team(&f, &users).await;
    disable(&f, &users[3]).await;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..12 {
        let bodies: Vec<Value> = (0..28).map(|_| to(&team)).collect();
        let made = futures::future::join_all(bodies.iter().map(|body| f.made(body))).await;
        for made in made {
            *counts.entry(assigned(&made)[0].0.to_owned()).or_default() += 1;
        }
    }
    assert_eq!(counts.values().sum::<usize>(), 12 * 28);
    assert_eq!(counts.len(), 7, "all but the disabled one: {counts:?}");
    let fair = 12 * 28 / 7;
    assert!(counts.values().all(|got| got.abs_diff(fair) <= 1), "{fair} for each is fair: {counts:?}");
}

#[tokio::test]
async fn all_tries_of_a_request_use_one_turn() {
    let f = Conversations::start().await;
    let users = members(&f, 2).await;
    let team = team(&f, &users).await;
    // While this request is about to write, another one creates a contact with its new number. This request reads
    // again and writes.
    let hold = f.world.db.hold("TransactWriteItems");
    let body = to(&team);
    let late = f.made(&body);
    let early = async {
        let made = f.made(&with("+34600111222", json!({}))).await;
        drop(hold);
        made
    };
    let (late, early) = futures::future::join(late, early).await;
    let (late, early) = (f.stored(&late["id"]).await, f.stored(&early["id"]).await);
    assert_eq!(late.externals[0].contact, early.externals[0].contact, "it uses the other request's contact");
    assert_eq!(late.internals[0].user, users[0].id);
    assert_eq!(assigned(&f.made(&to(&team)).await), [("agent-1@example.com", "EMAIL")]);
}
