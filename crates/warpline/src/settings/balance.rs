//! Whether a run follows the load of its workers.

use std::{fmt, str::FromStr};

use crate::ConfigError;

/// Whether LPs move to other workers while the run goes on, and whether fewer workers take over
/// where that is faster: an engine setting. It never changes what is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Balance {
    /// LPs move if one worker has more to do than the others for a while, and fewer workers run
    /// the model while that is faster: because another program takes a core, or because the model
    /// has too few events.
    #[default]
    On,
    /// LPs stay with the worker that they were placed on, and all workers work, unless they are far
    /// more than there are cores.
    Off,
    /// LPs move all the time, each with this probability at each move, wherever chance sends them.
    /// For tests.
    Randomly(f64),
}

impl Balance {
    /// Refuses settings that no run can have.
    pub(crate) fn validate(self) -> Result<(), ConfigError> {
        let Self::Randomly(share) = self else { return Ok(()) };
        let is_allowed = (0.0..=1.0).contains(&share);
        ConfigError::check(is_allowed, "balance", self, "on, off, or randomly: and 0 to 1")
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.pad("on"),
            Self::Off => f.pad("off"),
            Self::Randomly(share) => write!(f, "randomly:{share}"),
        }
    }
}

impl FromStr for Balance {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let share = || text.strip_prefix("randomly:")?.parse().ok();
        let balance = match text {
            "on" => Some(Self::On),
            "off" => Some(Self::Off),
            _ => share().map(Self::Randomly),
        };
        let allowed = "on, off, or randomly:P with P from 0 to 1";
        let balance = balance.ok_or_else(|| ConfigError::new("balance", text, allowed))?;
        balance.validate()?;
        Ok(balance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for balance in [Balance::On, Balance::Off, Balance::Randomly(0.25)] {
            assert_eq!(balance.to_string().parse::<Balance>().unwrap(), balance);
        }
        for wrong in ["", "randomly", "randomly:2", "randomly:NaN", "ON"] {
            let error = wrong.parse::<Balance>().unwrap_err().to_string();
            assert!(error.contains("randomly:P") || error.contains("0 to 1"), "{error}");
        }
    }
}
