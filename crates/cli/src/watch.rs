//! `--watch`: a page in the browser that shows a run while it goes on.
//!
//! A server on the loopback interface has the page at `/` and its data at `/data.json`, for which the page asks each
//! second. The run makes a report so far only if the page has asked since the last one, and spends at most a tenth of
//! its time on them.

use std::io::Cursor;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tiny_http::{Header, Request, Response, Server};
use weir_core::units::Span;
use weir_lab::isolation::listener;
use weir_measure::Report;
use weir_results::{Progress, live_data, live_html};
use weir_study::{ProcessorTime, Stopwatch, Viewer};

use crate::{Failure, terminal};

/// The option `--watch`.
#[derive(Debug, clap::Args)]
pub struct WatchOption {
    /// Show the run in the browser while it goes on. The page is served on the loopback interface only, at this port, or
    /// at a free one
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    watch: Option<u16>,
}

impl WatchOption {
    /// Listens, if it is wanted, prints the page's address, and opens it if there is a desktop. Until the page is served, a
    /// browser waits. A process of the lab gets the socket of the command outside.
    ///
    /// # Errors
    /// Returns an error if the port is in use.
    pub fn listen(&self) -> Result<Option<TcpListener>, Failure> {
        let open = |port: u16| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            let page = format!("http://{}/", listener.local_addr()?);
            eprintln!("watch the run at {page}");
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
const LEAST: Duration = Duration::from_millis(300);
/// The part of a run's time that reports may take.
const SHARE: f64 = 0.1;
/// A page that has asked within this time is open.
const OPEN: Duration = Duration::from_secs(3);
/// Longest time for a browser to start and ask for the page.
const START: Duration = Duration::from_secs(10);

/// The page of a run that goes on.
#[derive(Debug)]
pub struct LivePage {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The path of the report that will be there at the end.
    report: Option<String>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    shown: Option<Arc<(Report, Progress)>>,
    /// Whether the page has asked since this report.
    is_asked: bool,
    asked_at: Option<Stopwatch>,
    /// When the last report was begun.
    begun: Option<Stopwatch>,
    /// The processor time since then, while it is being made.
    making: Option<ProcessorTime>,
    /// The processor time that it took, s.
    took_s: f64,
    /// Whether a page has the last report of the run.
    is_complete: bool,
}

impl LivePage {
    /// Serves the page. `report` is the path of the report at the end.
    ///
    /// # Errors
    /// Returns an error if the server cannot be started.
    pub fn serve(listener: TcpListener, report: Option<String>) -> Result<LivePage, Failure> {
        let server = Server::from_listener(listener, None).map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared { report, state: Mutex::default(), changed: Condvar::new() });
        let of_server = Arc::clone(&shared);
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || server.incoming_requests().for_each(|request| of_server.answer(request)))?;
        Ok(LivePage { shared })
    }

    /// What shows a run on this page.
    pub fn viewer(&self) -> Arc<dyn Viewer> {
        Arc::clone(&self.shared) as Arc<dyn Viewer>
    }

    /// Shows the report of the run that has ended.
    pub fn end(&self, report: Report) {
        let (now_s, report_path) = (report.document.simulated_s, self.shared.report.clone());
        self.shared.set(report, Progress { now_s, until_s: now_s, is_over: true, report: report_path });
    }

    /// Waits until an open page has this report.
    pub fn close(self) {
        let begun = Stopwatch::start();
        let mut state = self.shared.state();
        loop {
            let is_awaited = match state.asked_at {
                Some(at) => at.elapsed() < OPEN,
                None => has_browser() && begun.elapsed() < START,
            };
            if state.is_complete || !is_awaited {
                return;
            }
            state = self.shared.wait(state, LEAST);
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

    fn set(&self, report: Report, progress: Progress) {
        let mut state = self.state();
        state.shown = Some(Arc::new((report, progress)));
        state.is_asked = false;
        state.took_s = state.making.take().map_or(0.0, ProcessorTime::elapsed_s);
        self.changed.notify_all();
    }

    /// The present report, after the first one is there; none if the run takes long to begin.
    fn shown(&self) -> Option<Arc<(Report, Progress)>> {
        let mut state = self.state();
        (state.is_asked, state.asked_at) = (true, Some(Stopwatch::start()));
        let begun = Stopwatch::start();
        while state.shown.is_none() && begun.elapsed() < START {
            state = self.wait(state, LEAST);
        }
        state.shown.clone()
    }

    fn answer(&self, request: Request) {
        let (response, is_last) = self.response(&request);
        // A client that has gone gets nothing.
        let is_sent = request.respond(response).is_ok();
        if is_sent && is_last {
            self.state().is_complete = true;
            self.changed.notify_all();
        }
    }

    /// The response, and whether it has the last report of the run.
    fn response(&self, request: &Request) -> (Response<Cursor<Vec<u8>>>, bool) {
        // Another page cannot read this one under a name of its own.
        if !is_local(request) {
            return (plain(403, "this page is for this machine: use http://localhost"), false);
        }
        let path = request.url().split('?').next().unwrap_or_default();
        let (render, kind): (fn(&Report, &Progress) -> String, _) = match path {
            "/" => (live_html, "text/html; charset=utf-8"),
            "/data.json" => (live_data, "application/json"),
            _ => return (plain(404, "the page is at /"), false),
        };
        let Some(shown) = self.shown() else {
            return (plain(503, "the run has not begun").with_header(header("Refresh", "1")), false);
        };
        let (report, progress) = &*shown;
        let headers = [header("Content-Type", kind), header("Cache-Control", "no-store")];
        let response = Response::from_data(render(report, progress));
        (headers.into_iter().fold(response, Response::with_header), progress.is_over)
    }
}

impl Viewer for Shared {
    fn wants(&self) -> bool {
        let mut state = self.state();
        let is_due = |begun: Stopwatch| begun.elapsed() >= LEAST && begun.elapsed_s() * SHARE >= state.took_s;
        let wants = state.is_asked && state.making.is_none() && state.begun.is_none_or(is_due);
        if wants {
            (state.begun, state.making) = (Some(Stopwatch::start()), Some(ProcessorTime::now()));
        }
        wants
    }

    fn show(&self, report: Report, until: Span) {
        let (now_s, until_s) = (report.document.simulated_s, until.as_secs_f64());
        self.set(report, Progress { now_s, until_s, is_over: false, report: self.report.clone() });
    }
}

/// Whether a request names this machine, at any port: it may have been forwarded.
fn is_local(request: &Request) -> bool {
    let host = request.headers().iter().find(|header| header.field.equiv("Host"));
    host.is_some_and(|host| {
        let name = host.value.as_str().rsplit_once(':').map_or(host.value.as_str(), |(name, _)| name);
        ["localhost", "127.0.0.1"].contains(&name)
    })
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("a header of the program is ASCII")
}

fn plain(code: u16, text: &str) -> Response<Cursor<Vec<u8>>> {
    Response::from_string(format!("{text}\n")).with_status_code(code)
}

/// Whether somebody sits at a desktop, where a page can be opened.
fn has_browser() -> bool {
    let is_there = |name: &&str| std::env::var_os(name).is_some();
    terminal::has_progress()
        && (cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(is_there))
}

/// The command that opens a page in the desktop's browser.
fn browser(page: &str) -> Command {
    let mut command = Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
