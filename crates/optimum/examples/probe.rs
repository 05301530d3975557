//! x
use weir_scenario::*;
fn main(){
 let name=std::env::args().nth(1).unwrap();
 let text=builtin(&name).map(str::to_owned).unwrap_or_else(||std::fs::read_to_string(&name).unwrap());
 let set:Vec<Override>=std::env::args().skip(2).map(|s|Override::parse(&s).unwrap()).collect();
 let s=Scenario::parse(&name,&name,&text,&set).unwrap();
 let t=std::time::Instant::now();
 let r=weir_optimum::probe(&s,s.duration,0.99);
 println!("{} rounds {} unrest {:?} sum {}", r.0,r.1,t.elapsed(), r.2.iter().sum::<f64>());
 if r.2.len()<50 { println!("{:?}",r.2); }
}
