//! Runs of the schemes that a statement compares with. They differ only in the scheme.

use weir_measure::RunDocument;
use weir_scenario::{Expectation, Scenario};

/// What is measured under other schemes for the statements of a scenario.
pub struct Beside {
    /// How many statements the scenario has of its own.
    own: usize,
    /// For each that was added behind these: the place of the statement that compares, and the other scheme.
    asked: Vec<(usize, String)>,
}

impl Beside {
    /// Has the figures of all statements about these schemes that compare measured under the others too.
    pub fn ask(scenario: &mut Scenario, about: &[String]) -> Beside {
        let own = scenario.expectations.len();
        let mut asked = Vec::new();
        for at in 0..own {
            let statement = scenario.expectations[at].clone();
            if !about.contains(&statement.scheme) {
                continue;
            }
            for scheme in statement.stated.schemes() {
                scenario.expectations.push(Expectation { scheme: scheme.clone(), ..statement.clone() });
                asked.push((at, scheme.clone()));
            }
        }
        Beside { own, asked }
    }

    /// The scenario's own statements about a scheme, each with its place among all.
    pub fn stated<'s>(
        &self,
        scenario: &'s Scenario,
        scheme: &'s str,
    ) -> impl Iterator<Item = (usize, &'s Expectation)> {
        let own = scenario.expectations[..self.own].iter().enumerate();
        own.filter(move |(_, one)| one.scheme == "*" || one.scheme == scheme)
    }

    /// The schemes that some statement compares with.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().map(|(_, scheme)| scheme.as_str())
    }

    /// Takes what was asked besides off the document of a scheme's run.
    pub fn take(&self, document: &mut RunDocument) -> Vec<Option<f64>> {
        let asked = self.schemes().filter(|scheme| **scheme == *document.scheme).count();
        let own = document.expectations.len().saturating_sub(asked);
        document.expectations.split_off(own).iter().map(|row| row.measured).collect()
    }

    /// Where a statement's figure is among those taken off the run of another scheme.
    pub fn place(&self, statement: usize, scheme: &str) -> Option<usize> {
        let of_scheme = self.asked.iter().filter(|(_, other)| other == scheme);
        of_scheme.into_iter().position(|(at, _)| *at == statement)
    }
}
