//! The model of the figures `hogging` and `flooding`: PHOLD beside a source that takes all buffers
//! it can get.
//!
//! [`Workload`](crate::Workload) has it beside the models that Warpline ships.

use warpline::{Context, Figure as Number, LogicalProcess, LpId, Model, Results, VirtualTime};

/// PHOLD beside a source, which is LP 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Hogging {
    /// LPs of PHOLD.
    pub lps: u32,
    /// Events of PHOLD for each of them.
    pub events_per_lp: u32,
    /// Events that the source sends in each unit of virtual time, if it sends any; nothing is sent
    /// in return.
    pub stream: u32,
    /// Where they go.
    pub receiver: Receiver,
}

/// Where the events of the source go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// To LPs of PHOLD, drawn at random.
    All,
    /// To a sink, LP 1. The source is on the first worker, the sink on the second one, and PHOLD on
    /// the others, of which there must be some.
    Sink,
}

/// An LP, which counts its events.
#[derive(Clone, Debug, Default)]
pub struct Process(u64);

/// An event, with as many bytes as in figures 3 and 4.
#[derive(Clone, Debug)]
pub enum Message {
    /// The source sends its next event.
    Tick,
    /// An event of the source, which is only counted.
    Stream([u8; 63]),
    /// An event of PHOLD, which is sent on.
    Hold([u8; 63]),
}

/// The number of events that were handled.
#[derive(Clone, Copy, Debug)]
pub struct Handled(u64);

impl Results for Handled {
    fn figures(&self) -> Vec<Number> {
        let value = self.0 as f64;
        vec![Number::new("handled", value, "events", "events handled")]
    }
}

impl Model for Hogging {
    type Lp = Process;
    type Output = Handled;

    fn name(&self) -> &'static str {
        "hogging"
    }

    fn lp_count(&self) -> usize {
        self.lps as usize + self.first() as usize
    }

    fn make_lp(&self, _: LpId) -> Process {
        Process::default()
    }

    fn placement(&self, id: LpId, workers: usize) -> usize {
        let (lp, first) = (id.index(), self.first() as usize);
        match self.receiver {
            Receiver::All => lp * workers / self.lp_count(),
            Receiver::Sink if lp < first => lp,
            Receiver::Sink => first + lp % (workers - first),
        }
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> Handled {
        Handled(handled.sum())
    }
}

impl Hogging {
    /// The first LP of PHOLD.
    const fn first(&self) -> u32 {
        match self.receiver {
            Receiver::All => 1,
            Receiver::Sink => 2,
        }
    }

    fn random_lp(&self, cx: &mut impl Context<Message>) -> LpId {
        LpId::new(self.first() + cx.rng().below(self.lps.into()) as u32)
    }

    /// When the source sends again.
    fn send_tick(&self, cx: &mut impl Context<Message>) {
        if self.stream > 0 {
            cx.send(cx.me(), 1.0 / f64::from(self.stream), Message::Tick);
        }
    }
}

impl LogicalProcess for Process {
    type Model = Hogging;
    type Message = Message;
    type Summary = u64;

    fn start(&mut self, hogging: &Hogging, cx: &mut impl Context<Message>) {
        let me = cx.me();
        if me.get() == 0 {
            return hogging.send_tick(cx);
        }
        if me.get() < hogging.first() {
            return;
        }
        for _ in 0..hogging.events_per_lp {
            let delay = cx.rng().exponential(1.0);
            cx.send(me, delay, Message::Hold([me.get() as u8; 63]));
        }
    }

    fn handle(&mut self, hogging: &Hogging, message: &Message, cx: &mut impl Context<Message>) {
        self.0 += 1;
        match message {
            Message::Tick => {
                let to = match hogging.receiver {
                    Receiver::All => hogging.random_lp(cx),
                    Receiver::Sink => LpId::new(1),
                };
                let delay = cx.rng().exponential(1.0);
                cx.send(to, delay, Message::Stream([1; 63]));
                hogging.send_tick(cx);
            }
            Message::Stream(_) => {}
            Message::Hold(bytes) => {
                let to = hogging.random_lp(cx);
                let delay = cx.rng().exponential(1.0);
                cx.send(to, delay, Message::Hold(*bytes));
            }
        }
    }

    fn finish(self, _: &Hogging, _: VirtualTime) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use warpline::{Only, Simulation, TimeWarp};

    use super::*;

    /// The source sends its stream, and the number of PHOLD's events stays the same.
    #[test]
    fn the_source_sends_its_stream() {
        let receiver = Receiver::All;
        let model = Hogging { lps: 8, events_per_lp: 2, stream: 128, receiver };
        let model = Only::<TimeWarp, _>::new(model);
        let simulation = Simulation::new(model).engine(TimeWarp::default());
        let report = simulation.end(50.0).run().expect("it runs");
        let (ticks, held) = (50.0 * 128.0, 50.0 * 16.0);
        // One tick, one event of the stream; the last ones are still on their way.
        let expected = 2.0 * ticks + held;
        let handled = report.output.figures()[0].value;
        assert!((handled / expected - 1.0).abs() < 0.05, "{handled} events, expected {expected}");
        assert_eq!(handled, report.committed_events as f64);
    }
}
