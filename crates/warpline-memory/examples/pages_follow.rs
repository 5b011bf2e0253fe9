//! Whether pages follow their heap to another NUMA node, and stay there: a check for machines with
//! two nodes or more, which `.ci/numa` starts under QEMU.
//!
//! Heaps get memory on the first node, and are sent to the second. Then a thread on the first node
//! reads all of it again and again, for as many seconds as the argument says (10 if there is none),
//! so that the system's automatic balancing, if it is on, would like to have the pages back.

use std::{
    hint::black_box,
    io::{self, Write, stdout},
    process::ExitCode,
    time::{Duration, Instant},
};

use warpline_memory::{Home, NodeAllocator, Realigned, Residency, Topology, bind_worker};

#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

const HEAPS: usize = 64;
/// Blocks in each heap, and bytes in each block.
const BLOCKS: usize = 256;
const BYTES: usize = 3000;

fn main() -> io::Result<ExitCode> {
    let seconds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(10);
    let topology = Topology::of_process();
    let nodes: Vec<u32> =
        topology.nodes().iter().filter(|node| node.has_memory).map(|node| node.id).collect();
    let [first, second, ..] = nodes[..] else {
        writeln!(stdout(), "this machine has a single NUMA node: nothing to see")?;
        return Ok(ExitCode::SUCCESS);
    };
    let _binding = bind_worker(0, 2);
    let Some(homes) = Home::of_lps(HEAPS) else {
        writeln!(stdout(), "the system has no addresses to spare")?;
        return Ok(ExitCode::FAILURE);
    };
    let fill = |home: &Home| {
        home.set_node(Some(first));
        let _route = home.enter();
        (0..BLOCKS).map(|_| vec![1_u8; BYTES].into_boxed_slice()).collect::<Vec<_>>()
    };
    let blocks: Vec<_> = homes.iter().map(fill).collect();
    let mut all_right = tell("at the start", &homes)?;
    homes.iter().for_each(|home| home.set_node(Some(second)));
    let since = Instant::now();
    let done: Vec<Realigned> = homes.iter().map(Home::realign).collect();
    let spent = since.elapsed().as_secs_f64();
    let segments: u64 = done.iter().map(|done| done.segments).sum();
    writeln!(stdout(), "{segments} segments were moved in {spent:.3} s")?;
    all_right &= tell("after the move", &homes)?;
    let (since, mut sum) = (Instant::now(), 0);
    while since.elapsed() < Duration::from_secs(seconds) {
        sum += blocks
            .iter()
            .flatten()
            .flat_map(|block| block.iter())
            .map(|&b| u64::from(b))
            .sum::<u64>();
    }
    black_box(sum);
    all_right &= tell(&format!("{seconds} s later, read from the first node"), &homes)?;
    Ok(if all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints where the pages are, and says whether nearly all are at home.
fn tell(when: &str, homes: &[Home]) -> io::Result<bool> {
    let all = homes.iter().fold(Residency::default(), |sum, home| sum.plus(home.residency()));
    let share = 100.0 * all.pages_at_home as f64 / all.pages.max(1) as f64;
    writeln!(
        stdout(),
        "{when}: {} of {} pages at home: {share:.2} %",
        all.pages_at_home,
        all.pages
    )?;
    Ok(all.pages > 0 && share >= 99.0)
}
