//! Checks of what is published: each crate says what a registry shows of it, and what only an owner
//! knows stands in known places until it is filled in.

use serde_json::Value;

use crate::source::{Problem, Source};

/// What stands for an address that only an owner knows: no host can have this name.
const PLACEHOLDER: &str = concat!("example.", "invalid");
/// The page that names the files with placeholders.
const RELEASING: &str = "RELEASING.md";

/// Texts that a crate to be published has.
const TEXTS: &[&str] = &[
    "description",
    "documentation",
    "homepage",
    "license",
    "readme",
    "repository",
    "rust_version",
];

/// The crates to be published, in the answer of `cargo metadata`.
pub(crate) fn published(metadata: &Value) -> impl Iterator<Item = &Value> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // None may be published to no registry at all.
    packages.filter(|package| package["publish"].as_array().is_none_or(|to| !to.is_empty()))
}

/// What crates to be published lack.
pub(crate) fn lacking(metadata: &Value) -> Vec<String> {
    let names: Vec<_> = published(metadata).map(|package| &package["name"]).collect();
    let mut found = Vec::new();
    for package in published(metadata) {
        let mut lacks = |what: String| {
            found.push(format!("{}: {what}", package["name"].as_str().unwrap_or_default()));
        };
        for key in TEXTS {
            if package[key].as_str().is_none_or(str::is_empty) {
                lacks(format!("no {key}"));
            }
        }
        for key in ["keywords", "categories"] {
            if package[key].as_array().is_none_or(Vec::is_empty) {
                lacks(format!("no {key}"));
            }
        }
        match package["metadata"]["docs"]["rs"]["features"].as_array() {
            None => lacks("no features in [package.metadata.docs.rs]".to_owned()),
            Some(features) => {
                let unknown = features.iter().filter(|&feature| {
                    feature.as_str().is_none_or(|name| package["features"].get(name).is_none())
                });
                unknown.for_each(|feature| lacks(format!("it has no feature {feature}")));
            }
        }
        for crate_needed in ours(package) {
            let name = &crate_needed["name"];
            if crate_needed["req"] == "*" {
                lacks(format!("no version of {name}"));
            }
            if !names.contains(&name) {
                lacks(format!("{name} is not published"));
            }
        }
    }
    found
}

/// The crates of the workspace that a published crate needs. A dependency of its tests that has no
/// version is left out of what is published.
fn ours(package: &Value) -> impl Iterator<Item = &Value> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    let ours = all.filter(|one| one["path"].is_string());
    ours.filter(|one| one["kind"] != "dev" || one["req"] != "*")
}

/// Files with placeholders that the page for releases does not name, and files that it names and
/// that have none any more.
pub(crate) fn placeholders(files: &[Source]) -> Vec<Problem> {
    let Some(page) = files.iter().find(|file| file.path == RELEASING) else {
        return vec![Source::new(RELEASING, "").problem(0, "it is not there")];
    };
    let rows = page.lines().filter(|(_, line)| line.starts_with("| ["));
    let named: Vec<_> = rows
        .filter_map(|(number, line)| Some((number, line.split_once("](")?.1.split_once(')')?.0)))
        .collect();
    let has = |file: &Source| file.text.contains(PLACEHOLDER);
    let hidden = files.iter().filter(|file| file.path != RELEASING && has(file));
    let hidden = hidden.filter(|file| !named.iter().any(|(_, name)| *name == file.path));
    let hidden = hidden.map(|file| {
        let at = file.lines().find(|(_, line)| line.contains(PLACEHOLDER));
        file.problem(at.map_or(1, |(at, _)| at), format!("{RELEASING} does not name this file"))
    });
    let filled = named.iter().filter(|(_, name)| {
        !files.iter().any(|file| file.path == *name && file.text.contains(PLACEHOLDER))
    });
    let filled = filled
        .map(|(at, name)| page.problem(*at, format!("{name} has no placeholder: take it out")));
    hidden.chain(filled).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::places;

    fn whole() -> Value {
        json!({
            "name": "a", "publish": null, "description": "A", "documentation": "d",
            "homepage": "h", "license": "MIT", "readme": "README.md", "repository": "r",
            "rust_version": "1.88", "keywords": ["k"], "categories": ["c"],
            "features": { "f": [] }, "metadata": { "docs": { "rs": { "features": ["f"] } } },
            "dependencies": [
                { "name": "serde", "req": "^1", "kind": null },
                { "name": "hidden", "req": "*", "kind": "dev", "path": "../hidden" },
            ],
        })
    }

    fn found(package: &Value) -> Vec<String> {
        let hidden = json!({ "name": "hidden", "publish": [] });
        lacking(&json!({ "packages": [package, hidden] }))
    }

    #[test]
    fn a_crate_that_lacks_something_is_seen() {
        assert_eq!(found(&whole()), Vec::<String>::new());
        let texts = TEXTS.iter().chain(&["keywords", "categories"]);
        for key in texts {
            let mut package = whole();
            package[key] = Value::Null;
            assert_eq!(found(&package), [format!("a: no {key}")]);
        }
        let mut package = whole();
        package["features"] = json!({});
        assert_eq!(found(&package), ["a: it has no feature \"f\""]);
        package["metadata"] = Value::Null;
        assert_eq!(found(&package), ["a: no features in [package.metadata.docs.rs]"]);
        package["publish"] = json!([]);
        assert_eq!(found(&package), Vec::<String>::new());
    }

    #[test]
    fn a_crate_that_cannot_be_had_is_seen() {
        let mut package = whole();
        package["dependencies"][1]["kind"] = Value::Null;
        let both = ["a: no version of \"hidden\"", "a: \"hidden\" is not published"];
        assert_eq!(found(&package), both);
        // Tests need it, and the version makes everyone need it.
        package["dependencies"][1]["kind"] = json!("dev");
        package["dependencies"][1]["req"] = json!("^1");
        assert_eq!(found(&package), both[1..]);
    }

    #[test]
    fn a_placeholder_that_nobody_would_fill_in_is_seen() {
        let text = format!("a\nurl = https://{PLACEHOLDER}/a\n");
        let page = "| file | what |\n| [`a`](a.toml) | x |\n| [`b`](b.toml) | y |\n";
        let files = [
            Source::new(RELEASING, page),
            Source::new("a.toml", &text),
            Source::new("b.toml", "filled in\n"),
            Source::new("c.toml", &text),
        ];
        assert_eq!(places(&placeholders(&files)), ["c.toml:2", "RELEASING.md:3"]);
        assert_eq!(places(&placeholders(&files[1..])), ["RELEASING.md:0"]);
    }
}
