//! Turns a request of a landing page into a lead that is durably queued.

use std::time::Duration;

use domain::lead::VisitorSeen;
use domain::lead::captcha::{CaptchaVerdict, Rejection, Score, judge};
use domain::{BrandId, Capture, Lead, LeadId, LeadRequest, Lines, SentOrigin, WorkspaceState};
use edge::capture::{CaptureRequest, LeadProblem};
use store::{CountedLead, LeadAccepted, LeadDuplicates, LeadTraits, UsedToken};

use crate::captcha::{Unreachable, Verifier};
use crate::leads::Leads;

/// A lead that passed the first checks.
struct Candidate<'a> {
    request: &'a LeadRequest,
    capture: &'a Capture,
    brand: BrandId,
    /// The hash of the captcha token.
    token: &'a str,
}

/// What was read of the workspace that a request names.
pub(crate) struct WorkspaceRead<'a> {
    pub(crate) capture: Option<&'a Capture>,
    pub(crate) lines: &'a Lines,
    pub(crate) state: WorkspaceState,
    /// The traces of the lead, if it is of this brand.
    pub(crate) traces: Option<(BrandId, LeadDuplicates)>,
}

/// Accepts a lead of a workspace whose set-up and brands were read, or returns the first objection: to the sender, to
/// the brand, or to the captcha.
///
/// If the lookup of earlier leads was not part of the first read, it runs at the same time as the captcha check. For a
/// repeat, the function reads the first lead, and queues it again if it ended without a message. If the operator set
/// caps, another round trip counts a new lead. The last round trip stores it. The write detects a token or lead that a
/// concurrent request stored.
pub(crate) async fn accept<V: Verifier>(
    leads: &Leads<V>,
    (request, token): (LeadRequest, &str),
    of_workspace: WorkspaceRead<'_>,
    sent: &CaptureRequest,
    origin: &SentOrigin,
) -> Result<LeadId, LeadProblem> {
    let WorkspaceRead { capture, lines, state, traces: known } = of_workspace;
    let admitted = Capture::admits(capture, state, request.capture_key.expose(), origin);
    let capture = admitted.map_err(|objection| LeadProblem::Rejected(objection.as_str()))?;
    let brand = capture.brand_of(request.brand.as_ref(), lines);
    let brand =
        brand.ok_or_else(|| LeadProblem::Invalid("body.brandId: missing, or no such brand".to_owned()))?;
    let candidate = Candidate { request: &request, capture, brand, token };

    let (verdict, traces) =
        futures::future::try_join(verdict(leads, &candidate), known_or_read(known, leads, &candidate))
            .await?;
    if let Some(used) = traces.token {
        return candidate.met(used);
    }
    let score = match verdict {
        Ok(CaptchaVerdict::Passed { score }) => score,
        Ok(CaptchaVerdict::Rejected(rejection)) => return rejected(leads, &candidate, rejection).await,
        Ok(CaptchaVerdict::Unavailable(reason)) => return Err(LeadProblem::CaptchaUnavailable(reason)),
        Err(unreachable) => return Err(LeadProblem::CaptchaUnavailable(unreachable.as_str())),
        Ok(CaptchaVerdict::SecretRefused) => {
            leads.store.forget_captcha_secret(capture.workspace_id);
            let reason = "captcha provider refuses the secret of the workspace";
            return Err(LeadProblem::CaptchaMisconfigured(reason));
        }
    };
    // The answer names the first lead in each of its states. Another answer would tell a stranger that the person has
    // opted out. For the same reason a repeat neither counts in a cap nor is refused by one.
    if let Some(first) = traces.repeated {
        return repeated(leads, &candidate, first).await;
    }
    let counted = leads.store.count_lead(capture.workspace_id, &request.cellphone, capture.caps).await?;
    match counted {
        Some(counted) => store(leads, &candidate, score, sent, &counted).await,
        None => over_cap(leads, &candidate).await,
    }
}

/// Asks the captcha's provider, and evaluates its answer.
async fn verdict<V: Verifier>(
    leads: &Leads<V>,
    candidate: &Candidate<'_>,
) -> Result<Result<CaptchaVerdict, Unreachable>, LeadProblem> {
    let Candidate { request, capture, .. } = candidate;
    let secret = leads.store.captcha_secret(capture.workspace_id).await?;
    let secret = secret.ok_or(LeadProblem::CaptchaMisconfigured("the workspace has no captcha secret"))?;
    let answer = leads.captcha.verify(&secret, &request.captcha).await;
    Ok(answer.map(|answer| judge(&answer, capture.threshold, &capture.hosts(), leads.store.now())))
}

/// The traces that were read beside the settings, if the lead is of that brand.
async fn known_or_read<V>(
    known: Option<(BrandId, LeadDuplicates)>,
    leads: &Leads<V>,
    candidate: &Candidate<'_>,
) -> Result<LeadDuplicates, LeadProblem> {
    match known {
        Some((brand, traces)) if brand == candidate.brand => Ok(traces),
        _ => traces(leads, candidate).await,
    }
}

async fn traces<V>(leads: &Leads<V>, candidate: &Candidate<'_>) -> Result<LeadDuplicates, LeadProblem> {
    let Candidate { request, brand, token, .. } = candidate;
    let traits = LeadTraits { cellphone: &request.cellphone, brand: Some(brand), token_sha256_hex: token };
    Ok(leads.store.lead_duplicates(request.workspace_id, traits).await?)
}

/// How long the function waits before it checks a second time whether a concurrent request stored the same lead: a
/// visitor pressed twice, or a browser repeated a request without an answer.
const RECHECK_DELAY: Duration = Duration::from_millis(300);

/// Looks up the traces of a lead until `wanted` finds something in them: at once, and again after [`RECHECK_DELAY`].
async fn recheck<V, T>(
    leads: &Leads<V>,
    candidate: &Candidate<'_>,
    wanted: impl Fn(LeadDuplicates) -> Option<T>,
) -> Result<Option<T>, LeadProblem> {
    if let Some(met) = wanted(traces(leads, candidate).await?) {
        return Ok(Some(met));
    }
    tokio::time::sleep(RECHECK_DELAY).await;
    Ok(wanted(traces(leads, candidate).await?))
}

/// A rejected token may belong to the same lead in a concurrent request that has finished by now.
async fn rejected<V>(
    leads: &Leads<V>,
    candidate: &Candidate<'_>,
    rejection: Rejection,
) -> Result<LeadId, LeadProblem> {
    if rejection == Rejection::Duplicate
        && let Some(used) = recheck(leads, candidate, |traces| traces.token).await?
    {
        return candidate.met(used);
    }
    Err(LeadProblem::Rejected(rejection.as_str()))
}

/// The last lead within the cap may be the same lead.
async fn over_cap<V>(leads: &Leads<V>, candidate: &Candidate<'_>) -> Result<LeadId, LeadProblem> {
    match recheck(leads, candidate, |traces| traces.repeated).await? {
        Some(first) => repeated(leads, candidate, first).await,
        None => Err(LeadProblem::Rejected("over the operator's cap")),
    }
}

/// Returns the lead that was accepted before under another token. This uses up the new token. A lead that ended without a
/// message is queued again, so a person who has opted in since gets the message. This runs after the captcha check, so a
/// caller who fails the captcha learns nothing from the response time.
async fn repeated<V>(
    leads: &Leads<V>,
    candidate: &Candidate<'_>,
    first: LeadId,
) -> Result<LeadId, LeadProblem> {
    let Candidate { request, brand, token, .. } = candidate;
    let (workspace, cellphone) = (request.workspace_id, &request.cellphone);
    let used = leads.store.repeat_lead(workspace, token, first, cellphone, brand).await?;
    used.map_or(Ok(first), |used| candidate.met(used))
}

/// Stores the lead with its consent, which accepts it. If the lead is not stored, its count is reverted.
async fn store<V>(
    leads: &Leads<V>,
    candidate: &Candidate<'_>,
    score: Score,
    sent: &CaptureRequest,
    counted: &CountedLead,
) -> Result<LeadId, LeadProblem> {
    let Candidate { request, brand, token, .. } = candidate;
    let seen =
        VisitorSeen { brand: brand.clone(), score, address: sent.address(), user_agent: sent.user_agent() };
    let lead: Lead = (*request).clone().accepted(seen, leads.store.ids(), leads.store.now());
    let stored = leads.store.accept_lead(&lead, token, leads.first_due).await;
    if !matches!(stored, Ok(LeadAccepted::Done)) {
        leads.store.uncount_lead(counted).await;
    }
    match stored? {
        LeadAccepted::Done => Ok(lead.id),
        LeadAccepted::Repeats(first) => repeated(leads, candidate, first).await,
        LeadAccepted::TokenUsed(used) => candidate.met(used),
    }
}

impl Candidate<'_> {
    /// A token is accepted once. A repeat of the same lead, whose answer was lost, gets the first answer.
    fn met(&self, used: UsedToken) -> Result<LeadId, LeadProblem> {
        if used.is_of(&self.request.cellphone, &self.brand) {
            Ok(used.lead)
        } else {
            Err(LeadProblem::Rejected("token used for another lead"))
        }
    }
}
