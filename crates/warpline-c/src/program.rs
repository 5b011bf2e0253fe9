//! A program in C: a model whose parameters are flags, with the whole command.
//!
//! Called by `main` of C programs. The command has the model as the entry of its list of models.

#![expect(unsafe_code, reason = "C gives pointers and functions")]

use std::{
    ffi::{CString, OsString, c_char, c_int, c_void},
    io::{Write as _, stderr},
};

use clap::{Arg, ArgMatches, error::ErrorKind, value_parser};
use serde_json::{Map, Value};
use warpline::Figure;
use warpline_cli::{Application, Entry, ModelParams, TimeUnit};
use warpline_models::catalog::{Parameter, Workload};

use super::{
    given::{Wrong, array, check_interface, for_c, text, words},
    model::GivenModel,
};

type Make = unsafe extern "C" fn(*const c_void, *mut GivenModel) -> *const c_char;

/// `warpline_flag`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct GivenFlag {
    name: *const c_char,
    kind: u32,
    offset: usize,
    help: *const c_char,
}

/// `warpline_program`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct GivenProgram {
    name: *const c_char,
    about: *const c_char,
    end: f64,
    defaults: *const c_void,
    parameters_size: usize,
    flags: *const GivenFlag,
    flag_count: usize,
    make: Option<Make>,
}

/// The bytes of a parameter.
const NUMBER: usize = 8;

/// A program whose texts have been read.
struct Program {
    name: &'static str,
    given_name: CString,
    about: &'static str,
    end: f64,
    defaults: Vec<u8>,
    flags: Vec<Flag>,
    make: Make,
}

#[derive(Clone, Copy)]
struct Flag {
    name: &'static str,
    is_integer: bool,
    offset: usize,
    help: &'static str,
}

impl Flag {
    /// # Safety
    ///
    /// The texts are texts that do not change any more.
    unsafe fn of(given: &GivenFlag, parameters_size: usize) -> Result<Self, Wrong> {
        // SAFETY: it is a text, by the contract of this function.
        let name = unsafe { text("the name of a flag", given.name) }?;
        // SAFETY: it is a text, by the contract of this function.
        let help = unsafe { text("the help of a flag", given.help) }?;
        let is_integer = match given.kind {
            1 => true,
            2 => false,
            other => return Err(format!("flag `{name}`: there is no kind {other}")),
        };
        let end = given.offset.checked_add(NUMBER);
        if end.is_none_or(|end| end > parameters_size) {
            return Err(format!("flag `{name}`: it lies outside of the parameters"));
        }
        Ok(Self { name, is_integer, offset: given.offset, help })
    }

    fn read(self, parameters: &[u8]) -> Value {
        let number = std::array::from_fn(|byte| parameters[self.offset + byte]);
        if self.is_integer {
            i64::from_ne_bytes(number).into()
        } else {
            f64::from_ne_bytes(number).into()
        }
    }

    fn write(self, matches: &ArgMatches, parameters: &mut [u8]) {
        let number = if self.is_integer {
            matches.get_one::<i64>(self.name).map(|number| number.to_ne_bytes())
        } else {
            matches.get_one::<f64>(self.name).map(|number| number.to_ne_bytes())
        };
        if let Some(number) = number {
            parameters[self.offset..][..NUMBER].copy_from_slice(&number);
        }
    }

    fn arg(self, defaults: &[u8]) -> Arg {
        let arg = Arg::new(self.name).long(self.name).help(self.help).value_name("N");
        let arg = arg.default_value(self.read(defaults).to_string());
        if self.is_integer {
            arg.value_parser(value_parser!(i64))
        } else {
            arg.value_parser(value_parser!(f64))
        }
    }
}

impl Program {
    /// # Safety
    ///
    /// The program is as the header says, and stays so until the process ends.
    unsafe fn of(given: *const GivenProgram) -> Result<Self, Wrong> {
        // SAFETY: it is null or a program, by the contract of this function.
        let given = unsafe { given.as_ref() }.ok_or("the program is NULL")?;
        // SAFETY: it is a text, by the contract of this function.
        let name = unsafe { text("the name of the program", given.name) }?;
        // SAFETY: it is a text, by the contract of this function.
        let about = unsafe { text("what the program is about", given.about) }?;
        // SAFETY: there are so many flags, by the contract of this function.
        let flags = unsafe { array("flags", given.flags, given.flag_count) }?;
        let flags = flags.iter().map(|flag| {
            // SAFETY: the texts of flags are texts, by the contract of this function.
            unsafe { Flag::of(flag, given.parameters_size) }
        });
        let flags: Vec<Flag> = flags.collect::<Result<_, _>>()?;
        // SAFETY: there are so many bytes, by the contract of this function.
        let defaults: &[u8] =
            unsafe { array("defaults", given.defaults.cast(), given.parameters_size) }?;
        let (end, given_name, defaults) = (given.end, for_c(name), defaults.to_vec());
        let make = given.make.ok_or("make is NULL")?;
        Ok(Self { name, given_name, about, end, defaults, flags, make })
    }

    /// The model for these parameters.
    fn model(&self, parameters: &[u8]) -> Result<ModelParams, Wrong> {
        // Aligned as the parameters are.
        let aligned = words(parameters);
        let mut model = GivenModel::empty(self.given_name.as_ptr(), &aligned, parameters.len());
        // SAFETY: `make` gets parameters of the program's size, and a model to fill in.
        let wrong = unsafe { (self.make)(model.parameters, &raw mut model) };
        if !wrong.is_null() {
            // SAFETY: it is a text, by the contract of `of`.
            return Err(unsafe { text("what is wrong", wrong) }?.to_owned());
        }
        // SAFETY: `make` has made it as the header says; its parameters are copied.
        let foreign = unsafe { model.make() }?;
        let shown: Map<String, Value> =
            self.flags.iter().map(|flag| (flag.name.to_owned(), flag.read(parameters))).collect();
        let made = move || foreign.clone().into_any();
        let named = (self.name.to_owned(), Value::Object(shown));
        Ok(ModelParams::made_until(self.end, named, made))
    }
}

impl Entry for Program {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn end(&self) -> f64 {
        self.end
    }

    fn end_in_words(&self) -> String {
        self.end.to_string()
    }

    fn time_unit(&self) -> Option<TimeUnit> {
        None
    }

    fn augment(&self, command: clap::Command) -> clap::Command {
        command.args(self.flags.iter().map(|flag| flag.arg(&self.defaults)))
    }

    fn parse(&self, matches: &ArgMatches) -> Result<ModelParams, clap::Error> {
        let mut parameters = self.defaults.clone();
        for flag in &self.flags {
            flag.write(matches, &mut parameters);
        }
        let refused = |wrong| clap::Error::raw(ErrorKind::ValueValidation, format!("{wrong}\n"));
        self.model(&parameters).map_err(refused)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let parameter = |flag: &Flag| Parameter {
            name: flag.name.to_owned(),
            kind: if flag.is_integer { "integer" } else { "number" }.to_owned(),
            default: Some(flag.read(&self.defaults).to_string()),
            range: String::new(),
            unit: String::new(),
            meaning: flag.help.to_owned(),
        };
        self.flags.iter().map(parameter).collect()
    }

    fn results(&self) -> Vec<Figure> {
        Vec::new()
    }

    fn workloads(&self) -> Vec<Workload> {
        Vec::new()
    }
}

/// Declared in the header.
///
/// # Safety
///
/// The program is null, or as the header says until the process ends; there are so many words of
/// the command line.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warpline_main_interface(
    interface: u32,
    program: *const GivenProgram,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: the program is null or as the header says.
    let read = check_interface(interface).and_then(|()| unsafe { Program::of(program) });
    // SAFETY: there are so many words.
    let words = unsafe { array("argv", argv, usize::try_from(argc).unwrap_or(0)) };
    let words = words.and_then(|words| {
        let word = |&word: &*const c_char| {
            // SAFETY: each word is a text.
            unsafe { text("a word of the command line", word) }.map(OsString::from)
        };
        words.iter().map(word).collect::<Result<Vec<_>, _>>()
    });
    match read.and_then(|program| Ok((program, words?))) {
        // Once per process, so it may stay until the end.
        Ok((program, words)) => {
            Application::new(&[Box::leak(Box::new(program))]).main_with(words).into()
        }
        Err(wrong) => {
            // Nobody could be told that this failed.
            let _ = writeln!(stderr(), "error: {wrong}");
            2
        }
    }
}
