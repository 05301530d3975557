//! The modules of management.

use weir_packet::Component;

/// A module of management.
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
    /// The forwarder as a whole.
    Status,
}

impl Module {
    /// All of them.
    pub const ALL: [Module; 6] =
        [Module::Rib, Module::Faces, Module::Fib, Module::StrategyChoice, Module::Cs, Module::Status];

    /// Its name in commands.
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

    /// The module with this name; `None` if there is none.
    pub fn from_component(component: Component<'_>) -> Option<Module> {
        let is_it = |module: &Module| Component::generic(module.name().as_bytes()) == component;
        Module::ALL.into_iter().find(is_it)
    }
}
