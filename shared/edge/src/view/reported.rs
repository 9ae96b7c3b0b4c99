//! What the provider says about lines and business accounts.

use domain::settings::reported::{
    AccountFact, AccountReport, AccountStatus, LineFact, LineState, Notice, Restriction,
};
use domain::{Brand, ChannelId, Line, Timestamp};
use serde::Serialize;
use serde_json::Value;

use super::received;

/// The payload of `line.updated`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineStateView<'a> {
    provider_channel_id: &'a str,
    display_phone_number: Option<&'a str>,
    business_account_id: &'a str,
    verified_name: Option<&'a str>,
    name_status: Option<&'a str>,
    quality: Option<&'a str>,
    messaging_limit: Option<&'a str>,
    status: Option<&'a str>,
    notice: Option<NoticeView<'a>>,
}

/// The payload of `account.updated`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountReportView<'a> {
    business_account_id: &'a str,
    status: &'a str,
    restrictions: Vec<RestrictionView<'a>>,
    review_status: Option<&'a str>,
    messaging_limit: Option<&'a str>,
    notice: Option<NoticeView<'a>>,
}

/// The lines of a workspace.
#[derive(Debug, Serialize)]
pub struct LinesView<'a> {
    /// The lines, oldest first.
    pub lines: Vec<LineView<'a>>,
}

/// A line of a workspace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineView<'a> {
    #[serde(flatten)]
    state: LineStateView<'a>,
    name: Option<&'a str>,
    brand_id: &'a str,
    is_default: bool,
    throttled_until: Option<String>,
    account: AccountView<'a>,
    created_at: String,
}

/// A business account, and when its templates and lines were read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountView<'a> {
    #[serde(flatten)]
    report: AccountReportView<'a>,
    synced_at: Option<String>,
    sync_error: Option<&'a str>,
}

/// The brands of a workspace.
#[derive(Debug, Serialize)]
pub struct BrandsView<'a> {
    /// The brands, oldest first.
    pub brands: Vec<BrandView<'a>>,
}

/// A brand of a workspace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BrandView<'a> {
    id: &'a str,
    name: &'a str,
    provider_channel_id: Option<&'a str>,
    created_at: String,
}

/// What an account may not do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestrictionView<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    until: Option<String>,
    remediation: Option<&'a str>,
}

/// What happened last, in the provider's words.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeView<'a> {
    event: &'a str,
    at: String,
    raw: Value,
    raw_truncated: bool,
}

/// A line of a workspace.
pub fn line<'a>(
    line: &'a Line,
    state: &'a LineState,
    account: &'a AccountReport,
    default: Option<&ChannelId>,
    throttled_until: Option<Timestamp>,
) -> LineView<'a> {
    let synced = account.synced.as_ref();
    LineView {
        state: line_state(state),
        name: line.name.as_deref(),
        brand_id: line.brand.as_str(),
        is_default: default == Some(&line.channel),
        throttled_until: throttled_until.map(|until| until.to_string()),
        account: AccountView {
            report: account_report(account),
            synced_at: synced.map(|synced| synced.at.to_string()),
            sync_error: synced.and_then(|synced| synced.error.as_deref()),
        },
        created_at: line.created_at.to_string(),
    }
}

/// A brand of a workspace.
pub fn brand(brand: &Brand) -> BrandView<'_> {
    BrandView {
        id: brand.id.as_str(),
        name: &brand.name,
        provider_channel_id: brand.line.as_ref().map(ChannelId::as_str),
        created_at: brand.created_at.to_string(),
    }
}

/// What the provider says about a line.
pub fn line_state(line: &LineState) -> LineStateView<'_> {
    LineStateView {
        provider_channel_id: line.channel.as_str(),
        display_phone_number: line.fact(LineFact::DisplayPhoneNumber),
        business_account_id: line.business_account.as_str(),
        verified_name: line.fact(LineFact::VerifiedName),
        name_status: line.fact(LineFact::NameStatus),
        quality: line.fact(LineFact::Quality),
        messaging_limit: line.fact(LineFact::MessagingLimit),
        status: line.fact(LineFact::Status),
        notice: line.notice.as_ref().map(notice),
    }
}

/// What the provider says about a business account. It is active unless the provider said otherwise.
pub fn account_report(account: &AccountReport) -> AccountReportView<'_> {
    AccountReportView {
        business_account_id: account.id.as_str(),
        status: account.fact(AccountFact::Status).unwrap_or(AccountStatus::Active.as_str()),
        restrictions: account.restrictions().iter().map(restriction).collect(),
        review_status: account.fact(AccountFact::ReviewStatus),
        messaging_limit: account.fact(AccountFact::MessagingLimit),
        notice: account.notice.as_ref().map(notice),
    }
}

fn restriction(of: &Restriction) -> RestrictionView<'_> {
    RestrictionView {
        kind: &of.kind,
        until: of.until.map(|until| until.to_string()),
        remediation: of.remediation.as_deref(),
    }
}

fn notice(notice: &Notice) -> NoticeView<'_> {
    NoticeView {
        event: &notice.event,
        at: notice.at.to_string(),
        raw: received::raw(&notice.raw),
        raw_truncated: notice.raw.is_cut(),
    }
}
