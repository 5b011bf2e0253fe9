//! A closed network of stations with one server each, as processes and by hand: the same draws and
//! the same sends. Customers go round for ever.

use serde::{Deserialize, Serialize};
use warpline::{
    Context, Counter, Level, LogicalProcess, LpId, Model, Saving, State, Statistics, Value,
    VirtualTime,
};
use warpline_processes::{ContextOf, Env, Facilities, World, facilities, process, processes};

facilities! { pub(crate) SERVER: Resource }

#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) stations: usize,
    /// At each station, at the beginning.
    pub(crate) customers: usize,
    pub(crate) service: f64,
    pub(crate) way: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Value, Statistics, Serialize, Deserialize)]
pub(crate) struct Served {
    pub(crate) served: Counter,
}

#[derive(Debug, Default, State, Serialize, Deserialize)]
pub(crate) struct Station {
    pub(crate) observed: Served,
}

#[process]
pub(crate) fn traveler(env: &mut Env<Network>) {
    loop {
        acquire!(SERVER);
        hold!(env.rng().exponential(env.world.service));
        env.release(SERVER);
        env.site.observed.served.increment();
        travel!(env.rng().lp(env.world.stations), env.world.way);
    }
}

processes! {
    pub(crate) enum Kind for Network { Traveler(traveler) }
}

impl World for Network {
    type Process = Kind;
    type Site = Station;
    type Item = ();
    type Observed = Served;

    fn name(&self) -> &str {
        "network"
    }

    fn sites(&self) -> usize {
        self.stations
    }

    fn site(&self, _: LpId) -> Station {
        Station::default()
    }

    fn observed(site: &mut Station) -> &mut Served {
        &mut site.observed
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.resource(SERVER, 1);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        for _ in 0..self.customers {
            env.spawn(traveler());
        }
    }

    fn lookahead(&self) -> Option<f64> {
        (self.way > 0.0).then_some(self.way)
    }
}

/// The same network by hand: customers are alike, so a station counts them.
pub(crate) struct ByHand(pub(crate) Network);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    Arrive,
    End,
}

#[derive(Debug, State)]
pub(crate) struct StationByHand {
    observed: Served,
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
    type Summary = (Served, [Level; 2]);
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, ByHand(network): &ByHand, cx: &mut impl Context<Message>) {
        for _ in 0..network.customers {
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
                self.observed.served.increment();
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
        (self.observed.until(end), [self.in_use.until(end), self.queue.until(end)])
    }
}

impl Model for ByHand {
    type Lp = StationByHand;
    type Output = (Served, [Level; 2]);

    fn name(&self) -> &str {
        "network"
    }

    fn lp_count(&self) -> usize {
        self.0.stations
    }

    fn make_lp(&self, _: LpId) -> StationByHand {
        StationByHand {
            observed: Served::default(),
            here: 0,
            in_use: Level::default(),
            queue: Level::default(),
        }
    }

    fn reduce(&self, all: impl Iterator<Item = (Served, [Level; 2])>) -> Self::Output {
        all.fold(Default::default(), |(mut observed, mut levels), (of, [in_use, queue])| {
            observed.merge(&of);
            levels[0].merge(&in_use);
            levels[1].merge(&queue);
            (observed, levels)
        })
    }

    fn lookahead(&self) -> Option<f64> {
        self.0.lookahead()
    }
}
