//! Calls of the laboratory from another language, as [`call`](crate::call) has those of models.

use std::path::PathBuf;

use clap::FromArgMatches;
use serde_json::{Value, json};

use crate::{
    Application,
    args::PRINTING_SWITCHES,
    call::CallError,
    configuration::{flags_of, unknown},
    failure::Failure,
    lab::{self, LabArgs},
    progress::Caller,
    shipped::lab_command,
};

impl Application {
    /// Measures a figure of the laboratory; the settings are the flags of `warpline lab`. Returns
    /// the paths of the files it has written, none if the caller has ended it.
    ///
    /// # Errors
    ///
    /// What the command would have ended with.
    pub fn call_lab(
        figure: &str,
        settings: toml::Table,
        caller: Caller<'_>,
    ) -> Result<Vec<PathBuf>, CallError> {
        let measure = || {
            let known: Vec<_> = lab::all().map(|(name, _)| name.to_owned()).collect();
            if !known.iter().any(|name| name == figure) {
                return Err(Failure::Configuration(unknown("figure", figure, &known)));
            }
            let command = lab_command();
            let mut words = flags_of(&command, settings, &PRINTING_SWITCHES)?;
            words.push(figure.into());
            let args = LabArgs::from_arg_matches(&command.try_get_matches_from(words)?)?;
            lab::called(&args, caller)
        };
        Ok(measure()?)
    }

    /// The figures of the laboratory: a list of objects.
    #[must_use]
    pub fn figures() -> Value {
        lab::all().map(|(figure, title)| json!({ "figure": figure, "title": title })).collect()
    }
}
