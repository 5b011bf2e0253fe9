//! The numbers of a machine in a list, with their sources: figures print it, and judge by the worst
//! of them.

use super::{Costs, Geometry, LockCosts, MachineParams, Sources};
use crate::{Constant, Provenance};

impl MachineParams {
    /// The numbers of the machine that a replay uses, with their sources. The time of locks is left
    /// out, because a trace has none, and so is the number of workers, which is that of the run.
    #[must_use]
    pub fn constants(&self) -> Vec<Constant> {
        let mut all = self.constants_of_counts();
        let Self { costs, sources, replacement, .. } = *self;
        all.push(Constant::new(format!("replacement: {replacement}"), sources.replacement));
        let memory =
            Constant::number("a line from memory", costs.memory_miss_ns, "ns", sources.memory_miss);
        let page = Constant::number("a page miss", costs.page_miss_ns, "ns", sources.page_miss);
        all.extend([memory, page]);
        all
    }

    /// The same without what decides no count of misses and no part of a send, the times of lines
    /// from memory and of page misses, and without the rule of replacement.
    #[must_use]
    pub fn constants_of_counts(&self) -> Vec<Constant> {
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
            // `constants` has it.
            replacement: _,
            protocol: _,
            costs,
            sources,
        } = *self;
        let bytes = |geometry: Geometry, unit: u32| geometry.places() as f64 * f64::from(unit);
        let number = Constant::number;
        let mut all = vec![
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
            // `MachineParams::constants` has them.
            memory_miss_ns: _,
            announcement_ns,
            page_miss_ns: _,
            lock: LockCosts { .. },
        } = self;
        let time =
            |name: &str, value: f64, from: Provenance| Constant::number(name, value, "ns", from);
        let mut all = vec![
            time("a hit", hit_ns, sources.hit),
            time("a line from another cache", remote_miss_ns, sources.remote_miss),
            time("a write that others are told of", announcement_ns, sources.remote_miss),
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
    use crate::Basis;

    /// What rests on a machine's times is no evidence, as long as one of them is a guess.
    #[test]
    fn presets_say_where_numbers_are_from() {
        let of = |params: MachineParams| Constant::basis(&params.constants(), "the times");
        assert_eq!(of(MachineParams::ksr2()), Basis::Fitted("the times"));
        assert_eq!(of(MachineParams::server()), Basis::Estimated("the times"));
        assert_eq!(of(MachineParams::opteron()), Basis::Estimated("the times"));
        let lines: Vec<_> =
            MachineParams::ksr2().constants().iter().map(ToString::to_string).collect();
        assert!(lines.iter().any(|line| line.starts_with("a page miss: 400000 ns (fitted: ")));
    }
}
