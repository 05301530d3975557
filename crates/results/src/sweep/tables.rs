//! A sweep as tables: the last window for a terminal, all parts of the runs for a page.

use super::{SweepAxis, SweepDocument, SweepRow, page};
use crate::comparison::{INTERVALS, seeds};
use crate::format::{NONE, Quantity};
use crate::model::{RequestComparison, TrafficComparison};
use crate::sheet::{Cell, Column, Form, Grid, Plots, Section, Sheet, numbers, words};
use std::collections::BTreeSet;
use weir_measure::Estimate;

/// Rows on a terminal; the page has more.
const ROWS_IN_TEXT: usize = 100;
/// Largest number of rows in a table of the page; the document has all.
const MOST: usize = 1000;
/// Number of reasons on a terminal and on the page.
const TROUBLES: usize = 10;
/// Number of an axis's values in the head; of more, it has the first and the last.
const VALUES: usize = 6;
/// Largest number of classes with their own columns.
const CLASSES: usize = 4;

/// A description of the last column.
const DISTINCT: &str = "Distinct is the number of different outcomes of classes, groups and links, out of the number of runs. \
     Where it is 1 of several, more seeds tell nothing more. The delay of all flows is the mean over the classes by their \
     goodputs, and its 99th percentile is that of the class with the largest. The unweighted Jain's index is over the goodputs of all flows, of whatever class.";

/// A figure of some flows, or of some requests.
type Figure<Of> = (&'static str, Quantity, fn(&Of) -> Option<Estimate>);
/// A column with its cells, one for each row.
type Filled = (Column, Vec<Cell>);

/// The first columns of a table if there are requests.
const REQUESTS: [Figure<RequestComparison>; 4] = [
    ("completion mean", Quantity::Millis, |row| row.completion_ms.mean),
    ("slowdown mean", Quantity::Plain, |row| row.slowdown.mean),
    ("slowdown p99", Quantity::Plain, |row| row.slowdown.p99),
    ("complete", Quantity::Percent, |row| row.complete),
];
const FIGURES: [Figure<TrafficComparison>; 7] = [
    ("goodput", Quantity::Rate, |row| row.goodput_bps),
    ("delay mean", Quantity::Millis, |row| row.delay_ms.mean),
    ("delay p99", Quantity::Millis, |row| row.delay_ms.p99),
    ("lost", Quantity::Count, |row| row.lost),
    ("unweighted Jain", Quantity::Plain, |row| row.jain),
    ("completion mean", Quantity::Seconds, |row| row.completion_mean_s),
    ("last", Quantity::Seconds, |row| row.completion_s),
];

impl SweepDocument {
    /// The text for a terminal with `width` columns, or of any width: the runs, and the tables of the last window, or of the
    /// whole run without windows.
    pub fn text(&self, width: Option<u16>) -> String {
        let last = self.parts().saturating_sub(1);
        let mut section = self.section(last);
        if last > 0 {
            let others = (0..last).map(|at| self.part_name(at)).collect::<Vec<_>>().join(", ");
            section.source =
                format!("Other parts are in sweep.html and sweep.json: {}.", others.to_lowercase());
        }
        let notes = self.troubles().into_iter().chain(self.about()).collect();
        Sheet { sections: vec![section], notes, ..self.sheet() }.text(width)
    }

    /// The page as one HTML file, with plots over the axes.
    pub fn html(&self) -> String {
        let plots = (!self.rows.is_empty()).then(|| Plots {
            bundle: &crate::page::SWEEP,
            data: page::data(self),
            is_last: false,
        });
        let mut sections: Vec<Section> = (0..self.parts().max(1)).rev().map(|at| self.section(at)).collect();
        if let Some(section) = sections.first_mut() {
            section.notes = self.about();
        }
        Sheet { plots, sections, answer: self.troubles(), ..self.sheet() }.html()
    }

    fn sheet(&self) -> Sheet {
        let axes = self.axes.iter().map(|axis| match &axis.values[..] {
            [first, .., last] if axis.values.len() > VALUES => {
                format!("{} ({} values, {first} to {last})", axis.name, axis.values.len())
            }
            values => format!("{} ({})", axis.name, values.join(", ")),
        });
        let mut facts = vec![("scenario", self.scenario.clone())];
        facts.extend(axes.map(|axis| ("axis", axis)));
        facts.extend([
            ("schemes", self.schemes.join(", ")),
            ("seeds", seeds(&self.seeds)),
            ("made by", self.command.clone()),
        ]);
        facts.retain(|(_, fact)| !fact.is_empty());
        Sheet {
            kind: "Weir sweep",
            title: if self.title.is_empty() { self.scenario.clone() } else { self.title.clone() },
            set: self.set.clone(),
            facts,
            ..Sheet::default()
        }
    }

    /// Missing figures, with the reasons.
    fn troubles(&self) -> Vec<String> {
        let place = |row: &SweepRow| match row.values.is_empty() {
            true => row.name(),
            false => format!("{} at {}", row.name(), row.values.join(", ")),
        };
        let said = |row: &SweepRow| Some(format!("{} {}", place(row), row.trouble()?));
        let mut troubles: Vec<String> = self.rows.iter().filter_map(said).collect();
        let more = troubles.len().saturating_sub(TROUBLES);
        troubles.truncate(TROUBLES);
        if more > 0 {
            troubles.push(format!("{more} more rows have failures: see sweep.json."));
        }
        troubles
    }

    /// A description of the tables.
    fn about(&self) -> Vec<String> {
        let all = [INTERVALS, DISTINCT].map(str::to_owned);
        if self.seeds.len() > 1 { all.into() } else { Vec::new() }
    }

    fn section(&self, at: usize) -> Section {
        let grids = [self.all_flows(at)].into_iter().chain(self.by_class(at)).collect();
        Section { title: self.part_name(at), grids, ..Section::default() }
    }

    /// The table of all flows together.
    fn all_flows(&self, at: usize) -> Grid {
        let requests = REQUESTS.iter().map(|(title, quantity, of)| {
            self.figure(title, *quantity, |row| of(row.periods.get(at)?.requests.last()?))
        });
        let flows = FIGURES
            .iter()
            .map(|(title, quantity, of)| self.figure(title, *quantity, |row| of(&row.periods.get(at)?.all)));
        let mut columns: Vec<Filled> = requests.chain(flows).flatten().collect();
        let distinct = self.rows.iter().map(|row| self.distinct(row).into());
        columns.push((numbers("distinct"), distinct.collect()));
        self.grid("All flows", columns)
    }

    /// The goodput of each class, if there are few.
    fn by_class(&self, at: usize) -> Option<Grid> {
        let mut classes: Vec<&str> = Vec::new();
        let periods = || self.rows.iter().filter_map(|row| row.periods.get(at));
        for class in periods().flat_map(|period| &period.classes) {
            if !classes.contains(&&*class.name) {
                classes.push(&class.name);
            }
        }
        let goodput = |row: &SweepRow, class: &str| {
            row.periods.get(at)?.classes.iter().find(|row| row.name == class)?.goodput_bps
        };
        let column = |class: &&str| self.figure(class, Quantity::Rate, |row| goodput(row, class));
        (2..=CLASSES)
            .contains(&classes.len())
            .then(|| self.grid("Goodput of each class", classes.iter().filter_map(column).collect()))
    }

    /// A column of a figure, with its unit in the heading; none if no row has it.
    fn figure(
        &self,
        title: &str,
        quantity: Quantity,
        of: impl Fn(&SweepRow) -> Option<Estimate>,
    ) -> Option<Filled> {
        let estimates: Vec<Option<Estimate>> = self.rows.iter().map(of).collect();
        estimates.iter().flatten().next()?;
        let largest = estimates.iter().flatten().map(|estimate| estimate.mean).fold(0.0, f64::max);
        let (unit, scale) = quantity.unit(largest);
        let number = if quantity == Quantity::Count { quantity } else { Quantity::Plain };
        let scaled = |estimate: &Estimate| Estimate {
            mean: estimate.mean / scale,
            ci95: estimate.ci95.map(|ci95| ci95 / scale),
            ..*estimate
        };
        // Fewer values than runs may be known.
        let cell = |(row, estimate): (&SweepRow, &Option<Estimate>)| {
            number.over_seeds(estimate.as_ref().map(scaled).as_ref(), row.runs as usize).into()
        };
        let heading = numbers(format!("{title} {unit}").trim_end().to_owned());
        Some((heading, self.rows.iter().zip(&estimates).map(cell).collect()))
    }

    /// A table with a row for each point and scheme: these columns after those of the point. Only the first row of a point has
    /// its values.
    fn grid(&self, title: &str, columns: Vec<Filled>) -> Grid {
        let axes = self.short_names().into_iter().map(words);
        let (heads, mut cells): (Vec<Column>, Vec<Vec<Cell>>) = columns.into_iter().unzip();
        let row = |(at, row): (usize, &SweepRow)| {
            let before = at.checked_sub(1).and_then(|before| self.rows.get(before));
            let is_first = before.is_none_or(|before| before.values != row.values);
            let values = row.values.iter().map(|value| if is_first { value.as_str() } else { "" }.into());
            let figures = cells.iter_mut().map(|column| std::mem::take(&mut column[at]));
            values.chain([row.name().into()]).chain(figures).collect()
        };
        let rows: Vec<Vec<Cell>> = self.rows.iter().take(MOST).enumerate().map(row).collect();
        let all = self.rows.len();
        let left_out = |shown: usize| match shown < all {
            true => format!(", the first {shown} of {all} rows"),
            false => String::new(),
        };
        let title = title.to_owned();
        let in_text = (rows.len() > ROWS_IN_TEXT).then(|| (ROWS_IN_TEXT, left_out(ROWS_IN_TEXT)));
        Grid {
            title,
            form: Form::Figures,
            columns: axes.chain([words("scheme")]).chain(heads).collect(),
            rows,
            in_text,
            ..Grid::default()
        }
    }

    /// The names of the axes. For paths these are the last parts, if they differ; the head has the whole paths.
    fn short_names(&self) -> Vec<String> {
        let last = |axis: &SweepAxis| axis.name.rsplit('.').next().unwrap_or_default().to_owned();
        let short: BTreeSet<String> = self.axes.iter().map(last).collect();
        let whole = |axis: &SweepAxis| axis.name.clone();
        let are_different = short.len() == self.axes.len();
        self.axes.iter().map(|axis| if are_different { last(axis) } else { whole(axis) }).collect()
    }

    /// The number of different outcomes and of runs, and the number of seeds if some have no run.
    fn distinct(&self, row: &SweepRow) -> String {
        let (runs, seeds) = (row.runs, self.seeds.len() as u64);
        match runs {
            0 => NONE.to_owned(),
            _ if runs < seeds => format!("{}/{runs} of {seeds}", row.distinct),
            _ => format!("{}/{runs}", row.distinct),
        }
    }
}
