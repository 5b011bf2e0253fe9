//! What a document says in numbers outside of its blocks, where no file of results stands behind
//! it: tables, and figures in sentences. `pages` asks.

use super::{BEGIN, END};

/// The first cells of tables whose numbers are no measurements: defaults, sizes, sections.
const NOT_MEASURED: [&str; 4] = ["flag", "pool", "idea", "status"];

/// What a line of a document belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Block,
    Code,
    Table,
    Sentence,
}

/// The lines of a document, with their numbers from 1.
fn parts(text: &str) -> Vec<(usize, Part, &str)> {
    let (mut in_block, mut is_code) = (false, false);
    let part = |(number, line): (usize, &'_ str)| {
        in_block = line.starts_with(BEGIN) || in_block && line != END;
        is_code ^= !in_block && line.starts_with("```");
        let part = match line {
            _ if in_block => Part::Block,
            _ if is_code => Part::Code,
            _ if line.starts_with('|') => Part::Table,
            _ => Part::Sentence,
        };
        (number, part)
    };
    let parts: Vec<_> = (1..).zip(text.lines()).map(part).collect();
    parts.into_iter().zip(text.lines()).map(|((number, part), line)| (number, part, line)).collect()
}

/// The lines at which tables begin that have numbers.
pub(super) fn tables(text: &str) -> Vec<usize> {
    let (mut loose, mut begun) = (Vec::new(), None);
    for (number, part, line) in parts(text) {
        if part != Part::Table {
            begun = None;
            continue;
        }
        let (table, is_exempt) = *begun.get_or_insert_with(|| {
            let first = line.trim_matches('|').split('|').next().unwrap_or_default().trim();
            (number, NOT_MEASURED.contains(&first.trim_matches('`')))
        });
        let is_number = |cell: &str| {
            cell.trim().trim_start_matches('*').starts_with(|c: char| c.is_ascii_digit())
        };
        if !is_exempt && line.split('|').any(is_number) && loose.last() != Some(&table) {
            loose.push(table);
        }
    }
    loose
}

/// The numbers in sentences that look measured, with two or more digits after the point, and that
/// are in no block of the document: each with its line. What a program is told, or a rule says, is
/// written as code.
pub(super) fn figures(text: &str) -> Vec<(usize, String)> {
    let parts = parts(text);
    let block =
        |(_, part, line): &(usize, Part, &str)| (*part == Part::Block).then(|| figures_in(line));
    let known: Vec<_> = parts.iter().filter_map(block).flatten().collect();
    let (mut loose, mut is_code) = (Vec::new(), false);
    for (number, part, line) in parts {
        if part != Part::Sentence || line.is_empty() {
            is_code = false;
            continue;
        }
        let mut plain = String::new();
        for (nth, piece) in line.split('`').enumerate() {
            is_code ^= nth > 0;
            if !is_code {
                plain += piece;
            }
        }
        // Versions, and the targets of links, have numbers of their own.
        let plain = plain.replace("Python 3.", "Python ");
        let links = plain.split("](").enumerate();
        let without_targets = links.map(|(nth, rest)| match (nth, rest.split_once(')')) {
            (1.., Some((_, rest))) => rest,
            _ => rest,
        });
        let quoted = without_targets.flat_map(figures_in).filter(|figure| !known.contains(figure));
        loose.extend(quoted.map(|figure| (number, figure)));
    }
    loose
}

/// The numbers of a text with two or more digits after the point.
fn figures_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let is_figure = |word: &&str| {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        word.split_once('.')
            .is_some_and(|(whole, rest)| digits(whole) && digits(rest) && rest.len() > 1)
    };
    words.map(|word| word.trim_matches('.')).filter(is_figure).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers are seen outside of blocks and code; flags with defaults are no measurements.
    #[test]
    fn a_table_of_numbers_outside_of_blocks_is_seen() {
        let table =
            |first: &str| format!("| {first} | x |\n|---|---|\n| a | b |\n| c | **0.5** |\n");
        assert_eq!(tables(&format!("text\n\n{}", table("workload"))), [3]);
        assert_eq!(tables(&format!("{}\n{}", table("engine"), table("engine"))), [1, 6]);
        for fine in [
            table("flag"),
            table("`flag`"),
            format!("```\n{}```\n", table("engine")),
            format!("{BEGIN}a -->\n{}{END}\n", table("engine")),
            "| engine | what |\n|---|---|\n| a | runs 2 threads |\n".to_owned(),
        ] {
            assert!(tables(&fine).is_empty(), "{fine}");
        }
    }

    #[test]
    fn a_figure_that_no_block_has_is_seen() {
        let block = format!("{BEGIN}a -->\n| W1 | 1.98 |\n{END}\n");
        let text = format!("It is 1.98 times (1.00) as fast.\n{block}\nWith **0.53**.\n");
        assert_eq!(figures(&text), [(1, "1.00".to_owned()), (6, "0.53".to_owned())]);
        for fine in [
            "above `1.02`, section 3.4, version 4.1.4, Python 3.11, 0.5 ms, 12.",
            "a command over two `lines 0.25\nwith 0.75` of code",
            "[a link](https://example.org/1.25/a) and 3.\n[b](c-0.25.md)",
            "```text\n0.25\n```",
            "| flag | 0.25 |",
        ] {
            assert!(figures(fine).is_empty(), "{fine}: {:?}", figures(fine));
        }
    }
}
