//! The models by name: what the command line, the benchmarks and the laboratory choose from.

use serde::Serialize;
use warpline::{ConfigError, Model, Results};

use crate::{
    hypercube::{Hypercube, HypercubeParams},
    pcs::{Pcs, PcsParams},
    phold::{PAYLOAD_BYTES_MAX, Phold, PholdParams},
};

/// A model with its parameters. It is serialised as those.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ModelParams {
    /// [`Phold`].
    Phold(PholdParams),
    /// [`Hypercube`].
    Hypercube(HypercubeParams),
    /// [`Pcs`].
    Pcs(PcsParams),
}

/// Something to be done with a model whose type is only known at run time.
pub trait WithModel {
    /// What comes of it.
    type Output;
    /// Does it with the model.
    fn with<M: Model<Output: Results + 'static>>(self, model: M) -> Self::Output;
}

impl ModelParams {
    /// The model's name, as the command line has it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Phold(_) => "phold",
            Self::Hypercube(_) => "hypercube",
            Self::Pcs(_) => "pcs",
        }
    }

    /// Makes the model and does something with it.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range.
    pub fn dispatch<W: WithModel>(self, action: W) -> Result<W::Output, ConfigError> {
        Ok(match self {
            Self::Phold(params) => match params.payload {
                0 => action.with(Phold::<0>::new(params)?),
                1..=64 => action.with(Phold::<64>::new(params)?),
                65..=1024 => action.with(Phold::<1024>::new(params)?),
                1025..=8192 => action.with(Phold::<8192>::new(params)?),
                _ => action.with(Phold::<PAYLOAD_BYTES_MAX>::new(params)?),
            },
            Self::Hypercube(params) => action.with(Hypercube::new(params)?),
            Self::Pcs(params) => action.with(Pcs::new(params)?),
        })
    }
}
