//! The files of a run: they agree with its results, and with each other, whatever the network is
//! called and wherever it lies.
//!
//! # Mutations of the writers, each seen red
//!
//! - `svg::escaped` leaves `<` alone: the map is no XML.
//! - `Series::add` keeps the sums of the row before: cars are counted twice.
//! - `Survey::count` leaves out the first tally: cars are missing from the table.

use std::{fs, path::PathBuf};

use warpline::{Results, Simulation, Speculative};
use warpline_traffic::{model::Traffic, params::TrafficParams, source::Source};

/// The files of a run, and its figures.
struct Written {
    folder: tempfile::TempDir,
    figures: Vec<(String, f64)>,
}

impl Written {
    /// Runs an hour with all files but a PNG, on two workers.
    fn by(change: impl FnOnce(&mut TrafficParams, &tempfile::TempDir)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let mut params = TrafficParams {
            network: Source::Grid { width: 3, height: 2 },
            interarrival: Some(5.0),
            capacity: 5.0,
            accidents: 3.0,
            segments: Some(path("table.csv")),
            series: Some(path("series.csv")),
            map: vec![path("map.svg"), path("map.geojson")],
            ..TrafficParams::default()
        };
        change(&mut params, &folder);
        let mut model = Traffic::new(params).expect("sound parameters");
        let recorder = model.record().expect("files that can be written").expect("some files");
        let engine = Speculative { workers: 2, ..Speculative::default() };
        let run = Simulation::new(model.into_any()).end(3_600.0).engine(engine).run();
        let figures = run.expect("a sound run").output.figures();
        let files = recorder.finish();
        assert!(files.len() >= 3 && files.iter().all(Result::is_ok), "{files:?}");
        let figures = figures.into_iter().map(|figure| (figure.name.to_string(), figure.value));
        let figures = figures.collect();
        Self { folder, figures }
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).expect("the file is there")
    }

    fn figure(&self, name: &str) -> f64 {
        self.figures.iter().find(|(figure, _)| figure == name).expect("a figure").1
    }

    /// The rows of a table, as numbers where they are some.
    fn rows(&self, name: &str) -> (Vec<String>, Vec<Vec<f64>>) {
        let text = self.text(name);
        let mut table = csv::Reader::from_reader(text.as_bytes());
        let header = table.headers().expect("a header").iter().map(str::to_owned).collect();
        let number = |field: &str| field.parse().unwrap_or(f64::NAN);
        let rows = table.records().map(|row| row.expect("a row").iter().map(number).collect());
        (header, rows.collect())
    }

    /// A column of a table.
    fn column(&self, name: &str, column: &str) -> Vec<f64> {
        let (header, rows) = self.rows(name);
        let nth = header.iter().position(|name| name == column).expect("a column");
        rows.iter().map(|row| row[nth]).collect()
    }

    /// The features of the GeoJSON map.
    fn features(&self) -> Vec<serde_json::Value> {
        let map: serde_json::Value =
            serde_json::from_str(&self.text("map.geojson")).expect("sound JSON");
        map["features"].as_array().expect("features").clone()
    }
}

/// What LPs have adds up to what the report says.
#[test]
fn files_agree_with_the_results() {
    let written = Written::by(|_, _| ());
    let lps = 6 + 7;
    let features = written.features();
    assert_eq!((written.column("table.csv", "lp").len(), features.len()), (lps, lps));
    for column in ["cars_in", "cars_out", "accidents", "cars_held", "jams", "stops"] {
        let sum: f64 = written.column("table.csv", column).iter().sum();
        assert_eq!(sum, written.figure(column), "{column}");
    }
    let cars: f64 = written.column("table.csv", "cars_mean").iter().sum();
    assert!((cars / written.figure("cars_on_road") - 1.0).abs() < 1e-3);
    let longest = written.column("table.csv", "longest_queue").into_iter().fold(0.0, f64::max);
    assert_eq!(longest, written.figure("longest_queue"));
    let accidents = features.iter().map(|feature| feature["properties"]["accidents"].as_f64());
    let accidents: Option<f64> = accidents.sum();
    assert_eq!(accidents, Some(written.figure("accidents")));
    assert!(accidents > Some(3.0), "nothing happens");
}

/// At each time the cars that joined are those that left or are on the road.
#[test]
fn time_series_conserve_cars() {
    let written = Written::by(|params, _| params.series_step = 300.0);
    let [times, joined, left, cars, standing] =
        ["time_s", "cars_in", "cars_out", "cars", "cars_standing"]
            .map(|column| written.column("series.csv", column));
    let expected: Vec<f64> = (0..12).map(|n| f64::from(n) * 300.0).collect();
    assert_eq!(times, expected);
    for n in 0..times.len() {
        // A car on its way to another LP is at neither for a moment at most.
        assert!((joined[n] - left[n] - cars[n]).abs() <= 1.0, "at {}", times[n]);
        assert!(standing[n] <= cars[n]);
    }
    assert!(standing.iter().sum::<f64>() > 0.0, "no car ever stands");
    assert!(joined.is_sorted() && left.is_sorted());
    assert!(joined[11] <= written.figure("cars_in"), "cars are counted twice");
}

/// A map is one line per portion and one circle per junction, and a circle where accidents were.
#[test]
fn maps_show_every_lp() {
    let written = Written::by(|_, _| ());
    let svg = written.text("map.svg");
    let document = roxmltree::Document::parse(&svg).expect("sound XML");
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    let hit = written.column("table.csv", "accidents").iter().filter(|&&n| n > 0.0).count();
    assert_eq!((count("line"), count("circle")), (7, 6 + hit));
    // It is as large as its window.
    let root = document.root_element();
    assert!(root.has_attribute("viewBox") && !root.has_attribute("width"), "{svg}");
    for feature in written.features() {
        let kind = feature["geometry"]["type"].as_str();
        assert!(matches!(kind, Some("LineString" | "Point")), "{feature}");
    }
}

/// A color says how full the road is, whatever the others are: hardly any car, and all is green.
#[test]
fn colors_are_by_capacity() {
    let strokes = |capacity: f64| -> Vec<(f64, [u8; 2])> {
        let written = Written::by(|params, _| params.capacity = capacity);
        let channel = |color: &str, at: usize| u8::from_str_radix(&color[at..at + 2], 16);
        let stroke = |feature: serde_json::Value| {
            let properties = &feature["properties"];
            let color = properties["stroke"].as_str().expect("a color");
            let channels = [1, 3].map(|at| channel(color, at).expect("a number"));
            (properties["load"].as_f64().expect("a load"), channels)
        };
        written.features().into_iter().map(stroke).collect()
    };
    let empty = strokes(6000.0);
    assert!(empty.iter().all(|(load, [red, green])| *load < 0.1 && green > red), "{empty:?}");
    let full = strokes(6.0);
    let is_full = |(load, _): &&(f64, [u8; 2])| *load >= 1.0;
    assert!(full.iter().filter(is_full).count() > 2, "{full:?}");
    assert!(full.iter().filter(is_full).all(|(_, [red, green])| red > green), "{full:?}");
}

/// Names that XML, CSV and JSON have to quote, and junctions at one place, far away, or nowhere.
#[test]
fn odd_networks_have_sound_files() {
    let odd = "from,to,km,from_lon,from_lat,to_lon,to_lat\n\
               \"<&\"\"',\u{1b}\",b,5,1,1,1,1\nb,c,9,1,1,1,1\n";
    let far = "from,to,km,from_lon,from_lat,to_lon,to_lat\na,b,5,-180,-90,180,90\n";
    let nowhere = "from,to,km\na,b,5\nb,a,5\n";
    for text in [odd, far, nowhere] {
        let written = Written::by(|params, folder| {
            let path: PathBuf = folder.path().join("roads.csv");
            fs::write(&path, text).expect("it can be written");
            params.network = Source::File(path);
        });
        let svg = written.text("map.svg");
        let document = roxmltree::Document::parse(&svg).expect("sound XML");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(document.root_element().tag_name().name(), "svg");
        assert_eq!(written.features().len(), written.column("table.csv", "lp").len());
    }
}

/// A map that cannot be drawn is refused before the run.
#[test]
fn maps_of_unknown_kinds_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refusal = |name: &str| {
        let params =
            TrafficParams { map: vec![folder.path().join(name)], ..TrafficParams::default() };
        let error = Traffic::new(params).expect("sound parameters").record();
        error.expect_err("no such map").to_string()
    };
    assert!(refusal("map.gif").ends_with("a map is *.svg, *.geojson or *.png"));
    assert!(refusal("no/map.svg").ends_with("name a file that can be written"));
    if !cfg!(feature = "plots") {
        assert!(refusal("map.png").contains("build it with `--features plots`"));
    }
}

/// With `plots` the same map is drawn as a picture.
#[cfg(feature = "plots")]
#[test]
fn maps_are_drawn_as_pictures() {
    let written = Written::by(|params, folder| params.map = vec![folder.path().join("map.png")]);
    let png = fs::read(written.folder.path().join("map.png")).expect("the file is there");
    assert!(png.starts_with(b"\x89PNG\r\n") && png.len() > 10_000, "{} bytes", png.len());
}

/// A run that ends early costs no older file: the new ones take their places when they are
/// complete, and what is empty is not left behind.
#[test]
fn older_files_stay_until_the_new_ones_are_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let names = ["table.csv", "series.csv", "map.svg"];
    names.iter().for_each(|name| fs::write(path(name), "older").expect("written"));
    let params = TrafficParams {
        network: Source::Grid { width: 2, height: 2 },
        segments: Some(path(names[0])),
        series: Some(path(names[1])),
        map: vec![path(names[2])],
        ..TrafficParams::default()
    };
    let recorder = || {
        let mut model = Traffic::new(params.clone()).expect("sound parameters");
        model.record().expect("files that can be written").expect("some files")
    };
    drop(recorder());
    let text = |name: &str| fs::read_to_string(path(name)).expect("it is there");
    assert!(names.iter().all(|name| text(name) == "older"));
    assert!(text("series.csv.partial").starts_with("time_s,"));
    assert!(!path("table.csv.partial").exists() && !path("map.svg.partial").exists());
    assert!(recorder().finish().iter().all(Result::is_ok));
    assert!(names.iter().all(|name| text(name) != "older"));
}
