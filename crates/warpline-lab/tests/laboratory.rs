//! Figures from their runs to their files: tables that parse, texts that name machine and verdict,
//! and with the feature `plots`, plots that show something.

use std::{cell::RefCell, fs, path::Path, sync::atomic::AtomicBool};

use warpline::settings::Pool;
use warpline_lab::{
    Figure, LabError, PLOTS_HINT, Settings, Watch,
    figures::{self, fig1::Fig1, fig2::Fig2, fig5::Fig5, fig6::Fig6, knee::Knee},
    memory_system::{BufferRun, MemoryCosts, MemorySystem, SendTime},
};

/// Records what is sampled.
#[derive(Default)]
struct Notes {
    stop: AtomicBool,
    samples: RefCell<Vec<String>>,
}

impl Watch for Notes {
    fn begins(&self, _: &str, _: usize) {}

    fn samples(&self, what: &str) {
        self.samples.borrow_mut().push(what.to_owned());
    }

    fn stop(&self) -> &AtomicBool {
        &self.stop
    }
}

fn quick(output: &Path) -> Settings {
    Settings { output: output.to_owned(), ..Settings::default() }.quick()
}

/// The rows of a table, each with its header.
fn rows(path: &Path) -> Vec<Vec<(String, String)>> {
    let mut reader = csv::Reader::from_path(path).expect("there is a table");
    let header = reader.headers().expect("it has a header").clone();
    let cells = |row: csv::StringRecord| {
        header.iter().zip(&row).map(|(key, cell)| (key.to_owned(), cell.to_owned())).collect()
    };
    reader.records().map(|row| cells(row.expect("all rows are as long as the header"))).collect()
}

fn number(row: &[(String, String)], column: &str) -> f64 {
    let (_, cell) = row.iter().find(|(key, _)| key == column).expect("there is such a column");
    cell.parse().unwrap_or_else(|_| panic!("`{cell}` in column `{column}` is a number"))
}

/// Checks the files of a figure; returns its text.
fn check_files(directory: &Path, figure: &dyn Figure, curves: &[&str]) -> String {
    let file = |extension: &str| directory.join(format!("{}.{extension}", figure.name()));
    let table = rows(&file("csv"));
    for curve in curves {
        // A curve may have several amounts of memory, of which the plot has the best.
        let of_curve = |row: &&Vec<(String, String)>| {
            row[0]
                .1
                .strip_prefix(curve)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
        };
        assert!(table.iter().filter(of_curve).count() >= 2, "two points of {curve}");
    }
    check_plot(&file("svg"), &file("png"), curves);
    let text = fs::read_to_string(file("md")).expect("there is a text");
    let parts = ["the paper", "Constants:", "Machine: ", "core(s)", "Date: 20"];
    for part in parts.into_iter().chain(["The rule of the verdicts"]) {
        assert!(text.contains(part), "the text says `{part}`:\n{text}");
    }
    // LAB-B: the rule of a verdict stands beside it.
    for claim in text.lines().filter(|line| line.starts_with("- ") && line.contains(": **")) {
        assert!(claim.contains("anted ") || claim.contains("cannot be told"), "{claim}");
    }
    match PLOTS_HINT {
        None => assert!(text.contains(&format!("({}.svg)", figure.name())), "{text}"),
        Some(hint) => assert!(text.contains(hint) && hint.lines().count() == 1, "{text}"),
    }
    text
}

/// The plot names its curves and shows them, in both files.
#[cfg(feature = "plots")]
fn check_plot(svg: &Path, png: &Path, curves: &[&str]) {
    use resvg::{tiny_skia::Pixmap, usvg::roxmltree::Document};

    let svg = fs::read_to_string(svg).expect("there is a plot");
    let document = Document::parse(&svg).expect("it is well-formed");
    let texts: Vec<_> =
        document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
    for curve in curves {
        assert!(texts.contains(curve), "the legend names {curve}: {texts:?}");
    }
    assert!(
        document.descendants().filter(|node| node.has_tag_name("polyline")).count() >= curves.len()
    );

    let png = fs::read(png).expect("there is a picture");
    let picture = Pixmap::decode_png(&png).expect("it is a picture");
    let blue = picture.pixels().iter().filter(|p| (p.red(), p.green(), p.blue()) == (0, 114, 178));
    assert!(blue.count() > 200, "the first curve is in the picture");
    let dark = picture.pixels().iter().filter(|p| p.red() < 60 && p.green() < 60 && p.blue() < 60);
    assert!(dark.count() > 2_000, "texts are in the picture");
}

/// Without the feature there is no plot.
#[cfg(not(feature = "plots"))]
fn check_plot(svg: &Path, png: &Path, _: &[&str]) {
    assert!(!svg.exists() && !png.exists(), "this build draws no plots");
}

/// The page of some figures shows every plot, and needs no other file.
#[cfg(feature = "plots")]
fn check_index(directory: &Path, figures: &[&dyn Figure]) {
    let page = fs::read_to_string(directory.join("index.html")).expect("there is a page");
    assert_eq!(page.matches("<svg ").count(), figures.len());
    assert!(!page.contains("<script") && !page.contains("<img") && page.contains("<table>"));
}

/// Without plots, the index links to every text and says how to get plots.
#[cfg(not(feature = "plots"))]
fn check_index(directory: &Path, figures: &[&dyn Figure]) {
    let index = fs::read_to_string(directory.join("index.md")).expect("there is an index");
    for figure in figures {
        assert!(index.contains(&format!("({}.md)", figure.name())), "{index}");
    }
    assert!(PLOTS_HINT.is_some_and(|hint| index.contains(hint)), "{index}");
}

/// Every figure that the command offers leaves its files. This has half of them, so that two tests
/// run beside each other.
#[test]
fn every_second_figure_leaves_its_files() {
    leave_their_files(0);
}

#[test]
fn and_every_other_one() {
    leave_their_files(1);
}

/// Every second figure from this one on leaves its files, and all these are on one page.
fn leave_their_files(first: usize) {
    let figures: Vec<_> = figures::ALL.iter().copied().skip(first).step_by(2).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let notes = Notes::default();
    let mut settings = quick(directory.path());
    settings.samples = 1;
    let written = warpline_lab::run(&figures, &settings, &notes, true).expect("all runs agree");
    let files_per_figure = if cfg!(feature = "plots") { 4 } else { 2 };
    assert_eq!(written.len(), files_per_figure * figures.len() + 1);

    let pools = ["receiver", "sender", "partitioned", "adaptive"];
    for &figure in &figures {
        let (curves, is_sampled) = match figure.name() {
            "fig1" => (&["receiver pool", "sender pool", "writing the message"][..], false),
            "fig2" => (&pools[..2], false),
            "fig4" => (&["partitioned", "partitioned, on-the-fly"][..], true),
            "fig5" => (&["sender", "partitioned", "partitioned, on-the-fly"][..], false),
            "fig6" => (&["4 neighbors", "2 neighbors", "1 neighbor"][..], false),
            "architectures" | "flooding" => (&pools[..], false),
            "knee" => (&["sender, 8 workers", "receiver, 16 workers"][..], false),
            "pool-memory" => (&pools[..], false),
            "pool-parameters" => (&["sender: global pool", "partitioned: gain"][..], true),
            "gtw-fig1" => (&["low mobility", "medium mobility", "high mobility"][..], true),
            "gtw-thrashing" => (&["not blocked", "blocked below 0.1"][..], true),
            "gtw-parameters" => (&["N_buf is the share", "no quota"][..], true),
            "runtime-fig5" => {
                (&["multiplier:16, null-messages", "regfile:16x32, windows"][..], true)
            }
            "runtime-fig5-path" => {
                (&["multiplier:16, placed", "regfile:16x32, any processor"][..], false)
            }
            "runtime-feedback" => (&["ring:2001, timewarp", "multiplier:12, windows"][..], true),
            "runtime-fig6a-network" => (&["regfile:16x32, latency and start-up"][..], true),
            "numa-fig6" => (&["sequential", "Time Warp, plain memory"][..], true),
            "numa-fig6-nodes" => (&["sequential", "Time Warp, NUMA memory"][..], false),
            "numa-fig7" | "numa-fig8" | "numa-fig9" => (&["4 daemons", "32 daemons"][..], false),
            "runtime-fig6a" | "runtime-fig6b" => (&["multiplier:16", "regfile:16x32"][..], true),
            _ => (&pools[..], true),
        };
        let text = check_files(directory.path(), figure, curves);
        assert!(["1994", "1995", "2015"].iter().any(|year| text.contains(year)), "{text}");
        check_lists(figure.name(), &text);
        if !is_sampled {
            assert!(text.contains("are computed and have no noise"), "{text}");
            continue;
        }
        assert!(text.contains("fewer than five rounds tell nothing"), "{text}");
        // The share of local events is counted, and not sampled.
        assert!(
            text.contains("**The samples do not tell whether") || figure.name() == "gtw-fig1",
            "one round tells nothing: {text}"
        );
        let table = rows(&directory.path().join(format!("{}.csv", figure.name())));
        // A row without samples had too little memory, which the text says.
        for row in table.iter().filter(|row| number(row, "samples") > 0.0) {
            let [least, median, most] =
                ["min", "median", "max"].map(|name| number(row, &format!("{name} events/s")));
            assert!(0.0 < least && least <= median && median <= most, "{row:?}");
            assert!(number(row, "efficiency") <= 1.0 && number(row, "committed events") > 0.0);
        }
    }
    check_index(directory.path(), &figures);
}

/// Claims of our own are not among those of the paper, and what was put in is called so.
fn check_lists(figure: &str, text: &str) {
    let (papers, own) = text.split_once("## Here: our own claims").unwrap_or((text, ""));
    let ours = [
        ("fig5", "adaptive"),
        ("runtime-fig5", "- windows: "),
        ("runtime-feedback", "windows, which are conservative"),
        ("runtime-fig6b", "the default, loses"),
        ("numa-fig6", "conservative windows"),
        ("numa-fig7", "no other period"),
        ("numa-fig8", "fewer lines are far"),
        ("numa-fig9", "no other period"),
        ("architectures", "on a server, "),
        ("flooding", "adaptive pools"),
        ("pool-memory", "adaptive ones"),
        ("pool-parameters", "by turns of 8 workers"),
        ("gtw-fig1", "the speculative engine"),
        ("gtw-parameters", "no other quota"),
    ];
    let of_paper = papers.split_once("## Here: the paper's claims").expect("it has claims").1;
    match ours.into_iter().find(|(name, _)| *name == figure) {
        Some((_, part)) => {
            assert!(own.contains(part) && !of_paper.contains(part), "{figure}: {text}");
        }
        None => assert!(own.is_empty(), "{figure} has claims of the paper only: {text}"),
    }
    match figure {
        "fig1" => assert!(of_paper.contains("**an input**. It confirms nothing: "), "{text}"),
        "architectures" => {
            assert!(own.contains("are fitted to the paper's figures"), "{text}");
            assert!(own.contains("**estimated**. It confirms nothing: "), "{text}");
            assert!(text.contains("- server, a page miss: 10 ns (estimated: "), "{text}");
        }
        "numa-fig6-nodes" | "numa-fig7" => {
            assert!(text.contains("- a hit: 10 ns (estimated: "), "{text}");
            assert!(text.contains("Sensitivity, twice the time of a hit: "), "{text}");
            assert!(!of_paper.contains("**yes**"), "what was fitted decides no claim: {text}");
        }
        _ => {}
    }
}

/// Samples are taken round after round, not point after point.
#[test]
fn samples_are_interleaved() {
    let directory = tempfile::tempdir().expect("a directory");
    let notes = Notes::default();
    let settings = Settings { workers: vec![1], ..quick(directory.path()) };
    warpline_lab::run(&[&figures::fig3::Fig3], &settings, &notes, false).expect("it runs");
    let samples = notes.samples.into_inner();
    let (first, second) = samples.split_at(samples.len() / 2);
    assert_eq!(first, second);
    // Four pools, with four amounts of memory.
    assert_eq!(first.len(), 16, "{first:?}");
}

/// More workers than cores are allowed, and marked in table, plot and legend.
#[test]
fn more_workers_than_cores_are_marked() {
    let directory = tempfile::tempdir().expect("a directory");
    let many = std::thread::available_parallelism().map_or(1, usize::from) + 1;
    let settings = Settings { workers: vec![1, many], samples: 1, ..quick(directory.path()) };
    let figure = &figures::fig7::Fig7;
    warpline_lab::run(&[figure], &settings, &Notes::default(), false).expect("it runs");
    let table = rows(&directory.path().join("fig7.csv"));
    for row in &table {
        let marked = row.iter().find(|(key, _)| key == "more workers than cores");
        let wanted = if number(row, "workers") > 1.0 { "yes" } else { "no" };
        assert_eq!(marked.map(|(_, cell)| cell.as_str()), Some(wanted), "{row:?}");
    }
    if cfg!(feature = "plots") {
        let svg = fs::read_to_string(directory.path().join("fig7.svg")).expect("there is a plot");
        assert!(svg.contains("hollow: more workers"));
    }
}

/// A directory that cannot be made is refused before anything runs (LAB-C).
#[test]
fn an_unusable_directory_is_found_first() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let notes = Notes::default();
    let settings = quick(&file.path().join("below"));
    let outcome = warpline_lab::run(figures::ALL, &settings, &notes, true);
    assert!(matches!(outcome, Err(LabError::Directory { .. })), "{outcome:?}");
    assert!(notes.samples.into_inner().is_empty());
}

/// A made-up machine on which the paper's claims hold: a worker can map 25 MiB.
#[derive(Debug)]
struct LikeThePapers;

impl MemorySystem for LikeThePapers {
    fn costs(&self, run: &BufferRun) -> Result<MemoryCosts, LabError> {
        let mebibytes = run.memory as f64 / f64::from(1 << 20);
        let share = match (&run.pool, run.model.neighborhood) {
            (Pool::Receiver { .. }, 0) => 0.9,
            (Pool::Receiver { .. }, n) => (n + 1) as f64 / 8.0,
            (Pool::Sender { .. } | Pool::Partitioned { sharing: true, .. }, _) => 1.0,
            _ => 0.2,
        };
        let receiver = f64::from(u8::from(matches!(run.pool, Pool::Receiver { .. })));
        let beyond = (mebibytes * share - 25.0).max(0.0);
        let blocks = run.model.payload as f64 / 128.0;
        Ok(MemoryCosts {
            sub_misses: 2e6 * blocks,
            cache_misses: 1e6 * blocks * (1.0 + receiver),
            far_misses: 0.0,
            receive: 4.0 * blocks,
            page_misses: 1e4 * (1.0 + receiver + share + 10.0 * beyond * share),
            remote_send: SendTime {
                lock: 20.0 * receiver,
                caching: 3.5 * blocks * receiver,
                copy: blocks,
                rest: 5.0,
            },
        })
    }

    fn describe(&self) -> String {
        "A machine made up for a test.".to_owned()
    }
}

/// The same with senders and receivers exchanged, and without a limit of the mapped memory.
#[derive(Debug)]
struct UnlikeThePapers;

impl MemorySystem for UnlikeThePapers {
    fn costs(&self, run: &BufferRun) -> Result<MemoryCosts, LabError> {
        let sender = f64::from(u8::from(matches!(run.pool, Pool::Sender { .. })));
        Ok(MemoryCosts {
            cache_misses: 1e6 * (1.0 + sender),
            page_misses: 1e4,
            remote_send: SendTime { copy: 1.0, rest: sender, ..SendTime::default() },
            ..MemoryCosts::default()
        })
    }

    fn describe(&self) -> String {
        "Another machine made up for a test.".to_owned()
    }
}

/// The figures of memory systems tell a machine like the paper's from another.
#[test]
fn memory_systems_are_plotted_and_judged() {
    let directory = tempfile::tempdir().expect("a directory");
    let settings = quick(directory.path());
    let like: [&dyn Figure; 5] = [
        &Fig1(LikeThePapers),
        &Fig2(LikeThePapers),
        &Fig5(LikeThePapers),
        &Fig6(LikeThePapers),
        &Knee(LikeThePapers),
    ];
    warpline_lab::run(&like, &settings, &Notes::default(), false).expect("they are drawn");
    let curves: [&[&str]; 5] = [
        &["receiver pool", "receiver pool without its lock", "sender pool", "writing the message"],
        &["receiver", "sender"],
        &["receiver", "sender", "partitioned", "partitioned, on-the-fly"],
        &["4 neighbors", "2 neighbors", "1 neighbor"],
        &["sender, 8 workers", "receiver, 2 workers"],
    ];
    for (figure, curves) in like.into_iter().zip(curves) {
        let text = check_files(directory.path(), figure, curves);
        // The time of the lock is the paper's own number, on whatever machine.
        let summary = match figure.name() {
            "fig1" => "**Claims of the paper, 3 in all: 2 held, 1 an input.**",
            _ => "**Agrees with the paper:",
        };
        assert!(text.contains(summary), "{text}");
        assert!(text.contains("A machine made up for a test."), "{text}");
        assert!(!text.contains("rounds tell"), "what is computed has no rounds: {text}");
    }

    let unlike: [&dyn Figure; 4] = [
        &Fig1(UnlikeThePapers),
        &Fig2(UnlikeThePapers),
        &Fig5(UnlikeThePapers),
        &Knee(UnlikeThePapers),
    ];
    warpline_lab::run(&unlike, &settings, &Notes::default(), false).expect("they are drawn");
    for figure in unlike {
        let path = directory.path().join(format!("{}.md", figure.name()));
        let text = fs::read_to_string(path).expect("there is a text");
        assert!(!text.contains("**Agrees with the paper:"), "{text}");
    }
}
