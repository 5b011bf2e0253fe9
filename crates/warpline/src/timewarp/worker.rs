//! A worker: one thread's share of the LPs, and the main loop.
//!
//! [`Worker::turn`] is the paper's loop (GTW, section 3.1): file the messages, annihilate the
//! canceled events, handle the smallest events. It never waits for anything, so a test can drive
//! many workers on one thread, in any order.
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

use warpline_core::{EventKey, LpId, Model};
use warpline_memory::{Buffers, Taken};

use super::{
    Message,
    choosing::Choice,
    costs::Part,
    event::Event,
    flow::Flow,
    gvt::Bound,
    heap::CopyRules,
    history::{Record, Ring},
    load::Meter,
    logging::LogAccount,
    moves::Moves,
    recording::Trace,
    saving::{Lp, Saving},
    sending::Sender,
    shared::Shared,
    statistics::Statistics,
    waiting::Waiting,
};
use crate::run::Ranks;

/// One worker.
pub(super) struct Worker<'r, M: Model> {
    pub(super) model: &'r M,
    pub(super) shared: &'r Shared<M>,
    /// Its number among the workers of this rank.
    pub(super) me: usize,
    pub(super) lps: Vec<Lp<M::Lp>>,
    pub(super) buffers: Buffers<'r, Message<M>>,
    /// Whether memory is limited.
    pub(super) is_limited: bool,
    /// Whether it has none of the [features](super::features) that cost something at each event.
    pub(super) is_plain: bool,
    /// Whether the pool asks for the sender of the event in a buffer.
    wants_sender: bool,
    /// The pending set, and the mail to other workers: what a handler can reach.
    pub(super) sender: Sender<'r, M>,
    pub(super) history: Ring<Record>,
    pub(super) saving: Saving<M>,
    /// Events to be annihilated: the paper's CanQ.
    pub(super) canceled: Vec<Event>,
    pub(super) waiting: Waiting,
    pub(super) moves: Moves,
    pub(super) meter: Meter,
    /// If what it does is recorded.
    pub(super) trace: Option<Box<Trace>>,
    pub(super) flow: Flow,
    pub(super) gvt: Bound,
    /// Whether this worker has not looked yet whether an LP waits for the event at GVT.
    pub(super) is_gvt_new: bool,
    pub(super) statistics: Statistics,
    /// What the undo log is charged for, where that counts, and the most that an event has written.
    pub(super) log_account: LogAccount,
    /// Whether the handler of the event at the back of the processed list runs.
    pub(super) handling: bool,
    pub(super) outputs: Vec<(EventKey, LpId, Taken<Message<M>>)>,
    /// Whether buffers are returned early, and how many records have one that was.
    pub(super) is_on_the_fly: bool,
    pub(super) returned: usize,
    /// Events processed when this worker last requested GVT.
    pub(super) requested_at: u64,
    pub(super) gvt_interval: u64,
    pub(super) idle_turns: u32,
    /// How many of the next events are on their way into the cache.
    pub(super) prefetched: usize,
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Events were handled.
    Worked,
    /// The worker had no event that it could or may handle.
    Idle,
}

/// How a run ends for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// GVT has reached the end.
    Finished,
    /// The run was told to stop: all events that are not committed were undone.
    Interrupted,
    /// The run failed.
    Failed,
}

impl<'r, M: Model> Worker<'r, M> {
    pub(super) fn new(
        model: &'r M,
        shared: &'r Shared<M>,
        me: usize,
        ranks: &'r Ranks<'r>,
    ) -> Self {
        let settings = &shared.settings.engine;
        let (is_limited, apart) = (shared.settings.memory.is_some(), shared.memory.is_some());
        let rules = CopyRules { is_limited, apart };
        let buffers = shared.arena.buffers(me);
        let lps = shared.directory.lps_of(me).len();
        Self {
            model,
            shared,
            me,
            lps: Vec::with_capacity(lps),
            is_limited,
            is_plain: shared.is_plain(),
            wants_sender: buffers.wants_sender(),
            buffers,
            sender: Sender::new(shared, me, ranks),
            history: Ring::default(),
            saving: Saving::new(
                settings.saving,
                Choice::of(&shared.settings, shared.is_alone()),
                &shared.admission,
                lps,
                rules,
            ),
            canceled: Vec::new(),
            waiting: Waiting::default(),
            moves: Moves::new(shared, me),
            meter: Meter::new(shared.moves.is_some()),
            trace: Trace::take(shared, ranks.me(), me),
            flow: Flow::new(shared),
            gvt: Bound::ZERO,
            is_gvt_new: false,
            statistics: Statistics::default(),
            log_account: LogAccount::default(),
            handling: false,
            outputs: Vec::new(),
            is_on_the_fly: settings.pool.is_on_the_fly(),
            returned: 0,
            requested_at: 0,
            gvt_interval: settings.gvt_interval as u64,
            idle_turns: 0,
            prefetched: 0,
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
        if std::mem::take(&mut self.is_gvt_new) {
            self.meet_gvt()?;
        }
        self.sender.flush();
        if must_report {
            self.report();
        }
        self.go_on()
    }

    /// Step 3 of the paper: the smallest unprocessed events are handled, a batch of them.
    pub(super) fn handle_batch(&mut self) -> Turn {
        self.look_whether_to_go_on();
        self.flow.note_history(self.shared, self.history.len());
        self.begin_batch();
        let handled = if self.flow.is_over() { 0 } else { self.process() };
        debug_assert!(!self.handling, "a batch ends within an event");
        debug_assert!(
            self.returned <= self.history.len(),
            "FOSSIL-B: more buffers were returned than there are records"
        );
        self.end_batch();
        let worked = handled > 0;
        self.statistics.count_turn(worked);
        self.show_progress();
        self.send_mail(worked);
        self.request_gvt_if_due(worked);
        if worked { Turn::Worked } else { Turn::Idle }
    }

    /// The worker that sent an event, if the pool asks for it.
    #[inline]
    pub(super) fn sender_of(&self, event: &Event) -> usize {
        if !self.wants_sender {
            return self.me;
        }
        let place = self.sender.places[event.key.sender().index()];
        // The message of a remote event was put into a buffer by this worker.
        self.shared.directory.local(place.worker).unwrap_or(self.me)
    }
}
