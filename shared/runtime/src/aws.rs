//! SDK clients, made once at start: rustls over ring, the roots of AWS and no others, bounded time-outs, standard retries.
//!
//! A function finds all it needs in its environment, as Lambda gives it; a tool asks the whole chain of the SDK, with its
//! profiles. What is not asked for does not run: no files are read and no clients are made for it at each start.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::tls::{self, TlsContext, TrustStore, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::{SettingError, Settings};

/// Neither time-out is set by the SDK: without them a call could hang for the whole of the function's time.
const CONNECT: Duration = Duration::from_millis(1_000);
const ATTEMPT: Duration = Duration::from_millis(2_000);
const OPERATION: Duration = Duration::from_millis(6_000);
const ATTEMPTS: u32 = 3;

/// The roots that the endpoints of AWS are certified by: reading all of those that a system trusts would take longer than
/// the whole start.
const ROOTS: [&str; 5] = [
    include_str!("roots/amazon-root-ca-1.pem"),
    include_str!("roots/amazon-root-ca-2.pem"),
    include_str!("roots/amazon-root-ca-3.pem"),
    include_str!("roots/amazon-root-ca-4.pem"),
    include_str!("roots/starfield-services-root-ca-g2.pem"),
];

/// A function's: region, credentials and endpoint from the environment alone.
pub(crate) fn of_function(settings: &Settings) -> Result<SdkConfig, SettingError> {
    let credentials = Credentials::new(
        settings.required("AWS_ACCESS_KEY_ID")?,
        settings.required("AWS_SECRET_ACCESS_KEY")?,
        settings.optional("AWS_SESSION_TOKEN"),
        None,
        "environment",
    );
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(settings.required("AWS_REGION")?))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(http(settings)?)
        .timeout_config(timeouts())
        .retry_config(retries());
    config.set_endpoint_url(settings.optional("AWS_ENDPOINT_URL"));
    Ok(config.build())
}

/// A tool's: as every tool of AWS finds them, by environment or profile.
pub(crate) async fn of_tool(settings: &Settings) -> Result<SdkConfig, SettingError> {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http(settings)?)
        .timeout_config(timeouts())
        .retry_config(retries());
    Ok(config.load().await)
}

/// The connections. `AWS_CA_BUNDLE` names a file of roots that are believed in place of AWS's, for those behind a proxy that
/// looks into TLS.
fn http(settings: &Settings) -> Result<SharedHttpClient, SettingError> {
    let bundle = settings.read_with("AWS_CA_BUNDLE", |path| match path {
        "" => Ok(None),
        path => bundle(path).map(Some),
    })?;
    let roots = match bundle {
        Some(bundle) => TrustStore::empty().with_pem_certificate(bundle),
        None => ROOTS.iter().fold(TrustStore::empty(), |roots, root| roots.with_pem_certificate(*root)),
    };
    let mut builder =
        aws_smithy_http_client::Builder::new().tls_provider(tls::Provider::Rustls(CryptoMode::Ring));
    // Building it cannot fail; the library says so only in its type.
    if let Ok(context) = TlsContext::builder().with_trust_store(roots).build() {
        builder = builder.tls_context(context);
    }
    Ok(builder.build_https())
}

/// The roots of a file; the library would panic at a wrong one.
fn bundle(path: &str) -> Result<Vec<u8>, String> {
    let pem = std::fs::read(path).map_err(|error| error.to_string())?;
    anchors(&pem).map(|_| pem)
}

fn anchors(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("holds no certificate".to_owned()) } else { Ok(roots) }
}

fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(ATTEMPT)
        .operation_timeout(OPERATION)
        .build()
}

fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(ATTEMPTS)
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    const LAMBDA: [(&str, &str); 3] =
        [("AWS_REGION", "eu-west-1"), ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];

    #[test]
    fn the_roots_are_those_of_aws_as_browsers_trust_them() {
        let trusted = |name: &str| {
            let name = name.as_bytes();
            webpki_roots::TLS_SERVER_ROOTS
                .iter()
                .find(|root| root.subject.windows(name.len()).any(|window| window == name))
                .unwrap_or_else(|| panic!("browsers no longer trust a root of AWS"))
        };
        let names = [
            "Amazon Root CA 1",
            "Amazon Root CA 2",
            "Amazon Root CA 3",
            "Amazon Root CA 4",
            "Starfield Services Root Certificate Authority - G2",
        ];
        for (pem, name) in ROOTS.iter().zip(names) {
            assert_eq!(anchors(pem.as_bytes()).unwrap().roots, [trusted(name).clone()], "{name}");
        }
    }

    #[test]
    fn each_root_holds_for_two_more_years() {
        let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86_400;
        for pem in ROOTS {
            let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            // The second of the two UTCTimes that make the certificate's validity: YYMMDD...
            let times: Vec<&[u8]> =
                der.windows(15).filter(|field| field.starts_with(&[0x17, 13]) && field[14] == b'Z').collect();
            let part = |from| std::str::from_utf8(&times[1][from..from + 2]).unwrap().parse::<u64>().unwrap();
            let last_day = (30 + part(2)) * 365;
            assert!(
                last_day > today + 2 * 365,
                "a root of AWS ends in 20{}: look for its successor",
                part(2)
            );
        }
    }

    #[test]
    fn a_function_finds_all_it_needs_in_its_environment() {
        let config = of_function(&Settings::from_pairs(&LAMBDA)).unwrap();
        assert_eq!(config.region().map(Region::as_ref), Some("eu-west-1"));
        assert_eq!(config.endpoint_url(), None);
        for missing in 0..LAMBDA.len() {
            let mut pairs = LAMBDA.to_vec();
            let (name, _) = pairs.remove(missing);
            let refused = of_function(&Settings::from_pairs(&pairs)).unwrap_err();
            assert_eq!(refused.to_string(), format!("environment variable {name}: is not set"));
        }
    }

    #[test]
    fn a_bundle_that_cannot_be_believed_stops_the_start() {
        let wrong = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        for (path, believed) in [
            (concat!(env!("CARGO_MANIFEST_DIR"), "/src/roots/amazon-root-ca-1.pem"), true),
            (wrong, false),
            ("/nowhere.pem", false),
        ] {
            let pairs = [&LAMBDA[..], &[("AWS_CA_BUNDLE", path)]].concat();
            assert_eq!(of_function(&Settings::from_pairs(&pairs)).is_ok(), believed, "{path}");
        }
    }
}
