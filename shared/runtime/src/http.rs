//! The connections of the SDK's clients: HTTP/1.1, rustls with ring, and only the root certificates of AWS.
//!
//! The SDK's own connector takes roots only as PEM text. It parses them for each client and again at the
//! first call: nine million instructions each time, which was two thirds of a cold start.

use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::{SettingError, Settings};

/// The ends of the subject names of the root certificates for the endpoints of AWS.
const AWS_ROOTS: [&str; 5] = [
    "Amazon Root CA 1",
    "Amazon Root CA 2",
    "Amazon Root CA 3",
    "Amazon Root CA 4",
    "Starfield Services Root Certificate Authority - G2",
];

/// The connector for all clients of a process. `AWS_CA_BUNDLE` names a file of root certificates that replace
/// those of AWS, for deployments behind a proxy that inspects TLS.
pub(crate) fn connections(settings: &Settings, connect: Duration) -> Result<SharedHttpClient, SettingError> {
    let roots = settings.read_with("AWS_CA_BUNDLE", |path| match path {
        "" => Ok(aws_roots()),
        path => bundle(path),
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows suites of both versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut tcp = Tcp::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect));
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
    let client =
        Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(https.wrap_connector(tcp));
    Ok(SharedHttpClient::new(Connections { client }))
}

/// The root certificates of AWS, from the list that browsers trust.
fn aws_roots() -> RootCertStore {
    let roots = webpki_roots::TLS_SERVER_ROOTS.iter();
    roots
        .filter(|root| AWS_ROOTS.iter().any(|name| root.subject.ends_with(name.as_bytes())))
        .cloned()
        .collect()
}

fn bundle(path: &str) -> Result<RootCertStore, String> {
    let pem = std::fs::read(path).map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("holds no certificate".to_owned()) } else { Ok(roots) }
}

#[derive(Clone, Debug)]
struct Connections {
    client: Client<HttpsConnector<Tcp>, SdkBody>,
}

impl HttpClient for Connections {
    /// One connector for all settings. The SDK enforces all time limits except the one for connecting.
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Connections {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        };
        let called = self.client.request(request);
        HttpConnectorFuture::new(async move {
            let response = called.await.map_err(retryable)?.map(SdkBody::from_body_1_x);
            HttpResponse::try_from(response).map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

/// Every transport error is retryable.
fn retryable(error: Error) -> ConnectorError {
    ConnectorError::io(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roots_are_those_of_aws_and_no_others() {
        let mut found: Vec<String> = aws_roots()
            .roots
            .iter()
            .map(|root| String::from_utf8_lossy(&root.subject).into_owned())
            .map(|subject| {
                AWS_ROOTS
                    .iter()
                    .find(|name| subject.ends_with(*name))
                    .map_or(subject, |name| (*name).to_owned())
            })
            .collect();
        found.sort();
        assert_eq!(found, AWS_ROOTS);
    }

    #[test]
    fn a_bundle_without_valid_certificates_is_refused_at_start() {
        let authority = rcgen::generate_simple_self_signed(["aws.example".to_owned()]).unwrap();
        let folder = std::env::temp_dir().join(format!("runtime-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (good, wrong) = (folder.join("good.pem"), folder.join("wrong.pem"));
        std::fs::write(&good, authority.cert.pem()).unwrap();
        std::fs::write(&wrong, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        let empty = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        for (path, believed) in [
            (good.to_str().unwrap(), true),
            (wrong.to_str().unwrap(), false),
            (empty, false),
            ("/nowhere.pem", false),
            ("", true),
        ] {
            let settings = Settings::from_pairs(&[("AWS_CA_BUNDLE", path)]);
            assert_eq!(connections(&settings, Duration::from_secs(1)).is_ok(), believed, "{path}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
