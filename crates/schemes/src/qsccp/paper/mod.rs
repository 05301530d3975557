//! QSCCP as its paper has it: CDS (section IV-C), PECN (IV-D), AF (IV-E) and CRA (IV-F).

pub(in crate::qsccp) mod af;
pub(in crate::qsccp) mod cds;
pub(in crate::qsccp) mod cra;
pub(in crate::qsccp) mod greedy;
pub(in crate::qsccp) mod index;
pub(in crate::qsccp) mod pecn;
pub(in crate::qsccp) mod tables;
