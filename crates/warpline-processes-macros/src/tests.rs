//! What the macro writes.
