//! x
use weir_scenario::*;
use weir_optimum::*;
fn main(){
 let name=std::env::args().nth(1).unwrap();
 let text=builtin(&name).map(str::to_owned).unwrap_or_else(||std::fs::read_to_string(&name).unwrap());
 let obj:Objective=std::env::args().nth(2).unwrap().parse().unwrap();
 let set:Vec<Override>=std::env::args().skip(3).map(|s|Override::parse(&s).unwrap()).collect();
 let s=Scenario::parse(&name,&name,&text,&set).unwrap();
 let t=std::time::Instant::now();
 let th=Theory::new(&s,&Options{objective:obj,utilisation:None}).unwrap();
 println!("ready {:?}", t.elapsed());
 let w:Vec<_>=s.windows.iter().map(|w|(w.from,w.to)).collect();
 let t=std::time::Instant::now();
 for o in th.windows(&w).unwrap() { println!("{:?} pieces {} exact {} sum {}", o.window,o.pieces,o.is_exact,o.flows.iter().map(|f|f.rate_bps).sum::<f64>()); if o.flows.len()<30 {println!("{:?}", o.flows.iter().map(|f|f.rate_bps as u64).collect::<Vec<_>>());} }
 println!("windows {:?}", t.elapsed());
 let t=std::time::Instant::now();
 let c=th.completions().unwrap(); println!("completions {:?} mean {}", t.elapsed(), c.iter().flatten().map(|c|c.as_secs_f64()).sum::<f64>()/c.iter().flatten().count() as f64);
 let t=std::time::Instant::now();
 let b=th.bottlenecks(w[0]).unwrap(); println!("bottlenecks {} {:?}", b.len(), t.elapsed());
 for b in b.iter().take(8) { println!("{:?} {} flows {} gains {:?}", b.link, b.least_bps, b.flows.len(), &b.gains[..b.gains.len().min(4)]); }
}
