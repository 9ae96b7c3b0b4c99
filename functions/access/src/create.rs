use domain::access::api_key::{Grant, RateLimit};
use domain::secret::{Randomness, numbers};
use domain::text::operator_name;
use domain::{ApiKey, ApiKeyToken, KeyId, Refused, Scope, Scopes, Timestamp};
use edge::form::{Form, Node, Rejection, moment};
use edge::{ApiError, Call, Reply, created_again, view};
use futures::future::try_join;
use store::{IdempotencyKey, JudgedKey, KeyCreated, StoredAnswer, Table};

/// POST /api-keys: three round trips. The answer has the secret value of the key, which is stored nowhere: a repeat under the same
/// `Idempotency-Key` gets `null` in its place. An unknown field is refused: whoever misspells `expiresAt` would get a key that
/// never expires.
pub(crate) async fn create(call: &Call<'_>, random: &dyn Randomness) -> Result<Reply, ApiError> {
    let body = call.request.json()?;
    let mut form = Form::default();
    call.request.query().only(&mut form, &[]);
    let once = call.idempotency_key(&mut form, "api-keys");
    let wanted = read_wanted(&mut form, Node::root("body", Some(&body)), call.store().now());
    let (name, grant) = form.finish(wanted)?;
    let beyond = grant.scopes.beyond(&call.caller.api_key().scopes);
    if !beyond.is_empty() {
        return Err(Refused::ScopesNotHeld { scopes: beyond }.into());
    }

    let id = KeyId::generate(call.store().ids());
    let token = ApiKeyToken::from_entropy(numbers(random));
    let creation = Creation { call, name, grant, once, id, token };
    call.until_written(|| creation.attempt()).await
}

fn read_wanted(form: &mut Form, body: Node<'_>, now: Timestamp) -> Option<(String, Grant)> {
    let body = body.object(form)?.only(form, &["name", "scopes", "rate", "burst", "expiresAt"]);
    let name = body.field("name").required(form).and_then(|at| at.text(form, operator_name));
    let scopes = body.field("scopes").required(form).and_then(|at| read_scopes(form, &at));
    let number = |form: &mut Form, field: &str, default: u32, most: u32| {
        body.field(field).given().map_or(Some(default), |at| at.number(form, 1, most))
    };
    let rate = number(form, "rate", RateLimit::DEFAULT.per_second, RateLimit::MAX_PER_SECOND);
    let burst = number(form, "burst", RateLimit::DEFAULT.burst, RateLimit::MAX_BURST);
    let expires_at = match body.field("expiresAt").given() {
        None => None,
        Some(at) => {
            let expiry = read_expiry(form, &at);
            if expiry.is_some_and(|expiry| expiry <= now) {
                form.fail(&at, Rejection::Refused("the expiry is in the past"));
            }
            Some(expiry?)
        }
    };
    let rate = RateLimit { per_second: rate?, burst: burst? };
    Some((name?, Grant { scopes: scopes?, rate, expires_at }))
}

fn read_scopes(form: &mut Form, at: &Node<'_>) -> Option<Scopes> {
    let items = at.items(form, 1, Scope::NAMES.len());
    let read = |at: &Node<'_>| at.text(form, |word| Scopes::parse([word]).map(|_| word.to_owned()));
    let words: Vec<Option<String>> = items.iter().map(read).collect();
    let words: Vec<String> = words.into_iter().collect::<Option<_>>()?;
    Scopes::parse(words.iter().map(String::as_str)).ok()
}

/// The expiry of a key.
pub(crate) fn read_expiry(form: &mut Form, at: &Node<'_>) -> Option<Timestamp> {
    at.text(form, moment)
}

/// The request to create a key, with everything that stays the same over its tries.
struct Creation<'a> {
    call: &'a Call<'a>,
    name: String,
    grant: Grant,
    once: Option<IdempotencyKey>,
    id: KeyId,
    token: ApiKeyToken,
}

impl Creation<'_> {
    /// One try: reads, judges and writes. Returns `None` if the workspace was changed in between.
    async fn attempt(&self) -> Result<Option<Reply>, ApiError> {
        let (store, id, now) = (self.call.store(), self.call.workspace(), self.call.store().now());
        let answered = async {
            match &self.once {
                Some(once) => store.answered(Table::ApiKeys, id, once).await,
                None => Ok(None),
            }
        };
        // The keys are read after the workspace: a key that is missing among them changes the version of the workspace.
        let keys = async {
            let workspace = store.workspace(id).await?;
            Ok((workspace, store.api_keys(id).await?))
        };
        let ((workspace, keys), answered) = try_join(keys, answered).await?;
        if let Some(answered) = answered {
            return self.replayed(answered).map(Some);
        }
        let workspace = workspace.ok_or_else(ApiError::no_workspace)?;
        ApiKey::check_room(&keys, self.grant.rate, workspace.key_rate, now)?;
        let by = self.call.author();
        let key = ApiKey::new(self.id, id, &self.name, self.grant.clone(), by.actor.clone(), now);
        let key = key.map_err(|_| ApiError::unexpected("a key that was read does not fit"))?;

        self.call.caller.admitted().await?;
        let answer = Reply::list(&view::created_key(&key, None))?.created();
        let kept = self.once.as_ref().map(|once| (once, answer.body()));
        let sha256_hex = self.token.sha256_hex();
        let new = JudgedKey { key: &key, sha256_hex: &sha256_hex, by: &by, kept };
        match store.create_judged_key(&new, &workspace).await? {
            KeyCreated::Done => {
                let shown = view::created_key(&key, Some(self.token.expose()));
                Reply::list(&shown).map(|reply| Some(reply.created()))
            }
            KeyCreated::Answered(answered) => self.replayed(answered).map(Some),
            KeyCreated::Stale => Ok(None),
        }
    }

    fn replayed(&self, answered: StoredAnswer) -> Result<Reply, ApiError> {
        created_again(self.once.as_ref(), answered, Reply::list_again)
    }
}
