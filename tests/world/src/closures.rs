//! Workspaces that operators disable for a while: nothing is accepted and nothing is sent, and nothing is lost.

use std::time::Duration;

use harness::GatewayEvent;
use tokio::time::{Instant, sleep};

use crate::commands::Ran;
use crate::ledger::Closure;
use crate::simulation::Simulation;
use crate::tenant::Tenant;

/// A process that remembers a key notices a change of its workspace within this time.
const NOTICED: Duration = Duration::from_secs(30);

impl Simulation {
    /// Disables the tenant's workspace for a while.
    pub(crate) async fn closes(&self, tenant: &Tenant) {
        let at = {
            let closures = &mut tenant.ledger.borrow_mut().closures;
            closures.push(Closure::default());
            closures.len() - 1
        };
        let changes = |change: &dyn Fn(&mut Closure)| change(&mut tenant.ledger.borrow_mut().closures[at]);
        if let Ran::Done(_) = self.command_of_settings(tenant, &["workspace", "disable"]).await {
            changes(&|closure| closure.closed = Some(Instant::now()));
        }
        let most = *self.random.one_of(&[20_000, 200_000]);
        sleep(Duration::from_millis(self.random.within(1, most))).await;
        changes(&|closure| closure.opens = Some(Instant::now()));
        while !matches!(self.command_of_settings(tenant, &["workspace", "enable"]).await, Ran::Done(_)) {
            self.pause().await;
        }
        changes(&|closure| closure.opened = Some(Instant::now()));
    }

    /// How long a process may take to notice that a workspace is disabled or enabled.
    fn noticed(&self) -> Duration {
        NOTICED + Duration::from_millis(2 * self.faults.levels.skew + 1_000)
    }

    /// Whether something that began then, and ends now, may have found the workspace disabled.
    pub(crate) fn may_be_closed(&self, tenant: &Tenant, begun: Instant) -> bool {
        let is_over = |closure: &Closure| closure.opened.is_some_and(|at| begun > at + self.noticed());
        tenant.ledger.borrow().closures.iter().any(|closure| !is_over(closure))
    }

    /// Whether something that began then, and ended then, must have found the workspace disabled.
    pub(crate) fn was_closed(&self, tenant: &Tenant, begun: Instant, ended: Instant) -> bool {
        tenant.ledger.borrow().closures.iter().any(|closure| {
            closure.closed.is_some_and(|at| begun > at + self.noticed())
                && closure.opens.is_none_or(|at| ended < at)
        })
    }

    /// The tenant of a request.
    pub(crate) fn tenant_of(&self, event: &GatewayEvent) -> Option<&Tenant> {
        let event = event.json();
        let named = event["pathParameters"]["workspaceId"].as_str();
        let named = named.or(event["queryStringParameters"]["workspaceId"].as_str())?;
        self.tenants.iter().find(|tenant| tenant.workspace.to_string() == named)
    }

    /// Whether an answer with this status is one for the caller. A refusal of a disabled workspace is none: the caller
    /// tries again later. Such a workspace accepts nothing.
    pub(crate) fn is_answer(&self, event: &GatewayEvent, status: u16, begun: Instant) -> bool {
        let Some(tenant) = self.tenant_of(event) else { return true };
        if status < 300 && self.was_closed(tenant, begun, Instant::now()) {
            self.breaks(format!("the disabled workspace {} answers {status}: {event:?}", tenant.number));
        }
        status != 403 || !self.may_be_closed(tenant, begun)
    }

    /// Nothing was sent or posted for a workspace while it was disabled.
    pub(crate) fn check_closed(&self, tenant: &Tenant) {
        for call in self.whatsapp.calls().iter().filter(|call| call.channel == tenant.line) {
            if self.was_closed(tenant, call.who.begun, call.at) {
                self.breaks(format!("a call for a disabled workspace: {call:?}"));
            }
        }
        for post in self.receivers.posts().iter().filter(|post| post.workspace == tenant.workspace) {
            if self.was_closed(tenant, post.begun, post.at) {
                self.breaks(format!("a post for a disabled workspace: {post:?}"));
            }
        }
    }
}
