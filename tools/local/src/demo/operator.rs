//! The console's commands for one workspace, and for templates.

use std::time::Duration;

use serde_json::{Value, json};

use super::data::{self, ATTRIBUTES, Definition, Demo, DemoUser, READ_ONLY, State};
use crate::Problem;
use crate::checkout::Checkout;
use crate::console::Console;
use crate::simulator::Receiver;
use crate::stack_file::{Office, Sending, text};

/// The time limit for what the service does by itself, such as the first webhook. After that, provisioning fails.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The console's commands for one workspace.
pub(super) struct Operator<'a> {
    pub(super) console: &'a Console,
    pub(super) workspace_id: &'a str,
}

impl Operator<'_> {
    pub(super) async fn office(&self, demo: &Demo, checkout: &Checkout) -> Result<Office, Problem> {
        let api_key = self.key("demo", &["*", "contacts:erase"]).await?;
        let read_only_api_key = self.key("demo, read only", &READ_ONLY).await?;
        let users = self.users(demo).await?;
        let team_id = self.team(demo).await?;
        let attributes = self.attributes().await?;
        self.import(checkout, demo.contacts).await?;
        let contacts = self.list(["contacts", "export"]).await?;
        Ok(Office { api_key, read_only_api_key, users, team_id, attributes, contacts })
    }

    pub(super) async fn sending(
        &self,
        demo: &Demo,
        platforms: &[Value],
        landing_page: &str,
    ) -> Result<Sending, Problem> {
        let (brands, lines) = (self.list(["brand", "list"]).await?, self.list(["line", "list"]).await?);
        let mut accounts: Vec<&str> =
            demo.brands.iter().flat_map(|brand| brand.lines).map(|line| line.business_account).collect();
        accounts.dedup();
        let scope = ["--workspace", self.workspace_id];
        let mut templates = templates(self.console, &scope, demo.templates, &accounts).await?;
        templates.extend_from_slice(platforms);
        let onboarding = self.onboarding(&demo.onboarding, &templates).await?;
        if let Some(template) =
            templates.iter_mut().find(|one| demo.onboarding.revoked.is_some_and(|name| one["name"] == name))
        {
            self.revoke(template).await?;
        }
        let capture = self.capture(&demo.capture, &brands, &templates, landing_page).await?;
        Ok(Sending { brands, lines, templates, onboarding, capture })
    }

    pub(super) async fn line(&self, brand_id: &str, line: &data::Line) -> Result<(), Problem> {
        let token = format!("demo-token-of-{}", line.channel);
        let mut arguments = vec!["--channel", line.channel, "--brand", brand_id, "--token", &token];
        arguments.extend(["--business-account", line.business_account]);
        self.run(["line", "create"], &arguments).await.map(drop)
    }

    async fn onboarding(&self, onboarding: &data::Onboarding, templates: &[Value]) -> Result<Value, Problem> {
        let id = |name: &&str| id_of(templates, name);
        let ids: Vec<String> = onboarding.sequence.iter().filter_map(id).collect();
        let arguments = ["--override", onboarding.overriding, "--sequence", &ids.join(",")];
        self.run(["onboarding", "set"], &arguments).await
    }

    /// Removes all approvals of a template.
    async fn revoke(&self, template: &mut Value) -> Result<(), Problem> {
        let id = text(template, "templateId");
        for account in template["approved"].as_array().cloned().unwrap_or_default() {
            let account = account.as_str().unwrap_or_default();
            let arguments = ["--template", &id, "--business-account", account];
            *template = self.run(["template", "revoke"], &arguments).await?;
        }
        Ok(())
    }

    async fn capture(
        &self,
        capture: &data::Capture,
        brands: &[Value],
        templates: &[Value],
        landing_page: &str,
    ) -> Result<Value, Problem> {
        let brand = brands.first().map(|brand| text(brand, "brandId")).unwrap_or_default();
        let template = id_of(templates, capture.template).unwrap_or_default();
        let mut arguments = vec!["--origin", capture.origin, "--secret", capture.secret];
        arguments.extend(["--brand", &brand, "--template", &template]);
        if capture.landing_page {
            arguments.extend(["--origin", landing_page]);
        }
        let verb = if capture.enabled { "enable" } else { "set" };
        self.run(["capture", verb], &arguments).await
    }

    /// Runs `console <noun> <verb> --workspace <id> <rest>`.
    pub(super) async fn run(&self, verb: [&str; 2], rest: &[&str]) -> Result<Value, Problem> {
        self.console.run(&[&verb, ["--workspace", self.workspace_id].as_slice(), rest].concat()).await
    }

    pub(super) async fn list(&self, verb: [&str; 2]) -> Result<Vec<Value>, Problem> {
        Ok(self.run(verb, &[]).await?.as_array().cloned().unwrap_or_default())
    }

    async fn key(&self, name: &str, scopes: &[&str]) -> Result<String, Problem> {
        let mut arguments = vec!["--name", name];
        arguments.extend(scopes.iter().flat_map(|scope| ["--scope", scope]));
        Ok(text(&self.run(["key", "create"], &arguments).await?, "apiKey"))
    }

    async fn users(&self, demo: &Demo) -> Result<Vec<Value>, Problem> {
        let mut users = vec![];
        for person in demo.users {
            users.push(self.user(person).await?);
        }
        let former = self.user(demo.former_user).await?;
        users.push(self.run(["user", "disable"], &["--user", &text(&former, "id")]).await?);
        Ok(users)
    }

    async fn user(&self, (email, first_name, last_name): DemoUser) -> Result<Value, Problem> {
        let arguments = ["--email", email, "--first-name", first_name, "--last-name", last_name];
        self.run(["user", "create"], &arguments).await
    }

    /// Creates a team of all enabled users.
    async fn team(&self, demo: &Demo) -> Result<String, Problem> {
        let mut arguments = vec!["--name", demo.team];
        arguments.extend(demo.users.iter().flat_map(|(email, ..)| ["--user", email]));
        Ok(text(&self.run(["team", "create"], &arguments).await?, "teamId"))
    }

    async fn attributes(&self) -> Result<Vec<Value>, Problem> {
        let mut attributes = vec![];
        for definition in &ATTRIBUTES {
            attributes.push(self.attribute(definition).await?);
        }
        Ok(attributes)
    }

    async fn attribute(&self, definition: &Definition) -> Result<Value, Problem> {
        let category = if definition.values.is_empty() { "OPEN" } else { "CLOSED" };
        let mut arguments =
            vec!["--key-name", definition.key, "--category", category, "--type", definition.r#type];
        if definition.state == State::Required {
            arguments.push("--required");
        }
        arguments.extend(definition.values.iter().flat_map(|value| ["--value", value]));
        let made = self.run(["attribute", "create"], &arguments).await?;
        if definition.state == State::Archived {
            return self.run(["attribute", "archive"], &["--attribute", &text(&made, "id")]).await;
        }
        Ok(made)
    }

    pub(super) async fn import(&self, checkout: &Checkout, csv: &str) -> Result<(), Problem> {
        let path = checkout.file(csv).display().to_string();
        self.run(["contacts", "import"], &[&path]).await.map(drop)
    }

    /// Creates an endpoint at the receiver. `answer` is the part of its path that selects the receiver's answers.
    pub(super) async fn webhook(
        &self,
        receiver: &Receiver,
        answer: &str,
        more: &[&str],
    ) -> Result<Value, Problem> {
        let url = format!("{}/{answer}/{}", receiver.url(), self.workspace_id);
        let api_key = format!("customer-key-of-{}", self.workspace_id);
        let arguments = [&["--url", &url, "--api-key", &api_key], more].concat();
        let made = self.run(["webhook", "create"], &arguments).await?;
        Ok(json!({
            "endpointId": made["endpointId"], "url": url, "apiKey": api_key, "secret": made["secret"],
        }))
    }
}

/// The id of the template with this name.
fn id_of(templates: &[Value], name: &str) -> Option<String> {
    templates.iter().find(|template| template["name"] == name).map(|found| text(found, "templateId"))
}

/// Reads the templates of a scope from the provider, one account after another, and enters those that no account has. Returns them
/// as the console shows them, in the order of the demo.
pub(super) async fn templates(
    console: &Console,
    scope: &[&str],
    templates: &[data::Template],
    accounts: &[&str],
) -> Result<Vec<Value>, Problem> {
    for account in accounts {
        console.run(&[&["template", "sync", "--business-account", account], scope].concat()).await?;
    }
    for template in templates.iter().filter(|template| template.text.is_none()) {
        let named =
            ["--name", template.name, "--language", template.language, "--category", template.category];
        console.run(&[&["template", "create"], scope, &named].concat()).await?;
    }
    let kept = list_of(console, scope).await?;
    for template in templates {
        let id = id_of(&kept, template.name).unwrap_or_default();
        let sources: Vec<&str> = template.sources.iter().flat_map(|source| ["--source", source]).collect();
        if !sources.is_empty() {
            console
                .run(&[&["template", "set-source"], scope, &["--template", &id], &sources].concat())
                .await?;
        }
    }
    let kept = list_of(console, scope).await?;
    let kept_of = |template: &data::Template| kept.iter().find(|one| one["name"] == template.name).cloned();
    Ok(templates.iter().filter_map(kept_of).collect())
}

pub(super) async fn list_of(console: &Console, scope: &[&str]) -> Result<Vec<Value>, Problem> {
    let list = console.run(&[&["template", "list"], scope].concat()).await?;
    Ok(list.as_array().cloned().unwrap_or_default())
}
