//! Raw files, as ngspice writes them.

use std::collections::HashMap;

/// Waveforms of nets over time.
pub(crate) struct Waveforms {
    /// For each point, the time and the voltages.
    pub(crate) points: Vec<Vec<f64>>,
    /// By `v(NET)`: its place in a point.
    pub(crate) columns: HashMap<String, usize>,
}

impl Waveforms {
    /// The voltage (V) of a net at a time (s).
    pub(crate) fn at(&self, net: &str, time: f64) -> f64 {
        let column = self.columns[&format!("v({net})")];
        let after = self.points.partition_point(|point| point[0] < time);
        let after = after.clamp(1, self.points.len() - 1);
        let [a, b] = [&self.points[after - 1], &self.points[after]];
        a[column] + (b[column] - a[column]) * (time - a[0]) / (b[0] - a[0])
    }
}

/// Reads a raw file.
pub(crate) fn parse(raw: &[u8]) -> Waveforms {
    const MARK: &[u8] = b"Binary:\n";
    let at = raw.windows(MARK.len()).position(|window| window == MARK).expect("binary data");
    let header = String::from_utf8_lossy(&raw[..at]);
    let variables = header.lines().skip_while(|line| !line.starts_with("Variables:")).skip(1);
    let columns: HashMap<String, usize> = variables
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let column = words.next()?.parse().ok()?;
            Some((words.next()?.to_owned(), column))
        })
        .collect();
    let (numbers, _) = raw[at + MARK.len()..].as_chunks::<8>();
    let numbers: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let points = numbers.chunks_exact(columns.len()).map(<[f64]>::to_vec).collect();
    Waveforms { points, columns }
}
