//! The guide, `docs/guide`: its program is the one beside this file, and its commands print the
//! digests that it shows.
//!
//! Method: this program has no test harness. Started by `cargo test` it starts itself with the
//! words of each command, and a variable that says so.

use std::{collections::BTreeSet, env, fs, path::Path, process::Command};

#[path = "guide/shop.rs"]
mod shop;

/// Set where this program is to be the command.
const IS_COMMAND: &str = "WARPLINE_TEST_IS_COMMAND";
const TYPED: &str = "cargo run --release -- ";

fn main() -> std::process::ExitCode {
    if env::var_os(IS_COMMAND).is_some() {
        return shop::main();
    }
    its_code_is_that_of_the_program();
    eprintln!("test its_code_is_that_of_the_program ... ok");
    its_commands_print_what_it_shows();
    eprintln!("test its_commands_print_what_it_shows ... ok");
    its_checkpoints_have_its_flags();
    eprintln!("test its_checkpoints_have_its_flags ... ok");
    std::process::ExitCode::SUCCESS
}

fn page(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    fs::read_to_string(folder.join(name)).expect("a page of the guide")
}

/// The blocks of code of a page, in order: what is written behind their fence, and what they have.
fn blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'))
}

/// Parts of code between empty lines, without what a later page adds to them.
fn parts(code: &str) -> impl Iterator<Item = String> {
    let plain = |part: &str| {
        part.trim_end()
            .replace(", serde::Serialize, serde::Deserialize", "")
            .replace("pub(crate) fn main", "fn main")
    };
    code.split("\n\n").map(plain).filter(|part| !part.is_empty())
}

/// What the pages show is in the program; the first page replaces what it begins with.
fn its_code_is_that_of_the_program() {
    let program = include_str!("guide/shop.rs");
    let there: BTreeSet<_> = parts(program).collect();
    let replaced = ["use ", "/// The model: what no event changes", "fn main() -> Result"];
    for (name, language) in [
        ("first-model.md", "rust"),
        ("first-model.md", "rust,ignore"),
        ("fast.md", "rust,ignore"),
        ("many-runs.md", "rust,ignore"),
    ] {
        let text = page(name);
        let code = blocks(&text).filter(|(written, _)| *written == language);
        let shown: Vec<_> = code.flat_map(|(_, code)| parts(code)).collect();
        assert!(!shown.is_empty(), "{name} has no {language}");
        for part in shown {
            let is_replaced = language == "rust" && replaced.iter().any(|r| part.starts_with(r));
            assert!(is_replaced || there.contains(&part), "{name}: not in the program:\n{part}");
        }
    }
}

/// Words that look like digests.
fn digests(text: &str) -> impl Iterator<Item = &str> {
    let is_digest = |word: &&str| {
        word.len() == 16 && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_digest)
}

fn its_commands_print_what_it_shows() {
    let program = env::current_exe().expect("this program has a path");
    let folder = tempfile::tempdir().expect("a folder");
    let mut commands = 0;
    for name in
        ["first-model.md", "right.md", "fast.md", "many-runs.md", "several-machines.md", "wrong.md"]
    {
        let text = page(name);
        let mut printed = String::new();
        let mut blocks = blocks(&text).peekable();
        while let Some((written, code)) = blocks.next() {
            if written == "text" && !code.contains(&format!("$ {TYPED}")) {
                for digest in digests(code).filter(|_| !printed.is_empty()) {
                    assert!(printed.contains(digest), "{name}: {digest} is not in\n{printed}");
                }
            }
            if written != "sh" {
                continue;
            }
            printed.clear();
            let fails = blocks.peek().is_some_and(|(_, shown)| shown.starts_with("error:"));
            for line in code.lines().filter_map(|line| line.strip_prefix(TYPED)) {
                let mut command = Command::new(&program);
                command.args(line.split_whitespace()).env(IS_COMMAND, "1").current_dir(&folder);
                let output = command.output().expect("the command starts");
                let (out, err) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
                assert_eq!(output.status.success(), !fails, "{name}: {line}: {err}");
                printed += &String::from_utf8_lossy(out);
                commands += 1;
            }
        }
    }
    assert!(commands > 20, "{commands} commands only");
}

/// The model does not tell its parameters, and the command does it. Red if `Chosen::model` leaves
/// out `or_parameters`.
fn its_checkpoints_have_its_flags() {
    let program = env::current_exe().expect("this program has a path");
    let folder = tempfile::tempdir().expect("a folder");
    let shop = |line: &str| {
        let mut command = Command::new(&program);
        command.args(line.split_whitespace()).env(IS_COMMAND, "1").current_dir(&folder);
        let output = command.output().expect("the command starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(shop("run shop --end 60 --between 12 --checkpoint shop.ckpt").0, Some(0));
    let (_, info, _) = shop("checkpoint info shop.ckpt");
    assert!(info.contains("    between: 12.0,\n"), "{info}");
    let (status, _, other) = shop("run shop --end 90 --between 9 --resume shop.ckpt");
    assert_eq!(status, Some(1), "{other}");
    assert!(other.contains("`between: 12.0` there, `between: 9.0` here"), "{other}");
    assert_eq!(shop("run shop --end 90 --between 12 --resume shop.ckpt").0, Some(0));
}
