//! `--watch`: a page in the browser that shows a run while it goes on.
//!
//! A server on the loopback interface has the page at `/` and its data at `/data.json`. Each request for data names the
//! simulated time that the page shows, and is answered when there is a later report. The run makes a report only if one was
//! requested since the last one, and spends at most a tenth of its time on reports.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use weir_core::units::Span;
use weir_lab::isolation::listener;
use weir_measure::Report;
use weir_net::http::{Document, Refusal, Request, Target};
use weir_results::{RunProgress, live_data, live_html};
use weir_study::{ProcessorTime, Stopwatch, Viewer};

use crate::app::Stop;
use crate::{Failure, terminal};

/// The option `--watch`.
#[derive(Debug, clap::Args)]
pub struct WatchOption {
    /// Show the run in the browser while it goes on. Programs of this machine can read the page, at this port or at a free
    /// one. At the end the command waits until an open page has the last figures
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    watch: Option<u16>,
}

impl WatchOption {
    /// Whether the run is watched.
    pub fn is_wanted(&self) -> bool {
        self.watch.is_some()
    }

    /// Listens, if it is wanted, prints the page's address, and opens it if there is a desktop. Until the page is served, a
    /// browser waits. A process of the lab gets the socket of the command outside.
    ///
    /// # Errors
    /// Returns an error if the port is in use.
    pub fn listen(&self) -> Result<Option<TcpListener>, Failure> {
        let open = |port: u16| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            let page = format!("http://{}/", listener.local_addr()?);
            note!("watch the run at {page}");
            if has_browser() {
                // Otherwise the user opens it.
                let _ = browser(&page).spawn();
            }
            Ok(listener)
        };
        let listen = |port: u16| {
            listener(|| open(port)).map_err(|error| format!("--watch: port {port} cannot be opened: {error}"))
        };
        Ok(self.watch.map(listen).transpose()?)
    }
}

/// Least time between two reports.
const BETWEEN_REPORTS: Duration = Duration::from_secs(1);
/// The part of a run's time that reports may take.
const SHARE: f64 = 0.1;
/// Longest time for a browser to start and ask for the page.
const BROWSER_STARTS: Duration = Duration::from_secs(10);
/// A page that has an answer asks again within this time.
const ASKS_AGAIN: Duration = Duration::from_millis(500);
/// Longest time that a request waits for a report.
const HELD: Duration = Duration::from_secs(25);
/// Longest time for a client to send or to take some bytes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval of checks whether to wait on.
const CHECK: Duration = Duration::from_millis(100);
/// Largest number of connections.
const CONNECTIONS: usize = 16;
/// Bytes per read: a request is small.
const CHUNK: usize = 2048;

const HINT: &str = "the page of the run is at /";

/// The page of a run that goes on.
#[derive(Debug)]
pub struct LivePage(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    connections: AtomicUsize,
}

/// A report, and its texts once they are needed.
#[derive(Debug)]
struct Shown {
    report: Report,
    progress: RunProgress,
    page: OnceLock<String>,
    data: OnceLock<String>,
}

#[derive(Debug, Default)]
struct State {
    shown: Option<Arc<Shown>>,
    /// The path of the report that will be there at the end.
    report: Option<String>,
    /// Whether a report was requested since the last one.
    is_wanted: bool,
    /// Number of connections that have no answer yet.
    unanswered: usize,
    /// When the last document was sent.
    answered: Option<Stopwatch>,
    /// When the last report was begun.
    begun: Option<Stopwatch>,
    /// The processor time since then, while it is being made.
    making: Option<ProcessorTime>,
    /// The processor time that it took, s.
    took_s: f64,
}

impl LivePage {
    /// Serves the page. `report` is the path of the report that will be there at the end.
    ///
    /// # Errors
    /// Returns an error if no thread can be started.
    pub fn serve(listener: TcpListener, report: Option<String>) -> Result<LivePage, Failure> {
        let shared = Arc::new(Shared::default());
        shared.state().report = report;
        let of_server = Arc::clone(&shared);
        thread::Builder::new().name("watch".to_owned()).spawn(move || of_server.accept(&listener))?;
        Ok(LivePage(shared))
    }

    /// What shows a run on this page.
    pub fn viewer(&self) -> Arc<dyn Viewer> {
        Arc::clone(&self.0) as Arc<dyn Viewer>
    }

    /// Shows the report of the run that has ended. `until` is its planned end, and `is_written` whether the report is a
    /// file now.
    pub fn end(&self, report: Report, until: Span, is_written: bool) {
        let mut state = self.0.state();
        state.report = state.report.take().filter(|_| is_written);
        drop(state);
        self.0.set(report, until, true);
    }

    /// Waits until open pages have this report, or until the user stops it.
    pub fn close(self, stop: &Stop) {
        let begun = Stopwatch::start();
        let mut state = self.0.state();
        while !stop.is_asked() {
            let is_awaited = match state.answered {
                Some(at) => at.elapsed() < ASKS_AGAIN,
                None => has_browser() && begun.elapsed() < BROWSER_STARTS,
            };
            if state.unanswered == 0 && !is_awaited {
                return;
            }
            state = self.0.wait(state, CHECK);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    fn set(&self, report: Report, until: Span, is_over: bool) {
        let (now_s, until_s) = (report.document.simulated_s, until.as_secs_f64());
        let mut state = self.state();
        let progress = RunProgress { now_s, until_s, is_over, report: state.report.clone() };
        let (page, data) = Default::default();
        state.shown = Some(Arc::new(Shown { report, progress, page, data }));
        state.is_wanted = false;
        state.took_s = state.making.take().map_or(0.0, ProcessorTime::elapsed_s);
        self.changed.notify_all();
    }

    /// The report after the simulated time `after_s`, when it is there; the present one after a long time, or none.
    fn shown_after(&self, after_s: Option<f64>) -> Option<Arc<Shown>> {
        let begun = Stopwatch::start();
        let is_later = |shown: &Shown| {
            shown.progress.is_over || after_s.is_none_or(|after_s| shown.progress.now_s > after_s)
        };
        let mut state = self.state();
        state.is_wanted = true;
        while !state.shown.as_deref().is_some_and(is_later) && begun.elapsed() < HELD {
            state.is_wanted = true;
            state = self.wait(state, CHECK);
        }
        state.shown.clone()
    }

    /// Takes connections for ever.
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let Ok((stream, _)) = listener.accept() else {
                // The process has too many open files, for example.
                thread::park_timeout(PATIENCE);
                continue;
            };
            if self.connections.fetch_add(1, Ordering::AcqRel) < CONNECTIONS {
                let shared = Arc::clone(self);
                let serve = move || {
                    // A client that has gone gets nothing.
                    let _ = shared.answer(&stream).and_then(|()| drain(&stream));
                    shared.connections.fetch_sub(1, Ordering::AcqRel);
                };
                if thread::Builder::new().name("watch".to_owned()).spawn(serve).is_ok() {
                    continue;
                }
            }
            self.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Answers one request.
    fn answer(&self, stream: &TcpStream) -> io::Result<()> {
        self.state().unanswered += 1;
        let answered = self.exchange(stream);
        let mut state = self.state();
        state.unanswered -= 1;
        if let Ok(true) = answered {
            state.answered = Some(Stopwatch::start());
        }
        self.changed.notify_all();
        answered.map(drop)
    }

    /// Receives a request and sends the response. Returns whether it is a document.
    fn exchange(&self, mut stream: &TcpStream) -> io::Result<bool> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (mut request, mut chunk) = (Request::default(), [0; CHUNK]);
        let (begun, mut is_document) = (Stopwatch::start(), false);
        while begun.elapsed() < PATIENCE {
            let length = stream.read(&mut chunk)?;
            let document = |target: Target<'_>| {
                let document = self.document(target);
                is_document = document.is_ok();
                document
            };
            if let Some(response) = request.receive(&chunk[..length], HINT, document) {
                stream.write_all(&response)?;
                return stream.shutdown(Shutdown::Write).map(|()| is_document);
            }
            if length == 0 {
                break;
            }
        }
        Ok(false)
    }

    fn document(&self, target: Target<'_>) -> Result<Document, Refusal> {
        // A page of another site cannot read this one under a name of its own.
        let is_local =
            |host: &str| ["localhost", "127.0.0.1"].iter().any(|name| host.eq_ignore_ascii_case(name));
        if !target.host.is_some_and(is_local) {
            return Err(Refusal(403, "This page is for programs of this machine"));
        }
        let after_s = target.query.strip_prefix("after=").and_then(|after| after.parse().ok());
        let is_page = match target.path {
            "/" => true,
            "/data.json" => false,
            _ => return Err(Refusal::NOT_FOUND),
        };
        let none_yet = Refusal(503, "There is no report of the run yet");
        let shown = self.shown_after(after_s.filter(|_| !is_page)).ok_or(none_yet)?;
        let Shown { report, progress, page, data } = &*shown;
        Ok(if is_page {
            let body = page.get_or_init(|| live_html(report, progress)).clone();
            Document { content_type: "text/html; charset=utf-8", body }
        } else {
            let body = data.get_or_init(|| live_data(report, progress)).clone();
            Document { content_type: "application/json", body }
        })
    }
}

/// Reads until the client closes: closing with unread bytes would reset the connection before the answer is read.
fn drain(mut stream: &TcpStream) -> io::Result<()> {
    let (begun, mut chunk) = (Stopwatch::start(), [0; CHUNK]);
    while begun.elapsed() < PATIENCE && stream.read(&mut chunk)? > 0 {}
    Ok(())
}

impl Viewer for Shared {
    fn begin_report(&self) -> bool {
        let mut state = self.state();
        let is_due = |begun: Stopwatch| {
            begun.elapsed() >= BETWEEN_REPORTS && begun.elapsed_s() * SHARE >= state.took_s
        };
        let begins = state.is_wanted && state.making.is_none() && state.begun.is_none_or(is_due);
        if begins {
            (state.begun, state.making) = (Some(Stopwatch::start()), Some(ProcessorTime::now()));
        }
        begins
    }

    fn show(&self, report: Report, until: Span) {
        self.set(report, until, false);
    }
}

/// Whether somebody sits at a desktop, where a page can be opened.
fn has_browser() -> bool {
    let is_there = |name: &&str| std::env::var_os(name).is_some();
    terminal::has_progress()
        && (cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(is_there))
}

/// The command that opens a page in the desktop's browser. Signals of the terminal do not reach it.
fn browser(page: &str) -> Command {
    let mut command = Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0);
    command
}
