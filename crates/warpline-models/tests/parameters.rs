//! The text of a model's parameters, which ranks compare before a run, is the same at all times:
//! for every model, whatever files the run writes, and whichever rank writes them.
//!
//! A `Traffic` that shows all its fields turns both tests red: its recorder holds two mutexes.

use std::path::Path;

use clap::Command;
use warpline::{Simulation, TimeWarp};
use warpline_models::{
    ALL,
    catalog::{Entry, ModelParams, Prepared, RunSetup},
};

/// The model's default parameters, but for the files: all that a run can write.
fn writing(model: &dyn Entry, folder: &Path) -> ModelParams {
    let mut words = vec![model.name().to_owned()];
    for parameter in model.parameters() {
        // A picture of waveforms needs the feature `plots`.
        if parameter.range.contains("that can be written") && parameter.name != "plot" {
            let file = folder.join(format!("{}.svg", parameter.name));
            words.push(format!("--{}={}", parameter.name, file.display()));
        }
    }
    let matches = model.augment(Command::new(model.name())).get_matches_from(words);
    model.parse(&matches).expect("good parameters")
}

fn prepared(params: &ModelParams, records: bool) -> Prepared {
    let setup = RunSetup { seed: 1, end: None, records, pictures: true, resumes: false };
    params.prepare(&setup).expect("a sound model")
}

#[test]
fn a_run_does_not_change_the_parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    for model in ALL {
        let params = writing(*model, folder.path());
        let Prepared { model: made, end, recording, .. } = prepared(&params, true);
        assert_eq!(recording.is_some(), params.files().has_outputs(), "{}", model.name());
        let mut simulation = Simulation::new(made).end(end / 200.0);
        let before = format!("{simulation:?}");
        assert!(before.contains(model.name()));
        simulation.run().expect("a sound run");
        let after = format!("{simulation:?}");
        // Not `assert_eq`: the texts have megabytes.
        assert!(before == after, "{}: a run changed the parameters", model.name());

        let mut on_ranks = simulation.engine(TimeWarp { workers: 1, ..TimeWarp::default() });
        on_ranks.run_on_ranks(2).expect("ranks that find the same model");
    }
}

#[test]
fn the_rank_that_writes_the_files_has_the_same_parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    for model in ALL {
        let params = writing(*model, folder.path());
        let [here, elsewhere] =
            [true, false].map(|records| format!("{:?}", prepared(&params, records).model));
        assert!(here == elsewhere, "{}: ranks find different models", model.name());
    }
}

/// Red if `flags` has those that are as without a flag: traffic refuses the step of a series that
/// is not written.
#[test]
fn flags_are_read_back() {
    for model in ALL {
        let read = |words: Vec<String>| {
            let name = [model.name().to_owned()];
            let command = model.augment(Command::new(model.name()));
            let matches = command.try_get_matches_from(name.into_iter().chain(words))?;
            model.parse(&matches)
        };
        let none = read(Vec::new()).expect("no parameter is asked for");
        assert_eq!(none.flags(), [""; 0], "{}", model.name());
        for workload in model.workloads() {
            let flags = workload.params.flags();
            let params = read(flags.clone()).unwrap_or_else(|error| panic!("{flags:?}: {error}"));
            assert_eq!(params, workload.params, "{flags:?}");
        }
    }
}
