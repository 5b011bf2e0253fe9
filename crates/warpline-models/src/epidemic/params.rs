//! The parameters of the epidemic, as commands and files have them.

use serde::{Deserialize, Serialize};
use warpline::{AnyModel, ConfigError, Figure, Results};

use super::{Epidemic, EpidemicOutput};
use crate::catalog::{Domain, Hold, Load, Parameters, TimeUnit, Workload};

/// The most contacts of all people together: 1 GiB.
const CONTACTS_MAX: usize = 1 << 28;

/// The parameters of the epidemic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EpidemicParams {
    /// Number of people, distributed evenly over the regions
    #[arg(long, value_name = "N", default_value_t = Self::default().people)]
    pub people: usize,
    /// Number of regions
    #[arg(long, value_name = "N", default_value_t = Self::default().regions)]
    pub regions: usize,
    /// Contacts of each person
    #[arg(long, value_name = "N", default_value_t = Self::default().contacts)]
    pub contacts: usize,
    /// Part of the contacts that are anywhere; the others are in the same region
    #[arg(long, value_name = "PART", default_value_t = Self::default().travel)]
    pub travel: f64,
    /// Rate at which an infectious person infects a contact
    #[arg(long, value_name = "1/DAY", default_value_t = Self::default().transmission)]
    pub transmission: f64,
    /// Mean time for which a person is infectious
    #[arg(long, value_name = "DAYS", default_value_t = Self::default().infectious)]
    pub infectious: f64,
    /// Time from a person's infection until it is infectious
    #[arg(long, value_name = "DAYS", default_value_t = Self::default().latent)]
    pub latent: f64,
    /// Seed of the network of contacts, which is the same in every run
    #[arg(long, value_name = "N", default_value_t = Self::default().contact_seed)]
    pub contact_seed: u64,
    /// People who are infected at the start
    #[arg(long, value_name = "N", default_value_t = Self::default().infected)]
    pub infected: usize,
}

impl Default for EpidemicParams {
    fn default() -> Self {
        Self {
            people: 100_000,
            regions: 1_000,
            contacts: 10,
            travel: 0.1,
            contact_seed: 1,
            transmission: 0.06,
            infectious: 5.0,
            latent: 0.0,
            infected: 20,
        }
    }
}

impl EpidemicParams {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range: the error names the first one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (people, regions) = (self.people, self.regions);
        let all = people.checked_mul(self.contacts.max(1));
        let fits = all.is_some_and(|all| (1..=CONTACTS_MAX).contains(&all));
        let allowed = "1 or more, with 268435456 contacts of all of them at most";
        ConfigError::check(fits, "people", people, allowed)?;
        let allowed = format!("from 1 to the number of people, {people}");
        ConfigError::check((1..=people).contains(&regions), "regions", regions, &allowed)?;
        let infected = self.infected;
        let allowed = format!("at most the number of people, {people}");
        ConfigError::check(infected <= people, "infected", infected, &allowed)?;
        let travel = self.travel;
        ConfigError::check((0.0..=1.0).contains(&travel), "travel", travel, "from 0 to 1")?;
        for (key, value) in [("transmission", self.transmission), ("infectious", self.infectious)] {
            let ok = value > 0.0 && value.is_finite();
            ConfigError::check(ok, key, value, "greater than 0, and finite")?;
        }
        let latent = self.latent;
        let ok = latent >= 0.0 && latent.is_finite();
        ConfigError::check(ok, "latent", latent, "0 or more, and finite")
    }

    /// The people whom somebody infects on average, if nobody is immune.
    #[must_use]
    pub fn reproduction(&self) -> f64 {
        let chance = self.transmission * self.infectious;
        self.contacts as f64 * chance / (1.0 + chance)
    }

    /// The first person of a region; of the region after the last one, the number of people.
    pub(super) const fn first_of(&self, region: usize) -> usize {
        (region * self.people).div_ceil(self.regions)
    }

    /// The region of a person.
    pub(super) const fn region_of(&self, person: usize) -> usize {
        person * self.regions / self.people
    }
}

impl Parameters for EpidemicParams {
    const MODEL: &'static str = "epidemic";
    const ABOUT: &'static str =
        "An epidemic (SIR) of people in regions, on a random network of contacts";
    const END: f64 = 365.0;
    const TIME: Option<TimeUnit> = Some(TimeUnit::DAY);

    fn model(self) -> Result<AnyModel, ConfigError> {
        Ok(AnyModel::new(Epidemic::new(self)?))
    }

    fn events_at_start(&self) -> u64 {
        self.infected as u64
    }

    fn results() -> Vec<Figure> {
        EpidemicOutput::default().figures()
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("people", "", "1 or more"),
                Domain::new("regions", "", "1 to the number of people"),
                Domain::new("contacts", "", "0 or more"),
                Domain::new("travel", "", "0 to 1"),
                Domain::new("transmission", "1/d", "above 0"),
                Domain::new("infectious", "d", "above 0"),
                Domain::new("latent", "d", "0 or more"),
                Domain::new("contact-seed", "", "0 or more"),
                Domain::new("infected", "", "0 to the number of people"),
            ]
        }
    }

    fn workloads() -> Vec<Workload> {
        let workload = |name, title, people: usize| Workload {
            name,
            title,
            params: Self { people, ..Self::default() }.into(),
            end: Self::END,
            bare: Load::Hold(Hold {
                lps: 1_000,
                // Half of the people have events at the height of the epidemic.
                population: people / 2,
                remote: 0.1,
                lookahead: 0.0,
            }),
        };
        vec![
            workload("W10", "epidemic: 100 000 people in 1 000 regions", 100_000),
            workload("W10M", "epidemic: 1 000 000 people in 1 000 regions", 1_000_000),
        ]
    }
}
