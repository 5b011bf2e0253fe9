//! A worker: one thread's share of the LPs, and the main loop.
//!
//! [`TimeWarpWorker::turn`] is the paper's loop (GTW, section 3.1): file the messages, annihilate
//! the canceled events, handle the smallest events. It never waits for anything, so a test can
//! drive many workers on one thread, in any order.
//!
//! # Invariants
//!
//! - **TW-A.** A worker handles the events of an LP in the order of their keys. An event that comes
//!   later and sorts before one that was handled is found when it is taken from the pending set. It
//!   is then the least event of the worker, so nothing of the LP was handled in between.
//! - **TW-B.** Every event that was sent is at its receiver in exactly one place: in the mail, in
//!   the pending set, waiting, in the processed list, on its way with its LP, or committed; or it
//!   was annihilated.
//! - **TW-C.** No event of a worker is below GVT.

use warpline_core::Model;

use super::{
    Message,
    choosing::Choice,
    clock::Clock,
    costs::Part,
    event::Event,
    flow::Flow,
    heap::CopyRules,
    load::Meter,
    log::Log,
    moves::Moves,
    optional::Optional,
    saving::{Lp, Saving},
    sending::TimeWarpSender,
    set_aside::SetAside,
    shared::TimeWarpShared,
    statistics::Statistics,
    store::Store,
    trace::Trace,
    turn::{End, Turn},
};
use crate::run::Ranks;

/// One worker.
pub(super) struct TimeWarpWorker<'r, M: Model> {
    pub(super) model: &'r M,
    pub(super) shared: &'r TimeWarpShared<M>,
    /// Its number among the workers of this rank.
    pub(super) me: usize,
    pub(super) lps: Vec<Lp<M::Lp>>,
    pub(super) store: Store<'r, Message<M>>,
    /// The pending set, and the mail to other workers: what a handler can reach.
    pub(super) sender: TimeWarpSender<'r, M>,
    pub(super) log: Log<M>,
    pub(super) clock: Clock,
    pub(super) flow: Flow,
    pub(super) aside: SetAside,
    pub(super) optional: Optional,
    pub(super) statistics: Statistics,
}

impl<'r, M: Model> TimeWarpWorker<'r, M> {
    pub(super) fn new(
        model: &'r M,
        shared: &'r TimeWarpShared<M>,
        me: usize,
        ranks: &'r Ranks<'r>,
    ) -> Self {
        let settings = &shared.settings.engine;
        let (is_limited, apart) = (shared.settings.memory.is_some(), shared.memory.is_some());
        let lps = shared.directory.lps_of(me).len();
        let saving = Saving::new(
            settings.saving,
            Choice::of(&shared.settings, shared.is_alone()),
            &shared.admission,
            lps,
            CopyRules { is_limited, apart },
        );
        Self {
            model,
            shared,
            me,
            lps: Vec::with_capacity(lps),
            store: Store::new(shared.arena.buffers(me), is_limited, settings.pool.is_on_the_fly()),
            sender: TimeWarpSender::new(shared, me, ranks),
            log: Log::new(saving),
            clock: Clock::new(settings.gvt_interval as u64),
            flow: Flow::new(shared),
            aside: SetAside::default(),
            optional: Optional {
                is_plain: shared.is_plain(),
                moves: Moves::new(&shared.settings, shared.moves.is_some(), me),
                meter: Meter::new(shared.moves.is_some()),
                trace: Trace::take(shared, ranks.me(), me),
            },
            statistics: Statistics::default(),
        }
    }

    /// One turn of the main loop. A test takes its three parts one by one.
    #[inline]
    pub(super) fn turn(&mut self) -> Result<Turn, End> {
        let must_report = self.notice_gvt()?;
        self.file(must_report)?;
        Ok(self.handle_batch())
    }

    /// Steps 1 and 2 of the paper, and the report of the round of GVT that runs, if it is due.
    pub(super) fn file(&mut self, must_report: bool) -> Result<(), End> {
        // 1. All incoming messages are filed into the pending set.
        self.sender.costs.begin();
        self.receive();
        self.note_canceled_by_mail();
        // 2. All canceled events are annihilated.
        self.cancel();
        self.sender.costs.end(Part::Receive);
        if std::mem::take(&mut self.clock.is_new) {
            self.meet_gvt()?;
        }
        self.sender.flush();
        if must_report {
            self.report();
        }
        self.go_on()
    }

    /// Sends all mail that is being written, at the end of a turn.
    pub(super) fn send_mail(&mut self, worked: bool) {
        self.sender.flush();
        self.flush_remote(worked);
    }

    /// Step 3 of the paper: the smallest unprocessed events are handled, a batch of them.
    pub(super) fn handle_batch(&mut self) -> Turn {
        self.look_whether_to_go_on();
        self.flow.note_history(self.shared, self.log.history.len());
        self.begin_batch();
        let handled = if self.flow.is_over() { 0 } else { self.process() };
        debug_assert!(!self.log.handling, "a batch ends within an event");
        debug_assert!(
            self.store.returned <= self.log.history.len(),
            "FOSSIL-B: more buffers were returned than there are records"
        );
        self.end_batch();
        let worked = handled > 0;
        self.statistics.count_turn(worked, self.flow.is_full());
        self.show_progress();
        self.send_mail(worked);
        self.request_gvt_if_due(worked);
        if worked { Turn::Worked } else { Turn::Idle }
    }

    /// The worker that sent an event, if the pool asks for it.
    #[inline]
    pub(super) fn sender_of(&self, event: &Event) -> usize {
        if !self.store.wants_sender {
            return self.me;
        }
        let place = self.sender.places[event.key.sender().index()];
        // The message of a remote event was put into a buffer by this worker.
        self.shared.directory.local(place.worker).unwrap_or(self.me)
    }
}
