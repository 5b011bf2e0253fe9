//! A panic of a model is reported once, in the error of the run, and not by the panic hook of the
//! process. Every other panic still reaches the hook.
//!
//! Hooks belong to the whole process, so this is the only test of its file.

#[expect(dead_code, reason = "shared with other tests; not every kind of mistake is made here")]
mod scripted;

use std::{
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use scripted::{Act, Payload, Stage, scripted, simulation, two_events};

/// How often the hook that was there before any run was called.
static CALLS: AtomicUsize = AtomicUsize::new(0);

fn take_calls() -> usize {
    CALLS.swap(0, Ordering::SeqCst)
}

fn panic_outside_of_any_run() {
    let caught = panic::catch_unwind(|| panic!("unrelated"));
    assert!(caught.is_err());
}

#[test]
fn only_the_panics_of_models_are_kept_from_the_hook() {
    panic::set_hook(Box::new(|_| {
        CALLS.fetch_add(1, Ordering::SeqCst);
    }));

    let in_handler = || {
        scripted(|lp, n| match (lp, n) {
            (0, 0) => vec![Act::Send(1, 1.0)],
            (1, 1) => vec![Act::Panic(Payload::Text)],
            _ => vec![],
        })
    };
    let in_handler_failed = simulation(in_handler()).run().is_err();
    let mut others_failed = true;
    for stage in [Stage::MakeLp, Stage::Start, Stage::Finish, Stage::Reduce] {
        others_failed &= simulation(two_events().breaks(stage, Payload::Str)).run().is_err();
    }
    let replications_failed = simulation(in_handler()).replicate(8, |_| {}).is_err();
    let from_models = take_calls();

    panic_outside_of_any_run();
    let after_failed_runs = take_calls();
    let sound = simulation(two_events()).run().is_ok();
    panic_outside_of_any_run();
    let after_a_sound_run = take_calls();

    // A panic on another thread while this one is inside a model's code.
    let elsewhere = scripted(|_, _| {
        let other = thread::spawn(panic_outside_of_any_run);
        other.join().map_or_else(|_| vec![Act::Fail], |()| vec![])
    });
    let undisturbed = simulation(elsewhere).run().is_ok();
    let from_other_threads = take_calls();

    // An observer is not part of the model, so its panic goes to the caller.
    let observed = || {
        let endless = scripted(|_, _| vec![Act::Send(0, 1.0)]);
        simulation(endless).observe(|_| panic!("the observer broke")).run()
    };
    let escaped = panic::catch_unwind(observed).is_err();
    let from_the_observer = take_calls();

    // Failed assertions print through the hook that is restored here.
    drop(panic::take_hook());
    assert!(in_handler_failed && others_failed && replications_failed);
    assert_eq!(from_models, 0, "panics of models were printed");
    assert_eq!((sound, after_failed_runs, after_a_sound_run), (true, 1, 1));
    assert_eq!((undisturbed, from_other_threads), (true, 4), "one for each process");
    assert_eq!((escaped, from_the_observer), (true, 1));
}
