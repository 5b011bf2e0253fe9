//! The check of the spelling, which is American.

use crate::source::{Problem, Source};

/// What verbs in -ise have before that ending.
const IN_ISE: &[&str] = &[
    "apolog",
    "author",
    "capital",
    "categor",
    "central",
    "character",
    "custom",
    "discret",
    "emphas",
    "equal",
    "external",
    "factor",
    "final",
    "general",
    "ideal",
    "initial",
    "internal",
    "item",
    "linear",
    "local",
    "material",
    "maxim",
    "memor",
    "minim",
    "modern",
    "neutral",
    "normal",
    "optim",
    "organ",
    "parallel",
    "parameter",
    "penal",
    "polar",
    "prior",
    "quant",
    "random",
    "real",
    "recogn",
    "regular",
    "serial",
    "special",
    "stabil",
    "standard",
    "summar",
    "symbol",
    "synchron",
    "token",
    "util",
    "vector",
    "virtual",
    "visual",
];
const ISE: &[&str] =
    &["ise", "ised", "ises", "iser", "isers", "ising", "isation", "isations", "isable"];

/// Parts of words.
const PARTS: &[&str] = &[
    "behaviour",
    "catalogue",
    "centre",
    "centring",
    "colour",
    "cosy",
    "endeavour",
    "favour",
    "fibre",
    "flavour",
    "harbour",
    "honour",
    "humour",
    "judgement",
    "labour",
    "neighbour",
    "paralyse",
    "rigour",
    "rumour",
    "sceptic",
    "vapour",
];

/// Words, with their endings.
const WORDS: &[&str] = &[
    "amongst",
    "analogue",
    "analyse",
    "analysed",
    "analyser",
    "analyses",
    "analysing",
    "artefact",
    "artefacts",
    "cancelled",
    "canceller",
    "cancelling",
    "channelled",
    "cheque",
    "defence",
    "dialled",
    "fuelled",
    "fulfil",
    "fulfils",
    "grey",
    "greyed",
    "initialled",
    "labelled",
    "labelling",
    "learnt",
    "levelled",
    "levelling",
    "licence",
    "marvellous",
    "metre",
    "metres",
    "modelled",
    "modeller",
    "modelling",
    "mould",
    "offence",
    "plough",
    "practise",
    "practised",
    "programme",
    "programmes",
    "signalled",
    "signalling",
    "skilful",
    "spelt",
    "theatre",
    "totalled",
    "totalling",
    "travelled",
    "traveller",
    "travelling",
    "tunnelled",
    "unlabelled",
    "whilst",
];

/// British words in sources and documents. `known` has those that stay: file, word (`*` for all of
/// them), and reason.
pub(crate) fn british(sources: &[Source], known: &[(&str, &str, &str)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources {
        let is_known = |word: &str| {
            let is_it =
                |path: &str, known: &str| path == source.path && (known == "*" || known == word);
            known.iter().any(|(path, known, _)| is_it(path, known))
        };
        for (number, line) in source.lines() {
            for word in words(line).filter(|word| is_british(word) && !is_known(word)) {
                problems.push(source.problem(number, format!("\"{word}\" is not American")));
            }
        }
    }
    problems
}

/// The words of a line, and of its identifiers, in lower case.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in line.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().expect("a word").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

fn is_british(word: &str) -> bool {
    let is_in_ise = || {
        let stems = ISE.iter().filter_map(|ending| word.strip_suffix(ending));
        stems.into_iter().any(|stem| IN_ISE.iter().any(|verb| stem.ends_with(verb)))
    };
    // "Analyses" is the plural of "analysis" as well.
    let is_plural = word == "analyses";
    PARTS.iter().any(|part| word.contains(part))
        || (WORDS.contains(&word) && !is_plural)
        || is_in_ise()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::places;

    #[test]
    fn british_words_are_seen() {
        let british =
            "Behaviours colourful uninitialised greyed cancelled optimisations Serialiser";
        for word in british.split(' ') {
            assert!(is_british(&word.to_lowercase()), "{word}");
        }
        let american = "behavior optimism optimistic cancellation centered raise precise promised \
                        analysis organism characteristic modeled exercise otherwise synchronism";
        for word in american.split_whitespace() {
            assert!(!is_british(word), "{word}");
        }
    }

    #[test]
    fn identifiers_are_words_too() {
        let text = "fine\nlet neighbour_count = 1;\nstruct NeighbourCount;\n";
        let sources = [Source::new("a.rs", text), Source::new("b.md", "GREY and gray\n")];
        assert_eq!(places(&british(&sources, &[])), ["a.rs:2", "a.rs:3", "b.md:1"]);
        assert_eq!(places(&british(&sources, &[("b.md", "grey", "a flag")])), ["a.rs:2", "a.rs:3"]);
        assert_eq!(places(&british(&sources, &[("a.rs", "*", "a list")])), ["b.md:1"]);
    }
}
