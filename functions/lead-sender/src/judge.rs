//! Processes one lead.

use domain::lead::{Judgement, LeadKnown};
use domain::sending::PartError;
use domain::{
    BrandId, Capture, Choices, Contact, Conversation, ConversationId, ConversationStatus, Lead, LeadState,
    Line, Lines, Rest, Template, Workspace,
};
use store::{LeadOpening, LeadRecorded, LeasedLead, Store, StoreError};
use worker::VisitEnd;

use crate::invocation::Invocation;

/// How often the function repeats the read if the contact or the conversation changes concurrently.
const TRIES: usize = 5;

/// Judges a lead, and records what became of it together with everything that it creates.
pub(crate) async fn judge(invocation: &Invocation<'_>, leased: LeasedLead) -> Result<VisitEnd, StoreError> {
    let Invocation { store, rescue, .. } = invocation;
    for _ in 0..TRIES {
        if !invocation.budget.may_begin(store.now()) {
            return Ok(VisitEnd::Rest(Rest::TimeUp));
        }
        let found = Found::read(store, &leased.lead).await?;
        if found.workspace.state.is_disabled() {
            // The lead does not change.
            let later = store.now().plus(Workspace::LOOKS_AGAIN_AFTER);
            return Ok(VisitEnd::Rest(Rest::Closed(later)));
        }
        let (next, opening) = found.outcome(&leased.lead, store);
        let left = invocation.budget.left(store.now());
        match store.open_lead(&leased, &next, &opening, *rescue, left).await? {
            LeadRecorded::Done => {
                log(&next);
                match next.state {
                    LeadState::Failed => invocation.counted.leads_failed.add(1),
                    LeadState::Suppressed => invocation.counted.leads_suppressed.add(1),
                    _ => invocation.counted.leads_opened.add(1),
                }
                return Ok(VisitEnd::Released);
            }
            LeadRecorded::Stale => {}
            LeadRecorded::Lost => return Ok(VisitEnd::Lost),
        }
    }
    Err(StoreError::Busy("others keep changing the lead's contact or its conversation".into()))
}

/// What a lead needs, as it was read.
struct Found {
    workspace: Workspace,
    capture: Option<Capture>,
    choices: Option<Choices>,
    lines: Lines,
    template: Option<Template>,
    /// The contact with the number.
    contact: Option<Contact>,
    /// The conversation that an earlier message of the lead opened, and the last number of its messages.
    conversation: Option<(Conversation, u64)>,
}

impl Found {
    /// Reads what the lead needs, in two strongly consistent round trips: changes since the lead was accepted count.
    async fn read(store: &Store, lead: &Lead) -> Result<Self, StoreError> {
        let id = lead.workspace_id;
        let conversation = async {
            match lead.opened {
                false => Ok(None),
                true => {
                    let conversation = store.conversation(id, lead.conversation);
                    let (found, seq) = tokio::try_join!(conversation, store.last_seq(id, lead.conversation))?;
                    Ok(found.map(|found| (found, seq)))
                }
            }
        };
        let (capture, choices, workspace, lines, holder, conversation) = tokio::try_join!(
            store.capture(id),
            store.choices(id, &lead.cellphone),
            store.workspace(id),
            store.lines(id),
            store.contact_holding_cellphone(id, &lead.cellphone),
            conversation,
        )?;
        let workspace = workspace.ok_or_else(|| StoreError::Failed("the workspace is not there".into()))?;
        let lines = Lines { default: workspace.default_line.clone(), ..lines };
        let template = capture.as_ref().and_then(|capture| capture.template);
        let contact = async {
            match holder {
                Some(contact) => store.contact(id, contact).await,
                None => Ok(None),
            }
        };
        let (contact, templates) = tokio::try_join!(contact, store.templates(id, template.as_slice()))?;
        let template = templates.into_values().next();
        Ok(Self { workspace, capture, choices, lines, template, contact, conversation })
    }

    /// What becomes of the lead, and what it creates.
    fn outcome(&self, lead: &Lead, store: &Store) -> (Lead, LeadOpening) {
        let now = store.now();
        let known = LeadKnown {
            capture: self.capture.as_ref(),
            choices: self.choices.as_slice(),
            lines: &self.lines,
            template: self.template.as_ref(),
        };
        let (line, template, mut error) = match lead.judge(&known) {
            Judgement::Suppressed(error) => return (lead.suppressed(error, now), LeadOpening::default()),
            Judgement::Failed { error, line } => (line, None, Some(error)),
            Judgement::Message(line, template) => (Some((line, lead.brand.clone())), Some(template), None),
        };
        let contact = lead.contact_of(self.contact.as_ref(), now);
        let (conversation, is_new, seq) = self.conversation_of(lead, &contact, line, store);
        if conversation.as_ref().is_some_and(|known| known.status == ConversationStatus::Blocked) {
            error = Some(PartError::of(PartError::BLOCKED));
        }
        let content = template.filter(|_| error.is_none()).map(|template| template.bare_content(now));
        let message = conversation.as_ref().zip(content).and_then(|(conversation, content)| {
            lead.message_in(conversation, &contact, content, seq + 1, now)
        });
        let next = lead.opened_for(contact.id, conversation.as_ref().map(|known| known.id), error, now);
        let contact = Some((self.contact.clone(), contact));
        (next, LeadOpening { contact, conversation: conversation.filter(|_| is_new), message })
    }

    /// The conversation of the lead, whether it is new, and the last number of its messages. A conversation that an earlier
    /// message opened is used again if the contact is still in it.
    fn conversation_of(
        &self,
        lead: &Lead,
        contact: &Contact,
        line: Option<(&Line, BrandId)>,
        store: &Store,
    ) -> (Option<Conversation>, bool, u64) {
        let is_in =
            |known: &Conversation| known.externals.iter().any(|external| external.contact == contact.id);
        if let Some((known, seq)) = self.conversation.as_ref().filter(|(known, _)| is_in(known)) {
            return (Some(known.clone()), false, *seq);
        }
        // The id of a conversation is used once.
        let id = if lead.opened { ConversationId::generate(store.ids()) } else { lead.conversation };
        let shards = self.workspace.list_shards_write;
        let new = line.map(|line| lead.new_conversation(id, contact, line, shards, store.now()));
        (new, true, 0)
    }
}

/// Logs one line for each judged lead.
fn log(lead: &Lead) {
    let Lead { workspace_id, id, state, error, .. } = lead;
    let error = error.as_ref().map(PartError::as_str);
    tracing::info!(workspace = %workspace_id, lead = %id, state = state.as_str(), error, "lead judged");
}
