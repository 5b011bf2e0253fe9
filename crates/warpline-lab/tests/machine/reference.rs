//! A reference model of the machine, as simple as possible: it keeps the history of every copy and
//! of every mapping, and looks everything up there.

use std::collections::{BTreeMap, BTreeSet};

use warpline_lab::machine::{
    Access, AccessKind, CopyState, Counts, Geometry, MachineParams, Protocol, SubCacheParams,
};

/// An event in the history of a line in a worker's cache, or of a page in its map.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mark {
    /// The worker read or wrote it.
    Touched,
    /// Another worker's write updated it.
    Updated,
    /// It was evicted.
    Left,
    /// Another worker's write invalidated it.
    Invalidated,
}

/// All marks, with their times, by worker and by number of line or page.
#[derive(Debug, Default)]
struct History(BTreeMap<(u32, u64), Vec<(u64, Mark)>>);

impl History {
    fn of(&self, worker: u32, number: u64) -> &[(u64, Mark)] {
        self.0.get(&(worker, number)).map_or(&[], |marks| marks)
    }

    fn is_here(&self, worker: u32, number: u64) -> bool {
        matches!(self.of(worker, number).last(), Some((_, Mark::Touched | Mark::Updated)))
    }

    fn last_use(&self, worker: u32, number: u64) -> u64 {
        let touched = self.of(worker, number).iter().rev().find(|(_, mark)| *mark == Mark::Touched);
        touched.expect("what is here was touched").0
    }

    /// The line or page that is evicted for `number`, if the set is full.
    fn victim(&self, worker: u32, number: u64, geometry: Geometry) -> Option<u64> {
        let sets = u64::from(geometry.sets);
        let rivals: Vec<u64> = self
            .0
            .keys()
            .filter(|&&(other, rival)| {
                other == worker && rival % sets == number % sets && self.is_here(worker, rival)
            })
            .map(|&(_, rival)| rival)
            .collect();
        (rivals.len() >= geometry.ways as usize)
            .then(|| rivals.into_iter().min_by_key(|&rival| self.last_use(worker, rival)))
            .flatten()
    }
}

/// The reference model, for LRU.
#[derive(Debug)]
pub(crate) struct Reference {
    params: MachineParams,
    now: u64,
    reset_at: u64,
    lines: History,
    pages: History,
    blocks: History,
    /// The parts of lines that are in the sub-caches, by worker.
    parts: BTreeSet<(u32, u64)>,
    modified: BTreeSet<u64>,
    counts: Vec<Counts>,
}

impl Reference {
    pub(crate) fn new(params: MachineParams) -> Self {
        Self {
            params,
            now: 0,
            reset_at: 0,
            lines: History::default(),
            pages: History::default(),
            blocks: History::default(),
            parts: BTreeSet::new(),
            modified: BTreeSet::new(),
            counts: vec![Counts::default(); params.workers as usize],
        }
    }

    pub(crate) fn reset_counts(&mut self) {
        self.counts.fill(Counts::default());
        self.reset_at = self.now;
    }

    /// The counts. The needless updates are found in the histories: those that are followed by
    /// anything but a touch.
    pub(crate) fn counts(&self, worker: u32) -> Counts {
        let marks = self.lines.0.iter().filter(|((of, _), _)| *of == worker);
        let needless = marks.flat_map(|(_, marks)| marks.windows(2)).filter(|pair| {
            pair[0].0 > self.reset_at && pair[0].1 == Mark::Updated && pair[1].1 != Mark::Touched
        });
        Counts { needless_updates: needless.count() as u64, ..self.counts[worker as usize] }
    }

    pub(crate) fn copy_state(&self, worker: u32, address: u64) -> CopyState {
        let line = address / u64::from(self.params.line_bytes);
        match (self.lines.is_here(worker, line), self.holders(line).len()) {
            (false, _) => CopyState::Absent,
            (true, _) if self.modified.contains(&line) => CopyState::Modified,
            (true, 1) => CopyState::Exclusive,
            (true, _) => CopyState::Shared,
        }
    }

    pub(crate) fn access(&mut self, access: Access) {
        let Access { worker, kind, address, bytes } = access;
        self.counts[worker as usize].accesses += 1;
        let mut touched: Vec<u64> =
            (address..address + u64::from(bytes)).map(|byte| byte / self.line_bytes()).collect();
        touched.dedup();
        for line in touched {
            self.map(worker, line * self.line_bytes() / u64::from(self.params.page_bytes));
            let hit = self.lines.is_here(worker, line);
            self.fetch(worker, line);
            match kind {
                AccessKind::Read => self.read(worker, line),
                AccessKind::Write => self.write(worker, line),
            }
            self.mark_line(worker, line, Mark::Touched);
            let bytes = address..address + u64::from(bytes);
            let bytes: Vec<u64> = bytes.filter(|byte| byte / self.line_bytes() == line).collect();
            self.touch_parts(worker, &bytes, hit);
        }
    }

    /// Looks up bytes of a line in the worker's sub-cache; without one, the line was the part.
    fn touch_parts(&mut self, worker: u32, bytes: &[u64], hit: bool) {
        let Some(SubCacheParams { blocks, block_bytes, part_bytes }) = self.params.sub_cache else {
            self.counts[worker as usize].sub_misses += u64::from(hit);
            return;
        };
        let mut touched: Vec<_> = bytes.iter().map(|byte| byte / u64::from(part_bytes)).collect();
        touched.dedup();
        for part in touched {
            let in_block = |part: u64| part * u64::from(part_bytes) / u64::from(block_bytes);
            let block = in_block(part);
            if !self.blocks.is_here(worker, block)
                && let Some(victim) = self.blocks.victim(worker, block, blocks)
            {
                self.parts.retain(|&(of, part)| of != worker || in_block(part) != victim);
                self.mark_block(worker, victim, Mark::Left);
            }
            self.mark_block(worker, block, Mark::Touched);
            let was_here = !self.parts.insert((worker, part));
            let counts = &mut self.counts[worker as usize];
            counts.sub_hits += u64::from(was_here);
            counts.sub_misses += u64::from(hit && !was_here);
        }
    }

    fn mark_block(&mut self, worker: u32, block: u64, mark: Mark) {
        self.now += 1;
        self.blocks.0.entry((worker, block)).or_default().push((self.now, mark));
    }

    /// What leaves a cache leaves its sub-cache.
    fn drop_parts(&mut self, worker: u32, line: u64) {
        let Some(sub_cache) = self.params.sub_cache else { return };
        let line_bytes = self.line_bytes();
        let line_of = |part: u64| part * u64::from(sub_cache.part_bytes) / line_bytes;
        self.parts.retain(|&(of, part)| of != worker || line_of(part) != line);
    }

    fn line_bytes(&self) -> u64 {
        self.params.line_bytes.into()
    }

    fn holders(&self, line: u64) -> Vec<u32> {
        (0..self.params.workers).filter(|&worker| self.lines.is_here(worker, line)).collect()
    }

    fn others(&self, worker: u32, line: u64) -> Vec<u32> {
        self.holders(line).into_iter().filter(|&other| other != worker).collect()
    }

    fn mark_line(&mut self, worker: u32, line: u64, mark: Mark) {
        self.now += 1;
        if matches!(mark, Mark::Left | Mark::Invalidated) {
            self.drop_parts(worker, line);
        }
        self.lines.0.entry((worker, line)).or_default().push((self.now, mark));
    }

    fn mark_page(&mut self, worker: u32, page: u64, mark: Mark) {
        self.now += 1;
        self.pages.0.entry((worker, page)).or_default().push((self.now, mark));
    }

    fn map(&mut self, worker: u32, page: u64) {
        if !self.pages.is_here(worker, page) {
            self.counts[worker as usize].page_misses += 1;
            if self.pages.of(worker, page).is_empty() {
                self.counts[worker as usize].cold_page_misses += 1;
            }
            if let Some(victim) = self.pages.victim(worker, page, self.params.pages) {
                self.mark_page(worker, victim, Mark::Left);
                let page_lines = u64::from(self.params.page_bytes) / self.line_bytes();
                if self.params.unmapping_evicts {
                    for line in victim * page_lines..(victim + 1) * page_lines {
                        self.leave(worker, line);
                    }
                }
            }
        }
        self.mark_page(worker, page, Mark::Touched);
    }

    fn leave(&mut self, worker: u32, line: u64) {
        if self.lines.is_here(worker, line) {
            self.mark_line(worker, line, Mark::Left);
            if self.holders(line).is_empty() && self.modified.remove(&line) {
                self.counts[worker as usize].write_backs += 1;
            }
        }
    }

    /// Hits the line in the worker's cache, or loads it.
    fn fetch(&mut self, worker: u32, line: u64) {
        if self.lines.is_here(worker, line) {
            self.counts[worker as usize].hits += 1;
            return;
        }
        let others = self.others(worker, line);
        let counts = &mut self.counts[worker as usize];
        match self.lines.of(worker, line).last() {
            None => counts.cold_misses += 1,
            Some((_, Mark::Invalidated)) => counts.coherence_misses += 1,
            Some(_) => counts.capacity_misses += 1,
        }
        counts.remote_misses += u64::from(!others.is_empty());
        let ring = |worker: u32| worker / self.params.ring_workers;
        let is_far = others.iter().all(|&other| ring(other) != ring(worker));
        counts.far_misses += u64::from(!others.is_empty() && is_far);
        if let Some(cache) = self.params.cache
            && let Some(victim) = self.lines.victim(worker, line, cache)
        {
            self.leave(worker, victim);
        }
    }

    /// When writes invalidate, a modified line that another worker reads is written back.
    fn read(&mut self, worker: u32, line: u64) {
        if self.params.protocol == Protocol::Invalidate
            && let [owner] = self.others(worker, line)[..]
            && self.modified.remove(&line)
        {
            self.counts[owner as usize].write_backs += 1;
        }
    }

    fn write(&mut self, worker: u32, line: u64) {
        let others = self.others(worker, line);
        let counts = &mut self.counts[worker as usize];
        if self.lines.is_here(worker, line) && !others.is_empty() {
            counts.announcements += 1;
            let ring = |worker: u32| worker / self.params.ring_workers;
            let is_far = others.iter().any(|&other| ring(other) != ring(worker));
            counts.far_announcements += u64::from(is_far);
        }
        for other in others {
            let counts = &mut self.counts;
            match self.params.protocol {
                Protocol::Invalidate => {
                    counts[worker as usize].invalidations_sent += 1;
                    counts[other as usize].invalidations_received += 1;
                    self.mark_line(other, line, Mark::Invalidated);
                }
                Protocol::Update => {
                    counts[worker as usize].updates_sent += 1;
                    counts[other as usize].updates_received += 1;
                    self.mark_line(other, line, Mark::Updated);
                }
            }
        }
        self.modified.insert(line);
    }
}
