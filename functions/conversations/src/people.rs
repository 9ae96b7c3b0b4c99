//! The participants that a request names.

use domain::conversation::ExternalInput;
use domain::{BrandId, ChannelId, Provider, UserRef};
use edge::form::{Form, Node};
use edge::people;

/// Reads an array of `min..=max` entries, each with the same function.
pub(crate) fn read_all<T>(
    form: &mut Form,
    at: &Node<'_>,
    min: usize,
    max: usize,
    read: impl Fn(&mut Form, Node<'_>) -> Option<T>,
) -> Vec<T> {
    at.items(form, min, max).into_iter().filter_map(|item| read(form, item)).collect()
}

/// An `ExternalParticipantInput`. WhatsApp is the only provider, also if the field is absent.
pub(crate) fn read_external(form: &mut Form, at: Node<'_>) -> Option<ExternalInput> {
    let at = at.object(form)?;
    let named = people::contact(form, &at.field("identifier"), &at.field("identifierType"));
    at.field("messageProviderType").given().and_then(|at| at.text(form, Provider::parse));
    let channel = at.field("providerChannelId").given().and_then(|at| at.text(form, ChannelId::parse));
    let brand = at.field("brandId").given().and_then(|at| at.text(form, BrandId::parse));
    Some(ExternalInput { named: named?, channel, brand })
}

/// An `InternalParticipantInput`.
pub(crate) fn read_internal(form: &mut Form, at: Node<'_>) -> Option<UserRef> {
    let at = at.object(form)?;
    people::user(form, &at.field("identifier"), &at.field("identifierType"))
}
