//! wip
mod fair; mod network; mod paths; mod policy; mod program; mod global; mod model;
pub use policy::Policy;
/// x
pub fn probe(s:&weir_scenario::Scenario, t: weir_core::Span, eta:f64)->(usize,f64,Vec<f64>) {
 let n=network::Network::new(s);
 let mut st=network::State::new(s);
 for (at,c) in network::changes(s) { if at<=t {st.apply(&c);} }
 let c=st.conditions(eta);
 let p=Policy::of(s).unwrap();
 let f=fair::fair(&n,&p,&c);
 let show=|name:&str,a:&model::Allocation,t:std::time::Instant| { println!("{name} {:?} sum {} min {} logs {}", t.elapsed(), a.rate.iter().sum::<f64>(), a.rate.iter().copied().fold(f64::INFINITY,f64::min), a.rate.iter().map(|x|x.ln()).sum::<f64>()); if a.rate.len()<50 {println!("{:?}", a.rate);} };
 println!("fair sum {} min {} logs {}", f.rate.iter().sum::<f64>(), f.rate.iter().copied().fold(f64::INFINITY,f64::min), f.rate.iter().map(|x|x.ln()).sum::<f64>());
 let t=std::time::Instant::now();
 show("max flow", &global::maximum_flow(&n,&c).unwrap(),t);
 let t=std::time::Instant::now();
 show("prop", &global::proportional(&n,&p,&c).unwrap(),t);
 let t=std::time::Instant::now();
 let i=(0..n.channels.len()).map(|ch| n.interests(ch,&f.load)).collect();
 show("max-min", &global::max_min(&n,&p,&c,i).unwrap(),t);
 (f.rounds,if f.is_settled {0.0} else {1.0},f.rate)
}
