//! What shells and `man` know of the command: scripts that complete it, and its pages.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    process::Command,
};

mod common;

use common::{refuses, stdout};

/// What bash offers for the last of these words, with the script that the command prints.
///
/// Bash calls the function that the script names for the command as it does here: with the
/// command, the word and the one before it, and with all words in `COMP_WORDS`.
fn offered(at: &Path, words: &[&str]) -> Vec<String> {
    const CALL: &str = r#"
        source completions.bash || exit
        [[ $(complete -p warpline) =~ -F\ ([^ ]+)\ warpline ]] || exit
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        "${BASH_REMATCH[1]}" warpline "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}" || exit
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    fs::write(at.join("completions.bash"), stdout(at, "completions bash")).expect("a file");
    let mut bash = Command::new("bash");
    bash.current_dir(at).args(["--norc", "-c", CALL, "bash", "warpline"]).args(words);
    let output = bash.output().expect("bash starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{words:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// Commands, models, flags and values.
#[test]
fn bash_completes_what_is_typed() {
    let folder = tempfile::tempdir().expect("a folder");
    let offers = |words: &[&str]| offered(folder.path(), words);
    assert_eq!(offers(&["sw"]), ["sweep"]);
    let models = offers(&["run", ""]);
    for model in ["phold", "hypercube", "pcs", "circuit", "traffic", "network", "queues"] {
        assert!(models.iter().any(|offer| offer == model), "{model}: {models:?}");
    }
    assert_eq!(offers(&["run", "epi"]), ["epidemic"]);
    assert_eq!(offers(&["info", "ph"]), ["phold"]);
    // A flag of the model, one of all runs, and its values.
    assert_eq!(offers(&["run", "phold", "--lp"]), ["--lps"]);
    assert_eq!(offers(&["run", "phold", "--replic"]), ["--replications"]);
    assert_eq!(offers(&["run", "phold", "--engine", "time"]), ["timewarp"]);
    assert_eq!(offers(&["sweep", "pcs", "--lp"]), [""]);
}

/// Each shell gets a script of its own, which has models and flags.
#[test]
fn there_is_a_script_for_each_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    let begins = [
        ("bash", "_warpline() {"),
        ("zsh", "#compdef warpline"),
        ("fish", "# Print an optspec"),
        ("elvish", "\nuse builtin;"),
        ("powershell", "\nusing namespace"),
    ];
    for (shell, beginning) in begins {
        let script = stdout(folder.path(), &format!("completions {shell}"));
        assert!(script.starts_with(beginning), "{shell}: {}", &script[..200]);
        for part in ["epidemic", "replications"] {
            assert!(script.contains(part), "{shell}: {part}");
        }
    }
    refuses(folder.path(), "completions tcsh", 2, &["bash", "zsh", "fish"]);
}

/// Every command and every model of one has a page, and each is whole.
#[test]
fn pages_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    assert_eq!(stdout(at, "man new/pages"), "");
    let pages = at.join("new/pages");
    for name in ["", "-run", "-run-epidemic", "-sweep-phold", "-lab", "-checkpoint-info", "-man"] {
        let page = fs::read_to_string(pages.join(format!("warpline{name}.1"))).expect("a page");
        let title = format!(".TH warpline{name} 1  \"Warpline {}\"", env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&title), "{name}: {page}");
        assert!(page.contains(".SH NAME\n") && page.contains(".SH SYNOPSIS\n"), "{name}: {page}");
    }
    assert!(!pages.join("warpline-spin.1").exists(), "a page of a hidden command");
    let whole = fs::read_to_string(pages.join("warpline.1")).expect("a page");
    assert_eq!(stdout(at, "man"), whole);
    assert!(whole.contains("warpline\\-run(1)\n") && whole.contains("Exit status"), "{whole}");
    fs::write(at.join("taken"), "").expect("a file");
    refuses(at, "man taken", 2, &["taken cannot be written"]);
    render(&pages);
}

/// Pages are set without a warning; without groff, nothing is tested.
fn render(pages: &Path) {
    for page in fs::read_dir(pages).expect("a folder") {
        let page = page.expect("an entry").path();
        let mut groff = Command::new("groff");
        let output = groff.args(["-man", "-Tutf8", "-Kutf8", "-ww"]).arg(&page).output();
        let output = match output {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Not `eprintln!`, which a test that passes swallows.
                let what = "groff is not installed: what it makes of pages is not tested";
                let _ = writeln!(io::stderr(), "{what}");
                return;
            }
            output => output.expect("groff starts"),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", page.display());
        assert!(output.stdout.len() > 200, "{} is empty", page.display());
    }
}
