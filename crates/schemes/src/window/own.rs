//! Window laws that are not in the registry, for a first test of an idea.

use std::sync::{Arc, Mutex, PoisonError};

use weir_core::seam::params::Value;
use weir_core::seam::{FlowConfig, FlowControl, Scheme};

use super::{Common, Reaction, WindowFlow, WindowLaw};
use crate::registry::Entry;
use crate::resolve::{Resolved, WrongParameter};

/// The entries of laws so far. An entry stays for good, so there is one a name.
static ENTRIES: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

/// Returns a scheme whose consumers have the laws that `make` makes, one for each flow. Nodes have the
/// default queue and strategy. The parameters are those that all laws share: `unit`, `spread`, `react_to`,
/// `cwa`, `recovery` and `add_rtt_suppress`.
///
/// Results call the scheme `name`.
///
/// # Errors
/// Returns [`WrongParameter`] if laws do not share a parameter, or a value is invalid.
pub fn own_law<L: WindowLaw>(
    name: &str,
    given: impl IntoIterator<Item = (String, Value)>,
    make: impl Fn(&FlowConfig) -> L + Send + Sync + 'static,
) -> Result<Resolved, WrongParameter> {
    let make = Arc::new(make);
    let resolved = entry(name).resolve(given)?;
    Ok(resolved.built_by(move |params| {
        Box::new(OwnLaw { make: Arc::clone(&make), reaction: Common::new(params).reaction() })
    }))
}

fn entry(name: &str) -> &'static Entry {
    let mut entries = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = entries.iter().find(|entry| entry.name == name) {
        return known;
    }
    let new: &Entry = Box::leak(Box::new(Entry {
        name: name.to_owned().leak(),
        title: "a window law that is not in the list of schemes",
        citation: "none",
        parameters: Common::PARAMETERS,
        signals: &[],
        early_loss: true,
        sharing: None,
        // Without the law, the entry has plain nodes and a fixed window.
        build: |_| crate::fixed::ENTRY.with_defaults(),
    }));
    entries.push(new);
    new
}

/// A scheme that consists only of the law at the consumer.
struct OwnLaw<M> {
    make: Arc<M>,
    reaction: Reaction,
}

impl<L: WindowLaw, M: Fn(&FlowConfig) -> L + Send + Sync> Scheme for OwnLaw<M> {
    fn flow_control(&self, flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(WindowFlow::of((self.make)(flow), self.reaction))
    }
}

#[cfg(test)]
mod tests {
    use weir_core::seam::DataReceived;
    use weir_core::units::{Rate, Span};

    use super::super::pipe::{self, Pipe};
    use super::super::reno;
    use super::*;
    use crate::window::Congestion;

    /// Reno's rule, implemented again for the test.
    #[derive(Debug)]
    struct Halving {
        window: f64,
        ssthresh: f64,
    }

    impl WindowLaw for Halving {
        fn window(&self) -> f64 {
            self.window
        }

        fn increase(&mut self, _ev: &DataReceived<'_>, packets: f64) {
            self.window += if self.window < self.ssthresh { packets } else { packets / self.window };
        }

        fn decrease(&mut self, _congestion: &Congestion) {
            self.window = (self.window / 2.0).max(2.0);
            self.ssthresh = self.window;
        }
    }

    fn halving(given: &[(&str, &str)]) -> Result<Resolved, WrongParameter> {
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), Value::parse(value)));
        own_law("halving", given, |_| Halving { window: 4.0, ssthresh: f64::INFINITY })
    }

    #[test]
    fn a_law_of_ones_own_gets_what_the_same_law_in_the_list_gets() {
        let rate = Some(Rate::from_mbps(10));
        let pipe = Pipe { rate, limit: 20, delay: Span::from_millis(20), ..Pipe::default() };
        let own = pipe.run(halving(&[]).unwrap().build().flow_control(&pipe::FLOW), 20);
        let listed = pipe.run(reno::ENTRY.with_defaults().flow_control(&pipe::FLOW), 20);
        assert_eq!((own.bits, own.lost), (listed.bits, listed.lost));
        assert!(own.lost > 0, "W has met the limit");
    }

    #[test]
    fn it_has_the_parameters_that_all_laws_share_and_a_name() {
        let resolved = halving(&[("react_to", "losses")]).unwrap();
        assert_eq!((resolved.entry.name, resolved.params.value("react_to").text()), ("halving", "losses"));
        let again = halving(&[]).unwrap();
        assert!(std::ptr::eq(resolved.entry, again.entry), "one entry a name");
        let wrong = halving(&[("beta", "0.5")]).unwrap_err();
        assert!(wrong.to_string().starts_with("scheme.halving.beta: unknown parameter"), "{wrong}");
    }
}
