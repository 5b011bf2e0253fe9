//! The model: LPs of words, with foreign handlers.

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use warpline::{
    AnyModel, Collected, ConfigError, Context, Difference, Figure, Link, LogicalProcess, LpId,
    Model, Results, Reversal, VirtualTime,
    digest::mix,
    statistics::Findings,
    wire::{Wire, WireError, Wires, take_bytes},
};

use super::{
    call::{Calls, Handler, call, call_reverse},
    failures::Failures,
    fields::{Field, Shown},
    statistics::{Observed, Statistic},
    words::{Boxed, Words},
};

/// A state of at most this many words lies in the LP itself.
const STATE_IN_PLACE: usize = 2;
/// A message of at most this many words lies in the event's buffer itself.
const MESSAGE_IN_PLACE: usize = 4;

/// What a model is.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its name, for reports.
    pub name: String,
    /// Sends the first events of an LP.
    pub start: Handler,
    /// Handles an event.
    pub handle: Handler,
    /// Undoes one, if the model can: it restores the state to what it was before.
    pub reverse: Option<Handler>,
    /// The number of LPs.
    pub lps: usize,
    /// The 64-bit words of a state.
    pub state_words: usize,
    /// The fields of a state, for the text of the reverse check.
    pub fields: Vec<Field>,
    /// The 64-bit words of a message.
    pub message_words: usize,
    /// The states at the beginning, one LP's after the other's.
    pub initial: Vec<u64>,
    /// What all handlers read.
    pub parameters: Vec<u64>,
    /// What makes this model another one than the next: ranks compare it. (The parameters
    /// themselves may have addresses.)
    pub identity: String,
    /// A lower bound of the delays of events to other LPs.
    pub lookahead: Option<f64>,
    /// Where LPs send to, if that is few others: each sender with its links.
    pub links: Option<Vec<(LpId, Link)>>,
    /// The statistics in a state, whose figures are results, before those of `finish`.
    pub statistics: Vec<Statistic>,
    /// What computes the results of a run, if it has any beside the states.
    pub finish: Option<Finish>,
    /// Whether what a handler had before it is kept, should it fail, so that the caller can repeat
    /// it. That costs a copy of the state at each event.
    pub is_repeatable: bool,
}

/// Computes the results of a run from the states of all LPs at its end, one LP's words after the
/// other's, and the virtual time up to which it ran: always the same figures, in the same order.
/// Runs that go on at one time call it at one time.
#[derive(Clone)]
pub struct Finish(Arc<Compute>);

type Compute = dyn Fn(&[u64], f64) -> Vec<Figure> + Send + Sync;

impl Finish {
    /// This function.
    pub fn new(finish: impl Fn(&[u64], f64) -> Vec<Figure> + Send + Sync + 'static) -> Self {
        Self(Arc::new(finish))
    }

    /// What it computes.
    pub(crate) fn figures(&self, states: &[u64], end: f64) -> Vec<Figure> {
        (self.0)(states, end)
    }
}

impl fmt::Debug for Finish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finish").finish_non_exhaustive()
    }
}

/// A model with foreign handlers, ready to run. Clones share what a run leaves behind.
#[derive(Clone)]
pub struct ForeignModel(Arc<Inner>);

struct Inner {
    /// Without the parameters, which are with the calls, and without the links.
    description: Description,
    /// The links of each LP, if any are known.
    links: Option<Vec<Vec<Link>>>,
    calls: Calls,
    states: Mutex<States>,
}

/// The states of all LPs at the end of a run, one LP's words after the other's.
pub type States = Vec<u64>;

impl ForeignModel {
    /// A model.
    ///
    /// # Errors
    ///
    /// If the initial states are not those of all LPs, or a link is from an LP that there is not.
    ///
    /// # Safety
    ///
    /// For as long as the model is used, `start`, `handle` and `reverse` are functions that can be
    /// called from any thread, several at a time, and that keep to what [`Handler`] and
    /// [`HandlerContext`](super::HandlerContext) say: they write nothing but the words of the
    /// state, the stream and the outbox, they read nothing that changes meanwhile, and they do not
    /// unwind.
    #[expect(unsafe_code, reason = "handlers are functions of another language")]
    pub unsafe fn new(description: Description) -> Result<Self, ConfigError> {
        let mut description = description;
        let links = description.links.take();
        let Description { lps, state_words, initial, .. } = &description;
        let links = links.map(|links| by_sender(links, *lps)).transpose()?;
        if initial.len() != lps * state_words {
            let allowed = format!("{state_words} words for each of {lps} LPs");
            return Err(ConfigError::new("states", initial.len(), &allowed));
        }
        for Statistic { name, kind, word, .. } in &description.statistics {
            let allowed = format!("in a state of {state_words} words");
            ConfigError::check(word + kind.words() <= *state_words, name, word, &allowed)?;
        }
        let parameters = std::mem::take(&mut description.parameters);
        let sizes = (description.lps, description.message_words);
        let calls = Calls::new(parameters, sizes, description.is_repeatable);
        Ok(Self(Arc::new(Inner { description, links, calls, states: Mutex::default() })))
    }

    /// The model for a run, in the size class that it needs.
    #[must_use]
    pub fn into_any(self) -> AnyModel {
        let Description { state_words, message_words, .. } = self.0.description;
        match (state_words <= STATE_IN_PLACE, message_words) {
            (true, 0) => self.typed::<[u64; STATE_IN_PLACE], [u64; 0]>(),
            (true, 1..=MESSAGE_IN_PLACE) => {
                self.typed::<[u64; STATE_IN_PLACE], [u64; MESSAGE_IN_PLACE]>()
            }
            (false, 0) => self.typed::<Boxed, [u64; 0]>(),
            (false, 1..=MESSAGE_IN_PLACE) => self.typed::<Boxed, [u64; MESSAGE_IN_PLACE]>(),
            _ => self.typed::<Boxed, Boxed>(),
        }
    }

    fn typed<S: Words, M: Words>(self) -> AnyModel {
        AnyModel::new(Foreign::<S, M> { inner: self.0, sizes: PhantomData })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.description.name
    }

    /// What failed in its runs, if that is kept.
    #[must_use]
    pub fn failures(&self) -> Option<&Failures> {
        self.0.calls.failures.as_ref()
    }

    /// The states at the end of the last run; none if there was no such run.
    #[must_use]
    pub fn take_states(&self) -> States {
        std::mem::take(&mut *self.0.states.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for ForeignModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignModel").field(&self.0.description.name).finish()
    }
}

/// The links of each LP.
pub(crate) fn by_sender(
    links: Vec<(LpId, Link)>,
    lps: usize,
) -> Result<Vec<Vec<Link>>, ConfigError> {
    let mut table = vec![Vec::new(); lps];
    for (from, link) in links {
        let Some(links) = table.get_mut(from.index()) else {
            return Err(ConfigError::new("links", format!("{from:?}"), format!("below {lps}")));
        };
        links.push(link);
    }
    Ok(table)
}

/// The model in a size class of states and one of messages.
struct Foreign<S, M> {
    inner: Arc<Inner>,
    sizes: PhantomData<fn() -> (S, M)>,
}

/// An LP.
#[derive(Debug)]
struct ForeignLp<S, M> {
    state: S,
    message: PhantomData<fn() -> M>,
}

impl<S: Words, M> Clone for ForeignLp<S, M> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone(), message: PhantomData }
    }

    fn clone_from(&mut self, from: &Self) {
        self.state.clone_from(&from.state);
    }
}

/// An LP at the end of a run.
#[derive(Debug, Serialize, Deserialize)]
struct Finished {
    state: Vec<u64>,
    end: f64,
    /// Closed at the end.
    observed: Vec<Observed>,
}

impl Finished {
    /// What was observed after an earlier time; the state is that of the end.
    fn since(&self, earlier: &Self) -> Self {
        let pairs = self.observed.iter().zip(&earlier.observed);
        let observed = pairs.map(|(later, earlier)| later.since(earlier)).collect();
        Self { state: self.state.clone(), end: self.end, observed }
    }
}

/// The results. The states are not among them: whoever made the model asks it for those.
struct Done(Vec<Figure>);

impl Results for Done {
    fn figures(&self) -> Vec<Figure> {
        self.0.clone()
    }
}

/// A hash of a message, of the words that the model uses.
#[inline]
fn hash<S, M: Words>(model: &Foreign<S, M>, message: &M) -> u64 {
    let used = model.inner.description.message_words;
    message.get()[..used].iter().fold(0, |hash, word| mix(hash, *word))
}

impl<S: Words, M: Words> ForeignLp<S, M> {
    /// Lets the statistics begin anew.
    fn reset(model: &Foreign<S, M>, lp: &mut Self, now: VirtualTime) {
        for statistic in &model.inner.description.statistics {
            Observed::reset(statistic, lp.state.get_mut(), now);
        }
    }
}

impl<S: Words, M: Words> LogicalProcess for ForeignLp<S, M> {
    type Model = Foreign<S, M>;
    type Message = M;
    type Summary = Finished;
    const STATISTICS: Collected<Self> = Collected::by(Self::reset, Finished::since);

    fn start(&mut self, model: &Self::Model, cx: &mut impl Context<M>) {
        let start = model.inner.description.start;
        call(start, &mut self.state, None, &model.inner.calls, cx);
    }

    #[inline]
    fn handle(&mut self, model: &Self::Model, message: &M, cx: &mut impl Context<M>) {
        let handle = model.inner.description.handle;
        call(handle, &mut self.state, Some(message), &model.inner.calls, cx);
    }

    const REVERSIBLE: bool = true;

    fn reverse(&mut self, model: &Self::Model, message: &M, event: &mut Reversal) {
        let reverse = model.inner.description.reverse;
        let reverse = reverse.unwrap_or_else(|| unreachable!("the model is not reversible"));
        call_reverse(reverse, &mut self.state, message, &model.inner.calls, event);
    }

    #[inline]
    fn identity(model: &Self::Model, message: &M) -> Option<u64> {
        Some(hash(model, message))
    }

    #[inline]
    fn fingerprint(model: &Self::Model, message: &M) -> u64 {
        hash(model, message)
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        self.state.heap_bytes()
    }

    #[inline]
    fn message_heap_bytes(message: &M) -> usize {
        message.heap_bytes()
    }

    fn finish(self, model: &Self::Model, end: VirtualTime) -> Finished {
        let Description { state_words, statistics, .. } = &model.inner.description;
        let state = self.state.get()[..*state_words].to_vec();
        let observed = statistics.iter().map(|one| Observed::read(one, &state).until(end));
        Finished { observed: observed.collect(), state, end: end.get() }
    }
}

impl<S: Words, M: Words> Model for Foreign<S, M> {
    type Lp = ForeignLp<S, M>;
    type Output = Done;

    fn name(&self) -> &str {
        &self.inner.description.name
    }

    fn lp_count(&self) -> usize {
        self.inner.description.lps
    }

    fn make_lp(&self, id: LpId) -> ForeignLp<S, M> {
        let Description { initial, state_words, .. } = &self.inner.description;
        let state = S::of(&initial[id.index() * state_words..][..*state_words]);
        ForeignLp { state, message: PhantomData }
    }

    fn reduce(&self, summaries: impl Iterator<Item = Finished>) -> Done {
        let (mut states, mut end) = (States::new(), 0.0);
        let mut merged: Option<Vec<Observed>> = None;
        for Finished { state, end: last, observed } in summaries {
            end = last;
            states.extend(state);
            match &mut merged {
                None => merged = Some(observed),
                Some(all) => all.iter_mut().zip(&observed).for_each(|(all, one)| all.merge(one)),
            }
        }
        let Description { finish, statistics, .. } = &self.inner.description;
        let mut findings = Findings::default();
        for (statistic, observed) in statistics.iter().zip(merged.iter().flatten()) {
            observed.tell(statistic, &mut findings);
        }
        let mut figures = findings.figures;
        if let Some(finish) = finish {
            figures.extend(finish.figures(&states, end));
        }
        *self.inner.states.lock().unwrap_or_else(PoisonError::into_inner) = states;
        Done(figures)
    }

    fn lookahead(&self) -> Option<f64> {
        self.inner.description.lookahead
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        Some(self.inner.links.as_ref()?[from.index()].clone())
    }

    fn has_statistics(&self) -> bool {
        !self.inner.description.statistics.is_empty()
    }

    fn difference(&self) -> Option<Difference<Self>> {
        self.has_statistics().then_some(Finished::since)
    }

    fn is_reversible(&self) -> bool {
        self.inner.description.reverse.is_some()
    }

    /// A state has no copy of the parameters, so any of them may differ.
    fn adapt(&self, old: &Self, _: LpId, _: &mut Self::Lp) -> Result<(), String> {
        let words = |it: &Description| (it.state_words, it.message_words);
        let (now, before) = (&self.inner.description, &old.inner.description);
        if words(now) == words(before) {
            return Ok(());
        }
        Err(format!("its records have {:?} words, and had {:?}", words(now), words(before)))
    }

    fn state_text(&self, lp: &Self::Lp) -> String {
        let Description { fields, state_words, .. } = &self.inner.description;
        format!("{:#?}", Shown { fields, words: &lp.state.get()[..*state_words] })
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        &self.inner.description.identity
    }

    fn wires(&self) -> Option<Wires<Self>> {
        let message = Wire::sized(self.inner.description.message_words, write_words, read_words);
        Some(Wires { message, summary: Wire::serde() })
    }

    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        let write =
            |lp: &Self::Lp, count, bytes: &mut Vec<u8>| write_words(&lp.state, count, bytes);
        let read = |bytes: &mut &[u8], count| {
            read_words(bytes, count).map(|state| ForeignLp { state, message: PhantomData })
        };
        Some(Wire::sized(self.inner.description.state_words, write, read))
    }
}

/// Appends the words that are used.
fn write_words<M: Words>(message: &M, count: usize, bytes: &mut Vec<u8>) {
    bytes.extend(message.get()[..count].iter().flat_map(|word| word.to_le_bytes()));
}

fn read_words<M: Words>(bytes: &mut &[u8], count: usize) -> Result<M, WireError> {
    let (words, _) = take_bytes(bytes, 8 * count)?.as_chunks();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    Ok(M::of(&words))
}
