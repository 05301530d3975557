//! Rules for the service classes and signals of packets that arrive on a face: as in the file, and as in the core.

use weir_core::node::ClassRule;
use weir_core::units::Rate;
use weir_packet::ServiceClass;

/// The faces whose service classes and signals the forwarder accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Faces to one neighbour that the file or management created, and applications with rights.
    #[default]
    Known,
    /// All faces.
    All,
    /// No face.
    Nobody,
}

impl Trust {
    /// Whether the forwarder accepts the classes and signals of a face that is known, or of a stranger.
    pub fn believes(self, is_known: bool) -> bool {
        match self {
            Trust::Known => is_known,
            Trust::All => true,
            Trust::Nobody => false,
        }
    }
}

/// The rule of the file for a service class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassTreatment {
    /// The class stays.
    Keep,
    /// The class stays up to this rate.
    Limit(Rate),
    /// The class changes to this one.
    Remark(ServiceClass),
    /// Interests of the class are dropped.
    Refuse,
}

/// The rule of the file for each class; `None`: no rule.
pub type ClassTreatments = [Option<ClassTreatment>; ServiceClass::ALL.len()];

/// The class rules of a face. A class without a rule is kept if the face is trusted, and is otherwise best effort.
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
