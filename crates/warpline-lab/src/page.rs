//! The page that shows all figures (feature `plots`): one HTML file that needs no other, and no
//! scripts.

use maud::{DOCTYPE, PreEscaped, html};
use pulldown_cmark::{Options, Parser};

use crate::index::Piece;

const STYLE: &str =
    "body { font: 1rem/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid #ccc; padding: 0.2rem 0.6rem; }
section { border-top: 1px solid #ccc; margin-top: 3rem; }
section h2 { font-size: 1.1rem; }";

/// The page.
pub(crate) fn index(pieces: &[Piece]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Warpline: the papers' figures, measured again" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "The papers' figures, measured again" }
                ul {
                    @for piece in pieces {
                        li { a href={ "#" (piece.name) } { (piece.name) ": " (piece.title) } }
                    }
                }
                @for piece in pieces {
                    section id=(piece.name) {
                        h1 { (piece.name) ": " (piece.title) }
                        // Drawn by ourselves; it escapes the texts in it.
                        (PreEscaped(&piece.svg))
                        (PreEscaped(to_html(&piece.text.markdown())))
                        p { a href={ (piece.name) ".csv" } { "the numbers as CSV" } }
                    }
                }
            }
        }
    };
    page.into_string()
}

fn to_html(markdown: &str) -> String {
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    html
}
