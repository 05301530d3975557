//! Reads an object like a file, and counts its lines.
//!
//! ```text
//! read NAME
//! ```

use std::error::Error;
use std::io::{BufRead, BufReader};

use weir_app::App;
use weir_app::get::{Fetcher, Get};
use weir_management::client::Endpoint;
use weir_packet::Name;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("usage: read NAME")?;
    let mut app = App::connect(&Endpoint::of_environment()?)?;
    println!("{}", lines(&mut app, name.parse()?)?);
    Ok(())
}

/// Returns the number of lines of an object.
pub fn lines(app: &mut App, name: Name) -> Result<usize, Box<dyn Error>> {
    let scheme = weir_schemes::find("bbr").expect("it is in the list").for_application();
    let reader = Fetcher::new(app, Get::new(name), &*scheme).into_reader()?;
    let mut lines = 0;
    for line in BufReader::new(reader).split(b'\n') {
        line?;
        lines += 1;
    }
    Ok(lines)
}
