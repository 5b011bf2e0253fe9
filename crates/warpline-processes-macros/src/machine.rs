//! The state machine: `diapause-macro-core` makes it, and here it gets one more parameter, the
//! environment of the process.
//!
//! `env` is a free name for `diapause`: it copies statements as they are. What it writes for its
//! own trait becomes one method, `__drive`, to which the environment is passed. Only this file
//! knows of `diapause`.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn2::{
    Error, Expr, File, ImplItem, Item, ItemFn, Result, Type, parse_quote,
    visit_mut::{self, VisitMut},
};

/// The environment: the name that the function gives it, and the world.
pub(crate) struct Environment {
    pub(crate) name: Ident,
    pub(crate) world: Type,
}

/// The state machine of a function whose waits are `yield_!` and `yield_all!`.
pub(crate) fn make(mut function: ItemFn, environment: &Environment) -> Result<TokenStream> {
    // It moves `derive` to the state.
    function.attrs.push(parse_quote!(
        #[derive(
            Clone, Debug, PartialEq, ::warpline_processes::rt::Value,
            ::warpline_processes::rt::Serialize, ::warpline_processes::rt::Deserialize,
        )]
    ));
    let arguments = quote!(yield = ::warpline_processes::rt::Pause, resume = ());
    let machine = diapause_macro_core::expand(arguments, function).map_err(in_our_words)?;
    let mut file: File = syn2::parse2(machine)?;
    for item in &mut file.items {
        if let Item::Mod(module) = item
            && let Some((_, items)) = &mut module.content
        {
            module.attrs.push(parse_quote!(#[doc(hidden)]));
            module.attrs.push(parse_quote!(
                #[allow(clippy::all, clippy::pedantic, clippy::nursery, reason = "not by hand")]
            ));
            items.retain(|item| !is_iterator(item));
            items.iter_mut().for_each(|item| with_environment(item, environment));
        }
    }
    Pass(environment).visit_file_mut(&mut file);
    Ok(quote!(#file))
}

/// Its iterator, which processes have no use for.
fn is_iterator(item: &Item) -> bool {
    let Item::Impl(it) = item else { return false };
    let of = it.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
    of.is_some_and(|last| last.ident == "IntoIterator")
}

/// The attributes of the state, and the environment as a parameter of `__drive`.
fn with_environment(item: &mut Item, Environment { name, world }: &Environment) {
    match item {
        Item::Enum(state) => {
            state.attrs.push(parse_quote!(#[serde(crate = "::warpline_processes::rt::serde")]));
            state.attrs.push(parse_quote!(#[state(crate = ::warpline_processes::rt::warpline)]));
        }
        // Its own trait: `start` and `resume` are `__drive` here, and types are left.
        Item::Impl(it) if it.trait_.as_ref().is_some_and(|(_, path, _)| is(path, "Coroutine")) => {
            it.items.retain(|item| matches!(item, ImplItem::Type(_)));
        }
        Item::Impl(it) => {
            for item in &mut it.items {
                let ImplItem::Fn(method) = item else { continue };
                if method.sig.ident == "__drive" {
                    method.vis = parse_quote!(pub);
                    method.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
                    method.attrs.push(parse_quote!(#[inline]));
                    let parameter = parse_quote!(__C: ::warpline_processes::ContextOf<#world>);
                    method.sig.generics.params.push(parameter);
                    let span = name.span();
                    let env = quote_spanned!(span=> #name);
                    method.sig.inputs.push(parse_quote!(
                        #env: &mut ::warpline_processes::Env<'_, #world, __C>
                    ));
                }
            }
        }
        _ => {}
    }
}

fn is(path: &syn2::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|last| last.ident == name)
}

/// Passes the environment on to processes that are called, and renames the runtime.
struct Pass<'a>(&'a Environment);

impl VisitMut for Pass<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let env = &self.0.name;
        match expr {
            Expr::MethodCall(call) if call.method == "__drive" => {
                call.args.push(parse_quote!(#env))
            }
            // `Coroutine::start(&mut called)` and `Coroutine::resume(&mut called, value)`.
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else { return };
                let of = path.path.segments.iter().rev().nth(1);
                if of.is_none_or(|of| of.ident != "Coroutine") {
                    return;
                }
                let Some(Expr::Reference(called)) = call.args.first() else { return };
                let called = &called.expr;
                *expr = parse_quote!(#called.__drive(::core::option::Option::Some(()), #env));
            }
            _ => {}
        }
    }

    /// `<… as Coroutine>::Return` has one segment more when the runtime is renamed.
    fn visit_type_path_mut(&mut self, ty: &mut syn2::TypePath) {
        let before = ty.path.segments.len();
        visit_mut::visit_type_path_mut(self, ty);
        if let Some(of) = &mut ty.qself {
            of.position += ty.path.segments.len() - before;
        }
    }

    fn visit_path_mut(&mut self, path: &mut syn2::Path) {
        visit_mut::visit_path_mut(self, path);
        if path.leading_colon.is_some() && path.segments[0].ident == "diapause" {
            let rest = path.segments.iter().skip(1);
            *path = parse_quote!(::warpline_processes::rt #(::#rest)*);
        }
    }
}

/// What is wrong, in the words of whoever writes a process.
fn in_our_words(error: Error) -> Error {
    let translated = error.into_iter().map(|error| {
        let text = error.to_string();
        let text = text
            .replace("#[diapause::coroutine]", "`#[process]`")
            .replace("yield_all!", "call!")
            .replace("yield_!(", "hold!(")
            .replace("yield_!", "a wait")
            .replace("coroutine", "process");
        Error::new(error.span(), text)
    });
    translated
        .reduce(|mut all, error| {
            all.combine(error);
            all
        })
        .unwrap_or_else(|| Error::new(proc_macro2::Span::call_site(), "not a process"))
}
