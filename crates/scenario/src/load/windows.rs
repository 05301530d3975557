//! `[[window]]`: the parts of a run that are measured.

use std::collections::BTreeSet;

use weir_core::units::Span;
use weir_document::Item;

use super::{Listed, Loader, Result, first_of};
use crate::model::Window;
use crate::read::ScenarioItem;

impl Loader<'_> {
    /// Returns the windows; `None` for those that begin after the end of a shortened run.
    pub(super) fn windows(&mut self) -> Vec<Option<Window>> {
        let mut windows: Vec<Option<Window>> = Vec::new();
        let mut seen = BTreeSet::new();
        let (mut late, mut cut) = (Vec::new(), Vec::new());
        for listed in &self.all("window") {
            let window = self.window(listed);
            let item = self.item(listed);
            if !seen.insert(window.name.clone()) {
                self.faults.push(item.error_here(format!("there are two windows `{}`", window.name), ""));
            }
            self.faults.or(self.check_window(&item, &window), ());
            if window.to <= self.duration {
                windows.push(Some(window));
            } else if window.from >= self.duration {
                late.push((window.name, format!("the run ends at {}", self.duration)));
                windows.push(None);
            } else {
                cut.push(window.name.clone());
                windows.push(Some(Window { to: self.duration, ..window }));
            }
        }
        self.leave_out("windows", &late, |name| format!("window {name}"));
        if !cut.is_empty() {
            let plural = if cut.len() > 1 { "s" } else { "" };
            let note = format!("window{plural} {} cut: the run ends at {}", first_of(&cut), self.duration);
            self.notes.push(note);
        }
        windows
    }

    /// Returns a window as in the file.
    fn window(&self, listed: &Listed<'_>) -> Window {
        let item = self.item(listed);
        self.faults.keys(&item);
        let from = self.faults.or(item.span("from"), Span::ZERO);
        let to = self.faults.or(item.span("to"), from.max(self.duration));
        let name = match item.given("name") {
            Some(_) => self.faults.or(item.label("name"), listed.name().to_owned()),
            None => listed.name().to_owned(),
        };
        Window { name, from, to }
    }

    fn check_window(&self, item: &Item<'_>, window: &Window) -> Result<()> {
        let Window { from, to, .. } = window;
        let message = if from >= to {
            format!("the window ends at {to}, but begins at {from}")
        } else if *to > self.duration && !self.shortened {
            format!("the run ends at {}", self.duration)
        } else {
            return Ok(());
        };
        let value = item.value("to")?;
        Err(item.error("to", &value, message, ""))
    }
}
