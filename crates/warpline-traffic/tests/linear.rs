//! Reading a network takes time in proportion to the length of its file.
//!
//! Red if a name that the file gives once, of a column or a `key`, is copied for each row or node.

use std::{fmt::Write, path::Path};

use warpline_traffic::formats;

/// The processor time of this thread (s): other programs make no difference to it.
#[cfg(target_os = "linux")]
fn seconds() -> f64 {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(not(target_os = "linux"))]
fn seconds() -> f64 {
    0.0
}

/// Each takes a fraction of a second; a copy of the name for each row takes a minute.
#[test]
fn long_names_are_not_copied_for_each_row() {
    const ROWS: usize = 20_000;
    let begin = seconds();
    let name = "n".repeat(8 << 20);
    let mut csv = format!("from,to,km,{name}\n");
    (0..ROWS).for_each(|row| writeln!(csv, "a,{row},1,x").unwrap());
    let network = formats::read_text(Path::new("a.csv"), &csv).unwrap();
    assert_eq!(network.routes.len(), ROWS);
    let mut graphml = format!("<graphml><key id='k' attr.name='{name}'/><graph>");
    (0..ROWS).for_each(|node| {
        write!(graphml, "<node id='{node}'><data key='k'>x</data></node>").unwrap();
    });
    graphml += "</graph></graphml>";
    let network = formats::read_text(Path::new("a.graphml"), &graphml).unwrap();
    assert_eq!(network.junctions.len(), ROWS);
    assert!(seconds() - begin < 10.0, "{} s", seconds() - begin);
}
