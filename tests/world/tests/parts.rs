//! Parts of the simulation that decide what a check expects.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::Cellphone;
use tokio::time::{Instant, sleep};
use world::phones::{Phone, canonical};
use world::register::Register;

#[tokio::test(start_paused = true)]
async fn a_value_is_that_of_the_last_change_or_of_one_at_the_same_time() {
    let second = || sleep(Duration::from_secs(1));
    let mut register = Register::default();
    assert!(register.may_be(None));
    let begun = Instant::now();
    second().await;
    register.changed("unknown", begun, false);
    assert!(register.may_be(None) && register.may_be(Some("unknown")) && !register.may_be(Some("other")));

    second().await;
    let (first, second_begun) = (Instant::now(), Instant::now());
    second().await;
    register.changed("first", first, true);
    register.changed("beside", second_begun, true);
    assert!(register.may_be(Some("first")) && register.may_be(Some("beside")));
    assert!(!register.may_be(Some("unknown")) && !register.may_be(None));

    second().await;
    let begun = Instant::now();
    second().await;
    register.changed("last", begun, true);
    assert!(register.may_be(Some("last")) && !register.may_be(Some("first")));
}

#[test]
fn both_forms_of_a_phone_are_one_and_no_two_phones_are() {
    let mut all = BTreeSet::new();
    for country in 0..4 {
        for number in 0..100 {
            let phone = Phone::of(country, number);
            let [dialled, provider] = phone.forms();
            assert_ne!(dialled, provider);
            assert_eq!(canonical(&dialled), canonical(&provider));
            assert!(all.insert(canonical(&dialled)) && Cellphone::parse(&dialled).is_ok());
        }
    }
    assert_eq!(canonical("+34600111222"), "34600111222");
}
