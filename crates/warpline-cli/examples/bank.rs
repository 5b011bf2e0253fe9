//! A model of its author's own with the whole command: `run`, `sweep`, `info`, `--verify`,
//! replications, configuration files and help; and with statistics, which are rolled back with the
//! states that they lie in, begin anew at `--warmup`, and are reported by their names.
//!
//! ```sh
//! cargo run --release -p warpline-cli --example bank -- run bank --customers-per-hour 30 --verify
//! cargo run --release -p warpline-cli --example bank -- run bank --warmup 60 --statistics day.csv
//! cargo run --release -p warpline-cli --example bank -- analyze bank --find-warmup
//! cargo run --release -p warpline-cli --example bank -- info bank
//! ```
//!
//! The model is a bank with branches. Customers come to a branch at random and are served one after
//! the other; a served customer goes on to another branch with some probability.

use std::process::ExitCode;

use warpline::{
    AnyModel, Collected, ConfigError, Context, Counter, Figure, LogicalProcess, LpId, Model,
    Results, Saving, State, Statistics, Tally, Tracked, TrackedQuantiles, TrackedSeries,
    VirtualTime,
};
use warpline_cli::{Domain, Parameters, entry};

/// The parameters: flags, keys of configuration files and keys of reports.
#[derive(Clone, Debug, clap::Args, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct BankParams {
    /// Number of branches
    #[arg(long, value_name = "N", default_value_t = 16)]
    branches: usize,
    /// Customers who come to each branch from outside
    #[arg(long, value_name = "N", default_value_t = 20.0)]
    customers_per_hour: f64,
    /// Mean time to serve a customer
    #[arg(long, value_name = "MIN", default_value_t = 2.0)]
    service: f64,
    /// Probability that a customer goes on to another branch
    #[arg(long, value_name = "P", default_value_t = 0.2)]
    onward: f64,
}

impl Parameters for BankParams {
    const MODEL: &'static str = "bank";
    const ABOUT: &'static str = "A bank whose customers queue at branches";
    /// A day, in minutes.
    const END: f64 = 1_440.0;

    fn model(self) -> Result<AnyModel, ConfigError> {
        Ok(AnyModel::new(Bank(self)))
    }

    fn results() -> Vec<Figure> {
        Observed::default().figures()
    }

    /// The command refuses other values. What such words cannot say, `model` checks with
    /// `ConfigError::check`.
    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("branches", "", "1 or more"),
                Domain::new("customers-per-hour", "customers/hour", "above 0"),
                Domain::new("service", "minutes", "above 0"),
                Domain::new("onward", "", "a probability, below 1"),
            ]
        }
    }
}

struct Bank(BankParams);

/// A branch: when its teller has served everybody who is there.
#[derive(Debug, Default, State)]
struct Branch {
    free_at: f64,
    #[state(nested)]
    observed: Observed,
}

/// What a branch observes: the names, texts and units are those of reports.
#[derive(Debug, Default, State, Statistics)]
#[statistic(time = "minute")]
struct Observed {
    /// Customers who were served.
    #[statistic(unit = "customers")]
    served: Tracked<Counter>,
    /// Time in a queue, per customer and branch.
    #[statistic(unit = "minutes")]
    wait: Tracked<Tally>,
    /// Time in a queue, per customer and branch.
    #[statistic(unit = "minutes")]
    waits: TrackedQuantiles,
    /// Customers who came, by the hour.
    #[statistic(unit = "customers")]
    came: TrackedSeries,
}

#[derive(Clone, Copy, Debug)]
enum Message {
    /// The next customer from outside comes, and the one after that is drawn.
    Comes,
    /// A customer comes from another branch.
    GoesOn,
}

impl Model for Bank {
    type Lp = Branch;
    type Output = Observed;

    fn name(&self) -> &str {
        BankParams::MODEL
    }

    fn lp_count(&self) -> usize {
        self.0.branches
    }

    fn make_lp(&self, _: LpId) -> Branch {
        let observed = Observed { came: TrackedSeries::new(60.0), ..Observed::default() };
        Branch { free_at: 0.0, observed }
    }

    fn reduce(&self, branches: impl Iterator<Item = Observed>) -> Observed {
        branches.sum()
    }
}

impl LogicalProcess for Branch {
    type Model = Bank;
    type Message = Message;
    type Summary = Observed;
    const SAVING: Saving<Self> = Saving::BY_FIELD;
    const STATISTICS: Collected<Self> = Collected::in_field(|branch| &mut branch.observed);

    fn start(&mut self, Bank(bank): &Bank, cx: &mut impl Context<Message>) {
        cx.send(cx.me(), cx.rng().exponential(60.0 / bank.customers_per_hour), Message::Comes);
    }

    fn handle(&mut self, Bank(bank): &Bank, message: &Message, cx: &mut impl Context<Message>) {
        if let Message::Comes = message {
            let next = cx.rng().exponential(60.0 / bank.customers_per_hour);
            cx.send(cx.me(), next, Message::Comes);
        }
        let now = cx.now().get();
        let begins = now.max(self.free_at);
        self.free_at = begins + cx.rng().exponential(bank.service);
        let Observed { served, wait, waits, came } = &mut self.observed;
        served.write(cx).increment();
        wait.write(cx).add(begins - now);
        waits.add(begins - now, cx);
        came.add(1.0, cx);
        if cx.rng().chance(bank.onward) {
            cx.send_at(cx.rng().lp(bank.branches), self.free_at, Message::GoesOn);
        }
    }

    fn finish(self, _: &Bank, end: VirtualTime) -> Observed {
        self.observed.until(end)
    }
}

pub(crate) fn main() -> ExitCode {
    warpline_cli::main(&[entry::<BankParams>()])
}
