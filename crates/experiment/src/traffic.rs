//! Random traffic: draws the requests of flows, their objects and amounts, and pauses, from named streams of
//! the seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::random::Random;
use weir_core::units::{Span, Time};
use weir_scenario::{
    Activity, Arrivals, Distribution, Flow, FlowId, MOST_DATA, Popularity, Requests, covers,
};

use crate::experiment::Experiment;

/// A request: a consumer that fetches one object and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time of the request.
    pub at: Time,
    /// The object below the flow's prefix.
    pub object: u64,
    /// The Data of the object.
    pub amount: u64,
}

/// The requests of a flow, in order of time, until the flow stops. They do not depend on the network.
#[derive(Clone, Debug)]
pub struct RequestStream {
    requests: Arc<Requests>,
    clock: ActiveClock,
    stop: Time,
    times: Random,
    choice: Random,
    /// The cumulative popularity of the objects; one entry if all are equally popular.
    popularity: Option<Arc<[f64]>>,
    /// The number of the first new object. It differs among flows of one prefix, so that they request
    /// different objects.
    first_new: u64,
    step_new: u64,
    seed: u64,
    prefix: String,
    count: u64,
}

impl Iterator for RequestStream {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let count = self.count;
        let (mut object, mut amount) = (None, None);
        let at = match &self.requests.arrivals {
            Arrivals::Poisson { per_second } => {
                self.clock.advance(-libm::log(1.0 - self.times.unit()) / per_second, self.stop)?
            }
            Arrivals::Every(every) => {
                self.clock.advance(if count == 0 { 0.0 } else { every.as_secs_f64() }, self.stop)?
            }
            Arrivals::Listed(all) => {
                let request = all.get(usize::try_from(count).ok()?)?;
                (object, amount) = (request.object, request.amount);
                self.clock.now + request.at
            }
        };
        if at >= self.stop {
            return None;
        }
        self.count += 1;
        let object = object.unwrap_or_else(|| self.choose(count));
        let amount = amount.unwrap_or_else(|| self.amount_of(object));
        Some(Arrival { at, object, amount })
    }
}

impl RequestStream {
    fn choose(&mut self, count: u64) -> u64 {
        match (self.requests.objects, &self.popularity) {
            (None, _) => self.first_new + count * self.step_new,
            (Some(objects), None) => ((self.choice.unit() * objects as f64) as u64).min(objects - 1),
            (Some(objects), Some(popularity)) => {
                let at = self.choice.unit() * popularity[popularity.len() - 1];
                (popularity.partition_point(|up_to| *up_to <= at) as u64).min(objects - 1)
            }
        }
    }

    /// Returns the amount of an object. It is the same for all requests of the object.
    fn amount_of(&self, object: u64) -> u64 {
        if let Distribution::Constant(amount) = self.requests.amount {
            return whole(amount);
        }
        let mut random = Random::named(self.seed, &format!("amount of {}/{object}", self.prefix));
        whole(draw(&self.requests.amount, &mut random))
    }
}

/// Rounds to a number of Data.
fn whole(amount: f64) -> u64 {
    (amount.round() as u64).clamp(1, MOST_DATA)
}

/// A clock that stops while an application pauses.
#[derive(Clone, Debug)]
struct ActiveClock {
    now: Time,
    /// The rest of the active time, s.
    left: f64,
    activity: Option<(Arc<Activity>, Random)>,
}

impl ActiveClock {
    fn new(start: Time, activity: Option<(Arc<Activity>, Random)>) -> ActiveClock {
        let mut clock = ActiveClock { now: start, left: f64::INFINITY, activity };
        if let Some((activity, random)) = &mut clock.activity {
            clock.left = draw(&activity.on, random);
        }
        clock
    }

    /// Returns the time after this number of active seconds; `None` if that is not before `stop`.
    fn advance(&mut self, mut seconds: f64, stop: Time) -> Option<Time> {
        while let Some((activity, random)) = self.activity.as_mut().filter(|_| seconds >= self.left) {
            if self.now >= stop {
                return None;
            }
            seconds -= self.left;
            self.now = later(self.now, self.left + draw(&activity.off, random))?;
            self.left = draw(&activity.on, random);
        }
        self.left -= seconds;
        self.now = later(self.now, seconds)?;
        Some(self.now)
    }

    /// Returns the beginning and the end of the next pause; `None` if there is none.
    fn pause(&mut self) -> Option<(Time, Time)> {
        let (activity, random) = self.activity.as_mut()?;
        let from = later(self.now, self.left)?;
        self.now = later(from, draw(&activity.off, random))?;
        self.left = draw(&activity.on, random);
        Some((from, self.now))
    }
}

/// Returns the time this number of seconds later.
fn later(time: Time, seconds: f64) -> Option<Time> {
    const LONGEST: f64 = 1e9;
    (seconds < LONGEST).then(|| time + Span::from_nanos((seconds * 1e9).round() as u64))
}

/// Draws from a distribution, by inversion of its distribution function. The normal distribution is drawn by
/// Box and Muller (1958).
pub(crate) fn draw(distribution: &Distribution, random: &mut Random) -> f64 {
    match *distribution {
        Distribution::Constant(value) => value,
        Distribution::Exponential { mean } => -mean * libm::log(1.0 - random.unit()),
        Distribution::Pareto { least, shape } => least * libm::pow(1.0 - random.unit(), -1.0 / shape),
        Distribution::BoundedPareto { least, most, shape } => {
            let beyond = libm::pow(least / most, shape);
            least * libm::pow(1.0 - random.unit() * (1.0 - beyond), -1.0 / shape)
        }
        Distribution::Lognormal { mean, sigma } => {
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
            let normal = radius * libm::cos(core::f64::consts::TAU * random.unit());
            mean * libm::exp(sigma * normal - sigma * sigma / 2.0)
        }
        Distribution::Uniform { least, most } => least + random.unit() * (most - least),
        Distribution::OneOf(ref values) => values[random.below(values.len() as u32) as usize],
    }
}

/// Returns the cumulative weights 1/(k + q)^s of ranks k = 1, 2, ….
fn cumulative(objects: u64, popularity: Popularity) -> Arc<[f64]> {
    let mut sum = 0.0;
    let up_to = |rank: u64| {
        sum += libm::pow(rank as f64 + popularity.shift, -popularity.exponent);
        sum
    };
    (1..=objects).map(up_to).collect()
}

/// Draws the amount of a flow.
pub(crate) fn drawn_amount(distribution: &Distribution, random: &mut Random) -> u64 {
    whole(draw(distribution, random))
}

impl Experiment {
    /// Returns the requests of each flow; `None` for a flow that is one consumer.
    pub fn request_streams(&self) -> Vec<Option<RequestStream>> {
        let mut tables: BTreeMap<(u64, [u64; 2]), Arc<[f64]>> = BTreeMap::new();
        let mut of_prefix: BTreeMap<&str, u64> = BTreeMap::new();
        let flows = &self.scenario().flows;
        for flow in flows.iter().filter(|flow| flow.requests.is_some()) {
            *of_prefix.entry(&flow.prefix).or_default() += 1;
        }
        let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
        let mut streams = Vec::with_capacity(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            let Some(requests) = flow.requests.clone() else {
                streams.push(None);
                continue;
            };
            let first_new = *seen.entry(&flow.prefix).and_modify(|n| *n += 1).or_insert(0);
            let popularity = requests.objects.filter(|_| requests.popularity.exponent > 0.0).map(|objects| {
                let Popularity { exponent, shift } = requests.popularity;
                let key = (objects, [exponent.to_bits(), shift.to_bits()]);
                let table = tables.entry(key).or_insert_with(|| cumulative(objects, requests.popularity));
                Arc::clone(table)
            });
            streams.push(Some(RequestStream {
                clock: self.active_clock(FlowId(index)),
                stop: flow.stop.map_or(self.until(), |stop| Time::ZERO + stop).min(self.until()),
                times: self.traffic_random("requests", FlowId(index)),
                choice: self.traffic_random("objects", FlowId(index)),
                popularity,
                first_new,
                step_new: of_prefix[flow.prefix.as_str()],
                seed: self.seed(),
                prefix: flow.prefix.clone(),
                requests,
                count: 0,
            }));
        }
        streams
    }

    /// Returns whether the seed decides any part of the traffic of the flows.
    pub(crate) fn has_random_traffic(&self) -> bool {
        let is_random = |flow: &Flow| {
            flow.activity.is_some()
                || flow.source_jitter > 0.0
                || flow.requests.as_ref().is_some_and(|r| r.is_random())
        };
        self.scenario().flows.iter().any(is_random)
    }

    /// Returns the beginnings and ends of the pauses of a flow that is one consumer, until it stops.
    pub(crate) fn pauses(&self, flow: FlowId) -> Vec<(Time, Time)> {
        let of = &self.scenario().flows[flow.index()];
        if of.activity.is_none() || of.requests.is_some() {
            return Vec::new();
        }
        let stop = of.stop.map_or(self.until(), |stop| Time::ZERO + stop).min(self.until());
        let mut clock = self.active_clock(flow);
        core::iter::from_fn(|| clock.pause().filter(|(from, _)| *from < stop)).collect()
    }

    fn active_clock(&self, flow: FlowId) -> ActiveClock {
        let of = &self.scenario().flows[flow.index()];
        let activity = of.activity.clone().map(|activity| (activity, self.traffic_random("pauses", flow)));
        ActiveClock::new(Time::ZERO + of.start, activity)
    }

    /// Returns the random stream of a flow for one purpose. Its name contains the flow's group and its index
    /// there.
    fn traffic_random(&self, what: &str, flow: FlowId) -> Random {
        let flows = &self.scenario().flows;
        let name = &flows[flow.index()].name;
        let place = flows[..flow.index()].iter().rev().take_while(|other| other.name == *name).count();
        Random::named(self.seed(), &format!("{what} of flow {name}, number {place}"))
    }
}

/// The time that requests of a flow take in an empty network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unloaded {
    /// The time of one Data: its Interest and the Data cross each link of the route in turn.
    pub first: Span,
    /// The time of each further Data: its transmission on the slowest link of the route.
    pub per_data: Span,
}

impl Unloaded {
    /// Returns the time of this number of Data.
    pub fn time(&self, amount: u64) -> Span {
        self.first + self.per_data * amount.saturating_sub(1)
    }
}

impl Experiment {
    /// Returns the time that a flow's requests take alone, on the route of the best next hops from the
    /// nearest producer, with the rates and delays of the beginning. Content stores can make them faster.
    /// Returns `None` without a route.
    pub fn unloaded(&self, flow: FlowId) -> Option<Unloaded> {
        let scenario = self.scenario();
        let flow = &scenario.flows[flow.index()];
        let [interest, data] = flow.packet_lengths();
        let mut unloaded = Unloaded { first: Span::ZERO, per_data: Span::ZERO };
        let mut at = flow.consumer;
        for _ in 0..scenario.nodes.len() {
            if flow.producers.contains(&at) {
                return Some(unloaded);
            }
            let covering = scenario
                .routes
                .iter()
                .filter(|route| route.node == at && covers(&route.prefix, &flow.prefix));
            let route = covering.max_by_key(|route| route.prefix.len())?;
            let there = route.next_hops.first()?.link;
            let link = &scenario.links[there.link.index()];
            let (out, back) = (there.direction, 1 - there.direction);
            let of_data = link.rate[back].time_for(data);
            unloaded.first = unloaded.first
                + link.delay[out]
                + link.delay[back]
                + link.rate[out].time_for(interest)
                + of_data;
            unloaded.per_data = unloaded.per_data.max(of_data);
            at = if out == 0 { link.b } else { link.a };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean of many draws, and the part of them below a value.
    fn sample(distribution: &Distribution, below: f64) -> (f64, f64) {
        const DRAWS: u32 = 200_000;
        let mut random = Random::named(1, "test");
        let (mut sum, mut count) = (0.0, 0);
        for _ in 0..DRAWS {
            let value = draw(distribution, &mut random);
            assert!(value > 0.0 && value.is_finite());
            sum += value;
            count += u32::from(value < below);
        }
        (sum / f64::from(DRAWS), f64::from(count) / f64::from(DRAWS))
    }

    #[test]
    fn draws_have_the_mean_and_the_distribution_that_is_stated() {
        // The distribution function at a value, from the formula of each distribution.
        let cases = [
            (Distribution::Exponential { mean: 50.0 }, 50.0, 1.0 - (-1.0_f64).exp()),
            (Distribution::Pareto { least: 20.0, shape: 3.0 }, 40.0, 1.0 - 0.125),
            (
                Distribution::BoundedPareto { least: 3.0, most: 300.0, shape: 1.5 },
                12.0,
                (1.0 - 0.125) / (1.0 - 1e-3),
            ),
            // Half of the values are below the median, the mean times e^(-sigma^2 / 2).
            (Distribution::Lognormal { mean: 50.0, sigma: 1.0 }, 50.0 * (-0.5_f64).exp(), 0.5),
            (Distribution::Uniform { least: 10.0, most: 90.0 }, 30.0, 0.25),
            (Distribution::OneOf([10.0, 20.0, 60.0, 60.0].into()), 60.0, 0.5),
            (Distribution::Constant(7.0), 7.0, 0.0),
        ];
        for (distribution, below, wanted) in cases {
            let (mean, part) = sample(&distribution, below);
            assert!((mean / distribution.mean() - 1.0).abs() < 0.01, "{distribution:?}: mean {mean}");
            assert!(
                (part - wanted).abs() < 0.005,
                "{distribution:?}: {part} are below {below}, not {wanted}"
            );
        }
    }

    #[test]
    fn cumulative_popularity_is_that_of_zipf_and_mandelbrot() {
        let zipf = cumulative(1000, Popularity { exponent: 1.0, shift: 0.0 });
        // The harmonic number of 1000.
        assert!((zipf[999] - 7.485_470_86).abs() < 1e-6 && zipf[0] == 1.0);
        let shifted = cumulative(10, Popularity { exponent: 2.0, shift: 4.0 });
        assert!((shifted[1] - (1.0 / 25.0 + 1.0 / 36.0)).abs() < 1e-12);
    }
}
