//! An epidemic: susceptible, infectious and recovered people (SIR) on a random network of contacts.
//!
//! An LP is a region with some of the people. Everybody has contacts, most of them in the same
//! region, the others anywhere. Who is infected is infectious for an exponential time, after a
//! latent time if there is one, and passes the infection on to each contact after another
//! exponential time, if that is the shorter one. Nobody is infected twice. Virtual time is in days.
//!
//! # Invariants
//!
//! - **EPIDEMIC-A.** Everybody is infected once at most, and recovers from it once at most. Checked
//!   at the end of every run.
//!
//! # References
//!
//! Kermack and McKendrick, *A Contribution to the Mathematical Theory of Epidemics*, 1927 (the
//! final size); Newman, *Spread of Epidemic Disease on Networks*, 2002 (on a network of contacts).

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use warpline::{
    ConfigError, Context, Difference, Figure, LogicalProcess, LpId, Model, Results, Saving, State,
    Stream, TrackedVec, Value, VirtualTime,
    digest::mix,
    picture::{Picture, Shape},
    wire::{Wire, Wires},
};

use crate::branching;

mod params;

pub use params::EpidemicParams;

/// The most bars of the picture; of a longer epidemic, a bar has several days.
const BARS_MAX: usize = 120;

/// The epidemic, with its network of contacts.
#[derive(Clone)]
pub struct Epidemic {
    params: EpidemicParams,
    /// Person by person: the contacts, as many for each.
    contacts: Arc<[u32]>,
}

/// The contacts follow from the parameters.
impl fmt::Debug for Epidemic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.params.fmt(f)
    }
}

impl Epidemic {
    /// The model with these parameters.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range.
    pub fn new(params: EpidemicParams) -> Result<Self, ConfigError> {
        params.validate()?;
        let mut contacts = Vec::with_capacity(params.people * params.contacts);
        for region in 0..params.regions {
            let rng = Stream::for_lp(params.contact_seed, LpId::from_index(region));
            let first = params.first_of(region);
            let here = params.first_of(region + 1) - first;
            for _ in 0..here * params.contacts {
                contacts.push(if rng.chance(params.travel) {
                    rng.below(params.people as u64) as u32
                } else {
                    first as u32 + rng.below(here as u64) as u32
                });
            }
        }
        Ok(Self { params, contacts: contacts.into() })
    }

    /// The contacts of a person.
    fn contacts(&self, person: usize) -> &[u32] {
        let each = self.params.contacts;
        &self.contacts[person * each..(person + 1) * each]
    }
}

/// How a person is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value, Serialize, Deserialize)]
enum Health {
    Susceptible,
    Infected,
    Recovered,
}

/// What happens to a person of a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EpidemicMessage {
    /// The infection comes to a person, who may be immune.
    Infect {
        /// The number of the person.
        person: u32,
        /// Whether it comes from another region.
        is_foreign: bool,
    },
    /// A person recovers.
    Recover {
        /// The number of the person.
        person: u32,
    },
}

/// A region: its people, and what it counts.
#[derive(Debug, State, Serialize, Deserialize)]
pub struct Region {
    people: TrackedVec<Health>,
    /// By day: the people who were infected.
    infections: TrackedVec<u32>,
    counts: Counts,
}

/// What a region counts, apart from the days.
#[derive(Clone, Debug, Default, Value, Serialize, Deserialize)]
struct Counts {
    /// The people who were infected from another region.
    foreign: u64,
    recovered: u64,
    /// The last infection (days); of an interval, that of its end.
    last: f64,
}

/// What a region has counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// By day: the people who were infected.
    infections: Vec<u32>,
    counts: Counts,
}

/// The result of the epidemic. A number for which there was nothing to measure is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpidemicOutput {
    /// The people who were ever infected.
    pub infected: u64,
    /// The same as a part of all people: the final size, if the epidemic is over.
    pub attack_rate: f64,
    /// The people who are infected at the end.
    pub infected_at_end: u64,
    /// The part of the infections that came from another region.
    pub foreign: f64,
    /// The day with the most infections.
    pub peak_day: f64,
    /// The infections of that day.
    pub peak_infections: u64,
    /// When the last infection was (days).
    pub last_infection: f64,
    /// By day: the people who were infected.
    pub infections: Vec<u64>,
}

impl Results for EpidemicOutput {
    fn figures(&self) -> Vec<Figure> {
        let (figure, count) = (Figure::new, Figure::of_count);
        vec![
            count("infected", self.infected, "people", "ever"),
            figure("attack_rate", self.attack_rate, "", "part of the people ever infected"),
            count("infected_at_end", self.infected_at_end, "people", "not recovered yet"),
            figure("foreign", self.foreign, "", "part of the infections from another region"),
            figure("peak_day", self.peak_day, "d", "day with the most infections"),
            count("peak_infections", self.peak_infections, "people", "of that day"),
            figure("last_infection", self.last_infection, "d", "time of the last infection"),
        ]
    }

    fn pictures(&self) -> Vec<Picture> {
        let side = self.infections.len().div_ceil(BARS_MAX).max(1);
        let bars = self.infections.chunks(side);
        vec![Picture {
            title: "Infections by day".into(),
            meaning: match side {
                1 => "People who were infected on a day.".into(),
                side => format!("People who were infected within {side} days.").into(),
            },
            unit: "people".into(),
            shape: Shape::Bars {
                axis: "day".into(),
                labels: (0..bars.len()).map(|bar| (bar * side).to_string()).collect(),
                values: bars.map(|bar| bar.iter().sum::<u64>() as f64).collect(),
            },
        }]
    }
}

impl Model for Epidemic {
    type Lp = Region;
    type Output = EpidemicOutput;

    fn name(&self) -> &'static str {
        "epidemic"
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        &self.params
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        Some(Wire::serde())
    }

    fn adapt(&self, before: &Self, _: LpId, _: &mut Self::Lp) -> Result<(), String> {
        let &EpidemicParams { transmission, infectious, latent, .. } = &self.params;
        let other = EpidemicParams { transmission, infectious, latent, ..before.params.clone() };
        let may_differ = "--transmission, --infectious, --latent";
        branching::check(self.params == other, may_differ)
    }

    fn difference(&self) -> Option<Difference<Self>> {
        Some(|later, earlier| {
            let before = earlier.infections.iter().copied().chain(std::iter::repeat(0));
            let days = later.infections.iter().zip(before);
            Tally {
                infections: days.map(|(later, earlier)| later - earlier).collect(),
                counts: Counts {
                    foreign: later.counts.foreign - earlier.counts.foreign,
                    recovered: later.counts.recovered - earlier.counts.recovered,
                    last: later.counts.last,
                },
            }
        })
    }

    fn lp_count(&self) -> usize {
        self.params.regions
    }

    fn make_lp(&self, id: LpId) -> Region {
        let region = id.index();
        let here = self.params.first_of(region + 1) - self.params.first_of(region);
        Region {
            people: TrackedVec::new(vec![Health::Susceptible; here]),
            infections: TrackedVec::default(),
            counts: Counts::default(),
        }
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> EpidemicOutput {
        let mut infections: Vec<u64> = Vec::new();
        let (mut foreign, mut recovered, mut last) = (0, 0, f64::NAN);
        for tally in tallies {
            infections.resize(infections.len().max(tally.infections.len()), 0);
            let days = infections.iter_mut().zip(&tally.infections);
            days.for_each(|(sum, count)| *sum += u64::from(*count));
            foreign += tally.counts.foreign;
            recovered += tally.counts.recovered;
            if !tally.infections.is_empty() {
                last = f64::max(last, tally.counts.last);
            }
        }
        let infected: u64 = infections.iter().sum();
        let peak = (0_u32..).zip(&infections).max_by_key(|(day, count)| (**count, u32::MAX - day));
        EpidemicOutput {
            infected,
            attack_rate: infected as f64 / self.params.people as f64,
            infected_at_end: infected.saturating_sub(recovered),
            foreign: foreign as f64 / infected as f64,
            peak_day: peak.map_or(f64::NAN, |(day, _)| day.into()),
            peak_infections: peak.map_or(0, |(_, count)| *count),
            last_infection: last,
            infections,
        }
    }

    fn lookahead(&self) -> Option<f64> {
        (self.params.latent > 0.0).then_some(self.params.latent)
    }
}

impl Region {
    /// A person is infected, and will infect others.
    fn infect(
        &mut self,
        epidemic: &Epidemic,
        person: usize,
        cx: &mut impl Context<EpidemicMessage>,
    ) {
        let params = &epidemic.params;
        let (me, now) = (cx.me(), cx.now().get());
        *self.people.write(person - params.first_of(me.index()), cx) = Health::Infected;
        self.counts.last = now;
        let day = now as usize;
        if day >= self.infections.len() {
            self.infections.resize(day + 1, &0, cx);
        }
        *self.infections.write(day, cx) += 1;
        let infectious = cx.rng().exponential(params.infectious);
        for &contact in epidemic.contacts(person) {
            let time = cx.rng().exponential(1.0 / params.transmission);
            if time < infectious {
                let region = params.region_of(contact as usize);
                let is_foreign = region != me.index();
                let infection = EpidemicMessage::Infect { person: contact, is_foreign };
                cx.send(LpId::from_index(region), params.latent + time, infection);
            }
        }
        let recovery = EpidemicMessage::Recover { person: person as u32 };
        cx.send(me, params.latent + infectious, recovery);
    }
}

impl LogicalProcess for Region {
    type Model = Epidemic;
    type Message = EpidemicMessage;
    type Summary = Tally;
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, epidemic: &Epidemic, cx: &mut impl Context<EpidemicMessage>) {
        let params = &epidemic.params;
        let me = cx.me().index();
        // The first infected are spread evenly over all people.
        for n in 0..params.infected {
            let person = n * params.people / params.infected;
            if params.region_of(person) == me {
                self.infect(epidemic, person, cx);
            }
        }
    }

    fn handle(
        &mut self,
        epidemic: &Epidemic,
        message: &EpidemicMessage,
        cx: &mut impl Context<EpidemicMessage>,
    ) {
        let first = epidemic.params.first_of(cx.me().index());
        match *message {
            EpidemicMessage::Infect { person, is_foreign } => {
                let person = person as usize;
                if self.people[person - first] == Health::Susceptible {
                    self.counts.foreign += u64::from(is_foreign);
                    self.infect(epidemic, person, cx);
                }
            }
            EpidemicMessage::Recover { person } => {
                *self.people.write(person as usize - first, cx) = Health::Recovered;
                self.counts.recovered += 1;
            }
        }
    }

    fn identity(epidemic: &Epidemic, message: &EpidemicMessage) -> Option<u64> {
        // The fingerprint covers the whole message.
        Some(Self::fingerprint(epidemic, message))
    }

    fn finish(self, _: &Epidemic, _: VirtualTime) -> Tally {
        let Self { people, infections: days, counts } = self;
        let are = |health| people.iter().filter(|person| **person == health).count() as u64;
        let infections: u64 = days.iter().map(|&count| u64::from(count)).sum();
        let (ill, recovered) = (are(Health::Infected), are(Health::Recovered));
        assert!(
            infections == ill + recovered && counts.recovered == recovered,
            "EPIDEMIC-A: {infections} infections of {ill} who are ill and {recovered} who were"
        );
        Tally { infections: days.into_inner(), counts }
    }

    fn fingerprint(_: &Epidemic, message: &EpidemicMessage) -> u64 {
        match *message {
            EpidemicMessage::Infect { person, is_foreign } => {
                mix(1 + u64::from(is_foreign), person.into())
            }
            EpidemicMessage::Recover { person } => mix(3, person.into()),
        }
    }
}
