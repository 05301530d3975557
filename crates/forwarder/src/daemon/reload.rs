//! Reloads the file: applies the differences, and does not touch the rest.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::thread;

use tracing::{error, info, warn};

use super::Daemon;
use crate::config::{Change, Config, Face as FaceConfig, Route, RouteFace, StrategyChoice};
use crate::control::Control as _;
use crate::instance::{Instance, address};
use weir_management::origin;
use weir_management::status::FacePersistency;
use weir_net::uri::FaceUri;

/// A new configuration that waits for the addresses of its hosts.
pub(super) struct Lookup {
    new: Config,
    answers: mpsc::Receiver<Addresses>,
}

/// The resolver's results by URI with a host name.
type Addresses = BTreeMap<String, Result<FaceUri, String>>;

impl Daemon {
    /// Reads the file again and applies the differences. Host names of new faces are resolved in a thread first, so packets do
    /// not wait. A file that is read meanwhile replaces this one.
    pub(super) fn reload(&mut self) {
        let Some(path) = &self.path else {
            return warn!("there is no file to reload");
        };
        let new = match Config::load(path) {
            Ok(new) => new,
            Err(error) => return error!(%error, "the file is rejected; the configuration does not change"),
        };
        self.lookup = None;
        let added = Change::between(&self.instance.config, &new).faces_added;
        let names: Vec<String> =
            added.into_iter().map(|face| face.remote).filter(|remote| is_host(remote)).collect();
        if names.is_empty() {
            return self.instance.take(new, &Addresses::new());
        }
        let (told, answers) = mpsc::channel();
        let waker = Arc::clone(&self.waker);
        let ask = move || {
            let addresses = names.into_iter().map(|name| (name.clone(), address(&name))).collect();
            // If another file was read meanwhile, this send fails.
            let _ = told.send(addresses);
            let _ = waker.wake();
        };
        match thread::Builder::new().name("resolver".to_owned()).spawn(ask) {
            Ok(_) => self.lookup = Some(Lookup { new, answers }),
            Err(error) => {
                error!(%error, "cannot start a thread for the resolver; the configuration does not change")
            }
        }
    }

    /// Handles the resolver's answer.
    pub(super) fn looked_up(&mut self) {
        let Some(addresses) = self.lookup.as_ref().and_then(|lookup| lookup.answers.try_recv().ok()) else {
            return;
        };
        if let Some(Lookup { new, .. }) = self.lookup.take() {
            self.instance.take(new, &addresses);
        }
    }
}

impl Instance {
    fn take(&mut self, mut new: Config, addresses: &Addresses) {
        let change = Change::between(&self.config, &new);
        self.apply(&change, addresses, &mut new);
        for key in &change.restart {
            warn!(key, "takes effect at the next start");
        }
        self.config = new;
        info!("reloaded the file");
    }

    /// Applies a change. A part that fails keeps its old value in `new`, so the next reload tries it again.
    fn apply(&mut self, change: &Change, addresses: &Addresses, new: &mut Config) {
        for (prefix, face) in &change.routes_removed {
            if let Some(face) = self.face_of(face) {
                self.management.remove_route(prefix, face, origin::STATIC, &mut self.engine);
            }
        }
        for face in &change.faces_removed {
            if let Some(number) = self.face_of(&as_route(face)) {
                self.remove_face(number);
            }
            self.configured.remove(&(face.remote.clone(), face.local.clone()));
        }
        if let Some(faces) = &change.faces {
            self.engine.config = faces.clone();
        }
        for changed in &change.faces_changed {
            self.change_face(&changed.new);
        }
        for (group, options) in &change.groups_changed {
            for number in self.engine.group_faces(group).collect::<Vec<_>>() {
                self.engine.change_options(number, FacePersistency::Permanent, options);
            }
        }
        for face in &change.faces_added {
            let known = addresses.get(&face.remote).cloned();
            if let Err((message, help)) = self.add_face(face, known.unwrap_or_else(|| address(&face.remote)))
            {
                error!(face = face.label(), message, help, "face not created");
                keep_old(&mut new.face, &self.config.face, |other| other.is_same(face));
            } else if face.options.rate.is_none() && self.config.scheme.build().needs_rates() {
                let scheme = self.config.scheme.entry.name;
                warn!(face = face.label(), scheme, "this scheme needs the rate of the face: set `rate`");
            }
        }
        for route in &change.routes_set {
            if let Err(error) = self.add_route(route) {
                error!(prefix = %route.prefix, %error, "route not added");
                let is_it = |other: &Route| (&other.prefix, &other.face) == (&route.prefix, &route.face);
                keep_old(&mut new.routes, &self.config.routes, is_it);
            }
        }
        for prefix in &change.strategies_unset {
            self.engine.unset_strategy(prefix);
        }
        for choice in &change.strategies_set {
            if !self.choose_strategy(&choice.prefix, &choice.strategy) {
                let is_it = |other: &StrategyChoice| other.prefix == choice.prefix;
                keep_old(&mut new.strategies, &self.config.strategies, is_it);
            }
        }
        if let Some((packets, bytes)) = change.content_store {
            self.engine.node.set_content_store_limits(self.engine.now, packets, bytes.as_u64());
        }
    }

    fn change_face(&mut self, face: &FaceConfig) {
        match self.face_of(&as_route(face)) {
            Some(number) => self.engine.change_options(number, face.persistency, &face.options),
            None => warn!(face = face.label(), "the face is gone; it exists again after the next start"),
        }
    }
}

fn as_route(face: &FaceConfig) -> RouteFace {
    RouteFace::Face { remote: face.remote.clone(), local: face.local.clone() }
}

/// Whether a URI has a host name instead of an address.
fn is_host(remote: &str) -> bool {
    remote.parse().is_ok_and(|uri: FaceUri| !uri.is_canonical())
}

/// Restores the old value of a failed item in `new`, or removes the item if it is new.
fn keep_old<T: Clone>(new: &mut Vec<T>, old: &[T], is_it: impl Fn(&T) -> bool) {
    new.retain(|item| !is_it(item));
    new.extend(old.iter().filter(|item| is_it(item)).cloned());
}
