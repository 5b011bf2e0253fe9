//! The twin in Rust of `crates/warpline-python/examples/queues.py`. The tests of the Python package
//! expect the same digest of the model in Python.

use std::collections::VecDeque;

use warpline::{
    Context, LogicalProcess, LpId, Model, Only, Sequential, Simulation, VirtualTime, digest::mix,
};

/// The most jobs that a server holds.
const CAPACITY: usize = 8;

/// The model: the mean time of a service, and where jobs go from each server, if they do not go
/// anywhere.
struct Queues {
    service: f64,
    route: Vec<LpId>,
}

/// A server: the jobs that are here, by the time at which they came, and what it has done.
#[derive(Clone, Debug, Default)]
struct Server {
    came: VecDeque<f64>,
    served: u64,
    spent: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Arrive,
    Depart,
}

struct Job {
    kind: Kind,
    hops: i32,
}

impl Queues {
    fn onward(&self, cx: &mut impl Context<Job>) -> LpId {
        let lps = cx.lp_count() as u64;
        let anywhere = cx.rng().chance(0.5);
        if anywhere { LpId::new(cx.rng().below(lps) as u32) } else { self.route[cx.me().index()] }
    }
}

impl LogicalProcess for Server {
    type Model = Queues;
    type Message = Job;
    type Summary = (u64, f64);

    fn start(&mut self, _: &Queues, cx: &mut impl Context<Job>) {
        for _ in 0..4 {
            let delay = cx.rng().exponential(1.0);
            cx.send(cx.me(), delay, Job { kind: Kind::Arrive, hops: 0 });
        }
    }

    fn handle(&mut self, model: &Queues, job: &Job, cx: &mut impl Context<Job>) {
        let onward = Job { kind: Kind::Arrive, hops: job.hops + 1 };
        match job.kind {
            Kind::Arrive if self.came.len() == CAPACITY => {
                let to = model.onward(cx);
                let delay = cx.rng().exponential(1.0);
                cx.send(to, delay, onward);
                return;
            }
            Kind::Arrive => self.came.push_back(cx.now().get()),
            Kind::Depart => {
                let came = self.came.pop_front().expect("a job that departs is here");
                self.spent += cx.now().get() - came;
                self.served += 1;
                let to = model.onward(cx);
                cx.send(to, 0.0, onward);
            }
        }
        if self.came.len() == 1 || (job.kind == Kind::Depart && !self.came.is_empty()) {
            let delay = cx.rng().exponential(model.service);
            cx.send(cx.me(), delay, Job { kind: Kind::Depart, hops: 0 });
        }
    }

    /// As the fields lie in a word of the model in Python.
    fn fingerprint(_: &Self::Model, job: &Job) -> u64 {
        mix(0, job.kind as u64 | u64::from(job.hops as u32) << 32)
    }

    fn finish(self, _: &Queues, _: VirtualTime) -> (u64, f64) {
        (self.served, self.spent)
    }
}

impl Model for Queues {
    type Lp = Server;
    type Output = (u64, f64);

    fn name(&self) -> &str {
        "queues"
    }

    fn lp_count(&self) -> usize {
        self.route.len()
    }

    fn make_lp(&self, _: LpId) -> Server {
        Server::default()
    }

    fn reduce(&self, servers: impl Iterator<Item = (u64, f64)>) -> (u64, f64) {
        servers.fold((0, 0.0), |(served, spent), server| (served + server.0, spent + server.1))
    }
}

/// Known values, which the test of the Python package has, too.
#[test]
fn queues_have_a_digest() {
    let route = (0..16).map(|lp| LpId::new((lp + 15) % 16)).collect();
    let queues = Queues { service: 0.2, route };
    let report =
        Simulation::new(Only::<Sequential, _>::new(queues)).end(40.0).run().expect("sound");
    let (served, spent) = report.output;
    let mean_time = spent / served as f64;
    assert!((mean_time - 0.789_396_575).abs() < 1e-9, "{mean_time}");
    assert_eq!((served, report.digest.to_string().as_str()), (2832, "c83f86729c5d5e18"));
}
