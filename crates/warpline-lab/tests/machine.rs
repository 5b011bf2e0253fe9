//! The machine against hand-made tables, laws, a plain reference model, and the claims of the
//! buffer paper.

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
