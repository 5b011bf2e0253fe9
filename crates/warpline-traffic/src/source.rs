//! Where a network comes from, as `--network` names it.
//!
//! Read by the command line and by configuration files.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    error::FileError,
    formats::{self, FORMATS},
    grid, italy,
    network::Network,
};

const GRID: &str = "expected `grid:WIDTHxHEIGHT` with at most a million junctions";
/// The most junctions of a generated grid.
const GRID_MAX: u32 = 1_000_000;

/// A network, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Source {
    /// The motorways of mainland Italy.
    #[default]
    Italy,
    /// A generated grid of `width` by `height` junctions.
    Grid {
        /// Junctions from west to east.
        width: u32,
        /// Junctions from south to north.
        height: u32,
    },
    /// A file.
    File(PathBuf),
}

impl Source {
    /// Reads or makes the network.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(&self) -> Result<Network, FileError> {
        match self {
            Self::Italy => Ok(italy::network()),
            Self::Grid { width, height } => Ok(grid::network(*width, *height)),
            Self::File(path) => formats::read(path),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Italy => f.write_str("italy"),
            Self::Grid { width, height } => write!(f, "grid:{width}x{height}"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "italy" {
            return Ok(Self::Italy);
        }
        let Some(size) = text.strip_prefix("grid:") else {
            let path = PathBuf::from(text);
            if formats::is_known(&path) {
                return Ok(Self::File(path));
            }
            return Err(format!("expected `italy`, `grid:WIDTHxHEIGHT`, or a file {FORMATS}"));
        };
        let (width, height) = size.split_once('x').ok_or(GRID)?;
        let side = |digits: &str| digits.parse::<u32>().map_err(|_| GRID);
        let (width, height) = (side(width)?, side(height)?);
        let junctions = width.checked_mul(height).unwrap_or(0);
        if !(1..=GRID_MAX).contains(&junctions) {
            return Err(GRID.to_owned());
        }
        Ok(Self::Grid { width, height })
    }
}

impl TryFrom<String> for Source {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}
