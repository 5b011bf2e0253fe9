//! A model in C: its description in the header, checked and made a [`ForeignModel`].
//!
//! Called by [`run`](super::run) and [`program`](super::program).

#![expect(unsafe_code, reason = "C gives pointers and functions")]

use std::{
    ffi::{c_char, c_void},
    mem::transmute,
    ptr,
};

use warpline::{ConfigError, Figure, Link, LpId};
use warpline_foreign::{
    Description, Finish, ForeignModel, Handler, HandlerContext, Statistic, StatisticKind,
};

use super::{
    end::End,
    given::{Wrong, array, text, text_or_empty, words},
};

type Init = unsafe extern "C" fn(*mut c_void, i64, *const c_void);
type GivenHandler = unsafe extern "C" fn(*mut c_void, *const c_void, *mut HandlerContext) -> i32;
type GivenFinish = unsafe extern "C" fn(*mut End<'_>);

/// `warpline_link`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct GivenLink {
    from: i64,
    to: i64,
    lookahead: f64,
}

/// `warpline_statistic`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct GivenStatistic {
    name: *const c_char,
    kind: u32,
    offset: usize,
    unit: *const c_char,
    meaning: *const c_char,
}

/// `warpline_model`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct GivenModel {
    name: *const c_char,
    lps: i64,
    state_size: usize,
    message_size: usize,
    init: Option<Init>,
    start: Option<GivenHandler>,
    handle: Option<GivenHandler>,
    reverse: Option<GivenHandler>,
    finish: Option<GivenFinish>,
    pub(crate) parameters: *const c_void,
    parameters_size: usize,
    lookahead: f64,
    links: *const GivenLink,
    link_count: usize,
    statistics: *const GivenStatistic,
    statistic_count: usize,
}

impl GivenModel {
    /// A model that is all 0 but for its name and its parameters, which have so many bytes.
    pub(crate) fn empty(name: *const c_char, parameters: &[u64], parameters_size: usize) -> Self {
        Self {
            name,
            lps: 0,
            state_size: 0,
            message_size: 0,
            init: None,
            start: None,
            handle: None,
            reverse: None,
            finish: None,
            parameters: parameters.as_ptr().cast(),
            parameters_size,
            lookahead: 0.0,
            links: ptr::null(),
            link_count: 0,
            statistics: ptr::null(),
            statistic_count: 0,
        }
    }

    /// The words of a state.
    pub(crate) fn state_words(&self) -> usize {
        self.state_size.div_ceil(8)
    }

    /// The model, ready to run.
    ///
    /// # Safety
    ///
    /// The model is as the header says: its pointers are null or point to what it says, its
    /// functions keep to the rules for handlers, and all of them stay so for as long as the result
    /// is used.
    pub(crate) unsafe fn make(&self) -> Result<ForeignModel, Wrong> {
        // SAFETY: the name is a text, by the contract of this function.
        let name = unsafe { text("the name of the model", self.name) }?;
        let of_model = |wrong: Wrong| format!("model `{name}`: {wrong}");
        // SAFETY: the contract is the same.
        let described = unsafe { self.describe(name) }.map_err(of_model)?;
        // SAFETY: the handlers keep to the rules, by the contract of this function.
        let made = unsafe { ForeignModel::new(described) };
        made.map_err(|error: ConfigError| of_model(error.to_string()))
    }

    /// # Safety
    ///
    /// That of [`make`](Self::make).
    unsafe fn describe(&self, name: &str) -> Result<Description, Wrong> {
        let lps = usize::try_from(self.lps).ok().filter(|lps| *lps >= 1);
        let lps = lps.ok_or_else(|| format!("lps = {}, allowed: 1 or more", self.lps))?;
        let (start, handle) = (self.start.ok_or("start is NULL")?, self.handle);
        if !self.lookahead.is_finite() || self.lookahead < 0.0 {
            return Err(format!("lookahead = {}, allowed: 0 or more", self.lookahead));
        }
        // SAFETY: there are so many bytes of parameters, by the contract of this function.
        let parameters: &[u8] =
            unsafe { array("parameters", self.parameters.cast(), self.parameters_size) }?;
        // SAFETY: there are so many links, by the contract of this function.
        let links = unsafe { array("links", self.links, self.link_count) }?;
        let links = links.iter().map(|link| link_of(link, lps)).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: there are so many statistics, by the contract of this function.
        let statistics = unsafe { array("statistics", self.statistics, self.statistic_count) }?;
        let statistics = statistics.iter().map(|statistic| {
            // SAFETY: the texts of statistics are texts, by the contract of this function.
            unsafe { statistic_of(statistic) }
        });
        Ok(Description {
            name: name.to_owned(),
            start: handler(start),
            handle: handler(handle.ok_or("handle is NULL")?),
            reverse: self.reverse.map(handler),
            lps,
            state_words: self.state_words(),
            fields: Vec::new(),
            message_words: self.message_size.div_ceil(8),
            // SAFETY: `init` keeps to the rules, by the contract of this function.
            initial: unsafe { self.initial(lps, parameters) },
            parameters: words(parameters),
            identity: format!("{lps} LPs, {parameters:?}"),
            lookahead: Some(self.lookahead).filter(|lookahead| *lookahead > 0.0),
            links: Some(links).filter(|links| !links.is_empty()),
            statistics: statistics.collect::<Result<_, _>>()?,
            // A debugger shows what a handler in C had before it.
            is_repeatable: false,
            finish: self.finish.map(|finish| self.finishing(finish, lps, parameters)),
        })
    }

    /// The states at the beginning.
    ///
    /// # Safety
    ///
    /// `init` writes nothing but the state.
    unsafe fn initial(&self, lps: usize, parameters: &[u8]) -> Vec<u64> {
        let state_words = self.state_words();
        let mut initial = vec![0; lps * state_words];
        let Some(init) = self.init else { return initial };
        let parameters = words(parameters);
        for lp in 0..lps {
            let state = initial[lp * state_words..][..state_words].as_mut_ptr();
            // SAFETY: the state is borrowed here alone, and `init` writes nothing else.
            unsafe { init(state.cast(), lp as i64, parameters.as_ptr().cast()) };
        }
        initial
    }

    /// What computes the results with a function in C.
    fn finishing(&self, finish: GivenFinish, lps: usize, parameters: &[u8]) -> Finish {
        let (state_words, parameters) = (self.state_words(), words(parameters));
        Finish::new(move |states, time| -> Vec<Figure> {
            let parameters = parameters.as_ptr();
            let mut end = End { states, state_words, lps, time, parameters, figures: Vec::new() };
            // SAFETY: `finish` is called with the end of this run, which it has for itself.
            unsafe { finish(&raw mut end) };
            end.figures
        })
    }
}

/// The handler with the types that it has in Rust.
fn handler(given: GivenHandler) -> Handler {
    // SAFETY: both are pointers to functions of three pointers, and differ in what the pointers
    // are said to point to; C calls that the same.
    unsafe { transmute::<GivenHandler, Handler>(given) }
}

fn link_of(link: &GivenLink, lps: usize) -> Result<(LpId, Link), Wrong> {
    let lp = |number: i64| {
        let lp = u32::try_from(number).ok().filter(|lp| (*lp as usize) < lps);
        lp.map(LpId::new).ok_or_else(|| format!("a link has LP {number}, allowed: below {lps}"))
    };
    Ok((lp(link.from)?, Link { to: lp(link.to)?, lookahead: link.lookahead }))
}

/// # Safety
///
/// The texts are texts, or null.
unsafe fn statistic_of(given: &GivenStatistic) -> Result<Statistic, Wrong> {
    // SAFETY: it is a text, by the contract of this function.
    let name = unsafe { text("the name of a statistic", given.name) }?;
    let kind = match given.kind {
        1 => StatisticKind::Counter,
        2 => StatisticKind::Tally,
        3 => StatisticKind::Level,
        other => return Err(format!("statistic `{name}`: there is no kind {other}")),
    };
    if !given.offset.is_multiple_of(8) {
        let offset = given.offset;
        return Err(format!("statistic `{name}`: offset = {offset}, allowed: a multiple of 8"));
    }
    // SAFETY: it is a text, by the contract of this function.
    let unit = unsafe { text_or_empty("the unit of a statistic", given.unit) }?.to_owned();
    // SAFETY: it is a text, by the contract of this function.
    let meaning = unsafe { text_or_empty("the meaning of a statistic", given.meaning) }?.to_owned();
    Ok(Statistic { name: name.to_owned(), unit, meaning, kind, word: given.offset / 8 })
}
