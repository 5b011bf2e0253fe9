//! A model of its author's own with the whole command: `run`, `sweep`, `info`, `--verify`,
//! replications, configuration files and help.
//!
//! ```sh
//! cargo run --release -p warpline-cli --example bank -- run bank --customers-per-hour 30 --verify
//! cargo run --release -p warpline-cli --example bank -- info bank
//! ```
//!
//! The model is a bank with branches. Customers come to a branch at random and are served one after
//! the other; a served customer goes on to another branch with some probability.

use std::process::ExitCode;

use warpline::{
    AnyModel, ConfigError, Context, Figure, LogicalProcess, LpId, Model, Results, VirtualTime,
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
        ConfigError::check(self.branches > 0, "branches", self.branches, "1 or more")?;
        let ok = self.customers_per_hour > 0.0;
        ConfigError::check(ok, "customers-per-hour", self.customers_per_hour, "above 0")?;
        ConfigError::check(self.service > 0.0, "service", self.service, "above 0")?;
        let ok = (0.0..1.0).contains(&self.onward);
        ConfigError::check(ok, "onward", self.onward, "from 0 to below 1")?;
        Ok(AnyModel::new(Bank(self)))
    }

    fn results() -> Vec<Figure> {
        BankOutput::default().figures()
    }

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
#[derive(Clone, Debug, Default)]
struct Branch {
    free_at: f64,
    served: u64,
    waited: f64,
}

#[derive(Clone, Copy, Debug)]
enum Message {
    /// The next customer from outside comes, and the one after that is drawn.
    Comes,
    /// A customer comes from another branch.
    GoesOn,
}

#[derive(Clone, Copy, Debug, Default)]
struct BankOutput {
    served: u64,
    waited: f64,
}

impl Results for BankOutput {
    fn figures(&self) -> Vec<Figure> {
        let wait = self.waited / self.served as f64;
        vec![
            Figure::new("served", self.served as f64, "customers", "served at all branches"),
            Figure::new("wait_mean", wait, "minutes", "time in a queue, per customer and branch"),
        ]
    }
}

impl Model for Bank {
    type Lp = Branch;
    type Output = BankOutput;

    fn name(&self) -> &str {
        BankParams::MODEL
    }

    fn lp_count(&self) -> usize {
        self.0.branches
    }

    fn make_lp(&self, _: LpId) -> Branch {
        Branch::default()
    }

    fn reduce(&self, branches: impl Iterator<Item = Branch>) -> BankOutput {
        branches.fold(BankOutput::default(), |all, branch| BankOutput {
            served: all.served + branch.served,
            waited: all.waited + branch.waited,
        })
    }
}

impl LogicalProcess for Branch {
    type Model = Bank;
    type Message = Message;
    type Summary = Self;

    fn start(&mut self, Bank(bank): &Bank, cx: &mut impl Context<Message>) {
        let delay = cx.rng().exponential(60.0 / bank.customers_per_hour);
        cx.send(cx.me(), delay, Message::Comes);
    }

    fn handle(&mut self, Bank(bank): &Bank, message: &Message, cx: &mut impl Context<Message>) {
        if let Message::Comes = message {
            let delay = cx.rng().exponential(60.0 / bank.customers_per_hour);
            cx.send(cx.me(), delay, Message::Comes);
        }
        let now = cx.now().get();
        let begins = now.max(self.free_at);
        self.free_at = begins + cx.rng().exponential(bank.service);
        self.served += 1;
        self.waited += begins - now;
        if cx.rng().chance(bank.onward) {
            let to = cx.rng().lp(bank.branches);
            cx.send_at(to, self.free_at, Message::GoesOn);
        }
    }

    fn finish(self, _: &Bank, _: VirtualTime) -> Self {
        self
    }
}

pub(crate) fn main() -> ExitCode {
    warpline_cli::main(&[entry::<BankParams>()])
}
