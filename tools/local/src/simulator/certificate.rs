//! A certificate authority for one run, and the receiver's certificate, which it signs.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

/// The server's TLS configuration, and the authority's certificate that clients must trust.
pub(super) struct Identity {
    pub(super) tls: TlsAcceptor,
    pub(super) ca_pem: String,
}

/// Creates an authority and a certificate for `localhost`, 127.0.0.1 and ::1.
pub(super) fn fresh_identity() -> io::Result<Identity> {
    let authority_key = KeyPair::generate().map_err(io::Error::other)?;
    let authority_params = authority();
    let authority = authority_params.self_signed(&authority_key).map_err(io::Error::other)?;
    let issuer = Issuer::new(authority_params, authority_key);

    let key = KeyPair::generate().map_err(io::Error::other)?;
    let certificate = loopback_server()?.signed_by(&key, &issuer).map_err(io::Error::other)?;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Identity { tls: TlsAcceptor::from(Arc::new(config)), ca_pem: authority.pem() })
}

fn authority() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, "Local stack receiver CA");
    params
}

fn loopback_server() -> io::Result<CertificateParams> {
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![
        SanType::DnsName("localhost".try_into().map_err(io::Error::other)?),
        SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        SanType::IpAddress(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params.distinguished_name.push(DnType::CommonName, "Local stack receiver");
    Ok(params)
}
