//! `console user ...`

use clap::{Args, Subcommand};
use domain::settings::user::UserChange;
use domain::{Cellphone, Email, Language, PersonName, Unfit, User, UserId, UserRef, UserStatus};

use crate::arguments::{InWorkspace, one, one_of, patch, user_ref};
use crate::output::{Output, Report};
use crate::refusal::unfit;
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a user. The e-mail address is unique in the workspace and never changes.
    Create(Create),
    /// List the users, including disabled ones, oldest first.
    List(InWorkspace),
    /// Change a user's names, phone number or language. What you do not give stays as it is.
    Update(Box<Update>),
    /// Disable a user: no new contact or conversation can be assigned to the user.
    Disable(OneUser),
    /// Enable a disabled user: contacts and conversations can be assigned to the user again.
    Enable(OneUser),
}

one!(OneUser {
    /// The user, by id or e-mail address.
    user: UserRef = "ID|E-MAIL",
    user_ref
});

#[derive(Args)]
pub(crate) struct Update {
    #[command(flatten)]
    one: OneUser,
    #[command(flatten)]
    change: UserArguments,
}

#[derive(Args)]
#[group(required = true, multiple = true)]
pub(crate) struct UserArguments {
    /// Given name.
    #[arg(long, value_parser = PersonName::parse)]
    first_name: Option<PersonName>,
    /// Remove the given name.
    #[arg(long, conflicts_with = "first_name")]
    no_first_name: bool,
    /// Family name.
    #[arg(long, value_parser = PersonName::parse)]
    last_name: Option<PersonName>,
    /// Remove the family name.
    #[arg(long, conflicts_with = "last_name")]
    no_last_name: bool,
    /// Phone number in E.164 format.
    #[arg(long, value_parser = Cellphone::parse)]
    cellphone: Option<Cellphone>,
    /// Remove the phone number.
    #[arg(long, conflicts_with = "cellphone")]
    no_cellphone: bool,
    /// Language.
    #[arg(long, alias = "language-code", value_parser = one_of(Language::NAMES, Language::parse))]
    language: Option<Language>,
    /// Remove the language.
    #[arg(long, conflicts_with = "language")]
    no_language: bool,
}

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    within: InWorkspace,
    /// E-mail address.
    #[arg(long)]
    email: String,
    /// Given name.
    #[arg(long)]
    first_name: Option<String>,
    /// Family name.
    #[arg(long)]
    last_name: Option<String>,
    /// Phone number in E.164 format.
    #[arg(long)]
    cellphone: Option<String>,
    /// Language.
    #[arg(long, alias = "language-code", value_parser = one_of(Language::NAMES, Language::parse))]
    language: Option<Language>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create(wanted) => create(console, &wanted).await?.into(),
            Self::List(within) => {
                let workspace = console.workspace(&within).await?;
                let users = console.store.users(workspace.id).await?;
                users.iter().map(view).collect()
            }
            Self::Update(update) => {
                let wanted = update.change.read();
                update.one.change(console, &wanted).await?.into()
            }
            Self::Disable(one) => one.set(console, UserStatus::Disabled).await?.into(),
            Self::Enable(one) => one.set(console, UserStatus::Active).await?.into(),
        })
    }
}

async fn create(console: &Console, wanted: &Create) -> Result<View> {
    let store = &console.store;
    let workspace = console.workspace(&wanted.within).await?;
    let email = Email::parse(&wanted.email).map_err(unfit("The e-mail address is invalid"))?;
    let user = User {
        first_name: optional(&wanted.first_name, "The first name is invalid", PersonName::parse)?,
        last_name: optional(&wanted.last_name, "The last name is invalid", PersonName::parse)?,
        cellphone: optional(&wanted.cellphone, "The cellphone is invalid", Cellphone::parse)?,
        language: wanted.language,
        ..User::new(UserId::generate(store.ids()), workspace.id, email, store.now())
    };
    console.admin(workspace.id).await?.create_user(&user, None).await?;
    Ok(view(&user))
}

impl OneUser {
    async fn change(self, console: &Console, change: &UserChange) -> Result<View> {
        let workspace = console.workspace(&self.within).await?;
        let user = console.admin(workspace.id).await?.update_user(&self.user, change).await?;
        Ok(view(&user))
    }

    async fn set(self, console: &Console, status: UserStatus) -> Result<View> {
        let change = UserChange { status: Some(status), ..UserChange::default() };
        self.change(console, &change).await
    }
}

impl UserArguments {
    fn read(self) -> UserChange {
        UserChange {
            first_name: patch(self.first_name, self.no_first_name),
            last_name: patch(self.last_name, self.no_last_name),
            cellphone: patch(self.cellphone, self.no_cellphone),
            language: patch(self.language, self.no_language),
            status: None,
        }
    }
}

fn optional<T>(
    text: &Option<String>,
    what: &'static str,
    parse: impl FnOnce(&str) -> Result<T, Unfit>,
) -> Result<Option<T>> {
    text.as_deref().map(parse).transpose().map_err(unfit(what))
}

fn view(user: &User) -> View {
    View::new()
        .text("id", "user", user.id)
        .text("email", "e-mail", user.email.as_str())
        .text("status", "status", user.status.as_str())
        .optional("firstName", "first name", user.first_name.as_ref().map(PersonName::as_str))
        .optional("lastName", "last name", user.last_name.as_ref().map(PersonName::as_str))
        .optional("cellphone", "cellphone", user.cellphone.as_ref().map(Cellphone::as_str))
        .json("languageCode", user.language.map(Language::as_str))
        .text("createdAt", "created", user.created_at)
        .json("updatedAt", user.updated_at.to_string())
}
