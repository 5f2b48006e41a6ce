//! Who is writing the record right now.

use super::Extra;
use super::field::stored_fields;

/// The lock, as stored. How old it is comes from the server's clocks, never from `since`.
#[derive(Debug, Clone, PartialEq)]
pub struct Lock {
    /// Tells this holding of the lock from every other.
    pub id: String,
    /// Who holds it, in words.
    pub holder: String,
    /// The host it runs on.
    pub host: String,
    /// Its process id there.
    pub pid: u64,
    /// The boot of that machine during which the process id means something.
    pub boot: Option<String>,
    /// The pid namespace in which the process id means something.
    pub pid_namespace: Option<String>,
    /// What it is doing, such as `apply`.
    pub command: String,
    /// Since when.
    pub since: String,
    /// Goes up with every renewal, because an identical write would move no time.
    pub beat: u64,
    /// Fields that this version does not know.
    pub extra: Extra,
}

stored_fields!(Lock {
    id: nonempty("id"),
    holder: field("holder"),
    host: field("host"),
    pid: field("pid"),
    boot: field("boot"),
    pid_namespace: field("pidNamespace"),
    command: field("command"),
    since: field("since"),
    beat: field("beat"),
    extra: rest(),
});
