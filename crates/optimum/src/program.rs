//! Convex programs for the solver library: linear ones, and those with logarithms in the objective.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

/// A sum of variables, each with a factor. A variable may occur more than once.
pub(crate) type Terms = Vec<(usize, f64)>;

/// A maximisation over non-negative variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    variables: usize,
    /// Sums that are 0.
    zero: Vec<Terms>,
    /// Sums that are at most a bound.
    at_most: Vec<(Terms, f64)>,
    /// The factors of variables in the objective.
    worth: Terms,
    /// The factors of logarithms of variables in the objective.
    worth_log: Vec<(usize, f64)>,
}

/// The solution of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solution {
    /// The value of each variable.
    pub value: Vec<f64>,
    /// The price of each bound, in order: the increase of the objective with the bound.
    pub price: Vec<f64>,
    /// The price of each sum that is 0.
    pub price_of_zero: Vec<f64>,
}

/// The solver found no solution. The text is its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoSolution(pub String);

impl Program {
    /// Adds a variable, 0 or more.
    pub fn variable(&mut self) -> usize {
        self.variables += 1;
        self.variables - 1
    }

    /// Requires the sum to be 0. Returns the index of its price.
    pub fn zero(&mut self, terms: Terms) -> usize {
        self.zero.push(terms);
        self.zero.len() - 1
    }

    /// Requires the sum to be at most `bound`. Returns the index of its price.
    pub fn at_most(&mut self, terms: Terms, bound: f64) -> usize {
        self.at_most.push((terms, bound));
        self.at_most.len() - 1
    }

    /// Adds a variable to the objective with this factor.
    pub fn worth(&mut self, variable: usize, factor: f64) {
        self.worth.push((variable, factor));
    }

    /// Adds the logarithm of a variable to the objective with this factor.
    pub fn worth_log(&mut self, variable: usize, factor: f64) {
        self.worth_log.push((variable, factor));
    }

    /// Solves the program, to five digits or more. Values of variables should be about 1 or less.
    ///
    /// # Errors
    /// Returns [`NoSolution`] if there is no solution, or none was found.
    pub fn maximise(&self) -> Result<Solution, NoSolution> {
        let columns = self.variables + self.worth_log.len();
        let mut rows = Rows::default();
        self.zero.iter().for_each(|terms| rows.add(terms, 0.0));
        let zeros = rows.bound.len();
        self.at_most.iter().for_each(|(terms, bound)| rows.add(terms, *bound));
        (0..self.variables).for_each(|variable| rows.add(&[(variable, -1.0)], 0.0));
        let bounds = rows.bound.len() - zeros;
        let mut cones = vec![SupportedConeT::ZeroConeT(zeros), SupportedConeT::NonnegativeConeT(bounds)];
        let mut objective = vec![0.0; columns];
        self.worth.iter().for_each(|(variable, factor)| objective[*variable] -= factor);
        for (at, (variable, factor)) in self.worth_log.iter().enumerate() {
            // A further variable is at most the logarithm: (it, 1, x) is in the exponential cone.
            let logarithm = self.variables + at;
            objective[logarithm] -= factor;
            rows.add(&[(logarithm, -1.0)], 0.0);
            rows.add(&[], 1.0);
            rows.add(&[(*variable, -1.0)], 0.0);
            cones.push(SupportedConeT::ExponentialConeT());
        }
        let matrix = rows.matrix(columns);
        let gaps = if self.worth_log.is_empty() { &[LINEAR_GAP][..] } else { &LOGARITHMIC_GAPS };
        let mut outcome = Err(NoSolution(String::new()));
        for &gap in gaps {
            outcome = self.solve(&objective, &matrix, &rows.bound, &cones, gap, zeros);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    /// Solves the program until the gap to its dual is this small.
    fn solve(
        &self,
        objective: &[f64],
        matrix: &CscMatrix<f64>,
        bound: &[f64],
        cones: &[SupportedConeT<f64>],
        gap: f64,
        zeros: usize,
    ) -> Result<Solution, NoSolution> {
        let none = CscMatrix::zeros((objective.len(), objective.len()));
        let settings = DefaultSettings {
            verbose: false,
            max_threads: 1,
            tol_gap_abs: gap,
            tol_gap_rel: gap,
            ..DefaultSettings::default()
        };
        let solver = DefaultSolver::new(&none, objective, matrix, bound, cones, settings);
        let mut solver = solver.map_err(|error| NoSolution(error.to_string()))?;
        solver.solve();
        match solver.solution.status {
            SolverStatus::Solved | SolverStatus::AlmostSolved => Ok(Solution {
                value: solver.solution.x[..self.variables].to_vec(),
                price_of_zero: solver.solution.z[..zeros].to_vec(),
                price: solver.solution.z[zeros..zeros + self.at_most.len()].to_vec(),
            }),
            status => Err(NoSolution(status.to_string())),
        }
    }
}

/// The gaps to the dual that count as a solution. Near its maximum a sum of logarithms is flat: an error of
/// 1e-8 in it may be one of 1e-4 in the values. If the solver cannot come nearer, a larger gap is accepted.
const LINEAR_GAP: f64 = 1e-8;
const LOGARITHMIC_GAPS: [f64; 3] = [1e-11, 1e-10, 1e-9];

/// The rows of a matrix, with their bounds.
#[derive(Debug, Default)]
struct Rows {
    row: Vec<usize>,
    column: Vec<usize>,
    factor: Vec<f64>,
    bound: Vec<f64>,
}

impl Rows {
    fn add(&mut self, terms: &[(usize, f64)], bound: f64) {
        let begin = self.row.len();
        for &(column, factor) in terms {
            match (begin..self.row.len()).find(|&at| self.column[at] == column) {
                Some(at) => self.factor[at] += factor,
                None => {
                    self.row.push(self.bound.len());
                    self.column.push(column);
                    self.factor.push(factor);
                }
            }
        }
        self.bound.push(bound);
    }

    fn matrix(&self, columns: usize) -> CscMatrix {
        let (rows, columns_of, factors) = (self.row.clone(), self.column.clone(), self.factor.clone());
        CscMatrix::new_from_triplets(self.bound.len(), columns, rows, columns_of, factors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_program_has_its_values_and_prices() {
        // Max x + 2y with x + y ≤ 3 and y ≤ 1.
        let mut program = Program::default();
        let (x, y) = (program.variable(), program.variable());
        program.at_most(vec![(x, 1.0), (y, 0.5), (y, 0.5)], 3.0);
        program.at_most(vec![(y, 1.0)], 1.0);
        program.worth(x, 1.0);
        program.worth(y, 2.0);
        let solution = program.maximise().unwrap();
        assert!(
            (solution.value[x] - 2.0).abs() < 1e-6 && (solution.value[y] - 1.0).abs() < 1e-6,
            "{solution:?}"
        );
        assert!(solution.price.iter().all(|price| (price - 1.0).abs() < 1e-6), "{solution:?}");
    }

    #[test]
    fn logarithms_share_by_their_factors() {
        let mut program = Program::default();
        let (x, y) = (program.variable(), program.variable());
        program.at_most(vec![(x, 1.0), (y, 1.0)], 0.9);
        program.worth_log(x, 2.0);
        program.worth_log(y, 1.0);
        let solution = program.maximise().unwrap();
        assert!(
            (solution.value[x] - 0.6).abs() < 1e-5 && (solution.value[y] - 0.3).abs() < 1e-5,
            "{solution:?}"
        );
    }

    #[test]
    fn what_cannot_be_met_is_an_error() {
        let mut program = Program::default();
        let x = program.variable();
        program.at_most(vec![(x, 1.0)], -1.0);
        assert!(program.maximise().is_err());
    }
}
