//! Each format, read again.

use std::collections::BTreeMap;

use ::vcd::{Command, Parser, ScopeItem, TimescaleUnit, Value, VarType};

use super::*;

const END: f64 = 250.0 * NS;
const WRITTEN: [NetId; 5] = [NetId(1), NetId(2), NetId(3), NetId(4), NetId(5)];

/// What a VCD file says of a net: the levels of its wire and its voltages, by ticks of 1 fs.
#[derive(Default)]
struct Dumped {
    levels: Vec<(u64, Value)>,
    voltages: Vec<(u64, f64)>,
}

/// The nets of a VCD file by their names, and its last tick.
fn read_vcd(text: &str) -> (BTreeMap<String, Dumped>, u64) {
    let mut parser = Parser::new(text.as_bytes());
    let header = parser.parse_header().expect("a header");
    assert_eq!(header.timescale, Some((1, TimescaleUnit::FS)));
    let mut codes = BTreeMap::new();
    let mut scopes = vec![(String::new(), &header.items[..])];
    while let Some((prefix, items)) = scopes.pop() {
        for item in items {
            match item {
                ScopeItem::Scope(scope) => {
                    let prefix = match (prefix.as_str(), scope.identifier.as_str()) {
                        ("", "circuit") => "".to_owned(),
                        (prefix, name) => format!("{prefix}{name}."),
                    };
                    scopes.push((prefix, &scope.items));
                }
                ScopeItem::Var(variable) => {
                    let name = variable.reference.as_str();
                    let bare = name.strip_prefix("v(").and_then(|name| name.strip_suffix(')'));
                    assert_eq!(bare.is_some(), variable.var_type == VarType::Real);
                    codes.insert(variable.code, format!("{prefix}{}", bare.unwrap_or(name)));
                }
                _ => {}
            }
        }
    }
    let (mut nets, mut now) = (BTreeMap::<String, Dumped>::new(), 0);
    for command in parser {
        match command.expect("a command") {
            Command::Timestamp(tick) => {
                assert!(tick >= now, "{tick} after {now}");
                now = tick;
            }
            Command::ChangeScalar(code, value) => {
                nets.entry(codes[&code].clone()).or_default().levels.push((now, value));
            }
            Command::ChangeReal(code, value) => {
                nets.entry(codes[&code].clone()).or_default().voltages.push((now, value));
            }
            other => panic!("{other:?}"),
        }
    }
    (nets, now)
}

/// The names and the rows of a raw file.
fn read_raw(path: &Path) -> (Vec<String>, Vec<Vec<f64>>) {
    let bytes = fs::read(path).expect("written");
    let mark = b"Binary:\n";
    let begin = bytes.windows(mark.len()).position(|window| window == mark).expect("data");
    let header = std::str::from_utf8(&bytes[..begin]).expect("text");
    let field = |name: &str| {
        let line = header.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        line.trim().parse::<usize>().expect("a number")
    };
    let (variables, points) = (field("No. Variables:"), field("No. Points:"));
    let names = header.lines().skip_while(|line| *line != "Variables:").skip(1);
    let names = names.map(|line| line.split('\t').nth(2).expect("a name").to_owned());
    let data = &bytes[begin + mark.len()..];
    assert_eq!(data.len(), 8 * variables * points);
    let numbers = data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes")));
    let numbers: Vec<f64> = numbers.collect();
    (names.collect(), numbers.chunks_exact(variables).map(<[f64]>::to_vec).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Wires have the crossings, variables the samples; both in the order of time, up to the end.
    #[test]
    fn vcd_files_say_what_the_samples_say(samples in samples()) {
        let (circuit, at) = (circuit(), tempfile::tempdir().unwrap());
        let outputs = outputs(&circuit, at.path(), Points::Samples);
        record(&circuit, &outputs, &samples, END);
        let (nets, last) = read_vcd(&text(outputs.vcd.as_ref()));
        prop_assert_eq!(last, 250_000_000);
        prop_assert_eq!(nets.len(), WRITTEN.len());
        for net in WRITTEN {
            let Dumped { levels, voltages } = &nets[NETS[net.index()]];
            let samples = of_net(&circuit, &samples, net, END);
            let tick = |time: f64| (time * 1e15).round() as u64;
            for sample in &samples {
                let mut at = voltages.iter().filter(|(t, _)| *t == tick(sample.time));
                prop_assert!(at.any(|(_, v)| (v - sample.value).abs() < 5.1e-7), "{sample:?}");
            }
            // The end is added, and where a net that moved came to rest.
            let most = samples.len() + 2;
            prop_assert!(!FREE.contains(&net) || voltages.len() <= most, "{net:?}");
            let changes = crossings(&samples, SUPPLY / 2.0);
            // Before the crossings is the first level, and perhaps the first one off the threshold.
            let first = levels.len() - changes.len();
            prop_assert!(first == 1 || first == 2 && levels[0].1 == Value::X);
            for ((tick_found, value), (time, edge)) in levels[first..].iter().zip(&changes) {
                prop_assert_eq!(*tick_found, tick(*time));
                prop_assert_eq!(*value == Value::V1, *edge == Edge::Rise);
            }
        }
    }

    /// The rows have the voltages of the waveforms, at the times that were asked for.
    #[test]
    fn raw_files_say_what_the_samples_say(samples in samples(), step in 0.1..3.0, by_step: bool) {
        let (circuit, at) = (circuit(), tempfile::tempdir().unwrap());
        let step = step * NS;
        let points = if by_step { Points::Every(step) } else { Points::Samples };
        let outputs = outputs(&circuit, at.path(), points);
        record(&circuit, &outputs, &samples, END);
        let (names, rows) = read_raw(outputs.raw.as_ref().unwrap());
        prop_assert_eq!(names.join(" "), "time v(in) v(q) v(vdd) v(x1.out) v(x1.u2.n)");
        let waveforms = names[1..].iter().map(|name| {
            let net = NETS.iter().position(|net| format!("v({net})") == *name).unwrap();
            of_net(&circuit, &samples, NetId(net as u32), END)
        }).collect::<Vec<_>>();
        let times: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        if by_step {
            let last = END * (1.0 + 1e-12);
            let expected = (0..).map(|n| f64::from(n) * step).take_while(|time| *time <= last);
            prop_assert_eq!(&times, &expected.collect::<Vec<_>>());
        } else {
            prop_assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(times.last(), Some(&END));
            let is_there = |s: &Sample| times.binary_search_by(|t| t.total_cmp(&s.time)).is_ok();
            prop_assert!(waveforms.iter().flatten().all(is_there));
        }
        for row in rows {
            for (samples, value) in waveforms.iter().zip(&row[1..]) {
                let expected = voltage(samples, row[0]);
                prop_assert!((value - expected).abs() < 1e-9, "{value} {expected} at {}", row[0]);
            }
        }
    }

    /// The rows are the crossings of all nets that are written, in the order of time, then of
    /// names.
    #[test]
    fn the_table_has_all_crossings(samples in samples()) {
        let (circuit, at) = (circuit(), tempfile::tempdir().unwrap());
        let outputs = outputs(&circuit, at.path(), Points::Samples);
        let recording = record(&circuit, &outputs, &samples, END);
        let mut expected = Vec::new();
        for net in WRITTEN {
            let edges = crossings(&of_net(&circuit, &samples, net, END), SUPPLY / 2.0);
            expected.extend(edges.into_iter().map(|(time, edge)| (time, NETS[net.index()], edge)));
        }
        expected.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
        let text = text(outputs.crossings.as_ref());
        let mut lines = text.lines();
        prop_assert_eq!(lines.next(), Some("net,time,direction"));
        let mut count = 0;
        for (line, (time, net, edge)) in lines.zip(&expected) {
            let fields = line.split(',').collect::<Vec<_>>();
            let direction = if *edge == Edge::Rise { "rise" } else { "fall" };
            prop_assert_eq!([fields[0], fields[2]], [*net, direction]);
            let found: f64 = fields[1].parse().unwrap();
            // The input's ramps are cut into steps, and so are rounded in another way.
            prop_assert!(found == *time || *net == "in" && (found - time).abs() < 1e-20);
            count += 1;
        }
        prop_assert_eq!(count, expected.len());
        prop_assert_eq!(recording.crossings, count as u64);
    }
}

/// A file as it is.
#[test]
fn a_vcd_file() {
    let (mut circuit, at) = (circuit(), tempfile::tempdir().unwrap());
    circuit.saved = vec![NetId(3), NetId(4)];
    let vcd = Some(at.path().join("a.vcd"));
    let outputs = Outputs { vcd, ..Outputs::none(&circuit, LONGEST) };
    let sample = |time, net, value| Sample { time, net: NetId(net), value, slope: 0.0 };
    let samples = [
        sample(0.0, 3, 0.0),
        sample(0.0, 4, 1.5),
        sample(1.0 * NS, 3, -1e-9),
        sample(2.0 * NS, 3, 3.0),
        sample(2.0 * NS, 4, 1.500_000_4),
    ];
    record(&circuit, &outputs, &samples, 4.0 * NS);
    let expected = "$comment\n    a  end of\nall\n$end\n$version\n    Warpline 0.1.0\n$end\n\
        $timescale 1 fs $end\n$scope module circuit $end\n$scope module x1 $end\n\
        $var wire 1 ! out $end\n$var real 64 \" v(out) $end\n$scope module u2 $end\n\
        $var wire 1 # n $end\n$var real 64 $ v(n) $end\n$upscope $end\n$upscope $end\n\
        $upscope $end\n$enddefinitions $end\n\
        #0\n0!\nr0 \"\nx#\nr1.5 $\n1#\n#1000000\nr0 \"\n#1500000\n1!\n#2000000\nr3 \"\n\
        r1.5 $\n#4000000\nr3 \"\nr1.5 $\n";
    assert_eq!(text(outputs.vcd.as_ref()), expected);
}

/// A name with a comma is one field.
#[test]
fn names_in_tables_are_quoted() {
    let (mut circuit, at) = (circuit(), tempfile::tempdir().unwrap());
    circuit.nets[3] = "a,\"b\"".to_owned();
    circuit.saved = vec![NetId(3)];
    let outputs = outputs(&circuit, at.path(), Points::Samples);
    let sample = |time, value| Sample { time, net: NetId(3), value, slope: 0.0 };
    record(&circuit, &outputs, &[sample(0.0, 0.0), sample(NS, 3.0)], END);
    let text = text(outputs.crossings.as_ref());
    assert_eq!(text, "net,time,direction\n\"a,\"\"b\"\"\",5e-10,rise\n");
}
