//! What the macros say of types that they cannot be written for, and what they write by itself.
//!
//! Mutations that turn these tests red: an unknown attribute is ignored; the second attribute of a
//! field counts; `Tracked` is looked for at the beginning of a type only.

use syn::{DeriveInput, parse_quote};

use crate::{
    input::{For, Input, Kind},
    state, value,
};

#[track_caller]
fn refused(input: DeriveInput, why: &str) {
    let error = state::derive(input).expect_err("it is refused");
    assert!(error.to_string().starts_with(why), "{error}");
}

#[test]
fn attributes_that_mean_nothing_are_refused() {
    let known = "a field is `tracked`, `nested`, `fixed` or nothing of these";
    refused(
        parse_quote!(
            struct S {
                #[state(fixd)]
                a: u8,
            }
        ),
        known,
    );
    refused(
        parse_quote!(
            struct S {
                #[state(crate = x)]
                a: u8,
            }
        ),
        known,
    );
    let once = "a field is only one of `tracked`, `nested` and `fixed`";
    refused(
        parse_quote!(
            struct S {
                #[state(fixed, tracked)]
                a: u8,
            }
        ),
        once,
    );
    refused(
        parse_quote!(
            struct S {
                #[state(fixed)]
                #[state(nested)]
                a: u8,
            }
        ),
        once,
    );
    let whole = "of the whole type only `crate = path` can be said";
    refused(
        parse_quote!(
            #[state(fixed)]
            struct S {
                a: u8,
            }
        ),
        whole,
    );
    refused(
        parse_quote!(
            #[state(crate = x, crate = y)]
            struct S {
                a: u8,
            }
        ),
        "`crate` was said",
    );
    let variant = "a variant is saved by its fields";
    refused(
        parse_quote!(
            enum E {
                #[state(fixed)]
                A { a: u8 },
            }
        ),
        variant,
    );
    refused(
        parse_quote!(
            struct S {
                #[state(fixed = 1)]
                a: u8,
            }
        ),
        "expected `,`",
    );
}

#[test]
fn types_without_fields_to_save_are_refused() {
    refused(parse_quote!(union U { a: u8, b: i8 }), "what a union holds is not known");
    refused(
        parse_quote!(
            enum E {}
        ),
        "an enum without variants has no value",
    );
    let tracked = value::derive(parse_quote!(
        struct V {
            #[state(tracked)]
            a: Queue,
        }
    ));
    assert_eq!(
        tracked.expect_err("it is refused").to_string(),
        "a value is saved whole: all its fields are"
    );
}

#[test]
fn the_kind_of_a_field_is_in_its_type_or_said() {
    let input: DeriveInput = parse_quote!(
        struct S<'a> {
            a: u8,
            b: TrackedDeque<u8>,
            c: [Vec<warpline::TrackedMap<u8, u8>>; 2],
            d: &'a (TrackedThing, u8),
            #[state(tracked)]
            e: Queue,
            #[state(nested)]
            f: Vec<Port>,
            #[state(fixed)]
            g: Tracked<u8>,
            /// Only the beginning of a name counts.
            h: NotTracked,
        }
    );
    let kinds = |macro_| -> Vec<_> {
        let input = Input::new(input.clone(), macro_).expect("a state");
        input.fields().map(|field| field.kind).collect()
    };
    use Kind::{Fixed, Plain, Tracked};
    let all = [Plain, Tracked, Tracked, Tracked, Tracked, Tracked, Fixed, Plain];
    assert_eq!(kinds(For::State), all);
}

/// The crate is named where the type says so, and `::warpline` otherwise.
#[test]
fn paths_begin_with_the_crate() {
    let text = |input: DeriveInput| state::derive(input).expect("a state").to_string();
    let usual = text(parse_quote!(
        struct S {
            a: u8,
        }
    ));
    assert!(usual.contains(":: warpline :: derived :: State") && !usual.contains("warpline_core"));
    let other = text(parse_quote!(
        #[state(crate = warpline_core)]
        struct S {
            a: u8,
        }
    ));
    assert!(
        other.contains("warpline_core :: derived :: State") && !other.contains(":: warpline ::")
    );
}
