//! `warpline nodes`: the NUMA nodes that a run would use.

use std::path::PathBuf;

use clap::Args;
use comfy_table::Row;
use serde_json::json;
use warpline::nodes::{MemoryPolicy, Node, Topology};

use crate::{
    args::InfoFormat,
    failure::Failure,
    format::{align_right, table},
    output::Output,
};

/// The flags of `nodes`.
#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    /// Directory to read instead of /sys/devices/system/node: another machine, all of which may be
    /// used
    #[arg(long, value_name = "DIR")]
    sysfs: Option<PathBuf>,
    /// Form of the description
    #[arg(long, value_enum, default_value_t)]
    format: InfoFormat,
}

/// Shows the nodes.
pub(crate) fn execute(args: &NodesArgs) -> Result<(), Failure> {
    let topology = match &args.sysfs {
        Some(directory) => Topology::read(directory)
            .map_err(|error| Failure::Configuration(format!("--sysfs: {error}")))?,
        None => Topology::of_process(),
    };
    let text = match args.format {
        InfoFormat::Text => describe(&topology),
        InfoFormat::Json => format!("{:#}\n", to_json(&topology)),
    };
    Output::open(None)?.write(text)
}

fn describe(topology: &Topology) -> String {
    let mut rows = table();
    rows.set_header(["node", "cores", "memory", "free", "workers", "distances"]);
    let mut worker = 0;
    for node in topology.nodes() {
        let workers = worker..worker + node.cores.len();
        worker = workers.end;
        let [total, free] = node.memory_bytes.map_or(["?".into(), "?".into()], |bytes| {
            bytes.map(|bytes| format!("{} MiB", bytes >> 20))
        });
        let total = if node.has_memory { total } else { format!("{total}, not for use") };
        let workers: Vec<_> = workers.collect();
        rows.add_row(Row::from([
            node.id.to_string(),
            ranges(&node.cores),
            total,
            free,
            ranges(&workers),
            node.distances.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
        ]));
    }
    align_right(&mut rows, 2..4);
    let policy = match topology.policy() {
        MemoryPolicy::Local => "",
        MemoryPolicy::Chosen => {
            "\nThe process was started with a memory policy of its own (numactl, for instance).\n"
        }
        MemoryPolicy::Unknown => "\nThe system does not say which memory this process may use.\n",
    };
    format!("{rows}\n{policy}")
}

/// Numbers in ascending order as a list such as `0-3,8`.
fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    if runs.is_empty() { "-".into() } else { runs.iter().map(run).collect::<Vec<_>>().join(",") }
}

fn to_json(topology: &Topology) -> serde_json::Value {
    let node = |node: &Node| {
        json!({
            "node": node.id,
            "cores": node.cores,
            "memory_bytes": node.memory_bytes.map(|[total, _]| total),
            "free_bytes": node.memory_bytes.map(|[_, free]| free),
            "has_memory": node.has_memory,
            "distances": node.distances,
        })
    };
    topology.nodes().iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_are_ranges() {
        assert_eq!(ranges(&[]), "-");
        assert_eq!(ranges(&[3]), "3");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }
}
