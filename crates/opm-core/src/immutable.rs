//! Fields that cannot be changed in place: those that are known before an apply, and how to
//! tell from the server's answer that one of them was the reason for a refusal.
//!
//! The first only warns. The second decides whether an object may be deleted and created anew,
//! so it must never take an ordinary refusal for one of these.

mod refusal;
mod table;

pub use refusal::immutable_fields;
pub use table::changed_immutable_fields;
pub(crate) use table::is_immutable;
