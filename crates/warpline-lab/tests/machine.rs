//! The machine against hand-made tables, laws, a plain reference model, and what the buffer paper
//! claims.

#[path = "machine/claims.rs"]
mod claims;
#[path = "machine/laws.rs"]
mod laws;
#[path = "machine/reference.rs"]
mod reference;
#[path = "machine/tables.rs"]
mod tables;
#[path = "machine/traffic.rs"]
mod traffic;
