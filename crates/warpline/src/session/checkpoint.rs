//! A session as a file: all that another program needs to go on with the run, on any engine.
//!
//! Called through [`Session::save`] and `Simulation::resume`. [`blocks`] has the layout of the
//! file; here is what stands in it.
//!
//! # Invariants
//!
//! - **CKPT-A.** A file has its name only when it is complete, and the one before it is kept, as
//!   `NAME.previous`, until there is a newer one.
//! - **CKPT-B.** Nothing that is read is trusted: every byte is covered by a checksum, counts and
//!   numbers are checked, and what was committed is compared with the digest that was written.

use std::{
    ffi::OsString,
    fmt, fs,
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use warpline_core::{LpId, Model, VirtualTime, WireError, take_bytes};

use super::{
    Session, State, blocks,
    codec::{Broken, Codec},
    lacking,
};
use crate::{
    Details, RunError, Totals,
    cut::{Cut, LeftEvent, Whole},
    engines::Engines,
    error::CheckpointError,
    event::Event,
    files::PartialFile,
    handling::Lp,
    settings::Settings,
};
use blocks::{BlockReader, BlockWriter};

/// Bytes in a block before the next one begins.
const BLOCK_BYTES: usize = 1 << 20;
/// The longest text of parameters that is kept whole; of a longer one, a part and a checksum are.
const TEXT_MAX: usize = 1 << 16;
/// How many parameters an error names.
const DIFFERENCES_MAX: usize = 6;

/// What stands at the beginning of a checkpoint: of which run it is, and of which point.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The version of Warpline that has written it.
    pub version: String,
    /// The model's name, as reports have it.
    pub model: String,
    /// The model's [parameters](Model::parameters), a line for each.
    pub parameters: String,
    /// The seed.
    pub seed: u64,
    /// Where the statistics begin anew; 0 without a warm-up.
    pub warm_up: f64,
    /// How many LPs there are.
    pub lps: u64,
    /// How many events are pending.
    pub pending_events: u64,
    /// The virtual time up to which all events are committed.
    pub now: f64,
    /// Whether events at that very time may be committed.
    pub is_past_now: bool,
    /// What the run has counted.
    pub totals: Totals,
    /// The wall time that it has taken (seconds).
    pub wall_seconds: f64,
    /// What the layout of plain old data depends on: bytes of a message and of a state, and of a
    /// pointer; with the highest bit for a machine whose words have their highest byte first.
    layout: [u64; 3],
}

/// What is wrong with a checkpoint.
pub(super) enum Refusal {
    /// The system says so, or the bytes are damaged.
    Io(io::Error),
    /// It is sound, and not of this run.
    Other(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn damaged(what: impl fmt::Display) -> Refusal {
    Refusal::Io(io::Error::new(io::ErrorKind::InvalidData, format!("it is damaged: {what}")))
}

/// How the model's states become bytes.
fn codec_of<M: Model>(model: &M) -> Result<Codec<M>, Refusal> {
    Codec::of(model).map_err(|lacks| {
        let what = format!("the model {} cannot be written to a file yet", model.name());
        Refusal::Other(lacking::text(&what, &lacks))
    })
}

impl Checkpoint {
    /// What stands at the beginning of a checkpoint.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let read = || {
            let mut reader = BlockReader::open(BufReader::new(fs::File::open(path)?))?;
            let head = Self::head(&mut reader)?;
            // What does not hold to its end is of no use.
            for kind in [blocks::LPS, blocks::EVENTS, blocks::ATTACHED] {
                while reader.next(kind)?.is_some() {}
            }
            end(&mut reader).map(|()| head)
        };
        read().map_err(|refusal| refused(path, refusal))
    }

    fn head(reader: &mut BlockReader<impl Read>) -> Result<Self, Refusal> {
        let block = reader.next(blocks::HEAD)?.ok_or_else(|| damaged("it has no head"))?;
        postcard::from_bytes(&block).map_err(|error| damaged(format!("its head: {error}")))
    }

    fn of<M: Model>(model: &M, settings: &Settings, state: &State<M>) -> Self {
        let Cut { lps, pending, .. } = &state.whole.0;
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: model.name().to_owned(),
            parameters: text_of(settings.parameters_of(model)),
            seed: settings.seed,
            warm_up: settings.warm_up,
            lps: lps.len() as u64,
            pending_events: pending.len() as u64,
            now: state.now.get(),
            is_past_now: state.is_past_now,
            totals: state.totals.clone(),
            wall_seconds: state.wall.as_secs_f64(),
            layout: Codec::<M>::LAYOUT,
        }
    }

    /// Whether a run of this model with these settings may go on with it; otherwise why not.
    fn check<M: Model>(&self, model: &M, settings: &Settings) -> Result<(), String> {
        let &Settings { seed, warm_up, .. } = settings;
        if self.model != model.name() {
            return Err(format!("it is of the model {}, and not of {}", self.model, model.name()));
        }
        let now = text_of(settings.parameters_of(model));
        if self.parameters != now {
            let differences = differences(&self.parameters, &now);
            return Err(format!("it is of other parameters of the model: {differences}"));
        }
        if self.seed != seed {
            return Err(format!("it is of seed {}, and not of {seed}", self.seed));
        }
        if self.warm_up.to_bits() != warm_up.to_bits() {
            return Err(format!(
                "its statistics begin at virtual time {0}, and not at {warm_up}: give it the \
                 warm-up {0}",
                self.warm_up
            ));
        }
        if self.version != env!("CARGO_PKG_VERSION") {
            return Err(format!(
                "it was written by Warpline {}, and this is {}: go on with that version",
                self.version,
                env!("CARGO_PKG_VERSION")
            ));
        }
        if self.layout != Codec::<M>::LAYOUT || self.lps != model.lp_count() as u64 {
            return Err("it is of another build of the model, or of another kind of machine: its \
                        states or messages lie otherwise in memory"
                .to_owned());
        }
        Ok(())
    }
}

/// The text of parameters, a line for each; of a long one a part, with a checksum of the whole.
fn text_of(parameters: &dyn fmt::Debug) -> String {
    let mut text = format!("{parameters:#?}");
    if text.len() > TEXT_MAX {
        let checksum = crc32fast::hash(text.as_bytes());
        let whole = text.len();
        let end = (0..=TEXT_MAX).rev().find(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or_default());
        debug_assert!(text.len() <= TEXT_MAX, "CKPT-B: a head of {} bytes", text.len());
        text += &format!("\n({whole} bytes in all, with the checksum {checksum:08x})");
    }
    text
}

/// Which parameters differ.
fn differences(before: &str, now: &str) -> String {
    debug_assert_ne!(before, now, "parameters that are equal differ in nothing");
    let (mut before, mut now) = (before.lines(), now.lines());
    let mut found = Vec::new();
    loop {
        let pair = (before.next(), now.next());
        if pair == (None, None) {
            break;
        }
        if pair.0 != pair.1 {
            let tidy = |line: Option<&str>| {
                line.map_or("nothing", |line| line.trim().trim_end_matches(',')).to_owned()
            };
            found.push(format!("`{}` there, `{}` here", tidy(pair.0), tidy(pair.1)));
        }
    }
    let more = found.len().saturating_sub(DIFFERENCES_MAX);
    found.truncate(DIFFERENCES_MAX);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    found.join(", ") + &rest
}

impl<M: Model, E: Engines> Session<'_, M, E> {
    /// Refuses to write checkpoints to a file where that cannot be, before a long run finds out.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save), as far as they can be foreseen.
    pub fn check_saving(&self, path: &Path) -> Result<(), RunError> {
        let check = || -> Result<(), Refusal> {
            codec_of(self.model())?;
            Ok(PartialFile::create(path).map(drop)?)
        };
        Ok(self.guard(check)?.map_err(|refusal| refused(path, refusal))?)
    }

    /// Writes a checkpoint. The file gets its name when it is complete, and an older one of this
    /// name becomes `NAME.previous`.
    ///
    /// # Errors
    ///
    /// [`RunError::Checkpoint`] if the model [does not say](Model::state_wire) how its states
    /// become bytes, or the file cannot be written; then the older one is as it was.
    pub fn save(&self, path: &Path) -> Result<(), RunError> {
        self.save_with(path, &[])
    }

    /// Writes a checkpoint with bytes of the caller's, which
    /// [`attached`](Self::attached) gives back after a resume: how far files are written that
    /// belong to the run ([`Mark`](crate::files::Mark)), or what was counted beside the model.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save).
    pub fn save_with(&self, path: &Path, attached: &[u8]) -> Result<(), RunError> {
        let state = self.state()?;
        let write = || write(&*self.model, &self.settings, state, attached, path);
        let written = self.guard(write)?;
        Ok(written.map_err(|refusal| refused(path, refusal))?)
    }

    /// What was attached to the checkpoint that this session goes on with; nothing otherwise.
    #[must_use]
    pub fn attached(&self) -> &[u8] {
        &self.attached
    }

    /// The state that a checkpoint has, for a session of this model, and what is attached.
    pub(super) fn load(&self, path: &Path) -> Result<(State<M>, Vec<u8>), RunError> {
        let read = self.guard(|| read(&*self.model, &self.settings, path))?;
        Ok(read.map_err(|refusal| refused(path, refusal))?)
    }
}

fn write<M: Model>(
    model: &M,
    settings: &Settings,
    state: &State<M>,
    attached: &[u8],
    path: &Path,
) -> Result<(), Refusal> {
    let codec = codec_of(model)?;
    let head = Checkpoint::of(model, settings, state);
    let head = postcard::to_allocvec(&head).map_err(|error| Refusal::Other(error.to_string()))?;
    let Cut { lps, pending, .. } = &state.whole.0;
    let path = &named_by(path);
    let file = PartialFile::create(path)?;
    let keeps_older = file.is_regular() && path.exists();
    file.fill(|file| {
        let mut writer = BlockWriter::begin(&mut *file)?;
        writer.write(blocks::HEAD, &head)?;
        let write_lp = |(at, lp): (_, &_), bytes: &mut _| codec.write_lp(at, lp, bytes);
        write_all(&mut writer, blocks::LPS, &codec, lps, write_lp)?;
        let write_event = |(_, event): (_, &_), bytes: &mut _| codec.write_event(event, bytes);
        write_all(&mut writer, blocks::EVENTS, &codec, pending, write_event)?;
        if !attached.is_empty() {
            writer.write(blocks::ATTACHED, attached)?;
        }
        writer.write(blocks::END, &[])?;
        if file.is_regular() {
            file.sync()?;
        }
        if keeps_older {
            keep_as_previous(path)?;
        }
        Ok(())
    })?;
    // Its name, too, should be there after a power failure; not every system can promise that.
    if let Some(folder) = path.parent().and_then(|folder| fs::File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// The file that a name stands for: a symbolic link stays, and what it names is replaced.
fn named_by(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Gives the checkpoint that is there a second name (CKPT-A).
fn keep_as_previous(path: &Path) -> io::Result<()> {
    let older = previous(path);
    debug_assert!(older != path, "CKPT-A: {} would replace itself", path.display());
    // Two names for a moment, so that there is one at all times; not every system can do that.
    let _ = fs::remove_file(&older);
    fs::hard_link(path, &older).or_else(|_| fs::rename(path, &older))
}

/// Writes items in blocks, each with their number.
fn write_all<T, M: Model>(
    writer: &mut BlockWriter<impl Write>,
    kind: u8,
    codec: &Codec<M>,
    items: &[T],
    write: impl Fn((usize, &T), &mut Vec<u8>),
) -> io::Result<()> {
    let mut items = items.iter().enumerate().peekable();
    let mut bytes = Vec::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 8);
    while items.peek().is_some() {
        bytes.clear();
        bytes.extend([0; 4]);
        let mut count = 0_u32;
        let mut fill = || {
            while bytes.len() < BLOCK_BYTES
                && let Some(item) = items.next()
            {
                write(item, &mut bytes);
                count += 1;
            }
        };
        codec.naming(&mut fill).map_err(|broken| io::Error::other(broken.to_string()))?;
        debug_assert!(count > 0, "CKPT-B: a block without an item");
        bytes[..4].copy_from_slice(&count.to_le_bytes());
        writer.write(kind, &bytes)?;
    }
    Ok(())
}

fn read<M: Model>(
    model: &M,
    settings: &Settings,
    path: &Path,
) -> Result<(State<M>, Vec<u8>), Refusal> {
    let codec = codec_of(model)?;
    let mut reader = BlockReader::open(BufReader::new(fs::File::open(path)?))?;
    let head = Checkpoint::head(&mut reader)?;
    head.check(model, settings).map_err(Refusal::Other)?;
    let (mut lps, mut pending) = (Vec::new(), Vec::new());
    let count = model.lp_count();
    let read_lp = |at, bytes: &mut &_| codec.read_lp(at, bytes);
    read_all(&mut reader, blocks::LPS, &codec, &mut lps, read_lp)?;
    let read_event = |_, bytes: &mut &_| codec.read_event(bytes, count);
    read_all(&mut reader, blocks::EVENTS, &codec, &mut pending, read_event)?;
    let attached = reader.next(blocks::ATTACHED)?.unwrap_or_default();
    end(&mut reader)?;
    let is_sound = |event: &LeftEvent<M>| {
        let sender: &Lp<M::Lp> = &lps[event.key.sender().index()];
        event.key.sequence() < sender.core.sent && event.key.time_value() >= head.now
    };
    if lps.len() != count || !pending.iter().all(is_sound) || has_twins(&pending) {
        return Err(damaged("it has events that cannot be pending"));
    }
    let sent = lps.iter().map(|lp: &Lp<M::Lp>| lp.core.sent).fold(0, u64::saturating_add);
    let is_whole = (lps.len(), pending.len() as u64) == (count, head.pending_events)
        && sent.checked_sub(head.pending_events) == Some(head.totals.committed_events);
    let now = VirtualTime::new(head.now).ok().filter(|_| is_whole);
    let now = now.ok_or_else(|| damaged("LPs or events are missing"))?;
    debug_assert!(reader.is_over(), "CKPT-B: blocks are left");
    let whole = Whole(Cut::new(lps, pending));
    let ids: Vec<_> = (0..count).map(LpId::from_index).collect();
    if whole.0.digest(&ids) != head.totals.digest {
        return Err(damaged("its digest is not that of its states"));
    }
    let Checkpoint { is_past_now, totals, wall_seconds, .. } = head;
    let wall = std::time::Duration::try_from_secs_f64(wall_seconds).unwrap_or_default();
    let details = Details::default();
    let pace = None;
    Ok((State { whole, now, is_past_now, totals, wall, details, pace }, attached))
}

/// Whether two events have one number of one sender.
fn has_twins<B>(pending: &[Event<B>]) -> bool {
    let mut numbers: Vec<_> =
        pending.iter().map(|event| (event.key.sender(), event.key.sequence())).collect();
    numbers.sort_unstable();
    numbers.windows(2).any(|pair| pair[0] == pair[1])
}

/// Nothing follows.
fn end(reader: &mut BlockReader<impl Read>) -> Result<(), Refusal> {
    if reader.next(blocks::END)?.is_none() || !reader.is_at_end()? {
        return Err(damaged("something else is where its end should be"));
    }
    Ok(())
}

/// Reads the items of all blocks of a kind.
fn read_all<T, M: Model>(
    reader: &mut BlockReader<impl Read>,
    kind: u8,
    codec: &Codec<M>,
    items: &mut Vec<T>,
    read: impl Fn(usize, &mut &[u8]) -> Result<T, WireError>,
) -> Result<(), Refusal> {
    let of_model = |broken: Broken| Refusal::Other(broken.to_string());
    while let Some(block) = reader.next(kind)? {
        let mut bytes = &block[..];
        let mut count = [0; 4];
        count.copy_from_slice(take_bytes(&mut bytes, 4).map_err(damaged)?);
        let mut take = || {
            for _ in 0..u32::from_le_bytes(count) {
                items.push(read(items.len(), &mut bytes)?);
            }
            Ok::<_, WireError>(())
        };
        // What the model's wires cannot read is as they have written it: it has a checksum.
        let wrong = |error| codec.broken(&error).map_or_else(|| damaged(error), of_model);
        codec.naming(&mut take).map_err(of_model)?.map_err(wrong)?;
        if !bytes.is_empty() {
            return Err(damaged("a block is longer than what is in it"));
        }
    }
    Ok(())
}

/// Where the checkpoint before the last one of this name is.
#[must_use]
pub fn previous(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".previous");
    PathBuf::from(name)
}

fn refused(path: &Path, refusal: Refusal) -> CheckpointError {
    let what = match refusal {
        Refusal::Other(what) => what,
        Refusal::Io(error) => {
            let older = previous(&named_by(path));
            let is_damaged = error.kind() == io::ErrorKind::InvalidData
                || error.kind() == io::ErrorKind::UnexpectedEof;
            let folder = path.parent().filter(|folder| {
                let is_named = !folder.as_os_str().is_empty();
                error.kind() == io::ErrorKind::NotFound && is_named && !folder.exists()
            });
            match folder {
                Some(folder) => format!("{error}: the folder {} is not there", folder.display()),
                None if is_damaged && older.exists() => {
                    format!("{error}\n  what to do: resume the one before it, {}", older.display())
                }
                None => error.to_string(),
            }
        }
    };
    CheckpointError { file: path.to_owned(), what }
}
