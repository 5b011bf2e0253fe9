//! The figures: one file each, and one line in [`ALL`], which the command reads.
//!
//! | figure | file | data |
//! |---|---|---|
//! | 1, 2, 5, 6 of the buffer paper | `fig1` … `fig6` | [`Replay`]: traced runs on that machine |
//! | the knee of 5 by processors (section 4) | `knee` | the same |
//! | 3, 4, 7, 8 of the buffer paper | `fig3` … `fig8` | real runs |
//! | pools' memory (buffer paper, in words) | `pool_memory` | runs in turn |
//! | pools' numbers (buffer paper, in words) | `pool_parameters` | real runs |
//! | 1 of the GTW paper | `gtw_fig1` | real runs |
//! | GVT thrashing (GTW paper, in words) | `gtw_thrashing` | real runs |
//! | batches and quotas (GTW paper, in words) | `gtw_parameters` | real runs |
//! | 5 and 6 of the portable-runtime paper | `runtime_fig5`, `runtime_fig6` | real runs |
//! | 5 beyond the cores of this machine | `runtime_path` | bounds: the longest chains of events |
//! | the paper's section 2 | `runtime_feedback` | real runs |
//! | 6, upper half, on a network | `runtime_network` | real runs with a transport that takes time |
//! | 6 of the NUMA paper | `numa_fig6` | real runs |
//! | the same | `numa_fig6_nodes` | traced runs on the paper's machine |
//! | 7 to 9 of the NUMA paper | `numa_daemons` | a traced run on the paper's machine |
//! | other machines (buffer paper, section 8) | `architectures` | traced runs on several machines |
//! | buffer hogging (buffer paper, section 5) | `hogging` | real runs, of a source that sends to all |
//! | the same, isolated | `flooding` | runs in turn, of a source that sends to one |
//!
//! Buffer hogging has two figures because it has two effects: `hogging` measures what a source
//! costs the workers that it sends to, in time; `flooding` counts what it costs workers that have
//! nothing to do with it, in turns, which only the pool decides.

use crate::{Figure, replay::Replay};
use warpline::settings::PoolKind;

pub mod architectures;
mod circuits;
mod computed;
pub mod fig1;
pub mod fig2;
pub mod fig3;
pub mod fig4;
pub mod fig5;
pub mod fig6;
pub mod fig7;
pub mod fig8;
pub mod flooding;
pub mod gtw_fig1;
pub mod gtw_parameters;
pub mod gtw_thrashing;
pub mod hogging;
pub mod knee;
mod numa;
pub mod numa_daemons;
pub mod numa_fig6;
pub mod numa_fig6_nodes;
pub mod pool_memory;
pub mod pool_parameters;
mod pools;
pub mod runtime_feedback;
pub mod runtime_fig5;
pub mod runtime_fig6;
pub mod runtime_network;
pub mod runtime_path;
#[cfg(test)]
pub(crate) mod testing;

/// All figures, in the order of the command's list.
pub const ALL: &[&dyn Figure] = &[
    &fig1::Fig1(Replay::KSR2),
    &fig2::Fig2(Replay::KSR2),
    &fig3::Fig3,
    &fig4::Fig4,
    &fig5::Fig5(Replay::KSR2),
    &fig6::Fig6(Replay::KSR2),
    &knee::Knee(Replay::KSR2),
    &fig7::Fig7,
    &fig8::Fig8,
    &pool_memory::PoolMemory,
    &pool_parameters::PoolParameters,
    &gtw_fig1::GtwFig1,
    &gtw_thrashing::GtwThrashing,
    &gtw_parameters::GtwParameters,
    &runtime_fig5::RuntimeFig5,
    &runtime_path::RuntimePath,
    &runtime_feedback::RuntimeFeedback,
    &runtime_fig6::RuntimeFig6::AGGREGATION,
    &runtime_network::RuntimeNetwork,
    &runtime_fig6::RuntimeFig6::CAPACITY,
    &numa_fig6::NumaFig6,
    &numa_fig6_nodes::NumaFig6Nodes,
    &numa_daemons::NumaDaemons::SPEED_UP,
    &numa_daemons::NumaDaemons::WITHOUT,
    &numa_daemons::NumaDaemons::PLAIN,
    &architectures::Architectures,
    &flooding::FloodingFigure,
    &hogging::HoggingFigure,
];

const RECEIVER: &str = PoolKind::Receiver.name();
const SENDER: &str = PoolKind::Sender.name();
const PARTITIONED: &str = PoolKind::Partitioned.name();
const ADAPTIVE: &str = PoolKind::Adaptive.name();
/// Partitioned pools with on-the-fly fossil collection, as the buffer paper has them.
const ON_THE_FLY: &str = "partitioned, on-the-fly";
/// Partitioned pools in which an empty list takes from another one.
const SHARING: &str = "partitioned, sharing";

const MIB: u64 = 1 << 20;
