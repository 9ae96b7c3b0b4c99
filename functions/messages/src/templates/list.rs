use domain::{BusinessAccountId, ChannelId, Template, TemplateCategory, TemplateStatus};
use edge::form::Form;
use edge::{ApiError, Call, Reply, view};
use futures::future::try_join;

/// GET /templates: two round trips; three if the lines changed since the process remembered them.
pub(crate) async fn list(call: &Call<'_>) -> Result<Reply, ApiError> {
    let mut form = Form::default();
    let query = call.request.query();
    query.only(&mut form, &["pageSize", "cursor", "status", "category", "language", "providerChannelId"]);
    let page_size = query.page_size(&mut form);
    let wanted = Wanted {
        status: query.text(&mut form, "status", TemplateStatus::parse),
        category: query.text(&mut form, "category", TemplateCategory::parse),
        language: query
            .text(&mut form, "language", |code| Template::check_language(code).map(|()| code.to_owned())),
        channel: query.text(&mut form, "providerChannelId", ChannelId::parse),
    };
    let filters = [
        ("status", wanted.status.map(TemplateStatus::as_str)),
        ("category", wanted.category.map(TemplateCategory::as_str)),
        ("language", wanted.language.as_deref()),
        ("providerChannelId", wanted.channel.as_ref().map(ChannelId::as_str)),
    ];
    let cursors = call.cursors("templates", &filters);
    let after = cursors.open(&mut form).await?;
    form.finish(Some(()))?;

    let (store, workspace) = (call.store(), call.workspace());
    let page = async { Ok(store.templates_page(workspace, page_size, after.as_deref()).await?) };
    let ((page, lines), ()) = try_join(page, cursors.warm()).await?;
    let accounts = lines.accounts(wanted.channel.as_ref());
    // A page is filtered after it is read. So it may be short, and still have a next page.
    let found = page.items.iter().filter(|template| wanted.includes(template, &accounts));
    let templates = found.map(|template| view::template(template, &accounts)).collect();
    let cursor = cursors.next(page.next.as_deref()).await?;
    Reply::list(&view::TemplatesView { templates, cursor })
}

/// The filters.
struct Wanted {
    status: Option<TemplateStatus>,
    category: Option<TemplateCategory>,
    language: Option<String>,
    channel: Option<ChannelId>,
}

impl Wanted {
    /// Whether the template is in the list. `accounts` are those whose status counts: with a line, only that of the line.
    fn includes(&self, template: &Template, accounts: &[&BusinessAccountId]) -> bool {
        let mut statuses = accounts.iter().filter_map(|account| template.status(account));
        let has_status = match (self.status, &self.channel) {
            (Some(wanted), _) => statuses.any(|status| status == wanted),
            (None, Some(_)) => statuses.next().is_some(),
            (None, None) => true,
        };
        let in_category = self.category.is_none() || self.category == template.category;
        let in_language = self.language.as_ref().is_none_or(|language| template.language == *language);
        has_status && in_category && in_language
    }
}
