//! A process: its function, and what is made of it.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn2::{
    Error, Expr, FnArg, GenericArgument, ItemFn, Macro, Pat, Path, PathArguments, Result,
    ReturnType, Type, spanned::Spanned, visit::Visit,
};

use crate::{
    hoist,
    machine::{self, Environment},
};

/// What the attribute makes of a function.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(arguments, "`#[process]` takes no arguments"));
    }
    let mut function: ItemFn = syn2::parse2(item)?;
    if let Some(async_) = &function.sig.asyncness {
        return Err(Error::new(async_.span(), "a process is no `async fn`: it waits by macros"));
    }
    if !function.sig.generics.params.is_empty() {
        let why = "a process has no generic parameters";
        return Err(Error::new(function.sig.generics.span(), why));
    }
    let environment = take_environment(&mut function)?;
    let mut called = Called(Vec::new());
    called.visit_block(&function.block);
    hoist::waits(&mut function.block, &environment.name)?;
    let name = function.sig.ident.clone();
    let is_called_only = !matches!(function.sig.output, ReturnType::Default);
    let machine = machine::make(function, &environment)?;
    let called = called.0;
    // What a process calls is a part of its state.
    let machine = quote! {
        #machine

        impl ::warpline_processes::rt::Source for #name::State {
            const SOURCE: u64 = ::warpline_processes::rt::mixed(&[
                #name::State::FINGERPRINT,
                #(<#called::State as ::warpline_processes::rt::Source>::SOURCE),*
            ]);
        }
    };
    if is_called_only {
        return Ok(machine);
    }
    let world = &environment.world;
    Ok(quote! {
        #machine

        impl ::warpline_processes::rt::Resume<#world> for #name::State {
            #[inline]
            fn resume<__C: ::warpline_processes::ContextOf<#world>>(
                &mut self,
                __env: &mut ::warpline_processes::Env<'_, #world, __C>,
            ) -> ::warpline_processes::rt::CoroutineState<::warpline_processes::rt::Pause, ()> {
                self.__drive(::core::option::Option::Some(()), __env)
            }
        }
    })
}

/// The processes that a process calls.
struct Called(Vec<Path>);

impl Visit<'_> for Called {
    fn visit_macro(&mut self, call: &Macro) {
        if call.path.is_ident("call")
            && let Ok(Expr::Call(call)) = syn2::parse2(call.tokens.clone())
            && let Expr::Path(path) = *call.func
        {
            self.0.push(path.path);
        }
    }
}

/// Takes the first parameter, `env: &mut Env<World>`, off the function.
fn take_environment(function: &mut ItemFn) -> Result<Environment> {
    let mut inputs = std::mem::take(&mut function.sig.inputs).into_iter();
    let first = inputs.next();
    function.sig.inputs = inputs.collect();
    let span = first.as_ref().map_or_else(|| function.sig.ident.span(), Spanned::span);
    first.and_then(environment).ok_or_else(|| no_environment(span))
}

fn environment(parameter: FnArg) -> Option<Environment> {
    if let FnArg::Typed(parameter) = parameter
        && let Pat::Ident(name) = *parameter.pat
        && let Type::Reference(reference) = *parameter.ty
        && let Type::Path(path) = *reference.elem
        && let Some(last) = path.path.segments.last()
        && let PathArguments::AngleBracketed(of) = &last.arguments
        && let Some(GenericArgument::Type(world)) = of.args.first()
    {
        return Some(Environment { name: name.ident, world: world.clone() });
    }
    None
}

fn no_environment(span: Span) -> Error {
    Error::new(span, "the first parameter of a process is `env: &mut Env<World>`, with its world")
}
