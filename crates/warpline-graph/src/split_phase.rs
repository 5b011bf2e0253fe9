//! The operations of the event graph as futures: an operation that cannot be done at once completes
//! later.
//!
//! For programs that wait in many places, rather than in one loop. Any single-threaded executor
//! will do. Its loop calls [`SplitPhase::poll`], which wakes all waiting futures whenever something
//! may have changed.

use std::{
    cell::{Ref, RefCell},
    future::poll_fn,
    task::{Poll, Waker},
};

use warpline_net::NetError;

use crate::{EdgeId, EventGraph, NodeId, Refusal, Refused, Taken};

/// A handle on the event graph that several futures of one thread share.
#[derive(Debug)]
pub struct SplitPhase<'g, E> {
    graph: RefCell<EventGraph<'g, E>>,
    waiting: RefCell<Vec<Waker>>,
}

impl<'g, E> SplitPhase<'g, E> {
    /// Shares a handle.
    #[must_use]
    pub fn new(graph: EventGraph<'g, E>) -> Self {
        Self { graph: RefCell::new(graph), waiting: RefCell::default() }
    }

    /// Handles what has arrived, sends what has gathered, and wakes all waiting futures. Returns
    /// whether there were any.
    ///
    /// # Errors
    ///
    /// As [`EventGraph::poll`].
    pub fn poll(&self) -> Result<bool, NetError> {
        let mut graph = self.graph.borrow_mut();
        graph.poll()?;
        graph.flush();
        drop(graph);
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        let any = !waiting.is_empty();
        waiting.into_iter().for_each(Waker::wake);
        Ok(any)
    }

    /// The shared handle, for reading.
    pub fn graph(&self) -> Ref<'_, EventGraph<'g, E>> {
        self.graph.borrow()
    }

    /// Waits until `attempt` returns a value.
    async fn until<T>(&self, mut attempt: impl FnMut(&mut EventGraph<'g, E>) -> Option<T>) -> T {
        poll_fn(|cx| match attempt(&mut self.graph.borrow_mut()) {
            Some(done) => Poll::Ready(done),
            None => {
                self.waiting.borrow_mut().push(cx.waker().clone());
                Poll::Pending
            }
        })
        .await
    }

    /// MakeEventGraph: waits until the graph is ready on all workers.
    pub async fn made(&self) {
        self.until(|graph| graph.is_made().then_some(())).await;
    }

    /// SendEvent: waits until there is room on all edges that leave the node. If sends are not
    /// lazy, also waits until the event has arrived.
    pub async fn send_event(&self, node: NodeId, event: E)
    where
        E: Clone,
    {
        self.sending(node, event, |graph, event| graph.send_event(node, event)).await;
    }

    /// Sends an event on one edge, and waits as [`send_event`](Self::send_event) does.
    pub async fn send(&self, edge: EdgeId, event: E) {
        let node = self.graph.borrow().plan().topology().from(edge);
        self.sending(node, event, |graph, event| graph.send(edge, event)).await;
    }

    async fn sending(
        &self,
        node: NodeId,
        event: E,
        mut send: impl FnMut(&mut EventGraph<'g, E>, E) -> Result<(), Refused<E>>,
    ) {
        let mut unsent = Some(event);
        self.until(|graph| match send(graph, unsent.take()?) {
            Ok(()) => Some(()),
            Err(Refused {
                refusal: Refusal::Full(_) | Refusal::Incomplete | Refusal::Frozen,
                event,
            }) => {
                unsent = Some(event);
                None
            }
        })
        .await;
        self.until(|graph| graph.is_complete(node).then_some(())).await;
    }

    /// ReceiveEvent: waits until an edge has an event, and removes it.
    pub async fn receive(&self, edge: EdgeId) -> Taken<E> {
        self.until(|graph| graph.receive(edge)).await
    }

    /// WaitForEvent: waits until one of the edges that lead to a node has an event, and returns
    /// that edge.
    pub async fn wait_for_event(&self, node: NodeId) -> EdgeId {
        self.until(|graph| {
            let incoming = graph.plan().topology().incoming(node);
            incoming.iter().copied().find(|&edge| graph.waiting(edge) > 0)
        })
        .await
    }

    /// Freeze: waits until everything that was sent to this worker has arrived.
    pub async fn freeze(&self) {
        self.graph.borrow_mut().freeze();
        self.until(|graph| graph.is_frozen().then_some(())).await;
    }

    /// UnFreeze: allows sending again.
    ///
    /// # Panics
    ///
    /// If the graph is not frozen.
    pub fn unfreeze(&self) {
        self.graph.borrow_mut().unfreeze();
    }
}
