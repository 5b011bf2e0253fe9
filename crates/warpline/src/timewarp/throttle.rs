//! The throttle: workers that would roll back much are kept close to the others.

use super::Settings;

/// An adaptive limit on how far a worker runs ahead of the one furthest behind.
#[derive(Debug)]
pub(super) struct Throttle {
    width: f64,
}

impl Throttle {
    pub(super) fn new(_settings: &Settings) -> Self {
        Self { width: std::env::var("WIDTH").map_or(f64::INFINITY, |w| w.parse().unwrap()) }
    }

    pub(super) fn on_gvt(&mut self, _events: u64, _rolled_back: u64, _advance: f64) {}

    pub(super) fn limit(&self, gvt: f64, snooped: impl FnOnce() -> f64) -> f64 {
        if self.width.is_finite() { snooped().max(gvt) + self.width } else { f64::INFINITY }
    }
}
