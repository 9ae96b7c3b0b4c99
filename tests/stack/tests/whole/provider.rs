//! The webhook of the messaging provider, through the gateway.

use hmac::{Hmac, KeyInit, Mac};
use reqwest::Client;
use sha2::Sha256;

use crate::stack::{Answer, Stack};

/// The provider's limit.
const MOST_BYTES: usize = 3 * 1024 * 1024;

/// Posts these bytes as the app of the stack, signed.
async fn post(stack: &Stack, body: Vec<u8>) -> Answer {
    let app = &stack.file["providerApps"][0];
    let of = |field: &str| app[field].as_str().expect("a text");
    let mut mac = Hmac::<Sha256>::new_from_slice(of("appSecret").as_bytes()).expect("a key");
    mac.update(&body);
    let digest: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let url = format!("{}/api/v1/whatsapp/{}", stack.text("providerEventsUrl"), of("appId"));
    let request = Client::new().post(url).header("content-type", "application/json");
    Stack::answer(request.header("x-hub-signature-256", format!("sha256={digest}")).body(body)).await
}

/// The function sees the bytes that were signed, also those that are no text.
#[tokio::test]
async fn the_signed_bytes_of_a_webhook_reach_the_function_unchanged() {
    let stack = Stack::start("signed-bytes", &[]).await;
    let quotes = |size: usize| vec![b'"'; size];
    for (body, status) in [
        (br#"{"object":"whatsapp_business_account","entry":[]}"#.to_vec(), 200),
        (b"{\"object\":\"\xff\xfe\"}".to_vec(), 200),
        (quotes(MOST_BYTES), 200),
        (quotes(MOST_BYTES + 1), 403),
    ] {
        let size = body.len();
        assert_eq!(post(&stack, body).await.status, status, "{size} bytes");
    }
}
