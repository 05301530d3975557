//! `weir top`: the rates of a running forwarder, in a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use weir_core::units::Span;
use weir_management::overview::{ClassOverview, FaceOverview, Overview};
use weir_results::{rate, table, terminal_width};

use crate::Failure;
use crate::manage::{self, Connection, Forwarder, count, duration, text};
use crate::terminal::print;

/// Between two looks at whether the user has ended it.
const STEP: Duration = Duration::from_millis(100);
/// Rows of a table at most: a screen is not longer.
const ROWS: usize = 20;
/// Another screen for as long as the command runs, without a cursor; then back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// `HOME` moves the cursor to the top left. The others clear the rest of a line and of the screen.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// Watch a running forwarder: rates, queues and drops of faces and service classes
///
/// On a terminal the figures refresh until Ctrl-C. Otherwise, and with --once, one reading is printed. With --json the
/// counters of one moment are printed as JSON. Only Weir's forwarder has these figures.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    connection: Connection,
    /// Time between two readings, at least 1s
    #[arg(long, value_name = "TIME", default_value = "2s")]
    every: Span,
    /// Print the rates of one period and end
    #[arg(long)]
    once: bool,
}

/// Shows the rates until the user ends it, or once.
pub fn top(args: &Args) -> Result<(), Failure> {
    // The forwarder updates the list once a second.
    let period = Duration::from_nanos(args.every.as_nanos()).max(Duration::from_secs(1));
    let mut forwarder = args.connection.open()?;
    let mut before = read(&mut forwarder)?;
    if args.connection.is_json() {
        return forwarder.print(&before, |_| String::new());
    }
    let is_live = io::stdout().is_terminal() && !args.once;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())
            .map_err(|error| format!("signals cannot be watched: {error}"))?;
    }
    if !is_live {
        wait(period, &stop);
        let now = read(&mut forwarder)?;
        return print(&shown(&now, &before, terminal_width()));
    }
    let _screen = Screen::enter()?;
    while wait(period, &stop) {
        let now = read(&mut forwarder)?;
        draw(&shown(&now, &before, terminal_width()))?;
        before = now;
    }
    Ok(())
}

fn read(forwarder: &mut Forwarder<'_>) -> Result<Overview, Failure> {
    forwarder.client.overview()?.ok_or_else(|| {
        "this forwarder has no overview, so it is not Weir's, or an old one\n  `weir status` and `weir face` show its counters"
            .into()
    })
}

/// Waits for a period. Returns false once the user has ended the command.
fn wait(period: Duration, stop: &AtomicBool) -> bool {
    let mut left = period;
    while !stop.load(Ordering::Relaxed) {
        if left.is_zero() {
            return true;
        }
        let step = left.min(STEP);
        manage::wait(step);
        left -= step;
    }
    false
}

/// The other screen of the terminal; the first one is back when this is dropped.
struct Screen;

impl Screen {
    fn enter() -> Result<Screen, Failure> {
        print(&format!("{ENTER}Reading …"))?;
        Ok(Screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = io::stdout().write_all(LEAVE.as_bytes()).and_then(|()| io::stdout().flush());
    }
}

fn draw(text: &str) -> Result<(), Failure> {
    let lines: String = text.lines().map(|line| format!("{line}{CLEAR_LINE}\r\n")).collect();
    print(&format!("{HOME}{lines}{CLEAR_BELOW}"))
}

/// A counter's rate between two overviews.
struct Period {
    seconds: f64,
}

impl Period {
    fn between(before: &Overview, now: &Overview) -> Period {
        Period { seconds: now.now_ms.saturating_sub(before.now_ms) as f64 / 1000.0 }
    }

    /// Events per second; `None` if the counter was reset or no time has passed.
    fn per_second(&self, now: u64, before: u64) -> Option<f64> {
        let events = now.checked_sub(before)? as f64;
        (self.seconds > 0.0).then(|| events / self.seconds)
    }

    fn bits(&self, now: u64, before: u64) -> String {
        self.per_second(now, before).map_or_else(|| "–".to_owned(), |bytes| rate(8.0 * bytes))
    }

    fn events(&self, now: u64, before: u64) -> String {
        self.per_second(now, before).map_or_else(|| "–".to_owned(), |events| count(events.round() as u64))
    }
}

fn shown(now: &Overview, before: &Overview, width: Option<u16>) -> String {
    let period = Period::between(before, now);
    let up = duration(now.now_ms.saturating_sub(now.started_ms));
    let drops = |overview: &Overview| overview.drops.iter().map(|drop| drop.data + drop.others).sum::<u64>();
    let (tables, store) = (&now.tables, &now.store);
    let asked = |overview: &Overview| overview.store.hits + overview.store.misses;
    let hits = store.hits.saturating_sub(before.store.hits) as f64;
    let hit_ratio = match asked(now).saturating_sub(asked(before)) {
        0 => "–".to_owned(),
        all => format!("{:.1} %", 100.0 * hits / all as f64),
    };
    let mut said = format!(
        "{}, up for {up}. {} faces, {} prefixes, {} pending Interests. Drops/s: {}.\n\
         Content store: {} of {} Data, hits {hit_ratio}. Interests/s: {} satisfied, {} expired.\n\n",
        now.version,
        now.face_count,
        now.route_count,
        count(tables.pit_entries),
        period.events(drops(now), drops(before)),
        count(store.packets),
        count(store.capacity),
        period.events(tables.satisfied_interests, before.tables.satisfied_interests),
        period.events(tables.expired_interests, before.tables.expired_interests),
    );
    said.push_str(&text(&classes(now, before, &period, width)));
    said.push('\n');
    said.push_str(&text(&faces(now, before, &period, width)));
    if now.face_count > ROWS {
        said.push_str(&format!("The {ROWS} busiest of {} faces.\n", now.face_count));
    }
    for drop in &now.drops {
        let then = before.drops.iter().find(|other| other.reason == drop.reason);
        let then = then.map_or(0, |other| other.data + other.others);
        let all = drop.data + drop.others;
        said.push_str(&format!(
            "Dropped, {}: {} ({}/s)\n",
            drop.reason,
            count(all),
            period.events(all, then)
        ));
    }
    said
}

fn classes(now: &Overview, before: &Overview, period: &Period, width: Option<u16>) -> comfy_table::Table {
    let mut rows = table(&["class", "sent", "Data/s", "delay", "drops/s", "drops"], [1, 2, 3, 4, 5], width);
    for class in &now.classes {
        let none = ClassOverview::default();
        let then = before.classes.iter().find(|other| other.class == class.class).unwrap_or(&none);
        let delay = match class.queued.saturating_sub(then.queued) {
            0 => "–".to_owned(),
            packets => {
                format!("{:.2} ms", 1000.0 * (class.queue_delay_s - then.queue_delay_s) / packets as f64)
            }
        };
        rows.add_row([
            class.class.clone(),
            period.bits(class.out_bytes, then.out_bytes),
            period.events(class.out_data, then.out_data),
            delay,
            period.events(class.dropped, then.dropped),
            count(class.dropped),
        ]);
    }
    rows
}

fn faces(now: &Overview, before: &Overview, period: &Period, width: Option<u16>) -> comfy_table::Table {
    let headings = ["face", "remote", "state", "in", "out", "rate", "queue", "drops/s", "drops"];
    let mut rows = table(&headings, [3, 4, 5, 6, 7, 8], width);
    let none = FaceOverview::default();
    let then =
        |face: &FaceOverview| before.faces.iter().find(|other| other.face == face.face).unwrap_or(&none);
    let mut faces: Vec<&FaceOverview> = now.faces.iter().collect();
    let passed = |face: &FaceOverview| {
        let then = then(face);
        (face.in_bytes + face.out_bytes).saturating_sub(then.in_bytes + then.out_bytes)
    };
    // The busiest first; faces without traffic by number.
    faces.sort_by_key(|face| (std::cmp::Reverse(passed(face)), face.face));
    for face in faces.into_iter().take(ROWS) {
        let then = then(face);
        rows.add_row([
            face.face.to_string(),
            face.remote.clone(),
            if face.up { "up" } else { "down" }.to_owned(),
            period.bits(face.in_bytes, then.in_bytes),
            period.bits(face.out_bytes, then.out_bytes),
            face.rate_bps.map_or_else(|| "–".to_owned(), |bps| rate(bps as f64)),
            count(face.queue_packets),
            period.events(face.dropped, then.dropped),
            count(face.dropped),
        ]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(now_ms: u64, bytes: u64) -> Overview {
        Overview {
            version: "weir 1".to_owned(),
            now_ms,
            faces: vec![
                FaceOverview {
                    face: 1,
                    remote: "udp4://192.0.2.1:6363".to_owned(),
                    up: true,
                    ..FaceOverview::default()
                },
                FaceOverview {
                    face: 2,
                    out_bytes: bytes,
                    rate_bps: Some(10_000_000),
                    ..FaceOverview::default()
                },
            ],
            face_count: 2,
            classes: vec![ClassOverview {
                class: "EF".to_owned(),
                out_bytes: bytes,
                queued: bytes / 1000,
                queue_delay_s: bytes as f64 / 1e6,
                ..ClassOverview::default()
            }],
            ..Overview::default()
        }
    }

    #[test]
    fn rates_are_differences_over_the_time_between() {
        let text = shown(&overview(3000, 1_250_000), &overview(1000, 0), Some(160));
        let line = |begin: &str| text.lines().find(|line| line.trim().starts_with(begin)).unwrap().to_owned();
        assert!(line("EF").contains("5.00 Mb/s") || line("EF").contains("5 Mb/s"), "{text}");
        assert!(line("EF").contains("1.00 ms"), "{text}");
        // The busier face is first.
        let place = |begin: &str| text.lines().position(|line| line.trim().starts_with(begin)).unwrap();
        assert!(place("2 ") < place("1 "), "{text}");
    }

    #[test]
    fn a_counter_that_was_reset_has_no_rate() {
        let text = shown(&overview(3000, 10), &overview(1000, 1_000_000), Some(160));
        assert!(text.lines().any(|line| line.trim().starts_with("EF") && line.contains('–')), "{text}");
        let same = shown(&overview(1000, 10), &overview(1000, 10), Some(160));
        assert!(!same.contains("inf") && !same.contains("NaN"), "{same}");
    }
}
