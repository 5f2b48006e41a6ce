//! The machines that clients run on: clocks that are wrong or jump, and a process that can stand
//! still or die at any moment.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use opm_cluster::SimulatedMachine;
use opm_engine::ports::{Instant, Timestamp};
use tokio::time::Sleep;

/// The server's time when a history begins, in seconds since 1970.
const EPOCH: u64 = 1_700_000_000;

/// The one time that really passes: all clocks are made from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorldTime(tokio::time::Instant);

impl WorldTime {
    pub(crate) fn begin() -> Self {
        Self(tokio::time::Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Since the beginning.
    pub(crate) fn millis(self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The server's wall clock.
    pub(crate) fn server_wall(self) -> Duration {
        Duration::from_secs(EPOCH) + self.elapsed()
    }
}

/// How wrong a machine's clocks are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MachineClock {
    /// By how many seconds the wall clock is wrong.
    pub(crate) error: i64,
    /// In thousandths of the right speed, both clocks.
    pub(crate) rate: u32,
}

impl MachineClock {
    /// As clocks should be.
    pub(crate) const RIGHT: Self = Self {
        error: 0,
        rate: 1_000,
    };
}

/// One machine, with the process of one client on it.
pub(crate) struct Machine {
    time: WorldTime,
    /// In seconds.
    clock_error: AtomicI64,
    /// In thousandths of the right speed.
    clock_rate: u32,
    rng: Mutex<fastrand::Rng>,
    dead: AtomicBool,
    /// Until when the process stands still, in milliseconds of the world.
    paused_until: AtomicU64,
    waker: Mutex<Option<Waker>>,
}

impl Machine {
    pub(crate) fn new(time: WorldTime, clock: MachineClock, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            time,
            clock_error: AtomicI64::new(clock.error),
            clock_rate: clock.rate,
            rng: Mutex::new(fastrand::Rng::with_seed(seed)),
            dead: AtomicBool::new(false),
            paused_until: AtomicU64::new(0),
            waker: Mutex::default(),
        })
    }

    pub(crate) fn jump(&self, seconds: i64) {
        self.clock_error.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.rng.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The process dies now: nothing of it runs any more.
    pub(crate) fn die(&self) {
        self.dead.store(true, Ordering::Relaxed);
        self.wake();
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// The process stands still for a while.
    pub(crate) fn pause(&self, duration: Duration) {
        let until = self.time.elapsed() + duration;
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.paused_until.fetch_max(until, Ordering::Relaxed);
    }

    /// The next process on this machine.
    pub(crate) fn restart(&self) {
        self.dead.store(false, Ordering::Relaxed);
        self.paused_until.store(0, Ordering::Relaxed);
    }

    fn paused_for(&self) -> Duration {
        let until = Duration::from_millis(self.paused_until.load(Ordering::Relaxed));
        until.saturating_sub(self.time.elapsed())
    }

    fn wake(&self) {
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = &*waker {
            waker.wake_by_ref();
        }
    }
}

impl SimulatedMachine for Machine {
    fn now(&self) -> (Instant, Timestamp) {
        let elapsed = self.time.elapsed() * self.clock_rate / 1_000;
        let wall = Duration::from_secs(EPOCH) + elapsed;
        let error = self.clock_error.load(Ordering::Relaxed);
        let shift = Duration::from_secs(error.unsigned_abs());
        let wall = match error {
            0.. => wall + shift,
            _ => wall.saturating_sub(shift),
        };
        (Instant(elapsed), Timestamp(wall))
    }

    fn random(&self) -> f64 {
        self.draw(fastrand::Rng::f64)
    }
}

/// A process: a future that runs unless its machine says that it is dead or stands still.
pub(crate) struct Process<F> {
    machine: Arc<Machine>,
    work: Option<Pin<Box<F>>>,
    resume: Option<Pin<Box<Sleep>>>,
    wakes: usize,
    dies_at: Option<usize>,
}

impl<F> Process<F> {
    pub(crate) fn new(machine: Arc<Machine>, dies_at: Option<usize>, work: F) -> Self {
        Self {
            machine,
            work: Some(Box::pin(work)),
            resume: None,
            wakes: 0,
            dies_at,
        }
    }
}

impl<F: Future> Future for Process<F> {
    /// None if it died.
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        *self
            .machine
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
        loop {
            let paused = self.machine.paused_for();
            if paused.is_zero() || self.machine.is_dead() {
                break;
            }
            let mut resume = Box::pin(tokio::time::sleep(paused));
            if resume.as_mut().poll(context).is_pending() {
                self.resume = Some(resume);
                return Poll::Pending;
            }
        }
        self.resume = None;
        self.wakes += 1;
        if self.dies_at == Some(self.wakes) {
            self.machine.die();
        }
        if self.machine.is_dead() {
            self.work = None;
            return Poll::Ready(None);
        }
        let Some(work) = &mut self.work else {
            return Poll::Ready(None);
        };
        let polled = work.as_mut().poll(context);
        if self.machine.is_dead() {
            self.work = None;
            return Poll::Ready(None);
        }
        polled.map(Some)
    }
}
