//! Reads an object as if it were a file, and counts its lines.
//!
//! ```text
//! read NAME
//! ```

use std::error::Error;
use std::io::{BufRead, BufReader};

use weir_app::App;
use weir_app::get::{Fetcher, Get};
use weir_management::client::Endpoint;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("usage: read NAME")?;
    let scheme = weir_schemes::find("bbr").ok_or("there is no scheme bbr")?.with_defaults();
    let mut app = App::connect(&Endpoint::of_environment()?)?;
    let reader = Fetcher::new(&mut app, Get::new(name.parse()?), &*scheme).into_reader()?;
    let mut lines = 0_u64;
    for line in BufReader::new(reader).split(b'\n') {
        line?;
        lines += 1;
    }
    println!("{lines}");
    Ok(())
}
