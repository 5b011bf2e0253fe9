//! A context that has only an undo log, and states that are saved and restored in any order that an
//! engine may choose.

use std::fmt::{self, Debug};

use warpline::{Context, EventKey, Io, LpId, Saving, State, Stream, VirtualTime, state::UndoLog};

/// What a handler gets here.
pub(crate) struct Logging<'a>(pub(crate) &'a mut UndoLog);

impl Context<()> for Logging<'_> {
    fn now(&self) -> VirtualTime {
        VirtualTime::ZERO
    }

    fn event_key(&self) -> Option<&EventKey> {
        None
    }

    fn me(&self) -> LpId {
        LpId::new(0)
    }

    fn lp_count(&self) -> usize {
        1
    }

    fn rng(&self) -> &Stream {
        unimplemented!("nothing is drawn")
    }

    fn send(&mut self, _: LpId, _: f64, (): ()) {}

    fn send_at(&mut self, _: LpId, _: f64, (): ()) {}

    fn send_io(&mut self, _: Io, _: LpId, _: f64, (): ()) {}

    fn fail(&mut self, _: fmt::Arguments<'_>) {}

    fn undo(&mut self) -> Option<&mut UndoLog> {
        Some(self.0)
    }
}

/// What an engine does with the LPs.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// An event of an LP: what its handler writes, by numbers.
    Handle(usize, Vec<u64>),
    /// An LP goes back to before one of its events that are not committed.
    Undo(usize, usize),
    /// So many events, the first ones, are committed.
    Commit(usize),
    /// An LP is replaced by a copy of itself, made with `clone` or with `clone_from`; what the log
    /// has of it is never undone.
    Copy(usize, bool),
}

/// An event that is not committed.
struct Record {
    lp: usize,
    point: u64,
    before: String,
    is_undone: bool,
}

/// Takes the steps with LPs that have one log, and compares their texts with those from before the
/// event that each goes back to.
pub(crate) fn check<L: State + Debug>(
    lps: &mut [L],
    steps: Vec<Step>,
    write: fn(&mut L, u64, &mut Logging<'_>),
) {
    let saving = const { Saving::<L>::BY_FIELD };
    let mut log = UndoLog::default();
    let mut records: Vec<Record> = Vec::new();
    for step in steps {
        match step {
            Step::Handle(lp, writes) => {
                let (lp, before) = (lp % lps.len(), text(&lps[lp % lps.len()]));
                let point = saving.begin(&lps[lp], &mut log);
                records.push(Record { lp, point, before, is_undone: false });
                writes.into_iter().for_each(|number| {
                    write(&mut lps[lp], number, &mut Logging(&mut log));
                });
            }
            Step::Undo(lp, back) => {
                let lp = lp % lps.len();
                let mut live: Vec<_> =
                    records.iter_mut().filter(|r| r.lp == lp && !r.is_undone).collect();
                if live.is_empty() {
                    continue;
                }
                let first = back % live.len();
                saving.undo_to(&mut lps[lp], live[first].point, &mut log);
                assert_eq!(text(&lps[lp]), live[first].before);
                live[first..].iter_mut().for_each(|record| record.is_undone = true);
                while let Some(record) = records.pop_if(|record| record.is_undone) {
                    log.drop_from(record.point);
                }
            }
            Step::Commit(count) => {
                records.drain(..count.min(records.len()));
                log.drop_before(records.first().map_or(log.back(), |record| record.point));
            }
            Step::Copy(lp, reuses) => {
                let lp = lp % lps.len();
                let before = text(&lps[lp]);
                let mut copy = lps[(lp + 1) % lps.len()].clone();
                if reuses {
                    copy.clone_from(&lps[lp]);
                } else {
                    copy = lps[lp].clone();
                }
                lps[lp] = copy;
                assert_eq!(text(&lps[lp]), before);
                let own = records.iter_mut().filter(|record| record.lp == lp);
                own.for_each(|record| record.is_undone = true);
            }
        }
    }
}

/// All that is in a state, as its `Debug` text and as its fields.
fn text<L: State + Debug>(lp: &L) -> String {
    let mut text = format!("{lp:?}");
    lp.fields(&mut |name, field| text += &format!("; {name} {field:?}"));
    text
}
