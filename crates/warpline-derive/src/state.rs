//! `#[derive(State)]`, with `Clone`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Generics, Result};

use crate::{
    implement::{bounded, implement},
    input::{For, Input, Kind},
    words,
};

pub(crate) fn derive(input: DeriveInput) -> Result<TokenStream> {
    let input = Input::new(input, For::State)?;
    let (clone, state) = (clone(&input), state(&input));
    Ok(quote!(#clone #state))
}

/// `Clone`, whose `clone_from` reuses what the fields own. The one of the standard macro does not.
fn clone(input: &Input) -> TokenStream {
    let clones = input.variants.iter().map(|variant| {
        let pattern = variant.pattern(|_| true, "");
        let clone = variant.of(|field| {
            let (name, ty, span) = (&field.name, &field.ty, field.span());
            quote_spanned!(span=> <#ty as ::core::clone::Clone>::clone(#name))
        });
        quote!(#pattern => #clone,)
    });
    let copies = input.variants.iter().map(|variant| {
        let (to, from) = (variant.pattern(|_| true, ""), variant.pattern(|_| true, "__from"));
        let fields = variant.fields.iter().map(|field| {
            let (to, from) = (&field.name, field.prefixed("__from"));
            let (ty, span) = (&field.ty, field.span());
            quote_spanned!(span=> <#ty as ::core::clone::Clone>::clone_from(#to, #from);)
        });
        quote!((#to, #from) => { #(#fields)* })
    });
    let other = (input.variants.len() > 1)
        .then(|| quote!((__to, __from) => *__to = ::core::clone::Clone::clone(__from),));
    let items = quote! {
        #[inline]
        fn clone(&self) -> Self { match self { #(#clones)* } }
        #[inline]
        fn clone_from(&mut self, __source: &Self) {
            match (self, __source) { #(#copies)* #other }
        }
    };
    let name = quote!(::core::clone::Clone);
    let generics = bounded(input, |_| name.clone());
    implement(input, &generics, &name, &items)
}

fn state(input: &Input) -> TokenStream {
    let home = &input.home;
    let generics = bounded(input, |field| match field.kind {
        Kind::Plain => quote!(#home::derived::Value + ::core::fmt::Debug),
        Kind::Tracked => quote!(#home::derived::Undo + ::core::clone::Clone + ::core::fmt::Debug),
        Kind::Fixed => quote!(::core::clone::Clone + ::core::fmt::Debug),
    });
    let has_plain = input.fields().any(|field| field.kind == Kind::Plain);
    let plain = if has_plain { plain(input) } else { no_plain(input) };
    let tracked = tracked(input);
    let heap_bytes = input.sum(Kind::is_saved, |field| {
        let (name, ty, span) = (&field.name, &field.ty, field.span());
        match field.kind {
            Kind::Plain => quote_spanned!(span=> <#ty as #home::derived::Value>::heap_bytes(#name)),
            _ => quote_spanned!(span=> <#ty as #home::derived::Undo>::heap_bytes(#name)),
        }
    });
    let fields = fields(input);
    let items = quote! {
        const HAS_PLAIN: bool = #has_plain;
        #plain
        #tracked
        #[inline]
        fn heap_bytes(&self) -> usize { #heap_bytes }
        #fields
    };
    let state = implement(input, &generics, &quote!(#home::derived::State), &items);
    let undo = (!has_plain).then(|| undo(input, &generics));
    quote!(#state #undo)
}

/// The functions for the plain fields. In an enum, each variant takes the words that it needs.
fn plain(input: &Input) -> TokenStream {
    let home = &input.home;
    let owns = words::owns(input);
    let save = input.matched(Kind::is_plain, |number, variant| {
        let count = words::count_of(input, variant);
        let put = words::put_of(input, number, variant);
        quote!(__log.push_plain(const { (#count, #owns) }, |__to, __owned| #put))
    });
    let restore = words::restore(input);
    quote! {
        #[inline]
        fn save_plain(&self, __log: &mut #home::derived::UndoLog) { #save }
        #[inline]
        fn restore_plain(&mut self, __point: u64, __log: &mut #home::derived::UndoLog) {
            __log.take_plain(__point, |__from, __owned| #restore);
        }
    }
}

fn no_plain(input: &Input) -> TokenStream {
    let home = &input.home;
    quote! {
        #[inline]
        fn save_plain(&self, _: &mut #home::derived::UndoLog) {}
        #[inline]
        fn restore_plain(&mut self, _: u64, _: &mut #home::derived::UndoLog) {}
    }
}

/// The functions for the tracked fields.
fn tracked(input: &Input) -> TokenStream {
    let home = &input.home;
    let undo = input.sum(Kind::is_tracked, |field| {
        let (name, ty, span) = (&field.name, &field.ty, field.span());
        quote_spanned!(span=> <#ty as #home::derived::Undo>::undo_to(#name, __point, __log))
    });
    let rebase = input.matched(Kind::is_tracked, |_, variant| {
        let fields = variant.of_kind(Kind::Tracked).map(|field| {
            let (name, ty, span) = (&field.name, &field.ty, field.span());
            quote_spanned!(span=> <#ty as #home::derived::Undo>::rebase(#name, __moves);)
        });
        quote!({ #(#fields)* })
    });
    quote! {
        #[inline]
        fn undo_to(&mut self, __point: u64, __log: &mut #home::derived::UndoLog) -> usize { #undo }
        fn rebase(&mut self, __moves: &#home::derived::Moves) { #rebase }
    }
}

/// The function that shows all fields, and which variant it is.
fn fields(input: &Input) -> TokenStream {
    let shown = input.matched(
        |_| true,
        |_, variant| {
            let name = variant.name.iter().map(|name| quote!(__visit("variant", &#name);));
            let fields = variant.fields.iter().map(|field| {
                let (name, label) = (&field.name, &field.label);
                quote_spanned!(field.span()=> __visit(#label, #name);)
            });
            quote!({ #(#name)* #(#fields)* })
        },
    );
    quote! {
        fn fields(
            &self,
            __visit: &mut dyn ::core::ops::FnMut(&'static str, &dyn ::core::fmt::Debug),
        ) {
            #shown
        }
    }
}

/// A state without plain fields can be a part of another one: it is undone as a tracked field is.
fn undo(input: &Input, generics: &Generics) -> TokenStream {
    let home = &input.home;
    let state = quote!(<Self as #home::derived::State>);
    let items = quote! {
        #[inline]
        fn undo_to(&mut self, __point: u64, __log: &mut #home::derived::UndoLog) -> usize {
            #state::undo_to(self, __point, __log)
        }
        fn rebase(&mut self, __moves: &#home::derived::Moves) { #state::rebase(self, __moves); }
        #[inline]
        fn heap_bytes(&self) -> usize { #state::heap_bytes(self) }
    };
    implement(input, generics, &quote!(#home::derived::Undo), &items)
}
