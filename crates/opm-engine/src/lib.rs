//! The use cases of opm over a few ports.
