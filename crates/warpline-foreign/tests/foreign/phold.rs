//! PHOLD and a queue behind C functions, as another language writes them: every engine commits what
//! PHOLD in Rust does; states, messages and failures come back as they are.
//!
//! Mutations that turn this red: `stream` of the context points to a copy of the words; `call`
//! leaves no note; `grow` does not copy what was sent; `Boxed::of` drops the last word;
//! `read_words` reads one word less.

use warpline::{
    Conservative, Engine, ModelError, ReverseCheck, RunError, Sequential, Simulation, Speculative,
    Stream, TimeWarp,
    error::Fault,
    settings::{Instrumentation, StateSaving},
};
use warpline_foreign::{
    Description, Failure, Field, ForeignModel, Handler, HandlerContext, LAYOUT, Number, Role,
};
use warpline_models::{catalog::Parameters, phold::PholdParams};

use super::place;

const LPS: usize = 37;
const POPULATION: usize = 150;
const REMOTE: f64 = 0.37;
const LOOKAHEAD: f64 = 0.13;

/// A field of a context or of its constants, by its name.
fn field<T>(context: *mut HandlerContext, name: &str) -> *mut T {
    place(context.cast(), LAYOUT, name).cast()
}

fn read<T: Copy>(context: *mut HandlerContext, name: &str) -> T {
    // SAFETY: the layout says that there is such a field, of the type that its name has.
    unsafe { field::<T>(context, name).read() }
}

fn write<T>(context: *mut HandlerContext, name: &str, value: T) {
    // SAFETY: as in `read`.
    unsafe { field::<T>(context, name).write(value) };
}

type Edge = unsafe extern "C" fn(*mut HandlerContext, u64, f64) -> f64;

/// Draws from the stream of the LP.
fn stream<T>(context: *mut HandlerContext, draw: impl FnOnce(&Stream) -> T) -> T {
    let words: *mut [u64; 2] = read(context, "stream");
    // SAFETY: the engine lends the handler the two words of the stream.
    let words = unsafe { &mut *words };
    let mut stream = Stream::from_words(*words);
    let drawn = draw(&mut stream);
    *words = stream.words();
    drawn
}

fn exponential(context: *mut HandlerContext, mean: f64) -> f64 {
    let bits = stream(context, Stream::bits);
    let layer = bits & 0xff;
    let x = |layer: u64| {
        let table: *const f64 = read(context, "abscissas");
        // SAFETY: the table has 257 entries.
        unsafe { table.wrapping_add(layer as usize).read() }
    };
    let drawn = (bits >> 11) as f64 / (1_u64 << 53) as f64 * x(layer);
    if drawn < x(layer + 1) {
        return drawn * mean;
    }
    let edge: Edge = read(context, "edge");
    // SAFETY: the function is called with the context that it came with.
    mean * unsafe { edge(context, layer, drawn) }
}

fn send(context: *mut HandlerContext, to: i64, delay: f64, message: &[u64]) {
    let number: u64 = read(context, "len");
    if number == read::<u64>(context, "capacity") {
        let grow: unsafe extern "C" fn(*mut HandlerContext) = read(context, "grow");
        // SAFETY: the function is called with the context that it came with.
        unsafe { grow(context) };
    }
    let out: *mut u64 = read(context, "out");
    let event = [&[to as u64, delay.to_bits()], message].concat();
    let place = out.wrapping_add(number as usize * event.len());
    // SAFETY: there is room for one more event.
    unsafe { place.copy_from_nonoverlapping(event.as_ptr(), event.len()) };
    write(context, "len", number + 1);
}

/// A message whose words are the time at which it arrives: no two are the same.
fn due<const MESSAGE: usize>(context: *mut HandlerContext, delay: f64) -> [u64; MESSAGE] {
    [(read::<f64>(context, "now") + delay).to_bits(); MESSAGE]
}

/// The words of the state of a model, as many as it has.
fn state<'a>(state: *mut u64, words: usize) -> &'a mut [u64] {
    // SAFETY: the engine lends the handler so many words.
    unsafe { std::slice::from_raw_parts_mut(state, words) }
}

unsafe extern "C" fn start<const MESSAGE: usize>(
    _: *mut u64,
    _: *const u64,
    context: *mut HandlerContext,
) -> i32 {
    let (me, lps) = (read::<i64>(context, "me"), read::<i64>(context, "lp_count"));
    let more = (me as usize) < POPULATION % LPS;
    for _ in 0..POPULATION as i64 / lps + i64::from(more) {
        let delay = LOOKAHEAD + exponential(context, 1.0);
        send(context, me, delay, &due::<MESSAGE>(context, delay));
    }
    0
}

unsafe extern "C" fn handle<const STATE: usize, const MESSAGE: usize>(
    words: *mut u64,
    message: *const u64,
    context: *mut HandlerContext,
) -> i32 {
    let words = state(words, STATE);
    // SAFETY: the engine lends the handler so many words.
    let message = unsafe { std::slice::from_raw_parts(message, MESSAGE) };
    // SAFETY: the model has one parameter.
    let remote = unsafe { read::<*const f64>(context, "parameters").read() };
    words[0] += 1;
    let now: f64 = read(context, "now");
    if message.iter().any(|word| *word != now.to_bits()) || words[STATE - 1] == u64::MAX {
        return 1;
    }
    let mut to = read::<i64>(context, "me");
    if stream(context, |stream| stream.chance(remote)) {
        words[1] += 1;
        to = stream(context, |stream| stream.below(LPS as u64)) as i64;
    }
    let delay = LOOKAHEAD + exponential(context, 1.0);
    send(context, to, delay, &due::<MESSAGE>(context, delay));
    0
}

/// Undoes what `handle` does to the first two words, and leaves `REMOTES` undone.
unsafe extern "C" fn reverse<const REMOTES: u64>(
    words: *mut u64,
    _: *const u64,
    context: *mut HandlerContext,
) -> i32 {
    let words = state(words, 2);
    words[0] -= 1;
    words[1] -= u64::from(stream(context, |stream| stream.chance(REMOTE))) * (1 - REMOTES);
    0
}

fn phold<const STATE: usize, const MESSAGE: usize>() -> ForeignModel {
    model(start::<MESSAGE>, handle::<STATE, MESSAGE>, STATE, MESSAGE)
}

fn model(
    start: Handler,
    handle: Handler,
    state_words: usize,
    message_words: usize,
) -> ForeignModel {
    made(describe(start, handle, state_words, message_words))
}

fn made(description: Description) -> ForeignModel {
    // SAFETY: the handlers here keep to their arguments.
    unsafe { ForeignModel::new(description) }.expect("states for all LPs")
}

fn describe(
    start: Handler,
    handle: Handler,
    state_words: usize,
    message_words: usize,
) -> Description {
    Description {
        name: "foreign".to_owned(),
        start,
        handle,
        reverse: None,
        fields: vec![field_of("handled", 0), field_of("remote", 8)],
        lps: LPS,
        state_words,
        message_words,
        initial: vec![0; LPS * state_words],
        parameters: vec![REMOTE.to_bits()],
        identity: String::new(),
        lookahead: Some(LOOKAHEAD),
        links: None,
        statistics: Vec::new(),
        finish: None,
        is_repeatable: true,
    }
}

fn field_of(name: &str, offset: usize) -> Field {
    Field { name: name.to_owned(), kind: Number::U64, offset, length: None }
}

fn reversible(reverse: Handler) -> ForeignModel {
    made(Description { reverse: Some(reverse), ..describe(start::<3>, handle::<2, 3>, 2, 3) })
}

fn engines() -> Vec<Engine> {
    vec![
        Sequential::default().into(),
        Conservative { workers: 2, ..Conservative::default() }.into(),
        Speculative { workers: 2, ..Speculative::default() }.into(),
        TimeWarp {
            workers: 1,
            instrumentation: Instrumentation::AS_IF_MANY,
            ..TimeWarp::default()
        }
        .into(),
        TimeWarp { workers: 3, ..TimeWarp::default() }.into(),
    ]
}

/// The events and the digest of a run of PHOLD in Rust.
fn oracle() -> (u64, String) {
    let params = PholdParams {
        lps: LPS,
        population: POPULATION,
        remote: REMOTE,
        lookahead: LOOKAHEAD,
        ..PholdParams::default()
    };
    let phold = params.model().expect("the parameters are valid");
    let report = Simulation::new(phold).end(40.0).run().expect("sound");
    (report.committed_events, report.digest.to_string())
}

/// FOREIGN-A: what handlers do is rolled back with their LPs.
#[test]
fn phold_is_phold_in_every_engine() {
    let expected = oracle();
    for engine in engines() {
        let foreign = phold::<2, 0>();
        let context = format!("{engine:?}");
        let run = Simulation::new(foreign.clone().into_any()).engine(engine).end(40.0).run();
        let report = run.expect("sound");
        assert_eq!((report.committed_events, report.digest.to_string()), expected, "{context}");
        let states = foreign.take_states();
        assert_eq!(states.iter().step_by(2).sum::<u64>(), expected.0, "{context}");
        assert!(states.iter().skip(1).step_by(2).sum::<u64>() > expected.0 / 4, "{context}");
    }
}

/// Every size class, and ranks, which read and write messages.
#[test]
fn every_size_class_agrees() {
    fn run(foreign: &ForeignModel, engine: Engine, ranks: usize) -> (u64, String) {
        let mut run = Simulation::new(foreign.clone().into_any()).engine(engine).end(20.0);
        let report = if ranks > 1 { run.run_on_ranks(ranks) } else { run.run() }.expect("sound");
        (report.committed_events, report.digest.to_string())
    }
    for foreign in [phold::<2, 3>(), phold::<9, 0>(), phold::<9, 3>(), phold::<9, 70>()] {
        let expected = run(&foreign, Sequential::default().into(), 1);
        let states = foreign.take_states();
        for (engine, ranks) in [
            (TimeWarp { workers: 2, ..TimeWarp::default() }, 1),
            (TimeWarp { workers: 1, ..TimeWarp::default() }, 2),
        ] {
            assert_eq!(run(&foreign, engine.into(), ranks), expected, "{foreign:?}, {ranks}");
            assert_eq!(foreign.take_states(), states, "{foreign:?}, {ranks}");
        }
    }
}

unsafe extern "C" fn flood(words: *mut u64, _: *const u64, context: *mut HandlerContext) -> i32 {
    let words = state(words, 2);
    words[0] += 1;
    if words[0] == 1 && read::<i64>(context, "me") < 2 {
        // More than the outbox has room for at first.
        for number in 0..1000 {
            send(context, number % LPS as i64, LOOKAHEAD, &[number as u64; 3]);
        }
    }
    0
}

/// CALL-A, CALL-B: an outbox grows, and keeps what was sent before, also in the room that another
/// call has used.
#[test]
fn an_outbox_grows() {
    let foreign = model(start::<3>, flood, 2, 3);
    let report = Simulation::new(foreign.clone().into_any()).end(1e3).run().expect("sound");
    assert_eq!(report.committed_events, POPULATION as u64 + 2 * 1000);
}

unsafe extern "C" fn fail(
    words: *mut u64,
    message: *const u64,
    context: *mut HandlerContext,
) -> i32 {
    if read::<f64>(context, "now") > 5.0 && read::<i64>(context, "me") == 4 {
        state(words, 2)[0] = 0;
        return 1;
    }
    // SAFETY: these are the arguments of this handler.
    unsafe { handle::<2, 3>(words, message, context) }
}

/// FOREIGN-B: the failure that ends a run is the same in every engine, with what the handler had
/// before it.
#[test]
fn a_failure_can_be_repeated() {
    let mut first = None;
    for engine in engines() {
        let foreign = model(start::<3>, fail, 2, 3);
        let run = Simulation::new(foreign.clone().into_any()).engine(engine).end(40.0).run();
        let failure = failure_of(&foreign, run.expect_err("LP 4 fails"));
        assert_eq!(failure.role, Role::Handle);
        assert!(failure.lp == 4 && failure.now > 5.0 && failure.state[0] > 0, "{failure:?}");
        let message = [failure.now.to_bits(); 3];
        assert_eq!(failure.message.as_deref().map(|words| &words[..3]), Some(&message[..]));
        assert_eq!(*first.get_or_insert(failure.clone()), failure);
    }
}

fn failure_of(foreign: &ForeignModel, error: RunError) -> Failure {
    let RunError::Model(ModelError { place, .. }) = error else { panic!("{error}") };
    foreign.failures().and_then(|kept| kept.at(&place)).expect("a handler failed")
}

fn reversing() -> Engine {
    let saving = StateSaving::Reverse;
    let instrumentation = Instrumentation::IN_TURN;
    TimeWarp { workers: 3, instrumentation, saving, ..TimeWarp::default() }.into()
}

/// What reverse handlers undo is undone in the states of words, too.
#[test]
fn events_are_reversed() {
    let sound = reversible(reverse::<0>).into_any();
    let checked = Simulation::new(sound).engine(ReverseCheck).end(20.0).run().expect("sound");
    let foreign = reversible(reverse::<0>);
    let run = Simulation::new(foreign.into_any()).engine(reversing()).end(20.0).run();
    let report = run.expect("sound");
    assert!(report.totals.rolled_back_events > 0, "the test needs rollbacks");
    assert_eq!(report.digest, checked.digest);
    let irreversible = Simulation::new(phold::<2, 3>().into_any()).engine(ReverseCheck).run();
    assert!(irreversible.expect_err("refused").to_string().contains("no reverse handler"));
}

/// The reverse check knows the names of fields.
#[test]
fn what_is_not_restored_has_a_name() {
    let broken = reversible(reverse::<1>).into_any();
    let error = Simulation::new(broken).engine(ReverseCheck).end(20.0).run().expect_err("broken");
    let RunError::Model(ModelError { fault: Fault::NotReversed(found), .. }) = error else {
        panic!("{error}")
    };
    assert_eq!(found.what, "`remote`");
}

unsafe extern "C" fn no_way_back(
    words: *mut u64,
    _: *const u64,
    context: *mut HandlerContext,
) -> i32 {
    state(words, 2)[0] = 0;
    assert_eq!(read::<u64>(context, "note"), 11);
    1
}

unsafe extern "C" fn leave_a_note(
    words: *mut u64,
    message: *const u64,
    context: *mut HandlerContext,
) -> i32 {
    write(context, "note", 11_u64);
    // SAFETY: these are the arguments of this handler.
    unsafe { handle::<2, 3>(words, message, context) }
}

/// A reverse handler that fails ends the run, and has left what it had before it: the state after
/// the event, and the note of the handler.
#[test]
fn a_failed_reversal_can_be_repeated() {
    for engine in [reversing(), ReverseCheck.into()] {
        let describe = describe(start::<3>, leave_a_note, 2, 3);
        let foreign = made(Description { reverse: Some(no_way_back), ..describe });
        let run = Simulation::new(foreign.clone().into_any()).engine(engine).end(20.0).run();
        let error = run.expect_err("it fails");
        assert!(error.to_string().contains("its reverse handler failed: it returned 1"), "{error}");
        let failure = failure_of(&foreign, error);
        assert_eq!((failure.role, failure.note), (Role::Reverse, 11), "{failure:?}");
        assert!(failure.state[0] > 0, "{failure:?}");
    }
}
