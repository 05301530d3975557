//! The paper's QSCCP: CDS (section IV-C), PECN (IV-D), AF (IV-E) and CRA (IV-F). The head of `qsccp` lists
//! the place of each equation. With `variant = "article"` calls into `extensions` do nothing, except for
//! groups and policy.

pub(crate) mod af;
pub(crate) mod cds;
pub(crate) mod cra;
pub(crate) mod greedy;
pub(crate) mod pecn;
pub(crate) mod tables;
