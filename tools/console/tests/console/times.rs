//! Times that are given as a distance from now. The clock stands at 2026-01-02T03:04:05.678Z.

use std::time::Duration;

use insta::assert_snapshot;

use crate::Desk;
use crate::hooks::Hooks;

#[tokio::test]
async fn a_key_may_expire_a_time_from_now() {
    let (desk, workspace) = Desk::with_workspace().await;
    for (expires, at) in [("90d", "2026-04-02T03:04:05.678Z"), ("30m", "2026-01-02T03:34:05.678Z")] {
        let create = ["key", "create", "--workspace", &workspace, "--name", "k", "--scope", "*", "--expires"];
        assert_eq!(desk.json(&[&create[..], &[expires]].concat()).await["expiresAt"], at);
        let now = desk.run(&[&create[..], &["0m"]].concat()).await;
        assert_eq!(now.err, "The key cannot be created: the expiry is in the past.\n");
    }
}

#[tokio::test]
async fn deliveries_are_listed_from_a_time_ago() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&[]).await;
    let old = hooks.test(&endpoint).await;
    hooks.desk.db.clock().advance(Duration::from_secs(3 * 3_600));
    let new = hooks.test(&endpoint).await;
    for (range, expected) in [
        (&["--since", "2h"][..], vec![&new]),
        (&["--since", "4h"], vec![&new, &old]),
        (&["--since", "1w", "--until", "60m"], vec![&old]),
    ] {
        let listed = hooks.json(&[&["delivery", "list"][..], range].concat()).await;
        let ids: Vec<_> = listed.as_array().unwrap().iter().map(|delivery| &delivery["deliveryId"]).collect();
        assert_eq!(ids, expected, "{range:?}");
    }
}

#[tokio::test]
async fn a_command_whose_times_name_its_job_says_how_to_repeat_it() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&[]).await;
    let replay = ["delivery", "replay", "--endpoint", &endpoint, "--since"];
    let first = hooks.desk.run(&hooks.within(&[&replay[..], &["2h"]].concat())).await;
    assert_snapshot!(first.err, @"To repeat exactly this command, give --since 2026-01-02T01:04:05.678Z: a distance means another time when you repeat it.");
    hooks.desk.db.clock().advance(Duration::from_secs(1));
    let again = hooks.json(&[&replay[..], &["2026-01-02T01:04:05.678Z"]].concat()).await;
    assert_eq!(again["askedBefore"], true);
    assert_eq!(hooks.json(&[&replay[..], &["2h"]].concat()).await["askedBefore"], false);

    let recover = ["webhook", "recover", "--endpoint", &endpoint, "--since"];
    let relative = hooks.desk.run(&hooks.within(&[&recover[..], &["1d"]].concat())).await;
    assert!(relative.err.contains("give --since 2026-01-01T03:04:06.678Z:"), "{}", relative.err);
    let fixed = hooks.desk.run(&hooks.within(&[&recover[..], &["2026-01-01"]].concat())).await;
    assert_eq!((fixed.status, fixed.err.as_str()), (0, ""));
}
