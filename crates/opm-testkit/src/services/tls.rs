//! A TLS server with a certificate for whatever name it is asked for.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use crate::keys::Authority;

/// Accepts connections for any name, with certificates of this authority.
pub(super) fn acceptor(authority: Authority) -> TlsAcceptor {
    let names = AnyName {
        authority,
        made: Mutex::default(),
    };
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(names));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

struct AnyName {
    authority: Authority,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl fmt::Debug for AnyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyName").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for AnyName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // Who checks nothing asks for no name, only for an address.
        let name = hello.server_name().unwrap_or("service").to_owned();
        let mut made = self.made.lock().expect("nobody panics with it");
        let key = made.entry(name).or_insert_with_key(|name| self.make(name));
        Some(Arc::clone(key))
    }
}

impl AnyName {
    fn make(&self, name: &str) -> Arc<CertifiedKey> {
        let identity = self.authority.server_named(name);
        let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("our own PEM");
        let key = any_supported_type(&key).expect("our own key");
        let chain = vec![certificate.expect("our own PEM")];
        Arc::new(CertifiedKey::new(chain, key))
    }
}
