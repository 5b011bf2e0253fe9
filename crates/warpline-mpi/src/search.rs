//! Which files may be the MPI library, and in which order they are tried.
//!
//! The launcher decides: its variables say which family of libraries understands it, and its own
//! library often lies beside it (in a virtual environment, a module of a cluster, or a home
//! folder), where the dynamic linker does not look. Called by `loading`, which loads what is found
//! here.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process,
};

use crate::LIBRARY_VARIABLE;

/// The standard binary interface of MPI 5.
const STANDARD: &str =
    if cfg!(target_os = "macos") { "libmpi_abi.1.dylib" } else { "libmpi_abi.so.1" };
/// MPICH's binary interface, which Intel MPI, Cray MPICH and MVAPICH have, too; and Debian's name
/// of it.
const MPICH: [&str; 2] = if cfg!(target_os = "macos") {
    ["libmpi.12.dylib", "libmpich.12.dylib"]
} else {
    ["libmpi.so.12", "libmpich.so.12"]
};
/// Open MPI, versions 4 and 5.
const OPEN_MPI: &str = if cfg!(target_os = "macos") { "libmpi.40.dylib" } else { "libmpi.so.40" };

/// At most this number of ancestors of the process are looked at: a launcher may start ranks by a
/// daemon, a shell and a script.
const ANCESTORS_MAX: usize = 8;

/// The files to be tried, in this order. A name without a folder is for the dynamic linker.
pub(crate) fn candidates() -> Vec<PathBuf> {
    let folders: Vec<_> = ancestors()
        .into_iter()
        .chain(env::current_exe().ok())
        .filter_map(|program| folder_of_libraries(&program))
        .collect();
    in_order(|name| env::var_os(name), &folders, &Path::exists)
}

/// As [`candidates`], of these variables and folders.
fn in_order(
    variable: impl Fn(&str) -> Option<OsString>,
    folders: &[PathBuf],
    is_there: &dyn Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    if let Some(path) = variable(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
        return vec![path.into()];
    }
    let names = names(|name| variable(name).is_some());
    let beside = folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
    let mut all: Vec<PathBuf> = Vec::new();
    for path in beside.filter(|path| is_there(path)).chain(names.iter().map(PathBuf::from)) {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all
}

/// The names of the libraries that a launcher with these variables may go with; the likely ones
/// first.
fn names(is_set: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let [mpich, of_debian] = MPICH;
    if is_set("OMPI_COMM_WORLD_SIZE") {
        // Later versions have the standard interface.
        vec![OPEN_MPI, STANDARD]
    } else if is_set("PMI_SIZE") {
        // Slurm's PMI is Open MPI's, too.
        vec![STANDARD, mpich, of_debian, OPEN_MPI]
    } else {
        vec![OPEN_MPI, STANDARD, mpich, of_debian]
    }
}

/// Where the libraries of a program are: in `lib` beside its folder.
fn folder_of_libraries(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.join("lib"))
}

/// The programs of the processes that have started this one, the nearest first; where the system
/// tells.
fn ancestors() -> Vec<PathBuf> {
    let mut programs = Vec::new();
    let mut next = parent(OsStr::new(&process::id().to_string()));
    while let Some(id) = next.filter(|_| programs.len() < ANCESTORS_MAX) {
        let Ok(program) = fs::read_link(Path::new("/proc").join(&id).join("exe")) else { break };
        programs.push(program);
        next = parent(&id);
    }
    programs
}

/// The parent of a process.
fn parent(id: &OsStr) -> Option<OsString> {
    let status = fs::read_to_string(Path::new("/proc").join(id).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Some(line.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(variables: &[(&str, &str)], there: &[&str]) -> Vec<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|variable| variable.0 == name);
            found.map(|variable| variable.1.into())
        };
        let folders = ["/launcher/lib".into(), "/program/lib".into()];
        let is_there = |path: &Path| there.iter().any(|there| path == Path::new(there));
        let all = in_order(variable, &folders, &is_there);
        all.iter().map(|path| path.display().to_string()).collect()
    }

    /// What a launcher says decides, then what lies beside it.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_launcher_decides() {
        let open = order(&[("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "0")], &[]);
        assert_eq!(open, ["libmpi.so.40", "libmpi_abi.so.1"]);
        let mpich = ["/launcher/lib/libmpi_abi.so.1", "/launcher/lib/libmpi.so.12"];
        assert_eq!(
            order(&[("PMI_SIZE", "2")], &[mpich[1], mpich[0]]),
            [
                mpich[0],
                mpich[1],
                "libmpi_abi.so.1",
                "libmpi.so.12",
                "libmpich.so.12",
                "libmpi.so.40"
            ]
        );
        assert_eq!(order(&[("PMIX_RANK", "0")], &["/program/lib/libmpi.so.40"]).len(), 5);
    }

    /// A library that is named is the only one that is tried.
    #[test]
    fn a_name_leaves_no_choice() {
        let named = [(LIBRARY_VARIABLE, "/opt/mpi/libmpi.so"), ("OMPI_COMM_WORLD_SIZE", "2")];
        assert_eq!(order(&named, &["/launcher/lib/libmpi.so.40"]), ["/opt/mpi/libmpi.so"]);
        assert!(order(&[(LIBRARY_VARIABLE, "")], &[]).len() > 1);
    }

    /// The process that has started this one is a file that exists.
    #[test]
    #[cfg(target_os = "linux")]
    fn ancestors_are_programs() {
        let all = ancestors();
        assert!(!all.is_empty());
        assert!(all.len() <= ANCESTORS_MAX);
    }
}
