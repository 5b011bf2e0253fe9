//! What the macro writes, compared with stored text; and what it refuses.
//!
//! If the text is to change (another version of `diapause-macro-core`, say),
//! `WARPLINE_CORPUS=write cargo test -p warpline-processes-macros` writes it, and the difference is
//! read.

use std::{env, fs, path::Path};

use proc_macro2::TokenStream;
use quote::quote;
use syn2::ItemFn;

use crate::process::expand;

/// The function of a file of the corpus without its attribute.
fn function(text: &str) -> TokenStream {
    let mut function: ItemFn = syn2::parse_str(text).expect("a function");
    function.attrs.retain(|attribute| !attribute.path().is_ident("process"));
    quote!(#function)
}

#[test]
fn the_corpus_is_as_stored() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for name in ["customer", "work", "worker"] {
        let source = fs::read_to_string(corpus.join(format!("{name}.rs"))).expect("a process");
        let expanded = expand(TokenStream::new(), function(&source)).expect("a process");
        let expanded = prettyplease::unparse(&syn2::parse2(expanded).expect("a file"));
        let stored = corpus.join(format!("{name}.expanded"));
        if env::var("WARPLINE_CORPUS").is_ok_and(|what| what == "write") {
            fs::write(&stored, &expanded).expect("written");
        }
        let stored = fs::read_to_string(&stored).expect("what is stored");
        assert!(stored == expanded, "{name}: other text than corpus/{name}.expanded\n{expanded}");
    }
}

/// The error about a function.
fn refused(function: TokenStream) -> String {
    expand(TokenStream::new(), function).expect_err("an error").to_string()
}

#[test]
fn mistakes_are_said_in_the_words_of_the_author() {
    let body = |body: TokenStream| refused(quote!(fn walker(env: &mut Env<Street>) { #body }));
    for (error, says) in [
        (
            refused(quote!(
                fn walker() {}
            )),
            "the first parameter of a process is `env: &mut Env<",
        ),
        (
            refused(quote!(
                fn walker(patience: f64) {}
            )),
            "the first parameter of a process",
        ),
        (
            refused(quote!(
                async fn walker(env: &mut Env<Street>) {}
            )),
            "no `async fn`",
        ),
        (
            refused(quote!(
                fn walker<T>(env: &mut Env<Street>) {}
            )),
            "no generic parameters",
        ),
        (body(quote!(hold!();)), "it is written `hold!(time)`"),
        (
            body(quote!(acquire!(TELLER, patience = 3.0);)),
            "`acquire!` has no argument `patience`: ",
        ),
        (body(quote!(get!(PARTS, timeout = 1.0, timeout = 2.0);)), "`timeout` is given twice"),
        (body(quote!(let x = travel!(there, 1.0);)), "`travel!` returns nothing"),
        (body(quote!((0..3).for_each(|_| hold!(1.0));)), "cannot wait in a closure"),
        (body(quote!(#[cfg(feature = "slow")] hold!(1.0);)), "has no attributes: put a block"),
        (body(quote!(#[cfg(feature = "slow")] let x = hold!(1.0);)), "has no attributes"),
        (body(quote!(let x = async { hold!(1.0); };)), "cannot wait in an `async` block"),
        (body(quote!(println!("{}", hold!(1.0));)), "cannot lie in another macro: bind it first"),
        (body(quote!(if ready() && acquire!(TELLER) {})), "`acquire!` cannot wait here, because"),
        (body(quote!(let x = 1 + draw() + u32::from(hold!(1.0));)), "bind it first, `let ended = "),
        (
            body(quote!(match 1 {
                x if hold!(1.0) => {}
                _ => {}
            })),
            "cannot wait here",
        ),
        (
            body(quote!(let begun = env.now(); hold!(1.0); note(begun);)),
            "cannot determine the type of `begun`, which is held across a wait; write an explicit",
        ),
        (
            body(quote!(let at: &mut u32 = &mut env.site.at; hold!(1.0); *at += 1;)),
            "held across a wait but borrows",
        ),
    ] {
        assert!(error.contains(says), "{error}\n  and not: {says}");
        assert!(!error.contains("yield") && !error.contains("coroutine"), "{error}");
    }
    let error = expand(
        quote!(fast),
        quote!(
            fn walker(env: &mut Env<Street>) {}
        ),
    );
    assert!(error.expect_err("an error").to_string().contains("takes no arguments"));
}
