//! Global virtual time across ranks: one worker of each rank takes part in it for all of them.
//!
//! The first worker of every rank calls [`Rounds::step`] once a turn. Within a rank, a round is
//! that of [`gvt`](crate::timewarp::gvt): every worker makes a *cut* when it reports. What is on
//! its way between ranks meanwhile is found by counting (Mattern, *Efficient algorithms for
//! distributed snapshots and global virtual time approximation*, Journal of Parallel and
//! Distributed Computing 18, 1993): every message has the *color* of its sender, which is the
//! number of cuts that the sender has made.
//!
//! A rank is in one of these phases:
//!
//! - `Rest`: no round runs. Rank 0 waits for a request for one, the others for its start.
//! - `Cut`: the workers of the rank report. After the last report, the rank tells every other rank
//!   how many messages of the old color it has sent there.
//! - `Counting`: messages of the old color still arrive. When all have arrived, the rank reports to
//!   rank 0 the least key that its workers have reported or that has arrived since.
//! - `Reported`: rank 0 waits for the reports of all ranks, the others for the result.
//!
//! # Why it is a lower bound
//!
//! An event that may still be handled after all cuts of a round is one of these:
//!
//! - It was with a worker at its cut, or in the mail within a rank. Then the reports have it (see
//!   [`gvt`](crate::timewarp::gvt)).
//! - It was in a message that crossed the cut, sent before its sender's cut and received after its
//!   receiver's. The message has the old color, so the receiving rank has waited for it and counted
//!   its key.
//! - It was sent after the cut. Then its cause was one of these three, and an effect never sorts
//!   before its cause (KEY-A).
//!
//! # Invariants
//!
//! - **ROUND-A.** Messages of two colors exist at a time: a worker makes the next cut only after
//!   the result of this one, and there is no result before all messages of the color before have
//!   arrived.
//! - **ROUND-B.** What rank 0 sends arrives in that order (NET-A), so a rank that hears of the next
//!   round has heard of the end of this one. From other ranks it may hear one round too early, so
//!   their counts are kept.

use warpline_net::{Address, Malformed, NetError, Parcel, Transport};

use super::{
    message::{COUNT, Color, REPORT, REQUEST, RESULT, START, read_words, words_body},
    shared::{RemoteShared, TimeBarrier},
};
use crate::timewarp::gvt::{Bound, Gvt, Outcome};

/// Where a rank is in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Rest,
    Cut,
    Counting,
    Reported,
}

/// A rank's part in the rounds.
#[derive(Debug)]
pub(in crate::timewarp) struct Rounds<'r> {
    transport: &'r dyn Transport,
    /// The round that runs, or the last one.
    round: u64,
    phase: Phase,
    /// Whether this rank has passed a request for a round on; at rank 0, whether another rank has
    /// made one.
    requested: bool,
    /// How many messages of the old color each other rank says it has sent here.
    counts: Vec<Option<u64>>,
    /// The result of this rank's own workers.
    own: Outcome,
    /// At rank 0, the reports of all ranks.
    reports: Vec<Option<Outcome>>,
}

impl<'r> Rounds<'r> {
    pub(in crate::timewarp) fn new(transport: &'r dyn Transport) -> Self {
        let ranks = transport.ranks();
        let own = Outcome { gvt: Bound::ZERO, notes: 0 };
        Self {
            transport,
            round: 0,
            phase: Phase::Rest,
            requested: false,
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

    /// Goes on with the round as far as possible. When the run is closing, all ranks know it: rank
    /// 0 needs no requests then, and might be gone before it reads them.
    ///
    /// # Errors
    ///
    /// When ranks cannot talk any more.
    pub(in crate::timewarp) fn step<T>(
        &mut self,
        gvt: &Gvt,
        shared: &RemoteShared<T>,
        is_closing: bool,
    ) -> Result<(), NetError> {
        if self.phase == Phase::Rest {
            self.look_for_requests(gvt, shared, is_closing)?;
        }
        if self.phase == Phase::Cut
            && let Some(own) = gvt.gathered()
        {
            self.own = own;
            let sent = shared.take_sent();
            debug_assert_eq!(sent[self.me()], 0, "ROUND-A: no rank counts what it sends itself");
            for rank in self.others() {
                self.send(COUNT, rank, [self.round, sent[rank]])?;
            }
            self.phase = Phase::Counting;
        }
        if self.phase == Phase::Counting {
            self.count(shared)?;
        }
        if self.phase == Phase::Reported && self.me() == 0 {
            self.conclude(gvt, shared)?;
        }
        Ok(())
    }

    fn look_for_requests<T>(
        &mut self,
        gvt: &Gvt,
        shared: &RemoteShared<T>,
        is_closing: bool,
    ) -> Result<(), NetError> {
        if self.me() > 0 {
            if !self.requested && !is_closing && shared.is_requested() {
                self.requested = true;
                self.send(REQUEST, 0, [])?;
            }
        } else if self.requested || shared.is_requested() {
            for rank in self.others() {
                self.send(START, rank, [self.round + 1])?;
            }
            self.begin(gvt);
        }
        Ok(())
    }

    fn begin(&mut self, gvt: &Gvt) {
        debug_assert!(
            self.phase == Phase::Rest && self.reports.iter().all(Option::is_none),
            "ROUND-B: a round begins within another: {self:?}"
        );
        self.round += 1;
        (self.phase, self.requested) = (Phase::Cut, false);
        gvt.start();
    }

    /// Reports to rank 0 once all messages of the old color have arrived.
    fn count<T>(&mut self, shared: &RemoteShared<T>) -> Result<(), NetError> {
        let mut expected = 0;
        for rank in self.others() {
            let Some(count) = self.counts[rank] else { return Ok(()) };
            expected = count.saturating_add(expected);
        }
        let old = Color::of(self.round - 1);
        let Some(late) = shared.take_received(old, expected)? else { return Ok(()) };
        self.counts.fill(None);
        let own = Outcome { gvt: self.own.gvt.min(late), ..self.own };
        let ([a, b, c], notes) = (own.gvt.0, own.notes);
        let TimeBarrier { round, bits } = shared.barrier();
        if self.me() == 0 {
            self.reports[0] = Some(own);
        } else {
            self.send(REPORT, 0, [self.round, a, b, c, notes, round, bits])?;
        }
        self.phase = Phase::Reported;
        Ok(())
    }

    /// At rank 0: ends the round, once all ranks have reported.
    fn conclude<T>(&mut self, gvt: &Gvt, shared: &RemoteShared<T>) -> Result<(), NetError> {
        let mut all = self.own;
        for report in &self.reports {
            let Some(report) = report else { return Ok(()) };
            all = Outcome { gvt: all.gvt.min(report.gvt), notes: all.notes | report.notes };
        }
        self.reports.fill(None);
        let [a, b, c] = all.gvt.0;
        let TimeBarrier { round, bits } = shared.barrier();
        for rank in self.others() {
            self.send(RESULT, rank, [self.round, a, b, c, all.notes, round, bits])?;
        }
        self.end(gvt, shared, all);
        Ok(())
    }

    fn end<T>(&mut self, gvt: &Gvt, shared: &RemoteShared<T>, all: Outcome) {
        debug_assert_eq!(self.phase, Phase::Reported, "ROUND-B: a result without all reports");
        self.phase = Phase::Rest;
        // A worker that has requested GVT while this round ran looks at the result first.
        shared.clear_request();
        gvt.publish(all);
    }

    /// Reads a parcel about a round.
    ///
    /// # Errors
    ///
    /// When the bytes have no meaning, or the parcel is not due in this phase.
    pub(in crate::timewarp) fn read<T>(
        &mut self,
        from: usize,
        kind: u16,
        body: &[u8],
        gvt: &Gvt,
        shared: &RemoteShared<T>,
    ) -> Result<(), Malformed> {
        let counted = match self.phase {
            Phase::Rest | Phase::Reported => self.round + 1,
            Phase::Cut | Phase::Counting => self.round,
        };
        match (kind, self.me(), from) {
            (REQUEST, 0, _) => {
                let [] = read_words(body)?;
                // A request that was on its way when a round began is answered by that round.
                self.requested = self.phase == Phase::Rest;
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
                shared.update_barrier(TimeBarrier { round: set, bits });
                let ok = round == self.round && self.phase != Phase::Rest;
                expect(ok && self.reports[from].is_none(), kind, round)?;
                self.reports[from] = Some(Outcome { gvt: Bound([a, b, c]), notes });
            }
            (RESULT, _, 0) => {
                let [round, a, b, c, notes, set, bits] = read_words(body)?;
                shared.update_barrier(TimeBarrier { round: set, bits });
                let all = Outcome { gvt: Bound([a, b, c]), notes };
                expect(self.phase == Phase::Reported && round == self.round, kind, round)?;
                expect(all.gvt <= self.own.gvt, kind, round)?;
                self.end(gvt, shared, all);
            }
            _ => return Err(Malformed::Kind(kind)),
        }
        Ok(())
    }
}

fn expect(ok: bool, kind: u16, round: u64) -> Result<(), Malformed> {
    let what = || {
        Malformed::Body(format!(
            "ROUND-B: a parcel of kind {kind} about round {round} of GVT, which is not due"
        ))
    };
    ok.then_some(()).ok_or_else(what)
}
