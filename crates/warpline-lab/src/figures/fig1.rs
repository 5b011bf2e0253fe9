//! Figure 1 of the buffer paper: the time of a remote send by the size of the message.
//!
//! What caching takes is found by replaying a run through a model of the machine. What the lock
//! takes is not: it is one of the paper's own numbers, so the claim about it is an input.

use warpline::settings::Pool;
use warpline_models::phold::PholdParams;

use super::{
    MIB,
    computed::{self, Query},
};
use crate::{
    Axis, Basis, Bounds, Claim, Constant, Figure, Findings, Lab, LabError, Plot, Source, Table,
    machine::Replacement,
    memory_system::{BufferRun, Fetch, MemorySystem},
};

/// Figure 1 with the memory system that it asks for the times.
#[derive(Debug)]
pub struct Fig1<S>(pub S);

/// The sizes of messages, in KiB.
const SIZES: [f64; 6] = [0.25, 1.0, 2.0, 4.0, 6.0, 8.0];

/// What the paper calls about 20 microseconds.
const ABOUT_20: Bounds = Bounds::Within(15.0, 25.0);

const RECEIVER: &str = "receiver pool";
const UNLOCKED: &str = "receiver pool without its lock";
const SENDER: &str = "sender pool";
const COPY: &str = "writing the message";

impl<S: MemorySystem> Figure for Fig1<S> {
    fn name(&self) -> &'static str {
        "fig1"
    }

    fn title(&self) -> &'static str {
        "Time of a remote send by message size, split into lock, caching and copy"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let sends = |replacement, sizes: &[f64]| self.sends(lab, replacement, sizes);
        let [guess, other] = computed::GUESSES.map(|guess| guess.replacement);
        let (plot, table) = sends(guess, &SIZES)?;
        // The least and the greatest message only: whether the guess decides takes no more.
        let (with_other, _) = sends(other, &[SIZES[0], SIZES[SIZES.len() - 1]])?;
        let others = claims(&with_other);
        let claims = Claim::all_tested_too(claims(&plot), &other.to_string(), others);
        let largest = run(lab, guess, Pool::SENDER, SIZES[SIZES.len() - 1]);
        let remarks = vec![self.prefetching(&largest)?];
        Ok(Findings {
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, figure 1: sends to another processor, PHOLD with 64 \
                    LPs and 128 messages on eight processors of a KSR-2, with 7.6 MB. Receiver \
                    pools took longer than sender pools, by about 20 microseconds for the lock and \
                    by cache misses that grow with the message.",
            setup: format!(
                "PHOLD, 64 LPs, 128 events, 8 workers, 7.6 MiB of event buffers. {}",
                self.0.describe()
            ),
            source: Source::Computed,
            claims,
            constants: constants(),
            remarks,
        })
    }
}

/// The run of a point.
fn run(lab: &Lab<'_>, replacement: Replacement, pool: Pool, kibibytes: f64) -> BufferRun {
    BufferRun {
        model: PholdParams {
            lps: 64,
            population: 128,
            payload: (kibibytes * 1024.0) as usize,
            ..PholdParams::default()
        },
        end: lab.settings.shortened(1_000.0),
        seed: lab.settings.seed,
        workers: 8,
        pool,
        memory: (7.6 * MIB as f64) as u64,
        fetch: Fetch::Exclusive,
        replacement,
    }
}

impl<S: MemorySystem> Fig1<S> {
    /// The times of sends by the size of the message.
    fn sends(
        &self,
        lab: &Lab<'_>,
        replacement: Replacement,
        sizes: &[f64],
    ) -> Result<(Plot, Table), LabError> {
        let receiver = |kibibytes| run(lab, replacement, Pool::RECEIVER, kibibytes);
        let sender = |kibibytes| run(lab, replacement, Pool::SENDER, kibibytes);
        let queries = [
            Query { name: RECEIVER.into(), run: &receiver, number: |c| c.remote_send.total() },
            Query {
                name: UNLOCKED.into(),
                run: &receiver,
                number: |c| c.remote_send.total() - c.remote_send.lock,
            },
            Query { name: SENDER.into(), run: &sender, number: |c| c.remote_send.total() },
            Query { name: COPY.into(), run: &sender, number: |c| c.remote_send.copy },
        ];
        let axes = [Axis::new("message size (KiB)"), Axis::new("time of a send (microseconds)")];
        let title = "PHOLD, 64 LPs, 128 events, 8 workers";
        computed::plot(&self.0, title, axes, sizes, &queries)
    }

    /// What a prefetch of received buffers for writing is good for, in words.
    fn prefetching(&self, run: &BufferRun) -> Result<String, LabError> {
        let costs = |fetch| self.0.costs(&BufferRun { fetch, ..run.clone() });
        let [shared, exclusive] =
            [costs(Fetch::Shared)?, costs(Fetch::Exclusive)?].map(|costs| costs.receive);
        Ok(format!(
            "Exclusive prefetch (section 3.4): with the largest messages and sender pools, a \
             worker waits {shared:.1} microseconds for a message that it fetches for reading, and \
             then writes to. Fetched for writing it takes {exclusive:.1}, because no write is \
             announced, and a prefetch that comes early enough hides all of that. The times of \
             sends do not contain it."
        ))
    }
}

fn constants() -> Vec<Constant> {
    let mut constants = computed::constants();
    constants.extend([
        Constant::paper("64 LPs, 128 events, 8 processors, 7.6 MB", "section 3.4"),
        Constant::paper("a lock takes 3 and 14 microseconds", "section 3.4: an input"),
        Constant::ours("messages of 256 bytes to 8 KiB", "the range of the paper's plot"),
        Constant::ours("about 20 microseconds are 15 to 25", "the paper gives no range"),
    ]);
    constants
}

fn claims(plot: &Plot) -> Vec<Claim> {
    let [receiver, unlocked, sender] = [0, 1, 2].map(|n: usize| &plot.curves[n].dots);
    let last = sender.len() - 1;
    let [least, most] = [sender[0].x, sender[last].x];
    let caching = |place: usize| unlocked[place].y - sender[place].y;
    let lock = receiver[last].y - unlocked[last].y;
    vec![
        computed::test_higher(
            Claim::of_paper(
                "sends with receiver pools take longer, even without the lock: caching",
            ),
            &plot.curves,
            [UNLOCKED, SENDER],
            |_| true,
        ),
        Claim::of_paper("the time for caching grows with the message").test(
            format!("microseconds more at {most} than at {least} KiB"),
            caching(last) - caching(0),
            Bounds::Above(0.0),
        ),
        Claim::of_paper("the lock takes about 20 microseconds")
            .with_basis(Basis::Input(
                "a lock and an unlock take the times that the paper gives in section 3.4",
            ))
            .test(format!("microseconds at {most} KiB"), lock, ABOUT_20),
    ]
}
