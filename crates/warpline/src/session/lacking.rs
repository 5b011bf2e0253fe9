//! What a model does not say yet and has to say for checkpoints, branches and ranks: all of it at
//! once, and what to add.

use std::fmt;

use warpline_core::Model;

/// What a model may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    Wires,
    StateWire,
    Adapt,
}

impl Lack {
    /// Of the wires that states and messages need, those that the model lacks.
    pub(crate) fn of<M: Model>(model: &M) -> Vec<Self> {
        let wires = model.wires().is_none().then_some(Self::Wires);
        let state = model.state_wire().is_none().then_some(Self::StateWire);
        wires.into_iter().chain(state).collect()
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wires => {
                "how messages and summaries become bytes (`Model::wires`): add `fn wires(&self) -> \
                 Option<Wires<Self>> { Some(Wires::serde()) }`, and derive serde's `Serialize` and \
                 `Deserialize` for both"
            }
            Self::StateWire => {
                "how a state becomes bytes (`Model::state_wire`): add `fn state_wire(&self) -> \
                 Option<Wire<Self::Lp>> { Some(Wire::serde()) }`, and derive the same for states"
            }
            Self::Adapt => {
                "how a state goes on with other parameters (`Model::adapt`): add `fn adapt(&self, \
                 _: &Self, _: LpId, _: &mut Self::Lp) -> Result<(), String> { Ok(()) }` if no \
                 state has a copy of a parameter; else give the state the new ones there"
            }
        })
    }
}

/// What a model lacks, a line for each, behind what that keeps it from.
pub(crate) fn text(what: &str, lacks: &[Lack]) -> String {
    debug_assert!(!lacks.is_empty(), "{what}, and lacks nothing");
    let lines: String = lacks.iter().map(|lack| format!("\n  - {lack}")).collect();
    format!("{what}: it does not say{lines}")
}
