//! The demo: workspaces with data. The demo creates them through the console, as an operator would.

mod data;
mod incidents;
mod operator;
mod tenant;

use futures::future::{try_join, try_join_all};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::Problem;
use crate::checkout::Checkout;
use crate::console::Console;
use crate::landing::Landing;
use crate::progress::Progress;
use crate::simulator::{Entry, Provider, Receiver};
use crate::stack_file::{Workspace, text};

use data::{ACCOUNTS, DEMOS, Demo, PLATFORM};
use incidents::Incidents;
use operator::{LONGEST_WAIT, Operator, list_of, templates};
use tenant::Tenant;

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
        workspace.webhook = operator.webhook(receiver, "ok", &[]).await?;
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

/// Lets things go wrong in the second workspace. The visitors who send its leads become contacts.
pub(crate) async fn go_wrong(
    progress: &Progress,
    workspaces: &mut [Workspace],
    capture_url: &str,
    console: &Console,
    receiver: &Receiver,
    provider: &Provider,
) -> Result<(), Problem> {
    let Some((demo, workspace)) = DEMOS.iter().zip(workspaces).nth(1) else { return Ok(()) };
    let step = progress.step("Letting some of it fail");
    let operator = Operator { console, workspace_id: &workspace.workspace_id };
    let contacts = Incidents { operator, demo, workspace, capture_url, receiver, provider }.happen().await?;
    workspace.office.contacts = contacts;
    // One of them is paused.
    let present = list_of(console, &["--workspace", &workspace.workspace_id]).await?;
    for template in &mut workspace.sending.templates {
        let same = present.iter().find(|one| one["templateId"] == template["templateId"]);
        *template = same.unwrap_or(template).clone();
    }
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

/// Sends the first webhook from a separate workspace, which `stack.json` does not list.
async fn send_first_webhook(
    checkout: &Checkout,
    console: &Console,
    receiver: &Receiver,
) -> Result<(), Problem> {
    let workspace_id = create_workspace(console, "First webhook").await?;
    let operator = Operator { console, workspace_id: &workspace_id };
    operator.webhook(receiver, "ok", &[]).await?;
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
