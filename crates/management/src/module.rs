//! Modules of the management protocol.

use weir_packet::Component;

/// A module of the management protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// Routes.
    Rib,
    /// Faces.
    Faces,
    /// Next hops.
    Fib,
    /// Strategies.
    StrategyChoice,
    /// Content store.
    Cs,
    /// General status of the forwarder.
    Status,
}

impl Module {
    /// All modules.
    pub const ALL: [Module; 6] =
        [Module::Rib, Module::Faces, Module::Fib, Module::StrategyChoice, Module::Cs, Module::Status];

    /// The module's name in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Module::Rib => "rib",
            Module::Faces => "faces",
            Module::Fib => "fib",
            Module::StrategyChoice => "strategy-choice",
            Module::Cs => "cs",
            Module::Status => "status",
        }
    }

    /// Returns the module with this name, or `None`.
    pub fn from_component(component: Component<'_>) -> Option<Module> {
        let is_it = |module: &Module| Component::generic(module.name().as_bytes()) == component;
        Module::ALL.into_iter().find(is_it)
    }
}
