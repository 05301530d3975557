//! `[[axis]]`: the swept parameters, and the current value of each axis.

use std::collections::BTreeSet;

use weir_core::units::{Bytes, Rate, Span};
use weir_document::{Item, Shape, Value, list, nearest};

use super::{Listed, Loader, Result};
use crate::model::Axis;
use crate::names;
use crate::read::ScenarioItem;
use crate::settings::Settings;

impl Loader<'_> {
    /// Reads the axes, without their current values.
    pub(super) fn axes(&self) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        let faults = self.faults;
        for listed in &self.all("axis") {
            let item = self.item(listed);
            faults.keys(&item);
            let name = faults.or(item.label("name"), String::new());
            if axes.iter().any(|a| a.name == name) {
                faults.push(item.error_here(format!("there are two axes `{name}`"), ""));
            }
            let set = faults.or(item.texts("set"), Vec::new());
            let set: Vec<String> = set.into_iter().map(|(text, _)| text.to_string()).collect();
            let values = faults.or(axis_values(&item), Vec::new());
            axes.push(Axis { name, set, values, current: None });
        }
        axes
    }

    /// Finds the current value of each axis.
    pub(super) fn current(&self, mut axes: Vec<Axis>, settings: &Settings) -> Vec<Axis> {
        for (axis, listed) in axes.iter_mut().zip(&self.all("axis")) {
            let mut now: BTreeSet<String> = BTreeSet::new();
            for path in &axis.set {
                let of_path = || settings.iter().filter(|s| names::fits(path, &s.path));
                if of_path().next().is_none() && !may_have_no_setting(path) {
                    self.faults.or(self.nothing_to_set(listed, path, settings).and_then(Err), ());
                }
                now.extend(of_path().map(|s| canonical(&s.value)));
            }
            if let [one] = now.iter().collect::<Vec<_>>()[..] {
                axis.current = axis.values.iter().position(|v| canonical(v) == *one);
            }
        }
        axes
    }

    fn nothing_to_set(
        &self,
        listed: &Listed<'_>,
        path: &str,
        settings: &Settings,
    ) -> Result<weir_document::DocumentError> {
        let item = self.item(listed);
        let value = item.value("set")?;
        let paths: Vec<String> = settings.iter().map(|s| s.path).collect();
        let meant = nearest(path, paths.iter().map(String::as_str));
        let help = meant.map_or(String::new(), |m| format!("did you mean `{m}`?"));
        Ok(item.error("set", &value, format!("`{path}` does not exist or cannot be set"), help))
    }

    /// Notes the axes that overrides moved to a value that is not listed.
    pub(super) fn note_axes_off_their_values(&mut self, axes: &[Axis]) {
        for axis in axes.iter().filter(|axis| axis.current.is_none()) {
            if self.changed.iter().any(|changed| axis.set.iter().any(|path| path == changed)) {
                let values = list(axis.values.iter().map(String::as_str));
                self.notes.push(format!(
                    "the axis {} has a value that is not listed ({values}): no expectation applies to this point",
                    axis.name
                ));
            }
        }
    }
}

/// Returns whether a path may be set without a known value: a parameter that only the scheme knows, or a key
/// that expansion removes.
fn may_have_no_setting(path: &str) -> bool {
    let is_parameter = path.starts_with("scheme.") && path.split('.').count() > 2;
    is_parameter || path.starts_with("generate.") || path.starts_with("defaults.")
}

/// Returns whether the axes have the values of the table `when`.
pub(super) fn holds_here(item: &Item<'_>, when: &Value, axes: &[Axis]) -> Result<bool> {
    let Some(table) = when.as_table() else {
        return Err(item.error("when", when, format!("{when} is not {}", Shape::Map.wanted()), ""));
    };
    let wrong = |at, message, help| item.doc.error(at, item.path_of("when"), message, help);
    let mut here = true;
    for entry in &table.0 {
        let Some(axis) = axes.iter().find(|a| a.name == *entry.key) else {
            let help = format!("axes: {}", list(axes.iter().map(|a| a.name.as_str())));
            return Err(wrong(entry.key_origin, format!("there is no axis `{}`", entry.key), help));
        };
        let wanted = canonical(&entry.value.to_string());
        let Some(at) = axis.values.iter().position(|v| canonical(v) == wanted) else {
            let message = format!("the axis `{}` has no value {}", entry.key, entry.value);
            let help = format!("its values: {}", axis.values.join(", "));
            return Err(wrong(entry.value.origin, message, help));
        };
        here &= axis.current == Some(at);
    }
    Ok(here)
}

/// Returns a canonical form, in which equal values are equal texts: `0.40` and `0.4`, `1 s` and `1000 ms`.
fn canonical(text: &str) -> String {
    if let Ok(number) = text.parse::<f64>() {
        return format!("{number:?}");
    }
    if let Ok(span) = text.parse::<Span>() {
        return format!("{} ns", span.as_nanos());
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return format!("{} b/s", rate.as_bps());
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return format!("{} B", bytes.as_u64());
    }
    text.to_owned()
}

/// Returns the values of an axis, as they are given.
fn axis_values(item: &Item<'_>) -> Result<Vec<String>> {
    let value = item.value("values")?;
    match value.as_list().filter(|list| !list.is_empty()) {
        Some(values) => Ok(values.iter().map(Value::to_string).collect()),
        None => {
            let message = format!("{value} is not {}", Shape::Values.wanted());
            Err(item.error("values", &value, message, ""))
        }
    }
}
