//! A sweep as tables: the last window for a terminal, all parts of the runs for a page.

use super::{SweepDocument, SweepPeriod, SweepRow, page};
use crate::comparison::{INTERVALS, seeds};
use crate::format::{NONE, Quantity};
use crate::model::TrafficComparison;
use crate::sheet::{Cell, Column, Form, Grid, Plots, Section, Sheet, numbers, words};
use weir_measure::Estimate;

/// Rows that a terminal shows; the page has more.
const ROWS_IN_TEXT: usize = 100;
/// Rows in a table of the page at most; the document has all.
const MOST: usize = 1000;
/// Reasons that a terminal and the page show.
const TROUBLES: usize = 10;
/// Values of an axis that the head names; of more it has the first and the last.
const VALUES: usize = 6;
/// Classes that have a column each at most.
const CLASSES: usize = 4;

/// What the last column is, in words.
const DISTINCT: &str = "Distinct is the number of different outcomes among the seeds, of those that ran. Where it is 1, the \
     seed decides nothing, and more seeds tell nothing more. The delay of all flows is the mean over the classes by their \
     goodputs, and its 99th percentile is that of the class with the largest.";

/// A figure of some flows.
type Figure = (&'static str, Quantity, fn(&TrafficComparison) -> Option<Estimate>);

const FIGURES: [Figure; 5] = [
    ("goodput", Quantity::Rate, |row| row.goodput_bps),
    ("delay mean", Quantity::Millis, |row| row.delay_ms.mean),
    ("delay p99", Quantity::Millis, |row| row.delay_ms.p99),
    ("lost", Quantity::Count, |row| row.lost),
    ("Jain", Quantity::Plain, |row| row.jain),
];
/// What a table has besides if flows complete.
const COMPLETIONS: [Figure; 2] = [
    ("completion mean", Quantity::Seconds, |row| row.completion_mean_s),
    ("last", Quantity::Seconds, |row| row.completion_s),
];

impl SweepDocument {
    /// For a terminal of so many columns, if that is given: what was run, and the tables of the last window, or of the whole
    /// run without windows.
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

    /// The page, one file, with plots over the axes.
    pub fn html(&self) -> String {
        let plots =
            (!self.rows.is_empty()).then(|| Plots { bundle: &crate::page::SWEEP, data: page::data(self) });
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

    /// What is missing, and why.
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

    /// What the tables are.
    fn about(&self) -> Vec<String> {
        let all = [INTERVALS, DISTINCT].map(str::to_owned);
        if self.seeds.len() > 1 { all.into() } else { Vec::new() }
    }

    fn section(&self, at: usize) -> Section {
        let mut grids = vec![self.all_flows(at), self.by_class(at)];
        grids.retain(|grid| !grid.columns.is_empty());
        Section { title: self.part_name(at), grids, ..Section::default() }
    }

    /// The table of all flows together.
    fn all_flows(&self, at: usize) -> Grid {
        let all = |row: &SweepRow| row.periods.get(at).map(|period| period.all.clone());
        let completes = self.rows.iter().filter_map(all).any(|all| all.completion_s.is_some());
        let completions = COMPLETIONS.iter().filter(|_| completes);
        let figures: Vec<&Figure> = FIGURES.iter().chain(completions).collect();
        let mut columns: Vec<Column> = figures.iter().map(|(title, ..)| numbers(*title)).collect();
        columns.push(numbers("distinct"));
        self.grid("All flows", columns, |row| {
            let all = all(row);
            let figure = |(_, quantity, of): &&Figure| self.cell(*quantity, all.as_ref().and_then(of));
            let distinct = match row.runs {
                0 => NONE.to_owned(),
                runs => format!("{}/{runs}", row.distinct),
            };
            figures.iter().map(figure).chain([distinct.into()]).collect()
        })
    }

    /// The goodput of each class, where they are few; without columns otherwise.
    fn by_class(&self, at: usize) -> Grid {
        let mut classes: Vec<&str> = Vec::new();
        let periods = || self.rows.iter().filter_map(|row| row.periods.get(at));
        for class in periods().flat_map(|period| &period.classes) {
            if !classes.contains(&&*class.name) {
                classes.push(&class.name);
            }
        }
        if !(2..=CLASSES).contains(&classes.len()) {
            return Grid::default();
        }
        let columns = classes.iter().map(|class| numbers((*class).to_owned())).collect();
        let goodput = |period: &SweepPeriod, class: &str| {
            period.classes.iter().find(|row| row.name == class)?.goodput_bps
        };
        self.grid("Goodput of each class", columns, |row| {
            let figure = |class: &&str| row.periods.get(at).and_then(|period| goodput(period, class));
            classes.iter().map(|class| self.cell(Quantity::Rate, figure(class))).collect()
        })
    }

    /// A table with a row for each point and scheme: these columns, after those that say which. Only the first row of a point
    /// has its values.
    fn grid(&self, title: &str, columns: Vec<Column>, cells: impl Fn(&SweepRow) -> Vec<Cell>) -> Grid {
        let axes = self.axes.iter().map(|axis| words(axis.name.clone()));
        let row = |(at, row): (usize, &SweepRow)| {
            let before = at.checked_sub(1).and_then(|before| self.rows.get(before));
            let is_first = before.is_none_or(|before| before.values != row.values);
            let values = row.values.iter().map(|value| if is_first { value.as_str() } else { "" }.into());
            values.chain([row.name().into()]).chain(cells(row)).collect()
        };
        let all = self.rows.len();
        let left_out = |shown: usize| match shown < all {
            true => format!(", the first {shown} of {all} rows"),
            false => String::new(),
        };
        let (in_page, in_text) = (all.min(MOST), all.min(ROWS_IN_TEXT));
        Grid {
            title: format!("{title}{}", left_out(in_page)),
            form: Form::Figures,
            columns: axes.chain([words("scheme")]).chain(columns).collect(),
            rows: self.rows.iter().take(MOST).enumerate().map(row).collect(),
            in_text: (in_text < in_page)
                .then(|| (in_text, if in_page < all { String::new() } else { left_out(in_text) })),
        }
    }

    fn cell(&self, quantity: Quantity, estimate: Option<Estimate>) -> Cell {
        quantity.over_seeds(estimate.as_ref(), self.seeds.len()).into()
    }
}
