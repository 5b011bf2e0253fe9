//! Models whose parameters have names of the command's own flags, or one name between two models.
//!
//! A typed flag could be meant for either. The parser of command lines takes that for a mistake in
//! the program, and ends with a message about types; here it is told what to rename. Called by
//! [`Application`](crate::Application) before a command line is parsed.

use clap::{Arg, Args, Command};
use warpline_models::catalog::Entry;

use crate::{
    args::{BranchArgs, RunArgs, SweepArgs},
    failure::Failure,
};

/// Refuses models that cannot be on one command line with its flags.
pub(crate) fn refuse(models: &[&'static dyn Entry]) -> Result<(), Failure> {
    let of_command = [
        RunArgs::augment_args(Command::new("run")),
        SweepArgs::augment_args(Command::new("sweep")),
        BranchArgs::augment_args(Command::new("branch")),
    ];
    for (place, model) in models.iter().enumerate() {
        let name = model.name();
        if models[..place].iter().any(|other| other.name() == name) {
            return Err(Failure::Configuration(format!(
                "two models are named `{name}`: give one of them another `Parameters::MODEL`"
            )));
        }
        let own = model.augment(Command::new(name));
        for command in &of_command {
            let clashes =
                |own: &&Arg| is_help(own) || command.get_arguments().any(|arg| are_one(own, arg));
            if let Some(own) = own.get_arguments().find(clashes) {
                return Err(Failure::Configuration(format!(
                    "the model `{name}` has a parameter `{}`, which is a flag of `{}` as well: \
                     give the field of its `Parameters` another name",
                    typed(own),
                    command.get_name()
                )));
            }
        }
    }
    Ok(())
}

/// A parameter as it is typed.
fn typed(own: &Arg) -> String {
    own.get_long().map_or_else(|| own.get_id().to_string(), |long| format!("--{long}"))
}

/// Each command has this one without saying so.
fn is_help(own: &Arg) -> bool {
    own.get_id() == "help" || own.get_long() == Some("help") || own.get_short() == Some('h')
}

/// Whether what is typed for one of them could be meant for the other.
fn are_one(own: &Arg, other: &Arg) -> bool {
    let has = |long: &str| {
        other.get_long() == Some(long)
            || other.get_all_aliases().is_some_and(|aliases| aliases.contains(&long))
    };
    own.get_id() == other.get_id()
        || own.get_long().is_some_and(has)
        || own.get_short().is_some_and(|short| other.get_short() == Some(short))
}

#[cfg(test)]
mod tests {
    use warpline::{AnyModel, ConfigError, Figure};
    use warpline_models::catalog::{Parameters, entry};

    use super::*;

    macro_rules! model {
        ($name:ident, $($flag:tt)*) => {
            #[derive(Clone, Debug, clap::Args, serde::Serialize)]
            struct $name {
                #[arg(long, default_value_t = 1)]
                $($flag)*: u32,
            }

            impl Parameters for $name {
                const MODEL: &'static str = "gossip";
                const ABOUT: &'static str = "News";
                const END: f64 = 1.0;

                fn model(self) -> Result<AnyModel, ConfigError> {
                    unreachable!("nothing runs")
                }

                fn results() -> Vec<Figure> {
                    Vec::new()
                }
            }
        };
    }

    model!(Fine, peers);
    model!(Memory, memory);
    model!(Vary, vary);
    model!(
        Renamed,
        #[arg(id = "remembers", long = "memory")]
        remembers
    );
    model!(
        Short,
        #[arg(short = 'h')]
        hours
    );

    /// (Seen: the parser's own message, `Mismatch between definition and access of memory`.)
    #[test]
    fn names_of_flags_are_refused() {
        let refused = |models: &[&'static dyn Entry]| match refuse(models) {
            Ok(()) => String::new(),
            Err(Failure::Configuration(text)) => text,
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(refused(&[entry::<Fine>()]), "");
        for (model, flag) in [
            (entry::<Memory>(), "`--memory`, which is a flag of `run`"),
            (entry::<Vary>(), "`--vary`, which is a flag of `sweep`"),
            (entry::<Renamed>(), "`--memory`, which is a flag of `run`"),
            (entry::<Short>(), "`--hours`, which is a flag of `run`"),
        ] {
            let text = refused(&[model]);
            assert!(text.contains(flag) && text.contains("`gossip`"), "{text}");
        }
        assert!(refused(&[entry::<Fine>(), entry::<Fine>()]).contains("two models"));
    }

    #[cfg(feature = "shipped")]
    #[test]
    fn shipped_models_have_names_of_their_own() {
        assert!(refuse(warpline_models::ALL).is_ok());
    }
}
