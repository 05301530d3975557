//! Makes a checked [`Scenario`] from the tree: a module for each section of the file.

mod axes;
mod checks;
mod events;
mod expectations;
mod figures;
mod flows;
mod links;
mod nodes;
mod routes;
mod sample;
mod scheme;
mod settings;
mod traffic;
mod windows;

use std::sync::Arc;

use weir_core::units::Span;
use weir_document::{Document, DocumentError, Item, Location, Origin, Param, Table, annotate};

use self::checks::Checked;
use crate::error::ScenarioError;
use crate::expand::{check_sections, expand, items};
use crate::faults::Faults;
use crate::files::{Files, NoFiles, Noted};
use crate::generate::generate;
use crate::keys;
use crate::model::*;
use crate::set::{Override, apply, changes, item_name};

type Result<T> = core::result::Result<T, DocumentError>;

impl Scenario {
    /// Reads a scenario from its text: `name` is what it is called in results, `file` the label of
    /// the text in messages.
    ///
    /// # Errors
    /// All errors found in the text and the overrides, each with its position and the correct alternatives.
    pub fn parse(
        name: &str,
        file: &str,
        text: &str,
        overrides: &[Override],
    ) -> core::result::Result<Scenario, ScenarioError> {
        Scenario::parse_with(name, file, text, overrides, |_| None)
    }

    /// As [`Scenario::parse`], with the errors of a further check of what could be read: that of schemes and their
    /// parameters. The check also sees a scenario with errors, which lacks what is in error.
    ///
    /// # Errors
    /// All errors, those of the check last.
    pub fn parse_with(
        name: &str,
        file: &str,
        text: &str,
        overrides: &[Override],
        check: impl Fn(&Scenario) -> Option<ScenarioError>,
    ) -> core::result::Result<Scenario, ScenarioError> {
        Scenario::parse_with_files(name, file, text, overrides, &NoFiles, check)
    }

    /// As [`Scenario::parse_with`], with the files that the text may name.
    ///
    /// # Errors
    /// As there, and those of these files.
    pub fn parse_with_files(
        name: &str,
        file: &str,
        text: &str,
        overrides: &[Override],
        files: &dyn Files,
        check: impl Fn(&Scenario) -> Option<ScenarioError>,
    ) -> core::result::Result<Scenario, ScenarioError> {
        let (scenario, errors) = match Scenario::read(name, file, text, overrides, files) {
            Ok((scenario, errors)) => (Some(scenario), errors),
            Err(errors) => (None, errors),
        };
        let own = ScenarioError::of(blame_overrides(errors, name, file, text, overrides, files));
        let checked = scenario.as_ref().and_then(check);
        match (own, checked, scenario) {
            (Some(own), Some(checked), _) => Err(own.and(checked)),
            (Some(error), None, _) | (None, Some(error), _) => Err(error),
            (None, None, scenario) => Ok(scenario.expect("what cannot be read has an error")),
        }
    }

    /// The scenario without what is in error, and the errors; no scenario if they leave nothing to go on with.
    fn read(
        name: &str,
        file: &str,
        text: &str,
        overrides: &[Override],
        files: &dyn Files,
    ) -> core::result::Result<(Scenario, Vec<DocumentError>), Vec<DocumentError>> {
        let files = Noted::new(files);
        let faults = Faults::default();
        let mut doc = Document::new(keys::FORMAT, file, text);
        let mut root = doc.tree_or_errors()?;
        check_sections(&doc, &root, &faults);
        annotate(&doc, &mut root).into_iter().for_each(|error| faults.push(error));
        let changes = changes(&mut doc, &root, overrides, &faults);
        for change in &changes {
            faults.or(apply(&doc, &mut root, change, true), ());
        }
        // Everything else refers to what these make.
        if faults.has_gaps() || faults.keep(generate(&doc, &mut root)).is_none() {
            return Err(faults.take());
        }
        expand(&doc, &mut root, &faults);
        for change in &changes {
            faults.or(apply(&doc, &mut root, change, false), ());
        }
        let changed = changes.iter().map(|c| c.path.as_str()).collect();
        let scenario = Loader::new(&doc, &root, changed, &faults, &files).scenario(name);
        Ok((scenario, faults.take()))
    }

    /// An error at a place of this scenario, for what others check: a scheme's name or parameter.
    pub fn error_at(
        &self,
        location: &Location,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScenarioError {
        DocumentError::new(location.clone(), key, message, help, &self.text).into()
    }

    /// An error at a parameter of a scheme.
    pub fn param_error(
        &self,
        scheme: &str,
        param: &Param,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScenarioError {
        self.error_at(&param.location, format!("scheme.{scheme}.{}", param.key), message, help)
    }
}

/// An error in the file that shows only with some of the overrides is an error of these.
fn blame_overrides(
    errors: Vec<DocumentError>,
    name: &str,
    file: &str,
    text: &str,
    overrides: &[Override],
    files: &dyn Files,
) -> Vec<DocumentError> {
    let is_of_file = |error: &DocumentError| matches!(error.location(), Location::File { .. });
    if !errors.iter().any(is_of_file) {
        return errors;
    }
    // For each override the errors that there are without it.
    let without = |left_out: usize| {
        let mut rest = overrides.to_vec();
        rest.remove(left_out);
        Scenario::read(name, file, text, &rest, files).map_or_else(|errors| errors, |(_, errors)| errors)
    };
    let without: Vec<Vec<DocumentError>> = (0..overrides.len()).map(without).collect();
    let blame = |error: DocumentError| {
        let at_fault =
            |i: &usize| is_of_file(&error) && !without[*i].iter().any(|other| other.is_same(&error));
        let labels: Vec<String> =
            (0..overrides.len()).filter(at_fault).map(|i| overrides[i].label()).collect();
        if labels.is_empty() { error } else { error.made_by(&labels.join(" ")) }
    };
    errors.into_iter().map(blame).collect()
}

/// Reads the tree of one scenario, after overrides and expansion.
struct Loader<'a> {
    doc: &'a Document,
    root: &'a Table,
    /// Paths of the overrides.
    changed: Vec<&'a str>,
    /// Length of the run.
    duration: Span,
    /// Whether an override gives the length of the run: what the file has after it is then left out with
    /// a note, and else a mistake.
    shortened: bool,
    /// What was left out or cut, and why.
    notes: Vec<String>,
    faults: &'a Faults,
    files: &'a Noted<'a>,
}

/// One of the tables of a section such as `[[link]]`.
struct Listed<'a> {
    section: &'static str,
    /// Its path for `--set`: `link.R2-R3`.
    path: String,
    /// Where its header stands.
    origin: Origin,
    table: &'a Table,
}

impl Listed<'_> {
    /// The path without its section: `R2-R3`.
    fn name(&self) -> &str {
        self.path.strip_prefix(self.section).and_then(|rest| rest.strip_prefix('.')).unwrap_or(&self.path)
    }
}

impl<'a> Loader<'a> {
    fn new(
        doc: &'a Document,
        root: &'a Table,
        changed: Vec<&'a str>,
        faults: &'a Faults,
        files: &'a Noted<'a>,
    ) -> Loader<'a> {
        let top = Item { doc, section: "", path: "", table: root, origin: Origin::Default };
        // Everything else is within a run that is long enough.
        let duration = faults.or(top.positive_span("duration"), Span::MAX);
        let shortened = matches!(top.given("duration").map(|v| v.origin), Some(Origin::Set(_)));
        Loader { doc, root, changed, duration, shortened, notes: Vec::new(), faults, files }
    }

    /// The tables of a section, in the order of the file.
    fn all(&self, section: &'static str) -> Vec<Listed<'a>> {
        let listed = |(i, value, table): (usize, &'a weir_document::Value, &'a Table)| Listed {
            section,
            path: format!("{section}.{}", item_name(section, i, value)),
            origin: value.origin,
            table,
        };
        items(self.root, section).map(listed).collect()
    }

    /// One of these tables, to read from.
    fn item<'i>(&'i self, listed: &'i Listed<'a>) -> Item<'i> {
        let Listed { section, path, origin, table } = listed;
        Item { doc: self.doc, section, path, table, origin: *origin }
    }

    /// The scenario; it is of use only if there are no faults.
    fn scenario(mut self, name: &str) -> Scenario {
        let faults = self.faults;
        let top = Item { doc: self.doc, section: "", path: "", table: self.root, origin: Origin::Default };
        let title = faults.or(top.text("title"), String::new());
        let source = faults.or(top.opt_text("source"), None).unwrap_or_default();
        let (scheme, scheme_params, mut schemes) = faults.or(self.scheme(), Default::default());
        let (nodes, mut network) = self.nodes();
        let mut links = self.links(&mut network);
        let media = self.media(&mut network, &mut links);
        network.has_gaps = faults.has_gaps();
        let (flows, groups) = self.flows(&network);
        let sample = faults.or(sample::step(&top, self.duration, flows.len() + 2 * links.len()), Span::MAX);
        schemes.extend(self.schemes_of_flows_and_expectations());
        // What is missing in error would be missed here again.
        let is_whole = !faults.has_gaps();
        let (mut routes, mut routing) = (Vec::new(), Routing::default());
        if is_whole {
            self.check_cached_prefixes(&nodes, &flows);
            (routes, routing) = self.routes(&network, &links, &flows);
        }
        // Without faults the tables of the file and what was read are in the same order.
        if faults.is_empty() {
            self.check(&Checked { network: &network, links: &links, flows: &flows, routes: &routes });
        }
        let events = self.events(&network, &links, &flows, &groups, &routing);
        let windows = self.windows();
        let axes = self.axes();
        let settings = self.settings(&scheme_params);
        let axes = if is_whole { self.current(axes, &settings) } else { axes };
        self.note_axes_off_their_values(&axes);
        let (network, flows_of, groups) = (&network, &flows[..], &groups[..]);
        let subjects = expectations::Subjects {
            network,
            flows: flows_of,
            groups,
            windows: &windows,
            axes: &axes,
            scheme: &scheme,
        };
        let expectations = self.expectations(&subjects);
        let figures = self.figures();
        Scenario {
            name: name.to_owned(),
            title,
            source,
            duration: self.duration,
            scheme,
            sample,
            nodes,
            links,
            media,
            flows,
            routes,
            routing,
            events,
            windows: windows.into_iter().flatten().collect(),
            expectations,
            axes,
            figures,
            settings,
            notes: self.notes,
            files: self.files.take(),
            scheme_params,
            schemes,
            text: Arc::clone(&self.doc.text),
        }
    }

    /// Notes what was left out and why: a line for each reason.
    fn leave_out(&mut self, many: &str, out: &[(String, String)], one: impl Fn(&str) -> String) {
        let mut reasons: Vec<&str> = Vec::new();
        for (_, why) in out {
            if !reasons.contains(&why.as_str()) {
                reasons.push(why);
            }
        }
        for why in reasons {
            let of: Vec<String> = out.iter().filter(|o| o.1 == why).map(|o| o.0.clone()).collect();
            self.notes.push(match &of[..] {
                [only] => format!("{} left out: {why}", one(only)),
                _ => format!("{} {many} left out ({}): {why}", of.len(), first_of(&of)),
            });
        }
    }
}

/// The first few of many, for a note of one line.
fn first_of(names: &[String]) -> String {
    let shown = names.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("; ");
    match names.len().saturating_sub(3) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}
