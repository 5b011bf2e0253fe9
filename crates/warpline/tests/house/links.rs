//! Checks of the documents: their links, and phrases that say nothing to their reader.

use crate::source::{Problem, Source};

/// Phrases that refer to something that the reader does not have.
const PRIVATE: &[&str] = &["asked for", "departs from the design"];

pub(crate) fn private_phrases(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in documents(sources) {
        for (number, line) in source.lines() {
            let line = line.to_lowercase();
            for phrase in PRIVATE.iter().filter(|phrase| line.contains(**phrase)) {
                let what = format!("\"{phrase}\": say what the goal is, and why");
                problems.push(source.problem(number, what));
            }
        }
    }
    problems
}

/// Links to files of the workspace that do not exist.
pub(crate) fn dead(sources: &[Source], exists: impl Fn(&str) -> bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in documents(sources) {
        let mut is_code = false;
        for (number, line) in source.lines() {
            is_code ^= line.trim_start().starts_with("```");
            for target in targets(line).filter(|_| !is_code) {
                let path = target.split('#').next().unwrap_or_default();
                let directory = source.path.rsplit_once('/').map_or("", |(directory, _)| directory);
                if !path.is_empty() && !target.contains("://") && !exists(&join(directory, path)) {
                    problems.push(source.problem(number, format!("a link to {path}: not there")));
                }
            }
        }
    }
    problems
}

/// Links to headings that do not exist, in documents that do.
pub(crate) fn dead_anchors(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in documents(sources) {
        let directory = source.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        for (number, line) in source.lines() {
            let anchors = targets(line).filter(|target| !target.contains("://"));
            for (path, anchor) in anchors.filter_map(|target| target.split_once('#')) {
                let path = if path.is_empty() { &source.path } else { &join(directory, path) };
                let document = sources.iter().find(|source| source.path == *path);
                if document.is_some_and(|document| !headings(document).any(|h| h == anchor)) {
                    problems.push(source.problem(number, format!("{path} has no #{anchor}")));
                }
            }
        }
    }
    problems
}

/// The headings of a document, as links name them.
pub(crate) fn headings(document: &Source) -> impl Iterator<Item = String> {
    let mut is_code = false;
    let headings = document.text.lines().filter(move |line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code && line.starts_with('#')
    });
    headings.map(|line| anchor(line.trim_start_matches('#').trim()))
}

/// A heading as a link names it: letters in lower case, hyphens for spaces, nothing else.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn documents(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|source| source.path.ends_with(".md"))
}

/// The targets of a line's links, inline ones and definitions.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    inline.chain(definition.map(|(_, target)| target.trim()))
}

fn join(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::places;

    #[test]
    fn a_private_phrase_is_seen() {
        let text = "fine\n| Asked for | reached |\nIt departs from the design.\n";
        let sources = [Source::new("docs/a.md", text), Source::new("a.rs", text)];
        assert_eq!(places(&private_phrases(&sources)), ["docs/a.md:2", "docs/a.md:3"]);
    }

    #[test]
    fn a_link_to_no_heading_is_seen() {
        let a = "# One: `a/b`\n```\n# code\n```\n[x](#one-ab) [y](#code)\n[z](b.md#two)\n";
        let b = "## Two\n[x](../docs/a.md#two)\n[y](gone.md#x)\n";
        let sources = [Source::new("docs/a.md", a), Source::new("docs/b.md", b)];
        assert_eq!(places(&dead_anchors(&sources)), ["docs/a.md:5", "docs/b.md:2"]);
    }

    #[test]
    fn a_dead_link_is_seen() {
        let text = "[a](b.md) and [c](../README.md#top)\n[d](gone.md)\n[e](https://example.org/x)\n\
                    [f](#here)\n```\n[g](gone.md)\n```\n[h]: gone/too.md\n";
        let exists = |path: &str| path == "docs/b.md" || path == "README.md";
        let found = dead(&[Source::new("docs/a.md", text)], exists);
        assert_eq!(places(&found), ["docs/a.md:2", "docs/a.md:8"]);
    }
}
