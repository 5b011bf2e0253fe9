//! Where the numbers of a machine are from, one [`Provenance`] for each group of them.
//!
//! The presets of [`MachineParams`] carry their [`Sources`]; figures print
//! [`MachineParams::constants`] and judge by the worst of them.

use super::{Costs, Geometry, LockCosts, MachineParams};
use crate::constants::{
    Constant,
    Provenance::{self, Estimated, Fitted, Paper, Published},
};

/// Where the numbers of a machine are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The number of workers, and of those on a ring.
    pub workers: Provenance,
    /// The sizes of lines and pages.
    pub sizes: Provenance,
    /// The sub-cache.
    pub sub_cache: Provenance,
    /// The cache.
    pub cache: Provenance,
    /// How many pages a worker maps.
    pub pages: Provenance,
    /// Which line or page is evicted.
    pub replacement: Provenance,
    /// The time of a hit, in the sub-cache as well.
    pub hit: Provenance,
    /// The time of a line from another worker's cache, and of a write that is announced.
    pub remote_miss: Provenance,
    /// The time of a line from a cache on another ring.
    pub far_miss: Provenance,
    /// The time of a line from memory.
    pub memory_miss: Provenance,
    /// The time of a page miss.
    pub page_miss: Provenance,
    /// The times of locks.
    pub lock: Provenance,
}

const KSR1: Provenance =
    Published("Ramachandran and others 1996, for the KSR-1; not checked for the KSR-2");
const BUFFER_3_4: Provenance = Paper("buffer paper, section 3.4");
const INTEL: Provenance = Published("Intel, Optimization Reference Manual, Golden Cove");
const ROUND: Provenance = Estimated("a round number of the order that is published");

impl Sources {
    /// Of [`MachineParams::ksr2`].
    pub(super) const KSR2: Self = Self {
        workers: Paper("buffer paper, section 4; a ring: as for the KSR-1"),
        sizes: Published("the KSR-1 in netlib's Top 500 report of 1994; buffer paper, section 4"),
        sub_cache: KSR1,
        cache: Paper("buffer paper, section 4: lines come into frames of pages one by one"),
        pages: KSR1,
        replacement: Estimated("the paper says nothing about it"),
        hit: BUFFER_3_4,
        remote_miss: Published("the KSR-1 in netlib's Top 500 report of 1994"),
        far_miss: BUFFER_3_4,
        memory_miss: Estimated("as a line from another cache: no line is in none"),
        page_miss: Fitted("the decline of the rate in the buffer paper's figures 4 and 5"),
        lock: BUFFER_3_4,
    };
    /// Of [`MachineParams::server`].
    pub(super) const SERVER: Self = Self {
        workers: Estimated("a socket of the usual size"),
        sizes: Published("the architecture"),
        sub_cache: Estimated("the L1 is left out"),
        cache: INTEL,
        pages: INTEL,
        replacement: Estimated("the nearest simple rule"),
        hit: INTEL,
        remote_miss: ROUND,
        far_miss: ROUND,
        memory_miss: ROUND,
        page_miss: Estimated("a walk of about 30 cycles whose tables are in the caches"),
        lock: Estimated("measured alone and between two cores; across sockets a guess"),
    };
    /// Of [`MachineParams::opteron`].
    pub(super) const OPTERON: Self = Self {
        workers: Paper("NUMA paper, section 4"),
        cache: Estimated("the L2 and a quarter of the L3 (NUMA paper, section 4) as one cache"),
        pages: Published("AMD, Software Optimization Guide for AMD Family 10h Processors"),
        hit: Estimated("about 15 cycles of L2 and 40 of L3 at 2 GHz"),
        page_miss: Estimated("a walk whose tables are in the caches"),
        ..Self::SERVER
    };
}

impl MachineParams {
    /// The numbers of the machine that a replay uses, with their sources. The time of locks is left
    /// out, because a trace has none.
    #[must_use]
    pub fn constants(&self) -> Vec<Constant> {
        // Without `..`: a new field has to be listed.
        let Self {
            workers,
            ring_workers,
            sub_cache,
            line_bytes,
            cache,
            page_bytes,
            pages,
            unmapping_evicts: _,
            replacement: _,
            protocol: _,
            costs,
            sources,
        } = *self;
        let bytes = |geometry: Geometry, unit: u32| geometry.places() as f64 * f64::from(unit);
        let number = Constant::new;
        let mut all = vec![
            number("workers", workers.into(), "", sources.workers),
            number("a line", line_bytes.into(), "bytes", sources.sizes),
            number("a page", page_bytes.into(), "bytes", sources.sizes),
            number("pages that a worker maps", pages.places() as f64, "", sources.pages),
        ];
        if ring_workers < workers {
            all.push(number("workers of a ring", ring_workers.into(), "", sources.workers));
        }
        if let Some(sub) = sub_cache {
            let size = bytes(sub.blocks, sub.block_bytes);
            all.push(number("a sub-cache", size, "bytes", sources.sub_cache));
        }
        if let Some(cache) = cache {
            all.push(number("a cache", bytes(cache, line_bytes), "bytes", sources.cache));
        }
        all.extend(costs.constants(sub_cache.is_some(), &sources));
        all
    }
}

impl Costs {
    fn constants(self, has_sub_cache: bool, sources: &Sources) -> Vec<Constant> {
        let Self {
            sub_hit_ns,
            hit_ns,
            remote_miss_ns,
            far_miss_ns,
            memory_miss_ns,
            announcement_ns,
            page_miss_ns,
            lock: LockCosts { .. },
        } = self;
        let time = |name, value, from| Constant::new(name, value, "ns", from);
        let mut all = vec![
            time("a hit", hit_ns, sources.hit),
            time("a line from another cache", remote_miss_ns, sources.remote_miss),
            time("a line from memory", memory_miss_ns, sources.memory_miss),
            time("a write that others are told of", announcement_ns, sources.remote_miss),
            time("a page miss", page_miss_ns, sources.page_miss),
        ];
        if has_sub_cache {
            all.push(time("a hit of the sub-cache", sub_hit_ns, sources.hit));
        }
        if far_miss_ns > remote_miss_ns {
            all.push(time("a line from another ring", far_miss_ns, sources.far_miss));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Basis, constants::basis};

    /// What rests on a machine's times is no evidence, as long as one of them is a guess.
    #[test]
    fn presets_say_where_numbers_are_from() {
        let of = |params: MachineParams| basis(&params.constants(), "the times");
        assert_eq!(of(MachineParams::ksr2()), Basis::Fitted("the times"));
        assert_eq!(of(MachineParams::server()), Basis::Estimated("the times"));
        assert_eq!(of(MachineParams::opteron()), Basis::Estimated("the times"));
        let told: Vec<_> =
            MachineParams::ksr2().constants().iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|line| line.starts_with("a page miss: 400000 ns (fitted: ")));
    }
}
