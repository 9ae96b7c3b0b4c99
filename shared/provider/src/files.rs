//! The files of customers' messages.
//!
//! ```text
//! GET {graph}/{version}/{file} -> { url, mime_type, sha256, file_size }; GET url -> bytes
//! ```
//!
//! Both calls carry the token of the line. The provider's answer names the second URL, so it is checked before the
//! token is sent there: it must be on the Graph API's own origin or on a host of [`FileHosts`]. Of such a host, only
//! public addresses are connected to.

use std::sync::Arc;
use std::time::Duration;

use domain::media::FileMissing;
use domain::media::MediaHash;
use domain::{MediaDigest, Secret};
use outbound::ClientError;
use outbound::resolver::{Lookup, Names, SystemLookup};
use reqwest::header::AUTHORIZATION;
use reqwest::{Response, Url};
use rustls::RootCertStore;
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::{BROKE_OFF, NO_OBJECT, bearer, read_answer};

/// The hosts on which the provider keeps files: each of these names and the names below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHosts(Vec<String>);

impl FileHosts {
    /// The hosts of the Cloud API.
    pub const DEFAULT: &'static str = "fbsbx.com,fbcdn.net,whatsapp.net";

    /// Parses a list of host names, separated by commas. An empty list is [`FileHosts::DEFAULT`].
    pub fn parse(list: &str) -> Result<Self, NotAHost> {
        let list = if list.trim().is_empty() { Self::DEFAULT } else { list };
        let hosts = list.split(',').map(|host| host.trim().to_ascii_lowercase());
        hosts
            .map(|host| if is_host(&host) { Ok(host) } else { Err(NotAHost(host)) })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether a URL is on one of the hosts, at the usual port of HTTPS. A host that is an IP address is not.
    fn holds(&self, url: &Url) -> bool {
        let Some(host) = url.domain() else { return false };
        let is_below = |suffix: &String| {
            host.strip_suffix(suffix).is_some_and(|front| front.is_empty() || front.ends_with('.'))
        };
        url.scheme() == "https" && url.port_or_known_default() == Some(443) && self.0.iter().any(is_below)
    }
}

fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.contains('.') && name.split('.').all(is_label) && name.contains(|c: char| c.is_ascii_alphabetic())
}

/// A text is not the name of a public host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a public host, such as fbsbx.com")]
pub struct NotAHost(String);

/// A file to fetch.
#[derive(Clone, Copy, Debug)]
pub struct WantedFile<'a> {
    /// The provider's id of the file.
    pub id: &'a str,
    /// The digest that the message names.
    pub digest: Option<&'a MediaDigest>,
    /// The greatest size in bytes.
    pub max_bytes: u64,
}

/// A file that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedFile {
    /// The size in bytes.
    pub size: u64,
    /// The digest of the bytes.
    pub digest: MediaDigest,
}

/// Why a file was not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFetched {
    /// It cannot be had, now or later.
    Missing(FileMissing),
    /// It cannot be had now, for this reason. A later call may succeed.
    NotNow(&'static str),
}

/// The files of the Cloud API. Plain HTTP is for simulators.
#[derive(Clone, Debug)]
pub struct FileClient {
    /// Calls the Graph API.
    graph: reqwest::Client,
    /// Calls the hosts of files, at public addresses only.
    public: reqwest::Client,
    base: Url,
    hosts: FileHosts,
}

impl FileClient {
    /// The time limit for connecting.
    const CONNECT: Duration = Duration::from_secs(3);
    /// The time limit between two parts of an answer.
    const READ: Duration = Duration::from_secs(10);
    /// The maximum number of bytes of the answer that describes a file.
    const MAX_DESCRIPTION: usize = 64 * 1024;

    /// A client for the Graph API at `graph` (`https://host`) in `version` (`v23.0`), which takes files from that host
    /// and from `hosts`. It builds the TLS settings, which takes milliseconds; call it once, at start. The caller limits
    /// the time of a whole fetch.
    pub fn new(graph: &str, version: &str, hosts: FileHosts) -> Result<Self, ClientError> {
        Self::with_lookup(graph, version, hosts, Arc::new(SystemLookup::default()))
    }

    /// Like [`FileClient::new`], with another name lookup.
    pub fn with_lookup(
        graph: &str,
        version: &str,
        hosts: FileHosts,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, ClientError> {
        let base = outbound::url_below(graph, &[version]).ok_or(ClientError::Url { setting: "GRAPH_URL" })?;
        let tls = outbound::tls(RootCertStore::empty()).map_err(ClientError::Tls)?;
        let client = || {
            let client = outbound::client(tls.clone(), "Files");
            client.connect_timeout(Self::CONNECT).read_timeout(Self::READ)
        };
        let graph = client().https_only(base.scheme() == "https").build().map_err(ClientError::Client)?;
        let public = outbound::only_public(client().https_only(true), Names::new(lookup));
        Ok(Self { graph, public: public.build().map_err(ClientError::Client)?, base, hosts })
    }

    /// Fetches a file and writes its bytes to `into`, as they arrive. After an error, `into` has some of the bytes.
    pub async fn fetch(
        &self,
        token: &Secret,
        wanted: WantedFile<'_>,
        into: &mut (impl AsyncWrite + Unpin),
    ) -> Result<FetchedFile, NotFetched> {
        let described = self.describe(token, wanted.id).await?;
        let is_other = |digest: &MediaDigest| wanted.digest.is_some_and(|wanted| wanted != digest);
        if described.digest.as_ref().is_some_and(is_other) {
            return Err(NotFetched::Missing(FileMissing::WrongDigest));
        }
        if described.size.is_some_and(|size| size > wanted.max_bytes) {
            return Err(NotFetched::Missing(FileMissing::TooLarge));
        }
        let fetched = self.download(token, described.url, wanted.max_bytes, into).await?;
        let digest = wanted.digest.or(described.digest.as_ref());
        match digest.is_some_and(|digest| *digest != fetched.digest) {
            true => Err(NotFetched::Missing(FileMissing::WrongDigest)),
            false => Ok(fetched),
        }
    }

    async fn describe(&self, token: &Secret, id: &str) -> Result<Described, NotFetched> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.push(id);
        }
        let response = get(&self.graph, url, token).await?;
        let status = response.status().as_u16();
        let answer = read_answer(response, Self::MAX_DESCRIPTION).await.map_err(NotFetched::NotNow)?;
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        match status {
            200..=299 => {
                Described::read(&answer).ok_or(NotFetched::NotNow("the provider's answer names no URL"))
            }
            400 if answer["error"]["code"] == NO_OBJECT => Err(NotFetched::Missing(FileMissing::Gone)),
            status => Err(refused(status)),
        }
    }

    async fn download(
        &self,
        token: &Secret,
        url: Url,
        max_bytes: u64,
        into: &mut (impl AsyncWrite + Unpin),
    ) -> Result<FetchedFile, NotFetched> {
        let has_userinfo = !url.username().is_empty() || url.password().is_some();
        let client = match url.origin() == self.base.origin() {
            _ if has_userinfo => return Err(NotFetched::Missing(FileMissing::Refused)),
            true => &self.graph,
            false if self.hosts.holds(&url) => &self.public,
            false => return Err(NotFetched::Missing(FileMissing::Refused)),
        };
        let mut response = get(client, url, token).await?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(refused(status));
        }
        let too_large = NotFetched::Missing(FileMissing::TooLarge);
        if response.content_length().is_some_and(|size| size > max_bytes) {
            return Err(too_large);
        }
        let (mut size, mut hash) = (0, MediaHash::default());
        while let Some(chunk) = response.chunk().await.map_err(|_| BROKEN)? {
            size += chunk.len() as u64;
            if size > max_bytes {
                return Err(too_large);
            }
            hash.add(&chunk);
            into.write_all(&chunk).await.map_err(|_| NOT_WRITTEN)?;
        }
        into.flush().await.map_err(|_| NOT_WRITTEN)?;
        Ok(FetchedFile { size, digest: hash.digest() })
    }
}

const BROKEN: NotFetched = NotFetched::NotNow(BROKE_OFF);
const NOT_WRITTEN: NotFetched = NotFetched::NotNow("the bytes cannot be written");

/// The provider's description of a file.
struct Described {
    url: Url,
    size: Option<u64>,
    digest: Option<MediaDigest>,
}

impl Described {
    fn read(answer: &Value) -> Option<Self> {
        let size = &answer["file_size"];
        Some(Self {
            url: answer["url"].as_str()?.parse().ok()?,
            size: size.as_u64().or_else(|| size.as_str()?.parse().ok()),
            digest: answer["sha256"].as_str().and_then(|digest| MediaDigest::parse_any(digest).ok()),
        })
    }
}

async fn get(client: &reqwest::Client, url: Url, token: &Secret) -> Result<Response, NotFetched> {
    let bearer = bearer(token).ok_or(NotFetched::Missing(FileMissing::NoToken))?;
    let sent = client.get(url).header(AUTHORIZATION, bearer).send().await;
    sent.map_err(|error| match is_refused(&error) {
        true => NotFetched::Missing(FileMissing::Refused),
        false => NotFetched::NotNow("the provider did not answer"),
    })
}

/// Whether the name of the host has an address that is not public.
fn is_refused(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref() == Some(&outbound::resolver::ResolveError::Refused) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The meaning of an answer without a file.
fn refused(status: u16) -> NotFetched {
    match status {
        404 | 410 => NotFetched::Missing(FileMissing::Gone),
        401 | 403 => NotFetched::NotNow("the provider refuses the token"),
        429 => NotFetched::NotNow("the provider limits the rate"),
        300..=399 => NotFetched::NotNow("the provider redirects"),
        _ => NotFetched::NotNow("the provider failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_from_the_named_hosts_over_https_only() {
        let hosts = FileHosts::parse("").unwrap();
        #[rustfmt::skip]
        let rows = [
            ("https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1", true),
            ("https://fbsbx.com/x", true),
            ("https://mmg.whatsapp.net:443/x", true),
            ("http://lookaside.fbsbx.com/x", false),
            ("https://lookaside.fbsbx.com:8443/x", false),
            ("https://evilfbsbx.com/x", false),
            ("https://fbsbx.com.evil.example/x", false),
            ("https://fbsbx.com@evil.example/x", false),
            ("https://169.254.169.254/latest/meta-data", false),
            ("https://[::1]/x", false),
            ("file:///etc/passwd", false),
        ];
        for (url, expected) in rows {
            assert_eq!(hosts.holds(&url.parse().unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn a_list_of_hosts_has_only_public_names() {
        assert_eq!(FileHosts::parse(" A.example , b.example"), FileHosts::parse("a.example,b.example"));
        for wrong in ["com", "a.example,", "https://a.example", "1.2.3.4", "*.a.example", ".a.example"] {
            assert!(FileHosts::parse(wrong).is_err(), "{wrong}");
        }
    }
}
