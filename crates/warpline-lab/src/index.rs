//! The index of all figures: `run` makes a [`Piece`] for each; the HTML page shows them, and
//! without the feature `plots` a Markdown file lists them.

#[cfg(not(feature = "plots"))]
use std::fmt::Write;

#[cfg(not(feature = "plots"))]
use crate::text::PLOTS_HINT;
use crate::text::Text;

/// A figure in the index of all.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) text: Text,
    #[cfg(feature = "plots")]
    pub(crate) svg: String,
}

/// The index of all figures: a line for each, with the way to its text.
#[cfg(not(feature = "plots"))]
pub(crate) fn list(pieces: &[Piece]) -> String {
    let mut index = "# The papers' figures, measured again\n\n".to_owned();
    for Piece { name, title, text } in pieces {
        let _ = writeln!(index, "- [{name}]({name}.md): {title}. {}", text.summary);
    }
    if let Some(hint) = PLOTS_HINT {
        let _ = writeln!(index, "\n{hint}");
    }
    index
}
