//! The document as tables for a terminal. Verdicts are words and marks; there are no colours, so
//! the same text goes to a terminal, a pipe and a file.

use crate::comparison::part;
use crate::format::{self, NONE, Quantity, grouped, millis_or_none, rate};
use crate::optimum;
use crate::thrown;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use weir_measure::{ClassRow, ExpectationRow, FlowRow, LinkRow, NodeRow, RequestRow, RunDocument};

/// Rows of links shown; the others are counted.
const LINKS_SHOWN: usize = 12;
/// Flows that are done, likewise.
const FLOWS_SHOWN: usize = 12;
/// Nodes with a cache, likewise.
const NODES_SHOWN: usize = 12;

/// The width of the terminal that standard output is, in columns; `None` if it is none.
pub fn terminal_width() -> Option<u16> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0)
}

/// The document for a person: a line about the run, its classes, the links that carried most, and
/// what was expected. No line is wider than `width` columns, if that is given and fits a table.
pub fn summary(document: &RunDocument, width: Option<u16>) -> String {
    let mut text = format!(
        "{}  scheme {}  seed {}  {} simulated in {:.2} s  {} packet-hops\n",
        document.scenario,
        format::named(&document.scheme, document.variant.as_deref()),
        document.seed,
        format::time(document.simulated_s),
        document.wall_s,
        grouped(document.packet_hops as i64),
    );
    text += &figures(document, width);
    text
}

/// The same without the line about the run.
pub fn figures(document: &RunDocument, width: Option<u16>) -> String {
    let mut text = String::new();
    if !document.set.is_empty() {
        text.push_str(&format!("with --set {}\n", document.set.join(" --set ")));
    }
    text += &section("Classes, whole run", classes(&document.classes, width));
    text += &distances(document, 0, width);
    text += &completions(document, width);
    text += &section("Requests, whole run", requests(&document.requests, width));
    for (at, window) in document.windows.iter().enumerate() {
        let title = format!("Classes, {}", format::period(window.from_s, window.to_s));
        text += &section(&title, classes(&window.classes, width));
        text += &distances(document, at + 1, width);
        let title = format!("Requests that came, {}", format::period(window.from_s, window.to_s));
        text += &section(&title, requests(&window.requests, width));
    }
    let (shown, hidden) = busiest(&document.links);
    let title = match hidden {
        0 => "Links, whole run".to_owned(),
        _ => format!(
            "Links, whole run, the {} first by drops, then use, of {}",
            shown.len(),
            shown.len() + hidden
        ),
    };
    text += &section(&title, links(&shown, width));
    text += &caches(&document.nodes, width);
    text += &section("Thrown away, whole run", thrown::by_reason(document, width));
    if let Some(line) = thrown::line(document) {
        text += &format!("{}\n", wrapped(&line, width));
    }
    text += &section("Expectations", expectations(&document.expectations, width));
    text += &verdicts(&document.expectations);
    text
}

/// The distances of a part of the run from the optimum and from the scheme's target, a line each.
fn distances(document: &RunDocument, at: usize, width: Option<u16>) -> String {
    let Some(optimum) = part(document, at).and_then(|part| part.optimum) else { return String::new() };
    let sentences = [Some(optimum::sentence(optimum)), optimum::target_sentence(optimum, &document.scheme)];
    sentences.into_iter().flatten().map(|sentence| wrapped(&sentence, width) + "\n").collect()
}

fn section(title: &str, table: Option<Table>) -> String {
    table.map_or_else(String::new, |table| format!("\n{title}\n{}\n", table.trim_fmt()))
}

/// A sentence in lines of so many columns, if that is given.
pub fn wrapped(sentence: &str, width: Option<u16>) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in sentence.split(' ') {
        let length = word.chars().count();
        let is_first = text.is_empty();
        let fits = width.is_none_or(|width| column + 1 + length <= usize::from(width));
        let between = if is_first {
            ""
        } else if fits {
            " "
        } else {
            "\n"
        };
        column = if is_first || !fits { length } else { column + 1 + length };
        text += between;
        text += word;
    }
    text
}

/// A rule below the header, and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with these headings, in which the columns of `numbers` stand at the right.
pub fn table(header: &[&str], numbers: impl IntoIterator<Item = usize>, width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(header.to_vec());
    if let Some(width) = width {
        table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    }
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn requests(rows: &[RequestRow], width: Option<u16>) -> Option<Table> {
    if rows.is_empty() {
        return None;
    }
    let has_ideal = rows.iter().any(|row| row.ideal_slowdown.is_some());
    let mut header =
        vec!["group", "Data", "came", "complete", "completion mean ms", "p99 ms", "slowdown mean", "p99"];
    header.extend(if has_ideal { &["ideal mean", "p99"][..] } else { &[] });
    let mut table = table(&header, 1..header.len(), width);
    let number =
        |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), |value| Quantity::Plain.format(value));
    for row in rows {
        let mut cells = vec![
            row.group.clone(),
            row.size.clone(),
            grouped(row.came as i64),
            grouped(row.completed as i64),
            millis_or_none(row.completion_ms.mean),
            millis_or_none(row.completion_ms.p99),
            number(row.slowdown.mean),
            number(row.slowdown.p99),
        ];
        if has_ideal {
            let ideal = row.ideal_slowdown.unwrap_or_default();
            cells.extend([number(ideal.mean), number(ideal.p99)]);
        }
        table.add_row(cells);
    }
    Some(table)
}

fn classes(rows: &[ClassRow], width: Option<u16>) -> Option<Table> {
    if rows.is_empty() {
        return None;
    }
    let has_jain = rows.iter().any(|row| row.figures.jain.is_some());
    let mut header =
        vec!["class", "goodput", "delay mean ms", "p95 ms", "p99 ms", "lost", "retransmitted", "timeouts"];
    header.extend(has_jain.then_some("Jain in class"));
    let mut table = table(&header, 1..header.len(), width);
    for ClassRow { class, figures: row } in rows {
        let mut cells = vec![
            class.clone(),
            rate(row.goodput_bps),
            millis_or_none(row.delay_ms.mean),
            millis_or_none(row.delay_ms.p95),
            millis_or_none(row.delay_ms.p99),
            grouped(row.lost as i64),
            grouped(row.retransmitted as i64),
            grouped(row.timeouts as i64),
        ];
        let jain = || row.jain.map_or_else(|| NONE.to_owned(), |jain| Quantity::Plain.format(jain));
        cells.extend(has_jain.then(jain));
        table.add_row(cells);
    }
    Some(table)
}

/// When flows were done that end, the last first, and what their goodput is then; with slowdowns where the optimum is known.
fn completions(document: &RunDocument, width: Option<u16>) -> String {
    let all = document.flows.iter().enumerate();
    let mut done: Vec<(usize, &FlowRow, f64)> =
        all.filter_map(|(at, row)| Some((at, row, row.completion_s?))).collect();
    if done.is_empty() {
        return String::new();
    }
    done.sort_by(|a, b| b.2.total_cmp(&a.2));
    let mean = done.iter().map(|(.., time)| time).sum::<f64>() / done.len() as f64;
    let mut columns = vec!["consumer", "prefix", "class", "completion", "goodput until then"];
    let has_slowdowns = !document.slowdowns.is_empty();
    columns.extend(["slowdown", "in the optimum"].into_iter().filter(|_| has_slowdowns));
    let mut table = table(&columns, 3..columns.len(), width);
    let plain =
        |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), |value| Quantity::Plain.format(value));
    for (at, row, time) in done.iter().take(FLOWS_SHOWN) {
        let names = [&row.consumer, &row.prefix, &row.class].map(String::clone);
        let until_then = row.goodput_bps * document.simulated_s / time.max(1e-9);
        let mut cells: Vec<String> =
            names.into_iter().chain([Quantity::Seconds.format(*time), rate(until_then)]).collect();
        if has_slowdowns {
            let of = document.slowdowns.iter().find(|slowdown| slowdown.flow == *at as u64);
            cells.push(plain(of.and_then(|of| of.slowdown)));
            cells.push(plain(of.and_then(|of| of.optimum_slowdown)));
        }
        table.add_row(cells);
    }
    let title = match done.len() {
        all if all > FLOWS_SHOWN => format!("Completion, the {FLOWS_SHOWN} last of {all} flows"),
        _ => "Completion".to_owned(),
    };
    let sentence = format!(
        "{} of {} flows completed, in {} on average and {} at most. In other tables goodput is a mean over the whole run, \
         also after that.",
        done.len(),
        document.flows.len(),
        Quantity::Seconds.format(mean),
        Quantity::Seconds.format(done[0].2),
    );
    let sentences = [Some(sentence), slowdown(document)];
    let lines = sentences.into_iter().flatten().map(|sentence| wrapped(&sentence, width) + "\n");
    section(&title, Some(table)) + &lines.collect::<String>()
}

/// The mean slowdown beside that in the optimum, over the flows that complete in both.
pub(crate) fn slowdown(document: &RunDocument) -> Option<String> {
    let both = document.slowdowns.iter().filter_map(|row| Some((row.slowdown?, row.optimum_slowdown?)));
    let both: Vec<(f64, f64)> = both.collect();
    let mean = |of: fn(&(f64, f64)) -> f64| both.iter().map(of).sum::<f64>() / both.len() as f64;
    (!both.is_empty()).then(|| {
        format!(
            "Mean slowdown of {} flows, the completion over the time that a flow would take alone on an empty network: {}, \
             and {} in the optimum.",
            both.len(),
            Quantity::Plain.format(mean(|pair| pair.0)),
            Quantity::Plain.format(mean(|pair| pair.1)),
        )
    })
}

/// The links that dropped most, then the most used ones, and how many others there are.
fn busiest(rows: &[LinkRow]) -> (Vec<&LinkRow>, usize) {
    let mut shown: Vec<&LinkRow> = rows.iter().collect();
    let dropped = |row: &LinkRow| row.drops + row.lost + row.down;
    shown.sort_by(|a, b| dropped(b).cmp(&dropped(a)).then(b.utilisation.total_cmp(&a.utilisation)));
    shown.truncate(LINKS_SHOWN);
    let hidden = rows.len() - shown.len();
    (shown, hidden)
}

fn links(rows: &[&LinkRow], width: Option<u16>) -> Option<Table> {
    if rows.is_empty() {
        return None;
    }
    // Most links lose nothing but at their queues.
    let has_lost = rows.iter().any(|row| row.lost > 0);
    let has_been_down = rows.iter().any(|row| row.down > 0);
    let mut header = vec!["link", "rate", "utilisation", "queue drops"];
    header.extend(has_lost.then_some("lost at random"));
    header.extend(has_been_down.then_some("while down"));
    header.extend(["queue mean ms", "queue p99 ms"]);
    let mut table = table(&header, 1..header.len(), width);
    for row in rows {
        let mut cells = vec![
            format!("{} → {}", row.from, row.end()),
            rate(row.rate_bps),
            format!("{:.1} %", row.utilisation * 100.0),
            grouped(row.drops as i64),
        ];
        cells.extend(has_lost.then(|| grouped(row.lost as i64)));
        cells.extend(has_been_down.then(|| grouped(row.down as i64)));
        cells.extend([row.queue_ms.mean, row.queue_ms.p99].map(millis_or_none));
        table.add_row(cells);
    }
    Some(table)
}

/// The nodes whose caches were asked most, over the whole run.
fn caches(nodes: &[NodeRow], width: Option<u16>) -> String {
    let mut shown: Vec<&NodeRow> = nodes.iter().filter(|node| node.has_cache()).collect();
    if shown.is_empty() {
        return String::new();
    }
    let all = shown.len();
    shown.sort_by_key(|node| std::cmp::Reverse(node.cache_hits + node.cache_misses));
    shown.truncate(NODES_SHOWN);
    let header = ["node", "cache hits", "misses", "hit ratio", "insertions", "evictions"];
    let mut table = table(&header, 1..header.len(), width);
    for node in &shown {
        let [hits, misses, insertions, evictions] =
            [node.cache_hits, node.cache_misses, node.cache_insertions, node.cache_evictions]
                .map(|count| grouped(count as i64));
        let ratio =
            node.cache_hit_ratio.map_or_else(|| NONE.to_owned(), |ratio| Quantity::Percent.format(ratio));
        table.add_row([node.node.clone(), hits, misses, ratio, insertions, evictions]);
    }
    let title = match all - shown.len() {
        0 => "Caches, whole run".to_owned(),
        _ => format!("Caches, whole run, the {NODES_SHOWN} most asked of {all}"),
    };
    section(&title, Some(table))
}

fn expectations(rows: &[ExpectationRow], width: Option<u16>) -> Option<Table> {
    if rows.is_empty() {
        return None;
    }
    let mut table = table(&["source", "what", "stated", "measured", "tolerance", "holds"], 2..5, width);
    for row in rows {
        let quantity = Quantity::of_unit(&row.unit);
        table.add_row(vec![
            format::kind_of_source(&row.source).to_owned(),
            row.what.clone(),
            format::stated(quantity, row),
            format::measured(quantity, row),
            format::tolerance(quantity, row),
            verdict(row.holds).to_owned(),
        ]);
    }
    Some(table)
}

/// How many hold, and how many one run cannot tell of.
fn verdicts(rows: &[ExpectationRow]) -> String {
    let checked: Vec<bool> = rows.iter().filter_map(|row| row.holds).collect();
    let missed = checked.iter().filter(|holds| !**holds).count();
    let mut text = match (checked.len(), missed) {
        (0, _) => String::new(),
        (1, 0) => "The expectation holds.\n".to_owned(),
        (1, _) => "The expectation does not hold.\n".to_owned(),
        (all, 0) => format!("All {all} expectations hold.\n"),
        (all, 1) => format!("1 of {all} expectations does not hold.\n"),
        (all, _) => format!("{missed} of {all} expectations do not hold.\n"),
    };
    match rows.len() - checked.len() {
        0 => {}
        1 => text += "1 expectation compares schemes: `weir reproduce` checks it.\n",
        several => {
            text += &format!("{several} expectations compare schemes: `weir reproduce` checks them.\n")
        }
    }
    text
}

/// A verdict as a mark and a word; a dash where one run cannot tell.
fn verdict(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "✓ holds",
        Some(false) => "✗ fails",
        None => NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use weir_measure::Relation;

    #[test]
    fn the_summary_has_every_class_and_every_verdict() {
        let report = sample::dumbbell(4, 50);
        let text = summary(&report.document, None);
        for row in &report.document.classes {
            assert!(text.contains(&row.class));
        }
        let verdicts = text.matches("✓ holds").count() + text.matches("✗ fails").count();
        assert_eq!(verdicts, report.document.expectations.iter().filter(|row| row.holds.is_some()).count());
        assert!(text.contains("R3 → R2"));
        assert!(!text.contains('\x1b'), "colour codes in a text that may go to a file");
    }

    #[test]
    fn flows_that_end_say_when_and_what_their_goodput_is() {
        let mut report = sample::dumbbell(20, 50);
        assert!(!summary(&report.document, None).contains("Completion"));
        for (at, row) in report.document.flows.iter_mut().enumerate().take(16) {
            row.completion_s = Some(at as f64);
            row.goodput_bps = 1e6;
        }
        report.document.simulated_s = 60.0;
        let text = summary(&report.document, None);
        let (_, after) = text.split_once("\nCompletion, the 12 last of 16 flows\n").unwrap();
        let (table, _) = after.split_once("\nLinks").unwrap();
        let last = table.lines().nth(2).unwrap();
        assert!(
            last.contains("15.00 s") && last.contains(" 4 Mb/s") && !table.contains(" 3.00 s"),
            "{table}"
        );
        let said = "16 of 20 flows completed, in 7.50 s on average and 15.00 s at most.";
        assert!(table.contains(said), "{table}");
    }

    #[test]
    fn statements_say_who_makes_them_and_bounds_are_no_deviations() {
        let mut report = sample::dumbbell(4, 50);
        let rows = &mut report.document.expectations;
        rows.truncate(2);
        rows[0].source = "paper: Fig. 7".to_owned();
        rows[1] = ExpectationRow {
            what: "time to settle of class EF".to_owned(),
            source: "assumed: 20 round trips; paper: swiftly".to_owned(),
            unit: "s".to_owned(),
            stated: Some(2.0),
            measured: Some(0.0),
            bound: Relation::AtMost,
            holds: Some(true),
            ..ExpectationRow::default()
        };
        let text = summary(&report.document, None);
        let line = |what: &str| text.lines().find(|line| line.contains(what)).unwrap().to_owned();
        let words = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert!(line("goodput of class EF").trim_start().starts_with("paper "), "{text}");
        let bound = words(line("time to settle"));
        assert_eq!(bound, "assumed time to settle of class EF ≤ 2.00 s 0.00 s ✓ holds");
    }

    #[test]
    fn a_comparison_of_schemes_is_neither_held_nor_failed_by_one_run() {
        let mut report = sample::dumbbell(4, 50);
        let rows = &mut report.document.expectations;
        rows.truncate(2);
        rows[0].holds = Some(true);
        rows[1] = ExpectationRow {
            what: "utilisation".to_owned(),
            unit: "1".to_owned(),
            measured: Some(0.5),
            bound: Relation::MoreThan,
            than: vec!["pcon".to_owned()],
            ..ExpectationRow::default()
        };
        let text = summary(&report.document, None);
        assert!(text.contains("utilisation") && text.contains("more than pcon"), "{text}");
        let end = "The expectation holds.\n1 expectation compares schemes: `weir reproduce` checks it.\n";
        assert!(text.ends_with(end), "{text}");
        report.document.expectations.remove(0);
        let text = summary(&report.document, None);
        assert!(!text.contains("hold."), "{text}");
    }

    #[test]
    fn what_was_set_is_below_the_headline_and_nothing_if_nothing_was() {
        let mut report = sample::dumbbell(4, 50);
        assert!(!summary(&report.document, None).contains("--set"));
        report.document.set = vec!["duration=5s".to_owned(), "link.*.delay=20 ms".to_owned()];
        let text = summary(&report.document, None);
        assert_eq!(text.lines().nth(1), Some("with --set duration=5s --set link.*.delay=20 ms"));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let report = sample::dumbbell(4, 50);
        for width in [72, 100] {
            for line in summary(&report.document, Some(width)).lines().skip(1) {
                assert!(line.chars().count() <= usize::from(width), "{width} columns: {line}");
            }
        }
    }

    #[test]
    fn a_delay_without_samples_is_a_dash() {
        let mut report = sample::dumbbell(4, 50);
        report.document.classes[0].figures.delay_ms = Default::default();
        report.document.expectations[0].measured = None;
        assert!(summary(&report.document, None).contains(NONE));
    }
}
