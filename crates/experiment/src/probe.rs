//! A measurement of a run.

use core::fmt;

use weir_core::units::Span;
use weir_scenario::{DirectedLink, Expectation, FlowId, Metric, Scenario, Select};

use crate::error::ExperimentError;
use crate::experiment::check_window;

/// A measurement of a run: a metric of some flows and links over a window.
///
/// Its text contains everything that determines the value in a given scenario: the metric, the window, and
/// the numbers of the flows, links and nodes. It does not contain the label. So the text can be part of a
/// run's key.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// The description, such as `goodput of class EF, 20 s to 120 s`.
    pub label: String,
    /// The measured quantity.
    pub metric: Metric,
    /// The simulated times from and to which it is measured.
    pub window: (Span, Span),
    /// The measured flows and links.
    pub select: Select,
}

impl From<&Expectation> for Probe {
    /// Returns the probe of an expectation.
    fn from(expectation: &Expectation) -> Probe {
        Probe {
            label: expectation.what.clone(),
            metric: expectation.metric,
            window: expectation.window,
            select: expectation.select.clone(),
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = self.window;
        write!(f, "{}, {from} to {to}", self.metric.name())?;
        let flows: Vec<usize> = self.select.flows.iter().map(|flow| flow.index()).collect();
        if !flows.is_empty() {
            write!(f, ", flows {}", in_ranges(&flows))?;
        }
        let link = |link: &DirectedLink| format!("{}.{}", link.link.index(), link.direction);
        let links: Vec<String> = self.select.links.iter().map(link).collect();
        if !links.is_empty() {
            write!(f, ", links {}", links.join(" "))?;
        }
        let nodes: Vec<usize> = self.select.nodes.iter().map(|node| node.index()).collect();
        if !nodes.is_empty() {
            write!(f, ", nodes {}", in_ranges(&nodes))?;
        }
        Ok(())
    }
}

impl Probe {
    /// Rejects a window that is not within the run, and flows and links that the scenario does not have.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), ExperimentError> {
        check_window(self.window, scenario.duration)?;
        let (flows, links, nodes) = (scenario.flows.len(), scenario.links.len(), scenario.nodes.len());
        let is_flow = |flow: &FlowId| flow.index() < flows;
        let is_link = |link: &DirectedLink| link.link.index() < links && link.direction < 2;
        if self.select.flows.iter().all(is_flow)
            && self.select.links.iter().all(is_link)
            && self.select.nodes.iter().all(|node| node.index() < nodes)
        {
            return Ok(());
        }
        Err(ExperimentError::Unsupported(format!(
            "probe \"{}\" selects flows, links or nodes that {} does not have: numbers of flows are below {flows}, those of links below {links}, those of nodes below {nodes}, and directions are 0 or 1",
            self.label, scenario.name
        )))
    }
}

/// Formats sorted numbers, with consecutive ones as a range: `0-3 7`.
fn in_ranges(numbers: &[usize]) -> String {
    let range = |run: &[usize]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(usize::to_string).collect(),
    };
    let ranges: Vec<String> = numbers.chunk_by(|a, b| a + 1 == *b).map(range).collect();
    ranges.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_scenario::LinkId;

    #[test]
    fn the_text_of_a_probe_has_what_determines_its_value() {
        let link = |link, direction| DirectedLink { link: LinkId(link), direction };
        let probe = Probe {
            label: "Data of some flows".to_owned(),
            metric: Metric::DataRate,
            window: (Span::ZERO, Span::from_millis(2500)),
            select: Select {
                flows: [0, 1, 2, 7, 9, 10].map(FlowId).to_vec(),
                links: vec![link(3, 0), link(12, 1)],
                ..Select::default()
            },
        };
        assert_eq!(probe.to_string(), "data_rate, 0 ns to 2.5 s, flows 0-2 7 9-10, links 3.0 12.1");
        let relabelled = Probe { label: String::new(), ..probe.clone() };
        assert_eq!(relabelled.to_string(), probe.to_string());
        let others = [
            Probe { metric: Metric::Goodput, ..probe.clone() },
            Probe { window: (Span::from_nanos(1), probe.window.1), ..probe.clone() },
            Probe { select: Select { flows: Vec::new(), ..probe.select.clone() }, ..probe.clone() },
            Probe { select: Select { links: vec![link(3, 1)], ..probe.select.clone() }, ..probe.clone() },
        ];
        assert!(others.iter().all(|other| other.to_string() != probe.to_string()));
    }
}
