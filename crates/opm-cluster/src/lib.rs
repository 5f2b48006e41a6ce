//! The engine's ports over a Kubernetes API.
