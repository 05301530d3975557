//! `weir top`: the rates of a running forwarder, in a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use comfy_table::{ColumnConstraint, Table};
use signal_hook::consts::{SIGINT, SIGTERM};
use weir_core::units::Span;
use weir_management::overview::{ClassOverview, FaceOverview, Overview};
use weir_results::{rate, table, terminal_width, wrapped};

use crate::Failure;
use crate::manage::{self, Connection, Forwarder, count, duration, text};
use crate::terminal::print;

/// Between two looks at whether the user has ended it.
const STEP: Duration = Duration::from_millis(100);
/// Rows of a table at most: a screen is not longer.
const ROWS: usize = 20;
/// The characters of an address that are enough to tell it from others.
const LEGIBLE: usize = 21;
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
    let about = format!(
        "{}, up for {up}. {} faces, {} prefixes, {} pending Interests. Drops/s: {}.",
        now.version,
        now.face_count,
        now.route_count,
        count(tables.pit_entries),
        period.events(drops(now), drops(before)),
    );
    let answered = format!(
        "Content store: {} of {} Data, hits {hit_ratio}. Interests/s: {} satisfied, {} expired.",
        count(store.packets),
        count(store.capacity),
        period.events(tables.satisfied_interests, before.tables.satisfied_interests),
        period.events(tables.expired_interests, before.tables.expired_interests),
    );
    let line = |sentence: &str| wrapped(sentence, width) + "\n";
    let mut said = line(&about) + &line(&answered) + "\n";
    said.push_str(&text(&classes(now, before, &period, width)));
    said.push('\n');
    said.push_str(&text(&faces(now, before, &period, width)));
    if now.face_count > ROWS {
        said.push_str(&line(&format!("The {ROWS} busiest of {} faces.", now.face_count)));
    }
    for drop in &now.drops {
        let then = before.drops.iter().find(|other| other.reason == drop.reason);
        let then = then.map_or(0, |other| other.data + other.others);
        let all = drop.data + drop.others;
        let rate = period.events(all, then);
        said.push_str(&line(&format!("Dropped, {}: {} ({rate}/s)", drop.reason, count(all))));
    }
    said
}

/// Adds rows to a table so that no line is longer than `width`. While an address, in column `address`, has too little room
/// to be read, a column is left out, in the order of `least`. An address that is longer than its room is shortened.
fn fit<const N: usize>(
    mut table: Table,
    mut rows: Vec<[String; N]>,
    address: usize,
    least: &[usize],
    width: Option<u16>,
) -> Table {
    if let Some(width) = width.map(usize::from) {
        let mut all = table.clone();
        all.add_rows(rows.clone());
        // Three blanks are between columns, and one is on either side of the table.
        let widths: Vec<usize> =
            all.column_max_content_widths().iter().map(|&w| usize::from(w) + 3).collect();
        let wanted = widths[address].min(LEGIBLE + 3);
        let mut others = widths.iter().sum::<usize>() - widths[address];
        for &column in least {
            if others + wanted <= width + 1 {
                break;
            }
            others -= widths[column];
            if let Some(column) = table.column_mut(column) {
                column.set_constraint(ColumnConstraint::Hidden);
            }
        }
        let room = (width + 1).saturating_sub(others + 3);
        rows.iter_mut().for_each(|row| row[address] = shortened(&row[address], room));
    }
    table.add_rows(rows);
    table
}

/// A text of at most `room` characters, without its middle if it is longer: an address begins with its kind and ends with
/// its port.
fn shortened(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let kept = room.saturating_sub(1);
    let (begin, end) = (kept / 2, kept - kept / 2);
    text.chars().take(begin).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

fn classes(now: &Overview, before: &Overview, period: &Period, width: Option<u16>) -> Table {
    let table = table(&["class", "sent", "Data/s", "delay", "drops/s", "drops"], [1, 2, 3, 4, 5], width);
    let row = |class: &ClassOverview| {
        let none = ClassOverview::default();
        let then = before.classes.iter().find(|other| other.class == class.class).unwrap_or(&none);
        let delay = match class.queued.saturating_sub(then.queued) {
            0 => "–".to_owned(),
            packets => {
                format!("{:.2} ms", 1000.0 * (class.queue_delay_s - then.queue_delay_s) / packets as f64)
            }
        };
        [
            class.class.clone(),
            period.bits(class.out_bytes, then.out_bytes),
            period.events(class.out_data, then.out_data),
            delay,
            period.events(class.dropped, then.dropped),
            count(class.dropped),
        ]
    };
    fit(table, now.classes.iter().map(row).collect(), 0, &[5, 2, 4], width)
}

fn faces(now: &Overview, before: &Overview, period: &Period, width: Option<u16>) -> Table {
    let headings = ["face", "remote", "in", "out", "rate", "queue", "drops/s", "drops"];
    let table = table(&headings, [2, 3, 4, 5, 6, 7], width);
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
    let row = |face: &FaceOverview| {
        let then = then(face);
        [
            face.face.to_string(),
            if face.up { face.remote.clone() } else { format!("down, {}", face.remote) },
            period.bits(face.in_bytes, then.in_bytes),
            period.bits(face.out_bytes, then.out_bytes),
            face.rate_bps.map_or_else(|| "–".to_owned(), |bps| rate(bps as f64)),
            count(face.queue_packets),
            period.events(face.dropped, then.dropped),
            count(face.dropped),
        ]
    };
    // `weir face show` has what a narrow terminal does not show.
    fit(table, faces.into_iter().take(ROWS).map(row).collect(), 1, &[7, 4, 5, 6], width)
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
    fn every_line_fits_into_the_terminal_and_an_address_stands_on_one() {
        let mut busy = overview(3000, 1_234_567_890);
        busy.version = "weir 0.2.0 (0123456789ab)".to_owned();
        busy.faces[1].remote = "udp6://[2001:db8:1111:2222:3333:4444:5555:6666]:6363".to_owned();
        busy.faces[0].dropped = 1_234_567;
        let before = overview(1000, 0);
        let lines = |width| shown(&busy, &before, width).lines().map(str::to_owned).collect::<Vec<_>>();
        let whole = lines(None);
        assert!(whole.iter().any(|line| line.contains(&busy.faces[1].remote)), "{whole:#?}");
        for width in 60..=160 {
            let lines = lines(Some(width));
            let of_tables = |lines: &[String]| lines.iter().skip_while(|line| !line.is_empty()).count();
            assert_eq!(of_tables(&lines), of_tables(&whole), "a cell is broken: {lines:#?}");
            for line in &lines {
                assert!(line.chars().count() <= usize::from(width), "{width} columns: {line}");
            }
            for address in [("udp4://192", "2.1:6363"), ("down, udp6", "66]:6363")] {
                let is_there = |line: &&String| line.contains(address.0) && line.contains(address.1);
                assert_eq!(lines.iter().filter(is_there).count(), 1, "{address:?}: {lines:#?}");
            }
        }
    }

    #[test]
    fn a_counter_that_was_reset_has_no_rate() {
        let text = shown(&overview(3000, 10), &overview(1000, 1_000_000), Some(160));
        assert!(text.lines().any(|line| line.trim().starts_with("EF") && line.contains('–')), "{text}");
        let same = shown(&overview(1000, 10), &overview(1000, 10), Some(160));
        assert!(!same.contains("inf") && !same.contains("NaN"), "{same}");
    }
}
