//! Arguments that several verbs take.

use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use domain::text::operator_name;
use domain::{
    Cellphone, ContactId, ContactRef, DeliveryId, Email, Patch, Unfit, UserId, UserRef, WorkspaceId,
};

use crate::Result;
use crate::output::Output;

/// The environment variable with the workspace of the verbs that are not given one.
pub(crate) const WORKSPACE: &str = "CONSOLE_WORKSPACE";

/// The workspace of a verb.
#[derive(Args)]
pub(crate) struct InWorkspace {
    /// The workspace, by id or name.
    #[arg(long = "workspace", value_name = "ID|NAME", env = WORKSPACE, value_parser = workspace_ref)]
    pub(crate) workspace: WorkspaceRef,
}

/// A workspace as it is given. A text that is an id is never a name.
#[derive(Clone)]
pub(crate) enum WorkspaceRef {
    Id(WorkspaceId),
    Name(String),
}

/// Parses a workspace's id or name.
pub(crate) fn workspace_ref(text: &str) -> Result<WorkspaceRef, Unfit> {
    match WorkspaceId::parse(text) {
        Ok(id) => Ok(WorkspaceRef::Id(id)),
        Err(_) => operator_name(text).map(WorkspaceRef::Name),
    }
}

/// Makes the arguments that name one thing of a workspace.
macro_rules! one {
    ($Name:ident { $(#[$help:meta])* $field:ident: $Type:ty = $value:literal, $parse:expr }) => {
        #[derive(clap::Args)]
        pub(crate) struct $Name {
            #[command(flatten)]
            pub(crate) within: $crate::arguments::InWorkspace,
            $(#[$help])*
            #[arg(long, value_name = $value, value_parser = $parse)]
            pub(crate) $field: $Type,
        }
    };
}
pub(crate) use one;

/// Parses one of a fixed set of words. Help, errors and completions list them.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    names: &'static [&'static str],
    parse: fn(&str) -> Result<T, Unfit>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| parse(&name))
}

/// The text of a secret: as given, or the content of a file, which hides it from the other users of a machine.
pub(crate) fn secret_text(
    given: Option<&str>,
    file: Option<&Path>,
    output: &mut Output<'_>,
) -> Result<Option<String>> {
    Ok(match (given, file) {
        (Some(text), _) => Some(text.to_owned()),
        (None, Some(file)) => Some(output.read(file)?.trim_end_matches(['\r', '\n']).to_owned()),
        (None, None) => None,
    })
}

/// The change of a setting that has an argument for its value and one that removes it.
pub(crate) fn patch<T>(value: Option<T>, is_removed: bool) -> Patch<T> {
    match value {
        Some(value) => Patch::Set(value),
        None if is_removed => Patch::Clear,
        None => Patch::Keep,
    }
}

/// Parses a user's id or e-mail address.
pub(crate) fn user_ref(text: &str) -> Result<UserRef, String> {
    match (UserId::parse(text), Email::parse(text)) {
        (Ok(id), _) => Ok(UserRef::Id(id)),
        (_, Ok(email)) => Ok(UserRef::Email(email)),
        _ => Err("should be a user's id or e-mail address".to_owned()),
    }
}

/// Parses a contact's id, e-mail address or phone number.
pub(crate) fn contact_ref(text: &str) -> Result<ContactRef, &'static str> {
    let id = ContactId::parse(text).map(ContactRef::Id);
    let email = || Email::parse(text).map(ContactRef::Email);
    let cellphone = || Cellphone::parse(text).map(ContactRef::Cellphone);
    id.or_else(|_| email())
        .or_else(|_| cellphone())
        .map_err(|_| "should be a contact's id, e-mail address or phone number (+14155550123)")
}

/// Parses a delivery's id as `delivery list` prints it.
pub(crate) fn delivery_id(text: &str) -> Result<DeliveryId, &'static str> {
    DeliveryId::parse(text).map_err(|_| {
        "should be <event id>.<endpoint id>, as `delivery list` prints it: \
        d22926c3-d7a2-56b2-b2ff-aab1e43fa2cd.3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90"
    })
}
