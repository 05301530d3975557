//! What is believed of the packets that arrive by a face: as the file says it, and as the core has it.

use weir_core::node::ClassRule;
use weir_core::units::Rate;
use weir_packet::ServiceClass;

/// Whose service classes and signals are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those of faces that the file or management has made to one neighbour, and of applications with rights.
    #[default]
    Known,
    /// Everybody's.
    All,
    /// Nobody's.
    Nobody,
}

impl Trust {
    /// Whether a face is believed that is known, or is not.
    pub fn believes(self, is_known: bool) -> bool {
        match self {
            Trust::Known => is_known,
            Trust::All => true,
            Trust::Nobody => false,
        }
    }
}

/// What the file says of a service class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassTreatment {
    /// It is believed.
    Keep,
    /// It is believed up to this rate.
    Limit(Rate),
    /// It is this class.
    Remark(ServiceClass),
    /// It is dropped.
    Refuse,
}

/// What the file says of each class; `None`: nothing.
pub type ClassTreatments = [Option<ClassTreatment>; ServiceClass::ALL.len()];

/// The rules for a face: classes of which nothing is said are kept if the face is believed, and else best effort.
pub fn class_rules(treatments: &ClassTreatments, is_believed: bool) -> [ClassRule; ServiceClass::ALL.len()] {
    ServiceClass::ALL.map(|class| {
        let usual = if is_believed { class } else { ServiceClass::Be };
        let (class, rate) = match treatments[class as usize] {
            None => (Some(usual), None),
            Some(ClassTreatment::Keep) => (Some(class), None),
            Some(ClassTreatment::Limit(rate)) => (Some(class), Some(rate)),
            Some(ClassTreatment::Remark(to)) => (Some(to), None),
            Some(ClassTreatment::Refuse) => (None, None),
        };
        ClassRule { class, rate }
    })
}
