//! The files of a run as the command has them: created with the model, marked by checkpoints,
//! completed after the run.
//!
//! Used by the models whose recorders do their work by themselves: the network and traffic.

use std::{
    error::Error,
    fmt,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Serialize, de::DeserializeOwned};

use crate::catalog::{Recorded, Recording, Refusal, RunSetup};

/// What writes the files of a run.
pub(crate) trait Tables: fmt::Debug + Send + Sized + 'static {
    type Marks: Serialize + DeserializeOwned;
    type Error: Error + Send + Sync + 'static;

    fn mark(&self) -> Result<Self::Marks, Self::Error>;
    fn go_on(&self, marks: &Self::Marks) -> Result<(), Self::Error>;
    fn finish(self) -> Vec<Result<PathBuf, Self::Error>>;

    /// The recording of a run of this setup by the recorder that `open` makes; it is told whether
    /// the run goes on. None if this process records nothing, or the run has no files.
    fn recording(
        run: &RunSetup,
        open: impl FnOnce(bool) -> Result<Option<Self>, Self::Error>,
    ) -> Result<Option<Box<dyn Recording>>, Refusal> {
        let recorder = if run.records { open(run.resumes)? } else { None };
        Ok(recorder.map(|recorder| Box::new(Held(Mutex::new(Some(recorder)))) as _))
    }
}

/// A recorder until the files are complete.
#[derive(Debug)]
struct Held<R>(Mutex<Option<R>>);

impl<R> Held<R> {
    fn recorder(&self) -> MutexGuard<'_, Option<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Tables> Recording for Held<R> {
    fn finish(&self, _: f64) -> Recorded {
        let mut recorded = Recorded::default();
        for file in self.recorder().take().map(R::finish).unwrap_or_default() {
            match file {
                Ok(path) => recorded.files.push(path),
                Err(error) => recorded.failures.push(error.to_string()),
            }
        }
        recorded
    }

    fn mark(&self) -> Result<Vec<u8>, Refusal> {
        let marks = self.recorder().as_ref().map(R::mark).transpose()?;
        Ok(postcard::to_allocvec(&marks)?)
    }

    fn go_on(&self, mark: &[u8]) -> Result<(), Refusal> {
        let marks: Option<R::Marks> = postcard::from_bytes(mark)?;
        if let (Some(recorder), Some(marks)) = (&*self.recorder(), marks) {
            recorder.go_on(&marks)?;
        }
        Ok(())
    }
}

/// Lets a recorder do by the names of [`Tables`] what it does by its own ones.
macro_rules! tables {
    ($recorder:ty, $marks:ty, $error:ty) => {
        impl $crate::tables::Tables for $recorder {
            type Marks = $marks;
            type Error = $error;

            fn mark(&self) -> Result<$marks, $error> {
                self.mark()
            }

            fn go_on(&self, marks: &$marks) -> Result<(), $error> {
                self.go_on(marks)
            }

            fn finish(self) -> Vec<Result<std::path::PathBuf, $error>> {
                self.finish()
            }
        }
    };
}

pub(crate) use tables;
