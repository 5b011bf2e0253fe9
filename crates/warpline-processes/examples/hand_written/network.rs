//! The closed network of the example `closed_network` by hand, event by event: the same draws and
//! the same sends.

use warpline::{
    Context, Counter, Level, LogicalProcess, LpId, Model, Saving, State, Statistics, VirtualTime,
};
use warpline_processes::World;

use crate::closed_network::Network;

/// The network by hand: customers are alike, so a station counts them.
pub(crate) struct ByHand(pub(crate) Network);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    Arrive,
    End,
}

#[derive(Debug, State)]
pub(crate) struct StationByHand {
    served: Counter,
    here: u32,
    in_use: Level,
    queue: Level,
}

impl StationByHand {
    fn arrive(&mut self, network: &Network, cx: &mut impl Context<Message>) {
        self.here += 1;
        let now = cx.now();
        if self.here == 1 {
            self.in_use.set(1.0, now);
            cx.send(cx.me(), cx.rng().exponential(network.service), Message::End);
        } else {
            self.queue.set(f64::from(self.here - 1), now);
        }
    }
}

impl LogicalProcess for StationByHand {
    type Model = ByHand;
    type Message = Message;
    type Summary = (Counter, [Level; 2]);
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, ByHand(network): &ByHand, cx: &mut impl Context<Message>) {
        for _ in (cx.me().index()..network.customers).step_by(network.stations) {
            self.arrive(network, cx);
        }
    }

    fn handle(
        &mut self,
        ByHand(network): &ByHand,
        message: &Message,
        cx: &mut impl Context<Message>,
    ) {
        match message {
            Message::Arrive => self.arrive(network, cx),
            Message::End => {
                let now = cx.now();
                self.served.increment();
                self.here -= 1;
                cx.send(cx.rng().lp(network.stations), network.way, Message::Arrive);
                if self.here > 0 {
                    self.queue.set(f64::from(self.here - 1), now);
                    cx.send(cx.me(), cx.rng().exponential(network.service), Message::End);
                } else {
                    self.in_use.set(0.0, now);
                }
            }
        }
    }

    fn finish(self, _: &ByHand, end: VirtualTime) -> Self::Summary {
        (self.served.until(end), [self.in_use.until(end), self.queue.until(end)])
    }
}

impl Model for ByHand {
    type Lp = StationByHand;
    type Output = (Counter, [Level; 2]);

    fn name(&self) -> &str {
        "closed-network"
    }

    fn lp_count(&self) -> usize {
        self.0.stations
    }

    fn make_lp(&self, _: LpId) -> StationByHand {
        StationByHand {
            served: Counter::default(),
            here: 0,
            in_use: Level::default(),
            queue: Level::default(),
        }
    }

    fn reduce(&self, all: impl Iterator<Item = (Counter, [Level; 2])>) -> Self::Output {
        all.fold(Default::default(), |(mut served, mut levels), (of, [in_use, queue])| {
            served.merge(&of);
            levels[0].merge(&in_use);
            levels[1].merge(&queue);
            (served, levels)
        })
    }

    fn lookahead(&self) -> Option<f64> {
        World::lookahead(&self.0)
    }
}
