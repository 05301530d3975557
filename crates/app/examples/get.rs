//! Gets an object, and prints how it goes. `weir get` does the same with more options.
//!
//! ```text
//! get NAME FILE [SCHEME]
//! ```
//!
//! The file is there when it is complete; run again, a get that was stopped goes on.

use core::ops::ControlFlow;
use std::error::Error;
use std::path::Path;

use weir_app::App;
use weir_app::get::{Fetcher, Get, Progress};
use weir_management::client::Endpoint;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, file, scheme @ ..] = &arguments[..] else {
        return Err("usage: get NAME FILE [SCHEME]".into());
    };
    let scheme = scheme.first().map_or("bbr", String::as_str);
    let scheme = weir_schemes::find(scheme).ok_or_else(|| format!("there is no scheme {scheme}"))?.with_defaults();
    let mut app = App::connect(&Endpoint::of_environment()?)?;
    let mut fetcher = Fetcher::new(&mut app, Get::new(name.parse()?), &*scheme);
    let report = fetcher.to_file(Path::new(file), &mut |progress| {
        match progress {
            Progress::Found { object, first, .. } => eprintln!("{} from segment {first} on", object.name),
            Progress::Status(status) => eprintln!("{} bytes, {}", status.bytes, status.rate),
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    println!("{} bytes in {}", report.bytes, report.elapsed);
    Ok(())
}
