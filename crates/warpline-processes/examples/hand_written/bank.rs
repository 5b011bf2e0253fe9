//! Branches of a bank, as processes and by hand, event by event: the same draws and the same sends.
//! Customers who wait too long leave, or walk to the next branch.

use serde::{Deserialize, Serialize};
use warpline::{
    Context, Counter, Level, LogicalProcess, LpId, Model, Saving, State, Statistics, Tally,
    TrackedDeque, Value, VirtualTime,
};
use warpline_processes::{ContextOf, Env, Facilities, World, facilities, process, processes};

facilities! { pub(crate) TELLER: Resource }

#[derive(Clone, Debug)]
pub(crate) struct Bank {
    pub(crate) branches: usize,
    pub(crate) tellers: u32,
    pub(crate) interarrival: f64,
    pub(crate) service: f64,
    pub(crate) patience: f64,
    /// The probability that somebody who gave up walks to the next branch, and how long that takes.
    pub(crate) walk: f64,
    pub(crate) way: f64,
}

/// What a branch observes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Value, Statistics, Serialize, Deserialize)]
pub(crate) struct Branch {
    /// Time in the queue
    pub(crate) waits: Tally,
    /// Time in the branch, of those who were served
    pub(crate) sojourns: Tally,
    /// Customers who gave up
    pub(crate) reneged: Counter,
}

#[derive(Debug, Default, State, Serialize, Deserialize)]
pub(crate) struct Site {
    pub(crate) observed: Branch,
}

#[process]
pub(crate) fn arrivals(env: &mut Env<Bank>) {
    loop {
        hold!(env.rng().exponential(env.world.interarrival));
        let patience = env.rng().exponential(env.world.patience);
        env.spawn(customer(patience));
    }
}

#[process]
pub(crate) fn customer(env: &mut Env<Bank>, patience: f64) {
    loop {
        let arrived: f64 = env.now();
        if acquire!(TELLER, timeout = patience) {
            let wait = env.now() - arrived;
            env.site.observed.waits.add(wait);
            hold!(env.rng().exponential(env.world.service));
            env.release(TELLER);
            let sojourn = env.now() - arrived;
            env.site.observed.sojourns.add(sojourn);
            return;
        }
        env.site.observed.reneged.increment();
        if !env.rng().chance(env.world.walk) {
            return;
        }
        travel!(env.world.next(env.here()), env.world.way);
    }
}

processes! {
    pub(crate) enum Kind for Bank { Arrivals(arrivals), Customer(customer) }
}

impl Bank {
    pub(crate) fn next(&self, here: LpId) -> LpId {
        LpId::from_index((here.index() + 1) % self.branches)
    }
}

impl World for Bank {
    type Process = Kind;
    type Site = Site;
    type Item = ();
    type Observed = Branch;

    fn name(&self) -> &str {
        "bank"
    }

    fn sites(&self) -> usize {
        self.branches
    }

    fn site(&self, _: LpId) -> Site {
        Site::default()
    }

    fn observed(site: &mut Site) -> &mut Branch {
        &mut site.observed
    }

    fn facilities(&self, _: LpId, to: &mut Facilities) {
        to.resource(TELLER, self.tellers);
    }

    fn start(&self, env: &mut Env<'_, Self, impl ContextOf<Self>>) {
        env.spawn(arrivals());
    }

    fn lookahead(&self) -> Option<f64> {
        (self.way > 0.0).then_some(self.way)
    }
}

/// The same bank by hand.
pub(crate) struct ByHand(pub(crate) Bank);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    Next,
    Arrive { patience: f64 },
    End { arrived: f64 },
    Timeout { id: u64 },
}

#[derive(Clone, Copy, Debug, Value)]
struct Waiting {
    id: u64,
    arrived: f64,
    patience: f64,
}

#[derive(Debug, State)]
pub(crate) struct BranchByHand {
    observed: Branch,
    waiting: TrackedDeque<Waiting>,
    ids: u64,
    busy: u32,
    in_use: Level,
    queue: Level,
}

impl BranchByHand {
    fn serve(&mut self, Bank { service, .. }: &Bank, arrived: f64, cx: &mut impl Context<Message>) {
        self.observed.waits.add(cx.now().get() - arrived);
        cx.send(cx.me(), cx.rng().exponential(*service), Message::End { arrived });
    }

    fn arrive(&mut self, bank: &Bank, patience: f64, cx: &mut impl Context<Message>) {
        let now = cx.now();
        if self.busy < bank.tellers {
            self.busy += 1;
            self.in_use.set(f64::from(self.busy), now);
            self.serve(bank, now.get(), cx);
        } else {
            self.ids += 1;
            self.waiting.push_back(Waiting { id: self.ids, arrived: now.get(), patience }, cx);
            self.queue.set(self.waiting.len() as f64, now);
            cx.send(cx.me(), patience, Message::Timeout { id: self.ids });
        }
    }
}

impl LogicalProcess for BranchByHand {
    type Model = ByHand;
    type Message = Message;
    type Summary = (Branch, [Level; 2]);
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, ByHand(bank): &ByHand, cx: &mut impl Context<Message>) {
        cx.send(cx.me(), cx.rng().exponential(bank.interarrival), Message::Next);
    }

    fn handle(&mut self, ByHand(bank): &ByHand, message: &Message, cx: &mut impl Context<Message>) {
        let now = cx.now();
        match *message {
            Message::Next => {
                let patience = cx.rng().exponential(bank.patience);
                cx.send(cx.me(), cx.rng().exponential(bank.interarrival), Message::Next);
                self.arrive(bank, patience, cx);
            }
            Message::Arrive { patience } => self.arrive(bank, patience, cx),
            Message::End { arrived } => {
                self.observed.sojourns.add(now.get() - arrived);
                if let Some(first) = self.waiting.pop_front(cx) {
                    self.queue.set(self.waiting.len() as f64, now);
                    self.serve(bank, first.arrived, cx);
                } else {
                    self.busy -= 1;
                }
                self.in_use.set(f64::from(self.busy), now);
            }
            Message::Timeout { id } => {
                let Ok(place) = self.waiting.binary_search_by_key(&id, |waiting| waiting.id) else {
                    return;
                };
                let patience = self.waiting.remove(place, cx).map_or(0.0, |gone| gone.patience);
                self.queue.set(self.waiting.len() as f64, now);
                self.observed.reneged.increment();
                if cx.rng().chance(bank.walk) {
                    cx.send(bank.next(cx.me()), bank.way, Message::Arrive { patience });
                }
            }
        }
    }

    fn finish(self, _: &ByHand, end: VirtualTime) -> Self::Summary {
        (self.observed.until(end), [self.in_use.until(end), self.queue.until(end)])
    }
}

impl Model for ByHand {
    type Lp = BranchByHand;
    type Output = (Branch, [Level; 2]);

    fn name(&self) -> &str {
        "bank"
    }

    fn lp_count(&self) -> usize {
        self.0.branches
    }

    fn make_lp(&self, _: LpId) -> BranchByHand {
        BranchByHand {
            observed: Branch::default(),
            waiting: TrackedDeque::default(),
            ids: 0,
            busy: 0,
            in_use: Level::default(),
            queue: Level::default(),
        }
    }

    fn reduce(&self, all: impl Iterator<Item = (Branch, [Level; 2])>) -> Self::Output {
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
