//! Figures of other schemes that statements compare with. The runs differ only in the scheme.

use weir_experiment::Probe;
use weir_scenario::Scenario;

/// What is measured under other schemes for the statements of a scenario.
#[derive(Debug)]
pub struct Beside(Vec<Compared>);

/// What a statement compares with.
#[derive(Debug)]
struct Compared {
    /// The place of the statement among the scenario's.
    statement: usize,
    /// The other scheme.
    scheme: String,
    probe: Probe,
}

impl Beside {
    /// For all statements about these schemes that compare.
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

    /// The schemes that some statement compares with.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|compared| compared.scheme.as_str())
    }

    /// What a run of a scheme measures for statements about others.
    pub fn probes(&self, scheme: &str) -> Vec<Probe> {
        self.under(scheme).map(|compared| compared.probe.clone()).collect()
    }

    /// Where a statement's figure is among those of another scheme's run.
    pub fn place(&self, statement: usize, scheme: &str) -> Option<usize> {
        self.under(scheme).position(|compared| compared.statement == statement)
    }

    fn under<'a>(&'a self, scheme: &'a str) -> impl Iterator<Item = &'a Compared> {
        self.0.iter().filter(move |compared| compared.scheme == scheme)
    }
}
