//! Whether states and messages are as they were when they are read from their bytes.
//!
//! Ranks and checkpoints have nothing but the bytes: what a wire leaves out is lost there, and
//! nothing says so. Messages cannot be compared; they are handled once as they were sent, and once
//! as they are read.

use warpline_core::{Discrepancy, Fault, LogicalProcess, Model, Wire, WireError};

use super::{Arrival, trial::Trial};
use crate::{
    event::Message,
    handling::{BoundedSink, Halt},
};

const OF_STATES: &str = "Model::state_wire";
const OF_MESSAGES: &str = "Model::wires";
/// What follows a value where there are several; the wire must leave it.
const BEHIND: [u8; 8] = [0xa5; 8];

impl<M: Model, K: BoundedSink<Message<M>>> Trial<'_, M, K> {
    /// If the state, which has this text, is another one when it is read from its bytes, the run
    /// ends with a fault.
    pub(super) fn expect_read_back(&mut self, text: &str, state: &M::Lp) {
        let Some(wire) = self.model.state_wire() else { return };
        match there_and_back(&wire, state) {
            Ok(read) => {
                let found = self.text(&read);
                let fault = |found| Fault::NotReadBack { wire: OF_STATES, found };
                self.expect_same(text, &found, fault);
            }
            Err(error) => self.fail(broken(OF_STATES, &error)),
        }
    }
}

/// The message of an event as it is read from its bytes, if messages become bytes.
pub(super) fn read_back<M: Model>(
    model: &M,
    event: &Arrival<'_, Message<M>>,
    sink: &mut impl BoundedSink<Message<M>>,
) -> Option<Message<M>> {
    let wire = model.wires()?.message;
    let read = there_and_back(&wire, event.message)
        .unwrap_or_else(|error| sink.halt(Halt::Fault(broken(OF_MESSAGES, &error))));
    let contents = |message| {
        let (identity, fingerprint) =
            (M::Lp::identity(model, message), M::Lp::fingerprint(model, message));
        format!("{identity:x?} and {fingerprint:x}")
    };
    let [first, second] = [contents(event.message), contents(&read)];
    if first != second {
        let what = "its identity and fingerprint".to_owned();
        let found = Box::new(Discrepancy { what, first, second });
        sink.halt(Halt::Fault(Fault::NotReadBack { wire: OF_MESSAGES, found }));
    }
    Some(read)
}

fn there_and_back<T>(wire: &Wire<T>, value: &T) -> Result<T, WireError> {
    let mut bytes = Vec::new();
    wire.write(value, &mut bytes);
    let written = bytes.len();
    bytes.extend(BEHIND);
    let mut rest = &bytes[..];
    let value = wire.read(&mut rest)?;
    debug_assert!(rest.len() <= bytes.len(), "WIRE-A: bytes that were not there are left");
    match bytes.len() - rest.len() {
        read if read == written => Ok(value),
        read => Err(WireError::new(format!("it reads {read} of {written} bytes"))),
    }
}

fn broken(wire: &'static str, error: &WireError) -> Fault {
    Fault::BrokenWire { wire, what: error.to_string() }
}
