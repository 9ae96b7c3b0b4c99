use domain::{Secret, WorkspaceId};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::Desk;

const NOBODY: &str = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
const PAGE: &str = "https://www.aster.example";

/// A workspace with two brands: `a` with a line of account 1, and `b` with a line of account 2.
struct Pages {
    desk: Desk,
    workspace: String,
}

impl Pages {
    async fn new() -> Self {
        let (desk, workspace) = Desk::with_workspace().await;
        let pages = Self { desk, workspace };
        for (brand, account) in [("a", "1"), ("b", "2")] {
            pages.json(&["brand", "create", "--name", brand, "--id", brand]).await;
            let line = ["line", "create", "--channel", account, "--brand", brand, "--token", "t"];
            pages.json(&[&line[..], &["--business-account", account]].concat()).await;
        }
        pages
    }

    async fn template(&self, more: &[&str]) -> String {
        self.template_named("hello", more).await
    }

    async fn template_named(&self, name: &str, more: &[&str]) -> String {
        let create = ["template", "create", "--name", name, "--language", "en"];
        let made = self.json(&[&create[..], more].concat()).await;
        made["templateId"].as_str().unwrap().to_owned()
    }

    /// A workspace with a template for account 1 only, and with capture enabled for brand `a`.
    async fn enabled() -> (Self, String) {
        let pages = Self::new().await;
        let template = pages.template(&["--approved", "1"]).await;
        let given = ["--origin", PAGE, "--brand", "a", "--template", &template, "--secret", "s-1"];
        pages.json(&[&["capture", "enable"], &given[..]].concat()).await;
        (pages, template)
    }

    fn within<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [arguments, &["--workspace", &self.workspace]].concat()
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        self.desk.json(&self.within(arguments)).await
    }

    async fn refused(&self, arguments: &[&str]) -> String {
        self.desk.refused(&self.within(arguments)).await
    }

    fn id(&self) -> WorkspaceId {
        WorkspaceId::parse(&self.workspace).unwrap()
    }

    async fn secret(&self) -> Option<Secret> {
        self.desk.db.store().captcha_secret(self.id()).await.unwrap()
    }

    async fn version(&self) -> Option<u64> {
        self.desk.db.store().capture(self.id()).await.unwrap().map(|capture| capture.version)
    }
}

#[tokio::test]
async fn enabling_sets_up_capture_with_a_key_and_never_shows_the_secret() {
    let pages = Pages::new().await;
    let template = pages.template(&["--approved", "1", "--variable", "name=CONTACT.firstName:there"]).await;
    let given = ["--origin", PAGE, "--brand", "a", "--template", &template, "--secret", "s-1"];
    let enable = [&["capture", "enable"], &given[..]].concat();
    let enabled = pages.json(&enable).await;
    assert_json_snapshot!(enabled, @r#"
    {
      "brandId": "a",
      "captureKey": "lck_LiHWlxSkBDeybSpC1i0RRxBf",
      "createdAt": "2026-01-02T03:04:05.678Z",
      "dailyCap": null,
      "enabled": true,
      "hasSecret": true,
      "leadTemplateId": "00000000-0000-4000-8000-000000000004",
      "origins": [
        "https://www.aster.example"
      ],
      "phoneCap": null,
      "rate": 10,
      "threshold": 0.5,
      "unreachableBrands": [
        "b"
      ],
      "updatedAt": "2026-01-02T03:04:05.678Z",
      "workspaceId": "00000000-0000-4000-8000-000000000001"
    }
    "#);
    assert_eq!(pages.secret().await, Some(Secret::new("s-1")));
    assert_eq!(pages.json(&["capture", "show"]).await, enabled);
    assert_snapshot!(pages.desk.run(&pages.within(&["capture", "show"])).await.out, @"
    enabled             yes
    capture key         lck_LiHWlxSkBDeybSpC1i0RRxBf
    origins             https://www.aster.example
    brand               a
    template            00000000-0000-4000-8000-000000000004
    threshold           0.5
    daily cap           -
    cap per number      -
    rate                10/s, 100 at once
    captcha secret      yes
    unreachable brands  b
    created             2026-01-02T03:04:05.678Z
    updated             2026-01-02T03:04:05.678Z
    ");

    assert_eq!(pages.json(&enable).await, enabled, "the repeated command must change nothing");
    assert_eq!(pages.version().await, Some(1));
}

#[tokio::test]
async fn the_rate_is_10_a_second_unless_the_operator_sets_another_up_to_500() {
    let (pages, _) = Pages::enabled().await;
    let set = async |rate: &str| pages.json(&["capture", "set", "--rate", rate]).await["rate"].clone();
    assert_eq!(pages.json(&["capture", "show"]).await["rate"], json!(10));
    assert_eq!([set("500").await, set("1").await], [json!(500), json!(1)]);
    pages.json(&["capture", "set", "--threshold", "0.9"]).await;
    let shown = pages.desk.run(&pages.within(&["capture", "show"])).await.out;
    assert!(shown.contains("\nrate                1/s, 10 at once\n"), "{shown}");
    for wrong in ["0", "501", "none"] {
        let command = pages.within(&["capture", "set", "--rate", wrong]);
        assert_eq!(pages.desk.run(&command).await.status, 2, "{wrong}");
    }
}

#[tokio::test]
async fn absent_settings_stay_unchanged_and_removed_settings_are_cleared() {
    let (pages, template) = Pages::enabled().await;
    let set = ["capture", "set", "--threshold", "0.75", "--daily-cap", "500", "--phone-cap", "2"];
    let changed = pages.json(&[&set[..], &["--origin", "https://b.example:8443"]].concat()).await;
    let settings = |shown: &Value| {
        ["enabled", "origins", "brandId", "leadTemplateId", "threshold", "dailyCap", "phoneCap", "hasSecret"]
            .map(|field| shown[field].clone())
    };
    assert_eq!(
        settings(&changed),
        [
            json!(true),
            json!([PAGE, "https://b.example:8443"]),
            json!("a"),
            json!(template),
            json!(0.75),
            json!(500),
            json!(2),
            json!(true)
        ]
    );
    let cleared = ["capture", "set", "--no-brand", "--no-daily-cap", "--no-phone-cap"];
    let removed = ["--remove-origin", PAGE, "--remove-origin", "https://gone.example"];
    let changed = pages.json(&[&cleared[..], &removed].concat()).await;
    assert_eq!(
        settings(&changed),
        [
            json!(true),
            json!(["https://b.example:8443"]),
            Value::Null,
            json!(template),
            json!(0.75),
            Value::Null,
            Value::Null,
            json!(true)
        ]
    );
    let shown = pages.desk.run(&pages.within(&["capture", "show"])).await.out;
    assert!(shown.contains("\nbrand               -\n"), "{shown}");
    assert!(shown.contains("\ndaily cap           -\n"), "{shown}");
}

#[tokio::test]
async fn disabling_keeps_the_settings_so_that_enabling_needs_no_arguments() {
    let (pages, _) = Pages::enabled().await;
    let enabled = pages.json(&["capture", "show"]).await;
    let disabled = pages.json(&["capture", "disable"]).await;
    assert_eq!(disabled["enabled"], false);
    assert_eq!(disabled["captureKey"], enabled["captureKey"]);
    assert_eq!(pages.json(&["capture", "disable"]).await, disabled);
    assert_eq!(pages.version().await, Some(2));
    let again = pages.json(&["capture", "enable"]).await;
    assert_eq!(again["enabled"], true);
    assert_eq!(again["captureKey"], enabled["captureKey"]);
}

#[tokio::test]
async fn enabling_without_required_settings_lists_them_all_and_writes_nothing() {
    let pages = Pages::new().await;
    assert_snapshot!(pages.refused(&["capture", "enable"]).await, @"Lead capture cannot be enabled: it has no captcha secret; it has no origin; it has no template.");
    let asking = pages.template(&["--approved", "1", "--variable", "code=CALLER"]).await;
    let unapproved = pages.template_named("other", &["--approved", "3"]).await;
    let other = pages.desk.json(&["workspace", "create", "--name", "Other"]).await;
    let other = other["workspaceId"].as_str().unwrap();
    let create = ["template", "create", "--name", "theirs", "--language", "en", "--workspace", other];
    let foreign = pages.desk.json(&create).await["templateId"].as_str().unwrap().to_owned();

    let complete = ["capture", "enable", "--origin", PAGE, "--secret", "s"];
    let with = async |more: &[&str]| pages.refused(&[&complete[..], more].concat()).await;
    assert_snapshot!(with(&[]).await, @"Lead capture cannot be enabled: it has no template.");
    assert_eq!(
        with(&["--template", &asking, "--brand", "a"]).await,
        format!("Lead capture cannot be enabled: template {asking} needs values that only a caller has.")
    );
    assert_eq!(
        with(&["--template", &unapproved, "--brand", "a"]).await,
        format!(
            "Lead capture cannot be enabled: template {unapproved} is not approved for account 1, the account of \
             brand a."
        )
    );
    assert_snapshot!(with(&["--template", &unapproved]).await, @"Lead capture cannot be enabled: no brand of the workspace has a line with an account for which the template is approved.");
    for missing in [NOBODY, &foreign] {
        assert_eq!(
            with(&["--template", missing, "--brand", "a"]).await,
            format!("There is no template {missing} in this scope.")
        );
    }
    assert_snapshot!(with(&["--template", &asking, "--brand", "c"]).await, @"The workspace has no brand c.");
    assert_eq!(pages.version().await, None);
    assert_eq!(pages.secret().await, None);
    assert_eq!(
        pages.desk.refused(&["capture", "enable", "--workspace", NOBODY]).await,
        format!("There is no workspace {NOBODY}.")
    );
}

#[tokio::test]
async fn capture_cannot_be_enabled_for_a_brand_without_a_line_or_a_default_line() {
    let (desk, workspace) = Desk::with_workspace().await;
    let pages = Pages { desk, workspace };
    pages.json(&["brand", "create", "--name", "Aster", "--id", "a"]).await;
    let template = pages.template(&["--approved", "1"]).await;
    let given = ["--origin", PAGE, "--secret", "s", "--template", &template];
    let enable = [&["capture", "enable"], &given[..]].concat();
    let refused = pages.refused(&[&enable[..], &["--brand", "a"]].concat()).await;
    assert_eq!(refused, "Lead capture cannot be enabled: there is no line for brand a.");
    let refused = pages.refused(&enable).await;
    assert_eq!(
        refused,
        "Lead capture cannot be enabled: no brand of the workspace has a line with an account for which the \
         template is approved."
    );
    let line =
        ["line", "create", "--channel", "1", "--brand", "a", "--token", "t", "--business-account", "1"];
    pages.json(&line).await;
    assert_eq!(pages.json(&enable).await["enabled"], true);
    // A brand without a line uses the workspace's default line.
    pages.json(&["brand", "create", "--name", "Aster Kids", "--id", "b"]).await;
    let kids = pages.json(&["capture", "set", "--brand", "b"]).await;
    assert_eq!((&kids["brandId"], &kids["unreachableBrands"]), (&json!("b"), &json!([])));
}

#[tokio::test]
async fn a_platform_template_is_accepted_and_unreachable_brands_are_listed() {
    let pages = Pages::new().await;
    let create = ["template", "create", "--platform", "--name", "hi", "--language", "en", "--approved", "2"];
    let template = pages.desk.json(&create).await["templateId"].as_str().unwrap().to_owned();
    let given = ["--origin", PAGE, "--brand", "b", "--template", &template, "--secret", "s"];
    let enabled = pages.json(&[&["capture", "enable"], &given[..]].concat()).await;
    assert_eq!(enabled["unreachableBrands"], json!(["a"]));
    let approve = ["template", "approve", "--platform", "--template", &template, "--business-account", "1"];
    pages.desk.json(&approve).await;
    assert_eq!(pages.json(&["capture", "show"]).await["unreachableBrands"], json!([]));
}

#[tokio::test]
async fn enabled_capture_refuses_a_change_that_makes_it_incomplete() {
    let (pages, template) = Pages::enabled().await;
    assert_snapshot!(pages.refused(&["capture", "set", "--remove-origin", PAGE]).await, @"Lead capture is enabled and would not work with this change: it has no origin.");
    assert_eq!(
        pages.refused(&["capture", "set", "--brand", "b"]).await,
        format!(
            "Lead capture is enabled and would not work with this change: template {template} is not approved \
             for account 2, the account of brand b."
        )
    );
    assert_eq!(pages.version().await, Some(1));

    // Disabled capture may be incomplete, but unknown names are refused in any case.
    pages.json(&["capture", "disable"]).await;
    let set = pages.json(&["capture", "set", "--remove-origin", PAGE, "--brand", "b"]).await;
    assert_eq!((&set["enabled"], &set["origins"]), (&json!(false), &json!([])));
    assert_eq!(set["unreachableBrands"], json!(["b"]));
    assert_eq!(pages.refused(&["capture", "set", "--brand", "c"]).await, "The workspace has no brand c.");
    let unknown = pages.refused(&["capture", "set", "--template", NOBODY]).await;
    assert_eq!(unknown, format!("There is no template {NOBODY} in this scope."));
    assert_snapshot!(pages.refused(&["capture", "enable"]).await, @"Lead capture cannot be enabled: it has no origin; template 00000000-0000-4000-8000-000000000004 is not approved for account 2, the account of brand b.");
}

#[tokio::test]
async fn capture_can_be_set_up_before_it_is_enabled() {
    let pages = Pages::new().await;
    for verb in ["show", "disable", "rotate-key"] {
        assert_eq!(
            pages.refused(&["capture", verb]).await,
            "Lead capture is not set up for the workspace: use `capture set` or `capture enable`."
        );
    }
    let set = pages.json(&["capture", "set"]).await;
    assert_eq!(
        [&set["enabled"], &set["origins"], &set["threshold"], &set["hasSecret"], &set["dailyCap"]],
        [&json!(false), &json!([]), &json!(0.5), &json!(false), &Value::Null]
    );
    pages.json(&["capture", "set", "--secret", "s"]).await;
    let shown = pages.json(&["capture", "show"]).await;
    assert_eq!((&shown["hasSecret"], &shown["captureKey"]), (&json!(true), &set["captureKey"]));
    assert_eq!(pages.version().await, Some(2), "a new secret is a change of the settings");
}

#[tokio::test]
async fn a_rotation_creates_another_key_and_reminds_people_of_their_pages() {
    let (pages, _) = Pages::enabled().await;
    let before = pages.json(&["capture", "show"]).await;
    let rotated = pages.json(&["capture", "rotate-key"]).await;
    assert_ne!(rotated["captureKey"], before["captureKey"]);
    assert_eq!((&rotated["enabled"], &rotated["origins"]), (&before["enabled"], &before["origins"]));
    assert_eq!(pages.json(&["capture", "show"]).await, rotated);
    let ran = pages.desk.run(&pages.within(&["capture", "rotate-key"])).await;
    assert_eq!(ran.status, 0);
    assert_snapshot!(ran.err, @"Give the pages the new key now: leads with the previous key are refused.");
}

#[tokio::test]
async fn a_captcha_secret_may_come_from_a_file_or_standard_input() {
    let (mut pages, _) = Pages::enabled().await;
    pages.desk.input = "from-input\n".to_owned();
    pages.json(&["capture", "set", "--secret-file", "-"]).await;
    assert_eq!(pages.secret().await, Some(Secret::new("from-input")));
    let file = std::env::temp_dir().join(format!("console-captcha-{}", std::process::id()));
    std::fs::write(&file, "from-file\r\n").unwrap();
    let enable = ["capture", "enable", "--secret-file", file.to_str().unwrap()];
    let shown = pages.desk.run(&pages.within(&enable)).await;
    std::fs::remove_file(&file).unwrap();
    assert_eq!((shown.status, shown.err.as_str()), (0, ""));
    assert!(!shown.out.contains("from-"), "{}", shown.out);
    assert_eq!(pages.secret().await, Some(Secret::new("from-file")));
    assert!(pages.refused(&enable).await.starts_with(file.to_str().unwrap()));
    assert_snapshot!(pages.refused(&["capture", "set", "--secret", "two words"]).await, @"The captcha secret is invalid: should be 1 to 512 visible ASCII characters, without spaces.");
    assert_eq!(pages.secret().await, Some(Secret::new("from-file")));
}

#[tokio::test]
async fn an_origin_is_stored_as_browsers_send_it() {
    let pages = Pages::new().await;
    let written = ["--origin", "https://Shop.example.com/", "--origin", "b\u{fc}cher.example"];
    let set = pages.json(&[&["capture", "set"][..], &written].concat()).await;
    assert_eq!(set["origins"], json!(["https://shop.example.com", "https://xn--bcher-kva.example"]));
    let removed = pages.json(&["capture", "set", "--remove-origin", "HTTPS://SHOP.example.com:443/"]).await;
    assert_eq!(removed["origins"], json!(["https://xn--bcher-kva.example"]));
}

#[tokio::test]
async fn more_than_twenty_origins_are_refused_and_a_repeated_origin_is_stored_once() {
    let pages = Pages::new().await;
    let origins: Vec<String> = (0..20).map(|n| format!("https://w{n}.example")).collect();
    let mut set = vec!["capture", "set"];
    set.extend(origins.iter().flat_map(|origin| ["--origin", origin]));
    let full = pages.json(&set).await;
    assert_eq!(full["origins"].as_array().unwrap().len(), 20);
    assert_eq!(pages.json(&["capture", "set", "--origin", "https://w3.example"]).await, full);
    let more = pages.refused(&["capture", "set", "--origin", PAGE]).await;
    assert_snapshot!(more, @"The origin is refused: lead capture has at most 20 origins.");
    let swap = ["capture", "set", "--origin", PAGE, "--remove-origin", "https://w0.example"];
    assert_eq!(pages.json(&swap).await["origins"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn people_are_warned_of_a_template_without_fallback_for_a_visitors_value() {
    let pages = Pages::new().await;
    let variables = [
        ["--variable", "1=CONTACT.firstName"],
        ["--variable", "2=CONTACT.lastName:friend"],
        ["--variable", "3=CONTACT.cellphone"],
        ["--variable", "4=CONTACT.email"],
    ];
    let template = pages.template(&[&variables.concat()[..], &["--approved", "1"]].concat()).await;
    let ran = pages.desk.run(&pages.within(&["capture", "set", "--template", &template])).await;
    assert_eq!(ran.status, 0);
    assert_eq!(
        ran.err,
        format!(
            "Template {template} has no fallback for firstName, email: a visitor without that value gets no \
             message.\n"
        )
    );
    let more = ["--approved", "1", "--variable", "2=CONTACT.lastName:friend"];
    let fine = pages.template_named("fine", &more).await;
    let ran = pages.desk.run(&pages.within(&["capture", "set", "--template", &fine])).await;
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
}

#[tokio::test]
async fn concurrent_changes_are_all_kept() {
    let pages = Pages::new().await;
    let set = async |argument: &str, value: &str| pages.json(&["capture", "set", argument, value]).await;
    // The first change sets up capture, and the others change it.
    tokio::join!(
        set("--origin", "https://a.example"),
        set("--origin", "https://b.example"),
        set("--daily-cap", "7"),
        set("--brand", "a"),
    );
    let shown = pages.json(&["capture", "show"]).await;
    let mut origins: Vec<&str> =
        shown["origins"].as_array().unwrap().iter().map(|origin| origin.as_str().unwrap()).collect();
    origins.sort_unstable();
    assert_eq!(origins, ["https://a.example", "https://b.example"]);
    assert_eq!((&shown["dailyCap"], &shown["brandId"]), (&json!(7), &json!("a")));
    assert_eq!(pages.version().await, Some(4));

    let (rotated, disabled) =
        tokio::join!(pages.json(&["capture", "rotate-key"]), pages.json(&["capture", "disable"]),);
    assert_eq!(disabled["enabled"], false);
    assert_eq!(pages.json(&["capture", "show"]).await["captureKey"], rotated["captureKey"]);
}
