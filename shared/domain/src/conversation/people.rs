//! The people that a request refers to, and who may join a conversation.

use crate::contact::Contact;
use crate::conversation::participant::{ContactRef, External, Internal};
use crate::ids::{BrandId, ChannelId, ContactId, Ids, WorkspaceId};
use crate::refused::Refused;
use crate::settings::line::Lines;
use crate::settings::user::{User, UserRef, UserStatus};
use crate::time::Timestamp;

/// A customer in a request, with the line and the brand to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalInput {
    /// The customer's identifier.
    pub named: ContactRef,
    /// The line, if the request has one.
    pub channel: Option<ChannelId>,
    /// The brand, if the request has one.
    pub brand: Option<BrandId>,
}

/// The people of the workspace that a request refers to.
#[derive(Clone, Debug, Default)]
pub struct KnownPeople {
    /// The contacts that were found, each with the identifier in the request.
    pub contacts: Vec<(ContactRef, ContactId)>,
    /// The users that were found, including disabled ones.
    pub users: Vec<User>,
}

impl KnownPeople {
    pub(super) fn contact(&self, named: &ContactRef) -> Option<ContactId> {
        self.contacts.iter().find(|(known, _)| known.same_as(named)).map(|(_, contact)| *contact)
    }

    pub(super) fn user(&self, named: &UserRef) -> Option<&User> {
        self.users.iter().find(|user| named.names(user))
    }
}

/// The data that decides who can join a conversation, and how.
#[derive(Clone, Copy)]
pub struct People<'a> {
    /// The workspace of the conversation.
    pub workspace: WorkspaceId,
    /// The people that the request refers to and the workspace has.
    pub known: &'a KnownPeople,
    /// The workspace's lines and brands.
    pub lines: &'a Lines,
    /// The source of ids for new contacts.
    pub ids: &'a dyn Ids,
    /// The present time.
    pub now: Timestamp,
}

impl People<'_> {
    /// Adds customers who do not participate yet. Returns the new contacts, one for each number and address
    /// that belongs to no contact.
    pub(super) fn join_externals(
        &self,
        externals: &mut Vec<External>,
        inputs: &[ExternalInput],
    ) -> Result<Vec<Contact>, Refused> {
        let mut new_contacts: Vec<Contact> = vec![];
        for input in inputs {
            let met = || new_contacts.iter().find(|stranger| input.named.is_identity_of(stranger));
            let known = self.known.contact(&input.named).or_else(|| met().map(|stranger| stranger.id));
            if known.is_some_and(|known| externals.iter().any(|external| external.contact == known)) {
                continue;
            }
            let contact = match known {
                Some(contact) => contact,
                None => {
                    let stranger = self.stranger(&input.named)?;
                    let id = stranger.id;
                    new_contacts.push(stranger);
                    id
                }
            };
            let (line, brand) = self.lines.resolve(input.channel.as_ref(), input.brand.as_ref())?;
            // The id of a contact that became part of another one names that one.
            let shown = match &input.named {
                ContactRef::Id(_) => ContactRef::Id(contact),
                named => named.clone(),
            };
            externals.push(External {
                contact,
                shown,
                channel: line.channel.clone(),
                brand,
                joined_at: self.now,
                last_seen_at: None,
            });
        }
        Ok(new_contacts)
    }

    fn stranger(&self, named: &ContactRef) -> Result<Contact, Refused> {
        let blank = Contact::blank(ContactId::generate(self.ids), self.workspace, self.now);
        match named {
            ContactRef::Id(_) => Err(unknown(named.identifier(), named.identifier_type())),
            ContactRef::Email(email) => Ok(Contact { email: Some(email.clone()), ..blank }),
            ContactRef::Cellphone(cellphone) => Ok(Contact { cellphone: Some(cellphone.clone()), ..blank }),
        }
    }

    /// Adds agents who do not participate yet.
    pub(super) fn join_internals(
        &self,
        internals: &mut Vec<Internal>,
        inputs: &[UserRef],
    ) -> Result<(), Refused> {
        for named in inputs {
            let known = self.known.user(named);
            if known.is_some_and(|known| internals.iter().any(|internal| internal.user == known.id)) {
                continue;
            }
            let active = known.filter(|user| user.status == UserStatus::Active);
            let user = active.ok_or_else(|| unknown(named.identifier(), named.identifier_type()))?;
            internals.push(Internal {
                user: user.id,
                shown: named.clone(),
                joined_at: self.now,
                last_seen_at: None,
            });
        }
        Ok(())
    }
}

pub(super) fn unknown(identifier: String, identifier_type: &'static str) -> Refused {
    Refused::UnknownParticipant { identifier, identifier_type }
}
