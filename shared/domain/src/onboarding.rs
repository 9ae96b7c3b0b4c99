//! Onboarding: the templates that open a conversation.

use std::collections::BTreeMap;

use crate::ids::{ConversationId, TemplateId, WorkspaceId};
use crate::line::{BusinessAccountId, ChannelId};
use crate::message::Recipient;
use crate::refused::{Origin, Refused};
use crate::template::{Parameters, Template};
use crate::text::Unfit;
use crate::time::Timestamp;

/// A workspace's set-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Onboarding {
    /// What a caller's templates take the place of.
    pub overriding: Override,
    /// The templates sent where the caller gives none, in order; at most [`Onboarding::MAX`].
    pub sequence: Vec<TemplateId>,
}

/// What a caller's templates take the place of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Override {
    /// The whole sequence.
    #[default]
    Entire,
    /// The sequence's first template; the rest follows.
    FirstOnly,
}

impl Override {
    /// The words by which operators name them.
    pub const NAMES: &'static [&'static str] = &["ENTIRE", "FIRST_ONLY"];

    /// Reads an operator's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        match text {
            "ENTIRE" => Ok(Self::Entire),
            "FIRST_ONLY" => Ok(Self::FirstOnly),
            _ => Err(Unfit::NotOneOf { expected: Self::NAMES }),
        }
    }

    /// The operator's word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A template that the caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The template.
    pub template: TemplateId,
    /// The caller's values.
    pub parameters: Parameters,
}

/// The templates to be sent into a conversation, in order, to those who took part when it was made. An item of its
/// own: the sender makes messages of it one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnboardingPlan {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// To whom each template goes.
    pub recipients: Vec<Recipient>,
    /// What is sent, in order; the number of a step is its message's number in the conversation, from 1.
    pub steps: Vec<Requested>,
    /// How many of the steps have become messages.
    pub done: usize,
    /// When the conversation was made.
    pub created_at: Timestamp,
}

/// A participant's line, for the question whether a template is approved there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The line.
    pub channel: ChannelId,
    /// The account behind it.
    pub business_account: BusinessAccountId,
}

impl Onboarding {
    /// The greatest number of templates of a sequence, and of a request.
    pub const MAX: usize = 10;

    /// A set-up of at most [`Onboarding::MAX`] templates.
    pub fn new(overriding: Override, sequence: Vec<TemplateId>) -> Result<Self, SequenceTooLong> {
        if sequence.len() > Self::MAX { Err(SequenceTooLong) } else { Ok(Self { overriding, sequence }) }
    }

    /// The configured templates that are sent besides the caller's: all where the caller says nothing of templates.
    /// A caller who says "none" (an empty list) replaces the sequence, or its first template, by nothing.
    pub fn following(&self, requested: Option<&[Requested]>) -> &[TemplateId] {
        match (requested, self.overriding) {
            (None, _) => &self.sequence,
            (Some(_), Override::Entire) => &[],
            (Some(_), Override::FirstOnly) => self.sequence.get(1..).unwrap_or_default(),
        }
    }

    /// What is sent, in order: the caller's templates, then the configured ones that follow. `templates` are those
    /// that the workspace may use, by id.
    ///
    /// Refused by the first template that is at fault, the caller's before the configured ones, and each for the first
    /// of: it is not there (0601); it takes no such parameter (0604); it lacks one (0603), or, configured, needs the
    /// caller (0608); it is not approved on a line (0602).
    pub fn plan(
        &self,
        requested: Option<&[Requested]>,
        templates: &BTreeMap<TemplateId, Template>,
        lines: &[Reached],
    ) -> Result<Vec<Requested>, Refused> {
        let mut steps = requested.unwrap_or_default().to_vec();
        for request in &steps {
            let template = found(request.template, templates, Origin::Request)?;
            check_parameters(template, &request.parameters)?;
            check_approval(template, lines, Origin::Request)?;
        }
        for id in self.following(requested) {
            let template = found(*id, templates, Origin::WorkspaceConfiguration)?;
            if template.caller_parameters().next().is_some() {
                return Err(Refused::ConfiguredTemplateNeedsCaller { template: *id });
            }
            check_approval(template, lines, Origin::WorkspaceConfiguration)?;
            steps.push(Requested { template: *id, parameters: Parameters::new() });
        }
        Ok(steps)
    }
}

/// More templates than [`Onboarding::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sequence has at most {} templates", Onboarding::MAX)]
pub struct SequenceTooLong;

fn found(
    id: TemplateId,
    templates: &BTreeMap<TemplateId, Template>,
    origin: Origin,
) -> Result<&Template, Refused> {
    templates.get(&id).ok_or(Refused::UnknownTemplate { template: id, origin })
}

fn check_parameters(template: &Template, given: &Parameters) -> Result<(), Refused> {
    let takes: Vec<&str> = template.caller_parameters().collect();
    let foreign: Vec<String> = given.keys().filter(|name| !takes.contains(&name.as_str())).cloned().collect();
    if !foreign.is_empty() {
        return Err(Refused::ForeignParameters { template: template.id, parameters: foreign });
    }
    let missing: Vec<String> =
        takes.iter().filter(|name| !given.contains_key(**name)).map(|name| (*name).to_owned()).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Refused::MissingParameters { template: template.id, parameters: missing })
    }
}

fn check_approval(template: &Template, lines: &[Reached], origin: Origin) -> Result<(), Refused> {
    match lines.iter().find(|line| !template.approved_by.contains(&line.business_account)) {
        None => Ok(()),
        Some(line) => {
            Err(Refused::TemplateNotApproved { template: template.id, channel: line.channel.clone(), origin })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::line::Provider;
    use crate::template::{ContactField, ParameterValue, Source, TemplateScope, Variable};
    use proptest::prelude::*;
    use uuid::Uuid;

    fn id(n: u128) -> TemplateId {
        TemplateId::from_uuid(Uuid::from_u128(n))
    }

    fn account(n: u32) -> BusinessAccountId {
        BusinessAccountId::parse(&format!("20{n}")).unwrap()
    }

    fn line(n: u32, of: u32) -> Reached {
        Reached { channel: ChannelId::parse(&format!("10{n}")).unwrap(), business_account: account(of) }
    }

    fn parameters(names: &[&str]) -> Parameters {
        names.iter().map(|name| ((*name).to_owned(), ParameterValue::parse("value").unwrap())).collect()
    }

    fn request(n: u128, names: &[&str]) -> Requested {
        Requested { template: id(n), parameters: parameters(names) }
    }

    fn template(n: u128, callers: &[&str], approved: &[u32]) -> Template {
        let own = Source::Contact { field: ContactField::FirstName, fallback: None };
        let caller = |name: &&str| Variable::new(name, Source::Caller).unwrap();
        Template {
            id: id(n),
            scope: TemplateScope::Platform,
            provider: Provider::WhatsApp,
            name: format!("t{n}"),
            language: "es".to_owned(),
            variables: [Variable::new("name", own).unwrap()]
                .into_iter()
                .chain(callers.iter().map(caller))
                .collect(),
            approved_by: approved.iter().map(|n| account(*n)).collect(),
            created_at: Timestamp::from_millis(0),
            version: 1,
        }
    }

    /// 1 and 2 can be sent by anybody on either line, 3 needs two values, 4 is approved for one account of two,
    /// 5 needs a value and is approved nowhere.
    fn templates() -> BTreeMap<TemplateId, Template> {
        let all = [
            template(1, &[], &[1, 2]),
            template(2, &[], &[1, 2]),
            template(3, &["code", "at"], &[1, 2]),
            template(4, &[], &[1]),
            template(5, &["code"], &[]),
        ];
        all.into_iter().map(|template| (template.id, template)).collect()
    }

    fn set_up(overriding: Override, sequence: &[u128]) -> Onboarding {
        Onboarding::new(overriding, sequence.iter().map(|n| id(*n)).collect()).unwrap()
    }

    fn unknown(n: u128, origin: Origin) -> Refused {
        Refused::UnknownTemplate { template: id(n), origin }
    }

    fn not_approved(n: u128, on: u32, origin: Origin) -> Refused {
        let channel = line(on, 0).channel;
        Refused::TemplateNotApproved { template: id(n), channel, origin }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_callers_templates_replace_the_sequence_or_its_first_and_omitted_ones_nothing() {
        let one = [request(9, &[])];
        type Row<'a> = (Override, &'a [u128], Option<&'a [Requested]>, &'a [u128]);
        let rows: [Row<'_>; 9] = [
            (Override::Entire, &[1, 2, 3], None, &[1, 2, 3]),
            (Override::FirstOnly, &[1, 2, 3], None, &[1, 2, 3]),
            (Override::Entire, &[1, 2, 3], Some(&one), &[]),
            (Override::FirstOnly, &[1, 2, 3], Some(&one), &[2, 3]),
            (Override::FirstOnly, &[1], Some(&one), &[]),
            (Override::FirstOnly, &[], Some(&one), &[]),
            (Override::Entire, &[1, 2, 3], Some(&[]), &[]),
            (Override::FirstOnly, &[1, 2, 3], Some(&[]), &[2, 3]),
            (Override::Entire, &[], None, &[]),
        ];
        for (overriding, sequence, requested, expected) in rows {
            let following = set_up(overriding, sequence).following(requested).to_vec();
            let expected: Vec<TemplateId> = expected.iter().map(|n| id(*n)).collect();
            assert_eq!(following, expected, "{overriding:?} {sequence:?} {requested:?}");
        }
    }

    #[test]
    fn the_callers_templates_are_sent_first_with_their_values_and_then_the_configured_ones() {
        let requested = [request(3, &["code", "at"]), request(1, &[]), request(1, &[])];
        let plan =
            set_up(Override::FirstOnly, &[4, 2, 1]).plan(Some(&requested), &templates(), &[line(1, 1)]);
        let [first, second, third] = requested;
        assert_eq!(plan, Ok(vec![first, second, third, request(2, &[]), request(1, &[])]));
    }

    #[test]
    fn a_template_is_refused_for_the_first_of_its_faults() {
        let (both, none) = (vec![line(1, 1), line(2, 2)], vec![]);
        let (by_caller, configured) = (Origin::Request, Origin::WorkspaceConfiguration);
        let missing = |n, of: &[&str]| Refused::MissingParameters { template: id(n), parameters: names(of) };
        let foreign = |n, of: &[&str]| Refused::ForeignParameters { template: id(n), parameters: names(of) };
        let needs_caller = |n| Refused::ConfiguredTemplateNeedsCaller { template: id(n) };
        type Row<'a> = (Option<Requested>, &'a [u128], &'a [Reached], Refused);
        let rows: [Row<'_>; 15] = [
            (Some(request(9, &["x"])), &[], &both, unknown(9, by_caller)),
            (Some(request(5, &["zoo", "x"])), &[], &both, foreign(5, &["x", "zoo"])),
            // What comes from the contact is not the caller's to give.
            (Some(request(1, &["name"])), &[], &both, foreign(1, &["name"])),
            (Some(request(3, &[])), &[], &both, missing(3, &["code", "at"])),
            (Some(request(3, &["code"])), &[], &both, missing(3, &["at"])),
            (Some(request(5, &[])), &[], &both, missing(5, &["code"])),
            (Some(request(5, &["code"])), &[], &both, not_approved(5, 1, by_caller)),
            (Some(request(4, &[])), &[], &both, not_approved(4, 2, by_caller)),
            (None, &[9], &none, unknown(9, configured)),
            (None, &[3], &none, needs_caller(3)),
            (None, &[5], &both, needs_caller(5)),
            (None, &[4], &both, not_approved(4, 2, configured)),
            // The caller's before the configured ones, and each scope from its first.
            (Some(request(4, &[])), &[1, 9], &both, not_approved(4, 2, by_caller)),
            (Some(request(1, &[])), &[9, 3, 9], &both, needs_caller(3)),
            (Some(request(1, &[])), &[9, 4, 3], &both, not_approved(4, 2, configured)),
        ];
        for (requested, sequence, lines, expected) in rows {
            let requested = requested.map(|request| vec![request]);
            let onboarding = set_up(Override::FirstOnly, sequence);
            let plan = onboarding.plan(requested.as_deref(), &templates(), lines);
            assert_eq!(plan, Err(expected), "{requested:?} {sequence:?}");
        }
    }

    #[test]
    fn what_is_replaced_entirely_is_not_looked_at() {
        let requested = [request(1, &[])];
        let plan = set_up(Override::Entire, &[9, 3, 4]).plan(Some(&requested), &templates(), &[line(2, 2)]);
        assert_eq!(plan, Ok(requested.to_vec()));
    }

    proptest! {
        /// Whatever is asked for: a plan can be sent as it stands, and a refusal names the first template at fault.
        #[test]
        fn a_plan_can_be_sent_and_a_refusal_names_the_first_that_cannot(
            requested in prop::option::of(prop::collection::vec((1..7u128, prop::collection::btree_set(0..3usize, 0..3)), 0..4)),
            sequence in prop::collection::vec(1..7u128, 0..4),
            first_only in any::<bool>(),
            accounts in prop::collection::vec(1..3u32, 1..3),
        ) {
            const NAMES: [&str; 3] = ["code", "at", "name"];
            let named = |names: &BTreeSet<usize>| names.iter().map(|at| NAMES[*at]).collect::<Vec<_>>();
            let requested: Option<Vec<Requested>> = requested
                .map(|all| all.iter().map(|(n, names)| request(*n, &named(names))).collect());
            let overriding = if first_only { Override::FirstOnly } else { Override::Entire };
            let onboarding = set_up(overriding, &sequence);
            let lines: Vec<Reached> = (1..).zip(accounts).map(|(n, of)| line(n, of)).collect();
            let templates = templates();

            let can_be_sent = |step: &Requested| templates.get(&step.template).is_some_and(|template| {
                let takes: BTreeSet<&str> = template.caller_parameters().collect();
                let given: BTreeSet<&str> = step.parameters.keys().map(String::as_str).collect();
                takes == given && lines.iter().all(|line| template.approved_by.contains(&line.business_account))
            });
            let follows = |id: &TemplateId| Requested { template: *id, parameters: Parameters::new() };
            let following = onboarding.following(requested.as_deref()).iter().map(follows);
            let wanted: Vec<Requested> = requested.iter().flatten().cloned().chain(following).collect();
            let at_fault = wanted.iter().find(|step| !can_be_sent(step)).map(|step| step.template);

            match onboarding.plan(requested.as_deref(), &templates, &lines) {
                Ok(steps) => {
                    prop_assert_eq!(at_fault, None);
                    prop_assert_eq!(steps, wanted);
                }
                Err(refused) => {
                    let named = match refused {
                        Refused::UnknownTemplate { template, .. }
                        | Refused::TemplateNotApproved { template, .. }
                        | Refused::MissingParameters { template, .. }
                        | Refused::ForeignParameters { template, .. }
                        | Refused::ConfiguredTemplateNeedsCaller { template } => template,
                        other => return Err(TestCaseError::fail(format!("{other:?}"))),
                    };
                    prop_assert_eq!(at_fault, Some(named));
                }
            }
        }
    }

    #[test]
    fn a_sequence_has_10_templates_at_most() {
        let all: Vec<TemplateId> = (1..=11).map(id).collect();
        assert_eq!(Onboarding::new(Override::Entire, all[..10].to_vec()).unwrap().sequence, all[..10]);
        assert_eq!(Onboarding::new(Override::Entire, all), Err(SequenceTooLong));
    }

    #[test]
    fn the_words_for_overriding_are_read_back() {
        for name in Override::NAMES {
            assert_eq!(Override::parse(name).unwrap().as_str(), *name);
        }
        assert_eq!(Override::parse("FIRST"), Err(Unfit::NotOneOf { expected: Override::NAMES }));
        assert_eq!(Onboarding::default().overriding, Override::Entire);
    }
}
