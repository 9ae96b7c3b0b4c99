//! Reviewers at WhatsApp, who pause, edit and reinstate the templates of the tenants' account.

use std::rc::Rc;
use std::time::Duration;

use domain::settings::template::Sendable;
use domain::{TemplateId, TemplateScope};
use harness::World;
use local::simulator::{Changed, WebhookChange};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::random::Random;
use crate::simulation::Simulation;
use crate::templates::{HELLO, LANGUAGE, RECEIPT, TEXTS, as_listed, components};
use crate::tenant::Tenant;

/// Between two decisions about a template. The time of a decision is a second of WhatsApp, that of a reading the clock of a process.
const APART: Duration = Duration::from_secs(30);

impl Simulation {
    /// Starts the reviewers, if the world has them.
    pub(crate) fn start_reviews(self: &Rc<Self>, random: &Random) {
        let reviews = if random.happens(400) { random.within(1, 3) } else { 0 };
        let this = self.clone();
        self.spawn("client", async move {
            for _ in 0..reviews {
                this.pause().await;
                let name = *this.random.one_of(&[HELLO, RECEIPT]);
                this.reviews(name).await;
                sleep(APART).await;
            }
        });
    }

    /// Decides about a template, and takes the decision back some time later.
    async fn reviews(&self, name: &str) {
        self.reviewed.set(true);
        let (decided, back) = match self.random.happens(500) {
            true => (json!({ "command": "pause" }), json!({ "command": "reinstate" })),
            false => (
                json!({ "command": "edit", "components": components(TEXTS[1]) }),
                json!({ "command": "edit", "components": components(TEXTS[0]) }),
            ),
        };
        self.decides(name, decided);
        sleep(APART + Duration::from_secs(self.random.within(0, 1_800))).await;
        self.decides(name, back);
    }

    fn decides(&self, name: &str, mut command: Value) {
        command["name"] = json!(name);
        command["language"] = json!(LANGUAGE);
        self.trace.note(format_args!("WhatsApp decides {command}"));
        let decided = self.whatsapp.registry().command(World::ACCOUNT, &command);
        let Ok(Changed { change: Some(WebhookChange { field, mut value, .. }), .. }) = decided else {
            panic!("a command: {command}");
        };
        value["field"] = json!(field);
        value["time"] = json!(self.now().as_seconds());
        self.whatsapp.tells(value);
    }

    /// Each template is as WhatsApp has it.
    pub(crate) async fn check_templates(&self, tenant: &Tenant) {
        for (id, name) in tenant.templates.iter().zip([HELLO, RECEIPT]) {
            let id = TemplateId::parse(id).expect("an id");
            let read = self.world.db.store().template(TemplateScope::Workspace(tenant.workspace), id).await;
            let template = read.expect("a read").expect("a template");
            let mut expected = template.clone();
            as_listed(&mut expected, name, template.category);
            let is_sendable = template.sendable(&World::account()) == Sendable::Now;
            if template.form != expected.form || template.sources != expected.sources || !is_sendable {
                self.breaks(format!("WhatsApp has another {name}: {template:?}"));
            }
        }
    }
}
