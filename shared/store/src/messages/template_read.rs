//! A template, as the preview of a message of it needs it.

use std::sync::Arc;

use domain::{Contact, ContactId, Lines, Media, MediaId, Template, TemplateId, WorkspaceId};

use crate::contacts::row::{contact_in, contact_place};
use crate::dynamodb::read::Place;
use crate::media::{media_place, take_media};
use crate::settings::templates::{take_templates, template_places};
use crate::{Store, StoreError};

/// A template, and what a message of it depends on, as it was read.
#[derive(Clone, Debug)]
pub struct TemplateRead {
    /// The template, if the workspace may use it.
    pub template: Option<Template>,
    /// The lines of the workspace.
    pub lines: Arc<Lines>,
    /// The contact, if one was named and exists.
    pub contact: Option<Contact>,
    /// The files that were named and exist, in their order.
    pub media: Vec<Media>,
}

impl Store {
    /// A template with the lines of the workspace, and the contact and the files that a message of it names (strongly consistent
    /// reads). One round trip of one call; one more if the lines changed since the process remembered them.
    pub async fn template_read(
        &self,
        workspace: WorkspaceId,
        id: TemplateId,
        named: Option<ContactId>,
        media: &[MediaId],
    ) -> Result<TemplateRead, StoreError> {
        let of_templates = template_places(workspace, &[id]);
        let of_contact = named.map(|contact| contact_place(workspace, contact));
        let of_media: Vec<Place> = media.iter().map(|media| media_place(workspace, *media)).collect();
        let places = of_templates.iter().chain(&of_contact).chain(&of_media);
        let read = self.rows_with_lines(workspace, &places.collect::<Vec<_>>()).await?;
        let mut rows = read.rows;
        Ok(TemplateRead {
            template: take_templates(&mut rows, &of_templates)?.remove(&id),
            lines: read.setting?,
            contact: contact_in(of_contact.and_then(|place| rows.take(&place)))?,
            media: take_media(&mut rows, &of_media)?,
        })
    }
}
