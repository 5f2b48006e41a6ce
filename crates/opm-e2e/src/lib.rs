//! The scenarios, on every kind of cluster.
