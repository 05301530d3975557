//! The streams that run, by channel: the parts to update when something changes.

use crate::network::{Channel, Network};
use crate::policy::CLASSES;

/// The flows with a demand, their streams, and the arcs of these by channel. All lists are in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Running {
    pub flows: Vec<usize>,
    pub streams: Vec<usize>,
    /// The channels with Data or Interests of these streams.
    pub channels: Vec<Channel>,
    /// [`Network::data_on`] for the running streams.
    pub data_on: Vec<Vec<(usize, usize)>>,
    /// [`Network::interests_on`] for the running streams.
    pub interests_on: Vec<Vec<(usize, usize)>>,
    /// The number of running flows of each stream.
    count: Vec<usize>,
    /// The number of running streams with routes that fork.
    forking: usize,
    /// The number of running streams of each class.
    of_class: [usize; CLASSES],
}

impl Running {
    /// Returns the state in which nothing runs.
    pub fn none(network: &Network) -> Running {
        Running {
            flows: Vec::new(),
            streams: Vec::new(),
            channels: Vec::new(),
            data_on: vec![Vec::new(); network.channels.len()],
            interests_on: vec![Vec::new(); network.channels.len()],
            count: vec![0; network.streams.len()],
            forking: 0,
            of_class: [0; CLASSES],
        }
    }

    /// Returns whether a stream runs.
    pub fn is(&self, stream: usize) -> bool {
        self.count[stream] > 0
    }

    /// Returns whether the routes of a running stream fork.
    pub fn forks(&self) -> bool {
        self.forking > 0
    }

    /// Returns whether all running streams have the same class.
    pub fn has_one_class(&self) -> bool {
        self.of_class.iter().filter(|streams| **streams > 0).count() <= 1
    }

    pub fn start(&mut self, network: &Network, flow: usize) {
        if !insert(&mut self.flows, flow) {
            return;
        }
        let index = network.stream_of[flow];
        self.count[index] += 1;
        if self.count[index] > 1 {
            return;
        }
        insert(&mut self.streams, index);
        let stream = &network.streams[index];
        self.forking += usize::from(stream.forks);
        self.of_class[stream.class as usize] += 1;
        for (at, arc) in network.arcs_of(index).zip(&stream.arcs) {
            insert(&mut self.data_on[arc.channel], (index, at));
            insert(&mut self.interests_on[arc.back], (index, at));
            insert(&mut self.channels, arc.channel);
            insert(&mut self.channels, arc.back);
        }
    }

    pub fn stop(&mut self, network: &Network, flow: usize) {
        if !remove(&mut self.flows, flow) {
            return;
        }
        let index = network.stream_of[flow];
        self.count[index] -= 1;
        if self.count[index] > 0 {
            return;
        }
        remove(&mut self.streams, index);
        let stream = &network.streams[index];
        self.forking -= usize::from(stream.forks);
        self.of_class[stream.class as usize] -= 1;
        for (at, arc) in network.arcs_of(index).zip(&stream.arcs) {
            remove(&mut self.data_on[arc.channel], (index, at));
            remove(&mut self.interests_on[arc.back], (index, at));
            for channel in [arc.channel, arc.back] {
                if self.data_on[channel].is_empty() && self.interests_on[channel].is_empty() {
                    remove(&mut self.channels, channel);
                }
            }
        }
    }
}

fn insert<T: Ord>(list: &mut Vec<T>, value: T) -> bool {
    let place = list.binary_search(&value);
    let at = match place {
        Ok(_) => return false,
        Err(at) => at,
    };
    list.insert(at, value);
    true
}

fn remove<T: Ord>(list: &mut Vec<T>, value: T) -> bool {
    let place = list.binary_search(&value);
    place.map(|at| list.remove(at)).is_ok()
}
