//! wip
mod fair; mod network; mod paths; mod policy;
pub use policy::Policy;
/// x
pub fn probe(s:&weir_scenario::Scenario, t: weir_core::Span, eta:f64)->(usize,f64,Vec<f64>) {
 let n=network::Network::new(s);
 let mut st=network::State::new(s);
 for (at,c) in network::changes(s) { if at<=t {st.apply(&c);} }
 let f=fair::fair(&n,&Policy::of(s).unwrap(),&st.conditions(eta));
 (f.rounds,if f.is_settled {0.0} else {1.0},f.rate)
}
