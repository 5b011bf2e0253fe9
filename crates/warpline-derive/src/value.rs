//! `#[derive(Value)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Result, parse_quote};

use crate::{
    implement::{bounded, implement},
    input::{For, Input},
    words,
};

pub(crate) fn derive(input: DeriveInput) -> Result<TokenStream> {
    let input = Input::new(input, For::Value)?;
    let home = &input.home;
    let value = quote!(#home::derived::Value);
    let mut generics = bounded(&input, |_| value.clone());
    if generics.type_params().next().is_some() {
        // `Clone` is someone else's, perhaps with other bounds.
        let clone = parse_quote!(Self: ::core::clone::Clone + ::core::marker::Send + 'static);
        generics.make_where_clause().predicates.push(clone);
    }
    let (count, owns) = (words::count(&input), words::owns(&input));
    let (put, make, heap_bytes) =
        (words::put(&input), words::make(&input), words::heap_bytes(&input));
    let items = quote! {
        const WORDS: usize = #count;
        const OWNS: bool = #owns;
        #[inline]
        fn put(&self, __to: &mut [u64], __owned: &mut #home::derived::Owned) { #put }
        #[inline]
        fn get(__from: &[u64], __owned: &mut #home::derived::Owned) -> Self { #make }
        #[inline]
        fn heap_bytes(&self) -> usize { #heap_bytes }
    };
    Ok(implement(&input, &generics, &value, &items))
}
