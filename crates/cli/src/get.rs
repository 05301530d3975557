//! `weir get`: fetches an object.

use core::ops::ControlFlow;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressDrawTarget};
use serde::Serialize;
use weir_app::get::{Fetcher, Get, GetError, Progress, Report, Status};
use weir_core::consumer::ConsumerCounters;
use weir_core::seam::params::Value;
use weir_core::seam::{Gauge, Scheme};
use weir_core::units::{Bytes, Span};
use weir_keychain::form::{self, Item};
use weir_keychain::{Algorithm, Certificate, Key, KeyChain, KeyName, Trust};
use weir_measure::DelayMs;
use weir_measure::to_json;
use weir_packet::{Name, ServiceClass, SignatureType};
use weir_schemes::SchemeError;

use crate::app::{Connection, Hint, Stop};
use crate::{Failure, terminal};

/// Exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;
/// Maximum size of a file with a key or a certificate, bytes.
const MAX_FILE: u64 = 1 << 20;

/// Fetch an object: a file that is published under a name
///
/// The content goes to standard output, in order, or with -o to a file. If the name has no version, the newest version
/// is fetched. Each segment is verified before its content is written. By default only its digest is checked: this
/// detects damage, but does not prove who made it. With --key or --anchor a signature is required.
///
/// With -o the file appears only when it is complete. After an interruption (Ctrl-C, a full disk, a crash) the same
/// command resumes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name
    name: Name,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The congestion control: one of the schemes that `weir list` shows
    #[arg(long, value_name = "NAME", default_value = weir_schemes::FETCHING)]
    scheme: String,
    /// A parameter of the scheme, such as bbr.initial_window=20; may be repeated
    #[arg(long, value_name = "SCHEME.KEY=VALUE")]
    param: Vec<String>,
    /// The service class of the Interests: CS7, CS6, EF, AF4 to AF1 or BE
    #[arg(long, value_name = "CLASS", default_value = "BE")]
    class: ServiceClass,
    /// The Interest lifetime: how long forwarders keep an Interest pending
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = lifetime)]
    lifetime: Span,
    /// Accept only Data signed by this key: a file with a key or a certificate, or the name of one in the key chain
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "anchor")]
    key: Option<String>,
    /// Accept only Data signed by this certificate's key, or by a key that it certifies, directly or through other
    /// certificates, which are fetched: a file, or a name in the key chain
    #[arg(long, value_name = "FILE|NAME")]
    anchor: Option<String>,
    /// The folder with the keys; by default the folder in WEIR_KEYCHAIN, or else ~/.ndn/weir
    #[arg(long, value_name = "FOLDER")]
    keychain: Option<PathBuf>,
    /// Do not look for a version: the segment numbers follow the name directly
    #[arg(long)]
    no_discovery: bool,
    /// Give up if metadata, a certificate or a segment is missing for this time; 0s: never
    #[arg(long, value_name = "TIME", default_value = "60s")]
    patience: Span,
    /// Memory for segments that arrive out of order
    #[arg(long, value_name = "SIZE", default_value = "256 MB", value_parser = memory)]
    memory: Bytes,
    #[command(flatten)]
    hint: Hint,
    #[command(flatten)]
    connection: Connection,
    /// Print statistics as JSON: on standard output with -o, otherwise on standard error
    #[arg(long)]
    json: bool,
}

fn lifetime(text: &str) -> Result<Span, String> {
    let lifetime: Span = text.parse().map_err(|error| format!("{error}"))?;
    if (Span::from_millis(1)..=Span::from_secs(3600)).contains(&lifetime) {
        return Ok(lifetime);
    }
    Err("a lifetime is between 1 ms and 1 h".to_owned())
}

fn memory(text: &str) -> Result<Bytes, String> {
    let memory: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if memory >= Bytes::new(1_000_000) { Ok(memory) } else { Err("wanted 1 MB or more".to_owned()) }
}

/// Runs the command.
pub fn get(args: &Args) -> Result<ExitCode, Failure> {
    let scheme = scheme(args)?;
    let trust = trust(args)?;
    let is_checked = trust.is_some();
    let hint = args.hint.delegations(&args.name)?;
    let mut app = args.connection.open()?;
    let get = Get {
        discovery: !args.no_discovery,
        hint,
        class: args.class,
        lifetime: args.lifetime,
        patience: Some(args.patience).filter(|patience| *patience > Span::ZERO),
        memory: args.memory,
        ..Get::new(args.name.clone())
    };
    let mut fetcher = Fetcher::new(&mut app, get, &*scheme);
    if let Some(trust) = trust {
        fetcher = fetcher.trusting(trust)?;
    }
    let mut display = Display::new(args, Stop::new()?);
    let outcome = match &args.output {
        Some(path) => fetcher.to_file(path, &mut |progress| display.each(&progress)),
        None => {
            let mut output = Output { out: io::stdout().lock(), last: None };
            let outcome = fetcher.to_writer(Path::new("standard output"), &mut output, &mut |progress| {
                display.each(&progress)
            });
            output.end_line();
            outcome
        }
    };
    display.bar.finish_and_clear();
    match outcome {
        Ok(report) => {
            display.end(&report, is_checked)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(GetError::File(_, error)) if args.output.is_none() && terminal::is_closed(&error) => {
            note!("standard output was closed before all content was written");
            Ok(ExitCode::from(terminal::CLOSED))
        }
        Err(GetError::Stopped) => {
            note!("interrupted{}", advice(args, &GetError::Stopped, display.is_anew));
            Ok(ExitCode::from(INTERRUPTED))
        }
        Err(error) => {
            let advice = advice(args, &error, display.is_anew);
            Err(format!("{error}{advice}").into())
        }
    }
}

/// Standard output, and the last bytes written to it.
struct Output {
    out: StdoutLock<'static>,
    last: Option<u8>,
}

impl Output {
    /// Ends the line on a terminal before a message follows.
    fn end_line(&mut self) {
        if self.out.is_terminal() && self.last.is_some_and(|last| last != b'\n') {
            let _ = self.write_all(b"\n").and_then(|()| self.flush());
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.last = bytes[..written].last().copied().or(self.last);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The advice about an incomplete file. `is_anew` means that the contents of its part belong to another command.
fn advice(args: &Args, error: &GetError, is_anew: bool) -> String {
    let part = args.output.as_ref().map(|path| format!("{}.part", path.display()));
    let Some(part) = part.filter(|part| Path::new(part).exists()) else { return String::new() };
    match error {
        GetError::Busy(_) | GetError::Foreign(..) => String::new(),
        GetError::Changed { .. } => format!("\n  remove {part} to start again"),
        GetError::Invalid { object, .. } => format!(
            "\n  if it was damaged in transit, a forwarder may still have it in its content store: run `weir cs erase {object}` there; {part} has the earlier segments, and the same command resumes from there"
        ),
        _ if is_anew => String::new(),
        _ => format!("\n  {part} has the segments so far: the same command resumes from there"),
    }
}

// ---- Trust and scheme

fn scheme(args: &Args) -> Result<Box<dyn Scheme>, Failure> {
    let entry = weir_schemes::known(&args.scheme).map_err(SchemeError::from)?;
    let given = args.param.iter().map(|param| parameter(entry.name, param)).collect::<Result<Vec<_>, _>>()?;
    let resolved = entry.resolve_for_application(given).map_err(|wrong| {
        let help = if wrong.meant.is_some() { format!("\n  = {}", wrong.help()) } else { String::new() };
        format!("--param {}.{}: {}{help}", wrong.scheme, wrong.key, wrong.message)
    })?;
    Ok(resolved.build())
}

/// Parses `--param` into a key and a value of the scheme.
fn parameter(scheme: &str, param: &str) -> Result<(String, Value), String> {
    let (key, value) = param
        .split_once('=')
        .ok_or_else(|| format!("--param {param}: wanted SCHEME.KEY=VALUE, such as {scheme}.KEY=VALUE"))?;
    let (of, key) = key.split_once('.').unwrap_or(("", key));
    if of != scheme {
        let meant = weir_schemes::find(of).map_or(String::new(), |_| format!(", or --scheme {of}"));
        return Err(format!("--param {param}: the scheme is {scheme}: wanted {scheme}.KEY=VALUE{meant}"));
    }
    Ok((key.to_owned(), Value::parse(value)))
}

fn trust(args: &Args) -> Result<Option<Trust>, Failure> {
    let chain = || match &args.keychain {
        Some(folder) => Ok(KeyChain::at(folder.clone())),
        None => KeyChain::of_user(),
    };
    if let Some(key) = &args.key {
        return Ok(Some(trust_in_key(key, chain)?));
    }
    let Some(anchor) = &args.anchor else { return Ok(None) };
    if let Some(bytes) = file(anchor)? {
        if holds_hmac(&bytes) {
            return Err(no_anchor(anchor));
        }
        let certificates = form::certificates(&bytes).map_err(|error| format!("{anchor}: {error}"))?;
        let count = certificates.len();
        let [certificate] = <[_; 1]>::try_from(certificates).map_err(|_| {
            format!("{anchor}: the file has {count} certificates: wanted one, whose key is trusted")
        })?;
        return Ok(Some(Trust::Anchor(certificate)));
    }
    let (name, chain) = (named(anchor)?, chain()?);
    match (chain.certificate(name.view()), chain.key(Some(name.view()))) {
        (Err(_), Ok(key)) if key.algorithm() == Algorithm::Hmac => Err(no_anchor(anchor)),
        (certificate, _) => Ok(Some(Trust::Anchor(certificate?))),
    }
}

fn no_anchor(key: &str) -> Failure {
    format!("{key}: an HMAC key has no certificate, so it cannot be an anchor: use --key {key}").into()
}

/// Returns whether a file contains only an HMAC key.
fn holds_hmac(bytes: &[u8]) -> bool {
    let items = form::read(bytes, placeholder().as_ref()).unwrap_or_default();
    let is_hmac = |item: &Item| matches!(item, Item::Key(key) if key.algorithm() == Algorithm::Hmac);
    !items.is_empty() && items.iter().all(is_hmac)
}

/// The name for a key whose file contains no name.
fn placeholder() -> Option<KeyName> {
    KeyName::of_key("/key/KEY/file".parse::<Name>().ok()?.view())
}

/// Trusts the key in a file or in the key chain.
fn trust_in_key<E>(key: &str, chain: impl Fn() -> Result<KeyChain, E>) -> Result<Trust, Failure>
where
    Failure: From<E>,
{
    if let Some(bytes) = file(key)? {
        let anybody = placeholder();
        let items = form::read(&bytes, anybody.as_ref()).map_err(|error| format!("{key}: {error}"))?;
        let item = items.into_iter().next().ok_or_else(|| format!("{key}: the file has no key"))?;
        return match item {
            Item::Certificate(certificate) => of_certificate(&certificate),
            Item::Key(key) if Some(key.name()) == anybody.as_ref() => Ok(Trust::Key(key.verifier()?)),
            Item::Key(key) => of_key(&key),
            Item::SafeBag(_) => Err(format!(
                "{key}: the key is encrypted: give the certificate, or import the key with `weir key import`"
            )
            .into()),
        };
    }
    let (name, chain) = (named(key)?, chain()?);
    match chain.certificate(name.view()) {
        Ok(certificate) => of_certificate(&certificate),
        // HMAC keys have no certificates.
        Err(_) => of_key(&chain.key(Some(name.view()))?),
    }
}

fn of_certificate(certificate: &Certificate) -> Result<Trust, Failure> {
    Ok(Trust::NamedKey(certificate.key_name().clone(), certificate.verifier()?))
}

fn of_key(key: &Key) -> Result<Trust, Failure> {
    Ok(Trust::NamedKey(key.name().clone(), key.verifier()?))
}

/// The content of the file at this path; `None` if there is no file.
fn file(path: &str) -> Result<Option<Vec<u8>>, Failure> {
    match fs::metadata(path) {
        Ok(found) if found.len() > MAX_FILE => {
            Err(format!("{path}: too large for a key or a certificate").into())
        }
        Ok(_) => Ok(Some(fs::read(path).map_err(|error| format!("{path}: {error}"))?)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(format!("{path}: {error}").into()),
    }
}

fn named(text: &str) -> Result<Name, Failure> {
    let wrong = |_| format!("{text}: there is no such file and no key of this name");
    Ok(text.parse::<Name>().map_err(wrong)?)
}

// ---- Output

/// Shows progress on a terminal, messages, and the final statistics.
struct Display<'a> {
    args: &'a Args,
    bar: ProgressBar,
    stop: Stop,
    /// Bytes that were already in the file.
    had: u64,
    /// Whether a part was discarded and nothing has arrived since.
    is_anew: bool,
    /// Whether the forwarder is away and this was reported.
    is_away: bool,
    /// The scheme's last reported notice.
    noticed: Option<&'static str>,
}

impl<'a> Display<'a> {
    fn new(args: &'a Args, stop: Stop) -> Display<'a> {
        let target = if args.json { ProgressDrawTarget::hidden() } else { terminal::progress() };
        let bar =
            ProgressBar::with_draw_target(None, target).with_style(terminal::style("{spinner} {wide_msg}"));
        bar.set_message(format!("looking for {}", args.name));
        Display { args, bar, stop, had: 0, is_anew: false, is_away: false, noticed: None }
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| note!("{text}"));
    }

    fn each(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        match progress {
            Progress::Searching => self.bar.tick(),
            Progress::Discarded(why) => {
                self.is_anew = true;
                self.say(&format!("the partial file is not used: {why}; starting again"));
            }
            Progress::Refused(why) => self.say(&format!("{why}; asking again, past content stores")),
            Progress::Found { object, first, bytes } => {
                self.had = *bytes;
                // The terminal shows the content.
                if self.args.output.is_none() && io::stdout().is_terminal() {
                    self.bar.finish_and_clear();
                    self.bar.set_draw_target(ProgressDrawTarget::hidden());
                }
                if *first > 0 {
                    self.say(&format!("resuming {} at segment {first}, after {bytes} bytes", object.name));
                }
            }
            Progress::Content { .. } => {}
            Progress::Status(status) => {
                self.is_anew &= status.bytes == 0;
                self.tell_of_forwarder(status.is_connected);
                self.tell_notice(status.notice);
                self.show(status);
            }
        }
        if self.stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn tell_of_forwarder(&mut self, is_connected: bool) {
        if self.is_away == is_connected {
            self.is_away = !is_connected;
            self.say(if is_connected {
                "the forwarder is back"
            } else {
                "the forwarder is gone; waiting for it"
            });
        }
    }

    fn tell_notice(&mut self, notice: Option<&'static str>) {
        if let Some(notice) = notice.filter(|_| notice != self.noticed) {
            self.noticed = Some(notice);
            self.say(notice);
        }
    }

    fn show(&self, status: &Status<'_>) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_message(words(status, self.had));
        if let Some(last) = status.last {
            if self.bar.length().is_none() {
                self.bar.set_style(terminal::style("{bar:8} {percent:>3}% {wide_msg}"));
            }
            self.bar.set_length(last.saturating_add(1));
        }
        self.bar.set_position(status.next);
    }

    fn end(&self, report: &Report, is_checked: bool) -> Result<(), Failure> {
        let unchecked = report.signature.filter(|typ| !is_checked && *typ != SignatureType::DigestSha256);
        if let Some(typ) = unchecked {
            let how = "give --key or --anchor to require a signature";
            self.say(&format!("the signatures of {} ({typ:?}) were not checked: {how}", report.object));
        }
        if !self.args.json {
            if terminal::has_progress() {
                self.say(&summary(report));
            }
            return Ok(());
        }
        let text = to_json(&Statistics::of(self.args, report, self.had, is_checked));
        if self.args.output.is_some() {
            return terminal::print(&text);
        }
        Ok(io::stderr().write_all(text.as_bytes())?)
    }
}

/// The line of progress. A terminal cuts off its end if it is too long.
fn words(status: &Status<'_>, had: u64) -> String {
    let mut words = vec![bytes(had + status.bytes), format!("{:.1} Mb/s", status.rate.as_bps_f64() / 1e6)];
    if let Some(left) = left(status).filter(|left| *left >= 0.5) {
        words.push(format!("{left:.0} s left"));
    }
    match status.gauge {
        Some(Gauge::Window(window)) => words.push(format!("window {window:.0}")),
        Some(Gauge::Rate(rate)) => words.push(format!("pace {:.1} Mb/s", rate.as_bps_f64() / 1e6)),
        None => {}
    }
    if let Some(srtt) = status.srtt {
        words.push(format!("RTT {:.1} ms", srtt.as_millis_f64()));
    }
    let ConsumerCounters { timeouts, nacks, retransmitted, .. } = status.counters;
    let counts = [(timeouts, "lost"), (status.marks, "marks"), (nacks, "Nacks"), (retransmitted, "again")];
    words
        .extend(counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    words.join(", ")
}

/// Estimated remaining time at the present rate, s.
fn left(status: &Status<'_>) -> Option<f64> {
    let segments = status.next.checked_sub(status.first).filter(|segments| *segments > 0)?;
    let content = status.bytes as f64 / segments as f64;
    let left = status.last?.saturating_add(1).saturating_sub(status.next) as f64 * content;
    let rate = status.rate.as_bps_f64() / 8.0;
    (rate > 0.0).then_some(left / rate)
}

fn bytes(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

fn summary(report: &Report) -> String {
    format!(
        "{} of {} in {:.2} s, {:.1} Mb/s",
        bytes(report.bytes),
        report.object,
        report.elapsed.as_secs_f64(),
        goodput(report) / 1e6
    )
}

/// Goodput, bit/s.
fn goodput(report: &Report) -> f64 {
    let seconds = report.elapsed.as_secs_f64();
    if seconds > 0.0 { 8.0 * report.bytes as f64 / seconds } else { 0.0 }
}

/// The statistics as JSON. Names are those of the simulator's flows if they mean the same.
#[derive(Debug, Serialize)]
struct Statistics {
    /// The requested name.
    name: String,
    /// The object: the name with its version.
    object: String,
    class: String,
    scheme: String,
    /// `key` or `anchor`: every segment was verified with it; `digest`: every segment had a valid digest; `none`: some
    /// segments had unchecked signatures, or none. It includes the bytes that were already in the file.
    verified: &'static str,
    /// Number of fetched bytes of content, and of fetched segments.
    delivered_bytes: u64,
    segments: u64,
    /// Bytes that were already in the file.
    resumed_bytes: u64,
    goodput_bps: f64,
    completion_s: f64,
    delay_ms: DelayMs,
    srtt_ms: Option<f64>,
    sent: u64,
    retransmitted: u64,
    timeouts: u64,
    nacks: u64,
    duplicates: u64,
    /// Data with a congestion mark.
    marks: u64,
}

impl Statistics {
    fn of(args: &Args, report: &Report, had: u64, is_checked: bool) -> Statistics {
        let verified = match report.signature {
            _ if is_checked && args.key.is_some() => "key",
            _ if is_checked => "anchor",
            Some(SignatureType::DigestSha256) => "digest",
            Some(_) | None => "none",
        };
        let counters = report.counters;
        Statistics {
            name: args.name.to_string(),
            object: report.object.to_string(),
            class: args.class.to_string(),
            scheme: args.scheme.clone(),
            verified,
            delivered_bytes: report.bytes,
            segments: report.next - report.first,
            resumed_bytes: had,
            goodput_bps: goodput(report),
            completion_s: report.elapsed.as_secs_f64(),
            delay_ms: delays(report),
            srtt_ms: report.srtt.map(Span::as_millis_f64),
            sent: counters.sent,
            retransmitted: counters.retransmitted,
            timeouts: counters.timeouts,
            nacks: counters.nacks,
            duplicates: counters.duplicates,
            marks: report.marks,
        }
    }
}

fn delays(report: &Report) -> DelayMs {
    let Some(delays) = report.delays_us.as_ref().filter(|delays| !delays.is_empty()) else {
        return DelayMs::default();
    };
    let at = |quantile| Some(delays.value_at_quantile(quantile) as f64 / 1e3);
    DelayMs { mean: Some(delays.mean() / 1e3), p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_is_said_in_bytes() {
        let said = [0, 1, 6, 999, 1_000, 1_500_000].map(bytes);
        assert_eq!(said, ["0 bytes", "1 byte", "6 bytes", "999 bytes", "1.0 kB", "1.5 MB"]);
    }
}
