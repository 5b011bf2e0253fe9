//! The head of an impl, with the bounds that the types of generic fields need.
//!
//! A bound is written for the type of the field and not for the parameters in it: a field
//! `TrackedDeque<M::Job>` asks nothing of `M` itself.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, parse_quote_spanned};

use crate::input::{Field, Input};

/// The generics of the type, with the bounds that `bound` gives for the fields that need one.
pub(crate) fn bounded(input: &Input, bound: impl Fn(&Field) -> TokenStream) -> Generics {
    let mut generics = input.generics.clone();
    let predicates = &mut generics.make_where_clause().predicates;
    for field in input.fields().filter(|field| input.is_generic(&field.ty)) {
        let (ty, span, bound) = (&field.ty, field.span(), bound(field));
        if input.is_recursive(ty) {
            // A bound of `Box<Self>` would have to hold before it can be shown to hold.
            for parameter in input.generics.type_params() {
                let ident = &parameter.ident;
                predicates.push(parse_quote_spanned!(span=> #ident: #bound));
            }
        } else {
            predicates.push(parse_quote_spanned!(span=> #ty: #bound));
        }
    }
    generics
}

/// The impl of a trait for the type.
pub(crate) fn implement(
    input: &Input,
    generics: &Generics,
    name: &TokenStream,
    items: &TokenStream,
) -> TokenStream {
    let ident = &input.ident;
    let (parameters, arguments, clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters #name for #ident #arguments #clause { #items }
    }
}
