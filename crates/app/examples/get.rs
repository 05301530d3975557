//! Fetches an object into a file and prints the progress. `weir get` does the same with more options.
//!
//! ```text
//! get NAME FILE
//! ```
//!
//! The file appears when it is complete. A repeated call continues an interrupted fetch.

use core::ops::ControlFlow;
use std::error::Error;
use std::path::Path;

use weir_app::App;
use weir_app::get::{Fetcher, Get, GetError, Progress, Report};
use weir_management::client::Endpoint;
use weir_packet::Name;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, file] = &arguments[..] else { return Err("usage: get NAME FILE".into()) };
    let mut app = App::connect(&Endpoint::of_environment()?)?;
    let report = get(&mut app, name.parse()?, Path::new(file))?;
    println!("{} bytes in {:.1} s", report.bytes, report.elapsed.as_secs_f64());
    Ok(())
}

/// Fetches an object into a file.
pub fn get(app: &mut App, name: Name, file: &Path) -> Result<Report, GetError> {
    let scheme = weir_schemes::find("bbr").expect("it is in the list").for_application();
    Fetcher::new(app, Get::new(name), &*scheme).to_file(file, &mut |progress| {
        match progress {
            Progress::Found { object, first, .. } => eprintln!("{} from segment {first} on", object.name),
            Progress::Status(status) => {
                eprintln!("{} bytes, {:.1} Mb/s", status.bytes, status.rate.as_bps_f64() / 1e6)
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })
}
