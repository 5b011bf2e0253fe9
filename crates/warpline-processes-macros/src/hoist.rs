//! Waits that lie in expressions: each becomes statements before the statement that it is in.
//!
//! That keeps the order of evaluation only if nothing is evaluated before the wait, so only such
//! places are allowed; the error for others says what to write.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::format_ident;
use syn2::{
    Block, Error, Expr, ExprIf, ExprWhile, Pat, Result, Stmt, parse_quote, parse_quote_spanned,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::waits;

/// Writes all waits of a block as statements.
pub(crate) fn waits(block: &mut Block, env: &Ident) -> Result<()> {
    Hoist { env, bound: 0 }.block(block, true)?;
    let mut left = Left(None);
    left.visit_block(block);
    left.0.map_or(Ok(()), Err)
}

struct Hoist<'a> {
    env: &'a Ident,
    /// How many variables there are that hold how waits ended.
    bound: usize,
}

impl Hoist<'_> {
    /// A block; `is_used` says whether somebody looks at its value.
    fn block(&mut self, block: &mut Block, is_used: bool) -> Result<()> {
        let count = block.stmts.len();
        for (place, mut statement) in std::mem::take(&mut block.stmts).into_iter().enumerate() {
            let is_used = is_used && place + 1 == count;
            let before = block.stmts.len();
            if let Some(call) = wait_of_statement(&statement, is_used) {
                refuse_attributes(&statement)?;
                block.stmts.extend(waits::as_statements(call, self.env)?);
                continue;
            }
            match &mut statement {
                Stmt::Local(local) => {
                    if let Some(init) = &mut local.init {
                        match &*init.expr {
                            // A whole initializer: `diapause` binds it itself.
                            Expr::Macro(call)
                                if call.mac.path.is_ident("call")
                                    && init.diverge.is_none()
                                    && is_name(&local.pat) =>
                            {
                                *init.expr = syn2::parse2(waits::as_value(&call.mac, self.env)?.1)?;
                            }
                            _ => self.first(&mut init.expr, &mut block.stmts)?,
                        }
                        if let Some((_, diverge)) = &mut init.diverge {
                            self.inside(diverge, false)?;
                        }
                    }
                }
                Stmt::Expr(expr, semicolon) => {
                    let is_used = is_used && semicolon.is_none();
                    self.whole(expr, is_used, &mut block.stmts)?;
                }
                Stmt::Macro(_) | Stmt::Item(_) => {}
            }
            if block.stmts.len() > before {
                refuse_attributes(&statement)?;
            }
            block.stmts.push(statement);
        }
        Ok(())
    }

    /// An expression that is a statement, or the value of a block.
    fn whole(&mut self, expr: &mut Expr, is_used: bool, before: &mut Vec<Stmt>) -> Result<()> {
        match expr {
            Expr::If(it) => self.branches(it, is_used, before),
            Expr::Match(it) => {
                self.first(&mut it.expr, before)?;
                it.arms.iter_mut().try_for_each(|arm| self.inside(&mut arm.body, is_used))
            }
            Expr::Block(it) => self.block(&mut it.block, is_used),
            _ => self.first(expr, before),
        }
    }

    /// An expression of which nothing is evaluated yet when the statements before it are done.
    fn first(&mut self, expr: &mut Expr, before: &mut Vec<Stmt>) -> Result<()> {
        match expr {
            Expr::Macro(call) if waits::is(&call.mac) => {
                let span = call.mac.span();
                let (statements, value) = waits::as_value(&call.mac, self.env)?;
                before.extend(statements);
                let name = self.bind(span);
                before.push(parse_quote_spanned!(span=> let #name = #value;));
                *expr = parse_quote_spanned!(span=> #name);
                Ok(())
            }
            Expr::Unary(it) => self.first(&mut it.expr, before),
            Expr::Paren(it) => self.first(&mut it.expr, before),
            Expr::Group(it) => self.first(&mut it.expr, before),
            Expr::Cast(it) => self.first(&mut it.expr, before),
            Expr::Field(it) => self.first(&mut it.base, before),
            Expr::Try(it) => self.first(&mut it.expr, before),
            Expr::Let(it) => self.first(&mut it.expr, before),
            Expr::MethodCall(it) => self.first(&mut it.receiver, before),
            // The place of a simple path is not evaluated.
            Expr::Assign(it) if matches!(*it.left, Expr::Path(_)) => {
                self.first(&mut it.right, before)
            }
            Expr::Binary(it) if is_assignment(&it.op) && matches!(*it.left, Expr::Path(_)) => {
                self.first(&mut it.right, before)
            }
            Expr::Binary(it) => self.first(&mut it.left, before),
            Expr::Call(it) => match it.args.first_mut() {
                Some(argument) if matches!(*it.func, Expr::Path(_)) => self.first(argument, before),
                _ => Ok(()),
            },
            Expr::Return(it) => it.expr.as_mut().map_or(Ok(()), |it| self.first(it, before)),
            Expr::Break(it) => it.expr.as_mut().map_or(Ok(()), |it| self.first(it, before)),
            Expr::If(_) | Expr::Match(_) | Expr::Block(_) => self.whole(expr, true, before),
            Expr::Loop(it) => self.block(&mut it.body, false),
            Expr::ForLoop(it) => {
                self.first(&mut it.expr, before)?;
                self.block(&mut it.body, false)
            }
            Expr::While(it) => {
                self.block(&mut it.body, false)?;
                if let Some(loop_) = self.repeated(it)? {
                    *expr = loop_;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn branches(&mut self, it: &mut ExprIf, is_used: bool, before: &mut Vec<Stmt>) -> Result<()> {
        self.first(&mut it.cond, before)?;
        self.block(&mut it.then_branch, is_used)?;
        if let Some((_, otherwise)) = &mut it.else_branch {
            self.inside(otherwise, is_used)?;
        }
        Ok(())
    }

    /// An expression that is evaluated on some way only: what is hoisted stays inside.
    fn inside(&mut self, expr: &mut Expr, is_used: bool) -> Result<()> {
        if let Expr::Macro(call) = expr
            && waits::is(&call.mac)
            && !is_used
        {
            let statements = waits::as_statements(&call.mac, self.env)?;
            *expr = parse_quote!({ #(#statements)* });
            return Ok(());
        }
        let mut before = Vec::new();
        self.whole(expr, is_used, &mut before)?;
        if !before.is_empty() {
            *expr = parse_quote!({ #(#before)* #expr });
        }
        Ok(())
    }

    /// A loop whose condition waits: it waits inside, each time.
    fn repeated(&mut self, it: &mut ExprWhile) -> Result<Option<Expr>> {
        let mut before = Vec::new();
        self.first(&mut it.cond, &mut before)?;
        if before.is_empty() {
            return Ok(None);
        }
        let (label, cond, body) = (&it.label, &it.cond, &it.body);
        Ok(Some(parse_quote!(#label loop {
            #(#before)*
            if #cond #body else { break }
        })))
    }

    fn bind(&mut self, span: Span) -> Ident {
        self.bound += 1;
        format_ident!("__ended_{}", self.bound, span = span)
    }
}

/// The wait that is a statement by itself, at whose end nobody looks.
fn wait_of_statement(statement: &Stmt, is_used: bool) -> Option<&syn2::Macro> {
    let (call, has_semicolon) = match statement {
        Stmt::Macro(it) => (&it.mac, it.semi_token.is_some()),
        Stmt::Expr(Expr::Macro(it), semicolon) => (&it.mac, semicolon.is_some()),
        _ => return None,
    };
    (waits::is(call) && (has_semicolon || !is_used)).then_some(call)
}

/// A statement that becomes several cannot keep its attributes.
fn refuse_attributes(statement: &Stmt) -> Result<()> {
    let attributes = match statement {
        Stmt::Macro(it) => &it.attrs,
        Stmt::Local(it) => &it.attrs,
        Stmt::Expr(Expr::Macro(it), _) => &it.attrs,
        Stmt::Expr(Expr::If(it), _) => &it.attrs,
        Stmt::Expr(Expr::Match(it), _) => &it.attrs,
        _ => return Ok(()),
    };
    let why = "a statement that waits has no attributes: put a block around it, with them";
    attributes.first().map_or(Ok(()), |attribute| Err(Error::new(attribute.span(), why)))
}

/// Whether a pattern is a name, with a type or without one.
fn is_name(pattern: &Pat) -> bool {
    match pattern {
        Pat::Ident(it) => it.subpat.is_none(),
        Pat::Type(it) => is_name(&it.pat),
        _ => false,
    }
}

const fn is_assignment(op: &syn2::BinOp) -> bool {
    use syn2::BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign,
        ShlAssign, ShrAssign, SubAssign,
    };
    matches!(
        op,
        AddAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | BitXorAssign(_)
            | DivAssign(_)
            | MulAssign(_)
            | RemAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
            | SubAssign(_)
    )
}

/// The first wait that is left where none may be.
struct Left(Option<Error>);

impl Left {
    fn found(&mut self, span: Span, why: &str) {
        self.0.get_or_insert_with(|| Error::new(span, why));
    }

    /// Waits in the arguments of another macro.
    fn tokens(&mut self, tokens: &TokenStream) {
        let mut name: Option<Ident> = None;
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(ident) => {
                    name = Some(ident);
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == '!' => {
                    if let Some(name) = name.take().filter(waits::is_wait) {
                        self.found(
                            name.span(),
                            "a wait cannot lie in another macro: bind it first",
                        );
                    }
                }
                TokenTree::Group(group) => self.tokens(&group.stream()),
                _ => {}
            }
            name = None;
        }
    }
}

impl Visit<'_> for Left {
    fn visit_macro(&mut self, call: &syn2::Macro) {
        if waits::is(call) {
            let name = call.path.get_ident().map(Ident::to_string).unwrap_or_default();
            let why = format!(
                "`{name}!` cannot wait here, because something else is evaluated before it, or \
                 only sometimes: bind it first, `let ended = {name}!(…);`"
            );
            self.found(call.span(), &why);
        } else if !call.path.is_ident("yield_") && !call.path.is_ident("yield_all") {
            self.tokens(&call.tokens);
        }
    }

    fn visit_expr_closure(&mut self, closure: &syn2::ExprClosure) {
        let mut inner = Found(None);
        inner.visit_expr(&closure.body);
        if let Some(span) = inner.0 {
            self.found(span, "a process cannot wait in a closure: write a loop");
        }
        visit::visit_expr_closure(self, closure);
    }

    fn visit_expr_async(&mut self, block: &syn2::ExprAsync) {
        let mut inner = Found(None);
        inner.visit_block(&block.block);
        if let Some(span) = inner.0 {
            self.found(span, "a process cannot wait in an `async` block");
        }
    }

    fn visit_item(&mut self, _: &syn2::Item) {}
}

/// The first wait of an expression.
struct Found(Option<Span>);

impl Visit<'_> for Found {
    fn visit_macro(&mut self, call: &syn2::Macro) {
        if waits::is(call) || call.path.is_ident("yield_") {
            self.0.get_or_insert_with(|| call.span());
        }
    }
}
