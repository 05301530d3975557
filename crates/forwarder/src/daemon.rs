//! The forwarder as a process: start, event loop, reload, stop.

mod reload;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mio::{Events, Interest, Poll, Registry, Token, Waker};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tracing::info;
use weir_core::units::Time;

use crate::config::Config;
use crate::engine::FIRST_TOKEN;
use crate::instance::{Instance, not_listening};
use crate::metrics::Server;
use weir_net::clock::Timer;
use weir_net::outside::{System, raise_descriptor_limit};
use weir_net::secrets::{Secrets, random_seed};
use weir_net::transport::cannot_listen;

pub use crate::instance::DaemonError;

const TIMER: Token = Token(0);
const SIGNALS: Token = Token(1);
/// Token of the resolver's answer.
const LOOKUP: Token = Token(2);
const METRICS: Token = Token(1 << 10);

/// The forwarder as a process: event loop, signals and metrics around an [`Instance`].
pub struct Daemon {
    poll: Poll,
    timer: Timer,
    instance: Instance,
    metrics: Option<Server>,
    /// The file of the configuration, for reloads.
    path: Option<PathBuf>,
    signals: Signals,
    /// A new configuration that waits for the addresses of its hosts.
    lookup: Option<reload::Lookup>,
    waker: Arc<Waker>,
}

impl Daemon {
    /// Opens the sockets of a configuration and makes its faces and routes.
    ///
    /// # Errors
    /// Returns the first part of the configuration that cannot be applied. Everything opened so far is closed again.
    pub fn start(config: Config, path: Option<PathBuf>) -> Result<Daemon, DaemonError> {
        raise_descriptor_limit();
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let signals = Signals::watch(poll.registry())?;
        let waker = Arc::new(Waker::new(poll.registry(), LOOKUP)?);
        let outside = Box::new(System::new(poll.registry().try_clone()?));
        let mut instance = Instance::new(config, outside, random_seed()?, Secrets::draw()?)?;
        instance.listen()?;
        let metrics = serve_metrics(instance.config(), poll.registry())?;
        instance.set_up()?;
        Ok(Daemon { poll, timer, instance, metrics, path, signals, lookup: None, waker })
    }

    /// Forwards until a signal stops it.
    ///
    /// # Errors
    /// Returns an error if the event loop fails.
    pub fn run(&mut self) -> Result<(), DaemonError> {
        self.run_while(None, &mut || true)
    }

    /// Forwards until a signal stops it, or until `go_on` returns `false`, which is called before each round of the event loop.
    /// A round waits no longer than `longest`, if given.
    ///
    /// # Errors
    /// Returns an error if the event loop fails.
    pub fn run_while(
        &mut self,
        longest: Option<Duration>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), DaemonError> {
        let mut events = Events::with_capacity(1024);
        while go_on() {
            match self.wait(&mut events, longest) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            self.instance.begin();
            let mut signals = false;
            for event in &events {
                match event.token() {
                    TIMER => {}
                    SIGNALS => signals = true,
                    LOOKUP => self.looked_up(),
                    token if token.0 >= METRICS.0 && token.0 < FIRST_TOKEN => self.scrape(token),
                    token => self.instance.ready(token),
                }
            }
            self.instance.go_on();
            let mut stops = false;
            while signals && let Some(signal) = self.signals.next() {
                match signal {
                    SIGHUP => self.reload(),
                    _ => stops = true,
                }
            }
            self.instance.settle();
            self.scrape_late();
            if stops {
                info!("stopping");
                break;
            }
        }
        self.instance.drain();
        Ok(())
    }

    /// Waits for events, until the next deadline, and no longer than `longest`.
    fn wait(&mut self, events: &mut Events, longest: Option<Duration>) -> io::Result<()> {
        let (now, due) = (self.instance.clock(), self.next_deadline());
        if self.timer.is_to_be_set(now, due) {
            self.poll.poll(events, Some(Duration::ZERO))?;
            if !events.is_empty() {
                return Ok(());
            }
        }
        let wait = self.timer.wait(now, due)?;
        let wait = longest.map_or(wait, |longest| Some(wait.map_or(longest, |wait| wait.min(longest))));
        self.poll.poll(events, wait)
    }

    fn next_deadline(&self) -> Time {
        let metrics = self.metrics.as_ref().map_or(Time::NEVER, Server::next_deadline);
        self.instance.next_deadline().min(metrics)
    }

    fn scrape(&mut self, token: Token) {
        let Some(server) = &mut self.metrics else { return };
        let engine = self.instance.engine();
        let taken =
            server.ready(self.poll.registry(), token, engine.now, &mut |document| engine.document(document));
        self.note_scraped(taken);
    }

    /// Runs the due work of the metrics server.
    fn scrape_late(&mut self) {
        let Some(server) = &mut self.metrics else { return };
        let taken = server.handle_deadline(self.poll.registry(), self.instance.engine().now);
        self.note_scraped(taken);
    }

    /// Counts the connections that the metrics server refused or closed for others.
    fn note_scraped(&mut self, taken: io::Result<()>) {
        let Some(server) = &mut self.metrics else { return };
        let (replaced, at) = (server.take_replaced(), server.address());
        if let Err(error) = taken {
            self.instance.note_refused(1, || format!("metrics at {at}: {error}"));
        }
        self.instance.note_refused(replaced, || format!("metrics at {at}: too many ask and do not read"));
    }

    /// Addresses of the UDP sockets, for callers that let the system choose the port.
    pub fn udp_addresses(&self) -> Vec<SocketAddr> {
        self.instance.engine().sockets.udp_addresses()
    }
}

impl core::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Daemon").field("instance", &self.instance).finish_non_exhaustive()
    }
}

/// Opens the socket of the metrics server, if the file configures one.
fn serve_metrics(config: &Config, registry: &Registry) -> Result<Option<Server>, DaemonError> {
    let Some(address) = config.metrics else { return Ok(None) };
    let mut server = Server::bind(address)
        .map_err(|error| not_listening(config, "metrics.listen", &cannot_listen(address, "TCP", &error)))?;
    server.register(registry, METRICS)?;
    Ok(Some(server))
}

/// Signals as bytes in a pipe, which the event loop watches.
struct Signals {
    pipes: Vec<(i32, UnixStream)>,
}

impl Signals {
    fn watch(registry: &mio::Registry) -> io::Result<Signals> {
        let mut pipes = Vec::new();
        for signal in [SIGHUP, SIGTERM, SIGINT] {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            signal_hook::low_level::pipe::register(signal, write)?;
            let fd = std::os::fd::AsRawFd::as_raw_fd(&read);
            registry.register(&mut mio::unix::SourceFd(&fd), SIGNALS, Interest::READABLE)?;
            pipes.push((signal, read));
        }
        Ok(Signals { pipes })
    }

    /// The next pending signal. Several signals of one kind count as one.
    fn next(&mut self) -> Option<i32> {
        let mut bytes = [0; 16];
        self.pipes.iter_mut().find_map(|(signal, pipe)| {
            io::Read::read(pipe, &mut bytes).is_ok_and(|n| n > 0).then_some(*signal)
        })
    }
}
