//! `#[derive(Statistics)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Generics, Index, Lit, LitStr,
    Member, Meta, Path, Result, parse_quote, parse_quote_spanned,
};

use crate::input::{each, place_of, unraw};

/// A field of the struct, and how reports call it.
struct Observed {
    field: Field,
    member: Member,
    name: String,
    unit: String,
    meaning: String,
}

pub(crate) fn derive(input: DeriveInput) -> Result<TokenStream> {
    let DeriveInput { attrs, ident, generics, data, .. } = input;
    let Data::Struct(data) = data else {
        return Err(Error::new(ident.span(), "statistics are the fields of a struct"));
    };
    let OfType { home, time } = OfType::new(&attrs)?;
    let fields = data.fields.into_iter().enumerate();
    let fields = fields.map(|(index, field)| Observed::new(index, field));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let of = quote!(#home::derived::statistics);
    let generics = bounded(generics, &fields, &of);
    let (parameters, arguments, clause) = generics.split_for_impl();
    // At the field's type, where an error about it belongs.
    let of_all = |call: &dyn Fn(&Observed) -> TokenStream| -> Vec<TokenStream> {
        fields.iter().map(call).collect()
    };
    let call = |function: TokenStream| {
        of_all(&|Observed { field, member, .. }| {
            let ty = &field.ty;
            quote_spanned! { place_of(ty)=>
                <#ty as #of::Statistics>::#function(&mut self.#member, with);
            }
        })
    };
    let (reset, close) = (call(quote!(reset)), call(quote!(close)));
    let merge = of_all(&|Observed { field, member, .. }| {
        let ty = &field.ty;
        quote!(<#ty as #of::Statistics>::merge(&mut self.#member, &with.#member);)
    });
    let since = of_all(&|Observed { field, member, .. }| {
        let ty = &field.ty;
        quote!(#member: <#ty as #of::Statistics>::since(&self.#member, &with.#member))
    });
    let tell = of_all(&|Observed { field, member, name, unit, meaning }| {
        let ty = &field.ty;
        quote! {
            <#ty as #of::Statistics>::tell(
                &self.#member, &label.part(#name, #unit, #meaning), to,
            );
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl #parameters #of::Statistics for #ident #arguments #clause {
            fn reset(&mut self, with: #of::VirtualTime) { #(#reset)* }
            fn close(&mut self, with: #of::VirtualTime) { #(#close)* }
            fn merge(&mut self, with: &Self) { #(#merge)* }
            fn since(&self, with: &Self) -> Self { Self { #(#since),* } }
            fn tell(&self, label: &#of::Label<'_>, to: &mut #of::Findings) {
                let label = label.in_time(#time);
                #(#tell)*
            }
        }
        #[automatically_derived]
        impl #parameters #of::Results for #ident #arguments #clause {
            fn figures(&self) -> ::std::vec::Vec<#of::Figure> { #of::Findings::of(self).figures }
            fn pictures(&self) -> ::std::vec::Vec<#of::Picture> { #of::Findings::of(self).pictures }
        }
        #[automatically_derived]
        impl #parameters ::core::iter::Sum for #ident #arguments #clause {
            fn sum<__I: ::core::iter::Iterator<Item = Self>>(summaries: __I) -> Self {
                #of::merged(summaries)
            }
        }
    })
}

impl Observed {
    fn new(index: usize, field: Field) -> Result<Self> {
        let mut unit = None;
        each("statistic", &field.attrs, |meta| {
            if !meta.path.is_ident("unit") {
                return Err(meta.error("of a statistic only `unit = \"…\"` can be said"));
            }
            once(&mut unit, &meta)
        })?;
        let (member, name) = match &field.ident {
            Some(ident) => (Member::Named(ident.clone()), unraw(ident)),
            None => (Member::Unnamed(Index::from(index)), index.to_string()),
        };
        let (unit, meaning) = (unit.unwrap_or_default(), meaning(&field.attrs));
        Ok(Self { field, member, name, unit, meaning })
    }
}

/// What the attributes of the whole type say.
struct OfType {
    home: Path,
    time: String,
}

impl OfType {
    fn new(attributes: &[Attribute]) -> Result<Self> {
        let (mut home, mut time) = (None, None);
        each("statistic", attributes, |meta| {
            if meta.path.is_ident("time") {
                return once(&mut time, &meta);
            }
            if !meta.path.is_ident("crate") {
                let what = "of all statistics only `time = \"…\"`, the unit of virtual time, and \
                            `crate = path` can be said; `unit` belongs to a field";
                return Err(meta.error(what));
            }
            match home.replace(meta.value()?.parse()?) {
                Some(_) => Err(meta.error("`crate` was said before")),
                None => Ok(()),
            }
        })?;
        let home = home.unwrap_or_else(|| parse_quote!(::warpline));
        Ok(Self { home, time: time.unwrap_or_default() })
    }
}

/// Reads a text that may be said once.
fn once(text: &mut Option<String>, meta: &syn::meta::ParseNestedMeta<'_>) -> Result<()> {
    match text.replace(meta.value()?.parse::<LitStr>()?.value()) {
        Some(_) => Err(meta.error("it was said before")),
        None => Ok(()),
    }
}

/// The first paragraph of a doc comment, without the full stop: what reports say of a figure.
fn meaning(attributes: &[Attribute]) -> String {
    let text = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(it) if it.path.is_ident("doc") => match &it.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    let texts: Vec<_> = attributes.iter().filter_map(text).collect();
    // A block comment is one text, with a star before each line.
    let lines = texts.iter().flat_map(|text| if text.is_empty() { "\n" } else { text }.lines());
    let lines = lines.map(|line| line.trim().trim_start_matches('*').trim());
    let first = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
    let meaning = first.collect::<Vec<_>>().join(" ");
    meaning.strip_suffix('.').unwrap_or(&meaning).to_owned()
}

/// The generics, with the bounds that fields of generic types need.
fn bounded(mut generics: Generics, fields: &[Observed], of: &TokenStream) -> Generics {
    let is_generic = generics.type_params().next().is_some();
    if is_generic || generics.const_params().next().is_some() {
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.push(parse_quote!(Self: ::core::clone::Clone + ::core::default::Default));
        for Observed { field, .. } in fields {
            let ty = &field.ty;
            predicates.push(parse_quote_spanned!(place_of(ty)=> #ty: #of::Statistics));
        }
    }
    generics
}
