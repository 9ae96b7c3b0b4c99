//! `console usage show`.

use domain::WorkspaceId;
use domain::usage::{DELIVERED, FAILED, Tally};
use serde_json::json;

use crate::Desk;

#[tokio::test]
async fn the_usage_is_shown_step_by_step() {
    let (desk, workspace) = Desk::with_workspace().await;
    let mut tally = Tally::default();
    let id = WorkspaceId::parse(&workspace).unwrap();
    for name in [DELIVERED, DELIVERED, FAILED] {
        tally.add(id, desk.db.store().now(), name);
    }
    desk.db.store().count_usage(&tally).await;

    let show = ["usage", "show", "--workspace", &workspace];
    let shown = desk.json(&show).await;
    assert_eq!(shown.as_array().unwrap().len(), 24);
    let counts = json!({"delivery.delivered": 2, "delivery.failed": 1});
    assert_eq!(shown[23], json!({"at": "2026-01-02T03:00:00.000Z", "counts": counts}));
    assert_eq!(shown[22]["counts"], json!({}));

    let day = [&show[..], &["--from", "1d", "--step", "DAY"]].concat();
    insta::assert_snapshot!(desk.run(&day).await.out, @"
    FROM                      COUNTS
    2026-01-01T00:00:00.000Z  -
    2026-01-02T00:00:00.000Z  2 delivery.delivered, 1 delivery.failed
    ");
}

#[tokio::test]
async fn a_span_that_is_too_long_is_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let line = ["usage", "show", "--workspace", &workspace, "--from", "32d"];
    let refused = desk.run(&line).await;
    assert_eq!(refused.out, "");
    assert!(refused.err.contains("must be at most 31 days before the end"), "{}", refused.err);
}
