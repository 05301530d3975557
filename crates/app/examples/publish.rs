//! Publishes a file until it is stopped: `publish NAME FILE`. It shows both forms of the library. The tests run them.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, Ordering};
use std::error::Error;
use std::path::Path;

use weir_app::publish::{Notice, PublishCounters, PublishOptions, Publisher, Source};
use weir_app::{App, Event};
use weir_core::units::{Span, Time};
use weir_management::client::Endpoint;
use weir_packet::Name;

#[allow(dead_code, reason = "the tests call what it calls")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, file] = &arguments[..] else { return Err("usage: publish NAME FILE".into()) };
    let endpoint = Endpoint::of_environment()?;
    tell(&endpoint, name.parse()?, Path::new(file), |line| println!("{line}"), &mut || true)
}

/// The blocking form: publishes bytes, serves them until told to stop, and returns the counters.
pub fn serve(
    endpoint: &Endpoint,
    name: Name,
    content: Vec<u8>,
    stop: &AtomicBool,
) -> Result<PublishCounters, Box<dyn Error>> {
    let mut app = App::connect(endpoint)?;
    let publisher = Publisher::new(name, Source::bytes(content), PublishOptions::default(), |_| {})?;
    let published = app.publish(publisher)?;
    while !stop.load(Ordering::Relaxed) {
        let until = app.now() + Span::from_millis(100);
        app.run(until, &mut |_, _| ControlFlow::Continue(()))?;
    }
    Ok(published.counters())
}

/// The form with callbacks: one receives notices about served objects, the other receives events of the connection and
/// decides whether to continue.
pub fn tell(
    endpoint: &Endpoint,
    name: Name,
    file: &Path,
    mut say: impl FnMut(String) + 'static,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<(), Box<dyn Error>> {
    let mut app = App::connect(endpoint)?;
    let on_notice = move |notice: Notice<'_>| match notice {
        Notice::Serving { name, content, segments } => {
            say(format!("{name}: {content} in {segments} segments"))
        }
        Notice::Changed(name) => say(format!("{name} is no longer served: its file has changed")),
        other => say(format!("{other:?}")),
    };
    app.publish(Publisher::new(name, Source::path(file)?, PublishOptions::default(), on_notice)?)?;
    app.run(Time::NEVER, &mut |_, event| {
        if let Event::Disconnected(error) = event {
            eprintln!("the forwarder is gone ({error}); waiting for it");
        }
        if goes_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(())
}
