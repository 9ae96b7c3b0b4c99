use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(1))
}

fn account() -> AccountReport {
    AccountReport::unknown(workspace(), BusinessAccountId::parse("2055500001").unwrap())
}

fn line() -> LineState {
    let channel = ChannelId::parse("1045551234567").unwrap();
    LineState::unknown(workspace(), channel, BusinessAccountId::parse("2055500001").unwrap())
}

fn restriction(kind: &str) -> Restriction {
    Restriction { kind: kind.to_owned(), until: None, remediation: None }
}

fn of_account(seconds: i64, status: AccountStatus, restrictions: Option<&[&str]>) -> News<AccountFact> {
    News {
        at: Timestamp::from_millis(seconds * 1_000),
        facts: vec![(AccountFact::Status, status.as_str().to_owned())],
        restrictions: restrictions.map(|kinds| kinds.iter().map(|kind| restriction(kind)).collect()),
        notice: Some((format!("AT_{seconds}"), Raw::of("{}"))),
    }
}

fn of_line(seconds: i64, facts: &[(LineFact, &str)]) -> News<LineFact> {
    let facts = facts.iter().map(|(fact, value)| (*fact, (*value).to_owned())).collect();
    News { at: Timestamp::from_millis(seconds * 1_000), facts, restrictions: None, notice: None }
}

/// All orders of five things.
fn orders() -> Vec<Vec<usize>> {
    (0..5usize.pow(5))
        .map(|number| (0..5).map(|place| number / 5usize.pow(place) % 5).collect::<Vec<_>>())
        .filter(|order| (0..5).all(|one| order.contains(&one)))
        .collect()
}

#[test]
fn every_order_of_five_webhooks_of_an_account_ends_alike() {
    let all = [
        of_account(10, AccountStatus::Restricted, Some(&["RESTRICTED_BIZ_INITIATED_MESSAGING"])),
        of_account(20, AccountStatus::Violation, None),
        of_account(20, AccountStatus::Disabled, None),
        of_account(5, AccountStatus::Deleted, Some(&["OLD"])),
        News {
            facts: vec![(AccountFact::ReviewStatus, "APPROVED".to_owned())],
            ..of_account(30, AccountStatus::Active, Some(&[]))
        },
    ];
    let orders = orders();
    assert_eq!(orders.len(), 120);
    for order in orders {
        let mut state = account();
        for at in &order {
            state = state.told(&all[*at], NOW).unwrap_or(state);
            assert_eq!(state.told(&all[*at], NOW), None, "a repeat is no news");
        }
        let seen = (state.fact(AccountFact::Status), state.fact(AccountFact::ReviewStatus));
        assert_eq!(seen, (Some("VIOLATION"), Some("APPROVED")), "{order:?}");
        assert_eq!(state.restrictions(), [], "{order:?}");
        assert_eq!(state.notice.unwrap().event, "AT_30", "{order:?}");
    }
}

#[test]
fn every_order_of_five_webhooks_of_a_line_ends_alike() {
    use LineFact::{MessagingLimit, NameStatus, Status, VerifiedName};
    let all = [
        of_line(10, &[(Status, "CONNECTED")]),
        of_line(20, &[(Status, "FLAGGED"), (MessagingLimit, "TIER_250")]),
        of_line(30, &[(Status, "CONNECTED")]),
        of_line(15, &[(MessagingLimit, "TIER_1K"), (NameStatus, "APPROVED"), (VerifiedName, "Shop")]),
        of_line(25, &[(NameStatus, "DECLINED")]),
    ];
    for order in orders() {
        let state = order.iter().fold(line(), |state, at| state.told(&all[*at], NOW).unwrap_or(state));
        let seen = [Status, MessagingLimit, NameStatus, VerifiedName].map(|fact| state.fact(fact).unwrap());
        assert_eq!(seen, ["CONNECTED", "TIER_250", "DECLINED", "Shop"], "{order:?}");
    }
}

#[test]
fn what_is_confirmed_is_kept_with_its_time_and_is_no_difference() {
    let first = line().told(&of_line(10, &[(LineFact::Status, "CONNECTED")]), NOW).unwrap();
    let confirmed = first.told(&of_line(30, &[(LineFact::Status, "CONNECTED")]), NOW).unwrap();
    assert!(first.differs(&line()) && !confirmed.differs(&first));
    assert_eq!((first.version, confirmed.version), (1, 2));
    assert_eq!(confirmed.told(&of_line(20, &[(LineFact::Status, "FLAGGED")]), NOW), None);
    let known = account().told(&of_account(10, AccountStatus::Active, Some(&[])), NOW).unwrap();
    assert!(known.differs(&account()));
    let mut again = of_account(20, AccountStatus::Active, Some(&[]));
    again.notice = None;
    assert!(!known.told(&again, NOW).unwrap().differs(&known));
    let restricted = known.told(&of_account(30, AccountStatus::Active, Some(&["ONE"])), NOW).unwrap();
    assert!(restricted.differs(&known));
}

#[test]
fn a_line_is_found_by_the_digits_of_its_number() {
    let known = line().told(&of_line(1, &[(LineFact::DisplayPhoneNumber, "+34 600-111 222")]), NOW).unwrap();
    assert!(known.has_digits(&digits_of("34600111222")));
    assert!(!known.has_digits(&digits_of("34600111223")) && !line().has_digits(""));
}

#[test]
fn lines_and_accounts_are_entities_of_their_own_in_each_workspace() {
    let other = LineState { workspace_id: WorkspaceId::from_uuid(Uuid::from_u128(2)), ..line() };
    let entities = [line().entity(), other.entity(), account().entity()];
    assert!(entities[0] != entities[1] && entities[0] != entities[2]);
    assert_eq!(line().entity(), entities[0]);
}

#[test]
fn a_list_writes_only_what_differs_and_is_newer() {
    let [at, later] = [10_000, 20_000].map(Timestamp::from_millis);
    let facts =
        |status: &str| vec![(LineFact::Status, status.to_owned()), (LineFact::Quality, "GREEN".to_owned())];
    let first = line().listed(at, &facts("CONNECTED"), NOW).unwrap();
    assert_eq!(first.listed(later, &facts("CONNECTED"), NOW), None, "what is known is not written again");
    let next = first.listed(later, &facts("FLAGGED"), NOW).unwrap();
    assert_eq!((next.fact(LineFact::Status), next.facts[&LineFact::Quality].at), (Some("FLAGGED"), at));
    assert_eq!(next.listed(at, &facts("CONNECTED"), NOW), None, "an older list");
}
