//! An open queueing network: a model with three kinds of logical processes.
//!
//! ```text
//! source --> queue --> queue --> ... --> sink
//! ```
//!
//! Jobs enter at the source, wait at each queue for one of its servers, and leave at the sink. Each
//! of these is a logical process: it has a state, which changes only when an event arrives. The
//! three kinds are the variants of one enum, and all their events the variants of another.
//!
//! Run it with `cargo run --release --example queueing_network`; the test `queueing` compares its
//! results with queueing theory.

use std::collections::VecDeque;

use warpline::{
    Context, Figure, LogicalProcess, LpId, Model, Results, RunError, Simulation, VirtualTime,
};

/// The model, which all LPs can read. All times are in seconds.
pub(crate) struct Network {
    /// Mean of the exponential time between two jobs.
    pub(crate) mean_interarrival: f64,
    /// The queues, in the order in which every job passes them.
    pub(crate) stations: Vec<Station>,
    /// Nothing is measured before this time, because the network starts empty.
    pub(crate) warm_up: f64,
}

/// A queue: first come, first served, by the first server that is free.
pub(crate) struct Station {
    pub(crate) servers: usize,
    /// Mean of the exponential service time.
    pub(crate) mean_service: f64,
}

/// The messages of the network. `entered` is when the job left the source.
pub(crate) enum Event {
    /// To the source, from itself: the next job is due.
    NextJob,
    /// To a queue or the sink: a job is here.
    Arrival { entered: f64 },
    /// To a queue, from itself: a server has finished a job.
    ServiceEnd { entered: f64 },
}

/// A logical process. Number 0 is the source, then come the queues, and the last one is the sink,
/// so each LP sends its jobs to the LP with the next number.
#[derive(Clone, Debug)]
pub(crate) enum Process {
    Source,
    Queue(Queue),
    Sink { jobs: u64, sojourns: f64 },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// Its place in `Network::stations`.
    station: usize,
    /// The jobs that wait: when each entered the network, and when it arrived here.
    waiting: VecDeque<(f64, f64)>,
    busy: usize,
    /// The number of jobs that have been given to a server, and the sum of their waiting times.
    served: u64,
    waits: f64,
    /// Integrals over time, up to `measured`, of the jobs that are here and of the busy servers.
    jobs_integral: f64,
    busy_integral: f64,
    measured: f64,
}

impl Model for Network {
    type Lp = Process;
    type Output = NetworkResults;

    fn name(&self) -> &'static str {
        "queueing-network"
    }

    fn lp_count(&self) -> usize {
        self.stations.len() + 2
    }

    fn make_lp(&self, id: LpId) -> Process {
        match id.index().checked_sub(1) {
            None => Process::Source,
            Some(station) if station < self.stations.len() => {
                Process::Queue(Queue { station, measured: self.warm_up, ..Queue::default() })
            }
            Some(_) => Process::Sink { jobs: 0, sojourns: 0.0 },
        }
    }

    /// Makes the results from the final states of all LPs.
    fn reduce(&self, processes: impl Iterator<Item = Process>) -> NetworkResults {
        let mut results = NetworkResults::default();
        for process in processes {
            match process {
                Process::Source => {}
                Process::Queue(queue) => {
                    let time = queue.measured - self.warm_up;
                    let servers = self.stations[queue.station].servers as f64;
                    results.waiting_times.push(queue.waits / queue.served as f64);
                    results.utilizations.push(queue.busy_integral / (time * servers));
                    results.jobs += queue.jobs_integral / time;
                }
                Process::Sink { jobs, sojourns } => results.sojourn_time = sojourns / jobs as f64,
            }
        }
        results
    }
}

impl LogicalProcess for Process {
    type Model = Network;
    type Message = Event;
    type Summary = Self;

    /// Called for each LP at time zero: the source sends itself the first event.
    fn start(&mut self, network: &Network, cx: &mut impl Context<Event>) {
        if let Self::Source = self {
            let delay = cx.rng().exponential(network.mean_interarrival);
            cx.send(cx.me(), delay, Event::NextJob);
        }
    }

    /// Called for every event, in the order of time.
    fn handle(&mut self, network: &Network, event: &Event, cx: &mut impl Context<Event>) {
        let now = cx.now().get();
        let next = LpId::new(cx.me().get() + 1);
        match (self, event) {
            (Self::Source, Event::NextJob) => {
                cx.send(next, 0.0, Event::Arrival { entered: now });
                let delay = cx.rng().exponential(network.mean_interarrival);
                cx.send(cx.me(), delay, Event::NextJob);
            }
            (Self::Queue(queue), &Event::Arrival { entered }) => {
                queue.measure(now);
                queue.waiting.push_back((entered, now));
                queue.serve(network, cx);
            }
            (Self::Queue(queue), &Event::ServiceEnd { entered }) => {
                queue.measure(now);
                queue.busy -= 1;
                cx.send(next, 0.0, Event::Arrival { entered });
                queue.serve(network, cx);
            }
            (Self::Sink { jobs, sojourns }, &Event::Arrival { entered }) => {
                if entered >= network.warm_up {
                    *jobs += 1;
                    *sojourns += now - entered;
                }
            }
            _ => cx.fail(format_args!("got an event that is meant for another kind of process")),
        }
    }

    /// Called for each LP at the end; `reduce` gets the returned values.
    fn finish(mut self, _: &Network, end: VirtualTime) -> Self {
        if let Self::Queue(queue) = &mut self {
            queue.measure(end.get());
        }
        self
    }
}

impl Queue {
    /// Updates the integrals to `now`, before the state changes.
    fn measure(&mut self, now: f64) {
        let elapsed = (now - self.measured).max(0.0);
        self.jobs_integral += elapsed * (self.busy + self.waiting.len()) as f64;
        self.busy_integral += elapsed * self.busy as f64;
        self.measured = self.measured.max(now);
    }

    /// Gives the next job to a server, if there is a job and a free server.
    fn serve(&mut self, network: &Network, cx: &mut impl Context<Event>) {
        let Station { servers, mean_service } = network.stations[self.station];
        if self.busy < servers
            && let Some((entered, arrived)) = self.waiting.pop_front()
        {
            self.busy += 1;
            if arrived >= network.warm_up {
                self.served += 1;
                self.waits += cx.now().get() - arrived;
            }
            let delay = cx.rng().exponential(mean_service);
            cx.send(cx.me(), delay, Event::ServiceEnd { entered });
        }
    }
}

#[derive(Default)]
pub(crate) struct NetworkResults {
    /// One per queue.
    pub(crate) waiting_times: Vec<f64>,
    /// One per queue.
    pub(crate) utilizations: Vec<f64>,
    pub(crate) jobs: f64,
    pub(crate) sojourn_time: f64,
}

impl Results for NetworkResults {
    fn figures(&self) -> Vec<Figure> {
        let figure = Figure::new;
        let (wait, busy) = (self.waiting_times[0], self.utilizations[0]);
        vec![
            figure("waiting_time", wait, "s", "mean wait at the first queue"),
            figure("utilization", busy, "", "busy servers of the first queue, by all"),
            figure("jobs_in_network", self.jobs, "jobs", "mean number of jobs in all queues"),
            figure("sojourn_time", self.sojourn_time, "s", "mean time from source to sink"),
        ]
    }
}

#[expect(clippy::print_stdout, reason = "an example shows its results on the terminal")]
fn main() -> Result<(), RunError> {
    let stations =
        vec![Station { servers: 1, mean_service: 4.0 }, Station { servers: 5, mean_service: 20.0 }];
    let network = Network { mean_interarrival: 5.0, stations, warm_up: 10_000.0 };
    let report = Simulation::new(network).seed(1).end(1_000_000.0).run()?;

    println!("{} events, digest {}", report.committed_events, report.digest);
    for Figure { name, value, unit, meaning, .. } in report.output.figures() {
        println!("{name:16} {value:8.3} {unit:5} {meaning}");
    }
    Ok(())
}
