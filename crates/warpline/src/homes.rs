//! Where the processes of a model live: which worker has which, and at which place.
//!
//! Made once per run by the engines with several workers, from the model's
//! [`placement`](Model::placement).

use warpline_core::{LpId, Model};

use crate::ConfigError;

/// Where a process lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    pub(crate) worker: u32,
    /// Its place among the processes of that worker.
    pub(crate) local: u32,
}

/// All homes.
#[derive(Debug)]
pub(crate) struct Homes {
    /// Of every process.
    pub(crate) directory: Vec<Home>,
    /// The processes of every worker, in ascending order.
    pub(crate) residents: Vec<Vec<LpId>>,
}

impl Homes {
    /// Asks the model where its processes go.
    pub(crate) fn new<M: Model>(
        model: &M,
        lp_count: usize,
        workers: usize,
    ) -> Result<Self, ConfigError> {
        let mut directory = Vec::new();
        // A table that does not fit is an error that says so, not an abort in the allocator.
        if directory.try_reserve_exact(lp_count).is_err() {
            let bytes = lp_count.saturating_mul(size_of::<Home>() + size_of::<M::Lp>());
            let allowed = format!("less: the processes would take {bytes} bytes of memory");
            return Err(ConfigError::new("lp_count", lp_count, allowed));
        }
        let mut residents = vec![Vec::new(); workers];
        for index in 0..lp_count {
            let id = LpId::from_index(index);
            let worker = model.placement(id, workers);
            if worker >= workers {
                let allowed = format!("below {workers}, the number of workers, for {id:?}");
                return Err(ConfigError::new("placement", worker, allowed));
            }
            let local = u32::try_from(residents[worker].len()).unwrap_or(u32::MAX);
            directory.push(Home { worker: worker as u32, local });
            residents[worker].push(id);
        }
        Ok(Self { directory, residents })
    }

    /// What the workers leave, one thing by process, in the order of the processes.
    pub(crate) fn in_order<T>(&self, by_worker: impl IntoIterator<Item = Vec<T>>) -> Vec<T> {
        let mut left: Vec<_> = by_worker.into_iter().map(Vec::into_iter).collect();
        let next = |home: &Home| left.get_mut(home.worker as usize)?.next();
        self.directory.iter().filter_map(next).collect()
    }
}
