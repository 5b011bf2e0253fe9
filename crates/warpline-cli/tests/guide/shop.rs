//! A repair shop: jobs come to stations that stand in a ring, wait for the mechanic, and go on.

use warpline::{
    AnyModel, Collected, ConfigError, Context, Counter, Figure, Level, LogicalProcess, LpId, Model,
    Results, Saving, State, Statistics, Tally, TrackedDeque, Value, VirtualTime,
    digest::mix,
    wire::{Wire, Wires},
};
use warpline_cli::{Parameters, entry};

/// The model: what no event changes. All times are in minutes.
#[derive(Clone, Debug, clap::Args, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
struct Shop {
    /// Number of stations
    #[arg(long, value_name = "N", default_value_t = 16)]
    stations: usize,
    /// Mean time between two jobs that come to a station from outside
    #[arg(long, value_name = "MIN", default_value_t = 10.0)]
    between: f64,
    /// Mean time that a mechanic takes for a job
    #[arg(long, value_name = "MIN", default_value_t = 4.0)]
    repair: f64,
    /// Probability that a job goes on to the next station
    #[arg(long, value_name = "P", default_value_t = 0.5)]
    onward: f64,
    /// Time on the way there
    #[arg(long, value_name = "MIN", default_value_t = 1.0)]
    way: f64,
}

/// A message: what happens to a station.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
enum Happens {
    /// A job comes from outside.
    New,
    /// A job comes from the station before.
    Next,
    /// The mechanic has finished a job.
    Done,
}

/// The state of a station: what its events change.
#[derive(Debug, Default, State, serde::Serialize, serde::Deserialize)]
struct Station {
    /// When the jobs that wait have come, the oldest first.
    waiting: TrackedDeque<f64>,
    busy: bool,
    observed: Observed,
}

/// What a station observes. Names, texts and units are those of reports.
#[derive(Clone, Debug, Default, Value, Statistics, serde::Serialize, serde::Deserialize)]
#[statistic(time = "minute")]
struct Observed {
    /// Jobs that were finished
    #[statistic(unit = "jobs")]
    finished: Counter,
    /// Time from coming to a station until the mechanic begins
    #[statistic(unit = "minutes")]
    wait: Tally,
    /// Jobs at a station
    #[statistic(unit = "jobs")]
    here: Level,
}

impl Model for Shop {
    type Lp = Station;
    type Output = Observed;

    fn name(&self) -> &str {
        "shop"
    }

    fn lp_count(&self) -> usize {
        self.stations
    }

    fn make_lp(&self, _: LpId) -> Station {
        Station::default()
    }

    fn lookahead(&self) -> Option<f64> {
        Some(self.way)
    }

    fn adapt(&self, _: &Self, _: LpId, _: &mut Station) -> Result<(), String> {
        Ok(())
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn state_wire(&self) -> Option<Wire<Station>> {
        Some(Wire::serde())
    }

    fn reduce(&self, stations: impl Iterator<Item = Observed>) -> Observed {
        stations.sum()
    }
}

impl LogicalProcess for Station {
    type Model = Shop;
    type Message = Happens;
    type Summary = Observed;
    const SAVING: Saving<Self> = Saving::BY_FIELD;
    const STATISTICS: Collected<Self> = Collected::in_field(|station| &mut station.observed);

    fn start(&mut self, shop: &Shop, cx: &mut impl Context<Happens>) {
        cx.send(cx.me(), cx.rng().exponential(shop.between), Happens::New);
    }

    fn handle(&mut self, shop: &Shop, happens: &Happens, cx: &mut impl Context<Happens>) {
        match happens {
            Happens::New => {
                cx.send(cx.me(), cx.rng().exponential(shop.between), Happens::New);
                self.comes(shop, cx);
            }
            Happens::Next => self.comes(shop, cx),
            Happens::Done => {
                self.observed.finished.increment();
                self.observed.here.add(-1.0, cx.now());
                if cx.rng().chance(shop.onward) {
                    let next = LpId::from_index((cx.me().index() + 1) % shop.stations);
                    cx.send(next, shop.way, Happens::Next);
                }
                match self.waiting.pop_front(cx) {
                    Some(came) => self.begin(came, shop, cx),
                    None => self.busy = false,
                }
            }
        }
    }

    fn fingerprint(_: &Shop, happens: &Happens) -> u64 {
        mix(0, *happens as u64)
    }

    fn finish(self, _: &Shop, end: VirtualTime) -> Observed {
        self.observed.until(end)
    }
}

impl Station {
    /// A job comes: the mechanic begins with it, or it waits.
    fn comes(&mut self, shop: &Shop, cx: &mut impl Context<Happens>) {
        let now = cx.now().get();
        self.observed.here.add(1.0, cx.now());
        if self.busy {
            self.waiting.push_back(now, cx);
        } else {
            self.busy = true;
            self.begin(now, shop, cx);
        }
    }

    /// The mechanic begins with a job that came at `came`.
    fn begin(&mut self, came: f64, shop: &Shop, cx: &mut impl Context<Happens>) {
        let wait = cx.now().get() - came;
        self.observed.wait.add(wait);
        cx.send(cx.me(), cx.rng().exponential(shop.repair), Happens::Done);
    }
}

impl Parameters for Shop {
    const MODEL: &'static str = "shop";
    const ABOUT: &'static str = "A repair shop whose jobs go around in a ring of stations";
    const END: f64 = 11_000.0;

    fn model(self) -> Result<AnyModel, ConfigError> {
        ConfigError::check(self.stations > 0, "stations", self.stations, "1 or more")?;
        ConfigError::check(self.repair > 0.0, "repair", self.repair, "above 0")?;
        Ok(AnyModel::new(self))
    }

    fn results() -> Vec<Figure> {
        Observed::default().figures()
    }
}

pub(crate) fn main() -> std::process::ExitCode {
    warpline_cli::main(&[entry::<Shop>()])
}
