//! The Data that a run threw away, by reason.

use crate::format::{Quantity, grouped};
use crate::table::table;
use comfy_table::Table;
use weir_measure::{DropRow, RunDocument};

/// A run reports this in a line if it throws away more than this part of its Data.
pub(crate) const NOTEWORTHY: f64 = 0.01;

/// A line if more than 1 % of the Data was thrown away, with the part and the reasons.
pub(crate) fn line(document: &RunDocument) -> Option<String> {
    (document.data_thrown_away > NOTEWORTHY).then(|| {
        let mut rows: Vec<&DropRow> = document.drops.iter().filter(|row| row.data > 0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.data));
        let reasons: Vec<String> =
            rows.iter().map(|row| format!("{} {}", grouped(row.data as i64), row.reason)).collect();
        format!(
            "{} of the Data was thrown away: {}.",
            Quantity::Percent.format(document.data_thrown_away),
            reasons.join(", ")
        )
    })
}

/// Thrown-away Data by reason, as a table; `None` if there are none.
pub(crate) fn by_reason(document: &RunDocument, width: Option<u16>) -> Option<Table> {
    if document.drops.is_empty() {
        return None;
    }
    let mut table = table(&["reason", "at", "Data", "Interests"], 2..4, width);
    for row in &document.drops {
        let counts = [row.data, row.interests].map(|count| grouped(count as i64));
        table.add_row([row.reason.clone(), row.place.clone()].into_iter().chain(counts));
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_throws_away_more_than_a_hundredth_says_so_with_its_reasons() {
        let row = |reason: &str, data, interests| DropRow {
            reason: reason.to_owned(),
            place: "node".to_owned(),
            data,
            interests,
        };
        let mut document = RunDocument {
            drops: vec![row("link queue full", 5, 1), row("out of the lifetime", 1234, 0), row("loop", 0, 3)],
            data_thrown_away: 0.0099,
            ..RunDocument::default()
        };
        assert_eq!(line(&document), None);
        document.data_thrown_away = 0.407;
        let said = line(&document).unwrap();
        assert_eq!(
            said,
            "40.7 % of the Data was thrown away: 1\u{202f}234 out of the lifetime, 5 link queue full."
        );
        let text = crate::summary(&document, None);
        assert!(text.contains("Thrown away") && text.contains("loop") && text.contains(&said), "{text}");
    }
}
