//! The operator, who disables and enables what tenants have.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use domain::webhook::DisabledReason;
use domain::{
    Brand, BrandId, BusinessAccountId, ChannelId, Ids, Job, JobId, JobKind, Line, Secret, Timestamp,
    WebhookEndpoint,
};
use futures::future::join_all;
use harness::World;
use store::{LineCreated, StoreError};
use tokio::time::sleep;

use crate::edits::Edit;
use crate::simulation::Simulation;
use crate::tenant::Tenant;
use crate::times::RESCUE;

/// The time limit of an operator's command.
const LIMIT: Duration = Duration::from_secs(60);

impl Simulation {
    /// Starts the operator of each tenant, if the world has one.
    pub(crate) fn start_operators(self: &Rc<Self>) {
        for tenant in 0..self.tenants.len() {
            let this = self.clone();
            let (closes, moves) = (self.random.happens(150), self.random.below(2));
            self.spawn("client", async move {
                for _ in 0..moves {
                    this.pause().await;
                    this.moves_endpoint(&this.tenants[tenant]).await;
                }
                if closes {
                    this.pause().await;
                    this.closes(&this.tenants[tenant]).await;
                }
            });
            let (this, steps) = (self.clone(), self.random.below(4));
            self.spawn("client", async move {
                for _ in 0..steps {
                    this.pause().await;
                    this.sets_up(&this.tenants[tenant]).await;
                }
            });
            let steps = if self.tenants[tenant].is_switched { self.random.below(3) } else { 0 };
            let this = self.clone();
            self.spawn("client", async move {
                for _ in 0..steps {
                    this.pause().await;
                    this.disable(&this.tenants[tenant]).await;
                    this.pause().await;
                    this.enable(&this.tenants[tenant]).await;
                }
            });
        }
    }

    /// Several operators change the same setting at the same moment. The versions of the setting count the changes that
    /// were accepted.
    pub(crate) async fn all_operate(&self, tenant: &Tenant, several: usize) {
        self.sync();
        let edit = *self.random.one_of(&[Edit::Workspace, Edit::Brand, Edit::NewBrand, Edit::Endpoint]);
        let new = BrandId::parse(&format!("brand-{:x}", self.random.below(9_999))).expect("an id");
        let one = async |_| {
            sleep(Duration::from_millis(self.random.below(20))).await;
            let who = self.who("operator");
            let name = format!("renamed {:x}", self.random.next());
            let made = self.invoke_as(&who, LIMIT, self.edits(tenant, edit, &new, &name)).await;
            match made {
                // The answer of a call was lost, and the repeat of the call was refused.
                Some(Ok(false)) if who.troubles() > 0 => None,
                Some(Ok(made)) => Some(made),
                Some(Err(_)) | None => None,
            }
        };
        let made = join_all((0..several).map(one)).await;
        let accepted = made.iter().filter(|made| **made == Some(true)).count();
        let unknown = made.iter().filter(|made| made.is_none()).count();
        if edit == Edit::NewBrand && accepted > 1 {
            self.breaks(format!("a brand was created {accepted} times"));
        }
        let mut ledger = tenant.ledger.borrow_mut();
        // Whatever refers to other settings is a change of the workspace, too.
        let counted: &[Edit] = match edit {
            Edit::NewBrand => &[Edit::Workspace],
            Edit::Brand => &[Edit::Brand, Edit::Workspace],
            Edit::Workspace => &[Edit::Workspace],
            Edit::Endpoint => &[Edit::Endpoint],
        };
        for edit in counted {
            let edits = ledger.edits.entry(*edit).or_default();
            (edits.accepted, edits.unknown) = (edits.accepted + accepted, edits.unknown + unknown);
        }
    }

    async fn edits(
        &self,
        tenant: &Tenant,
        edit: Edit,
        new: &BrandId,
        name: &str,
    ) -> Result<bool, StoreError> {
        let (store, id) = (self.world.db.store(), tenant.workspace);
        if edit == Edit::Endpoint {
            let Some(seen) = store.endpoint(id, tenant.endpoint).await? else { return Ok(false) };
            return store.replace_endpoint(&WebhookEndpoint { version: seen.version + 1, ..seen }).await;
        }
        let Some(seen) = store.workspace(id).await? else { return Ok(false) };
        match edit {
            Edit::NewBrand => {
                let brand = Brand::new(new.clone(), id, name, store.now()).expect("a brand");
                store.create_brand(&seen, &brand).await
            }
            Edit::Brand => {
                let lines = store.lines(id).await?;
                let brand = lines.brand(&BrandId::parse(World::BRAND).expect("an id"));
                let next = brand.and_then(|brand| brand.renamed(name).expect("a name"));
                store.change_brand(&seen, &next.expect("another name")).await
            }
            _ => store.replace_workspace(&seen.renamed(name).expect("a name").expect("another name")).await,
        }
    }

    /// The versions of the tenant's workspace, brand and endpoint.
    pub(crate) async fn versions(world: &World, tenant: &Tenant) -> BTreeMap<Edit, u64> {
        let (store, id) = (world.db.store(), tenant.workspace);
        let workspace = store.workspace(id).await.expect("a read").expect("a workspace").version;
        let lines = store.lines(id).await.expect("a read");
        let brand = lines.brand(&BrandId::parse(World::BRAND).expect("an id")).expect("a brand").version;
        let endpoint =
            store.endpoint(id, tenant.endpoint).await.expect("a read").expect("an endpoint").version;
        BTreeMap::from([(Edit::Workspace, workspace), (Edit::Brand, brand), (Edit::Endpoint, endpoint)])
    }

    /// Two tenants set up one line at the same moment. It can only have one of them.
    pub(crate) async fn all_claim(&self) {
        self.sync();
        let channel = format!("1045559876{:03}", self.random.below(1_000));
        let one = async |tenant: &Tenant| {
            let made = self.invoke("operator", LIMIT, self.claims(tenant, &channel)).await;
            usize::from(matches!(made, Some(Ok(LineCreated::Done))))
        };
        let accepted: usize = join_all(self.tenants.iter().map(one)).await.into_iter().sum();
        if accepted > 1 {
            self.breaks(format!("line {channel} has {accepted} workspaces"));
        }
        for tenant in &self.tenants {
            let edits = &mut tenant.ledger.borrow_mut().edits;
            edits.entry(Edit::Workspace).or_default().unknown += 1;
        }
    }

    async fn claims(&self, tenant: &Tenant, channel: &str) -> Result<LineCreated, StoreError> {
        let (store, id) = (self.world.db.store(), tenant.workspace);
        let seen = store.workspace(id).await?.expect("a workspace");
        let lines = store.lines(id).await?;
        let line = Line::new(
            id,
            ChannelId::parse(channel).expect("an id"),
            BrandId::parse(World::BRAND).expect("an id"),
            BusinessAccountId::parse(World::ACCOUNT).expect("an id"),
            store.now(),
        );
        let Ok(line) = line else { panic!("a line") };
        let Ok(brand) = lines.admit_line(&line) else { return Ok(LineCreated::Changed) };
        let next = seen.with_line(&line.channel, false);
        store.create_line(&next, &line, brand.as_ref(), &Secret::new("another token")).await
    }

    /// Disables the tenant's endpoint.
    async fn disable(&self, tenant: &Tenant) {
        let now = self.now();
        self.change(tenant, |found| found.disabled(DisabledReason::Operator, now)).await;
    }

    /// Enables the tenant's endpoint, if it is disabled, and lets it have what waits.
    pub(crate) async fn enable(&self, tenant: &Tenant) {
        let now = self.now();
        if let Some(enabled) = self.change(tenant, |found| found.enabled(now)).await {
            self.asks_for(&enabled, JobKind::Enable).await;
        }
    }

    /// Lets the endpoints that were disabled at times have the events of those times. Returns whether there is such an endpoint.
    pub(crate) async fn recover(&self) -> bool {
        let switched = || self.tenants.iter().filter(|tenant| tenant.is_switched);
        for tenant in switched() {
            let endpoint = self.world.db.store().endpoint(tenant.workspace, tenant.endpoint).await;
            let endpoint = endpoint.expect("a read").expect("an endpoint");
            self.asks_for(&endpoint, JobKind::Recover { since: Timestamp::from_millis(0) }).await;
        }
        switched().count() > 0
    }

    /// Requests a job on every slot of the endpoint.
    async fn asks_for(&self, endpoint: &WebhookEndpoint, kind: JobKind) {
        let id = JobId::from_uuid(self.world.db.ids().next());
        for slot in endpoint.all_slots() {
            let job = Job::new(id, slot, kind, self.now());
            let asked = self.world.db.store().request_job(&job, RESCUE, None).await;
            assert!(asked.expect("a job").0, "the job is new");
        }
    }

    /// Changes the tenant's endpoint. Functions may change it at the same time.
    async fn change(
        &self,
        tenant: &Tenant,
        change: impl Fn(&WebhookEndpoint) -> Option<WebhookEndpoint>,
    ) -> Option<WebhookEndpoint> {
        loop {
            self.sync();
            let store = self.world.db.store();
            let found = store.endpoint(tenant.workspace, tenant.endpoint).await.expect("a read");
            let next = change(&found.expect("an endpoint"))?;
            if store.replace_endpoint(&next).await.expect("a write") {
                self.trace.note(format_args!("the operator makes {} {:?}", tenant.url, next.state));
                return Some(next);
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}
