//! The first difference between two states in their `{:#?}` texts, with the path of fields that
//! leads to it.
//!
//! Used by checks, which know only that the parts of a state are `Debug`. The layout is that
//! of derived `Debug`. Where a model's author has written another `Debug`, the path may be wrong,
//! but the values are still those of the first lines that differ.

use warpline_core::Discrepancy;

/// The first difference between two texts, if there is one. Its `what` is the path of fields, as in
/// `tally.latencies.bins[3]`; `self` is the whole state.
pub(super) fn between(one: &str, other: &str) -> Option<Discrepancy> {
    if one == other {
        return None;
    }
    let (mut ones, mut others) = (one.lines(), other.lines());
    let mut path = Path::default();
    loop {
        match (ones.next(), others.next()) {
            (Some(one), Some(other)) if one == other => path.pass(Line::of(one)),
            (None, None) => return None,
            (one, other) => return Some(path.end(one.map(Line::of), other.map(Line::of))),
        }
    }
}

/// A line of a state's text.
#[derive(Clone, Copy)]
struct Line<'t> {
    /// Whether the line closes a container. If it has more, that is the value of a key that takes
    /// several lines.
    closes: bool,
    /// The part that the line shows, or begins to show.
    part: &'t str,
}

impl<'t> Line<'t> {
    fn of(text: &'t str) -> Self {
        let text = text.trim();
        let text = text.strip_suffix(',').unwrap_or(text);
        match text.strip_prefix(['}', ']', ')']) {
            Some(rest) => Self { closes: true, part: rest.strip_prefix(": ").unwrap_or(rest) },
            None => Self { closes: false, part: text },
        }
    }
}

/// The containers that are open.
#[derive(Default)]
struct Path(Vec<Container>);

/// A value with parts: a struct, a tuple, a list, a map.
struct Container {
    /// The step to it from its own container: `.name`, `.0`, `[3]` or `[key]`; empty for the
    /// whole.
    step: String,
    kind: Kind,
    /// The number of its parts that were equal.
    passed: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Struct,
    Tuple,
    List,
    /// A map or a set.
    Map,
    /// `Some(...)`, which adds no step to the path.
    Some,
}

impl Path {
    /// Passes a line that is the same in both texts.
    fn pass(&mut self, line: Line<'_>) {
        let (step, value) = self.resolve(line);
        if line.closes {
            self.0.pop();
        } else if let Some(container) = self.0.last_mut() {
            container.passed += 1;
        }
        if let Some(kind) = Kind::opened_by(value) {
            self.0.push(Container { step, kind, passed: 0 });
        }
    }

    /// The step to the part that a line shows, and the part's value.
    fn resolve<'t>(&self, line: Line<'t>) -> (String, &'t str) {
        let part = line.part;
        let Some(Container { kind, passed, step }) = self.0.last() else {
            return (String::new(), part);
        };
        if line.closes {
            return (step.clone(), part);
        }
        match (kind, part.split_once(": ")) {
            (Kind::Struct, Some((name, value))) => (format!(".{name}"), value),
            (Kind::Map, Some((key, value))) => (format!("[{key}]"), value),
            (Kind::Some, _) => (String::new(), part),
            (Kind::Tuple, _) => (format!(".{passed}"), part),
            _ => (format!("[{passed}]"), part),
        }
    }

    /// The difference between two lines.
    fn end(&self, one: Option<Line<'_>>, other: Option<Line<'_>>) -> Discrepancy {
        let lines = [one, other];
        let parts = lines.map(|line| line.filter(|line| !line.part.is_empty()));
        let resolved = parts.map(|line| line.map(|line| self.resolve(line)));
        let (step, values) = match &resolved {
            // Parts with different names: the difference is in the container.
            [Some((a, _)), Some((b, _))] if a != b => {
                ("", parts.map(|line| line.map_or("", |line| line.part)))
            }
            [a, b] => {
                let step = a.as_ref().or(b.as_ref()).map_or("", |(step, _)| step);
                (step, [a, b].map(|value| value.as_ref().map_or("nothing", |(_, value)| value)))
            }
        };
        // A line that closes a key belongs to the step of that key, which is the last one.
        let step = if lines.iter().flatten().all(|line| line.closes) { "" } else { step };
        let path: String = self.0.iter().map(|container| container.step.as_str()).collect();
        let [first, second] = values.map(without_contents);
        Discrepancy { what: format!("`{}`", from_self(&(path + step))), first, second }
    }
}

impl Kind {
    /// The container that a value opens, if it continues on the next line.
    fn opened_by(value: &str) -> Option<Self> {
        match (value.chars().last()?, value) {
            (_, "Some(") => Some(Self::Some),
            (_, "{") => Some(Self::Map),
            ('{', _) => Some(Self::Struct),
            ('(', _) => Some(Self::Tuple),
            ('[', _) => Some(Self::List),
            _ => None,
        }
    }
}

/// A path as the LP's code would write it, without the `self.` in front of a name.
fn from_self(path: &str) -> String {
    match path.strip_prefix('.') {
        Some(name) if !name.starts_with(|c: char| c.is_ascii_digit()) => name.to_owned(),
        _ => format!("self{path}"),
    }
}

/// A value by its first line.
fn without_contents(value: &str) -> String {
    match value.chars().last() {
        Some('{') => format!("{value} .. }}"),
        Some('(') => format!("{value}..)"),
        Some('[') => format!("{value}..]"),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
#[expect(dead_code, reason = "the fields of what is shown are read by `Debug` only")]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[derive(Clone, Debug, Default)]
    struct Node {
        idle: bool,
        tally: Tally,
        queue: Option<Vec<u32>>,
        pairs: BTreeMap<(u8, u8), Tally>,
        names: BTreeMap<&'static str, f64>,
        seen: BTreeSet<u32>,
        kind: Kind,
        text: String,
    }

    #[derive(Clone, Debug, Default)]
    struct Tally {
        bins: Bins,
        sum: f64,
    }

    #[derive(Clone, Debug, Default)]
    struct Bins([u32; 4]);

    #[derive(Clone, Debug, Default)]
    enum Kind {
        #[default]
        Source,
        Queue(u8, Box<Self>),
        Sink {
            jobs: u32,
        },
    }

    fn node() -> Node {
        Node {
            queue: Some(vec![4, 5]),
            pairs: BTreeMap::from([(1, 2), (1, 3)].map(|key| (key, Tally::default()))),
            names: BTreeMap::from([("a", 1.0), ("b", 2.0)]),
            seen: BTreeSet::from([3, 7]),
            ..Node::default()
        }
    }

    #[test]
    fn names_the_field_and_both_values() {
        type Change = fn(&mut Node);
        let changes: [(Change, &str, [&str; 2]); 16] = [
            (|n| n.idle = true, "idle", ["false", "true"]),
            (|n| n.tally.bins.0[3] = 9, "tally.bins.0[3]", ["0", "9"]),
            (|n| n.tally.sum = -0.0, "tally.sum", ["0.0", "-0.0"]),
            (|n| n.queue = None, "queue", ["Some(..)", "None"]),
            (|n| n.queue = Some(vec![]), "queue", ["[..]", "[]"]),
            (|n| n.queue.as_mut().unwrap()[1] = 8, "queue[1]", ["5", "8"]),
            (|n| n.queue.as_mut().unwrap().push(6), "queue[2]", ["nothing", "6"]),
            (|n| n.queue.as_mut().unwrap().truncate(1), "queue[1]", ["5", "nothing"]),
            (|n| n.pairs.get_mut(&(1, 3)).unwrap().sum = 1.0, "pairs[1].sum", ["0.0", "1.0"]),
            (|n| n.names.insert("b", 3.0).map_or((), drop), "names[\"b\"]", ["2.0", "3.0"]),
            (|n| n.names.remove("a").map_or((), drop), "names", ["\"a\": 1.0", "\"b\": 2.0"]),
            (|n| _ = n.seen.insert(5), "seen[1]", ["7", "5"]),
            (|n| n.kind = Kind::Sink { jobs: 1 }, "kind", ["Source", "Sink { .. }"]),
            (|n| n.kind = Kind::Queue(2, Box::default()), "kind", ["Source", "Queue(..)"]),
            (|n| n.text = "} a, {".to_owned(), "text", ["\"\"", "\"} a, {\""]),
            (|_| (), "", ["", ""]),
        ];
        for (change, field, values) in changes {
            let (before, mut after) = (node(), node());
            change(&mut after);
            let found = between(&format!("{before:#?}"), &format!("{after:#?}"));
            let [first, second] = values.map(str::to_owned);
            let expected = Discrepancy { what: format!("`{field}`"), first, second };
            assert_eq!(found, Some(expected).filter(|_| !field.is_empty()));
        }
    }

    /// States that are enums, newtypes or lists, and texts of different lengths.
    #[test]
    fn names_what_has_no_name() {
        let field = |one: &str, other: &str| between(one, other).map(|found| found.what);
        let show = |kind: Kind| format!("{kind:#?}");
        let deep = |jobs| show(Kind::Queue(1, Box::new(Kind::Sink { jobs })));
        assert_eq!(field(&show(Kind::Source), &deep(1)).as_deref(), Some("`self`"));
        assert_eq!(field(&deep(2), &deep(1)).as_deref(), Some("`self.1.jobs`"));
        assert_eq!(field("[\n    1,\n]", "[\n    2,\n]").as_deref(), Some("`self[0]`"));
        assert_eq!(field("a", "a\nb").as_deref(), Some("`self`"));
    }

    /// A value whose key takes several lines.
    #[test]
    fn names_what_a_long_key_leads_to() {
        let show = |value| format!("{:#?}", BTreeMap::from([((1, 2), 0), ((3, 4), value)]));
        let found = between(&show(5), &show(6)).expect("they differ");
        let Discrepancy { what, first, second } = found;
        assert_eq!([what.as_str(), &first, &second], ["`self[1]`", "5", "6"]);
    }
}
