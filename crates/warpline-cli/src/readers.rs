//! The readers of the texts of files that the command is given: for the fuzz targets in `fuzz/`,
//! and not for programs. No file is opened but those that a text names.

use std::{cell::RefCell, ffi::OsString, sync::Arc};

use crate::{Application, configuration, failure::what_is_wrong, ranks};

/// The model whose flags a configuration file gives.
const MODEL: [&str; 3] = ["warpline", "run", "pcs"];

thread_local! {
    /// Making a parser takes longer than using it.
    static PARSER: RefCell<clap::Command> = RefCell::new(Application::warpline().command());
}

/// The words of the command line that a configuration file stands for, each with a value that its
/// flag takes.
///
/// # Errors
///
/// What is wrong with the text, or with an entry.
pub fn configuration(text: &str) -> Result<Vec<OsString>, String> {
    let [_, command, model] = MODEL.map(OsString::from);
    PARSER.with_borrow_mut(|parser| {
        let of_model = parser
            .find_subcommand(&command)
            .and_then(|command| command.find_subcommand(&model))
            .ok_or("there is no such model")?;
        let flags = configuration::long_flags(of_model);
        let entries = configuration::read_text(text, &flags, &model)?;
        let words = MODEL.map(OsString::from).into_iter().chain(entries.iter().cloned());
        match parser.try_get_matches_from_mut(words) {
            Ok(_) => Ok(entries),
            Err(error) => Err(what_is_wrong(&error)),
        }
    })
}

/// The worker of each LP, from the text of a file.
///
/// # Errors
///
/// The first line that is no number of a worker.
pub fn placement(text: &str) -> Result<Arc<[u32]>, String> {
    ranks::placement_table(text)
}

/// The weight of each LP, from the text of a file.
///
/// # Errors
///
/// The first line that is no weight.
pub fn weights(text: &str) -> Result<Arc<[u64]>, String> {
    ranks::weight_table(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fuzz targets reach the parsers of all values.
    #[test]
    fn readers_are_those_of_the_command() {
        let mut words = configuration("end = 60\nchannels = 8\n").unwrap();
        words.sort();
        assert_eq!(words, ["--channels=8", "--end=60"].map(OsString::from));
        let wrong = configuration("channels = \"ten\"").unwrap_err();
        assert_eq!(wrong, "`channels` is 'ten', but must be a whole number");
        assert!(configuration("chanels = 8").unwrap_err().contains("did you mean `channels`"));
        let long = configuration(&format!("{} = 8", "c".repeat(1 << 20))).unwrap_err();
        assert!(long.starts_with(&format!("unknown key `{}...`\n", "c".repeat(80))), "{long:.200}");
        assert_eq!(*placement("0\n1\n").unwrap(), [0, 1]);
        assert!(weights("10\n-1\n").unwrap_err().starts_with("line 2: "));
    }
}
