//! A Kubernetes API server that lives inside the binary.
