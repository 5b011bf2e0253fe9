//! Pages of runs in a real browser (feature `browser`): Chromium lays them out in a narrow, a usual
//! and a wide window, light and dark.

use std::{fs, path::Path, process::Command, sync::atomic::AtomicBool};

use serde_json::{Value, json};
use warpline_cli::{Application, Caller, Command as Call};

/// Says what the browser has made of the page, to the page around it.
const PROBE: &str = r"<script>
const root = document.documentElement;
const texts = [...document.querySelectorAll('svg text, .lanes .name, .ticks span')];
const isOut = text => {
  const inner = text.getBoundingClientRect();
  const outer = (text.closest('svg') || text.closest('figure')).getBoundingClientRect();
  return inner.left < outer.left - 1 || inner.right > outer.right + 1
    || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
};
const rows = node => new Set([...node.getClientRects()].map(rect => Math.round(rect.top))).size;
const broken = [];
for (const cell of document.querySelectorAll('th, td, pre')) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const words = cell.matches('pre') ? /[^ \n]+/g : /[^ \n-]+/g;
  while (walker.nextNode()) for (const word of walker.currentNode.data.matchAll(words)) {
    const range = document.createRange();
    range.setStart(walker.currentNode, word.index);
    range.setEnd(walker.currentNode, word.index + word[0].length);
    if (word[0].length <= 24 && rows(range) > 1) broken.push(word[0]);
  }
}
const overlapping = [];
for (const svg of document.querySelectorAll('svg')) {
  const boxes = [...svg.querySelectorAll('text')].map(text =>
    [text.textContent, text.getBoundingClientRect()]);
  for (const [a, one] of boxes) for (const [b, other] of boxes) {
    const is = one.left < other.right - 1 && other.left < one.right - 1
      && one.top < other.bottom - 3 && other.top < one.bottom - 3;
    if (is && one !== other) overlapping.push(a + ' ' + b);
  }
}
const gray = color => color.match(/[0-9]+/g).slice(0, 3).reduce((sum, n) => sum + +n / 3, 0);
const style = getComputedStyle(document.body);
const seen = {
  window: innerWidth, content: root.scrollWidth, room: root.clientWidth,
  texts: texts.length, broken, overlapping, out: texts.filter(isOut).map(text => text.textContent),
  smallest: Math.min(...texts.map(text => text.getBoundingClientRect().height)),
  back: gray(style.backgroundColor), ink: gray(style.color),
};
parent.document.getElementById('seen').textContent = 'SEEN' + JSON.stringify(seen) + 'SEEN';
</script>";

/// What Chromium sees of a page in a frame this wide: its own windows are never narrower than 500.
fn seen(folder: &Path, html: &str, width: u32, is_dark: bool) -> Value {
    let html = html.replace("</body>", &format!("{PROBE}</body>"));
    let html = html.replace('&', "&amp;").replace('"', "&quot;");
    let around = folder.join("around.html");
    let frame = format!("<iframe width={width} height=900 style='border: 0' srcdoc=\"{html}\">");
    fs::write(&around, format!("<!DOCTYPE html><p id=seen></p>{frame}</iframe>")).expect("written");
    let scheme = if is_dark { 0 } else { 1 };
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg("--window-size=1700,1000")
        .arg(format!("file://{}", around.display()))
        .output()
        .expect("Chromium starts: it is Debian's package `chromium`");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split("SEEN").nth(1).expect("the probe has run");
    serde_json::from_str(found).expect("JSON")
}

fn report_of(model: &str, settings: toml::Table) -> Value {
    let caller = Caller { stop: &AtomicBool::new(false), show: &|_| () };
    let call = Application::warpline().call(&Call::Run, model, settings, caller);
    call.expect("a sound run")
}

/// A report with all plots and pictures, and with words that are longer than a narrow window is
/// wide.
fn report() -> Value {
    let settings = toml::toml! { cells = "8x8" portables = 2000 end = 300 engine = "timewarp"
    workers = 2 costs = true };
    let mut report = report_of("pcs", settings);
    let cut = report_of("pcs", toml::toml! { cells = "8x8" portables = 2000 find_warmup = 250 });
    for key in ["intervals", "warm_up"] {
        report[key] = cut[key].clone();
    }
    let mut pictures = ["pcs", "hypercube", "traffic", "circuit"].map(|model| {
        let end = if model == "circuit" { 20e-9 } else { 100.0 };
        let settings = toml::Table::from_iter([("end".to_owned(), end.into())]);
        let mut other = report_of(model, settings);
        other["pictures"][0].take()
    });
    pictures[3]["names"][0] = json!("a_net_whose_name_is_longer_than_a_narrow_window_is_wide.out");
    report["pictures"] = json!(pictures);
    // Large, small and negative numbers at the axes of intervals that settle.
    let run = |n: u32| {
        let n = f64::from(n);
        json!({ "calls": 587_251.0 + 90.0 * n, "blocking_probability": 0.00012 * (1.0 + n / 9.0),
            "busy_channels": 4e9 + n, "big": 600_000.0 * n, "below": -3e-7 - 1e-9 * n })
    };
    report["runs"] = json!((0..6).map(run).collect::<Vec<_>>());
    report["results"]["big"] = json!(600_000);
    report["results"]["below"] = json!(-3e-7);
    let long = "x".repeat(300);
    report["command"] = json!(format!("warpline run pcs --config={long}"));
    report["remarks"] = json!([long.clone(), "short"]);
    report["parameters"][&*long] = json!(long);
    report["results"]["a_result_whose_name_is_longer_than_most_names_of_results_are"] = json!(1e-9);
    report["counters"]["c"] = json!(u64::MAX);
    report
}

/// Mutations, seen red: names of lanes are not cut; plots begin at the same place whatever numbers
/// their axes have; words of tables may be broken.
#[test]
fn pages_fit_their_windows() {
    let folder = tempfile::tempdir().expect("a folder");
    let html = Application::warpline().page(&report());
    let html = html.replace("<details>", "<details open>");
    let windows = [360, 900, 1600].map(|width| [(width, false), (width, true)]);
    for (width, is_dark) in windows.into_iter().flatten() {
        let seen = seen(folder.path(), &html, width, is_dark);
        let number = |key: &str| seen[key].as_f64().expect("a number");
        assert_eq!(number("window"), f64::from(width), "{seen}");
        assert!(number("content") <= number("room"), "wider than its window: {seen}");
        assert!(number("texts") > 20.0 && seen["out"] == json!([]), "cut off: {seen}");
        assert_eq!(seen["broken"], json!([]), "words are broken: {seen}");
        assert_eq!(seen["overlapping"], json!([]), "texts lie on each other: {seen}");
        assert!(number("smallest") > 9.0, "too small to read: {seen}");
        let contrast = number("back") - number("ink");
        assert!(if is_dark { contrast < -150.0 } else { contrast > 150.0 }, "{seen}");
    }
}
