//! The semaphore.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use crate::Network;

/// How many times as many permits as are free a network may hold: with 3, three quarters of all if it is alone.
const THRESHOLD: usize = 3;
/// The same for all networks of one site: seven eighths if it is alone.
const SITE_THRESHOLD: usize = 7;

/// A semaphore whose permits, and whose places in the queue, are divided between networks. Cheap to clone: clones share
/// the permits.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Inner>);

struct Inner {
    permits: usize,
    /// The maximum number of callers that wait.
    queue: usize,
    state: Mutex<State>,
    /// Notified when all permits are free.
    unused: Notify,
}

/// Who holds or waits for a permit; `None` is anybody who has no network.
type Holder = Option<Network>;

/// Between two calls, none of those who wait may be given a permit.
struct State {
    free: usize,
    /// How many permits each network holds, and each site.
    held: HashMap<Network, usize>,
    /// The maximum number of permits of a network, as a multiple of those that are free.
    threshold: usize,
    /// How many callers wait.
    waiting: usize,
    /// The callers that wait, in the order of their arrival.
    queues: HashMap<Holder, VecDeque<Waiter>>,
    /// The holders that have a queue, in the order of their turns.
    turns: VecDeque<Holder>,
    next_id: u64,
    is_closed: bool,
}

struct Waiter {
    id: u64,
    /// How many permits it wants.
    number: usize,
    sender: oneshot::Sender<Permit>,
}

/// Why there is no permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The queue is full, or the caller's network has its share of it.
    Full,
    /// None became free in time.
    Late,
    /// The semaphore was closed.
    Closed,
}

/// A permit, or several of them, which are returned when this is dropped.
#[derive(Debug)]
pub struct Permit {
    semaphore: FairSemaphore,
    holder: Holder,
    number: usize,
}

/// A caller's place in the queue, which is left when this is dropped.
struct Place<'s> {
    inner: &'s Inner,
    holder: Holder,
    id: u64,
    receiver: oneshot::Receiver<Permit>,
}

impl std::fmt::Debug for FairSemaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FairSemaphore").field("permits", &self.permits()).finish_non_exhaustive()
    }
}

impl FairSemaphore {
    /// Returns a semaphore with this number of permits, for which up to `queue` callers may wait.
    pub fn new(permits: usize, queue: usize) -> Self {
        let state = State {
            free: permits,
            held: HashMap::new(),
            threshold: THRESHOLD,
            waiting: 0,
            queues: HashMap::new(),
            turns: VecDeque::new(),
            next_id: 0,
            is_closed: false,
        };
        Self(Arc::new(Inner { permits, queue, state: Mutex::new(state), unused: Notify::new() }))
    }

    /// Leaves half of the permits to others when a network is alone, in place of a quarter: for callers that want many
    /// of them at once.
    pub fn in_halves(self) -> Self {
        self.0.state.lock().threshold = 1;
        self
    }

    /// Returns a permit if there is one for `holder` now.
    pub fn try_acquire(&self, holder: Option<Network>) -> Option<Permit> {
        self.try_acquire_many(holder, 1)
    }

    /// Returns `number` permits if there are as many for `holder` now.
    pub(crate) fn try_acquire_many(&self, holder: Option<Network>, number: usize) -> Option<Permit> {
        self.0.state.lock().take(holder, number).then(|| self.permit(holder, number))
    }

    /// Reports whether [`Self::try_acquire`] would return a permit now.
    pub fn has_room(&self, holder: Option<Network>) -> bool {
        self.0.state.lock().admits(holder, 1)
    }

    /// Returns a permit for `holder`, after waiting for at most `limit`. Networks that wait have their turns one after
    /// the other, however many callers each of them has.
    ///
    /// Errors: [`Refusal`].
    pub async fn acquire(&self, holder: Option<Network>, limit: Duration) -> Result<Permit, Refusal> {
        self.acquire_many(holder, 1, limit).await
    }

    /// Returns `number` permits for `holder` at once, as [`Self::acquire`] returns one. Nobody gets more than half of
    /// all, so that every caller gets its permits at some time.
    ///
    /// Errors: [`Refusal`].
    pub async fn acquire_many(
        &self,
        holder: Option<Network>,
        number: usize,
        limit: Duration,
    ) -> Result<Permit, Refusal> {
        let number = number.min(self.0.permits / 2).max(1);
        let mut place = {
            let mut state = self.0.state.lock();
            if state.is_closed {
                return Err(Refusal::Closed);
            }
            if state.take(holder, number) {
                drop(state);
                return Ok(self.permit(holder, number));
            }
            let (id, receiver) = state.wait(holder, number, self.0.queue).ok_or(Refusal::Full)?;
            drop(state);
            Place { inner: &self.0, holder, id, receiver }
        };
        let granted = tokio::time::timeout(limit, &mut place.receiver).await;
        granted.map_err(|_| Refusal::Late)?.map_err(|_| Refusal::Closed)
    }

    /// Refuses permits from now on, also to those who wait.
    pub fn close(&self) {
        let mut state = self.0.state.lock();
        state.is_closed = true;
        state.waiting = 0;
        state.turns.clear();
        let queues = std::mem::take(&mut state.queues);
        drop(state);
        drop(queues);
    }

    /// Reports whether the semaphore was closed.
    pub fn is_closed(&self) -> bool {
        self.0.state.lock().is_closed
    }

    /// Waits until all permits are free.
    pub async fn unused(&self) {
        loop {
            let mut notified = pin!(self.0.unused.notified());
            notified.as_mut().enable();
            if self.held() == 0 {
                return;
            }
            notified.await;
        }
    }

    /// Returns how many permits there are.
    pub fn permits(&self) -> usize {
        self.0.permits
    }

    /// Returns how many permits are held.
    pub fn held(&self) -> usize {
        self.0.permits - self.0.state.lock().free
    }

    /// Returns how many callers wait.
    pub fn waiting(&self) -> usize {
        self.0.state.lock().waiting
    }

    fn permit(&self, holder: Holder, number: usize) -> Permit {
        Permit { semaphore: self.clone(), holder, number }
    }

    fn give_back(&self, holder: Holder, number: usize) {
        let mut state = self.0.state.lock();
        state.release(holder, number);
        let is_unused = state.free == self.0.permits;
        let mut next = state.next_waiter();
        drop(state);
        if is_unused {
            self.0.unused.notify_waiters();
        }
        while let Some((holder, waiter)) = next {
            // If the caller has gone in the meantime, the permit is dropped here, which returns it.
            let _ = waiter.sender.send(self.permit(holder, waiter.number));
            next = self.0.state.lock().next_waiter();
        }
    }
}

impl State {
    /// Reports whether `holder` may have `number` more permits: whether it would be given the last of them if it took
    /// them one after the other.
    fn admits(&self, holder: Holder, number: usize) -> bool {
        let Some(left) = self.free.checked_sub(number) else { return false };
        let admits = |network: Network, threshold| {
            let held = self.held.get(&network).copied().unwrap_or_default();
            held + number <= (left + 1).saturating_mul(threshold)
        };
        !self.is_closed
            && holder.is_none_or(|network| {
                admits(network, self.threshold)
                    && network.site().is_none_or(|site| admits(site, self.threshold.max(SITE_THRESHOLD)))
            })
    }

    /// Takes `number` permits for `holder`; reports whether there were as many.
    fn take(&mut self, holder: Holder, number: usize) -> bool {
        let is_admitted = self.admits(holder, number);
        if is_admitted {
            self.free -= number;
            for network in holder.into_iter().flat_map(Network::with_site) {
                *self.held.entry(network).or_default() += number;
            }
        }
        is_admitted
    }

    fn release(&mut self, holder: Holder, number: usize) {
        self.free += number;
        for network in holder.into_iter().flat_map(Network::with_site) {
            if let Some(held) = self.held.get_mut(&network) {
                *held -= number;
                if *held == 0 {
                    self.held.remove(&network);
                }
            }
        }
    }

    /// Lets `holder` wait for `number` permits in a queue of this length; `None` if it is full or the holder has its
    /// share of it.
    fn wait(
        &mut self,
        holder: Holder,
        number: usize,
        queue: usize,
    ) -> Option<(u64, oneshot::Receiver<Permit>)> {
        let room = queue.saturating_sub(self.waiting);
        let own = self.queues.get(&holder).map_or(0, VecDeque::len);
        if room == 0 || (holder.is_some() && own >= room.saturating_mul(THRESHOLD)) {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        let (sender, receiver) = oneshot::channel();
        self.waiting += 1;
        if own == 0 {
            self.turns.push_back(holder);
        }
        self.queues.entry(holder).or_default().push_back(Waiter { id, number, sender });
        Some((id, receiver))
    }

    /// Takes a permit for the next one of those who wait and may have one, and returns who it is.
    fn next_waiter(&mut self) -> Option<(Holder, Waiter)> {
        for _ in 0..self.turns.len() {
            let holder = self.turns.pop_front()?;
            let number = self.queues.get(&holder)?.front()?.number;
            if !self.take(holder, number) {
                self.turns.push_back(holder);
                continue;
            }
            let queue = self.queues.get_mut(&holder)?;
            let waiter = queue.pop_front()?;
            if queue.is_empty() {
                self.queues.remove(&holder);
            } else {
                self.turns.push_back(holder);
            }
            self.waiting -= 1;
            return Some((holder, waiter));
        }
        None
    }

    /// Removes the waiter `id` of `holder`, if it still waits.
    fn leave(&mut self, holder: Holder, id: u64) {
        let Some(queue) = self.queues.get_mut(&holder) else { return };
        // Numbers grow, so the queue is sorted.
        let Ok(index) = queue.binary_search_by_key(&id, |waiter| waiter.id) else { return };
        queue.remove(index);
        self.waiting -= 1;
        if queue.is_empty() {
            self.queues.remove(&holder);
            self.turns.retain(|turn| *turn != holder);
        }
    }
}

impl Permit {
    /// Returns the network that holds it.
    pub const fn holder(&self) -> Option<Network> {
        self.holder
    }

    /// Returns how many permits it stands for.
    pub const fn number(&self) -> usize {
        self.number
    }

    /// Takes `number` more permits for the same holder; reports whether there were as many.
    pub fn grow(&mut self, number: usize) -> bool {
        let is_admitted = self.semaphore.0.state.lock().take(self.holder, number);
        self.number += if is_admitted { number } else { 0 };
        is_admitted
    }

    /// Returns `number` of the permits, or all of them if it stands for fewer.
    pub fn shrink(&mut self, number: usize) {
        let number = number.min(self.number);
        self.number -= number;
        self.semaphore.give_back(self.holder, number);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.semaphore.give_back(self.holder, self.number);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // A permit that was sent at the last moment is returned when the receiver is dropped, after this.
        self.inner.state.lock().leave(self.holder, self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn network(last: u8) -> Holder {
        Network::of([192, 0, 2, last].into())
    }

    /// Takes as many permits as `holder` gets.
    fn take_all(semaphore: &FairSemaphore, holder: Holder) -> Vec<Permit> {
        std::iter::from_fn(|| semaphore.try_acquire(holder)).collect()
    }

    #[test]
    fn a_network_gets_three_quarters_and_others_some_of_the_rest() {
        let semaphore = FairSemaphore::new(256, 0);
        let first = take_all(&semaphore, network(1));
        assert_eq!(first.len(), 192);
        let others: Vec<_> = (2..=5).map(|last| take_all(&semaphore, network(last))).collect();
        assert_eq!(others.iter().map(Vec::len).collect::<Vec<_>>(), [48, 12, 3, 1]);
        assert!(!semaphore.has_room(network(6)));
        // What comes back is for those who have little, and not for those who have much.
        let mut first = first;
        first.truncate(182);
        assert!(!semaphore.has_room(network(1)) && semaphore.has_room(network(6)));
        drop((first, others));
        assert_eq!(semaphore.held(), 0);
        assert!(semaphore.0.state.lock().held.is_empty(), "nothing is kept of who holds nothing");
    }

    #[test]
    fn the_networks_of_a_site_leave_some_to_others() {
        let semaphore = FairSemaphore::new(256, 0);
        let of = |address: &str| Network::of(address.parse().unwrap());
        let site = [1, 2, 3, 4, 5].map(|last| of(&format!("2001:db8:1:{last}::1")));
        let held: Vec<_> = site.iter().map(|network| take_all(&semaphore, *network)).collect();
        assert_eq!(held.iter().map(Vec::len).sum::<usize>(), 224);
        assert_eq!(held[0].len(), 192);
        assert!(semaphore.has_room(of("2001:db8:2:1::1")) && semaphore.has_room(network(1)));
        drop(held);
        assert!(semaphore.0.state.lock().held.is_empty());
        assert_eq!(take_all(&semaphore.in_halves(), network(1)).len(), 128);
    }

    #[test]
    fn few_permits_are_for_everybody_and_all_are_for_who_has_no_network() {
        for permits in 1..4 {
            let semaphore = FairSemaphore::new(permits, 0);
            assert!(semaphore.has_room(network(1)) && semaphore.try_acquire(network(1)).is_some());
            let all = take_all(&semaphore, None);
            assert_eq!(all.len(), permits);
            assert!(!semaphore.has_room(network(1)) && semaphore.try_acquire(network(1)).is_none());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn several_permits_are_given_at_once_or_one_after_the_other() {
        let semaphore = FairSemaphore::new(256, 8);
        let take = |last, number| {
            let semaphore = semaphore.clone();
            async move { semaphore.acquire_many(network(last), number, LONG).await }
        };
        let first = [take(1, 60).await.unwrap(), take(1, 60).await.unwrap(), take(1, 72).await.unwrap()];
        assert_eq!((semaphore.held(), semaphore.has_room(network(1))), (192, false));
        // Who asks for more than ever could be given gets half; here, that is not free.
        let large = tokio::spawn(take(2, 1000));
        tokio::task::yield_now().await;
        let mut small = take(3, 1).await.unwrap();
        assert!((0..10).all(|_| small.grow(1)));
        assert_eq!((semaphore.held(), semaphore.waiting()), (203, 1));
        drop(first);
        assert_eq!(large.await.unwrap().map(|permit| permit.number), Ok(128));
        drop(small);
        assert_eq!(semaphore.held(), 0);
        assert!(semaphore.0.state.lock().held.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn networks_that_wait_take_turns() {
        let semaphore = FairSemaphore::new(1, 100);
        let held = semaphore.try_acquire(network(1)).unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for last in [1, 1, 1, 1, 2, 2, 3] {
            let (semaphore, order) = (semaphore.clone(), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let permit = semaphore.acquire(network(last), LONG).await.unwrap();
                order.lock().push(last);
                tokio::task::yield_now().await;
                drop(permit);
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!(semaphore.waiting(), 7);
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock(), [1, 2, 3, 1, 2, 1, 1]);
        assert_eq!((semaphore.waiting(), semaphore.held()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_divided_and_left_by_those_who_give_up() {
        let semaphore = FairSemaphore::new(4, 8);
        let held = take_all(&semaphore, None);
        let wait = |last| {
            let semaphore = semaphore.clone();
            async move { semaphore.acquire(network(last), Duration::from_secs(5)).await.err() }
        };
        let waiting: Vec<_> = (0..6).map(|_| tokio::spawn(wait(1))).collect();
        tokio::task::yield_now().await;
        assert_eq!(wait(1).await, Some(Refusal::Full));
        let newcomer = tokio::spawn(wait(2));
        tokio::task::yield_now().await;
        assert_eq!(semaphore.waiting(), 7);
        for task in waiting {
            assert_eq!(task.await.unwrap(), Some(Refusal::Late));
        }
        newcomer.await.unwrap();
        let state = semaphore.0.state.lock();
        assert!(state.waiting == 0 && state.queues.is_empty() && state.turns.is_empty());
        drop(state);
        drop(held);
        assert_eq!(semaphore.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_for_a_caller_that_has_gone_is_for_the_next() {
        let semaphore = FairSemaphore::new(1, 8);
        let held = semaphore.try_acquire(None).unwrap();
        let mut gone = Box::pin(semaphore.acquire(network(1), LONG));
        assert!(tokio::time::timeout(Duration::ZERO, &mut gone).await.is_err());
        let next = tokio::spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire(network(2), LONG).await.map(|permit| permit.holder()) }
        });
        tokio::task::yield_now().await;
        drop(held);
        drop(gone);
        assert_eq!(next.await.unwrap(), Ok(network(2)));
        semaphore.unused().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_semaphore_refuses_everybody() {
        let semaphore = FairSemaphore::new(1, 8);
        let held = semaphore.try_acquire(None).unwrap();
        let waiting = tokio::spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire(network(1), LONG).await.err() }
        });
        tokio::task::yield_now().await;
        semaphore.close();
        assert_eq!(waiting.await.unwrap(), Some(Refusal::Closed));
        drop(held);
        assert_eq!(semaphore.acquire(None, LONG).await.err(), Some(Refusal::Closed));
        assert!(semaphore.is_closed() && semaphore.try_acquire(None).is_none());
    }
}
