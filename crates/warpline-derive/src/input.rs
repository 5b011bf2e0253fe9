//! The type that a macro is written for, as both macros see it: variants with fields, and what the
//! attributes say of them.
//!
//! A struct is one variant without a name. So is what is written for it: one arm of a `match`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Generics, Ident, Member, Path, Result, Type,
    meta::ParseNestedMeta, parse_quote, spanned::Spanned,
};

/// A struct or an enum.
pub(crate) struct Input {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    /// The crate that has the traits.
    pub(crate) home: Path,
    pub(crate) variants: Vec<Variant>,
    pub(crate) is_enum: bool,
}

/// A variant of an enum, or a whole struct.
pub(crate) struct Variant {
    /// `Self::Name`, or `Self`.
    pub(crate) path: TokenStream,
    /// None in a struct.
    pub(crate) name: Option<String>,
    pub(crate) fields: Vec<Field>,
}

/// A field, and how it is saved.
pub(crate) struct Field {
    pub(crate) member: Member,
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
    /// What a check of saving calls it.
    pub(crate) label: String,
    /// What it is bound to in a pattern.
    pub(crate) name: Ident,
}

/// How a field is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Saved whole before each event.
    Plain,
    /// Saves what is written to it, when it is written.
    Tracked,
    /// Not saved.
    Fixed,
}

impl Kind {
    pub(crate) fn is_plain(self) -> bool {
        self == Self::Plain
    }

    pub(crate) fn is_tracked(self) -> bool {
        self == Self::Tracked
    }

    pub(crate) fn is_saved(self) -> bool {
        self != Self::Fixed
    }
}

/// Whose attributes are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    State,
    Value,
}

impl Input {
    pub(crate) fn new(input: DeriveInput, macro_: For) -> Result<Self> {
        let DeriveInput { attrs, ident, generics, data, .. } = input;
        let home = home(&attrs)?;
        let (variants, is_enum) = match data {
            Data::Struct(data) => {
                (vec![Variant::new(quote!(Self), None, data.fields, macro_)?], false)
            }
            Data::Enum(data) if data.variants.is_empty() => {
                return Err(Error::new(ident.span(), "an enum without variants has no value"));
            }
            Data::Enum(data) => {
                let mut variants = Vec::new();
                for variant in data.variants {
                    attributes_of_a_variant(&variant.attrs)?;
                    let name = &variant.ident;
                    let path = quote!(Self::#name);
                    variants.push(Variant::new(path, Some(name), variant.fields, macro_)?);
                }
                (variants, true)
            }
            Data::Union(data) => {
                let why = "what a union holds is not known, so it cannot be saved field by field";
                return Err(Error::new(data.union_token.span(), why));
            }
        };
        Ok(Self { ident, generics, home, variants, is_enum })
    }

    /// All fields, of all variants.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.variants.iter().flat_map(|variant| &variant.fields)
    }

    /// A `match` of `self`, whose arms know their fields of some kinds by their names.
    pub(crate) fn matched(
        &self,
        binds: fn(Kind) -> bool,
        arm: impl Fn(u64, &Variant) -> TokenStream,
    ) -> TokenStream {
        let arms = (0..).zip(&self.variants).map(|(number, variant)| {
            let (pattern, arm) = (variant.pattern(binds, ""), arm(number, variant));
            quote!(#pattern => #arm)
        });
        quote!(match self { #(#arms,)* })
    }

    /// The sum of something over the fields of some kinds.
    pub(crate) fn sum(
        &self,
        of: fn(Kind) -> bool,
        term: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        self.matched(of, |_, variant| {
            total(variant.fields.iter().filter(|field| of(field.kind)).map(&term))
        })
    }

    /// Whether a type depends on a type parameter, so that a bound has to say what it can do.
    pub(crate) fn is_generic(&self, ty: &Type) -> bool {
        let mut parameters = self.generics.type_params();
        parameters.any(|parameter| mentions(ty, &|ident| *ident == parameter.ident))
    }

    /// Whether a type has this one inside. A bound of such a type would ask for itself.
    pub(crate) fn is_recursive(&self, ty: &Type) -> bool {
        mentions(ty, &|ident| *ident == self.ident || *ident == "Self")
    }
}

impl Variant {
    fn new(
        path: TokenStream,
        variant: Option<&Ident>,
        fields: syn::Fields,
        macro_: For,
    ) -> Result<Self> {
        let fields = fields.into_iter().enumerate();
        let field = |(index, field)| Field::new(index, field, variant, macro_);
        let fields = fields.map(field).collect::<Result<_>>()?;
        Ok(Self { path, name: variant.map(unraw), fields })
    }

    /// The pattern that binds the fields of some kinds to their names, with a prefix.
    pub(crate) fn pattern(&self, binds: fn(Kind) -> bool, prefix: &str) -> TokenStream {
        let path = &self.path;
        let fields = self.fields.iter().filter(|field| binds(field.kind)).map(|field| {
            let (member, name) = (&field.member, field.prefixed(prefix));
            quote!(#member: #name,)
        });
        quote!(#path { #(#fields)* .. })
    }

    /// The value whose fields are these.
    pub(crate) fn of(&self, value: impl Fn(&Field) -> TokenStream) -> TokenStream {
        let path = &self.path;
        let fields = self.fields.iter().map(|field| {
            let (member, value) = (&field.member, value(field));
            quote!(#member: #value)
        });
        quote!(#path { #(#fields),* })
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(move |field| field.kind == kind)
    }
}

impl Field {
    fn new(index: usize, field: syn::Field, variant: Option<&Ident>, macro_: For) -> Result<Self> {
        let said = kind(&field.attrs, macro_)?;
        let looks_tracked =
            || mentions(&field.ty, &|ident| ident.to_string().starts_with("Tracked"));
        let kind = match said {
            Some(kind) => kind,
            None if macro_ == For::State && looks_tracked() => Kind::Tracked,
            None => Kind::Plain,
        };
        let member = match field.ident {
            Some(ident) => Member::Named(ident),
            None => Member::Unnamed(index.into()),
        };
        let text = match &member {
            Member::Named(ident) => unraw(ident),
            Member::Unnamed(index) => index.index.to_string(),
        };
        let label = variant.map_or_else(|| text.clone(), |v| format!("{}.{text}", unraw(v)));
        Ok(Self { member, ty: field.ty, kind, label, name: format_ident!("__field_{index}") })
    }

    /// The name in a pattern, for a second value beside the first one.
    pub(crate) fn prefixed(&self, prefix: &str) -> Ident {
        format_ident!("{prefix}{}", self.name)
    }

    /// Where an error about its type belongs.
    pub(crate) fn span(&self) -> Span {
        place_of(&self.ty)
    }
}

/// Where a type is written, for errors. Names that are written there are ours all the same, also if
/// another macro wrote the type.
pub(crate) fn place_of(ty: &Type) -> Span {
    Span::call_site().located_at(ty.span())
}

/// What terms add up to.
pub(crate) fn total(terms: impl Iterator<Item = TokenStream>) -> TokenStream {
    terms.reduce(|sum, term| quote!(#sum + #term)).unwrap_or_else(|| quote!(0))
}

pub(crate) fn unraw(ident: &Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

/// Whether a type is written with such an identifier.
fn mentions(ty: &Type, is: &dyn Fn(&Ident) -> bool) -> bool {
    fn any(tokens: TokenStream, is: &dyn Fn(&Ident) -> bool) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => is(&ident),
            TokenTree::Group(group) => any(group.stream(), is),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
    any(ty.to_token_stream(), is)
}

/// The attributes of this name, `#[name(…)]`, each thing in them by itself.
pub(crate) fn each(
    name: &str,
    attributes: &[Attribute],
    mut read: impl FnMut(ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident(name));
    ours.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}

/// The crate that the type's attributes name.
fn home(attributes: &[Attribute]) -> Result<Path> {
    let mut home = None;
    each("state", attributes, |meta| {
        if !meta.path.is_ident("crate") {
            let what = "of the whole type only `crate = path` can be said; `tracked`, `nested` and \
                        `fixed` belong to a field";
            return Err(meta.error(what));
        }
        match home.replace(meta.value()?.parse()?) {
            Some(_) => Err(meta.error("`crate` was said before")),
            None => Ok(()),
        }
    })?;
    Ok(home.unwrap_or_else(|| parse_quote!(::warpline)))
}

fn attributes_of_a_variant(attributes: &[Attribute]) -> Result<()> {
    each("state", attributes, |meta| {
        Err(meta.error("a variant is saved by its fields: say it of one of them"))
    })
}

/// What the attributes of a field say of it.
fn kind(attributes: &[Attribute], macro_: For) -> Result<Option<Kind>> {
    let mut kind = None;
    each("state", attributes, |meta| {
        if macro_ == For::Value {
            return Err(meta.error("a value is saved whole: all its fields are"));
        }
        let said = if meta.path.is_ident("tracked") || meta.path.is_ident("nested") {
            Kind::Tracked
        } else if meta.path.is_ident("fixed") {
            Kind::Fixed
        } else {
            return Err(meta.error("a field is `tracked`, `nested`, `fixed` or nothing of these"));
        };
        match kind.replace(said) {
            Some(_) => Err(meta.error("a field is only one of `tracked`, `nested` and `fixed`")),
            None => Ok(()),
        }
    })?;
    Ok(kind)
}
