//! Programs in C: what a C compiler makes of the header, and what the library does for them.
//!
//! Mutations that turn this red: two fields of a context in the header change places; a law gets
//! the next one's number; `warpline_send` leaves out the zeros; `Program::parse` keeps the
//! defaults; `initial` passes LP 0 to `init`; `check_interface` accepts everything.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;
use warpline::{LpId, Simulation, Stream};
use warpline_foreign::{BASE, CONSTANTS, HANDLER_CONSTANTS, LAYOUT};
use warpline_models::{catalog::Parameters, phold::PholdParams};
// The library is built because something of it is used.
use warpline_c as _;

/// The folder where Cargo has put the libraries.
fn libraries() -> PathBuf {
    env::current_exe().expect("a test has a path").parent().expect("it is in a folder").to_owned()
}

/// A program in C, compiled and linked with the shared library.
struct Program {
    _folder: TempDir,
    path: PathBuf,
}

impl Program {
    fn compile(source: &str, flags: &[&str]) -> Self {
        let library = libraries();
        let run_path = format!("-Wl,-rpath,{}", library.display());
        let folder = format!("-L{}", library.display());
        Self::linked(source, flags, &[folder, "-lwarpline_c".to_owned(), run_path])
    }

    fn linked(source: &str, flags: &[&str], link: &[String]) -> Self {
        let folder = TempDir::new().expect("a folder for the program");
        let path = folder.path().join("program");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut compiler = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        compiler.args(["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(flags);
        compiler.arg("-I").arg(here.join("include")).arg(here.join(source));
        compiler.arg("-o").arg(&path).args(link);
        let compiled = compiler.output().expect("there is a C compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Self { _folder: folder, path }
    }

    fn call(&self, words: &[&str]) -> Output {
        Command::new(&self.path).args(words).output().expect("the program starts")
    }

    /// What it prints.
    fn printed(&self, words: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.call(words);
        let printed = String::from_utf8(stdout).expect("text");
        assert!(status.success(), "{words:?}: {printed}{}", String::from_utf8_lossy(&stderr));
        printed
    }
}

/// C-A: the header and the library agree where the fields of a context are.
#[test]
fn contexts_are_laid_out_alike() {
    let program = Program::compile("tests/library.c", &["-std=c99"]);
    let fields = BASE.iter().chain(LAYOUT).chain(CONSTANTS).chain(HANDLER_CONSTANTS);
    let fields: Vec<_> = fields.map(|(name, at)| format!("{name} {at}\n")).collect();
    assert_eq!(program.printed(&["layout"]), fields.concat());
}

/// The bits of the draws of the program, of one LP.
fn draws(stream: &Stream, lps: usize) -> Vec<u64> {
    vec![
        stream.bits(),
        stream.uniform().to_bits(),
        stream.uniform_in(-2.0, 5.0).to_bits(),
        stream.below(1_000_000_007),
        stream.lp(lps).get().into(),
        stream.chance(0.5).into(),
        stream.exponential(2.5).to_bits(),
        stream.normal(1.0, 2.0).to_bits(),
        stream.lognormal(0.5, 0.25).to_bits(),
        stream.lognormal_with_mean(3.0, 0.5).to_bits(),
        stream.truncated_normal(0.0, 1.0, -0.5, 2.0).to_bits(),
        stream.gamma(2.0, 0.5).to_bits(),
        stream.erlang(3, 1.5).to_bits(),
        stream.weibull(1.5, 2.0).to_bits(),
        stream.triangular(0.0, 1.0, 4.0).to_bits(),
        stream.beta(2.0, 3.0).to_bits(),
        stream.poisson(4.0),
        stream.binomial(30, 0.25),
        stream.geometric(0.125),
        stream.bits(),
    ]
}

/// With the multiplication of the compiler, and with the header's own.
#[test]
fn draws_are_those_of_rust() {
    let expected: String = (0..300)
        .flat_map(|lp| draws(&Stream::for_lp(7, LpId::new(lp)), 300))
        .map(|bits| format!("{bits:x}\n"))
        .collect();
    for flags in [&["-std=c99"][..], &["-std=c11", "-DWARPLINE_WITHOUT_INT128"]] {
        let program = Program::compile("tests/library.c", flags);
        assert!(program.printed(&["draws"]) == expected, "{flags:?}");
    }
}

/// The engines of the tests, as settings.
const ENGINES: [&str; 5] = [
    "engine = 'sequential'",
    "engine = 'conservative'\nworkers = 2",
    "engine = 'speculative'\nworkers = 2",
    "engine = 'timewarp'\nworkers = 3\nin-turn = true",
    "engine = 'auto'\nworkers = 2",
];

/// States with queues and statistics, messages of 7 and 8 bytes, links and parameters.
#[test]
fn a_bank_is_the_same_bank_on_every_engine() {
    let program = Program::compile("tests/library.c", &["-std=c99"]);
    let mut first: Option<(String, serde_json::Value)> = None;
    for engine in ENGINES {
        let printed = program.printed(&["bank", &format!("end = 200\n{engine}")]);
        let lines: Vec<_> = printed.lines().collect();
        let &[summary, report, "1"] = &lines[..] else { panic!("{printed}") };
        assert!(!summary.contains("nan"), "{summary}");
        let report: serde_json::Value = serde_json::from_str(report).expect("a report");
        let results = &report["results"];
        assert!(results["served"].as_f64().is_some_and(|served| served > 5_000.0), "{results}");
        assert!(results["lost"].as_f64().is_some_and(|lost| lost > 1_000.0), "{results}");
        assert_eq!(results["customers"], 9.0, "{results}");
        assert_eq!(results["closed_at"], 200.0, "{results}");
        let waiting = results["still_waiting"].to_string();
        assert!(format!("{summary}.0").ends_with(&format!(" {waiting}")), "{summary} {results}");
        let (expected, figures) =
            first.get_or_insert_with(|| (summary.to_owned(), results.clone()));
        assert_eq!((&*expected, &*figures), (&summary.to_owned(), results), "{engine}");
    }
}

/// C-B: what each mistake is called, and its words.
#[test]
fn mistakes_have_words() {
    let program = Program::compile("tests/library.c", &["-std=c99"]);
    for (mistake, kind, words) in [
        ("fails", "model", &["its handler failed: it returned 42", "LP", "what to do"][..]),
        ("large", "model", &["it sends a message of 100 bytes; those of the model have 24"]),
        ("nobody", "model", &["it sends to LP -4"]),
        ("past", "model", &["LP", "-1"]),
        ("name", "configuration", &["the name of the model is NULL"]),
        ("utf8", "configuration", &["not UTF-8"]),
        ("lps", "configuration", &["model `bank`: lps = 0, allowed: 1 or more"]),
        ("start", "configuration", &["start is NULL"]),
        ("handle", "configuration", &["handle is NULL"]),
        ("lookahead", "configuration", &["lookahead = -1, allowed: 0 or more"]),
        ("parameters", "configuration", &["parameters is NULL, and should have 16 elements"]),
        ("links", "configuration", &["a link has LP 32, allowed: below 32"]),
        ("odd", "configuration", &["statistic `odd`: offset = 4, allowed: a multiple of 8"]),
        ("outside", "configuration", &["`far`"]),
        ("settings", "configuration", &["the settings cannot be read"]),
        ("key", "configuration", &["unknown key `workerz`; did you mean `workers`?"]),
        ("version", "configuration", &["version 3 of warpline.h", "what to do"]),
        ("model", "configuration", &["the model is NULL"]),
    ] {
        let printed = program.printed(&["mistake", mistake]);
        let (printed_kind, message) = printed.split_once(": ").expect("a kind, and words");
        assert_eq!(printed_kind, kind, "{mistake}: {printed}");
        for word in words {
            assert!(message.contains(word), "{mistake}: {printed}");
        }
    }
}

/// The model of the documentation prints what stands there; the header is C++ too.
#[test]
fn the_documentation_is_true() {
    let text = include_str!("../../../docs/c.md");
    let (_, program) = text.split_once("```c\n").expect("a program");
    let (program, _) = program.split_once("```\n").expect("its end");
    let folder = TempDir::new().expect("a folder for the source");
    let source = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the source can be written");
        path.display().to_string()
    };
    let shops = Program::compile(&source("shops.c", program), &["-std=c99"]);
    let printed = shops.printed(&[]);
    assert!(text.contains(&format!("It prints `{}`.", printed.trim_end())), "{printed}");
    let version = "#include <warpline.h>\nint main() { return WARPLINE_INTERFACE - 2; }\n";
    Program::compile(&source("header.cpp", version), &["-x", "c++", "-std=c++11"]).printed(&[]);
}

/// The example, linked with the static library: the whole command, the digest of PHOLD in Rust,
/// and what it says of flags that it does not take.
#[test]
fn phold_in_c_is_phold() {
    let libraries = libraries();
    let library = libraries.join("libwarpline_c.a").display().to_string();
    let link = [&library, "-lm", "-lpthread", "-ldl"].map(ToString::to_string);
    let phold = Program::linked("examples/phold.c", &["-std=c99"], &link);
    let rust = PholdParams { remote: 0.37, lookahead: 0.13, ..PholdParams::default() };
    let rust = Simulation::new(rust.model().expect("sound")).end(40.0).run().expect("sound");
    let flags = ["run", "phold", "--remote", "0.37", "--lookahead", "0.13", "--end", "40"];
    for engine in [
        &["--engine", "sequential"][..],
        &["--engine", "timewarp", "--workers", "2", "--in-turn", "--saving", "reverse"],
        &["--engine", "speculative", "--workers", "2"],
        &["--engine", "conservative", "--workers", "2"],
    ] {
        let printed = phold.printed(&[&flags[..], engine].concat());
        assert!(printed.contains(&rust.digest.to_string()), "{printed}");
    }
    // The program says where a run ends.
    let whole = phold.printed(&["run", "phold", "--engine", "sequential"]);
    assert!(whole.contains("virtual time 1 000"), "{whole}");
    let info = phold.printed(&["info", "phold"]);
    assert!(info.contains("--population") && info.contains("1024"), "{info}");
    for (words, expected) in [
        (&["run", "phold", "--remote", "3"][..], "--remote is a probability"),
        (&["run", "phold", "--lps", "0"], "lps = 0, allowed: 1 or more"),
        (&["run", "phold", "--lps", "many"], "invalid value 'many'"),
        (&["run", "phold", "--lpss", "3"], "--lps"),
    ] {
        let Output { status, stderr, .. } = phold.call(words);
        let message = String::from_utf8_lossy(&stderr);
        assert!(status.code() == Some(2) && message.contains(expected), "{words:?}: {message}");
    }
}
