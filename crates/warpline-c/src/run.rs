//! A run of a model in C, and what it leaves behind.
//!
//! Called by C programs.

#![expect(unsafe_code, reason = "C calls these functions, with pointers")]

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::{CString, c_char, c_void},
    ptr,
    sync::atomic::AtomicBool,
};

use serde_json::{Value, json};
use warpline_cli::{Application, CallError, Caller, ModelParams};

use super::{
    end::state_of,
    given::{Wrong, check_interface, for_c, text_or_empty},
    model::GivenModel,
};

/// `warpline_result`.
#[derive(Debug)]
pub(crate) struct Outcome {
    error: Option<(CString, CString)>,
    report: Value,
    json: CString,
    /// Texts of the report that were asked for: they live as long as this.
    texts: RefCell<BTreeMap<String, CString>>,
    states: Vec<u64>,
    state_words: usize,
}

/// What ended a run: the kind of error, and its words.
struct Failed {
    kind: &'static str,
    message: String,
}

impl From<Wrong> for Failed {
    fn from(message: Wrong) -> Self {
        Self { kind: "configuration", message }
    }
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        Self { kind: error.kind(), message: error.message() }
    }
}

impl Outcome {
    fn of(done: Result<(Value, Vec<u64>, usize), Failed>) -> Self {
        let (error, (report, states, state_words)) = match done {
            Ok(done) => (None, done),
            Err(Failed { kind, message }) => {
                let error = Some((for_c(kind), for_c(message)));
                (error, (Value::Null, Vec::new(), 0))
            }
        };
        let json = for_c(report.to_string());
        Self { error, report, json, texts: RefCell::default(), states, state_words }
    }
}

/// Runs the model, and returns its report, its states and the words of a state.
///
/// # Safety
///
/// The pointers are null, or point to what the header says.
unsafe fn run(
    interface: u32,
    model: *const GivenModel,
    settings: *const c_char,
) -> Result<(Value, Vec<u64>, usize), Failed> {
    check_interface(interface)?;
    // SAFETY: it is null or a model that nobody changes.
    let model = unsafe { model.as_ref() }.ok_or_else(|| "the model is NULL".to_owned())?;
    // SAFETY: the settings are null or a text.
    let settings = unsafe { text_or_empty("the settings", settings) }?;
    let settings = settings.parse::<toml::Table>();
    let settings = settings.map_err(|error| format!("the settings cannot be read: {error}"))?;
    // SAFETY: the model is as the header says, and the run is over before this returns.
    let foreign = unsafe { model.make() }?;
    let (name, made) = (foreign.name().to_owned(), foreign.clone());
    let params = ModelParams::made(name, json!({}), move || made.clone().into_any());
    let caller = Caller { stop: &AtomicBool::new(false), show: &|_| () };
    let report = Application::call_made(&params, settings, caller)?;
    Ok((report, foreign.take_states(), model.state_words()))
}

/// Declared in the header.
///
/// # Safety
///
/// The model is null, or as the header says for as long as the run goes on; the settings are null
/// or a text.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_run_interface(
    interface: u32,
    model: *const GivenModel,
    settings: *const c_char,
) -> *mut Outcome {
    // SAFETY: the contract is the same.
    let done = unsafe { run(interface, model, settings) };
    Box::into_raw(Box::new(Outcome::of(done)))
}

/// Declared in the header.
///
/// # Safety
///
/// `result` is what `warpline_run` returned, and was not given back; so it is for the functions
/// below.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_error(result: *const Outcome) -> *const c_char {
    // SAFETY: the result lives until it is given back.
    let result = unsafe { &*result };
    result.error.as_ref().map_or(ptr::null(), |(_, message)| message.as_ptr())
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_error`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_error_kind(result: *const Outcome) -> *const c_char {
    // SAFETY: the result lives until it is given back.
    let result = unsafe { &*result };
    result.error.as_ref().map_or(ptr::null(), |(kind, _)| kind.as_ptr())
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_error`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_report(result: *const Outcome) -> *const c_char {
    // SAFETY: the result lives until it is given back.
    unsafe { &*result }.json.as_ptr()
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_error`]; the pointer is null or a text.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_number(
    result: *const Outcome,
    pointer: *const c_char,
) -> f64 {
    // SAFETY: the pointer is null or a text.
    let pointer = unsafe { text_or_empty("the pointer", pointer) }.unwrap_or("");
    // SAFETY: the result lives until it is given back.
    let found = unsafe { &*result }.report.pointer(pointer);
    found.and_then(Value::as_f64).unwrap_or(f64::NAN)
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_number`], and no other thread uses the result meanwhile.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_text(
    result: *const Outcome,
    pointer: *const c_char,
) -> *const c_char {
    // SAFETY: the pointer is null or a text.
    let pointer = unsafe { text_or_empty("the pointer", pointer) }.unwrap_or("");
    // SAFETY: the result lives until it is given back.
    let result = unsafe { &*result };
    let Some(found) = result.report.pointer(pointer).and_then(Value::as_str) else {
        return ptr::null();
    };
    // The text does not move when the map grows.
    let mut texts = result.texts.borrow_mut();
    texts.entry(pointer.to_owned()).or_insert_with(|| for_c(found)).as_ptr()
}

/// Declared in the header.
///
/// # Safety
///
/// That of [`warpline_error`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_state(result: *const Outcome, lp: i64) -> *const c_void {
    // SAFETY: the result lives until it is given back.
    let result = unsafe { &*result };
    state_of(&result.states, result.state_words, lp)
}

/// Declared in the header.
///
/// # Safety
///
/// `result` is null, or what `warpline_run` returned, and is not used after this.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_free(result: *mut Outcome) {
    if !result.is_null() {
        // SAFETY: it comes from `Box::into_raw`, and is given back once.
        drop(unsafe { Box::from_raw(result) });
    }
}
