//! `stack.json`: everything that a program needs to use the stack from outside.

use serde::Serialize;
use serde_json::Value;

use crate::Problem;
use crate::checkout::Checkout;

/// The content of `stack.json`. New fields may be added. Existing fields keep their meaning.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StackFile {
    pub(crate) base_url: String,
    pub(crate) capture_url: String,
    pub(crate) emulator_url: String,
    /// What the functions and the console call: the emulator, or the validator in front of it.
    pub(crate) aws_url: String,
    pub(crate) region: String,
    pub(crate) captcha_url: String,
    pub(crate) provider_url: String,
    /// Where the provider posts webhooks. An app's path `/api/v1/whatsapp/{appId}` follows.
    pub(crate) provider_events_url: String,
    pub(crate) receiver_url: String,
    pub(crate) receiver_ledger_url: String,
    pub(crate) receiver_ca_file: String,
    /// The first workspace's landing page. Its origin may send leads.
    pub(crate) landing_url: String,
    /// The same page at an origin that may not send leads.
    pub(crate) foreign_landing_url: String,
    /// The API reference, for people.
    pub(crate) reference_url: String,
    pub(crate) console: String,
    /// The apps whose webhooks the service accepts.
    pub(crate) provider_apps: Vec<ProviderApp>,
    pub(crate) workspaces: Vec<Workspace>,
}

/// An app of the provider.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderApp {
    pub(crate) app_id: String,
    pub(crate) app_secret: String,
    pub(crate) verify_token: String,
}

/// A workspace of the demo. Every setting is as the console's `--json` shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Workspace {
    pub(crate) workspace_id: String,
    pub(crate) name: String,
    /// A link that signs in to the workspace's portal as an administrator, once, within 24 hours.
    pub(crate) portal_url: String,
    #[serde(flatten)]
    pub(crate) office: Office,
    #[serde(flatten)]
    pub(crate) sending: Sending,
    pub(crate) webhook: Value,
    /// Of the first workspace.
    #[serde(flatten)]
    pub(crate) work: Option<Work>,
}

/// What a tenant's program made with the first contact: a conversation, a note in it, a file, and a preview of its erasure.
#[derive(Debug, Serialize)]
pub(crate) struct Work {
    pub(crate) conversation: Value,
    pub(crate) message: Value,
    pub(crate) file: Value,
    pub(crate) erasure: Value,
}

/// A workspace's keys, users, attributes and contacts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Office {
    pub(crate) api_key: String,
    pub(crate) read_only_api_key: String,
    pub(crate) users: Vec<Value>,
    pub(crate) team_id: String,
    pub(crate) attributes: Vec<Value>,
    pub(crate) contacts: Vec<Value>,
}

/// A workspace's brands, lines, templates and lead capture.
#[derive(Debug, Serialize)]
pub(crate) struct Sending {
    pub(crate) brands: Vec<Value>,
    pub(crate) lines: Vec<Value>,
    /// The templates of the workspace and of the platform, including unapproved ones.
    pub(crate) templates: Vec<Value>,
    pub(crate) onboarding: Value,
    pub(crate) capture: Value,
}

/// A text that the console printed in this field.
pub(crate) fn text(printed: &Value, field: &str) -> String {
    printed[field].as_str().unwrap_or_default().to_owned()
}

impl StackFile {
    pub(crate) fn write(&self, checkout: &Checkout) -> Result<(), Problem> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Problem::of("stack.json cannot be written", error))?;
        checkout.write("stack.json", &format!("{text}\n"))
    }

    /// A line for each workspace: a link to its portal.
    fn portals(&self) -> String {
        let line = |workspace: &Workspace| {
            format!("Portal     {} (signs you in to {}, once)\n", workspace.portal_url, workspace.name)
        };
        self.workspaces.iter().map(line).collect()
    }

    /// The text that `local run` prints: the URLs, and commands to try first.
    pub(crate) fn summary(&self, checkout: &Checkout) -> String {
        let mut text = format!(
            "The stack is up.\n\
             \n\
             API        {}\n\
             Console    {} --help\n\
             Sent       {}/ledger (messages that the simulated provider got)\n\
             Received   {}/ledger (webhooks that the simulated receiver got)\n\
             Inbound    {} (where the provider posts webhooks)\n\
             Landing    {} (a page that sends leads)\n\
             Reference  {} (the API reference)\n\
             {}\
             Logs       {}\n\
             Details    {} (all URLs, keys and ids)\n",
            self.base_url,
            self.console,
            self.provider_url,
            self.receiver_ledger_url,
            self.provider_events_url,
            self.landing_url,
            self.reference_url,
            self.portals(),
            checkout.path_text("logs"),
            checkout.path_text("stack.json"),
        );
        if let Some(workspace) = self.workspaces.first() {
            text.push_str(&format!(
                "\n\
                 Open a conversation:\n\
                 \n\
                 curl -X POST {}/service/api/v1/workspaces/{}/conversations \\\n  \
                   -H 'x-api-key: {}' -H 'content-type: application/json' \\\n  \
                   -d '{{\"participants\": {{\"externals\": [{{\"identifier\": \"+34600111222\", \
                   \"identifierType\": \"PHONE\"}}]}}}}'\n\
                 \n\
                 See the templates that it sent and the signed webhooks that followed:\n\
                 \n\
                 curl -s {}/ledger | python3 -m json.tool\n\
                 curl -s {}/ledger | python3 -m json.tool\n",
                self.base_url,
                workspace.workspace_id,
                workspace.office.api_key,
                self.provider_url,
                self.receiver_ledger_url,
            ));
        }
        text.push_str("\nPress Ctrl-C to stop the stack.\n");
        text
    }
}
