//! Keys and certificates: one authority per control plane or relay, short-lived like them.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// A certificate and its key, both as PEM.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A certificate authority. Its certificate follows from its key, so the key is all one keeps.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: String,
}

impl Authority {
    pub(crate) fn generate() -> Self {
        Self::from_key(KeyPair::generate().expect("the system gives random numbers"))
    }

    /// The authority of a control plane that another process started.
    pub(crate) fn from_pem(certificate: String, key: &str) -> Self {
        let key = KeyPair::from_pem(key).expect("the control plane wrote this key");
        Self {
            issuer: Issuer::new(authority_params(), key),
            certificate,
        }
    }

    fn from_key(key: KeyPair) -> Self {
        let certificate = authority_params()
            .self_signed(&key)
            .expect("a valid request")
            .pem();
        Self {
            issuer: Issuer::new(authority_params(), key),
            certificate,
        }
    }

    pub(crate) fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate for a server on loopback.
    pub(crate) fn server(&self) -> Identity {
        let names = [
            "127.0.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default.svc",
            "10.0.0.1",
        ];
        let mut params = CertificateParams::new(names.map(str::to_owned)).expect("valid names");
        params
            .distinguished_name
            .push(DnType::CommonName, "opm-testkit server");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// A certificate for a server of this name alone.
    pub(crate) fn server_named(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a valid name");
        params
            .distinguished_name
            .push(DnType::CommonName, "opm-testkit service");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// A certificate that the API server takes for `user`, in `group` if one is given.
    pub(crate) fn client(&self, user: &str, group: Option<&str>) -> Identity {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            params
                .distinguished_name
                .push(DnType::OrganizationName, group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("the system gives random numbers");
        let certificate = params
            .signed_by(&key, &self.issuer)
            .expect("a valid request");
        Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "opm-testkit authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// A key that signs tokens of service accounts: the private and the public half.
pub(crate) fn signing_key() -> (String, String) {
    let key = KeyPair::generate().expect("the system gives random numbers");
    (key.serialize_pem(), key.public_key_pem())
}
