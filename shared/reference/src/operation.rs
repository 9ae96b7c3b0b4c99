//! The operations of `openapi.yaml`.

use saphyr::Yaml;

use super::document::{deref, entries, get, list, root, text};
use super::markup::escape;

/// An operation: a method of a path, or a webhook.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// The path item, with the members that all operations of the path share.
    pub(super) item: &'static Yaml<'static>,
    pub(super) node: &'static Yaml<'static>,
    pub(super) is_webhook: bool,
}

const METHODS: [&str; 6] = ["get", "post", "patch", "options", "put", "delete"];

/// All operations, in the order of `openapi.yaml`.
pub(super) fn operations() -> Vec<Operation> {
    let mut operations = vec![];
    for (part, is_webhook) in [("paths", false), ("webhooks", true)] {
        for (path, item) in entries(get(root(), part)) {
            for (method, node) in entries(Some(item)) {
                if let Some(method) = METHODS.into_iter().find(|known| *known == method) {
                    operations.push(Operation { method, path, item, node, is_webhook });
                }
            }
        }
    }
    operations
}

impl Operation {
    pub(super) fn id(&self) -> &'static str {
        text(self.node, "operationId")
    }

    pub(super) fn summary(&self) -> &'static str {
        text(self.node, "summary")
    }

    pub(super) fn is_of(&self, tag: &str) -> bool {
        list(get(self.node, "tags")).iter().any(|of| of.as_str() == Some(tag))
    }

    /// The parameters of the path and of the operation.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &'static Yaml<'static>> {
        let all = list(get(self.item, "parameters")).iter().chain(list(get(self.node, "parameters")));
        all.map(deref)
    }

    /// The method in upper case, or `event` for a webhook, and the path.
    pub(super) fn title(&self) -> String {
        let method = if self.is_webhook { "event".to_owned() } else { self.method.to_uppercase() };
        format!(
            "<span class=\"method {}\">{method}</span> <code class=\"path\">{}</code>",
            if self.is_webhook { "event" } else { self.method },
            // A line may break after each part of a path, as it must on a phone.
            escape(self.path).replace('/', "/<wbr>")
        )
    }
}
