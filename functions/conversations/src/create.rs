use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use domain::conversation::{ConversationCreate, Opening, People};
use domain::settings::template::Accepting;
use domain::{
    ContactRef, Conversation, ConversationId, ConversationName, ConversationStatus, Onboarding, Team, TeamId,
    Template, TemplateId, User, UserRef,
};
use edge::form::{Form, Node};
use edge::{ApiError, Call, Reply, created_again, template, view};
use futures::future::try_join;
use store::{IdempotencyKey, Named, Naming, Opened, StoredAnswer};

use crate::people::{read_all, read_external, read_internal};

/// POST /conversations: three round trips, or two without a team. There is one more if the workspace's onboarding is
/// not in the memory of this process.
pub(crate) async fn create(call: &Call<'_>, first_due: Duration) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let once = call.idempotency_key(&mut form, "conversations");
    let request = read_request(&mut form, Node::root("body", Some(&body)));
    let request = form.finish(request)?;

    // The service makes its own ids, and each try uses the same ones. The write recognises its own repeats by them. A
    // turn in the team is taken once.
    let ids = call.store().ids();
    let (id, write_id) = (ConversationId::generate(ids), call.write_id());
    let creation = Creation { call, request, once, first_due, id, write_id, turn: OnceLock::new() };
    call.until_written(|| creation.attempt()).await
}

/// The request to create a conversation, with everything that stays the same over its tries.
struct Creation<'a> {
    call: &'a Call<'a>,
    request: ConversationCreate,
    once: Option<IdempotencyKey>,
    first_due: Duration,
    id: ConversationId,
    write_id: String,
    /// The turn in the team that the conversation took.
    turn: OnceLock<u64>,
}

impl Creation<'_> {
    /// One try: reads, checks and writes. Returns `None` if a participant became a contact in between.
    async fn attempt(&self) -> Result<Option<Reply>, ApiError> {
        let (Named { answered, workspace, lines, people: known, team, templates }, asked) =
            self.look_up().await?;
        if let Some(answered) = answered {
            return self.replayed(answered).map(Some);
        }
        let workspace = workspace.ok_or_else(ApiError::no_workspace)?;
        let (store, now) = (self.call.store(), self.call.store().now());
        let people = People { workspace: workspace.id, known: &known, lines: &lines, ids: store.ids(), now };
        let party = self.request.party(&people, team.as_ref())?;
        let templates = self.with_following(templates, &asked, &workspace.onboarding).await?;
        let requested = self.request.templates.as_deref();
        let accepting = Accepting {
            lines: &party.reached(&lines),
            media: &BTreeMap::new(),
            now,
            is_object: edge::is_object,
        };
        let steps = workspace.onboarding.plan(requested, &templates, &accepting)?;

        // No check after this line rejects the request.
        self.call.caller.admitted().await?;
        let assignee = self.assignee(team.as_ref()).await?;
        let opening = self.request.open(self.id, &workspace, party, assignee.as_ref(), steps, now);
        self.write(&opening).await
    }

    /// Reads everything that the request names, and the configured templates that follow if this process has them in
    /// memory: one call. Returns the templates that were looked up too.
    async fn look_up(&self) -> Result<(Named, Vec<TemplateId>), ApiError> {
        let (store, workspace) = (self.call.store(), self.call.workspace());
        let contacts: Vec<ContactRef> =
            self.request.externals.iter().map(|external| external.named.clone()).collect();
        let requested = self.request.templates.as_deref();
        let remembered = store.remembered_onboarding(workspace);
        let asked: Vec<TemplateId> = requested
            .unwrap_or_default()
            .iter()
            .map(|requested| requested.template)
            .chain(remembered.following(requested).iter().copied())
            .collect();
        let naming = Naming {
            contacts: &contacts,
            users: &self.request.internals,
            team: self.request.team,
            templates: &asked,
            once: self.once.as_ref(),
        };
        Ok((store.named(workspace, &naming).await?, asked))
    }

    /// Adds the configured templates that follow: one round trip if any of them was not looked up yet.
    async fn with_following(
        &self,
        mut found: BTreeMap<TemplateId, Template>,
        asked: &[TemplateId],
        onboarding: &Onboarding,
    ) -> Result<BTreeMap<TemplateId, Template>, ApiError> {
        let following = onboarding.following(self.request.templates.as_deref());
        let rest: Vec<TemplateId> = following.iter().filter(|id| !asked.contains(id)).copied().collect();
        found.extend(self.call.store().templates(self.call.workspace(), &rest).await?);
        Ok(found)
    }

    /// The user whose turn it is in the team, if the team has an active user: one round trip.
    async fn assignee(&self, team: Option<&Team>) -> Result<Option<User>, ApiError> {
        let Some(team) = team.filter(|team| !team.members.is_empty()) else { return Ok(None) };
        let (store, workspace) = (self.call.store(), self.call.workspace());
        let members: Vec<UserRef> = team.members.iter().copied().map(UserRef::Id).collect();
        let turn = async {
            match self.turn.get() {
                Some(turn) => Ok(*turn),
                None => store.take_turn(workspace, team.id).await,
            }
        };
        let (users, turn) = try_join(store.users_named(workspace, &members), turn).await?;
        Ok(team.whose_turn(&users, *self.turn.get_or_init(|| turn)).cloned())
    }

    async fn write(&self, opening: &Opening) -> Result<Option<Reply>, ApiError> {
        let reply = Reply::resource(&view::conversation(&opening.conversation), 0)?.created();
        let kept = self.once.as_ref().map(|once| (once, reply.body()));
        let opened =
            self.call.store().open_conversation(opening, self.first_due, kept, &self.write_id).await?;
        match opened {
            Opened::Done => Ok(Some(reply)),
            Opened::Answered(answered) => self.replayed(answered).map(Some),
            Opened::IdentityTaken => Ok(None),
        }
    }

    fn replayed(&self, answered: StoredAnswer) -> Result<Reply, ApiError> {
        created_again(self.once.as_ref(), answered, Reply::resource_again)
    }
}

/// A `ConversationCreate`. An optional field may also be `null`.
fn read_request(form: &mut Form, body: Node<'_>) -> Option<ConversationCreate> {
    let body = body.object(form)?;
    let participants = body.field("participants").required(form).and_then(|at| at.object(form));
    let externals = participants
        .as_ref()
        .and_then(|at| at.field("externals").required(form))
        .map(|at| read_all(form, &at, 1, Conversation::MAX_EXTERNALS, read_external));
    let internals = participants
        .and_then(|at| at.field("internals").given())
        .map(|at| read_all(form, &at, 0, Conversation::MAX_INTERNALS, read_internal));
    let name = body.field("name").given().and_then(|at| at.text(form, ConversationName::parse));
    let status = body.field("status").given().and_then(|at| at.text(form, ConversationStatus::parse));
    let team = body.field("teamId").given().and_then(|at| at.text(form, TeamId::parse));
    let templates = body
        .field("onboardingTemplates")
        .given()
        .map(|at| read_all(form, &at, 0, Onboarding::MAX, template::read));
    let internals = internals.unwrap_or_default();
    Some(ConversationCreate { externals: externals?, internals, name, status, team, templates })
}
