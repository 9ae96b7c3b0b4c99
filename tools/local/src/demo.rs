//! The demo: two workspaces with something in them, made through the console as an operator would.

use std::time::Duration;

use futures::future::try_join_all;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::timeout;

use crate::Problem;
use crate::checkout::Checkout;
use crate::console::Console;
use crate::progress::Progress;
use crate::simulator::Receiver;
use crate::stack_file::{Attribute, Contact, User, Webhook, Workspace};

const DEMOS: [Demo; 2] = [
    Demo {
        name: "Aster Travel",
        users: [
            ("ada.okafor@aster.example.com", "Ada", "Okafor"),
            ("bram.visser@aster.example.com", "Bram", "Visser"),
            ("chloe.marchand@aster.example.com", "Chloé", "Marchand"),
            ("diego.salas@aster.example.com", "Diego", "Salas"),
        ],
        former_user: ("erik.holm@aster.example.com", "Erik", "Holm"),
        team: "Travel desk",
        contacts: "tools/local/demo/aster-travel.csv",
    },
    Demo {
        name: "Borealis Insurance",
        users: [
            ("freya.nilsen@borealis.example.com", "Freya", "Nilsen"),
            ("goran.babic@borealis.example.com", "Goran", "Babić"),
            ("hanna.virtanen@borealis.example.com", "Hanna", "Virtanen"),
            ("imran.shah@borealis.example.com", "Imran", "Shah"),
        ],
        former_user: ("june.adler@borealis.example.com", "June", "Adler"),
        team: "Claims",
        contacts: "tools/local/demo/borealis-insurance.csv",
    },
];

/// The same in both workspaces; the CSV files have a column for each but the archived one.
const ATTRIBUTES: [Definition; 8] = [
    Definition { key: "company", r#type: "TEXT", values: &[], required: true, archived: false },
    Definition { key: "customerSince", r#type: "DATE", values: &[], required: false, archived: false },
    Definition { key: "seats", r#type: "NUMBER", values: &[], required: false, archived: false },
    Definition { key: "newsletter", r#type: "BOOLEAN", values: &[], required: false, archived: false },
    Definition {
        key: "plan",
        r#type: "TEXT",
        values: &["Free", "Team", "Enterprise"],
        required: true,
        archived: false,
    },
    Definition {
        key: "interests",
        r#type: "TEXT",
        values: &["Offers", "Events", "Product news", "Surveys"],
        required: false,
        archived: false,
    },
    Definition {
        key: "priority",
        r#type: "NUMBER",
        values: &["1", "2", "3"],
        required: false,
        archived: false,
    },
    Definition { key: "fax", r#type: "TEXT", values: &[], required: false, archived: true },
];

const READ_ONLY: [&str; 4] = ["conversations:read", "contacts:read", "settings:read", "users:read"];

struct Demo {
    name: &'static str,
    users: [Person; 4],
    /// Made and then disabled.
    former_user: Person,
    team: &'static str,
    contacts: &'static str,
}

/// E-mail, first and last name.
type Person = (&'static str, &'static str, &'static str);

/// CLOSED when there are values to choose from, else OPEN.
struct Definition {
    key: &'static str,
    r#type: &'static str,
    values: &'static [&'static str],
    required: bool,
    archived: bool,
}

/// How long the first webhook may take before something is wrong.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Makes both workspaces, at the same time, and then their webhook endpoints.
pub(crate) async fn provision(
    progress: &Progress,
    checkout: &Checkout,
    console: &Console,
    receiver: &Receiver,
) -> Result<Vec<Workspace>, Problem> {
    let step = progress.step("Provisioning the demo");
    let filled = try_join_all(DEMOS.iter().map(|demo| fill(demo, checkout, console))).await?;
    step.done();

    // The receiver is to hear of what is done with the demo, not of its making, and a change goes to the endpoints
    // that are there when the relay comes to it. It takes changes in their order: once one made now has arrived,
    // those of the imports are through.
    let step = progress.step("Sending a first webhook");
    send_first_webhook(checkout, console, receiver).await?;
    let workspaces =
        try_join_all(filled.into_iter().map(|filled| filled.with_webhook(console, receiver))).await?;
    step.done();
    Ok(workspaces)
}

/// A workspace that has everything but its endpoint.
struct Filled {
    workspace_id: String,
    api_key: String,
    read_only_api_key: String,
    users: Vec<User>,
    team_id: String,
    attributes: Vec<Attribute>,
    contacts: Vec<Contact>,
}

async fn fill(demo: &Demo, checkout: &Checkout, console: &Console) -> Result<Filled, Problem> {
    let workspace_id = create_workspace(console, demo.name).await?;
    let operator = Operator { console, workspace_id: &workspace_id };
    let api_key = operator.key("demo", &["*"]).await?;
    let read_only_api_key = operator.key("demo, read only", &READ_ONLY).await?;
    let users = operator.users(demo).await?;
    let team_id = operator.team(demo).await?;
    let attributes = operator.attributes().await?;
    operator.import(checkout, demo.contacts).await?;
    let contacts = operator.run(["contacts", "export"], &[]).await?;
    Ok(Filled { api_key, read_only_api_key, users, team_id, attributes, contacts, workspace_id })
}

impl Filled {
    async fn with_webhook(self, console: &Console, receiver: &Receiver) -> Result<Workspace, Problem> {
        let operator = Operator { console, workspace_id: &self.workspace_id };
        let webhook = operator.webhook(receiver).await?;
        Ok(Workspace {
            workspace_id: self.workspace_id,
            api_key: self.api_key,
            read_only_api_key: self.read_only_api_key,
            users: self.users,
            team_id: self.team_id,
            attributes: self.attributes,
            contacts: self.contacts,
            webhook,
        })
    }
}

/// From a workspace of its own, which nobody hears of afterwards.
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
            "No webhook arrives: the logs of event-relay and webhook-delivery in {} tell why.",
            checkout.path_text("logs")
        ))),
    }
}

async fn create_workspace(console: &Console, name: &str) -> Result<String, Problem> {
    let made: MadeWorkspace = console.run(&["workspace", "create", "--name", name]).await?;
    Ok(made.workspace_id)
}

/// The console within one workspace.
struct Operator<'a> {
    console: &'a Console,
    workspace_id: &'a str,
}

impl Operator<'_> {
    /// Runs `console <noun> <verb> --workspace <id> <rest>`.
    async fn run<T: DeserializeOwned>(&self, verb: [&str; 2], rest: &[&str]) -> Result<T, Problem> {
        self.console.run(&[&verb, ["--workspace", self.workspace_id].as_slice(), rest].concat()).await
    }

    async fn key(&self, name: &str, scopes: &[&str]) -> Result<String, Problem> {
        let mut arguments = vec!["--name", name];
        arguments.extend(scopes.iter().flat_map(|scope| ["--scope", scope]));
        let made: MadeKey = self.run(["key", "create"], &arguments).await?;
        Ok(made.api_key)
    }

    async fn users(&self, demo: &Demo) -> Result<Vec<User>, Problem> {
        let mut users = Vec::new();
        for person in demo.users {
            users.push(self.user(person).await?);
        }
        let former = self.user(demo.former_user).await?;
        users.push(self.run(["user", "disable"], &["--user", &former.id]).await?);
        Ok(users)
    }

    async fn user(&self, (email, first_name, last_name): Person) -> Result<User, Problem> {
        let arguments = ["--email", email, "--first-name", first_name, "--last-name", last_name];
        self.run(["user", "create"], &arguments).await
    }

    /// A team of everybody who is still there.
    async fn team(&self, demo: &Demo) -> Result<String, Problem> {
        let mut arguments = vec!["--name", demo.team];
        arguments.extend(demo.users.iter().flat_map(|(email, ..)| ["--user", email]));
        let made: MadeTeam = self.run(["team", "create"], &arguments).await?;
        Ok(made.team_id)
    }

    async fn attributes(&self) -> Result<Vec<Attribute>, Problem> {
        let mut attributes = Vec::new();
        for definition in &ATTRIBUTES {
            attributes.push(self.attribute(definition).await?);
        }
        Ok(attributes)
    }

    async fn attribute(&self, definition: &Definition) -> Result<Attribute, Problem> {
        let category = if definition.values.is_empty() { "OPEN" } else { "CLOSED" };
        let mut arguments =
            vec!["--key-name", definition.key, "--category", category, "--type", definition.r#type];
        if definition.required {
            arguments.push("--required");
        }
        arguments.extend(definition.values.iter().flat_map(|value| ["--value", value]));
        let made: Attribute = self.run(["attribute", "create"], &arguments).await?;
        if definition.archived {
            return self.run(["attribute", "archive"], &["--attribute", &made.id]).await;
        }
        Ok(made)
    }

    async fn import(&self, checkout: &Checkout, csv: &str) -> Result<(), Problem> {
        let path = checkout.file(csv).display().to_string();
        let _: IgnoredAny = self.run(["contacts", "import"], &[&path]).await?;
        Ok(())
    }

    async fn webhook(&self, receiver: &Receiver) -> Result<Webhook, Problem> {
        let url = format!("{}/ok/{}", receiver.url(), self.workspace_id);
        let api_key = format!("customer-key-of-{}", self.workspace_id);
        let made: MadeEndpoint =
            self.run(["webhook", "create"], &["--url", &url, "--api-key", &api_key]).await?;
        Ok(Webhook { endpoint_id: made.endpoint_id, url, api_key, secret: made.secret })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MadeWorkspace {
    workspace_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MadeKey {
    api_key: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MadeTeam {
    team_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MadeEndpoint {
    endpoint_id: String,
    secret: String,
}
