//! Help: what each text says, and that it fits.

use std::process::Command;

/// What the command prints, which must end well.
fn help(line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    let output = command.args(line.split_whitespace()).output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "`{line}`: {said}");
    String::from_utf8(output.stdout).expect("text")
}

const MODELS: [&str; 8] =
    ["phold", "hypercube", "pcs", "circuit", "traffic", "network", "queues", "epidemic"];
const CALLS: [&str; 3] = ["run", "sweep", "analyze"];

/// The options of a help text, with the heading that each stands under.
fn options(text: &str) -> Vec<(String, String)> {
    let mut heading = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        if line.ends_with(':') && !line.starts_with(' ') {
            line.trim_end_matches(':').clone_into(&mut heading);
        }
        let words = line.trim_start().trim_start_matches("-h, ");
        if line.starts_with("  ") && words.starts_with("--") {
            let name = words.split([' ', '=']).next().unwrap_or_default();
            found.push((heading.clone(), name.to_owned()));
        }
    }
    found
}

/// Commands and models are described, and not by the comments on the types of their flags.
#[test]
fn texts_say_what_things_are() {
    let mut texts = vec![help("--help"), help("-h")];
    for command in ["info", "nodes", "completions", "man", "bench", "lab", "circuit"] {
        texts.push(help(&format!("{command} --help")));
        texts.push(help(&format!("{command} -h")));
    }
    for call in CALLS {
        let models = help(&format!("{call} --help"));
        for model in MODELS {
            let about = help(&format!("{call} {model} --help"));
            let about = about.lines().next().expect("a line").to_owned();
            assert!(models.contains(about.split(". ").next().unwrap_or(&about)), "{about}");
            texts.push(help(&format!("{call} {model} --help")));
            texts.push(help(&format!("{call} {model} -h")));
        }
        texts.push(models);
    }
    for text in &texts {
        assert!(!text.contains("The flags of"), "{text}");
    }
    assert!(texts[0].contains("Measure the papers' figures again"), "{}", texts[0]);
}

/// `-h` is one screen, with examples.
#[test]
fn short_help_is_one_screen() {
    for command in ["", "info ", "nodes ", "bench ", "lab ", "circuit ", "run ", "sweep "] {
        let text = help(&format!("{command}-h"));
        assert!(text.lines().count() <= 30, "`{command}-h` has {}", text.lines().count());
    }
    for (call, model) in CALLS.iter().flat_map(|call| MODELS.map(|model| (call, model))) {
        let text = help(&format!("{call} {model} -h"));
        assert!(text.lines().count() <= 30, "{call} {model}: {}\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("Examples:\n") && text.contains("--help-engine"), "{text}");
        // Each of these flags is one.
        let all = help(&format!("{call} {model} --help"));
        for (_, option) in options(&text) {
            let is_one = all.split_whitespace().any(|word| word == option);
            assert!(is_one, "{call} {model} {option}");
        }
    }
}

/// `--help` has at most 35 options beside the model's, under headings that say what they are of.
#[test]
fn long_help_is_in_order() {
    for (call, model) in CALLS.iter().flat_map(|call| MODELS.map(|model| (call, model))) {
        let options = options(&help(&format!("{call} {model} --help")));
        let own = format!("Model {model}");
        let others = options.iter().filter(|(heading, _)| *heading != own).count();
        assert!(others <= 35, "{call} {model}: {others}");
        let heading = |name: &str| {
            let found = options.iter().find(|(_, option)| option == name);
            found.map(|(heading, _)| heading.as_str())
        };
        assert_eq!(heading("--replications"), Some("Replications"));
        assert_eq!(heading("--output"), Some("Output"));
        assert_eq!(heading("--workers"), Some("Parallel engines"));
        assert_eq!(heading("--config"), Some("Run"));
        let analysis = (*call == "analyze").then_some("Analysis");
        assert_eq!(heading("--critical-path"), analysis, "{call}");
        for hidden in ["--batch", "--in-turn", "--as-if-many", "--throttle", "--synchronization"] {
            assert_eq!(heading(hidden), None, "{call}");
        }
    }
}

/// The policies of one engine have a help of their own; what is for tests is in none.
#[test]
fn engines_have_a_help() {
    let timewarp = help("run phold --help-engine timewarp");
    for flag in ["--pool", "--flow", "--batch", "--window", "--saving", "--memory-placement"] {
        assert!(timewarp.contains(flag), "{flag}: {timewarp}");
    }
    for flag in ["--in-turn", "--as-if-many", "--throttle", "randomly", "--width"] {
        assert!(!timewarp.contains(flag), "{flag}: {timewarp}");
    }
    assert!(help("--help-engine=conservative").contains("--synchronization"));
    assert!(help("--help-engine speculative").contains("--width"));
    let output =
        Command::new(env!("CARGO_BIN_EXE_warpline")).args(["--help-engine", "timewrap"]).output();
    let output = output.expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("one of auto"), "{said}");
}

/// `analyze` takes what it is to find, and says so if nothing is named; `run` still takes it.
#[test]
fn analyze_finds_what_is_asked_for() {
    let few = "phold --lps 16 --population 64 --end 50";
    let text = help(&format!("analyze {few} --critical-path"));
    assert!(text.contains("longest chain"), "{text}");
    let lines = |text: &str| text.lines().filter(|line| line.contains("chain")).count();
    assert_eq!(lines(&text), lines(&help(&format!("run {few} --critical-path"))));
    assert!(help(&format!("analyze {few} --precision 50% --format json")).contains("precision"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    let output = command.args("analyze phold --end 5".split(' ')).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("--critical-path"), "{said}");
}
