//! Counts with their nouns, and rates with their unit, for remarks and errors.

/// A count with its noun: `1 worker`, `2 workers`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    debug_assert!(!noun.ends_with('s'), "`{noun}` is to stand for one");
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The end of a remark: rates of events, each with a name, in a unit in which the highest one is at
/// least 1: `; million events/s: sequential 3.1, speculative 5.0`. Empty if there is none.
pub(crate) fn named_rates(rates: impl Iterator<Item = (String, f64)>) -> String {
    let rates: Vec<_> = rates.collect();
    let Some(best) = rates.iter().map(|(_, rate)| *rate).reduce(f64::max) else {
        return String::new();
    };
    debug_assert!(best.is_finite(), "a rate of no time");
    let (scale, unit) = match best {
        ..1e3 => (1.0, "events/s"),
        ..1e6 => (1e3, "thousand events/s"),
        _ => (1e6, "million events/s"),
    };
    let each = rates.iter().map(|(name, rate)| format!("{name} {:.1}", rate / scale));
    format!("; {unit}: {}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::{counted, named_rates};

    /// (Seen as `sequential 0.0, speculative 0.0`, of handlers that take 20 us.)
    #[test]
    fn slow_rates_are_not_zero() {
        let text = |rates: [f64; 2]| {
            let names = ["one", "two"].map(str::to_owned);
            named_rates(names.into_iter().zip(rates))
        };
        assert_eq!(text([3.14e6, 0.96e6]), "; million events/s: one 3.1, two 1.0");
        assert_eq!(text([45e3, 72.1e3]), "; thousand events/s: one 45.0, two 72.1");
        assert_eq!(text([0.0, 720.0]), "; events/s: one 0.0, two 720.0");
        assert_eq!(named_rates(std::iter::empty()), "");
    }

    #[test]
    fn one_has_no_plural() {
        let texts = [0, 1, 2].map(|count| counted(count, "thread"));
        assert_eq!(texts, ["0 threads", "1 thread", "2 threads"]);
    }
}
