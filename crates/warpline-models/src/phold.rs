//! PHOLD: a fixed population of events, each of which sends the next one to an LP at random.
//!
//! Every size of messages is a type of model, for which all engines are compiled; so there are
//! three: without data, 64 bytes, and [`LARGE_BYTES`] with a box for what is beyond.
//!
//! # References
//!
//! R. M. Fujimoto, *Performance of Time Warp under synthetic workloads*, SCS Multiconference on
//! Distributed Simulation, 1990. Neighborhoods: Fujimoto and Panesar, *Buffer Management in
//! Shared-Memory Time Warp Systems*, 1995, section 4.

mod payload;

use std::{fmt, marker::PhantomData, ops::Range, time::Duration};

use serde::{Deserialize, Serialize};
use warpline::{
    AnyModel, ConfigError, Context, Difference, Figure, Link, LogicalProcess, LpId, Model, Results,
    Reversal, Stream, VirtualTime,
    wire::{Wire, Wires},
};

use crate::{
    branching,
    catalog::{Domain, Hold, Load, Parameters, Workload},
    grain::keep_busy,
};
pub use payload::{LARGE_BYTES, Payload, Rest};

/// The largest payload of a message, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 65_536;

/// The hot spot is this part of the LPs, unless their number is given.
const HOT_PART: usize = 8;

/// The most links of an LP that the model declares.
const LINKS_MAX: usize = 64;

/// The parameters of PHOLD. The defaults are the workload of the buffer paper's figure 3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PholdParams {
    /// Number of logical processes
    #[arg(long, value_name = "N", default_value_t = Self::default().lps)]
    pub lps: usize,
    /// Number of events in the system, distributed evenly over the LPs
    #[arg(long, value_name = "N", default_value_t = Self::default().population)]
    pub population: usize,
    /// Probability that an event goes to a random LP and not to its sender
    #[arg(long, value_name = "P", default_value_t = Self::default().remote)]
    pub remote: f64,
    /// Mean of the exponential part of the delay
    #[arg(long, value_name = "T", default_value_t = Self::default().mean)]
    pub mean: f64,
    /// Constant part of the delay, declared as the model's lookahead
    #[arg(long, value_name = "T", default_value_t = Self::default().lookahead)]
    pub lookahead: f64,
    /// Send remote events to the next K blocks of LPs only; 0 for all LPs
    #[arg(long, value_name = "K", default_value_t = Self::default().neighborhood)]
    pub neighborhood: usize,
    /// Number of equal blocks of LPs that --neighborhood counts in (the paper's processors)
    #[arg(long, value_name = "N", default_value_t = Self::default().blocks)]
    pub blocks: usize,
    /// Probability that a remote event goes to the hot spot: LPs side by side
    #[arg(long, value_name = "P", default_value_t = Self::default().hot)]
    pub hot: f64,
    /// Number of LPs in the hot spot; 0 for an eighth of all
    #[arg(long, value_name = "N", default_value_t = Self::default().hot_lps)]
    pub hot_lps: usize,
    /// Virtual time in which the hot spot wanders once past all LPs; 0 if it stays at the first
    #[arg(long, value_name = "T", default_value_t = Self::default().hot_period)]
    pub hot_period: f64,
    /// Bytes that each event carries: written by its sender, read by its receiver
    ///
    /// Those beyond 1024 lie in a box, which --memory does not count.
    #[arg(long, value_name = "BYTES", default_value_t = Self::default().payload)]
    pub payload: usize,
    /// Wall time that each event keeps a core busy
    #[arg(long, value_name = "NANOSECONDS", default_value_t = Self::default().grain)]
    pub grain: u64,
}

impl Default for PholdParams {
    fn default() -> Self {
        Self {
            lps: 256,
            population: 1024,
            remote: 1.0,
            mean: 1.0,
            lookahead: 0.0,
            neighborhood: 0,
            blocks: 8,
            hot: 0.0,
            hot_lps: 0,
            hot_period: 0.0,
            payload: 0,
            grain: 0,
        }
    }
}

impl PholdParams {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range: the error names the first one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let finite = |x: f64| x.is_finite() && x >= 0.0;
        let Self { lps, blocks, neighborhood, payload, .. } = *self;
        ConfigError::check(lps > 0, "lps", lps, "1 or more")?;
        ConfigError::check(
            (0.0..=1.0).contains(&self.remote),
            "remote",
            self.remote,
            "a probability, from 0 to 1",
        )?;
        ConfigError::check(finite(self.mean), "mean", self.mean, "0 or more, and finite")?;
        ConfigError::check(
            finite(self.lookahead),
            "lookahead",
            self.lookahead,
            "0 or more, and finite",
        )?;
        ConfigError::check(
            self.mean + self.lookahead > 0.0,
            "mean",
            self.mean,
            "greater than 0 when the lookahead is 0, or time would stand still",
        )?;
        ConfigError::check(
            neighborhood == 0 || (neighborhood < blocks && blocks <= lps),
            "neighborhood",
            neighborhood,
            &format!("below the number of blocks ({blocks}), and blocks at most --lps ({lps})"),
        )?;
        ConfigError::check(
            (0.0..=1.0).contains(&self.hot),
            "hot",
            self.hot,
            "a probability, from 0 to 1",
        )?;
        let (spot, allowed) = (self.hot_lps, format!("at most --lps ({lps})"));
        ConfigError::check(spot <= lps, "hot-lps", spot, &allowed)?;
        let period = self.hot_period;
        ConfigError::check(finite(period), "hot-period", period, "0 or more, and finite")?;
        ConfigError::check(
            payload <= PAYLOAD_BYTES_MAX,
            "payload",
            payload,
            &format!("at most {PAYLOAD_BYTES_MAX} bytes"),
        )
    }
}

impl Parameters for PholdParams {
    const MODEL: &'static str = "phold";
    const ABOUT: &'static str =
        "PHOLD: a fixed population of events that move between LPs at random";
    const END: f64 = 1_000.0;

    fn model(self) -> Result<AnyModel, ConfigError> {
        Ok(match self.payload {
            0 => AnyModel::new(Phold::<0>::new(self)?),
            1..=64 => AnyModel::new(Phold::<64>::new(self)?),
            _ => AnyModel::new(Phold::<LARGE_BYTES, _>::large(self)?),
        })
    }

    fn events_at_start(&self) -> u64 {
        self.population as u64
    }

    fn results() -> Vec<Figure> {
        PholdOutput::default().figures()
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("lps", "", "1 or more"),
                Domain::new("population", "", "0 or more"),
                Domain::new("remote", "", "a probability, from 0 to 1"),
                Domain::new("mean", "virtual time", "0 or more; above 0 without a lookahead"),
                Domain::new("lookahead", "virtual time", "0 or more"),
                Domain::new("neighborhood", "blocks", "below --blocks"),
                Domain::new("blocks", "", "at most --lps, where --neighborhood is given"),
                Domain::new("hot", "", "a probability, from 0 to 1"),
                Domain::new("hot-lps", "", "at most --lps"),
                Domain::new("hot-period", "virtual time", "0 or more"),
                Domain::new("payload", "bytes", "from 0 to 65536"),
                Domain::new("grain", "nanoseconds", "0 or more"),
            ]
        }
    }

    fn workloads() -> Vec<Workload> {
        let workload = |name, title, lps, population, remote, lookahead, end| {
            let bare = Load::Hold(Hold { lps, population, remote, lookahead });
            let params = Self { lps, population, remote, lookahead, ..Self::default() };
            Workload { name, title, params: params.into(), end, bare }
        };
        vec![
            workload(
                "W1",
                "seed: PHOLD, 256 LPs, population 1 024, remote 1",
                256,
                1024,
                1.0,
                0.0,
                4_000.0,
            ),
            workload(
                "W2",
                "local: PHOLD, 1 024 LPs, population 16 384, remote 0.1, lookahead 0.1",
                1024,
                16_384,
                0.1,
                0.1,
                270.0,
            ),
            workload(
                "W3",
                "big: PHOLD, 65 536 LPs, population 1 048 576, remote 0.5, lookahead 0.1",
                65_536,
                1_048_576,
                0.5,
                0.1,
                6.0,
            ),
        ]
    }
}

/// PHOLD with messages of `CAPACITY` bytes, and of `R` for what is beyond.
#[derive(Clone, Debug)]
pub struct Phold<const CAPACITY: usize, R = ()> {
    params: PholdParams,
    rest: PhantomData<fn() -> R>,
}

impl<const CAPACITY: usize> Phold<CAPACITY> {
    /// The model with these parameters.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range, or the payload does not fit into the messages.
    pub fn new(params: PholdParams) -> Result<Self, ConfigError> {
        params.validate()?;
        ConfigError::check(
            params.payload <= CAPACITY,
            "payload",
            params.payload,
            &format!("at most {CAPACITY} bytes, the size of a message"),
        )?;
        Ok(Self { params, rest: PhantomData })
    }
}

impl<const CAPACITY: usize> Phold<CAPACITY, Box<[u8]>> {
    /// The model with these parameters. The bytes of a payload beyond `CAPACITY` lie in a box.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range.
    pub fn large(params: PholdParams) -> Result<Self, ConfigError> {
        params.validate()?;
        Ok(Self { params, rest: PhantomData })
    }
}

impl<const CAPACITY: usize, R: Rest> Phold<CAPACITY, R> {
    fn receiver(&self, me: LpId, now: VirtualTime, rng: &Stream) -> LpId {
        let PholdParams { lps, neighborhood, hot, .. } = self.params;
        if hot > 0.0 && rng.chance(hot) {
            return self.hot_lp(now, rng);
        }
        if neighborhood == 0 {
            return rng.lp(lps);
        }
        let block = self.block(me, rng.below(neighborhood as u64) as usize);
        LpId::from_index(block.start + rng.below(block.len() as u64) as usize)
    }

    /// An LP of the hot spot, where that is now.
    fn hot_lp(&self, now: VirtualTime, rng: &Stream) -> LpId {
        let PholdParams { lps, hot_lps, hot_period, .. } = self.params;
        let spot = if hot_lps > 0 { hot_lps } else { lps.div_ceil(HOT_PART) };
        let rounds = if hot_period > 0.0 { now.get() / hot_period } else { 0.0 };
        let first = ((rounds - rounds.floor()) * lps as f64) as usize;
        let place = first + rng.below(spot as u64) as usize;
        LpId::from_index(place % lps)
    }

    /// The LPs of a block in the neighborhood of an LP.
    fn block(&self, me: LpId, ahead: usize) -> Range<usize> {
        let PholdParams { lps, blocks, .. } = self.params;
        // The blocks' borders are rounded as in `Model::placement`, so that each of `blocks`
        // workers has one block.
        let block = (me.index() * blocks / lps + 1 + ahead) % blocks;
        let border = |block: usize| (block * lps).div_ceil(blocks);
        border(block)..border(block + 1)
    }
}

/// An LP of PHOLD: it counts the events that it handles.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Node<const CAPACITY: usize, R = ()> {
    handled: u64,
    remote: u64,
    #[serde(skip)]
    rest: PhantomData<fn() -> R>,
}

/// The result of PHOLD.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PholdOutput {
    /// The number of events that all LPs have handled.
    pub handled: u64,
    /// The number of handled events whose successor went to a random LP.
    pub remote: u64,
    /// The most events that one LP has handled.
    pub handled_max: u64,
    /// The fewest events that one LP has handled.
    pub handled_min: u64,
}

impl Results for PholdOutput {
    fn figures(&self) -> Vec<Figure> {
        let (figure, count) = (Figure::new, Figure::of_count);
        vec![
            count("handled", self.handled, "events", "events handled"),
            figure(
                "remote_fraction",
                self.remote as f64 / self.handled as f64,
                "",
                "events sent to a random LP, by events handled",
            ),
            count("handled_max", self.handled_max, "events", "most handled by one LP"),
            count("handled_min", self.handled_min, "events", "fewest handled by one LP"),
        ]
    }
}

impl<const CAPACITY: usize, R: Rest> Model for Phold<CAPACITY, R> {
    type Lp = Node<CAPACITY, R>;
    type Output = PholdOutput;

    fn name(&self) -> &'static str {
        "phold"
    }

    fn lp_count(&self) -> usize {
        self.params.lps
    }

    fn make_lp(&self, _: LpId) -> Self::Lp {
        Node { handled: 0, remote: 0, rest: PhantomData }
    }

    fn reduce(&self, nodes: impl Iterator<Item = Node<CAPACITY, R>>) -> PholdOutput {
        let mut output = PholdOutput { handled_min: u64::MAX, ..PholdOutput::default() };
        for node in nodes {
            output.handled += node.handled;
            output.remote += node.remote;
            output.handled_max = output.handled_max.max(node.handled);
            output.handled_min = output.handled_min.min(node.handled);
        }
        output
    }

    fn difference(&self) -> Option<Difference<Self>> {
        Some(|later, earlier| Node {
            handled: later.handled - earlier.handled,
            remote: later.remote - earlier.remote,
            rest: PhantomData,
        })
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        &self.params
    }

    fn wires(&self) -> Option<Wires<Self>> {
        let message = Wire::new(Payload::write, Payload::read);
        Some(Wires { message, summary: Wire::serde() })
    }

    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        Some(Wire::serde())
    }

    fn adapt(&self, before: &Self, _: LpId, _: &mut Self::Lp) -> Result<(), String> {
        let &PholdParams { remote, mean, lookahead, neighborhood, blocks, hot, .. } = &self.params;
        let other = PholdParams {
            remote,
            mean,
            lookahead,
            neighborhood,
            blocks,
            hot,
            ..before.params.clone()
        };
        let may_differ = "--remote, --mean, --lookahead, --neighborhood, --blocks, --hot";
        branching::check(self.params == other, may_differ)
    }

    /// Declared only where they are few: with a link to every other LP, each LP would depend on
    /// all.
    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let PholdParams { lps, neighborhood, blocks, lookahead, remote, hot, .. } = self.params;
        let neighborhood = if hot > 0.0 { 0 } else { neighborhood };
        let receivers: Vec<usize> = if remote <= 0.0 {
            Vec::new()
        } else if neighborhood == 0 && lps <= LINKS_MAX {
            (0..lps).collect()
        } else if neighborhood > 0 && (neighborhood * lps).div_ceil(blocks) <= LINKS_MAX {
            (0..neighborhood).flat_map(|ahead| self.block(from, ahead)).collect()
        } else {
            return None;
        };
        let others = receivers.into_iter().map(LpId::from_index).filter(|to| *to != from);
        Some(others.map(|to| Link { to, lookahead }).collect())
    }

    fn lookahead(&self) -> Option<f64> {
        (self.params.lookahead > 0.0).then_some(self.params.lookahead)
    }
}

impl<const CAPACITY: usize, R: Rest> LogicalProcess for Node<CAPACITY, R> {
    type Model = Phold<CAPACITY, R>;
    type Message = Payload<CAPACITY, R>;
    type Summary = Self;

    fn start(&mut self, phold: &Self::Model, cx: &mut impl Context<Payload<CAPACITY, R>>) {
        let PholdParams { lps, population, mean, lookahead, payload, .. } = phold.params;
        let me = cx.me();
        let events = population / lps + usize::from(me.index() < population % lps);
        for _ in 0..events {
            let delay = lookahead + cx.rng().exponential(mean);
            cx.send(me, delay, Payload::filled(payload, me.get() as u8));
        }
    }

    #[inline]
    fn handle(
        &mut self,
        phold: &Self::Model,
        message: &Payload<CAPACITY, R>,
        cx: &mut impl Context<Payload<CAPACITY, R>>,
    ) {
        let PholdParams { remote, mean, lookahead, payload, grain, .. } = phold.params;
        self.handled += 1;
        if !message.is_filled(payload) {
            cx.fail(format_args!("received a payload that no LP has sent"));
        }
        if grain > 0 {
            keep_busy(Duration::from_nanos(grain));
        }
        let me = cx.me();
        let to = if remote >= 1.0 || cx.rng().chance(remote) {
            self.remote += 1;
            phold.receiver(me, cx.now(), cx.rng())
        } else {
            me
        };
        let delay = lookahead + cx.rng().exponential(mean);
        cx.send(to, delay, Payload::filled(payload, me.get() as u8));
    }

    const REVERSIBLE: bool = true;

    #[inline]
    fn reverse(&mut self, phold: &Self::Model, _: &Payload<CAPACITY, R>, event: &mut Reversal) {
        let remote = phold.params.remote;
        self.handled -= 1;
        self.remote -= u64::from(remote >= 1.0 || event.rng().chance(remote));
    }

    #[inline]
    fn identity(_: &Self::Model, message: &Payload<CAPACITY, R>) -> Option<u64> {
        Some(message.identity())
    }

    fn finish(self, _: &Self::Model, _: VirtualTime) -> Self {
        self
    }

    #[inline]
    fn message_heap_bytes(message: &Self::Message) -> usize {
        message.heap_bytes()
    }

    #[inline]
    fn fingerprint(_: &Self::Model, message: &Payload<CAPACITY, R>) -> u64 {
        message.first()
    }
}
