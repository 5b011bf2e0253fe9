//! Why a run was slow, if it was: the remarks in its report.

use crate::Totals;

/// A commit takes as long as about this number of events.
const FEW: u64 = 32;
/// Executions per committed event that are worth a remark.
const WASTE: f64 = 1.5;
/// The share of events that were handled one by one that is worth a remark.
const ONE_BY_ONE: f64 = 0.1;

/// The remarks on a run, the most important first; `one_by_one` events were not handled in windows.
pub(super) fn remarks(workers: usize, totals: &Totals, one_by_one: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    let (committed, processed) = (totals.committed_events.max(1), totals.processed_events);
    let share = one_by_one as f64 / committed as f64;
    if share > ONE_BY_ONE {
        remarks.push(format!(
            "{:.0} % of the events were handled one by one: the model has blocking I/O events, or \
             whatever was handled early had to be undone; the sequential engine would be faster",
            100.0 * share
        ));
    }
    let waste = processed as f64 / committed as f64;
    if waste > WASTE {
        remarks.push(format!(
            "an event was executed {waste:.1} times: LPs answer each other after very short \
             delays, or some get far more events than others; fewer workers would help"
        ));
    }
    let each = (committed - one_by_one.min(committed)) / totals.gvt_rounds.max(1) / workers as u64;
    if workers > 1 && totals.gvt_rounds > 0 && each < FEW {
        remarks.push(format!(
            "a worker had {each} events between two commits: more events at the same time, longer \
             delays between LPs, or fewer workers would help"
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_name_what_was_slow() {
        let totals = |committed_events, processed_events, gvt_rounds| Totals {
            committed_events,
            processed_events,
            gvt_rounds,
            ..Totals::default()
        };
        let said = |workers, totals, one_by_one| remarks(workers, &totals, one_by_one);
        assert!(said(2, totals(1_000_000, 1_050_000, 1_000), 0).is_empty());
        assert!(said(1, totals(1_000, 1_000, 1_000), 0).is_empty(), "nobody waits");
        assert!(said(2, totals(10_000, 10_000, 1_000), 0)[0].contains("5 events between"));
        assert!(said(2, totals(1_000_000, 3_000_000, 100), 0)[0].contains("3.0 times"));
        assert!(said(2, totals(1_000_000, 1_000_000, 10), 400_000)[0].contains("40 % of"));
    }
}
