//! The templates that a workspace may send, its own and the platform's, as a list.

use std::sync::Arc;

use domain::{Lines, Template, TemplateId, TemplateScope, WorkspaceId};
use futures::future::try_join_all;

use crate::dynamodb::item::{SK, read, s, text};
use crate::dynamodb::paging::{MAX_PAGE_SIZE, Page, not_a_position};
use crate::dynamodb::read::{Place, Query};
use crate::settings::templates::NameRow;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// A page of the templates that the workspace may use, in the order of name and language; of two with the same, the
    /// platform's comes first. With the lines of the workspace. Two round trips: two queries, then one call; one more if the lines
    /// changed since the process remembered them.
    pub async fn templates_page(
        &self,
        workspace: WorkspaceId,
        page_size: usize,
        after: Option<&str>,
    ) -> Result<(Page<Template>, Arc<Lines>), StoreError> {
        let page_size = page_size.clamp(1, MAX_PAGE_SIZE);
        let after = after.map(|after| Entry::at(workspace, after).ok_or_else(not_a_position)).transpose()?;
        let scopes = [TemplateScope::Platform, TemplateScope::Workspace(workspace)];
        let names = scopes.map(|scope| self.template_names(scope, page_size + 1, after.as_ref()));
        let mut entries: Vec<(Entry, TemplateId)> =
            try_join_all(names).await?.into_iter().flatten().collect();
        entries.sort_by(|(one, _), (other, _)| one.order().cmp(&other.order()));
        let has_more = entries.len() > page_size;
        entries.truncate(page_size);
        let next = entries.last().filter(|_| has_more).map(|(last, _)| last.position());

        let place = |(entry, id): &(Entry, TemplateId)| {
            Place::of(Table::Workspaces, keys::template(entry.scope, *id))
        };
        let places: Vec<Place> = entries.iter().map(place).collect();
        let read = self.rows_with_lines(workspace, &places.iter().collect::<Vec<_>>()).await?;
        let mut rows = read.rows;
        // A template that was deleted in between is left out.
        let items = places.iter().filter_map(|place| rows.read::<Template>(place).transpose());
        Ok((Page { items: items.collect::<Result<_, _>>()?, next }, read.setting?))
    }

    /// The next names of a scope after an entry of the list of both. One round trip.
    async fn template_names(
        &self,
        scope: TemplateScope,
        limit: usize,
        after: Option<&Entry>,
    ) -> Result<Vec<(Entry, TemplateId)>, StoreError> {
        let mut query = Query::of(Table::Workspaces, keys::template_names(scope)).limit(limit);
        if let Some(after) = after {
            // The same name in the other scope may still be to come.
            let is_next = Entry { scope, name: after.name.clone() }.order() > after.order();
            let range = if is_next { "sk >= :after" } else { "sk > :after" };
            query = query.range(range).bind(":after", s(&after.name));
        }
        let entry = |item| {
            let name = text(&item, SK).to_owned();
            Ok((Entry { scope, name }, read::<NameRow>(item)?.template_id))
        };
        self.query(query).await?.items.into_iter().map(entry).collect()
    }
}

/// A place in the list.
struct Entry {
    scope: TemplateScope,
    /// The sort key of the name's row.
    name: String,
}

impl Entry {
    fn order(&self) -> (&str, bool) {
        (&self.name, self.scope != TemplateScope::Platform)
    }

    /// The entry as the position of a page.
    fn position(&self) -> String {
        let letter = if self.scope == TemplateScope::Platform { 'P' } else { 'W' };
        format!("{letter}{}", self.name)
    }

    fn at(workspace: WorkspaceId, position: &str) -> Option<Self> {
        let scopes = [('P', TemplateScope::Platform), ('W', TemplateScope::Workspace(workspace))];
        let entry = |(letter, scope)| Some(Self { scope, name: position.strip_prefix(letter)?.to_owned() });
        scopes.into_iter().find_map(entry)
    }
}
