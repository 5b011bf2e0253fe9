//! Checks of the imports between the modules of a crate: they form no circle.
//!
//! A module may then be read, moved and changed with nothing in mind but what it stands on. The
//! check is made among the modules at the crate's root, and again among the modules inside each
//! module, where a module stands for all that is in it. Imports between a module and what is inside
//! it do not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Problem, Source};

/// A module, as the names that lead to it from the crate's root.
type Path = Vec<String>;

/// Where one module imports another one for the first time.
struct Import<'s> {
    from: &'s Source,
    line: usize,
}

/// By importing module: the modules that it imports.
type Imports<'s> = BTreeMap<&'s str, BTreeMap<&'s str, &'s Import<'s>>>;

/// One problem for each circle of modules that import each other.
pub(crate) fn circles(sources: &[Source]) -> Vec<Problem> {
    let crates: BTreeSet<_> = sources.iter().filter_map(crate_of).collect();
    let of_crate = |name| {
        let imports = imports_of(sources, name);
        by_room(&imports).values().flat_map(circles_of).collect::<Vec<_>>()
    };
    crates.into_iter().flat_map(of_crate).collect()
}

/// The circles of some modules; one circle for all modules on it.
fn circles_of(imports: &Imports<'_>) -> Vec<Problem> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut problems = Vec::new();
    for &module in imports.keys() {
        if !seen.contains(module)
            && let Some(circle) = circle_through(imports, module)
        {
            seen.extend(circle.iter().copied());
            let step = |pair: &[&str]| {
                let import = imports[pair[0]][pair[1]];
                format!("{} imports {} ({}:{})", pair[0], pair[1], import.from.path, import.line)
            };
            let what: Vec<_> = circle.windows(2).map(step).collect();
            let first = imports[circle[0]][circle[1]];
            let what = format!("a circle: {}", what.join(", "));
            problems.push(first.from.problem(first.line, what));
        }
    }
    problems
}

/// A shortest circle through a module: the modules along it, the first one again at the end.
fn circle_through<'s>(imports: &Imports<'s>, module: &str) -> Option<Vec<&'s str>> {
    let (&start, _) = imports.get_key_value(module)?;
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next = vec![start];
    while !next.is_empty() && !before.contains_key(start) {
        let mut after = Vec::new();
        for module in next {
            for &imported in imports.get(module).into_iter().flat_map(BTreeMap::keys) {
                if let std::collections::btree_map::Entry::Vacant(entry) = before.entry(imported) {
                    entry.insert(module);
                    after.push(imported);
                }
            }
        }
        next = after;
    }
    let mut circle = vec![start, before.get(start).copied()?];
    while circle.last() != Some(&start) {
        circle.push(before[circle[circle.len() - 1]]);
    }
    circle.reverse();
    Some(circle)
}

/// The name of the crate that a library's file belongs to.
fn crate_of(source: &Source) -> Option<&str> {
    let (name, file) = source.path.strip_prefix("crates/")?.split_once("/src/")?;
    (source.is_rust() && file != "main.rs" && !file.starts_with("bin/")).then_some(name)
}

/// The modules from the crate's root to a file: `a` and `b` for `a/b.rs`; none for `lib.rs`.
fn path_of(source: &Source) -> Path {
    let file = source.path.split_once("/src/").map_or("", |(_, file)| file);
    let file = file.strip_suffix(".rs").unwrap_or(file);
    file.split('/').filter(|&name| name != "mod" && name != "lib").map(str::to_owned).collect()
}

/// The imports of a crate, as pairs of modules with the place; the first place of each pair.
fn imports_of<'s>(sources: &'s [Source], name: &str) -> BTreeMap<(Path, Path), Import<'s>> {
    let files: Vec<_> = sources.iter().filter(|source| crate_of(source) == Some(name)).collect();
    let modules: BTreeMap<Path, Names> =
        files.iter().map(|file| (path_of(file), Names::new())).collect();
    let names = files.iter().map(|file| (path_of(file), names(file, &modules))).collect();
    let mut imports = BTreeMap::new();
    for from in files {
        let me = path_of(from);
        for (line, path) in paths(from) {
            let module = resolve(&path, &names, 0);
            imports.entry((me.clone(), module)).or_insert(Import { from, line });
        }
    }
    imports
}

/// The imports between the modules inside each module, by that module.
fn by_room<'s>(
    imports: &'s BTreeMap<(Path, Path), Import<'s>>,
) -> BTreeMap<&'s [String], Imports<'s>> {
    let mut rooms: BTreeMap<&[String], Imports<'_>> = BTreeMap::new();
    for ((from, to), import) in imports {
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if common < from.len().min(to.len()) {
            let room = rooms.entry(&from[..common]).or_default();
            room.entry(&from[common]).or_default().entry(&to[common]).or_insert(import);
        }
    }
    rooms
}

/// The names that a module has by its `use` statements, and what they stand for.
type Names = BTreeMap<String, Path>;

/// The module that an item is in; through the names of other modules, if it is imported there.
fn resolve(path: &[String], modules: &BTreeMap<Path, Names>, depth: usize) -> Path {
    let inside = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n])).unwrap_or(0);
    let (module, rest) = path.split_at(inside);
    let stands_for = || modules.get(module)?.get(rest.first()?);
    match stands_for() {
        // Names that stand for each other would go on for ever.
        Some(other) if depth < 8 => {
            let whole = [&other[..], &rest[1..]].concat();
            resolve(&whole, modules, depth + 1)
        }
        _ => module.to_vec(),
    }
}

/// The code without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let without_comment =
        |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text.lines().map(without_comment).collect()
}

/// What the `use` statements of a file make known, from this crate.
fn names(file: &Source, modules: &BTreeMap<Path, Names>) -> Names {
    let me = path_of(file);
    let code = code(&file.text);
    let mut names = Names::new();
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        if !line.is_empty() && (!line.starts_with("pub") || line.contains(' ')) {
            continue;
        }
        for (path, name) in tree(&code[at + "use ".len()..]) {
            let is_child = || modules.contains_key(&[&me[..], &path[..1]].concat());
            let path = match path.first().map(String::as_str) {
                Some("crate") => path[1..].to_vec(),
                Some("self") => [&me[..], &path[1..]].concat(),
                Some("super") => above(&me, &path),
                Some(_) if is_child() => [&me[..], &path[..]].concat(),
                _ => continue,
            };
            names.insert(name, path);
        }
    }
    names
}

/// A path that begins with `super`, seen from a module.
fn above(me: &[String], path: &[String]) -> Path {
    let up = path.iter().take_while(|name| *name == "super").count();
    [&me[..me.len().saturating_sub(up)], &path[up..]].concat()
}

/// The paths in a file's code that begin with `crate::` or `super::`, with their lines.
fn paths(file: &Source) -> Vec<(usize, Path)> {
    let me = path_of(file);
    let code = code(&file.text);
    let mut paths = Vec::new();
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c == '$' || c == '_' || c == ':' || c.is_alphanumeric()) {
                continue;
            }
            let line = 1 + code[..at].matches('\n').count();
            for (path, _) in tree(&code[at..]) {
                let is_root = path[0] == "crate";
                let path = if is_root { path[1..].to_vec() } else { above(&me, &path) };
                paths.push((line, path));
            }
        }
    }
    paths
}

/// The paths that a text begins with, one for each in braces, and the name that each has here.
fn tree(text: &str) -> Vec<(Path, String)> {
    let mut paths = Vec::new();
    branch(text, &mut Vec::new(), &mut paths);
    paths
}

/// Adds the paths at the beginning of `text` to `paths`, and passes on what comes after them.
fn branch<'t>(text: &'t str, stem: &mut Path, paths: &mut Vec<(Path, String)>) -> &'t str {
    let mut text = text.trim_start();
    if let Some(list) = text.strip_prefix('{') {
        text = list.trim_start();
        while !text.is_empty() && !text.starts_with('}') {
            let rest = branch(text, stem, paths).trim_start();
            let rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            if rest.len() == text.len() {
                break;
            }
            text = rest;
        }
        return text.strip_prefix('}').unwrap_or(text);
    }
    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_self = name == "self" && !stem.is_empty();
    if !name.is_empty() && !is_self {
        stem.push(name.to_owned());
    }
    let rest = match rest.strip_prefix("::").filter(|_| !name.is_empty()) {
        Some(inner) => branch(inner, stem, paths),
        None => {
            let other = rest.trim_start().strip_prefix("as ").map(str::trim_start);
            let end = |text: &str| text.find(|c: char| c != '_' && !c.is_alphanumeric());
            let (alias, rest) = other.map_or((None, rest), |text| {
                let (alias, rest) = text.split_at(end(text).unwrap_or(text.len()));
                (Some(alias), rest)
            });
            if let Some(last) = stem.last() {
                paths.push((stem.clone(), alias.unwrap_or(last).to_owned()));
            }
            rest
        }
    };
    if !name.is_empty() && !is_self {
        stem.pop();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(sources: &[Source]) -> Vec<String> {
        circles(sources).iter().map(|problem| problem.what.clone()).collect()
    }

    #[test]
    fn a_circle_is_seen() {
        let root =
            Source::new("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\npub use c::{C, d::D};\n");
        let a = Source::new("crates/x/src/a.rs", "//! A.\n\nuse crate::{\n    b::B,\n    b,\n};\n");
        let b = |text| Source::new("crates/x/src/b/mod.rs", text);
        let deep = |text| Source::new("crates/x/src/b/deep.rs", text);
        let c = |text| Source::new("crates/x/src/c.rs", text);
        let seen = |b, deep, c| seen(&[root.clone(), a.clone(), b, deep, c]);
        let circle = "a circle: a imports b (crates/x/src/a.rs:3), \
                      b imports c (crates/x/src/b/deep.rs:1), c imports a (crates/x/src/c.rs:2)";
        let through_root = "use super::super::D;\n";
        assert_eq!(seen(b(""), deep(through_root), c("\nfn f() { crate::a::g() }\n")), [circle]);
        // Comments and tests import nothing, nor do a module and what is inside it.
        let quiet = "// crate::a::g\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
        let inside = "mod x { use super::*; }\nuse super::b::deep;\n";
        assert!(seen(b(inside), deep(through_root), c(quiet)).is_empty());
        assert!(
            seen(b("use deep::x;\n"), deep("use super::y;\n"), c("use super::c::z;\n")).is_empty()
        );
    }

    #[test]
    fn a_circle_inside_a_module_is_seen() {
        let sources = [
            Source::new("crates/x/src/lib.rs", "mod a;\n"),
            Source::new("crates/x/src/a/mod.rs", "mod b;\nmod c;\nuse c::deep::{D as E, self};\n"),
            Source::new("crates/x/src/a/b.rs", "use super::E;\n"),
            Source::new("crates/x/src/a/c/deep.rs", "use super::super::{b::B, other};\n"),
            Source::new("crates/x/src/a/c/mod.rs", "mod deep;\n"),
            Source::new("crates/x/src/a/other.rs", "use crate::a::b;\n"),
        ];
        let circle = "a circle: b imports c (crates/x/src/a/b.rs:1), \
                      c imports b (crates/x/src/a/c/deep.rs:1)";
        let other = "a circle: other imports b (crates/x/src/a/other.rs:1), \
                     b imports c (crates/x/src/a/b.rs:1), \
                     c imports other (crates/x/src/a/c/deep.rs:1)";
        assert_eq!(seen(&sources), [circle, other]);
    }
}
