//! The question with which the provider verifies the URL of the webhook.

use harness::GatewayEvent;

use crate::Site;

fn event(pairs: &[(&str, &str)]) -> GatewayEvent {
    GatewayEvent::of("provider-events-verify.json").query(pairs)
}

const MODE: (&str, &str) = ("hub.mode", "subscribe");
const TOKEN: (&str, &str) = ("hub.verify_token", "verify-token-0001");
const CHALLENGE: (&str, &str) = ("hub.challenge", "1158201444");

#[tokio::test]
async fn the_right_token_is_answered_with_the_challenge_as_text() {
    let site = Site::start().await;
    let answer = site.send(GatewayEvent::of("provider-events-verify.json")).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "1158201444"));
    assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
}

#[tokio::test]
async fn every_other_question_is_refused() {
    let site = Site::start().await;
    let long = "1".repeat(257);
    let questions: [&[(&str, &str)]; 9] = [
        &[],
        &[MODE, TOKEN],
        &[MODE, CHALLENGE],
        &[TOKEN, CHALLENGE],
        &[("hub.mode", "unsubscribe"), TOKEN, CHALLENGE],
        &[MODE, ("hub.verify_token", "verify-token-0002"), CHALLENGE],
        &[MODE, TOKEN, TOKEN, CHALLENGE],
        &[MODE, TOKEN, ("hub.challenge", &long)],
        &[MODE, TOKEN, ("hub.challenge", "1 2")],
    ];
    for question in questions {
        let answer = site.send(event(question)).await;
        assert_eq!((answer.status, answer.text.as_str()), (403, "Forbidden"), "{question:?}");
    }
    let unknown = event(&[MODE, TOKEN, CHALLENGE]).path("appId", "9");
    assert_eq!(site.send(unknown).await.status, 403);
}
