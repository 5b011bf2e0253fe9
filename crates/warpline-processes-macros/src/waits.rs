//! The waits, and what is written for each: a call that begins it, a suspension if that has to
//! wait, and how it ended.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn2::{
    Error, Expr, Macro, Result, Stmt, Token, parse::Parser, punctuated::Punctuated,
    spanned::Spanned,
};

/// The waits, how they are called, and what they return.
const WAITS: &[Form] = &[
    Form::new("hold", &["time"], &[], Returns::Whether),
    Form::new("acquire", &["resource"], &["timeout", "priority", "preempt"], Returns::Whether),
    Form::new("get", &["store"], &["timeout", "priority"], Returns::Item),
    Form::new("put", &["store", "item"], &["timeout", "priority"], Returns::Whether),
    Form::new("take", &["container", "amount"], &["timeout", "priority"], Returns::Whether),
    Form::new("fill", &["container", "amount"], &["timeout", "priority"], Returns::Whether),
    Form::new("wait", &["condition"], &["timeout", "priority"], Returns::Whether),
    Form::new("passivate", &[], &["timeout"], Returns::Whether),
    Form::new("travel", &["to", "delay"], &[], Returns::Nothing),
];

/// The one that is a process itself.
const CALL: &str = "call";

struct Form {
    name: &'static str,
    positional: &'static [&'static str],
    named: &'static [&'static str],
    returns: Returns,
}

/// What a wait returns.
#[derive(Clone, Copy, PartialEq)]
enum Returns {
    /// Whether what it waited for has happened.
    Whether,
    /// What it got, if it got something.
    Item,
    Nothing,
}

impl Form {
    const fn new(
        name: &'static str,
        positional: &'static [&'static str],
        named: &'static [&'static str],
        returns: Returns,
    ) -> Self {
        Self { name, positional, named, returns }
    }

    /// How it is written.
    fn usage(&self) -> String {
        let named = self.named.iter().map(|name| format!("{name} = …"));
        let all: Vec<_> =
            self.positional.iter().map(|&name| name.to_owned()).chain(named).collect();
        format!("`{}!({})`", self.name, all.join(", "))
    }
}

/// Whether a macro of this name is a wait.
pub(crate) fn is_wait(name: &Ident) -> bool {
    *name == CALL || WAITS.iter().any(|form| name == form.name)
}

/// The wait that a macro is.
fn form(call: &Macro) -> Option<&'static Form> {
    let name = call.path.get_ident()?;
    WAITS.iter().find(|form| name == form.name)
}

/// Whether a macro is a wait.
pub(crate) fn is(call: &Macro) -> bool {
    call.path.get_ident().is_some_and(is_wait)
}

/// The statements of a wait whose end nobody looks at.
pub(crate) fn as_statements(call: &Macro, env: &Ident) -> Result<Vec<Stmt>> {
    let Some(form) = form(call) else {
        let (tokens, span) = (&call.tokens, call.span());
        return statements(quote_spanned!(span=> yield_all!(#tokens);));
    };
    begin(form, call, env, false)
}

/// The statements of a wait, and the expression that tells how it ended.
pub(crate) fn as_value(call: &Macro, env: &Ident) -> Result<(Vec<Stmt>, TokenStream)> {
    let span = call.span();
    let Some(form) = form(call) else {
        let tokens = &call.tokens;
        return Ok((Vec::new(), quote_spanned!(span=> yield_all!(#tokens))));
    };
    let value = match form.returns {
        Returns::Whether => quote_spanned!(span=> #env.__succeeded()),
        Returns::Item => quote_spanned!(span=> #env.__got()),
        Returns::Nothing => {
            let why = format!("`{}!` returns nothing", form.name);
            return Err(Error::new(span, why));
        }
    };
    Ok((begin(form, call, env, true)?, value))
}

/// The statements that begin a wait, and suspend the process if it has to wait.
fn begin(form: &Form, call: &Macro, env: &Ident, is_heeded: bool) -> Result<Vec<Stmt>> {
    let span = call.span();
    let Arguments { positional, named } = Arguments::read(form, call)?;
    if form.name == "travel" {
        let pause = quote_spanned!(span=> ::warpline_processes::rt::Pause::Travel);
        return statements(quote_spanned!(span=> yield_!(#pause(#(#positional),*));));
    }
    let begin = format_ident!("__{}", form.name, span = span);
    let named = form.named.iter().map(|&name| {
        let given = named.iter().find(|(given, _)| given == name);
        given.map_or_else(|| default(name, span), |(_, value)| value.clone())
    });
    let wait = quote_spanned!(span=> yield_!(::warpline_processes::rt::Pause::Wait););
    if matches!(form.name, "hold" | "wait" | "passivate") {
        // These always suspend.
        return statements(quote_spanned! {span=>
            #env.#begin(#(#positional,)* #(#named,)* #is_heeded);
            #wait
        });
    }
    statements(quote_spanned! {span=>
        if #env.#begin(#(#positional,)* #(#named,)* #is_heeded) { #wait }
    })
}

fn default(name: &str, span: Span) -> TokenStream {
    match name {
        "timeout" => quote_spanned!(span=> ::core::primitive::f64::INFINITY),
        "priority" => quote_spanned!(span=> 0),
        _ => quote_spanned!(span=> false),
    }
}

/// What is between the parentheses.
struct Arguments {
    positional: Vec<TokenStream>,
    named: Vec<(Ident, TokenStream)>,
}

impl Arguments {
    fn read(form: &Form, call: &Macro) -> Result<Self> {
        use quote::ToTokens;
        let list = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone())?;
        let mut all = Self { positional: Vec::new(), named: Vec::new() };
        for argument in list {
            let Expr::Assign(assign) = &argument else {
                all.positional.push(argument.into_token_stream());
                continue;
            };
            let Expr::Path(path) = &*assign.left else {
                return Err(Error::new(assign.left.span(), "not the name of an argument"));
            };
            let name = path.path.require_ident()?.clone();
            if !form.named.iter().any(|known| name == known) {
                let why = format!("`{}!` has no argument `{name}`: {}", form.name, form.usage());
                return Err(Error::new(name.span(), why));
            }
            if all.named.iter().any(|(given, _)| *given == name) {
                return Err(Error::new(name.span(), format!("`{name}` is given twice")));
            }
            all.named.push((name, assign.right.to_token_stream()));
        }
        if all.positional.len() != form.positional.len() {
            return Err(Error::new(call.span(), format!("it is written {}", form.usage())));
        }
        Ok(all)
    }
}

fn statements(tokens: TokenStream) -> Result<Vec<Stmt>> {
    syn2::Block::parse_within.parse2(tokens)
}
