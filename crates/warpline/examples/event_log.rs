//! A log that is written while the model runs, by I/O events.
//!
//! Customers go from desk to desk. A handler must not write a line itself, because an engine that
//! speculates may undo it and run it again. So a desk sends the line as a *non-blocking I/O event*:
//! the engine passes it to [`Desk::output`] once nothing can undo it any more, in the order of
//! virtual time over all desks. The log is the same on every engine, line by line.
//!
//! The first desk also moves the *time barrier*, with *blocking I/O events*: no desk runs ahead by
//! more than a window of virtual time. With a barrier that moves when all desks have reached it,
//! this is Bounded Time Warp (S. Turner and M. Xu, *Performance Evaluation of the Bounded Time Warp
//! Algorithm*, Workshop on Parallel and Distributed Simulation, 1992). It limits how much is undone
//! and changes no line of the log.
//!
//! Run it with `cargo run --release --example event_log -- --engine timewarp --workers 2 FILE`,
//! in which every argument is optional; the test `event_log` checks the log.

use std::{
    env,
    error::Error,
    fs::File,
    io::{self, BufWriter, Write},
    sync::Mutex,
};

use warpline::{
    Conservative, Context, Engine, EventKey, Io, IoContext, LogicalProcess, LpId, Model,
    Simulation, TimeWarp, VirtualTime,
    settings::{EngineKind, FlowControl},
};

/// The model. All times are in minutes.
pub(crate) struct Office {
    pub(crate) desks: usize,
    pub(crate) customers: u32,
    /// Mean of the exponential time that a customer spends at a desk.
    pub(crate) mean_service: f64,
    /// How far a desk may run ahead of global virtual time.
    pub(crate) window: f64,
    /// The destination of the lines.
    pub(crate) log: Mutex<Box<dyn Write + Send>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// An ordinary event: a customer arrives from another desk.
    Arrival { customer: u32 },
    /// A non-blocking I/O event: a line for the log.
    Line { customer: u32, visits: u32 },
    /// A blocking I/O event: the run has reached the end of a window.
    WindowEnd,
}

#[derive(Clone, Debug)]
pub(crate) struct Desk {
    visits: u32,
}

impl Model for Office {
    type Lp = Desk;
    /// The number of visits to all desks.
    type Output = u64;

    fn name(&self) -> &'static str {
        "event-log"
    }

    fn lp_count(&self) -> usize {
        self.desks
    }

    fn make_lp(&self, _: LpId) -> Desk {
        Desk { visits: 0 }
    }

    /// Called at the end, when all lines are written.
    fn reduce(&self, visits: impl Iterator<Item = u32>) -> u64 {
        let flushed = self.log.lock().expect("nobody panics with the log in hand").flush();
        flushed.unwrap_or_else(|error| panic!("the log cannot be written: {error}"));
        visits.map(u64::from).sum()
    }
}

impl LogicalProcess for Desk {
    type Model = Office;
    type Message = Message;
    type Summary = u32;

    /// The customers start at the first desk.
    fn start(&mut self, office: &Office, cx: &mut impl Context<Message>) {
        if cx.me() == LpId::new(0) {
            for customer in 0..office.customers {
                cx.send(cx.me(), 0.0, Message::Arrival { customer });
            }
            cx.send_io(Io::Blocking, cx.me(), office.window, Message::WindowEnd);
        }
    }

    /// Called for ordinary events. It may be undone, so it writes nothing.
    fn handle(&mut self, office: &Office, message: &Message, cx: &mut impl Context<Message>) {
        let Message::Arrival { customer } = *message else {
            return cx.fail(format_args!("got {message:?} as an ordinary event"));
        };
        self.visits += 1;
        cx.send_io(Io::NonBlocking, cx.me(), 0.0, Message::Line { customer, visits: self.visits });
        let next = cx.rng().lp(office.desks);
        let service = cx.rng().exponential(office.mean_service);
        cx.send(next, service, Message::Arrival { customer });
    }

    /// Called for blocking I/O events, which are never undone. Sends the next one.
    fn handle_io(&mut self, office: &Office, _: &Message, cx: &mut impl IoContext<Message>) {
        let end = VirtualTime::new(cx.now().get() + office.window).ok();
        cx.set_time_barrier(end);
        cx.send_io(Io::Blocking, cx.me(), office.window, Message::WindowEnd);
    }

    /// Called for non-blocking I/O events, one at a time: the line is final.
    fn output(office: &Office, desk: LpId, event: &EventKey, message: &Message) {
        if let Message::Line { customer, visits } = message {
            let mut log = office.log.lock().expect("nobody panics with the log in hand");
            let written = writeln!(
                log,
                "{:10.3} desk {desk:2}: customer {customer:3} is visitor {visits}",
                event.time_value(),
            );
            drop(log);
            // A panic here ends the run with an error, as in every handler.
            written.unwrap_or_else(|error| panic!("the log cannot be written: {error}"));
        }
    }

    fn finish(self, _: &Office, _: VirtualTime) -> u32 {
        self.visits
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut engine, mut workers) = (EngineKind::default(), 1);
    let mut log: Box<dyn Write + Send> = Box::new(io::stdout());
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--engine" => engine = value()?.parse()?,
            "--workers" => workers = value()?.parse()?,
            file => log = Box::new(File::create(file)?),
        }
    }
    let log = Mutex::new(Box::new(BufWriter::new(log)) as Box<dyn Write + Send>);
    let office = Office { desks: 8, customers: 20, mean_service: 4.0, window: 10.0, log };
    let first_barrier = VirtualTime::new(office.window)?;
    let engine = match engine {
        EngineKind::TimeWarp => {
            let time_barrier = Some(first_barrier);
            let flow_control = FlowControl { time_barrier, ..FlowControl::default() };
            TimeWarp { workers, flow_control, ..TimeWarp::default() }.into()
        }
        EngineKind::Conservative => Conservative { workers, ..Conservative::default() }.into(),
        other => Engine::from(other),
    };
    let report = Simulation::new(office).engine(engine).end(60.0).run()?;
    eprintln!("{} visits on {}, digest {}", report.output, report.engine, report.digest);
    Ok(())
}
