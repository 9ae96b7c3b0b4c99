//! Endpoint 12: leads captured on landing pages.
//!
//! ```text
//! event -> { set-up, brands, state, earlier leads, quota } -> shape, number, consent -> quota -> workspace, enabled, key, origin
//!       -> brand -> captcha -> caps -> { lead, captcha token, repeats } in one transaction -> 202
//! ```
//!
//! Every post makes the same first round trip, also an invalid one (without the earlier leads, which only a well-formed
//! request has), so the response time does not show which of the first checks failed. A script for pages ([`scripts`])
//! is answered without any call.

mod accept;
pub mod captcha;
mod leads;
pub mod numbering;
mod quotas;
pub mod scripts;

use std::sync::Arc;

use domain::encoding::sha256_hex;
use domain::{Capture, LeadId, SentOrigin, WorkspaceId, error_chain};
use edge::capture::{CaptureAnswer, CaptureContent, CaptureRequest, LeadProblem};
use futures::future::join;
use runtime::metrics::Captured;
use store::{CaptureRead, LeadTraits};
use tokio::time::timeout;

pub use leads::{LONGEST, Leads};
pub use quotas::Quotas;

use crate::accept::WorkspaceRead;
use crate::captcha::Verifier;
use crate::quotas::Judge;

impl<V: Verifier> Leads<V> {
    /// Handles one request to a route of this function.
    pub async fn handle(&self, request: &CaptureRequest) -> CaptureAnswer {
        match request.method() {
            "OPTIONS" => self.preflight(request).await,
            "GET" => CaptureAnswer::script(request, scripts::named(request.script())),
            // The runtime moves the future of a request, so the largest part of it is on the heap.
            _ => Box::pin(self.post(request)).await,
        }
    }

    /// Answers a preflight in every case. A page without access sees that the CORS headers are missing.
    async fn preflight(&self, request: &CaptureRequest) -> CaptureAnswer {
        let workspace = request.workspace();
        let capture = match timeout(self.longest, self.store.capture(workspace)).await {
            Ok(Ok(capture)) => capture,
            Ok(Err(error)) => {
                tracing::error!(%workspace, cause = error_chain(&error), "settings not read");
                None
            }
            Err(_) => {
                tracing::error!(%workspace, "settings not read in time");
                None
            }
        };
        CaptureAnswer::preflight(&readable_by(capture.as_ref(), request.origin()))
    }

    async fn post(&self, request: &CaptureRequest) -> CaptureAnswer {
        let CaptureContent { workspace, lead } = request.content(numbering::is_valid);
        // This is known as soon as the set-up is read. The page can then also read the answers of later failures.
        let mut readable = SentOrigin::Absent;
        let token =
            lead.as_ref().map(|lead| sha256_hex(lead.captcha.expose().as_bytes())).unwrap_or_default();
        let work = async {
            let traits = lead.as_ref().ok().map(|lead| LeadTraits {
                cellphone: &lead.cellphone,
                brand: lead.brand.as_ref(),
                token_sha256_hex: &token,
            });
            let (origin, valid) = (request.origin(), lead.as_ref().ok());
            let (set_up, counted) = join(
                self.store.capture_read(workspace, traits),
                self.quotas.count(workspace, valid, &origin),
            )
            .await;
            let CaptureRead { capture, lines, state, traces } = set_up?;
            let judge = Arc::new(Judge { capture, state });
            self.quotas.learn(workspace, Arc::clone(&judge));
            let is_proven = judge.is_proven(valid, &origin);
            readable = readable_by(judge.capture.as_ref(), origin.clone());
            let lead = lead?;
            counted.admit(is_proven, workspace)?;
            let capture = judge.capture.as_ref();
            let of_workspace = WorkspaceRead { capture, lines: &*lines?, state, traces };
            accept::accept(self, (lead, &token), of_workspace, request, &origin).await
        };
        let late = || LeadProblem::unexpected("the request took too long");
        let outcome = timeout(self.longest, work).await.unwrap_or_else(|_| Err(late()));
        log_outcome(workspace, &outcome);
        self.metrics.put((), &counted(&outcome));
        CaptureAnswer::of(&outcome, &readable)
    }
}

/// The origin that may read the answer, if it is one of the workspace's origins.
fn readable_by(capture: Option<&Capture>, origin: SentOrigin) -> SentOrigin {
    if capture.is_some_and(|capture| capture.allows(&origin)) { origin } else { SentOrigin::Absent }
}

fn counted(outcome: &Result<LeadId, LeadProblem>) -> Captured {
    let counted = Captured::default();
    match outcome {
        Ok(_) => counted.leads_accepted.add(1),
        Err(LeadProblem::Invalid(_) | LeadProblem::Rejected(_) | LeadProblem::RateLimited(_)) => {
            counted.leads_rejected.add(1)
        }
        Err(LeadProblem::CaptchaUnavailable(_)) => counted.captcha_unavailable.add(1),
        Err(LeadProblem::CaptchaMisconfigured(_)) => counted.captcha_misconfigured.add(1),
        // The gateway's own metric counts the 5xx answers.
        Err(LeadProblem::Unexpected(_)) => {}
    }
    counted
}

fn log_outcome(workspace: WorkspaceId, outcome: &Result<LeadId, LeadProblem>) {
    match outcome {
        Ok(lead) => tracing::info!(%workspace, %lead, "lead accepted"),
        Err(problem) => problem.log(workspace),
    }
}
