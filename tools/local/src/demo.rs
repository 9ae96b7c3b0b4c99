//! The demo: workspaces with data. The demo creates them through the console, as an operator would.

mod data;
mod incidents;
mod tenant;

use std::time::Duration;

use futures::future::{try_join, try_join_all};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::Problem;
use crate::checkout::Checkout;
use crate::console::Console;
use crate::landing::Landing;
use crate::progress::Progress;
use crate::simulator::{Entry, Provider, Receiver};
use crate::stack_file::{Office, Sending, Workspace, text};

use data::{ACCOUNTS, ATTRIBUTES, DEMOS, Definition, Demo, DemoUser, PLATFORM, READ_ONLY, State};
use incidents::Incidents;
use tenant::Tenant;

/// The time limit for the first webhook. After that, provisioning fails.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Creates the workspaces concurrently, and then their webhook endpoints. The first workspace accepts leads from
/// the landing page. The templates come from the provider.
pub(crate) async fn provision(
    progress: &Progress,
    checkout: &Checkout,
    console: &Console,
    receiver: &Receiver,
    provider: &Provider,
    landing: &Landing,
) -> Result<Vec<Workspace>, Problem> {
    let step = progress.step("Provisioning the demo");
    let connected = try_join_all(DEMOS.iter().map(|demo| connect(demo, console))).await?;
    // A name that stands in the platform is created in no workspace, so the platform's templates come first.
    register(provider, &|template| PLATFORM.iter().any(|one| one.name == template.name))?;
    let platforms = platform_templates(console).await?;
    register(provider, &|_| true)?;
    let page = landing.url();
    let fill = |(demo, workspace)| fill(demo, workspace, &platforms, &page, checkout, console);
    let filled = try_join_all(DEMOS.iter().zip(connected).map(fill)).await?;
    // Only what you do with the demo is shown.
    provider.ledger().clear();
    step.done();

    // The receiver should get the events of what you do with the demo, not those of its creation. The relay delivers
    // a change to the endpoints that exist when it processes the change, and it processes changes in order. When a
    // change made now has arrived, the relay has processed the changes of the imports.
    let step = progress.step("Sending a first webhook");
    send_first_webhook(checkout, console, receiver).await?;
    let with_webhook = async |mut workspace: Workspace| {
        let operator = Operator { console, workspace_id: &workspace.workspace_id };
        workspace.webhook = operator.webhook(receiver).await?;
        let link = operator.run(["portal", "link"], &["--role", "ADMIN", "--valid", "24h"]).await?;
        workspace.portal_url = text(&link, "url");
        Ok::<_, Problem>(workspace)
    };
    let workspaces = try_join_all(filled.into_iter().map(with_webhook)).await?;
    step.done();
    Ok(workspaces)
}

/// Lets a tenant's program work in the first workspace, and waits for the webhooks of that work.
pub(crate) async fn work(
    progress: &Progress,
    workspaces: &mut [Workspace],
    api_url: &str,
    receiver: &Receiver,
) -> Result<(), Problem> {
    let Some(workspace) = workspaces.first_mut() else { return Ok(()) };
    let step = progress.step("Working as a tenant");
    workspace.work = Some(Tenant { api_url, workspace }.work().await?);
    let is_told = |entries: &[Entry]| {
        WORK.iter().all(|event| entries.iter().any(|entry| is_of(entry, &workspace.workspace_id, event)))
    };
    timeout(LONGEST_WAIT, receiver.ledger().until(is_told)).await.map_err(|_| {
        Problem::new(format!("The webhooks {} of the demo do not arrive.", WORK.join(" and ")))
    })?;
    receiver.ledger().clear();
    step.done();
    Ok(())
}

/// Lets things go wrong in the second workspace.
pub(crate) async fn go_wrong(
    progress: &Progress,
    workspaces: &[Workspace],
    capture_url: &str,
    console: &Console,
    receiver: &Receiver,
    provider: &Provider,
) -> Result<(), Problem> {
    let Some((demo, workspace)) = DEMOS.iter().zip(workspaces).nth(1) else { return Ok(()) };
    let step = progress.step("Letting some of it fail");
    let operator = Operator { console, workspace_id: &workspace.workspace_id };
    Incidents { operator, demo, workspace, capture_url, receiver, provider }.happen().await?;
    // Only what you do with the demo is shown.
    provider.ledger().clear();
    receiver.ledger().clear();
    step.done();
    Ok(())
}

/// The events of a tenant's work.
const WORK: [&str; 2] = ["conversation.created", "message.created"];

/// Whether a request that the receiver got is this event of this workspace.
fn is_of(entry: &Entry, workspace_id: &str, event: &str) -> bool {
    let body: Option<Value> = entry.body_bytes().ok().and_then(|body| serde_json::from_slice(&body).ok());
    body.is_some_and(|body| body["workspaceId"] == workspace_id && body["eventType"] == event)
}

/// Creates a workspace with its brands and lines, and returns its id.
async fn connect(demo: &Demo, console: &Console) -> Result<String, Problem> {
    let workspace_id = create_workspace(console, demo.name).await?;
    let operator = Operator { console, workspace_id: &workspace_id };
    for brand in demo.brands {
        let made = operator.run(["brand", "create"], &["--name", brand.name]).await?;
        for line in brand.lines {
            operator.line(&text(&made, "brandId"), line).await?;
        }
    }
    Ok(workspace_id)
}

/// Fills a workspace with everything except its webhook endpoint.
async fn fill(
    demo: &Demo,
    workspace_id: String,
    platforms: &[Value],
    landing_page: &str,
    checkout: &Checkout,
    console: &Console,
) -> Result<Workspace, Problem> {
    let operator = Operator { console, workspace_id: &workspace_id };
    let (office, sending) =
        try_join(operator.office(demo, checkout), operator.sending(demo, platforms, landing_page)).await?;
    let (name, portal_url) = (demo.name.to_owned(), String::new());
    Ok(Workspace { workspace_id, name, portal_url, office, sending, webhook: Value::Null, work: None })
}

/// Gives the provider the templates of each account that are `wanted`, and the account's lines.
fn register(provider: &Provider, wanted: &dyn Fn(&data::Template) -> bool) -> Result<(), Problem> {
    for account in ACCOUNTS {
        let templates = DEMOS.iter().flat_map(|demo| demo.templates).chain(&PLATFORM);
        let of_account =
            templates.filter(|template| template.approved.contains(&account) && wanted(template));
        let lines = DEMOS.iter().flat_map(|demo| demo.brands).flat_map(|brand| brand.lines);
        let lines = lines.filter(|line| line.business_account == account).map(|line| line.channel);
        let registry = json!({
            "phoneNumberIds": lines.collect::<Vec<_>>(),
            "data": of_account.map(data::Template::listed).collect::<Vec<_>>(),
        });
        let set = provider.set_templates(account, &registry);
        set.map_err(|reason| Problem::of("The demo's templates cannot be registered", reason))?;
    }
    Ok(())
}

async fn platform_templates(console: &Console) -> Result<Vec<Value>, Problem> {
    templates(console, &["--platform"], &PLATFORM, &ACCOUNTS).await
}

/// Reads the templates of a scope from the provider, one account after another, and enters those that no account has. Returns them
/// as the console shows them, in the order of the demo.
async fn templates(
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

async fn list_of(console: &Console, scope: &[&str]) -> Result<Vec<Value>, Problem> {
    let list = console.run(&[&["template", "list"], scope].concat()).await?;
    Ok(list.as_array().cloned().unwrap_or_default())
}

/// Sends the first webhook from a separate workspace, which `stack.json` does not list.
async fn send_first_webhook(
    checkout: &Checkout,
    console: &Console,
    receiver: &Receiver,
) -> Result<(), Problem> {
    let workspace_id = create_workspace(console, "First webhook").await?;
    let operator = Operator { console, workspace_id: &workspace_id };
    operator.webhook(receiver).await?;
    operator.import(checkout, "tools/local/demo/first-contact.csv").await?;
    let arrived = timeout(LONGEST_WAIT, receiver.ledger().reaches(1)).await;
    receiver.ledger().clear();
    match arrived {
        Ok(_) => Ok(()),
        Err(_) => Err(Problem::new(format!(
            "No webhook arrives: see the logs of event-relay and webhook-delivery in {}.",
            checkout.path_text("logs")
        ))),
    }
}

async fn create_workspace(console: &Console, name: &str) -> Result<String, Problem> {
    Ok(text(&console.run(&["workspace", "create", "--name", name]).await?, "workspaceId"))
}

/// The console's commands for one workspace.
struct Operator<'a> {
    console: &'a Console,
    workspace_id: &'a str,
}

impl Operator<'_> {
    async fn office(&self, demo: &Demo, checkout: &Checkout) -> Result<Office, Problem> {
        let api_key = self.key("demo", &["*", "contacts:erase"]).await?;
        let read_only_api_key = self.key("demo, read only", &READ_ONLY).await?;
        let users = self.users(demo).await?;
        let team_id = self.team(demo).await?;
        let attributes = self.attributes().await?;
        self.import(checkout, demo.contacts).await?;
        let contacts = self.list(["contacts", "export"]).await?;
        Ok(Office { api_key, read_only_api_key, users, team_id, attributes, contacts })
    }

    async fn sending(
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

    async fn line(&self, brand_id: &str, line: &data::Line) -> Result<(), Problem> {
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
    async fn run(&self, verb: [&str; 2], rest: &[&str]) -> Result<Value, Problem> {
        self.console.run(&[&verb, ["--workspace", self.workspace_id].as_slice(), rest].concat()).await
    }

    async fn list(&self, verb: [&str; 2]) -> Result<Vec<Value>, Problem> {
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

    async fn import(&self, checkout: &Checkout, csv: &str) -> Result<(), Problem> {
        let path = checkout.file(csv).display().to_string();
        self.run(["contacts", "import"], &[&path]).await.map(drop)
    }

    async fn webhook(&self, receiver: &Receiver) -> Result<Value, Problem> {
        let url = format!("{}/ok/{}", receiver.url(), self.workspace_id);
        let api_key = format!("customer-key-of-{}", self.workspace_id);
        let made = self.run(["webhook", "create"], &["--url", &url, "--api-key", &api_key]).await?;
        Ok(json!({
            "endpointId": made["endpointId"], "url": url, "apiKey": api_key, "secret": made["secret"],
        }))
    }
}

/// The id of the template with this name.
fn id_of(templates: &[Value], name: &str) -> Option<String> {
    templates.iter().find(|template| template["name"] == name).map(|found| text(found, "templateId"))
}
