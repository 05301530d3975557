//! The figures of other schemes to which statements compare. The runs differ only in the scheme.

use weir_experiment::Probe;
use weir_scenario::Scenario;

/// The measurements under other schemes for the statements of a scenario.
#[derive(Debug)]
pub struct Beside(Vec<Compared>);

/// One comparison of a statement.
#[derive(Debug)]
struct Compared {
    /// The index of the statement in the scenario.
    statement: usize,
    /// The other scheme.
    scheme: String,
    probe: Probe,
}

impl Beside {
    /// Returns the comparisons of all statements about these schemes.
    pub fn of(scenario: &Scenario, about: &[String]) -> Beside {
        let mut compared = Vec::new();
        let stated = scenario.expectations.iter().enumerate();
        for (statement, expectation) in stated.filter(|(_, one)| about.contains(&one.scheme)) {
            for scheme in expectation.stated.schemes() {
                let (scheme, probe) = (scheme.clone(), Probe::from(expectation));
                compared.push(Compared { statement, scheme, probe });
            }
        }
        Beside(compared)
    }

    /// Returns the schemes to which some statement compares.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|compared| compared.scheme.as_str())
    }

    /// Returns the probes of a scheme's run for statements about other schemes.
    pub fn probes(&self, scheme: &str) -> Vec<Probe> {
        self.under(scheme).map(|compared| compared.probe.clone()).collect()
    }

    /// Returns the index of a statement's figure among the probes of another scheme's run.
    pub fn place(&self, statement: usize, scheme: &str) -> Option<usize> {
        self.under(scheme).position(|compared| compared.statement == statement)
    }

    fn under<'a>(&'a self, scheme: &'a str) -> impl Iterator<Item = &'a Compared> {
        self.0.iter().filter(move |compared| compared.scheme == scheme)
    }
}
