//! Which unit of a resource a process uses: the least one that nobody else uses. Units are alike,
//! so engines do not tell them apart; animations do.

use std::collections::BTreeMap;

use warpline::LpId;

use super::{Record, What};

/// Who uses each unit, by site and resource.
#[derive(Debug, Default)]
pub(super) struct Units(BTreeMap<(LpId, u16), Vec<Option<u64>>>);

impl Units {
    /// The unit, from 1 on, that a process begins or ends to use.
    pub(super) fn of(&mut self, site: LpId, record: &Record) -> Option<u32> {
        let Record { entity, facility, what, .. } = *record;
        let looks_for = match what {
            What::Uses => None,
            What::Releases => Some(entity),
            _ => return None,
        };
        let units = self.0.entry((site, facility)).or_default();
        let place = units.iter().position(|user| *user == looks_for);
        let place = match (place, what) {
            (Some(place), _) => place,
            // It began before the log did.
            (None, What::Releases) => return None,
            (None, _) => {
                units.push(None);
                units.len() - 1
            }
        };
        units[place] = match what {
            What::Uses => Some(entity),
            _ => None,
        };
        Some(place as u32 + 1)
    }
}
