//! Checks of the imports between the top-level modules of a crate: they form no circle.
//!
//! A module may then be read, moved and changed with nothing in mind but what it stands on. Modules
//! below a top-level one may import each other: they are one thing in several files.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Problem, Source};

/// Where one module imports another one for the first time.
struct Import<'s> {
    from: &'s Source,
    line: usize,
}

/// By importing module: the modules that it imports.
type Imports<'s> = BTreeMap<String, BTreeMap<String, Import<'s>>>;

/// One problem for each crate whose top-level modules import each other in a circle.
pub(crate) fn circles(sources: &[Source]) -> Vec<Problem> {
    let crates: BTreeSet<_> = sources.iter().filter_map(crate_of).collect();
    crates.into_iter().filter_map(|name| circle(sources, name)).collect()
}

/// The name of the crate that a library's file belongs to.
fn crate_of(source: &Source) -> Option<&str> {
    let (name, file) = source.path.strip_prefix("crates/")?.split_once("/src/")?;
    (source.is_rust() && file != "main.rs" && !file.starts_with("bin/")).then_some(name)
}

/// The modules from the crate's root to a file: `a` and `b` for `a/b.rs`; none for `lib.rs`.
fn modules_of(source: &Source) -> Vec<&str> {
    let file = source.path.split_once("/src/").map_or("", |(_, file)| file);
    let file = file.strip_suffix(".rs").unwrap_or(file);
    file.split('/').filter(|&module| module != "mod" && module != "lib").collect()
}

fn circle(sources: &[Source], name: &str) -> Option<Problem> {
    let files: Vec<_> = sources.iter().filter(|source| crate_of(source) == Some(name)).collect();
    let top: BTreeSet<_> =
        files.iter().filter_map(|file| modules_of(file).first().copied()).collect();
    let root = files.iter().find(|file| modules_of(file).is_empty())?;
    let exported = exports(&root.text, &top);
    let mut imports = Imports::new();
    for &file in files.iter().filter(|file| !modules_of(file).is_empty()) {
        let me = modules_of(file)[0];
        for (line, item) in imported(file) {
            let module =
                top.get(&*item).copied().or_else(|| exported.get(&item).map(String::as_str));
            if let Some(module) = module.filter(|&module| module != me) {
                let of_me = imports.entry(me.to_owned()).or_default();
                of_me.entry(module.to_owned()).or_insert(Import { from: file, line });
            }
        }
    }
    let path = find_circle(&imports)?;
    let place = |pair: &[String]| {
        let import = &imports[&pair[0]][&pair[1]];
        format!("{} imports {} ({}:{})", pair[0], pair[1], import.from.path, import.line)
    };
    let first = &imports[&path[0]][&path[1]];
    let what: Vec<_> = path.windows(2).map(place).collect();
    Some(first.from.problem(first.line, format!("a circle: {}", what.join(", "))))
}

/// What the root exports, by name: the top-level module that it is from.
fn exports(root: &str, top: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in code(root).split(';') {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let Some((module, items)) = path.trim().split_once("::") else { continue };
        if top.contains(module) {
            let items = items.split(|c: char| !c.is_alphanumeric() && c != '_');
            let items = items.filter(|item| !item.is_empty());
            exports.extend(items.map(|item| (item.to_owned(), module.to_owned())));
        }
    }
    exports
}

/// The code without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let without_comment =
        |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text.lines().map(without_comment).collect()
}

/// The items of the crate's root that a file names, with the lines: those after `crate::`, and
/// after as many `super::` as lead to the root.
fn imported(file: &Source) -> Vec<(usize, String)> {
    let code = code(&file.text);
    let to_root = "super::".repeat(modules_of(file).len());
    let mut items = Vec::new();
    for root in ["crate::", &to_root] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c == '$' || c == '_' || c == ':' || c.is_alphanumeric()) {
                continue;
            }
            let line = 1 + code[..at].matches('\n').count();
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                Some(list) => items.extend(first_names(list).map(|item| (line, item))),
                None => items.push((line, name(rest))),
            }
        }
    }
    items
}

/// The names at the beginning of each path in a list, up to its closing brace.
fn first_names(list: &str) -> impl Iterator<Item = String> {
    let (mut depth, mut names, mut path) = (0, Vec::new(), String::new());
    for c in list.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => names.push(std::mem::take(&mut path)),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                path.push(c);
            }
        }
    }
    names.push(path);
    names.into_iter().map(|path| name(path.trim())).filter(|name| !name.is_empty())
}

/// The identifier at the beginning of a text.
fn name(text: &str) -> String {
    text.chars().take_while(|&c| c == '_' || c.is_alphanumeric()).collect()
}

/// A circle as the modules along it, the first one again at the end.
fn find_circle(imports: &Imports<'_>) -> Option<Vec<String>> {
    fn visit(
        module: &str,
        imports: &Imports<'_>,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(start) = path.iter().position(|before| before == module) {
            return Some([&path[start..], &[module.to_owned()]].concat());
        }
        if !done.insert(module.to_owned()) {
            return None;
        }
        path.push(module.to_owned());
        let next = imports.get(module).into_iter().flat_map(BTreeMap::keys);
        let found = next.into_iter().find_map(|next| visit(next, imports, path, done));
        path.pop();
        found
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|module| visit(module, imports, &mut Vec::new(), &mut done))
}

#[test]
fn a_circle_is_seen() {
    let root =
        Source::new("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\npub use c::{C, d::D};\n");
    let a = Source::new("crates/x/src/a.rs", "//! A.\n\nuse crate::{\n    b::B,\n    b,\n};\n");
    let b = |text| Source::new("crates/x/src/b/mod.rs", text);
    let deep = |text| Source::new("crates/x/src/b/deep.rs", text);
    let c = |text| Source::new("crates/x/src/c.rs", text);
    let seen = |b, deep, c| {
        let sources = [root.clone(), a.clone(), b, deep, c];
        circles(&sources).iter().map(|problem| problem.what.clone()).collect::<Vec<_>>()
    };
    let circle = "a circle: a imports b (crates/x/src/a.rs:3), \
                  b imports c (crates/x/src/b/deep.rs:1), c imports a (crates/x/src/c.rs:2)";
    let through_root = "use super::super::D;\n";
    assert_eq!(seen(b(""), deep(through_root), c("\nfn f() { crate::a::g() }\n")), [circle]);
    // Comments and tests import nothing, and modules below the same one may import each other.
    let quiet = "// crate::a::g\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
    assert!(
        seen(b("mod x { use super::*; }\nuse super::b::deep;\n"), deep(through_root), c(quiet))
            .is_empty()
    );
    assert!(seen(b("use deep::x;\n"), deep("use super::y;\n"), c("use super::c::z;\n")).is_empty());
}
