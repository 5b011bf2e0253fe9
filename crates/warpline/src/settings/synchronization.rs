//! The conservative algorithms, by name.

use crate::names::names;

names! {
    /// How the workers of the conservative engine know what they may handle.
    #[non_exhaustive]
    pub enum Synchronization as "synchronization", default Auto;
    /// Windows for a model that declares a [`lookahead`](warpline_core::Model::lookahead) above 0,
    /// null messages for one that declares its [`links`](warpline_core::Model::links).
    Auto = "auto";
    /// All workers handle the same window of virtual time, and then meet at a barrier. Needs a
    /// lookahead above 0.
    Windows = "windows";
    /// Each LP goes on as far as its links allow (Chandy, Misra and Bryant), and tells the
    /// receivers of its events how far it has come. Needs links.
    NullMessages = "null-messages";
    /// The same, but an LP tells a receiver only when the receiver waits and asks for it.
    NullMessagesOnDemand = "null-messages-on-demand";
    /// The same, but LPs do not tell each other at all: when all of them wait, the engine finds the
    /// first event of all.
    DeadlockRecovery = "deadlock-recovery";
}
