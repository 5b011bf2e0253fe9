//! Global virtual time across ranks: one worker of each rank takes part in it for all of them.
//!
//! The first worker of every rank calls [`Rounds::step`] once a turn. Within a rank, a round is
//! that of [`gvt`](super::gvt): every worker makes a *cut* when it reports. What is on its way
//! between ranks meanwhile is found by counting (Mattern, *Efficient algorithms for distributed
//! snapshots and global virtual time approximation*, Journal of Parallel and Distributed Computing
//! 18, 1993): every letter has the *color* of its sender, which is the number of cuts that the
//! sender has made.
//!
//! | phase | of every rank | what it waits for |
//! |---|---|---|
//! | `Rest` | no round runs | rank 0: a wish for one; others: word from rank 0 |
//! | `Cut` | its workers report | the last of them; then it tells every other rank how many letters of the old color it has sent there |
//! | `Counting` | letters of the old color still arrive | all of them; then it tells rank 0 the least of what its workers have reported and what has arrived since |
//! | `Told` | | rank 0: the reports of all; others: the result |
//!
//! # Why it is a lower bound
//!
//! What may still be handled after all cuts of a round was with a worker at its cut, or in the mail
//! within a rank: then the reports have it (see [`gvt`](super::gvt)). Or it was in a letter that
//! crossed the cut, sent before its sender's and received after its receiver's: it is of the old
//! color, so the receiving rank has waited for it and counted its key. Or it was sent after the
//! cut: then its cause was one of these, or sent after the cut itself, and an effect never sorts
//! before its cause (KEY-A).
//!
//! # Invariants
//!
//! - **ROUND-A.** There are letters of two colors at a time: a worker makes the next cut only after
//!   the result of this one, and there is none before all letters of the color before have arrived.
//! - **ROUND-B.** What rank 0 sends arrives in that order (NET-A), so a rank that hears of the next
//!   round has heard of the end of this one. Of other ranks it may hear one round too early; so
//!   counts are kept.

use warpline_net::{Address, Malformed, NetError, Parcel, Transport};

use super::{
    across::{Across, Barrier},
    gvt::{Bound, Gvt, Outcome},
    letters::{COUNT, Color, REPORT, RESULT, START, WISH, read_words, words_body},
};

/// Where a rank is in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Rest,
    Cut,
    Counting,
    Told,
}

/// A rank's part in the rounds.
#[derive(Debug)]
pub(super) struct Rounds<'r> {
    transport: &'r dyn Transport,
    /// The round that runs, or the last one.
    round: u64,
    phase: Phase,
    /// Whether this rank has passed on that it would like a round; at rank 0, whether another one
    /// has.
    wished: bool,
    /// What other ranks have sent here of the old color, as they say.
    counts: Vec<Option<u64>>,
    /// What this rank has come to.
    own: Outcome,
    /// At rank 0, what each rank has.
    reports: Vec<Option<Outcome>>,
}

impl<'r> Rounds<'r> {
    pub(super) fn new(transport: &'r dyn Transport) -> Self {
        let ranks = transport.ranks();
        let own = Outcome { gvt: Bound::ZERO, notes: 0 };
        Self {
            transport,
            round: 0,
            phase: Phase::Rest,
            wished: false,
            counts: vec![None; ranks],
            own,
            reports: vec![None; ranks],
        }
    }

    fn me(&self) -> usize {
        self.transport.rank()
    }

    fn send<const N: usize>(
        &self,
        kind: u16,
        rank: usize,
        words: [u64; N],
    ) -> Result<(), NetError> {
        let parcel = Parcel::with_body(kind, 0, &words_body(words));
        self.transport.send(Address { rank, port: 0 }, parcel)
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me();
        (0..self.transport.ranks()).filter(move |&rank| rank != me)
    }

    /// Goes on, as far as it can. When the run is closing, all ranks know it: the first one needs
    /// no wishes, and might be gone before it reads them.
    ///
    /// # Errors
    ///
    /// When ranks cannot talk any more.
    pub(super) fn step(
        &mut self,
        gvt: &Gvt,
        across: &Across,
        is_closing: bool,
    ) -> Result<(), NetError> {
        if self.phase == Phase::Rest {
            self.look_for_wishes(gvt, across, is_closing)?;
        }
        if self.phase == Phase::Cut
            && let Some(own) = gvt.gathered()
        {
            self.own = own;
            let sent = across.take_sent();
            for rank in self.others() {
                self.send(COUNT, rank, [self.round, sent[rank]])?;
            }
            self.phase = Phase::Counting;
        }
        if self.phase == Phase::Counting {
            self.count(across)?;
        }
        if self.phase == Phase::Told && self.me() == 0 {
            self.conclude(gvt, across)?;
        }
        Ok(())
    }

    fn look_for_wishes(
        &mut self,
        gvt: &Gvt,
        across: &Across,
        is_closing: bool,
    ) -> Result<(), NetError> {
        if self.me() > 0 {
            if !self.wished && !is_closing && across.is_asked() {
                self.wished = true;
                self.send(WISH, 0, [])?;
            }
        } else if self.wished || across.is_asked() {
            for rank in self.others() {
                self.send(START, rank, [self.round + 1])?;
            }
            self.begin(gvt);
        }
        Ok(())
    }

    fn begin(&mut self, gvt: &Gvt) {
        self.round += 1;
        (self.phase, self.wished) = (Phase::Cut, false);
        gvt.start();
    }

    /// Ends the wait for letters of the old color, once all have arrived.
    fn count(&mut self, across: &Across) -> Result<(), NetError> {
        let mut expected = 0;
        for rank in self.others() {
            let Some(count) = self.counts[rank] else { return Ok(()) };
            expected = count.saturating_add(expected);
        }
        let old = Color::of(self.round - 1);
        let Some(late) = across.take_received(old, expected)? else { return Ok(()) };
        self.counts.fill(None);
        let own = Outcome { gvt: self.own.gvt.min(late), ..self.own };
        let ([a, b, c], notes) = (own.gvt.0, own.notes);
        let Barrier { round, bits } = across.barrier(Barrier::default());
        if self.me() == 0 {
            self.reports[0] = Some(own);
        } else {
            self.send(REPORT, 0, [self.round, a, b, c, notes, round, bits])?;
        }
        self.phase = Phase::Told;
        Ok(())
    }

    /// At rank 0: ends the round, once all ranks have reported.
    fn conclude(&mut self, gvt: &Gvt, across: &Across) -> Result<(), NetError> {
        let mut all = self.own;
        for report in &self.reports {
            let Some(report) = report else { return Ok(()) };
            all = Outcome { gvt: all.gvt.min(report.gvt), notes: all.notes | report.notes };
        }
        self.reports.fill(None);
        let [a, b, c] = all.gvt.0;
        let Barrier { round, bits } = across.barrier(Barrier::default());
        for rank in self.others() {
            self.send(RESULT, rank, [self.round, a, b, c, all.notes, round, bits])?;
        }
        self.end(gvt, across, all);
        Ok(())
    }

    fn end(&mut self, gvt: &Gvt, across: &Across, all: Outcome) {
        self.phase = Phase::Rest;
        // Who wished for a round while this one ran looks again first.
        across.clear_wish();
        gvt.publish(all);
    }

    /// Reads a parcel about a round.
    ///
    /// # Errors
    ///
    /// When it means nothing, or nothing at this time.
    pub(super) fn read(
        &mut self,
        from: usize,
        kind: u16,
        body: &[u8],
        gvt: &Gvt,
        across: &Across,
    ) -> Result<(), Malformed> {
        let counted = match self.phase {
            Phase::Rest | Phase::Told => self.round + 1,
            Phase::Cut | Phase::Counting => self.round,
        };
        match (kind, self.me(), from) {
            (WISH, 0, _) => {
                let [] = read_words(body)?;
                // A wish that was on its way when a round began comes true with that one.
                self.wished = self.phase == Phase::Rest;
            }
            (START, _, 0) => {
                let [round] = read_words(body)?;
                expect(self.phase == Phase::Rest && round == self.round + 1, kind, round)?;
                self.begin(gvt);
            }
            (COUNT, ..) => {
                let [round, count] = read_words(body)?;
                expect(round == counted && self.counts[from].is_none(), kind, round)?;
                self.counts[from] = Some(count);
            }
            (REPORT, 0, _) => {
                let [round, a, b, c, notes, set, bits] = read_words(body)?;
                across.barrier(Barrier { round: set, bits });
                let ok = round == self.round && self.phase != Phase::Rest;
                expect(ok && self.reports[from].is_none(), kind, round)?;
                self.reports[from] = Some(Outcome { gvt: Bound([a, b, c]), notes });
            }
            (RESULT, _, 0) => {
                let [round, a, b, c, notes, set, bits] = read_words(body)?;
                across.barrier(Barrier { round: set, bits });
                let all = Outcome { gvt: Bound([a, b, c]), notes };
                expect(self.phase == Phase::Told && round == self.round, kind, round)?;
                expect(all.gvt <= self.own.gvt, kind, round)?;
                self.end(gvt, across, all);
            }
            _ => return Err(Malformed::Kind(kind)),
        }
        Ok(())
    }
}

fn expect(ok: bool, kind: u16, round: u64) -> Result<(), Malformed> {
    let what = || {
        Malformed::Body(format!(
            "word of kind {kind} about round {round} of GVT, at no time for it"
        ))
    };
    ok.then_some(()).ok_or_else(what)
}
