//! How a process goes on: a call of its function, and what it asks for.

#![expect(unsafe_code, reason = "processes are functions of another language")]

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    slice,
};

use warpline::LpId;
use warpline_processes::{
    Condition, Container, ContextOf, Env, Handle, ProcessKind, Resource, Resume, Store, Woken,
    rt::{CoroutineState, Pause},
};

use super::{
    Typed,
    context::{
        ACQUIRE, END, FILL, GET, HOLD, PASSIVATE, PUT, ProcessContext, RAISED, READY, TAKE, TRAVEL,
        WAIT,
    },
    state::{Class, Item, Process},
};
use crate::{
    base::{Base, words_of},
    failures::{Failure, Role},
};

/// A context for a call.
#[inline]
fn context_of<const N: usize, C: ContextOf<Typed<N>>>(
    env: &mut Env<'_, Typed<N>, C>,
) -> ProcessContext
where
    Process<N>: Class,
{
    let constants = &raw const env.world.0.constants;
    let place = (env.here(), env.now());
    let stream = words_of(env.rng());
    let (woken, cause) = match env.woken() {
        Woken::Done => (0, 0),
        Woken::TimedOut => (1, 0),
        Woken::Interrupted(cause) => (2, cause as i64),
        _ => (3, 0),
    };
    ProcessContext {
        base: Base::new(stream, place, constants),
        site: env.site.words(),
        time: 0.0,
        value: 0.0,
        number: 0,
        priority: 0,
        preempt: 0,
        woken,
        cause,
        item: env.__got().map_or(f64::NAN, Item::get),
        exception: 0,
        release: release::<N, C>,
        spawn: spawn::<N, C>,
        act: act::<N, C>,
        env: (&raw mut *env).cast::<c_void>(),
        panic: None,
    }
}

/// Spawns the first processes of a site.
pub(super) fn start<const N: usize, C: ContextOf<Typed<N>>>(env: &mut Env<'_, Typed<N>, C>)
where
    Process<N>: Class,
{
    let start = env.world.0.description.start;
    let mut context = context_of(env);
    // SAFETY: whoever made the world has promised that the function keeps to its argument, which
    // outlives the call (RESUME-A).
    let status = unsafe { start(&raw mut context) };
    let exception = context.exception;
    settle(context);
    if status == RAISED {
        raised(env, Role::Start, exception, Vec::new());
    }
}

/// Ends the call of a function: a panic that it caused goes on.
#[inline]
fn settle(context: ProcessContext) {
    if let Some(panic) = context.panic {
        resume_unwind(panic);
    }
}

impl<const N: usize> Resume<Typed<N>> for Process<N>
where
    Self: Class,
{
    #[inline]
    fn resume<C: ContextOf<Typed<N>>>(
        &mut self,
        env: &mut Env<'_, Typed<N>, C>,
    ) -> CoroutineState<Pause, ()> {
        let kind = usize::from(ProcessKind::kind(self));
        let resume = env.world.0.description.processes[kind].resume;
        let mut is_ready = false;
        loop {
            let mut context = context_of(env);
            if is_ready {
                context.woken = 0;
            }
            let mut words = self.words();
            // SAFETY: whoever made the world has promised that the function keeps to its arguments.
            // The words are here, and the context outlives the call (RESUME-A).
            let asked = unsafe { resume(words.as_mut_ptr(), &raw mut context) };
            self.set(&words);
            let ProcessContext { time, value, number, priority, preempt, exception, .. } = context;
            settle(context);
            match asked {
                RAISED => raised(env, Role::Resume, exception, self.to_vec()),
                END => return CoroutineState::Complete(()),
                READY => {
                    is_ready = true;
                    continue;
                }
                TRAVEL => {
                    let to = site(env, number);
                    return CoroutineState::Yielded(Pause::Travel(to, time));
                }
                _ => {}
            }
            let request = Request { time, value, number, priority, preempt };
            if waits(env, asked, &request) {
                return CoroutineState::Yielded(Pause::Wait);
            }
        }
    }
}

/// The details of what a process asks for.
struct Request {
    time: f64,
    value: f64,
    number: i64,
    priority: i64,
    preempt: i64,
}

/// Begins what a process asks for. Returns whether it has to wait.
#[inline]
fn waits<const N: usize, C: ContextOf<Typed<N>>>(
    env: &mut Env<'_, Typed<N>, C>,
    asked: i64,
    &Request { time, value, number, priority, preempt }: &Request,
) -> bool
where
    Process<N>: Class,
{
    if asked == HOLD {
        env.__hold(time, true);
        return true;
    }
    let (facility, name) = (number as u16, name_of(env, number));
    let priority = priority as i32;
    match asked {
        ACQUIRE => env.__acquire(Resource::new(facility, name), time, priority, preempt != 0, true),
        GET => env.__get(Store::new(facility, name), time, priority, true),
        PUT => env.__put(Store::new(facility, name), Item::new(value), time, priority, true),
        TAKE => env.__take(Container::new(facility, name), value, time, priority, true),
        FILL => env.__fill(Container::new(facility, name), value, time, priority, true),
        WAIT => {
            env.__wait(Condition::new(facility, name), time, priority, true);
            true
        }
        PASSIVATE => {
            env.__passivate(time, true);
            true
        }
        _ => {
            env.fail(format_args!("yields {asked}, which is no wait: write `yield env.hold(…)`"));
            true
        }
    }
}

/// The name of a facility.
#[inline]
fn name_of<const N: usize, C>(env: &Env<'_, Typed<N>, C>, number: i64) -> &'static &'static str
where
    Process<N>: Class,
{
    env.world.0.names.get(number as usize).copied().unwrap_or(&"nothing")
}

/// The site with this number.
#[inline]
fn site<const N: usize, C: ContextOf<Typed<N>>>(env: &mut Env<'_, Typed<N>, C>, number: i64) -> LpId
where
    Process<N>: Class,
{
    let Ok(number) = u32::try_from(number) else {
        env.fail(format_args!("travels to site {number}, but sites are numbered from 0 on"));
        return env.here();
    };
    LpId::new(number)
}

/// Ends the run: a function has raised an exception, which is kept.
#[cold]
fn raised<const N: usize, C: ContextOf<Typed<N>>>(
    env: &mut Env<'_, Typed<N>, C>,
    role: Role,
    exception: u64,
    state: Vec<u64>,
) where
    Process<N>: Class,
{
    env.world.0.failures.note(Failure {
        role,
        event: env.cx.event_key().copied(),
        lp: env.here().get(),
        now: env.now(),
        stream: env.rng().words(),
        note: exception,
        state,
        message: None,
    });
    env.fail(format_args!("raised an exception"));
}

/// Does something for a function, with the environment of its process; nothing after a panic.
#[inline]
fn with_env<const N: usize, C: ContextOf<Typed<N>>, T: Default>(
    context: *mut ProcessContext,
    act: impl FnOnce(&mut Env<'_, Typed<N>, C>) -> T,
) -> T
where
    Process<N>: Class,
{
    // SAFETY: a function calls this with its own context, which nobody else uses meanwhile.
    let context = unsafe { &mut *context };
    if context.panic.is_some() {
        return T::default();
    }
    // SAFETY: the context was made of the environment of this type, which is not used while the
    // function runs but here (RESUME-A).
    let env = unsafe { &mut *context.env.cast::<Env<'_, Typed<N>, C>>() };
    catch_unwind(AssertUnwindSafe(|| act(env))).unwrap_or_else(|panic| {
        context.panic = Some(panic);
        T::default()
    })
}

unsafe extern "C" fn release<const N: usize, C: ContextOf<Typed<N>>>(
    context: *mut ProcessContext,
    number: i64,
) where
    Process<N>: Class,
{
    with_env::<N, C, ()>(context, |env| {
        let name = name_of(env, number);
        env.release(Resource::new(number as u16, name));
    });
}

unsafe extern "C" fn spawn<const N: usize, C: ContextOf<Typed<N>>>(
    context: *mut ProcessContext,
    kind: i64,
    words: *const u64,
    count: i64,
    at: i64,
    delay: f64,
) -> i64
where
    Process<N>: Class,
{
    // SAFETY: the function has so many words there (RESUME-A).
    let words = unsafe { slice::from_raw_parts(words, count as usize) };
    with_env::<N, C, i64>(context, |env| {
        let process = Process::new(kind as u32, words);
        if at < 0 {
            return env.spawn(process).to_bits() as i64;
        }
        let to = site(env, at);
        env.spawn_at(to, delay, process);
        0
    })
}

/// What `act` does, by its number; the functions in `_env.py` have the same ones.
unsafe extern "C" fn act<const N: usize, C: ContextOf<Typed<N>>>(
    context: *mut ProcessContext,
    action: i64,
    number: i64,
    value: f64,
) -> i64
where
    Process<N>: Class,
{
    with_env::<N, C, i64>(context, |env| {
        let (facility, name) = (number as u16, name_of(env, number));
        let handle = Handle::from_bits(number as u64);
        match action {
            0 => env.put(Store::new(facility, name), Item::new(value)),
            1 => env.signal(Condition::new(facility, name)),
            2 => return env.signal_one(Condition::new(facility, name)).into(),
            3 => env.set_units(Resource::new(facility, name), value as u32),
            4 => return env.waiting(Resource::new(facility, name)).into(),
            5 => return env.in_use(Resource::new(facility, name)).into(),
            6 => return env.items(Store::new(facility, name)).into(),
            7 => return env.amount(Container::new(facility, name)).to_bits() as i64,
            8 => return env.activate(handle).into(),
            9 => return env.interrupt(handle, value.to_bits()).into(),
            10 => return env.is_here(handle).into(),
            11 => return env.me().to_bits() as i64,
            _ => return env.entity() as i64,
        }
        0
    })
}
