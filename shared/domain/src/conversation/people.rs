//! Whom a request names, and who may join a conversation.

use crate::contact::Contact;
use crate::conversation::participant::{ContactRef, External, Internal};
use crate::ids::{BrandId, ChannelId, ContactId, Ids, WorkspaceId};
use crate::refused::Refused;
use crate::settings::line::Lines;
use crate::settings::user::{User, UserRef, UserStatus};
use crate::time::Timestamp;

/// A customer as a request names them, and how they are to be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalInput {
    /// The customer.
    pub named: ContactRef,
    /// The line.
    pub channel: Option<ChannelId>,
    /// The brand.
    pub brand: Option<BrandId>,
}

/// Whom the workspace has of those that a request names.
#[derive(Clone, Debug, Default)]
pub struct KnownPeople {
    /// The contacts, each as it was named.
    pub contacts: Vec<(ContactRef, ContactId)>,
    /// The users, disabled ones included.
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

/// By what it is decided who may join a conversation, and how.
#[derive(Clone, Copy)]
pub struct People<'a> {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Whom it has of those that the request names.
    pub known: &'a KnownPeople,
    /// Its lines and brands.
    pub lines: &'a Lines,
    /// Where the ids of new contacts come from.
    pub ids: &'a dyn Ids,
    /// The present moment.
    pub now: Timestamp,
}

impl People<'_> {
    /// Lets in those who do not take part yet. What is answered are the contacts that are to be made, of numbers and
    /// addresses that are nobody's.
    pub(super) fn join_externals(
        &self,
        externals: &mut Vec<External>,
        inputs: &[ExternalInput],
    ) -> Result<Vec<Contact>, Refused> {
        let mut strangers: Vec<Contact> = vec![];
        for input in inputs {
            let met = || strangers.iter().find(|stranger| input.named.is_identity_of(stranger));
            let known = self.known.contact(&input.named).or_else(|| met().map(|stranger| stranger.id));
            if known.is_some_and(|known| externals.iter().any(|external| external.contact == known)) {
                continue;
            }
            let contact = match known {
                Some(contact) => contact,
                None => {
                    let stranger = self.stranger(&input.named)?;
                    let id = stranger.id;
                    strangers.push(stranger);
                    id
                }
            };
            let (line, brand) = self.lines.resolve(input.channel.as_ref(), input.brand.as_ref())?;
            externals.push(External {
                contact,
                shown: input.named.clone(),
                channel: line.channel.clone(),
                brand,
                joined_at: self.now,
                last_seen_at: None,
            });
        }
        Ok(strangers)
    }

    fn stranger(&self, named: &ContactRef) -> Result<Contact, Refused> {
        let blank = Contact::blank(ContactId::generate(self.ids), self.workspace, self.now);
        match named {
            ContactRef::Id(_) => Err(unknown(named.identifier(), named.identifier_type())),
            ContactRef::Email(email) => Ok(Contact { email: Some(email.clone()), ..blank }),
            ContactRef::Cellphone(cellphone) => Ok(Contact { cellphone: Some(cellphone.clone()), ..blank }),
        }
    }

    /// Lets in those who do not take part yet.
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
