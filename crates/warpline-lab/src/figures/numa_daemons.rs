//! Figures 7 to 9 of the NUMA paper: traffic that becomes uneven, on the paper's machine, by the
//! number of page migration daemons and by how often they are woken.
//!
//! [`nodes`](crate::nodes) replays a trace of Time Warp on a model of that machine.

use std::ops::RangeInclusive;

use super::numa;
use crate::{
    Axis, Bounds, Claim, Constant, Curve, Dot, Figure, Findings, Lab, LabError, Plot, Source,
    Table,
    nodes::{Memory, NodeCounts, NodeParams},
};

/// Figures 7 to 9 of the NUMA paper.
#[derive(Debug)]
pub struct NumaDaemons {
    name: &'static str,
    title: &'static str,
    y: &'static str,
    /// What the runs with daemons are compared with.
    against: Memory,
    paper: &'static str,
    /// The claim about the greatest number, and its range.
    greatest: (&'static str, Bounds),
}

const LPS: usize = 1024;
/// Seconds between two cars that join at a junction, estimated, and the others that `sensitivity`
/// tells of. The paper takes it from a publication that does not give it either.
const INTERARRIVAL: f64 = 20.0;
const OTHER_INTERARRIVALS: [f64; 2] = [10.0, 40.0];
/// The part of the day that is replayed (s): when as many cars leave as join.
const PART: [f64; 2] = [14_400.0, 21_600.0];
/// Seconds between two wakings of the daemons: the paper's from 2 to 10, about which its claims
/// are, and others, which it leaves open.
const PERIODS: [usize; 8] = [1, 2, 4, 6, 8, 10, 20, 40];
const PAPERS: RangeInclusive<f64> = 2.0..=10.0;
const DAEMONS: [usize; 4] = [4, 8, 16, 32];

impl NumaDaemons {
    /// Figure 7: against the sequential engine.
    pub const SPEED_UP: Self = Self {
        name: "numa-fig7",
        title: "Uneven traffic on 8 nodes: speed-up of Time Warp with daemons",
        y: "speed-up against the sequential engine",
        against: Memory::Sequential,
        paper: "Pellegrini and Quaglia 2015, figure 7: the motorways of Italy as 1024 LPs with \
                many cars and accidents, on 32 cores of 8 nodes. With the NUMA memory manager and \
                daemons the speed-up was about 37 with few daemons that were woken often, and 28 \
                to 30 at least.",
        greatest: ("the greatest speed-up is about 37", Bounds::Within(33.0, 41.0)),
    };
    /// Figure 8: against the same without daemons.
    pub const WITHOUT: Self = Self {
        name: "numa-fig8",
        title: "Uneven traffic on 8 nodes: Time Warp with daemons against without",
        y: "rate by that without daemons",
        against: Memory::Segments,
        paper: "Pellegrini and Quaglia 2015, figure 8: with page migration daemons Time Warp was \
                up to 5.5 times as fast as without, because the pages of LPs that load sharing \
                moves stay behind without them.",
        greatest: ("daemons make it up to 5.5 times as fast", Bounds::Within(4.5, 6.5)),
    };
    /// Figure 9: against plain memory.
    pub const PLAIN: Self = Self {
        name: "numa-fig9",
        title: "Uneven traffic on 8 nodes: Time Warp with daemons against plain memory",
        y: "rate by that with plain memory",
        against: Memory::Plain,
        paper: "Pellegrini and Quaglia 2015, figure 9: with its memory manager and daemons Time \
                Warp was up to 7 times as fast as with the memory of glibc.",
        greatest: ("it is up to 7 times as fast as with plain memory", Bounds::Within(6.0, 8.0)),
    };
}

impl Figure for NumaDaemons {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let settings = lab.settings;
        let traces = numa::Traces::record(&numa::italy(LPS, INTERARRIVAL), settings, PART)?;
        let machine = NodeParams::opteron();
        let against = traces.replay(machine, self.against)?;
        let mut replays = Vec::new();
        for period in PERIODS {
            replays.push((period, traces.replay(machine, Memory::Daemons(period))?));
        }
        let curves = curves(&replays, against.seconds);
        let table = table(self.y, &against, &replays, &curves);
        let mut remarks = vec![far_lines(&against, &replays)];
        let ratio = (self.y, [self.against, Memory::Daemons(*PAPERS.start() as usize)]);
        remarks.extend(traces.sensitivity(&[ratio])?);
        for interarrival in OTHER_INTERARRIVALS {
            let traffic = numa::italy(LPS, interarrival);
            let text = numa::with_other_traffic(&traffic, settings, PART, ratio)?;
            remarks.push(format!("Sensitivity, a car every {interarrival} s: {text}."));
        }
        remarks.push(of_interference(&replays, against.seconds));
        remarks.push(traces.describe());
        let x = Axis::new("time between two wakings of the daemons (s)")
            .with_ticks(PERIODS.map(|period| period as f64));
        Ok(Findings {
            claims: self.claims(&curves, &against, &replays),
            plot: Plot { title: self.title.to_owned(), x, y: Axis::new(self.y), curves },
            table,
            paper: self.paper,
            setup: format!(
                "Traffic on the motorways of Italy, {LPS} LPs, a car at each junction every \
                 {INTERARRIVAL} s, from {} to {} s of virtual time. A run of Time Warp whose 32 \
                 workers take turns is replayed through the caches of 32 workers on 8 nodes \
                 (`warpline_lab::nodes`): states, saved states and events with their sizes, what \
                 was rolled back included, near and far. LPs move when the busiest worker has more \
                 than 1.1 times the mean to do. Nobody waits for memory that others use.",
                settings.shortened(PART[0]),
                settings.shortened(PART[1])
            ),
            source: Source::Computed,
            constants: constants(),
            remarks,
        })
    }
}

impl NumaDaemons {
    fn claims(
        &self,
        curves: &[Curve],
        against: &NodeCounts,
        replays: &[(usize, NodeCounts)],
    ) -> Vec<Claim> {
        let within = |dot: &&Dot| PAPERS.contains(&dot.x);
        let of_papers = || curves.iter().flat_map(|curve| &curve.dots).filter(within);
        let greatest = of_papers().map(|dot| dot.y).fold(f64::NEG_INFINITY, f64::max);
        let often = curves[0].dots.iter().find(within);
        let few_and_often = often.map_or(f64::NAN, |dot| dot.y / greatest);
        let (text, range) = self.greatest;
        let of_paper = |text: &str| Claim::of_paper(text).with_basis(numa::basis());
        let mut claims = vec![
            of_paper(text).test("the greatest", greatest, range),
            of_paper("few daemons that are woken often are the best, within 2 %").test(
                "4 daemons every 2 s / the best",
                few_and_often,
                Bounds::Above(0.98),
            ),
        ];
        if self.against == Memory::Sequential {
            let least = of_papers().map(|dot| dot.y).fold(f64::INFINITY, f64::min);
            let claim = of_paper("with any number and period it is 28 to 30 at least");
            claims.push(claim.test("the least", least, Bounds::Within(28.0, 41.0)));
        }
        let others = curves.iter().flat_map(|curve| curve.dots.iter().map(move |dot| (curve, dot)));
        let others = others.filter(|(_, dot)| !PAPERS.contains(&dot.x));
        let claim = Claim::own("no other period than the paper's 2 to 10 s is better, within 2 %");
        claims.push(others.fold(claim.with_basis(numa::basis()), |claim, (curve, dot)| {
            let place = format!("{} every {} s / the best of 2 to 10 s", curve.name, dot.x);
            claim.test(place, dot.y / greatest, Bounds::AtMost(1.02))
        }));
        if self.against == Memory::Segments {
            let claim = Claim::own("with daemons fewer lines are far").with_basis(numa::basis());
            claims.push(replays.iter().fold(claim, |claim, (period, counts)| {
                let part = counts.far as f64 / against.far as f64;
                claim.test(format!("every {period} s / without"), part, Bounds::AtMost(0.95))
            }));
        }
        claims
    }
}

/// The time of a replay with what so many daemons take from the workers, and so many times that.
fn seconds(counts: &NodeCounts, daemons: usize, period: usize, times: f64) -> f64 {
    counts.seconds * (1.0 + times * numa::INTERFERENCE * daemons as f64 / period as f64)
}

/// A curve for each number of daemons. They only differ by what daemons take from the workers: each
/// waking moves all pages that have to move.
fn curves(replays: &[(usize, NodeCounts)], against: f64) -> Vec<Curve> {
    let curve = |daemons: usize| {
        let dot = |&(period, counts): &(usize, NodeCounts)| {
            let y = against / seconds(&counts, daemons, period, 1.0);
            Dot { x: period as f64, y, low: y, high: y, hollow: false }
        };
        Curve::new(format!("{daemons} daemons"), replays.iter().map(dot).collect())
    };
    DAEMONS.map(curve).into()
}

/// A row for each point; the first one is what they are compared with.
fn table(y: &str, first: &NodeCounts, replays: &[(usize, NodeCounts)], curves: &[Curve]) -> Table {
    let row = |name: &str, x: String, y: f64, counts: &NodeCounts| {
        let NodeCounts { near, far, far_written, moved, seconds, .. } = counts;
        let [near, far, written, moved] = [near, far, far_written, moved].map(u64::to_string);
        let seconds = format!("{seconds:.4}");
        vec![name.to_owned(), x, format!("{y:.4}"), near, far, written, moved, seconds]
    };
    let mut rows = vec![row("compared with", String::new(), 1.0, first)];
    for curve in curves {
        for (dot, (_, counts)) in curve.dots.iter().zip(replays) {
            rows.push(row(&curve.name, dot.x.to_string(), dot.y, counts));
        }
    }
    let header = [
        "curve",
        "period (s)",
        y,
        "near lines read",
        "far lines read",
        "far lines written",
        "LPs moved",
        "seconds of the replay",
    ];
    Table { header: header.map(str::to_owned).into(), rows }
}

fn constants() -> Vec<Constant> {
    let mut constants = numa::constants();
    constants.extend([
        Constant::paper(
            format!("{LPS} LPs, {DAEMONS:?} daemons, woken every 2 to 10 s"),
            "section 4, figures 7 to 9",
        ),
        Constant::ours(format!("{PERIODS:?} s"), "shorter and longer ones, which it leaves open"),
        Constant::estimated(
            format!("a car at each junction every {INTERARRIVAL} s"),
            "the paper gives none; the text has the sensitivity to it",
        ),
    ]);
    constants
}

/// What a few daemons that are woken often come to if daemons take half or twice as much, for the
/// text.
fn of_interference(replays: &[(usize, NodeCounts)], against: f64) -> String {
    let often = replays.iter().find(|(period, _)| PAPERS.contains(&(*period as f64)));
    let texts = [0.5, 1.0, 2.0].map(|times| {
        let y = often.map_or(f64::NAN, |&(period, counts)| {
            against / seconds(&counts, DAEMONS[0], period, times)
        });
        format!("{y:.2}")
    });
    let [half, same, twice] = texts;
    format!("Sensitivity, half of what daemons take: {half}; as it is {same}; twice {twice}.")
}

/// How much comes from far, for the text.
fn far_lines(against: &NodeCounts, replays: &[(usize, NodeCounts)]) -> String {
    let part = |counts: &NodeCounts| 100.0 * counts.far as f64 / (counts.near + counts.far) as f64;
    let parts =
        replays.iter().map(|(period, counts)| format!("{:.1} % every {period} s", part(counts)));
    format!(
        "Lines that are read from far: {:.1} % in what daemons are compared with; with daemons {}. \
         Heaps: {} MiB.",
        part(against),
        parts.collect::<Vec<_>>().join(", "),
        against.bytes >> 20
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    fn verdicts(figure: &NumaDaemons, seconds: [f64; 8], against: f64) -> Vec<Verdict> {
        let counts = seconds.map(|seconds| NodeCounts { seconds, ..NodeCounts::default() });
        let replays: Vec<_> = PERIODS.into_iter().zip(counts).collect();
        let first = NodeCounts { far: 4, ..NodeCounts::default() };
        let claims = figure.claims(&curves(&replays, against), &first, &replays);
        claims[..2].iter().map(Claim::verdict).collect()
    }

    /// Numbers like the paper's are as claimed, by what was fitted, and others are not.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let slower = [1.0, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6];
        let faster = [2.0, 2.0, 1.8, 1.6, 1.4, 1.0, 1.0, 1.0];
        for (figure, greatest) in [
            (&NumaDaemons::SPEED_UP, 37.0),
            (&NumaDaemons::WITHOUT, 5.5),
            (&NumaDaemons::PLAIN, 7.0),
        ] {
            assert_eq!(verdicts(figure, slower, greatest), [Verdict::Fitted; 2]);
            assert_eq!(verdicts(figure, faster, 1.5), [Verdict::No; 2]);
        }
    }

    /// Figure 7 has a lower end, too.
    #[test]
    fn the_least_speed_up_is_judged() {
        let least = |seconds| {
            let replays = [(2, NodeCounts { seconds, ..NodeCounts::default() })];
            let first = NodeCounts::default();
            let claims = NumaDaemons::SPEED_UP.claims(&curves(&replays, 31.0), &first, &replays);
            claims[2].verdict()
        };
        assert_eq!((least(1.0), least(1.2)), (Verdict::Fitted, Verdict::No));
    }

    /// Our own claim is one of figure 8, and about the lines that are far.
    #[test]
    fn far_lines_are_compared() {
        let verdict = |figure: &NumaDaemons, far| {
            let replays = [(2, NodeCounts { seconds: 1.0, far, ..NodeCounts::default() })];
            let first = NodeCounts { far: 4, ..NodeCounts::default() };
            let claims = figure.claims(&curves(&replays, 1.0), &first, &replays);
            claims.get(3).map(Claim::verdict)
        };
        assert_eq!(verdict(&NumaDaemons::WITHOUT, 2), Some(Verdict::Fitted));
        assert_eq!(verdict(&NumaDaemons::WITHOUT, 4), Some(Verdict::No));
        assert_eq!(verdict(&NumaDaemons::PLAIN, 2), None);
    }

    /// A period that the paper does not have may be better, and decides none of its claims.
    #[test]
    fn other_periods_have_a_claim_of_their_own() {
        let of = |shortest| {
            let mut seconds = [2.0; 8];
            seconds[0] = shortest;
            let counts = seconds.map(|seconds| NodeCounts { seconds, ..NodeCounts::default() });
            let replays: Vec<_> = PERIODS.into_iter().zip(counts).collect();
            let (figure, first) = (&NumaDaemons::PLAIN, NodeCounts::default());
            let claims = figure.claims(&curves(&replays, 14.0), &first, &replays);
            (claims[0].verdict(), claims[2].verdict())
        };
        assert_eq!(of(2.0), (Verdict::Fitted, Verdict::Fitted));
        assert_eq!(of(1.0), (Verdict::Fitted, Verdict::Partly(8, 12)));
    }

    /// More daemons take more from the workers, the more often they are woken.
    #[test]
    fn daemons_take_time() {
        let replays =
            [2, 10].map(|period| (period, NodeCounts { seconds: 1.0, ..NodeCounts::default() }));
        let curves = curves(&replays, 10.0);
        assert_eq!(curves.len(), DAEMONS.len());
        let [few, many] = [&curves[0].dots, &curves[3].dots];
        assert!(few[0].y > many[0].y && many[1].y > many[0].y);
        assert!((many[0].y * 1.05 - 10.0).abs() < 1e-9);
    }
}
