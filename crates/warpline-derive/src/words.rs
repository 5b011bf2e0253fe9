//! Plain fields as words: those of a state, and all of a value. They lie one after the other, in an
//! enum behind the number of the variant.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::input::{Field, Input, Kind, Variant, total};

/// How many words they take at most.
pub(crate) fn count(input: &Input) -> TokenStream {
    let home = &input.home;
    let variants = input.variants.iter().map(|variant| count_of(input, variant));
    if input.is_enum {
        quote!(#home::derived::largest(&[#(#variants),*]))
    } else {
        quote!(#(#variants)*)
    }
}

/// How many words those of a variant take.
pub(crate) fn count_of(input: &Input, variant: &Variant) -> TokenStream {
    let number = input.is_enum.then(|| quote!(1));
    let fields = variant.of_kind(Kind::Plain).map(|field| constant(input, field, "WORDS"));
    total(number.into_iter().chain(fields))
}

/// Whether one of them owns memory.
pub(crate) fn owns(input: &Input) -> TokenStream {
    let fields = input.fields().filter(|field| field.kind == Kind::Plain);
    let fields = fields.map(|field| constant(input, field, "OWNS"));
    quote!(false #(|| #fields)*)
}

/// A constant of `Value` for the type of a field. An error says so at the type.
fn constant(input: &Input, field: &Field, name: &str) -> TokenStream {
    let (home, ty, span) = (&input.home, &field.ty, field.span());
    let name = syn::Ident::new(name, span);
    quote_spanned!(span=> <#ty as #home::derived::Value>::#name)
}

/// The expression that writes the fields of `self` to `__to` and `__owned`.
pub(crate) fn put(input: &Input) -> TokenStream {
    input.matched(Kind::is_plain, |number, variant| put_of(input, number, variant))
}

/// The block that does so for the fields of a variant, which are bound to their names.
pub(crate) fn put_of(input: &Input, number: u64, variant: &Variant) -> TokenStream {
    let home = &input.home;
    let fields = variant.of_kind(Kind::Plain).map(|field| {
        let (name, ty, span) = (&field.name, &field.ty, field.span());
        let words = constant(input, field, "WORDS");
        quote_spanned! {span=>
            <#ty as #home::derived::Value>::put(
                #name, #home::derived::next_mut(__to, &mut __at, #words), __owned,
            );
        }
    });
    let number = input.is_enum.then(|| quote!(__to[0] = #number;));
    let begin = begin(input, variant);
    quote!({ #number #begin #(#fields)* })
}

/// The expression that reads the fields of `self` from `__from` and `__owned`.
pub(crate) fn restore(input: &Input) -> TokenStream {
    let home = &input.home;
    input.matched(Kind::is_plain, |number, variant| {
        let fields = variant.of_kind(Kind::Plain).map(|field| {
            let (name, value) = (&field.name, get(input, field));
            quote!(*#name = #value;)
        });
        let ident = input.ident.to_string();
        let check = input
            .is_enum
            .then(|| quote!(#home::derived::same_variant(#ident, __from[0], #number);));
        let begin = begin(input, variant);
        quote!({ #check #begin #(#fields)* })
    })
}

/// The expression that makes a value from `__from` and `__owned`.
pub(crate) fn make(input: &Input) -> TokenStream {
    let home = &input.home;
    let make = |variant: &Variant| {
        let begin = begin(input, variant);
        let value = variant.of(|field| get(input, field));
        quote!({ #begin #value })
    };
    if !input.is_enum {
        return make(&input.variants[0]);
    }
    let variants = (0_u64..).zip(&input.variants).map(|(number, variant)| {
        let value = make(variant);
        quote!(#number => #value,)
    });
    let ident = input.ident.to_string();
    quote! {
        match __from[0] {
            #(#variants)*
            __number => #home::derived::no_variant(#ident, __number),
        }
    }
}

/// The next field in `__from`.
fn get(input: &Input, field: &Field) -> TokenStream {
    let (home, ty, span) = (&input.home, &field.ty, field.span());
    let words = constant(input, field, "WORDS");
    quote_spanned! {span=>
        <#ty as #home::derived::Value>::get(
            #home::derived::next(__from, &mut __at, #words), __owned,
        )
    }
}

/// Where the first field lies.
fn begin(input: &Input, variant: &Variant) -> Option<TokenStream> {
    let first = usize::from(input.is_enum);
    variant.of_kind(Kind::Plain).next().map(|_| quote!(let mut __at = #first;))
}

/// The expression that adds up the memory that they own.
pub(crate) fn heap_bytes(input: &Input) -> TokenStream {
    let home = &input.home;
    input.sum(Kind::is_plain, |field| {
        let (name, ty, span) = (&field.name, &field.ty, field.span());
        quote_spanned!(span=> <#ty as #home::derived::Value>::heap_bytes(#name))
    })
}
