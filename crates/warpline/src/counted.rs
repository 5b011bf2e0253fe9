//! Counts with their nouns, for remarks and errors.

/// A count with its noun: `1 worker`, `2 workers`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    debug_assert!(!noun.ends_with('s'), "`{noun}` is to stand for one");
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_has_no_plural() {
        let texts = [0, 1, 2].map(|count| counted(count, "thread"));
        assert_eq!(texts, ["0 threads", "1 thread", "2 threads"]);
    }
}
