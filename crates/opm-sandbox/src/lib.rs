//! A Kubernetes API server that lives inside the binary.
//!
//! [`Sandbox`] is a tower service that `kube::Client` calls in-process; [`serve`] puts the same
//! service on a loopback port and writes a kubeconfig. State is one SQLite file that several
//! processes may share. It answers what `opm` sends exactly as the real server does; what it does
//! not do is listed in [`GAPS`]. [`ApiTypes`] says beforehand what it would refuse. It knows nothing of the other crates.

mod apply;
mod chance;
mod discovery;
mod gaps;
#[cfg(test)]
mod growth;
mod kinds;
mod life;
mod limits;
mod sandbox;
mod status;
mod store;
mod verbs;
mod vet;
mod wire;
mod work;

pub use chance::TimeSource;
pub use gaps::GAPS;
pub use sandbox::{Sandbox, Summary};
pub use store::{FILE_NAME, Options, StoreError};
pub use vet::{ApiTypes, KubernetesVersion, KubernetesVersionError, TypeCheck, TypeFinding};
pub use wire::body::ResponseBody;
pub use wire::serve::{ServeError, ServeOptions, Server, serve, serve_with};
