//! x
pub mod yaml;
