//! `weir put`: publish files.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use indicatif::ProgressBar;
use serde::Serialize;
use weir_app::publish::{
    Certificates, Notice, PublishCounters, PublishOptions, Published, Publisher, Signing, Source,
};
use weir_app::{App, Event};
use weir_core::units::{Bytes, Span, Time};
use weir_keychain::{Algorithm, Key, KeyChain, Moment};
use weir_management::client::Endpoint;
use weir_net::clock::wall_ms;
use weir_packet::{Component, Name};

use crate::app::{Connection, LOOK_AROUND, Stop};
use crate::manage::count;
use crate::{Failure, terminal};

/// Publish a file, the files of a folder, or standard input
///
/// The command runs until Ctrl-C. It registers its prefix again after the forwarder restarts. Files are read on
/// demand. The version of a file is the time of its last change. So an unchanged file that is published again has the
/// same version, and interrupted fetches can resume.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the object; for a folder, the prefix of its files, whose names continue with the components of their
    /// paths
    name: Name,
    /// The file or folder; without it, or with -, standard input, which is read to its end before anything is served
    path: Option<PathBuf>,
    /// Content of a segment, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 8000)]
    segment_size: usize,
    /// The version; by default the time of a file's last change, or for standard input the current time, in µs since
    /// 1970
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Also serve hidden files of a folder: those whose path contains a name that begins with a dot
    #[arg(long)]
    hidden: bool,
    /// Serve a file when it has not changed for this time; by default 2s in a folder, and 20ms otherwise
    #[arg(long, value_name = "TIME")]
    settle: Option<Span>,
    /// How long caches may consider segments fresh
    #[arg(long, value_name = "TIME", default_value = "10s")]
    freshness: Span,
    /// The type of signature: digest (the default without --key), hmac, ecdsa or ed25519
    #[arg(long, value_name = "TYPE")]
    sign: Option<Sign>,
    /// The key that signs: its name, or an identity; by default the default key, unless --sign is digest
    #[arg(long, value_name = "NAME")]
    key: Option<Name>,
    /// The folder with the keys; by default the folder in WEIR_KEYCHAIN, or else ~/.ndn/weir
    #[arg(long, value_name = "FOLDER")]
    keychain: Option<PathBuf>,
    /// Memory for signed packets, so that a repeated request does not sign them again
    #[arg(long, value_name = "SIZE", default_value = "32 MiB")]
    cache: Bytes,
    /// Print each event as a JSON object on its own line, and nothing else
    #[arg(long)]
    json: bool,
    /// Print only errors and warnings
    #[arg(long, short = 'q', conflicts_with = "json")]
    quiet: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Types of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sign {
    Digest,
    Hmac,
    Ecdsa,
    Ed25519,
}

impl Sign {
    /// The algorithm of the required key.
    fn algorithm(self) -> Option<Algorithm> {
        match self {
            Sign::Digest => None,
            Sign::Hmac => Some(Algorithm::Hmac),
            Sign::Ecdsa => Some(Algorithm::Ecdsa),
            Sign::Ed25519 => Some(Algorithm::Ed25519),
        }
    }
}

/// How long a file in a folder must be unmodified before it is served, because other programs write there with pauses.
/// Assumed: longer than the pauses of a download or a slow disk.
const FOLDER_SETTLES: Span = Span::from_secs(2);
/// Maximum number of lines waiting to be printed. Assumed: more than occur at once, unless the output is not read.
const MAX_LINES: usize = 1024;
/// Interval of progress lines.
const SAY_EVERY: Span = Span::from_secs(1);

/// Publishes until it is stopped.
pub fn put(args: &Args) -> Result<(), Failure> {
    if let Some(version) = args.name.view().last().and_then(|last| last.version()) {
        let object = args.name.view().parent();
        return Err(format!(
            "{}: NAME must not contain the version: wanted {object} --version {version}",
            args.name
        )
        .into());
    }
    let path = args.path.as_deref().filter(|path| *path != Path::new("-"));
    let source = path.map(|path| open(args, path)).transpose()?;
    if source.as_ref().is_some_and(Source::is_folder) && args.version.is_some() {
        return Err(
            "--version sets the version of one object; each file of a folder has its own version".into()
        );
    }
    if args.hidden && !source.as_ref().is_some_and(Source::is_folder) {
        return Err("--hidden applies only to folders: a single file is always served".into());
    }
    let (signing, certificates) = signing(args)?;
    let source = match source {
        Some(source) => source,
        None => {
            // Check first that there is a forwarder: reading the input may take hours. The connection is not kept,
            // because it would be idle.
            args.connection.open()?;
            standard_input()?
        }
    };
    let (endpoint, mut app) = (args.connection.endpoint()?, args.connection.open()?);
    let talk = Rc::new(Talk::new(args));
    if args.name.view().components().next().is_some_and(|first| first == Component::generic(b"localhost")) {
        talk.warn(&format!("{}: names under /localhost never leave this host", args.name));
    }
    if let Some(path) = path.filter(|path| source.is_folder() && !has_files(path, args.hidden)) {
        talk.warn(&format!("{}: the folder has no files to serve", path.display()));
    }
    if let Some(key) = signing.key() {
        warn_of_key(&talk, args, key, &certificates);
    }
    let options = PublishOptions {
        segment_size: args.segment_size,
        version: args.version,
        freshness: args.freshness,
        signing,
        cache: args.cache,
        settling: args.settle.unwrap_or(if source.is_folder() { FOLDER_SETTLES } else { Span::ZERO }),
        ..PublishOptions::default()
    };
    let told = Rc::clone(&talk);
    let publisher = Publisher::new(args.name.clone(), source, options, move |notice| told.notice(&notice))?;
    // Not earlier: while standard input is read, signals have their default effect.
    let stop = Stop::new()?;
    let published = app.publish(publisher)?;
    talk.registered(&args.name, &endpoint);
    app.publish_certificates(&certificates)?;
    for name in certificates.names() {
        talk.say(&Said::Certificate { name: name.to_string() }, || format!("{name}: certificate\n"));
    }
    serve(&mut app, &published, &talk, &endpoint, &stop)
}

/// Opens the content at a path. Refuses to serve private keys unintentionally.
fn open(args: &Args, path: &Path) -> Result<Source, Failure> {
    let source = Source::path(path)?;
    if source.is_folder()
        && let Some(keys) = served_keys(args, path)
    {
        let (path, keys) = (path.display(), keys.display());
        return Err(
            format!("{path}: the private keys in {keys} would be served: wanted another folder").into()
        );
    }
    Ok(if args.hidden { source.with_hidden() } else { source })
}

/// Returns whether a folder has files to serve. An unreadable folder may have some, and so may a link.
fn has_files(folder: &Path, hidden: bool) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    let served = entries.flatten().filter(|entry| hidden || !entry.file_name().as_bytes().starts_with(b"."));
    served.into_iter().any(|entry| match entry.file_type() {
        Ok(typ) if typ.is_dir() => has_files(&entry.path(), hidden),
        _ => true,
    })
}

/// The folder of the key chain, if `path` is inside it, or if the served part of `path` contains it.
fn served_keys(args: &Args, path: &Path) -> Option<PathBuf> {
    let keys = key_chain(args).ok()?.folder().canonicalize().ok()?;
    let path = path.canonicalize().ok()?;
    let is_served = match keys.strip_prefix(&path) {
        Ok(within) => args.hidden || !within.iter().any(|name| name.as_bytes().starts_with(b".")),
        Err(_) => path.starts_with(&keys),
    };
    is_served.then_some(keys)
}

fn key_chain(args: &Args) -> Result<KeyChain, Failure> {
    Ok(match &args.keychain {
        Some(folder) => KeyChain::at(folder.clone()),
        None => KeyChain::of_user()?,
    })
}

/// Standard input: a file is published as it is, other input when it has ended.
fn standard_input() -> Result<Source, Failure> {
    let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let file = file.map_err(|error| format!("standard input: {error}"))?;
    Ok(Source::open_file(file)?)
}

/// The signing, and its certificates.
fn signing(args: &Args) -> Result<(Signing, Certificates), Failure> {
    let wanted = args.sign.map(Sign::algorithm);
    let wanted = match (wanted, &args.key) {
        (Some(None), Some(_)) => return Err("--sign digest uses no key: leave out --key or --sign".into()),
        (None | Some(None), None) => return Ok((Signing::Digest, Certificates::default())),
        (wanted, _) => wanted.flatten(),
    };
    let chain = key_chain(args)?;
    let key = chain.key(args.key.as_ref().map(Name::view))?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != key.algorithm()) {
        let (name, own) = (key.name(), key.algorithm());
        return Err(format!(
            "{name} is a key for {own}, not for {wanted}: give --key with another key, or --sign {own}"
        )
        .into());
    }
    let certificates = Certificates::of(key.name(), &chain, now())?;
    let signing = match certificates.best() {
        Some(certificate) => Signing::Certified(key, certificate.name().to_name()),
        None => Signing::Key(key),
    };
    Ok((signing, certificates))
}

fn now() -> Moment {
    Moment::from_unix_ms(wall_ms())
}

/// Warns of a key that consumers will not trust.
fn warn_of_key(talk: &Talk, args: &Args, key: &Key, certificates: &Certificates) {
    let identity = key.name().identity();
    if !args.name.view().starts_with(identity) {
        talk.warn(&format!(
            "{} is not under {identity}, whose key signs: consumers that trust {identity} may reject it",
            args.name
        ));
    }
    match certificates.best() {
        Some(certificate) if !certificate.validity().contains(now()) => {
            let (name, validity) = (certificate.name(), certificate.validity());
            let (from, until) = (validity.not_before, validity.not_after);
            talk.warn(&format!(
                "{name} is valid from {from} until {until}, not now: consumers cannot verify with it"
            ));
        }
        None if key.algorithm() != Algorithm::Hmac => {
            talk.warn(&format!(
                "there is no certificate of {}: consumers cannot verify without one",
                key.name()
            ));
        }
        _ => {}
    }
}

/// Serves until it is stopped.
fn serve(
    app: &mut App,
    published: &Published,
    talk: &Talk,
    endpoint: &Endpoint,
    stop: &Stop,
) -> Result<(), Failure> {
    let begun = app.now();
    let mut last = (begun, published.counters());
    while !stop.is_asked() {
        let until = app.now() + LOOK_AROUND;
        app.run(until, &mut |_, event| {
            talk.event(&event, endpoint);
            ControlFlow::Continue(())
        })?;
        let (now, counters) = (app.now(), published.counters());
        if now.since(last.0) >= SAY_EVERY {
            talk.progress(last.1, counters, now.since(last.0));
            last = (now, counters);
        }
    }
    talk.summary(published.counters(), app.now(), begun);
    Ok(())
}

/// Events in JSON.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Said {
    Serving { name: String, bytes: u64, segments: u64 },
    Registered { prefix: String, forwarder: String },
    Certificate { name: String },
    Connected,
    Warning { text: String },
    Progress { interests: u64, data: u64, bytes: u64, signed: u64, rate_bps: f64 },
    Summary { interests: u64, data: u64, bytes: u64, signed: u64, seconds: f64 },
}

/// A line for standard output or standard error.
enum Line {
    Out(String),
    Err(String),
    /// On a terminal this replaces the previous status.
    Status(String),
}

/// Prints messages in a separate thread, so that a blocked output does not block the publisher.
struct Talk {
    json: bool,
    quiet: bool,
    lines: Option<SyncSender<Line>>,
    printer: Option<JoinHandle<()>>,
}

impl Drop for Talk {
    /// All messages are printed before the command ends.
    fn drop(&mut self) {
        drop(self.lines.take());
        self.printer.take().map(JoinHandle::join);
    }
}

/// Prints lines until the channel is closed. Only this thread uses the bar: it is locked while a line is printed, which
/// takes as long as the reader of the output wants.
fn print(lines: &Receiver<Line>, status: &ProgressBar) {
    for line in lines {
        match line {
            // If the output is closed, serving continues.
            Line::Out(text) => status.suspend(|| drop(terminal::print(&text))),
            Line::Err(text) => status.suspend(|| note!("{text}")),
            Line::Status(text) => status.set_message(text),
        }
    }
    status.finish_and_clear();
}

impl Talk {
    fn new(args: &Args) -> Talk {
        let status = if args.json || args.quiet {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(None, terminal::progress()).with_style(terminal::style("{msg}"))
        };
        let (lines, to_print) = sync_channel(MAX_LINES);
        let printer = Some(thread::spawn(move || print(&to_print, &status)));
        Talk { json: args.json, quiet: args.quiet, lines: Some(lines), printer }
    }

    /// Queues a line. If too many wait, the output is not read, and the line is dropped.
    fn line(&self, line: Line) {
        if let Some(lines) = &self.lines {
            let _ = lines.try_send(line);
        }
    }

    /// Prints an event on standard output.
    fn say(&self, said: &Said, text: impl FnOnce() -> String) {
        if self.quiet {
            return;
        }
        let text = if self.json {
            serde_json::to_string(said).map(|line| line + "\n").unwrap_or_default()
        } else {
            text()
        };
        self.line(Line::Out(text));
    }

    /// Prints a warning as text on standard error.
    fn warn(&self, text: &str) {
        if self.json {
            self.say(&Said::Warning { text: text.to_owned() }, String::new);
        } else {
            self.line(Line::Err(format!("warning: {text}")));
        }
    }

    fn registered(&self, prefix: &Name, endpoint: &Endpoint) {
        let said = Said::Registered { prefix: prefix.to_string(), forwarder: endpoint.to_string() };
        self.say(&said, || format!("{prefix} is registered at {endpoint}; Ctrl-C ends it.\n"));
    }

    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Serving { name, content, segments } => {
                let bytes = content.as_u64();
                let said = Said::Serving { name: name.to_string(), bytes, segments: *segments };
                self.say(&said, || {
                    format!("{name}: {} bytes, segments: {}\n", count(bytes), count(*segments))
                });
            }
            Notice::Changed(name) => {
                self.warn(&format!("{name}: the file has changed; this version is no longer served"));
            }
            Notice::SameVersion(name) => self.warn(&format!(
                "{name}: the file has changed, but its version has not, so it is not served: restart without --version or with another, or touch the file"
            )),
            Notice::BeingWritten(name) => {
                self.warn(&format!("{name}: the file is being written; it is served when the writing has ended"));
            }
            Notice::Unreadable(name, error) => self.warn(&format!("{name}: the file cannot be read: {error}")),
            Notice::TooLarge(name, error) => self.warn(&format!("{name} is not served: {error}")),
        }
    }

    fn event(&self, event: &Event<'_>, endpoint: &Endpoint) {
        match event {
            Event::Disconnected(error) => {
                self.warn(&format!("the forwarder at {endpoint} is gone ({error}); waiting for it"));
            }
            Event::Connected => self.say(&Said::Connected, || format!("{endpoint} is back.\n")),
            Event::Registered { prefix, outcome: Ok(()) } => self.registered(prefix, endpoint),
            Event::Registered { prefix, outcome: Err(error) } => {
                self.warn(&format!("{prefix} is not registered: {error}; trying again"));
            }
            Event::Segment { .. } | Event::Nack { .. } | Event::Reply { .. } => {}
        }
    }

    /// Prints what was done since the last time, if anything was.
    fn progress(&self, before: PublishCounters, now: PublishCounters, span: Span) {
        let rate_bps = 8.0 * (now.bytes - before.bytes) as f64 / (span.as_nanos() as f64 / 1e9);
        let text = format!("{} Interests answered, {:.1} Mb/s", count(now.data), rate_bps / 1e6);
        self.line(Line::Status(text));
        if self.json && now != before {
            let PublishCounters { interests, data, bytes, signed } = now;
            self.say(&Said::Progress { interests, data, bytes, signed, rate_bps }, String::new);
        }
    }

    fn summary(&self, counters: PublishCounters, now: Time, begun: Time) {
        let PublishCounters { interests, data, bytes, signed } = counters;
        let seconds = now.since(begun).as_nanos() as f64 / 1e9;
        self.say(&Said::Summary { interests, data, bytes, signed, seconds }, || {
            format!(
                "Answered {} of {} Interests in {seconds:.1} s, with {} bytes; signed {} packets.\n",
                count(data),
                count(interests),
                count(bytes),
                count(signed)
            )
        });
    }
}
